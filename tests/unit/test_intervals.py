import numpy as np
import pytest
from scipy import stats

from owenshap.intervals import FEWEST_REPLICATES, t_half_widths
from owenshap.moments import Moments


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("count", [2, 10, 1000])
def test_half_widths_are_students(count, confidence):
    replicates = np.random.default_rng(0).normal(size=(count, 4, 2))
    half = t_half_widths(Moments.of(replicates), confidence)
    lower, upper = stats.t.interval(confidence, count - 1, replicates.mean(axis=0), stats.sem(replicates, axis=0))
    np.testing.assert_allclose(half, (upper - lower) / 2, rtol=1e-9)


def test_an_interval_takes_ten_replicates():
    assert FEWEST_REPLICATES == 10
