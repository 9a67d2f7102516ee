"""Spreading the gap lowers the error, and intervals cover what they say."""

import numpy as np
import pytest
from scipy.special import stdtrit

from owenshap import HalvedOwen
from owenshap.statistics.accumulators import Accumulator
from owenshap.testing import random_unanimity_sum
from owenshap.testing.trials import replicates_of, smooth, truth

RUNS = 2000


def corrected(game, count):
    """Moments of many runs of so many replicates, as outputs side by side."""
    drawn = replicates_of(HalvedOwen(levels=2), game, count * RUNS)[..., 0]
    replicates = drawn.reshape(count, RUNS, -1).swapaxes(1, 2)
    held = Accumulator(total=np.full(RUNS, truth(game).sum()))
    held.add(np.ascontiguousarray(replicates))
    return held.summary.moments


GAMES = {"unanimity": random_unanimity_sum(10, 60, 10, seed=0), "product": smooth(8)}


@pytest.mark.parametrize("count", [15, 30, 60])
@pytest.mark.parametrize("name", GAMES)
def test_the_error_falls(name, count):
    # The difference of squared errors of 2,000 runs is above 0 by 6 standard errors at least: with
    # no gain at all that happens once in a billion times. It is 8 to 40 here.
    game = GAMES[name]
    found = corrected(game, count)
    before, after = (np.square(each.mean - truth(game)).sum(axis=0) for each in (found.raw, found))
    gain = before - after
    assert gain.mean() > 6 * gain.std() / np.sqrt(RUNS)


@pytest.mark.parametrize("count", [15, 30, 60])
def test_standard_errors_are_those_of_corrected_values(count):
    # Over 2,000 runs of 10 players the coverage of Student's t has a standard error below 0.3 %
    # were players independent; 91 to 98 % is 4 or more away from what is measured.
    game = GAMES["unanimity"]
    found = corrected(game, count)
    half = -stdtrit(count - 1, 0.025) * found.standard_errors
    covered = (np.abs(found.mean - truth(game)) <= half).mean()
    assert 0.91 <= covered <= 0.98
