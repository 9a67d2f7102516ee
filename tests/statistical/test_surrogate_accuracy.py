"""Accuracy and coverage of the surrogate methods, on fixed seeds."""

import numpy as np
import pytest

import owenshap
from owenshap.testing import KnownGame, airport, product, random_unanimity_sum, weighted_voting


def relative_error(game, method, budget, seeds):
    truth = game.shapley_values
    found = [
        owenshap.estimate(game, method, budget=budget, seed=seed, progress=False).values
        for seed in range(seeds)
    ]
    return float(
        np.mean([np.square(each - truth).sum() for each in found]) / np.square(truth).sum()
    )


def network(n_players=12, seed=0):
    """A small random network, its Shapley values by enumeration."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(n_players, 8)), rng.normal(size=8)

    def values(coalitions):
        return np.tanh(np.asarray(coalitions, float) @ first / 2) @ second

    truth = owenshap.estimate(
        owenshap.FunctionGame(values, n_players), "exact", progress=False
    ).values
    return KnownGame(values, n_players, truth)


# Games, budget, and how many times lower the squared error must be than halved-owen's: half of what
# these seeds show or less.
CASES = [
    ("network", network(), 120, 5),
    ("product", product(np.linspace(0.5, 1.5, 14), np.linspace(1.4, 0.7, 14)), 140, 3),
    ("pairs and triples", random_unanimity_sum(20, 40, 3, seed=1), 400, 4),
    ("airport", airport(np.arange(1.0, 17)), 320, 20),
    ("voting", weighted_voting([5, 4, 4, 3, 3, 2, 2, 2, 1, 1, 1, 1, 7, 6], 20), 280, 2),
]


@pytest.mark.parametrize(
    ("game", "budget", "times"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_process_is_more_accurate_than_stars(game, budget, times):
    own = relative_error(game, "gaussian-process", budget, 4)
    stars = relative_error(game, "halved-owen", budget, 40)
    assert times * own < stars, f"{own:.1e} against {stars:.1e}"


def test_more_evaluations_are_more_accurate():
    game = network()
    errors = [relative_error(game, "gaussian-process", budget, 4) for budget in (30, 60, 120, 480)]
    assert sorted(errors, reverse=True) == errors
    assert errors[-1] < 1e-2 * errors[0]


@pytest.mark.parametrize("method", ["gaussian-process", "linear"])
def test_every_budget_works_up_to_all_coalitions(method):
    game = random_unanimity_sum(7, 20, 4, seed=2)
    for budget in [*range(2, 30), 64, 100, 127, 128, 500]:
        found = owenshap.estimate(game, method, budget=budget, progress=False)
        assert found.evaluations <= min(budget, 128)
        assert found.gap == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(found.values, game.shapley_values, atol=1e-12)
    np.testing.assert_allclose(found.standard_errors, 0)


@pytest.mark.parametrize("method", ["gaussian-process", "linear"])
def test_a_fit_has_an_interval_from_its_own_errors(method):
    found = owenshap.estimate(network(), method, budget=100, progress=False)
    np.testing.assert_array_equal(found.standard_errors, found.fit_errors[:, 0])
    np.testing.assert_allclose(found.half_widths, 1.959964 * found.standard_errors, rtol=1e-6)
    assert found.doubtful is None
    few = owenshap.estimate(network(), method, budget=14, progress=False)
    assert np.isfinite(few.half_widths).all()
    assert few.doubtful.startswith("6 pairs tell little")
    none = owenshap.estimate(network(), method, budget=2, progress=False)
    assert np.isnan(none.half_widths).all()
    assert "nothing but v(∅) and v(N)" in none.doubtful


@pytest.mark.parametrize(
    "game", [network(), random_unanimity_sum(12, 30, 5, seed=3)], ids=["network", "rough"]
)
def test_corrected_intervals_cover_and_are_unbiased(game):
    runs = [
        owenshap.estimate(
            game, "gaussian-process-corrected", budget=20 * 12 + 2, seed=seed, progress=False
        )
        for seed in range(40)
    ]
    values = np.array([each.values for each in runs])
    hits = sum(
        int(((each.lower <= game.shapley_values) & (game.shapley_values <= each.upper)).sum())
        for each in runs
    )
    # 480 intervals; those of one run are dependent, as few as 90 independent ones may be
    # behind them. Of these, at 94 % coverage, 80 % or fewer cover once in 100,000 times.
    assert hits / (12 * len(runs)) > 0.8
    z = (values.mean(axis=0) - game.shapley_values) / (
        values.std(axis=0, ddof=1) / np.sqrt(len(runs))
    )
    # of 12 Student's t with 39 degrees of freedom: once in 30,000 times
    assert np.abs(z).max() < 5.5


def test_the_corrected_process_is_more_accurate_than_stars():
    logs = []
    for seed in range(4):
        game = network(seed=seed)
        own = relative_error(game, "gaussian-process-corrected", 400, 4)
        logs.append(np.log(relative_error(game, "halved-owen", 400, 20) / own))
    assert np.exp(np.mean(logs)) > 3  # 6 with these seeds, 3 to 35 from one network to another


def test_the_same_seed_gives_the_same_bits():
    for method in ("gaussian-process", "gaussian-process-corrected", "linear"):
        first, again = (
            owenshap.estimate(network(), method, budget=100, seed=3, progress=False).values
            for _ in range(2)
        )
        np.testing.assert_array_equal(first, again)
