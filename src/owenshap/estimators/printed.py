"""The paper's two algorithms with its own levels and weights, for the reproduction."""

from __future__ import annotations

from dataclasses import dataclass

from owenshap.designs.levels import Levels, grid, halved_grid
from owenshap.estimators.base import OKHRATI_LIPANI, Passes
from owenshap.support.checks import whole_number


@dataclass(frozen=True)
class _Printed(Passes):
    """A pass over the paper's grid of levels."""

    levels: int = 1000
    per_level: int = 2
    divisor: str = "paper"

    keeps_gap = True

    def __post_init__(self) -> None:
        whole_number("levels", self.levels, 1, "It is the paper's Q")
        whole_number("per_level", self.per_level, 1, "It is the paper's M")
        self.pass_levels()

    def unbiased(self, n_players: int) -> bool:  # noqa: ARG002
        return False

    def default_replicates(self, n_players: int) -> int | None:  # noqa: ARG002
        return 1


@dataclass(frozen=True)
class OwenPrinted(_Printed):
    """Algorithm 1 of the paper: levels 0, 1/Q, …, 1 with equal weights. Biased; use `owen` for
    answers.

    Marginal contributions are v(S ∪ j) − v(S ∖ j), which is what the paper means and its program
    does: its line 6 to the letter counts x_j twice and converges to something else.

    Parameters
    ----------
    levels, per_level : int
        The paper's Q and M; by default those of its Table I.
    divisor : {'paper', 'program'}
        'paper' divides the sum by Q·M as printed, 'program' by (Q + 1)·M, the number of coalitions,
        as the authors' program does. Neither is right for every game.

    Notes
    -----
    A pass costs (Q + 1)·M·(n + 1) evaluations at most. On the unanimity game of 10 players 10
    levels overestimate by 57 %, by 43 % with the program's divisor:

    >>> import owenshap
    >>> from owenshap.testing import unanimity
    >>> game = unanimity(10, range(10))
    >>> estimate = owenshap.estimate(game, owenshap.OwenPrinted(levels=10, per_level=4000))
    >>> bool(1.5 < estimate.values.mean() / 0.1 < 1.65)
    True
    """

    name = "owen-printed"
    citation = OKHRATI_LIPANI
    axioms = frozenset({"linearity", "null player"})

    def pass_levels(self) -> Levels:
        return grid(self.levels, self.divisor)


@dataclass(frozen=True)
class HalvedOwenPrinted(_Printed):
    """Algorithm 2 of the paper: levels 0, 1/Q, … up to ½, each with its complement. Biased; use
    `halved-owen` for answers.

    Parameters
    ----------
    levels, per_level : int
        The paper's Q and M; by default those of its Table I. Q may be odd.
    divisor : {'paper', 'program'}
        'paper' divides by Q·M and counts the level ½ twice, as printed; 'program' divides by
        (Q + 1)·M and does not mirror ½.

    Notes
    -----
    A pass costs (Q + 2)·M·(n + 1) evaluations at most; M·(n + 1) fewer with an odd Q or the
    program's divisor.
    """

    name = "halved-owen-printed"
    citation = OKHRATI_LIPANI
    axioms = frozenset({"linearity", "null player"})

    def pass_levels(self) -> Levels:
        return halved_grid(self.levels, self.divisor)
