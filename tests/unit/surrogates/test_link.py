"""A link of one weighted sum, and index parts that start from it."""

import numpy as np
import pytest

from owenshap.surrogates.gaussian_process.learning import Learner
from owenshap.surrogates.gaussian_process.link import fit_link
from owenshap.surrogates.gaussian_process.parameters import has_index
from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate
from owenshap.testing import random_unanimity_sum

from .test_surrogates import all_coalitions, enumerated, some_pairs


def drawn_signs(n_players: int, count: int):
    return np.random.default_rng(0).choice([-1.0, 1.0], (count, n_players))


def along_the_line(signs, values):
    weights = np.linalg.lstsq(signs, values, rcond=None)[0]
    return weights / np.sqrt(np.mean(np.square(signs @ weights)))


def sigmoid(weights, shift: float):
    return lambda coalitions: (
        1 / (1 + np.exp(-np.where(coalitions, 1.0, -1.0) @ weights - shift))
    )[:, None]


@pytest.mark.parametrize("shift", [0.0, 0.8, 2.0])
def test_the_weights_behind_a_sigmoid_are_found(shift):
    signs, weights = drawn_signs(12, 100), np.random.default_rng(1).normal(size=12) / 3
    sums = signs @ weights
    values = np.tanh(sums + shift) + np.tanh(sums - shift)
    values /= np.sqrt(np.mean(np.square(values)))
    link = fit_link(signs, values, along_the_line(signs, values))
    assert link.left < 1e-6
    assert link.gain > 100
    # their scale and the shift make up for each other
    assert np.corrcoef(link.weights, weights)[0, 1] > 1 - 1e-6


def test_a_linear_game_has_no_link():
    signs = drawn_signs(12, 100)
    values = signs @ np.random.default_rng(1).normal(size=12) / 3 + 0.1 * np.random.default_rng(
        2
    ).normal(size=100)
    link = fit_link(signs, values, along_the_line(signs, values))
    assert abs(link.gain) < 5
    assert link.left == pytest.approx(0.01, rel=0.5)


def test_a_game_without_a_link_gets_no_index_part(monkeypatch):
    game, coalitions, guesses = random_unanimity_sum(14, 40, 6, seed=0), some_pairs(14, 100), []
    guess = Learner.index_guess

    def kept(learner, vector, target):
        guesses.append(guess(learner, vector, target))
        return guesses[-1]

    monkeypatch.setattr(Learner, "index_guess", kept)
    fitted = GaussianProcessSurrogate().fit(coalitions, game.values(coalitions)[:, None])
    assert guesses == [None]
    assert not any(has_index(member.learned.vector, 14) for member in fitted.mixtures[0])


@pytest.mark.parametrize("seed", range(3))
def test_behind_a_sigmoid_a_fit_is_nearly_exact(seed):
    weights = np.random.default_rng(seed).normal(size=10) / 2
    values, coalitions = sigmoid(weights, 0.7), some_pairs(10, 60)
    everything = (np.arange(1 << 10)[:, None] >> np.arange(10) & 1).astype(bool)
    fitted = GaussianProcessSurrogate().fit(coalitions, values(coalitions))
    apart = fitted.values(everything) - values(everything)
    odd = (apart - apart[::-1]) / 2
    exact = values(everything)
    assert np.square(odd).mean() < 3e-6 * np.square((exact - exact[::-1]) / 2).mean()


def test_the_weights_behind_a_steep_wave_are_found():
    """A sigmoid does not tell of them: without the wave there is no index part."""
    n_players, count = 12, 144
    weights = np.random.default_rng(3).normal(size=n_players)
    coalitions = some_pairs(n_players, count, seed=3)
    values = np.sin(coalitions @ weights + 0.4)[:, None]
    exact = enumerated(np.sin(all_coalitions(n_players) @ weights + 0.4)[:, None])
    fitted = GaussianProcessSurrogate().fit(coalitions, values)
    assert all(has_index(member.learned.vector, n_players) for member in fitted.mixtures[0])
    error = np.square(fitted.shapley_values - exact).sum() / np.square(exact).sum()
    assert error < 1e-4


def test_nothing_is_tried_beside_a_link_that_is_far_likelier(monkeypatch):
    """Triples would be looked for to no avail: on a network they are."""
    tried, with_triples = [], Learner._with_triples

    def watched(learner, vector, target, triples):
        tried.append(len(vector))
        return with_triples(learner, vector, target, triples)

    monkeypatch.setattr(Learner, "_with_triples", watched)
    rng = np.random.default_rng(5)
    weights, others = rng.normal(size=(12, 1)), rng.normal(size=(12, 6))
    coalitions = some_pairs(12, 90)
    linked = np.tanh((coalitions - 0.5) @ weights * 1.5 + 0.3)
    network = np.tanh((coalitions - 0.5) @ others).sum(axis=1, keepdims=True)
    counts = []
    for values in (linked, network):
        tried.clear()
        GaussianProcessSurrogate().fit(coalitions, values)
        counts.append(len(tried))
    assert counts == [0, 1]


def test_a_link_of_many_players_is_found():
    weights = np.random.default_rng(2).normal(size=100) / 5
    game, coalitions = sigmoid(weights, 0.5), some_pairs(100, 400)
    fitted = GaussianProcessSurrogate().fit(coalitions, game(coalitions))
    others = some_pairs(100, 400, seed=1)
    odd = (game(others) - game(~others)) / 2
    found = (fitted.values(others) - fitted.values(~others)) / 2
    assert np.square(found - odd).mean() < 1e-5 * np.square(odd).mean()


@pytest.mark.parametrize("seed", [0, 3])
def test_weights_of_many_players_are_not_learned_from_few_pairs(seed):
    game, coalitions = random_unanimity_sum(120, 360, 8, seed=seed), some_pairs(120, 150, seed)
    fitted = GaussianProcessSurrogate().fit(coalitions, game.values(coalitions)[:, None])
    assert not any(has_index(member.learned.vector, 120) for member in fitted.mixtures[0])
    away = np.square(fitted.shapley_values[:, 0] - game.shapley_values).sum()
    assert away < 0.5 * np.square(game.shapley_values).sum()
