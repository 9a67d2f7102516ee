"""A learner at work: when it learns again, and what that takes."""

from __future__ import annotations

import time
from typing import cast

from owenshap.estimators.gaussian_process import Growing
from owenshap.run.plan import fitting_seconds
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

    def grow(self, growing: Growing) -> None:
        """Fit to all that was seen."""
        began = time.monotonic()
        seconds = self.usual_seconds(growing.pairs)
        growing.fit()
        self._slowness = (time.monotonic() - began) / seconds

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
) -> Verdict:
    """What a fit says that is the estimate; the last one, and one that is good enough, is checked,
    as far as it takes to tell that it is not.
    """

    def verdict() -> Verdict:
        return look_at_fit(*growing.fitted, growing.count, total, until, tolerances, confidence)

    seen = verdict()
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
