"""What is kept of replicates."""

import numpy as np
import pytest

from owenshap.gathering import Sums, WithSums


@pytest.mark.parametrize("outputs", [1, 2, 10, 40])
def test_sums_over_the_players_have_the_bits_of_a_plain_sum(outputs):
    replicates = np.random.default_rng(0).normal(size=(50, 17, outputs))
    sums, both = Sums(), WithSums()
    sums.add(replicates)
    both.add(replicates)
    np.testing.assert_array_equal(sums.moments().mean[0], replicates.sum(axis=1).mean(axis=0))
    np.testing.assert_array_equal(both.moments().mean[-1:], sums.moments().mean)
    np.testing.assert_array_equal(both.moments().mean[:-1], replicates.mean(axis=0))
