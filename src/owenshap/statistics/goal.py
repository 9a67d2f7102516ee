"""What ends a run before its budget, and when it is looked for."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace

import numpy as np

from owenshap.errors import InputError
from owenshap.statistics.intervals import FEW_REPLICATES
from owenshap.support.arrays import FloatArray
from owenshap.support.checks import whole_number

FIRST_LOOK = 20  # replicates: with fewer, neither spread nor skewness is known well enough to stop
# the same where a surrogate learns: with half of them, what it has not learned is missed too often
LEARNER_LOOK = 50
GROWTH = 1.08  # from look to look: what is overshot on average is half of it
BETWEEN_LOOKS = 600  # evaluations at least, so that looks cost little
ENDLESS = sys.maxsize  # replicates where nothing but the goal ends a run


@dataclass(frozen=True)
class Until:
    """What ends a run before its budget: whichever comes first.

    Parameters
    ----------
    tolerance : float or str, optional
        All values within it, at once; '1%' is a share of the range of the outputs.
    top : int, optional
        So many players of largest absolute value are settled, in every output.
    seconds : float, optional
        A clock.
    evaluations : int, optional
        Where an earlier run's clock stopped it.
    exact : bool
        Whether to go over to exact values where those take fewer evaluations than the tolerance.
    usual : bool
        Whether nothing was asked for: methods that cannot be looked at then have a fixed budget,
        and the others a cap.
    """

    tolerance: float | str | None = None
    top: int | None = None
    seconds: float | None = None
    exact: bool = False
    evaluations: int | None = None
    usual: bool = False

    @property
    def share(self) -> float | None:
        """The tolerance as a share of the range; None where it is absolute."""
        return float(self.tolerance[:-1]) / 100 if isinstance(self.tolerance, str) else None

    def tolerances(self, ranges: FloatArray) -> FloatArray | None:
        """The tolerance of each output, from the ranges (k,) of the outputs.

        Where nothing differs any tolerance will do.
        """
        if self.tolerance is None:
            return None
        share = self.share
        if share is None:
            return np.full(len(ranges), float(self.tolerance))
        return share * np.where(ranges > 0, ranges, 1.0)

    def without_clock(self, evaluations: int) -> Until:
        """The same for a run that ended here, with what the clock decided in place of the clock."""
        return (
            self
            if self.seconds is None
            else replace(self, seconds=None, evaluations=evaluations, exact=False)
        )

    @property
    def by_clock(self) -> bool:
        """Whether a clock may end the run, or did when it was made first."""
        return self.seconds is not None or self.evaluations is not None


USUAL = Until("1%", usual=True)  # where nothing is asked for


def checked_until(
    tolerance: float | str | None, top: int | None, seconds: float | None, n_players: int | None
) -> Until | None:
    """What ends a run before its budget, or an error that says what is wrong with it; None where
    nothing does.
    """
    if tolerance is None and top is None and seconds is None:
        return None
    if top is not None:
        top = whole_number("top", top, 1, "It is how many players must be settled")
        if n_players is not None and top >= n_players:
            raise InputError(
                "top", f"be less than the number of players, {n_players}", top, "Lower it"
            )
    if seconds is not None:
        seconds = _positive("seconds", seconds, "Give a time such as 10.0")
    return Until(None if tolerance is None else _checked_tolerance(tolerance), top, seconds)


def _checked_tolerance(tolerance: float | str) -> float | str:
    advice = "Give a number in units of the output, or a share of its range such as '1%'"
    if isinstance(tolerance, str):
        text = tolerance.strip()
        try:
            share = float(text[:-1]) if text.endswith("%") else math.nan
        except ValueError:
            share = math.nan
        if not 0 < share < math.inf:
            raise InputError(
                "tolerance", "be a number or a share in per cent", repr(tolerance), advice
            )
        return f"{text[:-1].strip()}%"
    return _positive("tolerance", tolerance, advice)


def _positive(what: str, value: object, advice: str) -> float:
    number = math.nan
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        number = float(value)
    if not 0 < number < math.inf:
        raise InputError(what, "be a positive number", repr(value), advice)
    return number


def next_look(done: int, cost: int, learning: bool = False) -> int:
    """Replicates at the look after `done` of them, of `cost` evaluations each: nothing else
    decides.

    Beside the fits of a surrogate that learns looks cost nothing: the fewest replicates that tell
    something are enough for another.
    """
    apart = FEW_REPLICATES if learning else -(-BETWEEN_LOOKS // max(1, cost))
    first = LEARNER_LOOK if learning else FIRST_LOOK
    return max(first, grown(done), done + apart if done else 0)


def grown(done: int) -> int:
    """Replicates at which what `done` of them tell is worth another look."""
    return math.ceil(done * GROWTH)
