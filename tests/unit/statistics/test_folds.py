import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import same_examples

from owenshap import HalvedOwen, Owen, estimate
from owenshap.statistics.accumulators import FOLDS, INDEPENDENT, Accumulator
from owenshap.statistics.moments import Moments
from owenshap.testing import unanimity


def spread(replicates, total, *, blocks=(), at_once=0):
    """The moments of replicates whose gap is spread, added in blocks that end at these numbers."""
    held = Accumulator(at_once=at_once, total=np.asarray(total, np.float64))
    for block in np.split(replicates, blocks):
        held.add(block)
    return held.summary.moments


def spread_by_hand(replicates, total):
    """The same replicates, each corrected with shares from the replicates of the other folds."""
    folds = np.arange(len(replicates)) % FOLDS
    corrected = np.empty_like(replicates)
    for fold in np.unique(folds):
        others = replicates[folds != fold]
        own = replicates[folds == fold]
        away = others - others.mean(axis=0)
        weights = (away * away.sum(axis=1, keepdims=True)).sum(axis=0)
        parts = [away[folds[folds != fold] == other] for other in set(folds) - {fold}]
        between = sum(len(part) * np.square(part.mean(axis=0)) for part in parts)
        if len(replicates) < FOLDS and between.any():
            between = np.sqrt(between) * between.sum(axis=0) / np.sqrt(between).sum(axis=0)
        weights += INDEPENDENT * between / max(1, len(parts) - 1)
        if not weights.any():
            weights = np.abs(others.mean(axis=0))
        if not weights.any():
            weights = np.abs(own.mean(axis=0))
        gaps = own.sum(axis=1, keepdims=True) - total
        corrected[folds == fold] = own - weights / weights.sum(axis=0) * gaps
    return corrected


def draws(count, n_players, outputs, seed, offset=0.0):
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.1, 3, (n_players, 1))
    return offset + scales * rng.normal(size=(count, n_players, outputs)) + rng.normal()


@same_examples
@given(
    st.integers(3, 45),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from([0.0, 5.0, -1e4]),
    st.lists(st.integers(0, 45), max_size=4),
    st.integers(0, 10**6),
)
def test_folds_give_what_replicates_give(count, n_players, outputs, offset, cuts, seed):
    replicates = draws(count, n_players, outputs, seed, offset)
    total = replicates.sum(axis=1).mean(axis=0) + 1
    blocks = sorted({cut for cut in cuts if 0 < cut < count})
    found = spread(replicates, total, blocks=blocks)
    expected = Moments.of(spread_by_hand(replicates, total))
    size = np.abs(replicates).max()
    spreads = np.sqrt(Moments.of(replicates).squares.max())
    np.testing.assert_allclose(found.mean, expected.mean, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(
        np.sqrt(found.squares), np.sqrt(expected.squares), rtol=1e-6, atol=3e-6 * spreads
    )
    np.testing.assert_allclose(found.mean.sum(axis=0), total, rtol=0, atol=1e-12 * size)


@same_examples
@given(st.integers(1, 30), st.integers(1, 6), st.integers(1, 3), st.integers(0, 10**6))
def test_the_sum_is_exact_from_the_first_replicate_on(count, n_players, outputs, seed):
    replicates = draws(count, n_players, outputs, seed)
    total = np.arange(1.0, 1 + outputs)
    found = spread(replicates, total)
    np.testing.assert_allclose(found.mean.sum(axis=0), total, rtol=0, atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 9, 12, 13, 40])
def test_whoever_has_nothing_keeps_nothing(count):
    replicates = draws(count, 4, 2, seed=1)
    replicates[:, 2] = 0
    assert (spread(replicates, [1.0, -2.0]).mean[2] == 0).all()


@pytest.mark.parametrize("count", [2, 3, 9, 12])
@pytest.mark.parametrize("size", [0.1, 1.0, 1 / 3])
def test_whoever_has_nothing_keeps_nothing_where_one_replicate_alone_has_something(count, size):
    replicates = np.zeros((count, 6, 1))
    replicates[1, :3, 0] = np.arange(1, 4) * size
    found = spread(replicates, [1.0])
    assert (found.mean[3:] == 0).all()
    np.testing.assert_allclose(found.mean.sum(), 1, rtol=1e-12)


@pytest.mark.parametrize("count", [3, 4])
def test_few_replicates_gain_where_players_vary_independently(count):
    # 4,000 spreads of 12 players, as outputs side by side. By standard deviation the squared error
    # is 0.95 and 0.92 times the raw one; by variance 1.06 and 0.98.
    rng = np.random.default_rng(3)
    replicates = rng.normal(size=(count, 12, 4_000)) * np.linspace(0.5, 2, 12)[:, None]
    found = spread(replicates, np.zeros(4_000))
    assert np.square(found.mean).sum() < 0.96 * np.square(found.raw.mean).sum()


@pytest.mark.parametrize("count", [3, 9, 12, 13, 40])
def test_a_player_that_never_varies_keeps_its_value(count):
    replicates = draws(count, 3, 1, seed=0)
    replicates[:, 1] = 0.25
    found = spread(replicates, [1.0])
    assert found.mean[1] == 0.25
    assert found.squares[1] == 0


def test_where_nothing_varies_the_gap_goes_by_size():
    replicates = np.tile([[0.5], [0.0], [-1.5]], (12, 1, 1))
    np.testing.assert_allclose(spread(replicates, [3.0]).mean, [[1.5], [0], [1.5]], rtol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_where_nobody_has_anything_all_get_the_same(count):
    found = spread(np.zeros((count, 5, 1)), [1.0])
    np.testing.assert_allclose(found.mean, 0.2)
    np.testing.assert_allclose(found.squares, 0, atol=1e-30)


@pytest.mark.parametrize("count", [5, 15])
def test_where_the_sum_does_not_vary_the_gap_goes_by_variance(count):
    rng = np.random.default_rng(2)
    first = rng.normal(size=count)
    replicates = np.stack([first, -first, np.full(count, 0.5)], axis=1)[..., None]
    found = spread(replicates, [2.5])
    np.testing.assert_allclose(
        found.mean[:, 0], [first.mean() + 1, 1 - first.mean(), 0.5], rtol=1e-9
    )


@pytest.mark.parametrize("count", [5, 25])
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_what_rounding_leaves_of_a_variance_is_none(size, count):
    alike = np.full((count, 4, 1), 0.1 * size)
    alike[2] += size * np.arange(4.0)[:, None] / 3
    rounding = np.random.default_rng(0).uniform(-1, 1, alike.shape) * 4e-16
    # The one that differs gets equal shares: the others agree. Their own go by how it differs.
    expected = spread_by_hand(alike, size).mean(axis=0)
    found = spread(alike * (1 + rounding), [size]).mean
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_gap_that_hardly_varies_tells_nothing_of_one_that_is_large():
    # Two players cancel in all replicates but one. Covariances with what is left would give them
    # shares of ±1,000 of its gap.
    rng = np.random.default_rng(7)
    large = rng.normal(size=30)
    small = 1e-3 * rng.normal(size=30)
    replicates = np.stack([large, small - large, 0 * large], axis=1)[..., None]
    replicates[11, 2] = 10
    found = spread(replicates, [10 / 30])
    assert np.abs(found.mean - replicates.mean(axis=0)).max() < 1


def test_rows_together_and_blocks_reduced_together_change_no_bit():
    replicates = draws(47, 5, 3, seed=4)
    total = np.array([1.0, -2.0, 0.5])
    together = spread(replicates, total, blocks=[7, 20, 21])
    for output in range(3):
        alone = spread(replicates[:, :, [output]], total[[output]], blocks=[7, 20, 21])
        np.testing.assert_array_equal(alone.mean[:, 0], together.mean[:, output])
        np.testing.assert_array_equal(alone.squares[:, 0], together.squares[:, output])
    held = spread(replicates, total, blocks=[7, 20, 21], at_once=5 * 10)
    np.testing.assert_allclose(held.mean, together.mean, rtol=1e-12)


def test_what_is_rare_is_looked_for_in_replicates_as_they_were_made():
    replicates = np.random.default_rng(5).exponential(size=(40, 4, 1))
    raw = Moments.of(replicates)
    found = spread(replicates, [4.0])
    for name in ("skewness", "excess", "ranges", "unseen"):
        np.testing.assert_array_equal(getattr(found, name), getattr(raw, name))
    assert (found.squares < raw.squares).any()


@pytest.mark.parametrize("method", [HalvedOwen(levels=2), Owen(levels=2), Owen(levels=3)], ids=str)
@pytest.mark.parametrize("count", [3, 14])
def test_the_mean_stays_where_replicates_tie(method, count):
    # 600 runs of few passes, most of which give a player 0 or 1: false alarm below 6 × 6 × 7e-5 at
    # 4 standard errors. Weights from what rounding leaves of a variance of 0 are up to 10 off.
    game = unanimity(6, range(3))
    budget = 2 + count * method.replicate_cost(6)
    runs = [estimate(game, method, budget=budget, seed=seed, progress=False) for seed in range(600)]
    values = np.array([run.values for run in runs])
    errors = (values.mean(axis=0) - game.shapley_values)[:3] / (
        values.std(axis=0)[:3] / np.sqrt(len(values))
    )
    assert np.abs(errors).max() < 4
    assert np.abs(values.sum(axis=1) - 1).max() < 1e-12


@pytest.mark.parametrize("count", [2, 3, 4, 11, 13, 25])
def test_the_mean_stays_where_replicates_are_skewed(count):
    # 20,000 spreads of skewed, dependent replicates, 4 players, as outputs side by side: false
    # alarm below 3e-4 at 4 standard errors. Weights from all replicates, the own included, are up
    # to 19 to 27 standard errors off.
    rng = np.random.default_rng(1)
    scale = np.array([0.2, 1.0, 1.0, 3.0])[:, None]
    replicates = rng.exponential(size=(count, 4, 20_000)) * scale
    replicates += 0.3 * rng.exponential(size=(count, 1, 20_000))
    means = spread(replicates, np.full(20_000, scale.sum() + 1.2)).mean
    errors = (means.mean(axis=1) - scale[:, 0] - 0.3) / (means.std(axis=1) / np.sqrt(20_000))
    assert np.abs(errors).max() < 4


def test_what_is_left_of_a_variance_is_in_halves_of_all_values():
    # Four players share what makes the sum vary; three of them show a rare event of their own.
    rng = np.random.default_rng(8)
    replicates = np.repeat(rng.normal(size=(40, 1, 1)), 4, axis=1)
    for player in range(3):
        replicates[5 + player, player] += 2
    found = spread(replicates, [0.0])
    left = found.squares / found.raw.squares
    assert left[3] < 0.5 * left[:3].min()
    by_all = found.squares.sum() / found.raw.squares.sum() * found.raw.variances
    np.testing.assert_allclose(found.variances, (found.squares / 39 + by_all) / 2, rtol=1e-12)
    np.testing.assert_allclose(found.variances.sum(), found.squares.sum() / 39, rtol=1e-12)
