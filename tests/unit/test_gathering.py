"""What is kept of replicates."""

import numpy as np
import pytest

from owenshap.gathering import Sums, WithSums
from owenshap.moments import Moments


@pytest.mark.parametrize("outputs", [1, 2, 10, 40])
def test_sums_over_the_players_have_the_bits_of_a_plain_sum(outputs):
    replicates = np.random.default_rng(0).normal(size=(50, 17, outputs))
    sums, both = Sums(), WithSums()
    sums.add(replicates)
    both.add(replicates)
    plain = replicates.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(sums.moments().squares, Moments.of(plain).squares)
    np.testing.assert_array_equal(both.moments().squares, Moments.of(np.concatenate([replicates, plain], axis=1)).squares)
