"""Design × game → values: in bounded memory, checked where they enter, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.designs.design import Design
from owenshap.errors import GameError, InputError, OwenshapError
from owenshap.games.game import AdditiveGame, DrawingGame, Game, LaunchingGame, is_of_rows
from owenshap.support.arrays import BoolArray, FloatArray, IntArray, unmasked
from owenshap.support.progress import hearing

LARGEST = 1e70  # of a value: fourth powers, summed, stay finite


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

    def of_outputs(self, which: IntArray | slice) -> Ends:
        """Those of some outputs."""
        return Ends(self.empty[which], self.grand[which], self.scalar)


def evaluate_ends(game: Game) -> Ends:
    """The empty and the grand coalition's values: two evaluations."""
    both = np.zeros((2, game.n_players), np.bool_)
    both[1] = True
    values = _call(game, both)
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


def evaluate(game: Game, design: Design, ends: Ends, rows_at_once: int) -> tuple[FloatArray, int]:
    """The values (len(design), k) of a design, and how many evaluations they took.

    The empty and the grand coalition are filled in from `ends`; the game sees all others,
    `rows_at_once` at a time.
    """
    values, inner = _to_ask(design, ends)
    for start in range(0, len(inner), rows_at_once):
        index = inner[start : start + rows_at_once]
        coalitions = design.coalitions(index)
        values[index] = _checked(
            _call(game, coalitions, design.background_of(index)), coalitions, ends
        )
        _count(game, len(index))
    return values, len(inner)


def begin(
    game: LaunchingGame, design: Design, ends: Ends, rows_at_once: int
) -> Iterator[Callable[[], tuple[FloatArray, int] | None]]:
    """The same in calls that are begun when they are asked for, and finished by the function that
    each gives, in order.

    The last of these returns what `evaluate` does, those before it None.
    """
    values, inner = _to_ask(design, ends)
    for start in range(0, max(1, len(inner)), rows_at_once):
        index = inner[start : start + rows_at_once]
        last = start + rows_at_once >= len(inner)
        coalitions = design.coalitions(index)
        finish = _begun(game, coalitions, design.background_of(index)) if len(index) else None
        yield partial(
            _finish,
            finish,
            coalitions,
            ends,
            values,
            index,
            len(inner) if last else None,
        )


def _finish(
    finish: Callable[[], NDArray[Any]] | None,
    coalitions: BoolArray,
    ends: Ends,
    values: FloatArray,
    index: IntArray,
    evaluations: int | None,
) -> tuple[FloatArray, int] | None:
    """Wait for the values of a call; where it is the last, all of them and how many evaluations
    they took.
    """
    if finish is not None:
        values[index] = _checked(_awaited(finish, coalitions), coalitions, ends)
    return None if evaluations is None else (values, evaluations)


def _count(game: Game, coalitions: int) -> None:
    """A bar hears of what was evaluated; games of rows count their batches themselves."""
    if hearing.listener is not None and not is_of_rows(game):
        hearing.listener(coalitions, 0.0)


def _to_ask(design: Design, ends: Ends) -> tuple[FloatArray, IntArray]:
    """Values of a design with the ends filled in, and the positions of all others."""
    empty, grand = design.ends()
    values = np.empty((len(design), ends.outputs))
    values[empty], values[grand] = ends.empty, ends.grand
    asked = np.ones(len(design), np.bool_)
    asked[empty] = asked[grand] = False
    return values, np.flatnonzero(asked)


def _call(game: Game, coalitions: BoolArray, background: IntArray | None = None) -> NDArray[Any]:
    try:
        if background is not None and isinstance(game, DrawingGame):
            return np.asarray(game.values_over(coalitions, background))
        return unmasked(game.values(coalitions))
    except OwenshapError:
        raise
    except Exception as error:
        raise _quoted(error, coalitions) from error


def _begun(
    game: LaunchingGame, coalitions: BoolArray, background: IntArray | None
) -> Callable[[], NDArray[Any]]:
    try:
        return game.begin(coalitions, background)
    except OwenshapError:
        raise
    except Exception as error:
        raise _quoted(error, coalitions) from error


def _awaited(finish: Callable[[], NDArray[Any]], coalitions: BoolArray) -> NDArray[Any]:
    try:
        return np.asarray(finish())
    except OwenshapError:
        raise
    except Exception as error:
        raise _quoted(error, coalitions) from error


def _quoted(error: Exception, coalitions: BoolArray) -> GameError:
    """What a game raised, with what it was asked."""
    got = f"{type(error).__name__}({error}) on {_batch(coalitions)}"
    return GameError(
        "the game", "return a value for every coalition", got, "Mend the game for such coalitions"
    )


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
    members, n_players = np.flatnonzero(coalition).tolist(), len(coalition)
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
