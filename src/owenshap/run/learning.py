"""A learner at work: when it learns again, and what that takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import cast

from owenshap.estimators.gaussian_process import Growing
from owenshap.run.plan import BY_PROCESS, BY_TAUGHT, fitting_seconds
from owenshap.statistics.goal import Until
from owenshap.statistics.moments import Moments
from owenshap.statistics.stopping import Verdict, errors_within, look_at_fit
from owenshap.support.arrays import FloatArray
from owenshap.surrogates.forward import Forward


class Learning:
    """The learner of a session, and what its fits take here.

    Parameters
    ----------
    learner : Forward
        Of a row that goes on alone.
    n_players, outputs : int
        Of its game.
    """

    def __init__(self, learner: Forward, n_players: int, outputs: int) -> None:
        self.learner = learner
        self._n_players = n_players
        self._outputs = outputs
        self._slowness = 1.0
        """Of fits here, as the last one showed."""

    @property
    def growing(self) -> Growing | None:
        """The learner, where its fit is the estimate."""
        return cast(Growing, self.learner) if self.learner.grows else None

    def seconds(self, count: int, next_look: int, left: int, needed: float) -> float:
        """What the next fit takes, where so many replicates are made and needed, and so many are
        left; 0 where it does not pay.
        """
        learner = self.learner
        if self.growing is not None:
            pairs = self.growing.pairs * next_look // max(1, count)
        elif learner.pays(count, needed, left):
            pairs = learner.pairs
        else:
            return 0.0
        return self._slowness * self.usual_seconds(pairs)

    def usual_seconds(self, pairs: int) -> float:
        """What a fit of so many pairs takes, counted: the same in every run."""
        return fitting_seconds(pairs, self._n_players, self._outputs)

    def ways_on(self, at_most: float, cost: int) -> dict[str, tuple[float, float]]:
        """Evaluations and seconds of fits until a taught process is good enough, as it is and if it
        learns from its values, where so many replicates of this cost are needed as it is.
        """
        growing = self.growing
        assert growing is not None
        # of its own it needs fewer, and about three fits (run/plan.py)
        needed = max(growing.count, at_most * BY_PROCESS / BY_TAUGHT)
        fit = self.usual_seconds(int(needed / growing.count * growing.pairs))
        return {
            "go on": ((at_most - growing.count) * cost, 0.0),
            "learn": ((needed - growing.count) * cost, 3 * fit),
        }

    def grow(self, growing: Growing) -> None:
        """Fit to all that was seen."""
        if growing.as_taught:
            growing.fit()  # at once
        else:
            self._timed(growing.fit, growing.pairs)

    def learn(self, growing: Growing) -> None:
        """The same, and learn from it."""
        self._timed(growing.learn, growing.pairs)

    def _timed(self, fit: Callable[[], None], pairs: int) -> None:
        began = time.monotonic()
        fit()
        self._slowness = (time.monotonic() - began) / self.usual_seconds(pairs)

    def relearn(self, count: int, needed: float, left: int, seconds: float) -> None:
        """Fit anew, which was expected to take so long."""
        began = time.monotonic()
        self.learner.relearn(count, needed, left)
        self._slowness *= (time.monotonic() - began) / seconds


def look_at_growing(
    growing: Growing,
    total: FloatArray,
    until: Until,
    tolerances: FloatArray | None,
    confidence: float,
    last: bool,
    learned: Callable[[Verdict], bool],
) -> Verdict:
    """What a fit says that is the estimate; the last one, and one that is good enough, is checked,
    as far as it takes to tell that it is not.

    Where it is not good enough, `learned` has it learn from its values if that pays.
    """

    def verdict() -> Verdict:
        return look_at_fit(*growing.fitted, growing.count, total, until, tolerances, confidence)

    seen = verdict()
    if not seen.done and growing.as_taught and learned(seen):
        seen = verdict()
    growing.expected = seen.at_most
    if not (seen.done or last):
        return seen
    within = None
    if not last and tolerances is not None and until.top is None:
        within = errors_within(tolerances, confidence)
    return verdict() if growing.confirm(within) else seen


def moments_of_fit(growing: Growing) -> Moments | None:
    """The last fit as if it were the mean of so many replicates; None before the first."""
    if not growing.begun:
        return None
    return Moments.of_fit(max(2, growing.count), *growing.fitted)
