"""Games: set functions from coalitions of players to values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard, runtime_checkable

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

    def values(self, coalitions: BoolArray, /) -> NDArray[Any]:
        """The value of each coalition."""


@runtime_checkable
class DrawingGame(Game, Protocol):
    """A game whose values are means over background rows, of which some may be drawn for each star
    or chain.
    """

    @property
    def draws(self) -> int | None:
        """How many are drawn; None: all are averaged over."""

    def draw_background(self, rng: np.random.Generator, units: tuple[int, ...]) -> IntArray:
        """Background rows (*units, draws)."""

    def values_over(self, coalitions: BoolArray, background: IntArray, /) -> NDArray[Any]:
        """The value of each coalition over its own background rows (m, draws)."""


@runtime_checkable
class LaunchingGame(Game, Protocol):
    """A game whose values may be on their way, from a device, while the next ones are prepared."""

    @property
    def launches(self) -> bool:
        """Whether they are: `begin` returns before they are there."""

    def begin(
        self, coalitions: BoolArray, background: IntArray | None, /
    ) -> Callable[[], NDArray[Any]]:
        """Begin to value coalitions, over all background rows or each over its own; what waits for
        the values.
        """


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


@runtime_checkable
class LaunchingCompactGame(CompactGame, Protocol):
    """One that can begin to value a design and be asked for its replicates later."""

    @property
    def launches_replicates(self) -> bool:
        """Whether beginning early saves time: replicates are then made elsewhere while the next
        design is prepared.
        """

    def begin_replicates(
        self, design: Design, empty: FloatArray, grand: FloatArray, /
    ) -> Callable[[], FloatArray]:
        """Begin to value a design; what waits for the replicates."""


@runtime_checkable
class GameOfRows(Game, Protocol):
    """A game that several rows play together: their outputs stand side by side."""

    @property
    def labels(self) -> IntArray:
        """Number of each row."""

    def of_rows(self, which: IntArray, /) -> GameOfRows:
        """The game of some of its rows."""

    def release(self) -> None:
        """Let go of what is kept between calls."""


@runtime_checkable
class AdditiveGame(Game, Protocol):
    """A game that may know to be a sum of its players' own values, which are their Shapley values
    then.
    """

    def shapley_values(self) -> FloatArray | None:
        """The values (n, k); None where the game is not additive."""


class Declared:
    """A base for games whose class alone says what they can do.

    Of these the answer is looked up once for each class: asking a protocol takes microseconds. Of
    any other game every object is asked, since it may have methods of its own.
    """


class Abilities(NamedTuple):
    """What a game can do besides valuing coalitions: the game itself, or None where it cannot."""

    of_rows: GameOfRows | None
    """Several rows may play it together."""
    compact: CompactGame | None
    """It values whole designs."""
    drawing: DrawingGame | None
    """Background rows are drawn for its stars or chains."""
    launching: LaunchingGame | None
    """Its values may be on their way while the next ones are prepared."""
    rows: int
    """How many rows play it together."""


_PROTOCOLS = (GameOfRows, CompactGame, DrawingGame, LaunchingGame)
_known: dict[type, list[bool]] = {}
"""By class of game: which of the protocols it has."""


def abilities(game: Game) -> Abilities:
    """What a game can do."""
    has = _known.get(type(game))
    if has is None:
        has = [isinstance(game, protocol) for protocol in _PROTOCOLS]
        if isinstance(game, Declared):
            _known[type(game)] = has
    played: Any = game
    of_rows, compact, drawing, launching = (played if each else None for each in has)
    return Abilities(
        of_rows,
        compact,
        None if drawing is None or drawing.draws is None else drawing,
        launching if launching is not None and launching.launches else None,
        1 if of_rows is None else len(of_rows.labels),
    )


def is_of_rows(game: Game) -> TypeGuard[GameOfRows]:
    """Whether several rows may play it together."""
    return abilities(game).of_rows is not None


@dataclass(frozen=True)
class FunctionGame(Declared):
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
class TableGame(Declared):
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
        raise InputError(
            "values",
            "be an array of real numbers",
            shown(values),
            "Give 2**n numbers, or 2**n rows of k",
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
