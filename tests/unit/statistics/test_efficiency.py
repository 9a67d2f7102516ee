import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import same_examples

from owenshap import HalvedOwen, Owen, estimate
from owenshap.statistics.efficiency import FEWEST_TO_SPREAD, spread_gap
from owenshap.testing import unanimity


@same_examples
@given(
    st.integers(FEWEST_TO_SPREAD, 20), st.integers(1, 6), st.integers(1, 3), st.integers(0, 10**6)
)
def test_every_replicate_sums_to_the_total(count, n_players, outputs, seed):
    rng = np.random.default_rng(seed)
    total = rng.normal(size=outputs)
    spread = spread_gap(rng.normal(size=(count, n_players, outputs)), total)
    np.testing.assert_allclose(spread.sum(axis=1), np.tile(total, (count, 1)), rtol=0, atol=1e-12)


@same_examples
@given(st.integers(FEWEST_TO_SPREAD, 12), st.integers(0, 10**6))
def test_weights_are_the_variances_over_the_others(count, seed):
    rng = np.random.default_rng(seed)
    replicates = rng.normal(size=(count, 4, 1)) * np.array([0.1, 1, 2, 5])[:, None]
    spread = spread_gap(replicates, np.ones(1))
    for i in range(count):
        variances = np.delete(replicates, i, axis=0).var(axis=0)[:, 0]
        by_hand = replicates[i, :, 0] + variances / variances.sum() * (1 - replicates[i].sum())
        np.testing.assert_allclose(spread[i, :, 0], by_hand, rtol=1e-6, atol=1e-9)


def test_a_player_that_never_varies_gets_nothing():
    replicates = np.random.default_rng(0).normal(size=(9, 3, 1))
    replicates[:, 1] = 0.25
    assert (spread_gap(replicates, np.ones(1))[:, 1] == 0.25).all()


def test_without_any_variance_everyone_gets_the_same():
    replicates = np.zeros((4, 5, 1))
    np.testing.assert_allclose(spread_gap(replicates, np.ones(1)), 0.2)


@pytest.mark.parametrize("method", [HalvedOwen(levels=2), Owen(levels=2), Owen(levels=3)], ids=str)
def test_the_mean_stays_where_replicates_tie(method):
    # 600 runs of 3 passes, most of which give a player 0 or 1: false alarm below 3 × 6 × 7e-5 at 4
    # standard errors. Weights from what rounding leaves of a variance of 0 are up to 10 off.
    game = unanimity(6, range(3))
    budget = 2 + 3 * method.replicate_cost(6)
    runs = [
        estimate(game, method, budget=budget, efficient=True, seed=seed, progress=False)
        for seed in range(600)
    ]
    values = np.array([run.values for run in runs])
    errors = (values.mean(axis=0) - game.shapley_values) / (
        values.std(axis=0) / np.sqrt(len(values))
    )
    assert np.abs(errors).max() < 4


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_where_the_others_agree_but_for_rounding_everyone_gets_the_same(size):
    replicates = np.full((5, 4, 1), 0.1 * size) * (
        1 + np.random.default_rng(0).uniform(-1, 1, (5, 4, 1)) * 4e-16
    )
    replicates[2] += size * np.arange(4.0)[:, None] / 3
    spread = spread_gap(replicates, np.array([size]))
    np.testing.assert_allclose(
        spread[2] - replicates[2], (size - replicates[2].sum()) / 4, rtol=1e-9
    )


@pytest.mark.parametrize("count", [3, 4, 10])
def test_the_mean_stays_where_replicates_are_skewed(count):
    # 20,000 spreads of skewed, dependent replicates, 4 players: false alarm below 3e-4 at 4
    # standard errors. Weights from all replicates, the own included, are 19 to 27 standard errors
    # off.
    rng = np.random.default_rng(1)
    scale = np.array([0.2, 1.0, 1.0, 3.0])
    means = []
    for _ in range(20_000):
        replicates = (
            rng.exponential(size=(count, 4)) * scale + 0.3 * rng.exponential(size=(count, 1))
        )[..., None]
        means.append(spread_gap(replicates, np.array([scale.sum() + 1.2])).mean(axis=0)[:, 0])
    means = np.array(means)
    errors = (means.mean(axis=0) - scale - 0.3) / (means.std(axis=0) / np.sqrt(len(means)))
    assert np.abs(errors).max() < 4
