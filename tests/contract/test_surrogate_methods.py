"""Methods that fit a surrogate: every budget, numbers of players of all kinds, and input that is
not nice.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import owenshap
from owenshap.designs.pairs import all_pairs
from owenshap.errors import GameError
from owenshap.estimators import by_name
from owenshap.estimators.base import FittedPairs
from owenshap.testing import additive, random_unanimity_sum

FITTED = [name for name, each in by_name().items() if issubclass(each, FittedPairs)]
METHODS = [*FITTED, "gaussian-process-corrected"]
each_method = pytest.mark.parametrize("method", METHODS)


def bent(n_players):
    """A smooth game of two outputs, whose empty coalition is worth something."""
    weights, start = (
        np.random.default_rng(n_players).normal(size=(n_players, 2)),
        np.array([3.0, -1.0]),
    )
    return owenshap.FunctionGame(
        lambda coalitions: np.tanh(coalitions @ weights / 2) + start, n_players
    )


def budgets(n_players):
    several = {
        2,
        3,
        4,
        5,
        n_players - 1,
        n_players,
        n_players + 1,
        2 * n_players,
        2 * n_players + 1,
        5 * n_players,
    }
    everything = 1 << n_players
    several |= (
        {everything // 2, everything - 2, everything - 1, everything, everything + 5}
        if n_players < 10
        else set()
    )
    return sorted(each for each in several if each >= 2)


class Counting:
    """A game that counts what it was asked, each coalition in its turn."""

    def __init__(self, game):
        self.game, self.n_players, self.asked = game, game.n_players, []

    def values(self, coalitions):
        self.asked.extend(map(bytes, coalitions))
        return self.game.values(coalitions)


@pytest.mark.parametrize("n_players", [1, 2, 3, 6, 12, 40])
@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_every_budget_works(method, n_players):
    for budget in budgets(n_players):
        if method == "gaussian-process-corrected" and budget < 4 and n_players > 1:
            with pytest.raises(owenshap.InputError, match=r"at least 4 .*, which needs [23]\."):
                owenshap.estimate(bent(n_players), method, budget=budget, progress=False)
            continue
        game = Counting(bent(n_players))
        result = owenshap.estimate(game, method, budget=budget, progress=False)
        assert result.evaluations == len(game.asked) <= budget
        assert result.values.shape == (n_players, 2)
        assert np.isfinite(result.values).all()
        if "efficiency" in result.plan.estimator.axioms:
            np.testing.assert_allclose(result.gap, 0, atol=1e-10)
        again = owenshap.estimate(bent(n_players), plan=result.plan, progress=False)
        np.testing.assert_array_equal(again.values, result.values)


@pytest.mark.parametrize("n_players", [1, 2, 3, 6, 12])
@pytest.mark.parametrize("method", [*FITTED, "auto"])
def test_all_coalitions_are_exact_and_never_asked_for_twice(method, n_players):
    game = Counting(bent(n_players))
    result = owenshap.estimate(game, method, budget=1 << n_players, progress=False)
    assert sorted(set(game.asked)) == sorted(game.asked)
    assert len(game.asked) == 1 << n_players
    np.testing.assert_allclose(
        result.values, owenshap.estimate(bent(n_players), "exact").values, atol=1e-10
    )
    np.testing.assert_array_equal(result.standard_errors, 0)


@pytest.mark.parametrize("method", FITTED)
@pytest.mark.parametrize("n_players", [6, 12, 40])
def test_no_coalition_is_asked_for_twice(method, n_players):
    game = Counting(bent(n_players))
    owenshap.estimate(
        game, method, budget=min(10 * n_players, (1 << n_players) - 3), progress=False
    )
    assert len(set(game.asked)) == len(game.asked)


@each_method
@pytest.mark.parametrize("n_players", [2, 5, 12, 40])
def test_constant_games_give_nothing(method, n_players):
    game = owenshap.FunctionGame(
        lambda coalitions: np.full((len(coalitions), 3), [0.0, 0.1, -1e9]), n_players
    )
    for budget in (4, 3 * n_players, 10 * n_players):
        result = owenshap.estimate(game, method, budget=budget, progress=False)
        np.testing.assert_array_equal(result.values, 0)
        assert result.note is None


@each_method
@pytest.mark.parametrize("n_players", [2, 5, 12, 40])
def test_one_live_player_gets_all(method, n_players):
    game = owenshap.FunctionGame(
        lambda coalitions: np.where(coalitions[:, n_players // 2], 5.0, 2.0), n_players
    )
    result = owenshap.estimate(game, method, budget=10 * n_players, progress=False)
    np.testing.assert_allclose(
        result.values, np.where(np.arange(n_players) == n_players // 2, 3, 0), atol=0.02
    )


@each_method
def test_outputs_of_very_different_scale_do_not_disturb_each_other(method):
    game, scales = (
        random_unanimity_sum(10, 20, 3, seed=1),
        np.array([1.0, 1e-12, 1e12, 1e-60, 1e60]),
    )
    many = owenshap.FunctionGame(lambda coalitions: game.values(coalitions)[:, None] * scales, 10)
    result = owenshap.estimate(many, method, budget=150, progress=False).values / scales
    alone = owenshap.estimate(game, method, budget=150, progress=False).values
    np.testing.assert_array_equal(result[:, 0], alone)
    # Rounding of the values decides where an optimiser stops, so that the others are as good, not
    # the same.
    size = np.abs(game.shapley_values).max()
    np.testing.assert_allclose(result, np.repeat(alone[:, None], 5, axis=1), atol=0.05 * size)


@each_method
def test_a_small_game_on_a_large_offset(method):
    """Single values keep 16 digits: nothing but rounding of the large number may be lost."""
    weights = np.array([3.0, -2.0, 0.5, 1.0, 7.0, 0.1, 0.0, 2.0])
    game = owenshap.FunctionGame(lambda coalitions: 1e9 + coalitions @ weights, 8)
    result = owenshap.estimate(game, method, budget=100, progress=False)
    # What is corrected varies with the pairs that were drawn before the first fit.
    np.testing.assert_allclose(result.values, weights, atol=0.02 if method in FITTED else 0.2)


@each_method
def test_noise_is_borne(method):
    """Every call values a coalition differently: an error about as large as the noise allows, and
    the sum is kept.
    """
    rng, weights = np.random.default_rng(0), np.linspace(-3, 5, 12)
    noisy = owenshap.FunctionGame(
        lambda coalitions: coalitions @ weights + rng.normal(0, 0.3, len(coalitions)), 12
    )
    result = owenshap.estimate(noisy, method, budget=480, progress=False)
    assert abs(result.gap) < 1e-9
    # Of 240 pairs least squares leaves a standard error of about 0.3 · √(2 · 2/240) = 0.04; and
    # v(N) and v(∅) have noise too.
    assert np.abs(result.values - weights).max() < 0.3


@each_method
def test_few_players_are_drawn_again_and_again(method):
    """With 3 players there are but three pairs: of independent draws most are duplicates."""
    game = additive([1.0, 2.0, 4.0])
    result = owenshap.estimate(game, method, budget=200, progress=False)
    np.testing.assert_allclose(result.values, game.shapley_values, atol=0.05)
    assert all_pairs(3) == 3


@each_method
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("size", [0, 2, 6])
def test_what_is_not_finite_is_named(method, bad, size):
    def values(coalitions):
        return np.where(coalitions.sum(axis=1) == size, bad, coalitions.sum(axis=1))

    with pytest.raises(GameError, match=f"must be finite; got {bad} .*players"):
        owenshap.estimate(owenshap.FunctionGame(values, 6), method, budget=50, progress=False)


@each_method
def test_threads_change_no_bit(method):
    game = bent(12)
    alone = owenshap.estimate(game, method, budget=300, progress=False)
    with ThreadPoolExecutor(2) as executor:
        found_there = owenshap.estimate(game, method, budget=300, executor=executor, progress=False)
    np.testing.assert_array_equal(found_there.values, alone.values)
    assert found_there.note == alone.note
