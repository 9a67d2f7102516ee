import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from naive import same_examples

from owenshap.statistics.moments import Moments


@same_examples
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=6),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1e6]),
)
def test_merged_moments_are_the_moments_of_all(sizes, seed, offset):
    replicates = offset + np.random.default_rng(seed).normal(size=(sum(sizes), 3, 2))
    blocks = np.split(replicates, np.cumsum(sizes)[:-1])
    merged = Moments.of(blocks[0])
    for block in blocks[1:]:
        merged = merged.merge(Moments.of(block))
    assert merged.count == len(replicates)
    np.testing.assert_allclose(merged.mean, replicates.mean(axis=0), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(
        merged.squares, replicates.var(axis=0) * len(replicates), rtol=1e-6, atol=1e-9
    )


@same_examples
@given(st.integers(2, 30), st.integers(0, 10**6))
def test_standard_errors_are_those_of_the_mean(count, seed):
    replicates = np.random.default_rng(seed).normal(size=(count, 3, 2))
    by_hand = replicates.std(axis=0, ddof=1) / np.sqrt(count)
    np.testing.assert_allclose(Moments.of(replicates).standard_errors, by_hand, rtol=1e-12)


def test_moments_of_equal_replicates_have_no_spread():
    moments = Moments.of(np.full((7, 2, 1), 0.5))
    assert (moments.standard_errors == 0).all()
