"""What is kept of replicates."""

import numpy as np
import pytest

from owenshap.statistics.accumulators import Sums, WithSums
from owenshap.statistics.moments import Moments


@pytest.mark.parametrize("outputs", [1, 2, 10, 40])
def test_sums_over_the_players_are_added_player_after_player(outputs):
    replicates = np.random.default_rng(0).normal(size=(50, 17, outputs))
    sums, both = Sums(), WithSums()
    sums.add(replicates)
    both.add(replicates)
    plain = np.add.accumulate(replicates, axis=1)[:, -1:]
    np.testing.assert_array_equal(sums.moments().squares, Moments.of(plain).squares)
    np.testing.assert_array_equal(both.moments().squares, Moments.of(np.concatenate([replicates, plain], axis=1)).squares)
