"""Design × game → values: in bounded memory, checked where they enter, counted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from owenshap.designs.design import Design
from owenshap.errors import GameError, InputError, OwenshapError
from owenshap.games.game import Abilities, AdditiveGame, Game, abilities
from owenshap.support.arrays import BoolArray, FloatArray, IntArray, unmasked
from owenshap.support.progress import hearing

Evaluated: TypeAlias = tuple[FloatArray, int]
"""The values (len(design), k) of a design, and how many evaluations they took."""
# of a value: fourth powers, of as many as can be counted, have a finite sum
LARGEST = (sys.float_info.max / sys.maxsize) ** (1 / 4)


@dataclass(frozen=True)
class Ends:
    """The values of the empty and the grand coalition, evaluated once: float (k,) each."""

    empty: FloatArray
    grand: FloatArray
    scalar: bool
    """Whether the game returns (m,) rather than (m, k)."""

    @property
    def outputs(self) -> int:
        """Number of outputs k."""
        return len(self.empty)

    @property
    def total(self) -> FloatArray:
        """What the values of each output sum to, v(N) − v(∅), (k,)."""
        return self.grand - self.empty

    def of_outputs(self, which: IntArray | slice) -> Ends:
        """Those of some outputs."""
        return Ends(self.empty[which], self.grand[which], self.scalar)

    @staticmethod
    def joined(parts: Sequence[Ends]) -> Ends:
        """Those of the outputs of all of them."""
        return Ends(
            np.concatenate([part.empty for part in parts]),
            np.concatenate([part.grand for part in parts]),
            parts[0].scalar,
        )


def evaluate_ends(game: Game) -> Ends:
    """The empty and the grand coalition's values: two evaluations."""
    both = np.zeros((2, game.n_players), np.bool_)
    both[1] = True
    with _quoting(both):
        values = _plain(game.values(both))
    checked = _checked(values, both, None)
    # a game may use its array again
    return Ends(checked[0].copy(), checked[1].copy(), values.ndim == 1)


def closed_form(game: Game) -> FloatArray:
    """The values (n, k) of an additive game, which gives them itself."""
    values = game.shapley_values() if isinstance(game, AdditiveGame) else None
    if values is None:
        advice = "Leave out plan, or give that of another method"
        rule = "be additive for values in closed form"
        raise InputError("game", rule, type(game).__name__, advice)
    return values


@dataclass(frozen=True, eq=False)
class Evaluator:
    """Values coalitions of a game: in bounded calls, and never its ends, which are known.

    Parameters
    ----------
    game : Game
        Whose values are asked for.
    ends : Ends
        v(∅) and v(N).
    at_once : int
        Coalitions of one call, at most.
    """

    game: Game
    ends: Ends
    at_once: int

    @cached_property
    def can(self) -> Abilities:
        """What the game can do, asked once."""
        return abilities(self.game)

    def evaluate(self, design: Design) -> Evaluated:
        """The values (len(design), k) of a design, and how many evaluations they took."""
        evaluated = None
        for finish in self.begin(design):
            evaluated = finish()
        assert evaluated is not None
        return evaluated

    def begin(self, design: Design) -> Iterator[Callable[[], Evaluated | None]]:
        """The same in calls that are begun when they are asked for, and finished by the function
        that each gives, in order: the last returns the values, those before it None.
        """
        empty, grand = design.ends()
        values = np.empty((len(design), self.ends.outputs))
        values[empty] = self.ends.empty
        values[grand] = self.ends.grand
        asked = np.ones(len(values), np.bool_)
        asked[empty] = asked[grand] = False
        inner = np.flatnonzero(asked)
        if not len(inner):
            yield lambda: (values, 0)
        for start in range(0, len(inner), self.at_once):
            index = inner[start : start + self.at_once]
            evaluated = (values, len(inner)) if start + self.at_once >= len(inner) else None
            coalitions = design.coalitions(index)
            with _quoting(coalitions):
                finish = self._begun(coalitions, design.background_of(index))
            yield partial(self._finish, finish, coalitions, values, index, evaluated)

    def _begun(
        self, coalitions: BoolArray, background: IntArray | None
    ) -> Callable[[], NDArray[Any]]:
        """Values on their way where the game launches them, else values that are there."""
        if self.can.launching is not None:
            return self.can.launching.begin(coalitions, background)
        if background is not None and self.can.drawing is not None:
            values = self.can.drawing.values_over(coalitions, background)
        else:
            values = self.game.values(coalitions)
        return lambda: values

    def _finish(
        self,
        finish: Callable[[], Any],
        coalitions: BoolArray,
        values: FloatArray,
        index: IntArray,
        evaluated: Evaluated | None,
    ) -> Evaluated | None:
        """Wait for the values of a call and put them to the others."""
        with _quoting(coalitions):
            called = _plain(finish())
        values[index] = _checked(called, coalitions, self.ends)
        if hearing.listener is not None and self.can.of_rows is None:
            hearing.listener(len(index), 0.0)  # games of rows count their batches themselves
        return evaluated


def _plain(values: Any) -> NDArray[Any]:
    return values if type(values) is np.ndarray else unmasked(values)


@contextmanager
def _quoting(coalitions: BoolArray) -> Iterator[None]:
    """What a game raises is told with the coalitions that it was asked for."""
    try:
        yield
    except OwenshapError:
        raise
    except Exception as error:
        got = f"{type(error).__name__}({error}) on {_batch(coalitions)}"
        rule = "return a value for every coalition"
        raise GameError("the game", rule, got, "Mend the game for such coalitions") from error


def _checked(values: NDArray[Any], coalitions: BoolArray, ends: Ends | None) -> FloatArray:
    """Values of a call as float64 (m, k), or an error that says what is wrong with them."""
    what = "the game's values"
    if values.dtype.kind not in "biuf":
        raise GameError(
            what, "be real numbers", f"dtype {values.dtype}", "Return float64 (m,) or (m, k)"
        )
    if values.ndim not in (1, 2) or len(values) != len(coalitions) or values.size == 0:
        rule = f"have one row for each of the {len(coalitions)} coalitions"
        raise GameError(what, rule, f"shape {values.shape}", "Return (m,), or (m, k) for k outputs")
    table = values.astype(np.float64, copy=False).reshape(len(values), -1)
    if ends is not None and (table.shape[1] != ends.outputs or (values.ndim == 1) != ends.scalar):
        rule = (
            f"have {ends.outputs} outputs as in the first call"
            if not ends.scalar
            else "have shape (m,) as in the first call"
        )
        raise GameError(
            what, rule, f"shape {values.shape}", "Return the same outputs for every coalition"
        )
    if not in_bounds(table):
        finite = np.isfinite(table)
        row, output = np.argwhere(~finite if not finite.all() else np.abs(table) > LARGEST)[0]
        got = f"{table[row, output]} in output {output} for {describe(coalitions[row])}"
        if not finite.all():
            raise GameError(what, "be finite", got, "Mend the game for that coalition")
        raise GameError(
            what,
            f"be {LARGEST:.0e} at most in size",
            got,
            "Divide all values: Shapley values scale with them",
        )
    return table


def in_bounds(values: FloatArray) -> bool:
    """Whether values are finite, and so small that sums of their fourth powers are."""
    return bool(np.abs(values).max(initial=0) <= LARGEST)


def _batch(coalitions: BoolArray) -> str:
    first = describe(coalitions[0])
    return first if len(coalitions) == 1 else f"{len(coalitions)} coalitions, the first {first}"


def describe(coalition: BoolArray) -> str:
    """A coalition in words: '{0, 3, 7} of 16 players'."""
    members = np.flatnonzero(coalition).tolist()
    n_players = len(coalition)
    if not members:
        return f"the empty coalition of {n_players} players"
    if len(members) == n_players:
        return f"the grand coalition of {n_players} players"
    if len(members) > 40 and len(members) > n_players / 2:
        return (
            f"all {n_players} players but "
            f"{{{', '.join(map(str, np.flatnonzero(~coalition).tolist()))}}}"
        )
    return f"{{{', '.join(map(str, members))}}} of {n_players} players"
