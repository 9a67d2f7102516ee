"""Games: set functions from coalitions of players to values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from owenshap.errors import InputError, shown
from owenshap.support.arrays import BoolArray, FloatArray, IntArray, unmasked
from owenshap.support.bits import to_codes
from owenshap.support.checks import check_unmasked, whole_number

if TYPE_CHECKING:
    from owenshap.designs.design import Design


@runtime_checkable
class Game(Protocol):
    """Anything with players and a value for each coalition of them.

    `values` takes coalitions, bool (m, n_players), and returns (m,) or (m, k) finite real numbers.
    What it returns is checked where it is used; a game need not check it.
    """

    @property
    def n_players(self) -> int:
        """How many players there are."""
        ...

    def values(self, coalitions: BoolArray, /) -> NDArray[Any]:
        """The value of each coalition."""
        ...


@runtime_checkable
class DrawingGame(Game, Protocol):
    """A game whose values are means over background rows, of which some may be drawn for each star
    or chain.
    """

    @property
    def draws(self) -> int | None:
        """How many are drawn; None: all are averaged over."""
        ...

    def draw_background(self, rng: np.random.Generator, units: tuple[int, ...]) -> IntArray:
        """Background rows (*units, draws)."""
        ...

    def values_over(self, coalitions: BoolArray, background: IntArray, /) -> NDArray[Any]:
        """The value of each coalition over its own background rows (m, draws)."""
        ...


@runtime_checkable
class LaunchingGame(Game, Protocol):
    """A game whose values may be on their way, from a device, while the next ones are prepared."""

    @property
    def launches(self) -> bool:
        """Whether they are: `begin` returns before they are there."""
        ...

    def begin(
        self, coalitions: BoolArray, background: IntArray | None, /
    ) -> Callable[[], NDArray[Any]]:
        """Begin to value coalitions, over all background rows or each over its own; what waits for
        the values.
        """
        ...


@runtime_checkable
class CompactGame(Game, Protocol):
    """A game that values whole stars, chains or all subsets at once, without their coalitions one
    by one.
    """

    def design_replicates(
        self, design: Design, empty: FloatArray, grand: FloatArray, /
    ) -> FloatArray:
        """The replicates (r, n, k) of a design, given the values (k,) of the empty and the grand
        coalition.
        """
        ...


@runtime_checkable
class LaunchingCompactGame(CompactGame, Protocol):
    """One that can begin to value a design and be asked for its replicates later."""

    @property
    def launches_replicates(self) -> bool:
        """Whether beginning early saves time: replicates are then made elsewhere while the next
        design is prepared.
        """
        ...

    def begin_replicates(
        self, design: Design, empty: FloatArray, grand: FloatArray, /
    ) -> Callable[[], FloatArray]:
        """Begin to value a design; what waits for the replicates."""
        ...


@runtime_checkable
class GameOfRows(Game, Protocol):
    """A game that several rows play together: their outputs stand side by side."""

    @property
    def labels(self) -> IntArray:
        """Number of each row."""
        ...

    def of_rows(self, which: IntArray, /) -> GameOfRows:
        """The game of some of its rows."""
        ...

    def release(self) -> None:
        """Let go of what is kept between calls."""
        ...


@runtime_checkable
class AdditiveGame(Game, Protocol):
    """A game that may know to be a sum of its players' own values, which are their Shapley values
    then.
    """

    def shapley_values(self) -> FloatArray | None:
        """The values (n, k); None where the game is not additive."""
        ...


class Declared:
    """A base for games whose class alone says what they can do.

    Of these the answer is looked up once for each class: asking a protocol takes microseconds. Of
    any other game every object is asked, since it may have methods of its own.
    """


_known: dict[tuple[type, type], bool] = {}
"""By class of game and protocol: whether it can do that."""


def _provides(game: Game, protocol: type) -> bool:
    """Whether a game can do what a protocol asks for."""
    if not isinstance(game, Declared):
        return isinstance(game, protocol)
    key = (type(game), protocol)
    if key not in _known:
        _known[key] = isinstance(game, protocol)
    return _known[key]


def is_drawing(game: Game) -> TypeGuard[DrawingGame]:
    """Whether background rows are drawn for its stars or chains."""
    return _provides(game, DrawingGame) and game.draws is not None  # type: ignore[attr-defined]


def is_compact(game: Game) -> TypeGuard[CompactGame]:
    """Whether it values whole designs."""
    return _provides(game, CompactGame)


def is_of_rows(game: Game) -> TypeGuard[GameOfRows]:
    """Whether several rows may play it together."""
    return _provides(game, GameOfRows)


def rows_of(game: Game) -> int:
    """How many rows play a game together."""
    return len(game.labels) if is_of_rows(game) else 1


@dataclass(frozen=True)
class FunctionGame:
    """A game given by a function of many coalitions at once.

    Parameters
    ----------
    fn : callable
        fn(coalitions: bool (m, n_players)) -> (m,) or (m, k) for k outputs. Called with up to some
        thousand coalitions at a time.
    n_players : int
        Number of players, at least 1.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> weights = np.array([1.0, 2.0, 3.0])
    >>> game = owenshap.FunctionGame(lambda coalitions: (coalitions @ weights) ** 2, n_players=3)
    >>> owenshap.estimate(game, "exact").values
    array([ 6., 12., 18.])
    """

    fn: Callable[[BoolArray], ArrayLike]
    n_players: int

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise InputError(
                "fn", "be a function of coalitions", self.fn, "For a table of values use TableGame"
            )
        object.__setattr__(
            self,
            "n_players",
            whole_number("n_players", self.n_players, 1, "Give the number of players"),
        )

    def values(self, coalitions: BoolArray, /) -> NDArray[Any]:
        """The function's values of these coalitions."""
        return unmasked(self.fn(coalitions))


@dataclass(frozen=True, eq=False)
class TableGame:
    """A game given by the values of all its coalitions.

    Parameters
    ----------
    values : array of 2**n numbers, or of shape (2**n, k) for k outputs
        Bit i of the index is player i: values[0b101] is the value of the coalition {0, 2}.

    Examples
    --------
    >>> import owenshap
    >>> owenshap.estimate(owenshap.TableGame([0, 1, 3, 8]), "exact").values
    array([3., 5.])
    """

    table: FloatArray = field(repr=False)
    n_players: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", _checked_table(self.table))
        object.__setattr__(self, "n_players", len(self.table).bit_length() - 1)

    def values(self, coalitions: BoolArray, /) -> FloatArray:
        """The table's values of these coalitions."""
        return self.table[to_codes(coalitions)]


def _checked_table(values: ArrayLike) -> FloatArray:
    check_unmasked("values", values)
    try:
        given = np.asarray(values)
        if given.dtype.kind == "c":
            raise TypeError
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        got = shown(values)
        raise InputError(
            "values", "be an array of real numbers", got, "Give 2**n numbers, or 2**n rows of k"
        ) from None
    if (
        table.ndim not in (1, 2)
        or len(table) < 2
        or len(table) & (len(table) - 1)
        or table.size == 0
    ):
        raise InputError(
            "values",
            "have 2**n rows",
            f"shape {table.shape}",
            "Bit i of the row's index is player i",
        )
    if not np.isfinite(table).all():
        row = int(np.argwhere(~np.isfinite(table))[0, 0])
        raise InputError(
            "values", "be finite", f"{table[row]} at index {row}", "Give every coalition a value"
        )
    table.flags.writeable = False
    return table
