"""Products of three players, and lengths that the even part tells."""

from dataclasses import replace

import numpy as np
import pytest

import owenshap
from owenshap.support.arrays import IntArray
from owenshap.surrogates.gaussian_process.even_kernel import OWN_FIRST, OWN_SPREAD
from owenshap.surrogates.gaussian_process.factor import Factor
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.members import Learned, Mean, mixture
from owenshap.surrogates.gaussian_process.parameters import Parameters
from owenshap.surrogates.gaussian_process.settings import TRIPLES
from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate
from owenshap.surrogates.gaussian_process.triples import Search, Triples
from owenshap.testing import random_unanimity_sum

from .test_surrogates import all_coalitions, enumerated, some_pairs, some_vector

FEW = Triples(np.array([[0, 1, 4], [1, 2, 5]]), np.array([0.7, 0.2]))


def signs_of_pairs(n_players: int, count: int):
    return np.where(some_pairs(n_players, count)[np.r_[0, 2 : 2 + count]], 1.0, -1.0)


def sparse(n_players: int, players: IntArray, seed: int):
    """A linear game and some products of three players, with its Shapley values."""
    rng = np.random.default_rng(seed)
    linear, own = (
        rng.normal(size=n_players),
        rng.choice([-1, 1], len(players)) * rng.uniform(0.1, 0.8, len(players)),
    )
    exact = 2 * linear
    for three, coefficient in zip(players, own, strict=True):
        exact[three] += 2 / 3 * coefficient

    def values(coalitions):
        signs = np.where(coalitions, 1.0, -1.0)
        return (signs @ linear + Triples(players, own).products(signs) @ own)[:, None]

    return values, exact


def test_a_kernel_with_triples_has_its_shapley_values_in_closed_form():
    likelihood, vector = Likelihood(signs_of_pairs(7, 15)).with_triples(FEW), some_vector(7)
    everywhere = np.where(all_coalitions(7), 1.0, -1.0)
    kernel = likelihood.cross(vector, everywhere)
    np.testing.assert_allclose(likelihood.shapley(vector), enumerated(kernel).T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(kernel, -kernel[::-1], atol=1e-14)  # odd


def test_the_variance_with_triples_is_that_of_the_kernel():
    everywhere = np.where(all_coalitions(6), 1.0, -1.0)
    likelihood, vector = Likelihood(everywhere).with_triples(FEW), some_vector(6)
    covariance = enumerated(enumerated(likelihood.cross(vector, everywhere)).T)
    np.testing.assert_allclose(
        likelihood.shapley_priors(vector), np.diagonal(covariance), atol=1e-10
    )


def test_triples_leave_the_likelihood_they_came_from_alone():
    likelihood, vector = Likelihood(signs_of_pairs(6, 12)), some_vector(6)
    before = likelihood.shapley(vector)
    likelihood.with_triples(FEW)
    np.testing.assert_array_equal(likelihood.shapley(vector), before)


def test_a_triple_that_is_found_makes_the_values_as_likely_as_it_can():
    signs = signs_of_pairs(9, 80)
    noise = np.random.default_rng(1).normal(size=len(signs))
    values = 3 * signs[:, 0] * signs[:, 3] * signs[:, 7] + noise
    found = Search(signs, values).found(Factor.of(np.eye(len(signs))), Triples.none())
    assert [0, 3, 7] in found.players.tolist()
    at = found.players.tolist().index([0, 3, 7])

    def log_likelihood(factor):
        variances = found.variances.copy()
        variances[at] *= factor
        kernel = Triples(found.players, variances).kernel(signs, signs) + np.eye(len(signs))
        return -values @ np.linalg.solve(kernel, values) / 2 - np.linalg.slogdet(kernel)[1] / 2

    again = Search(signs, values).found(
        Factor.of(found.kernel(signs, signs) + np.eye(len(signs))), found
    )
    found = Triples(again.players[: len(found)], again.variances[: len(found)])
    assert log_likelihood(1.0) > log_likelihood(0.97)
    assert log_likelihood(1.0) > log_likelihood(1.03)


def test_a_triple_that_pays_no_longer_is_left_out():
    signs = signs_of_pairs(9, 80)
    values = np.random.default_rng(2).normal(size=len(signs))
    values -= signs[:, :3].prod(axis=1) * (values @ signs[:, :3].prod(axis=1)) / len(signs)
    wrong = Triples(np.array([[0, 1, 2]]), np.array([2.0]))
    factor = Factor.of(wrong.kernel(signs, signs) + np.eye(len(signs)))
    assert [0, 1, 2] not in Search(signs, values).found(factor, wrong).players.tolist()


def test_noise_has_hardly_any_triples():
    signs = signs_of_pairs(12, 100)
    counts = [
        len(
            Search(signs, np.random.default_rng(seed).normal(size=101)).found(
                Factor.of(np.eye(101)), Triples.none()
            )
        )
        for seed in range(20)
    ]
    # Of 220 triples each is taken by chance where a normal number is beyond 2.9, once in 270.
    assert np.mean(counts) < 2


@pytest.mark.parametrize("seed", range(3))
def test_a_game_of_few_triples_is_found_whole(seed):
    players = np.array(
        [
            [0, 2, 5],
            [1, 2, 9],
            [3, 4, 8],
            [0, 10, 13],
            [6, 7, 11],
            [2, 8, 12],
            [1, 6, 14],
            [5, 9, 15],
        ]
    )
    values, exact = sparse(16, players, seed)
    coalitions = some_pairs(16, 300)
    fitted = GaussianProcessSurrogate().fit(coalitions, values(coalitions))
    assert np.square(fitted.shapley_values[:, 0] - exact).sum() < 1e-9 * np.square(exact).sum()
    found = fitted.mixtures[0][0].learned.triples.players.tolist()
    assert {*map(tuple, players.tolist())} <= {*map(tuple, found)}


def test_triples_are_looked_for_in_part_of_many_pairs(monkeypatch):
    monkeypatch.setattr(
        "owenshap.surrogates.gaussian_process.learning.TRIPLES", replace(TRIPLES, most_searched=200)
    )
    players = np.array([[0, 2, 5], [1, 2, 9], [3, 4, 8]])
    values, exact = sparse(12, players, 0)
    coalitions = some_pairs(12, 300)
    fitted = GaussianProcessSurrogate().fit(coalitions, values(coalitions))
    assert np.square(fitted.shapley_values[:, 0] - exact).sum() < 1e-9 * np.square(exact).sum()


def test_small_triples_are_found_when_they_take_the_place_of_the_product_part(monkeypatch):
    games = [random_unanimity_sum(16, 40, 4, seed=seed) for seed in range(3)]  # as trees are

    def errors():
        found = []
        for seed, game in enumerate(games):
            coalitions = some_pairs(16, 200, seed)
            fit = GaussianProcessSurrogate().fit(coalitions, game.values(coalitions)[:, None])
            found.append(np.square(fit.shapley_values[:, 0] - game.shapley_values).sum())
        return np.log(found)

    with_it = errors()
    monkeypatch.setattr(
        "owenshap.surrogates.gaussian_process.learning._in_place_of_products",
        lambda learned, *_: learned,
    )
    assert with_it.mean() < errors().mean() - np.log(2)


def test_triples_pay_a_price_for_being_chosen():
    # The same left-out errors: what took 2 of 220 triples to have them counts for less, by that
    # price twice over.
    errors = np.ones(100)
    found = [
        Mean(Learned(some_vector(12), triples), 0.0, errors, errors, errors, errors[:, None], 1.0)
        for triples in (FEW, Triples.none())
    ]
    with_triples, without = (member.share for member in mixture(found, 12, 1.0))
    assert with_triples / without == pytest.approx(221.0 ** (-4 * len(FEW) / 100))


@pytest.mark.parametrize("lean", [0.0, 0.6])
def test_the_gradient_of_the_even_part_is_that_of_finite_differences(lean):
    likelihood, even = (
        Likelihood(signs_of_pairs(7, 14)),
        np.random.default_rng(1).normal(size=15),
    )
    values, vector = (
        np.random.default_rng(2).normal(size=15),
        np.append(some_vector(7), [0.3, -2.0]),
    )
    vector[7 + 3] = lean

    def loss(at):
        return likelihood.loss(at, values, even=even)

    for i, step in enumerate(1e-6 * np.eye(len(vector))):
        assert loss(vector)[1][i] == pytest.approx(
            (loss(vector + step)[0] - loss(vector - step)[0]) / 2e-6, abs=1e-6
        )


def test_both_parts_count_alike():
    likelihood, own, vector = (
        Likelihood(signs_of_pairs(7, 14)),
        np.array([0.3, -2.0]),
        some_vector(7),
    )
    values, mean = np.random.default_rng(1).normal(size=(2, 15))
    p, signs = Parameters.of(vector, 7), likelihood.signs
    inner, sums = (signs * p.lengths) @ signs.T, p.lean / 2 * (signs @ p.lengths)
    kernel = np.cosh(sums[:, None] + sums) * np.exp(inner / 2) + np.cosh(
        sums[:, None] - sums
    ) * np.exp(-inner / 2)
    kernel = np.exp(0.3 - p.lengths.sum() / 2) / 2 * kernel + 10 + np.exp(-2.0) * np.eye(15)
    of_even = mean @ np.linalg.solve(kernel, mean) / 2 + np.linalg.slogdet(kernel)[1] / 2
    apart = (own - OWN_FIRST) / OWN_SPREAD
    expected = likelihood.loss(vector, values)[0] + of_even + apart @ apart / 2
    assert likelihood.loss(np.append(vector, own), values, even=mean)[0] == pytest.approx(
        expected, rel=1e-6
    )


def test_the_even_part_tells_lengths():
    # Two players have all there is to interactions; what both parts together say of lengths is
    # likelier than their opposite.
    signs = signs_of_pairs(8, 40)
    values = signs[:, 0] * signs[:, 1]
    right, wrong = np.full(8, -4.0), np.full(8, -4.0)
    right[:2], wrong[2:4] = 0.0, 0.0
    vectors = [np.concatenate([each, [0.0, 0.0, -4.0, 0.0, 0.0, 0.0]]) for each in (right, wrong)]
    both = [
        Likelihood(signs).loss(np.append(each, [0.0, -4.0]), 0 * values, even=values)
        for each in vectors
    ]
    losses = [
        of_both - Likelihood(signs).loss(each, 0 * values)[0]
        for (of_both, _), each in zip(both, vectors, strict=True)
    ]
    assert losses[0] < losses[1] - 10


def test_fits_of_few_pairs_are_better_with_the_even_part(monkeypatch):
    # Games of 6 out of 16 players: mean logarithm of the errors' ratio 0.15, standard error 0.05.
    games = [random_unanimity_sum(6, 20, 6, seed=seed) for seed in range(24)]
    coalitions = some_pairs(16, 39)

    def error(game):
        fit = GaussianProcessSurrogate().fit(coalitions, game.values(coalitions[:, :6])[:, None])
        return np.square(
            fit.shapley_values[:, 0] - np.append(game.shapley_values, np.zeros(10))
        ).sum()

    with_it = [error(game) for game in games]
    nothing = "owenshap.surrogates.gaussian_process.surrogate._standard"
    monkeypatch.setattr(nothing, lambda even, scale: None)
    gains = np.log([error(game) for game in games]) - np.log(with_it)
    assert gains.mean() > 0.05


def test_small_triples_are_looked_at_too():
    """With 200 candidates a round, however many pairs there are, some of these are never seen."""
    rng, n_players, terms = np.random.default_rng(1), 24, 120
    players = rng.permuted(np.tile(np.arange(n_players), (terms, 1)), axis=1)[:, :3]
    sizes = rng.normal(size=terms) * np.exp(-4 * rng.random(terms))
    main = rng.normal(size=n_players)

    def value(coalitions):
        signs = np.where(coalitions, 1.0, -1.0)
        return signs @ main + signs[:, players].prod(axis=2) @ sizes

    exact = 2 * main
    np.add.at(exact, players.ravel(), np.repeat(2 / 3 * sizes, 3))
    game = owenshap.FunctionGame(value, n_players)
    found = owenshap.estimate(game, "gaussian-process", budget=50 * n_players, seed=1).values
    assert np.square(found - exact).sum() < 1e-9 * np.square(exact).sum()
