"""Closed forms of values and pairs under any index, against all coalitions."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.interactions.choosing import _leaves
from owenshap.designs.indices import as_index
from owenshap.run.keeping import SizeSums
from owenshap.surrogates.base import Pairs, jackknife, pairs_of
from owenshap.surrogates.gaussian_process.even_kernel import Beside, EvenLikelihood, bends_of
from owenshap.surrogates.gaussian_process.even_process import EvenMean, fit_even
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.semivalues import Mean, pairs, values
from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate
from owenshap.surrogates.gaussian_process.triples import EvenProducts, Triples

N_PLAYERS = 6
EVERY = (np.arange(1 << N_PLAYERS)[:, None] >> np.arange(N_PLAYERS) & 1).astype(bool)
INDICES = ["shapley", "banzhaf", "beta(3, 1)", ([0.0, 0.3, 1.0], [0.2, 0.5, 0.3])]


def drawn(seed, index_part):
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random((9, N_PLAYERS)) < 0.5, 1.0, -1.0)
    vector = np.concatenate([rng.normal(-1, 0.3, N_PLAYERS), [0.2, -0.3, -2, 0.4, 0.1, 0.2]])
    if index_part:
        vector = np.concatenate([rng.normal(0, 0.9, N_PLAYERS), [0.3], vector])
    return signs, vector, rng.normal(size=(9, 2))


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("index_part", [False, True], ids=["plain", "with an index part"])
def test_closed_forms_of_odd_parts_are_those_of_all_coalitions(index, index_part):
    signs, vector, weights = drawn(0, index_part)
    triples = Triples(np.array([[0, 1, 2], [2, 3, 5]]), np.array([0.7, 1.3]))
    known = Likelihood(signs).with_triples(triples).cross(vector, np.where(EVERY, 1.0, -1.0))
    assert_as_of_all(known @ weights, Mean(signs, vector, weights, False, triples), index)


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("with_others", [False, True], ids=["plain", "directions and products"])
def test_closed_forms_of_even_parts_are_those_of_all_coalitions(index, with_others):
    signs, vector, weights = drawn(0, False)
    beside = Beside.none(N_PLAYERS)
    if with_others:
        beside, vector = others_of(vector)
    known = EvenLikelihood(signs, beside).cross(vector, np.where(EVERY, 1.0, -1.0))
    bends = tuple(bends_of(vector, beside.directions))
    plain = vector[2 * len(bends) :]
    mean = Mean(signs, plain, weights, True, beside.products, bends)
    assert_as_of_all(known @ weights, mean, index)


def others_of(vector):
    rng = np.random.default_rng(4)
    players = np.array([[0, 2, 6, 6], [1, 3, 4, 5], [3, 5, 6, 6]])
    beside = Beside(rng.normal(size=(2, N_PLAYERS)), EvenProducts(players, np.array([0.7, 1, 1.3])))
    return beside, np.concatenate([[0.3, -0.2, -0.5, 0.1], vector])


def assert_as_of_all(table, mean, index):
    sums, chosen = SizeSums(N_PLAYERS, table.shape[1]), as_index(index)
    sums.add(EVERY, table)
    assert np.allclose(values(mean, chosen), sums.values(chosen), atol=1e-12)
    assert np.allclose(pairs(mean, chosen), sums.pairs(chosen), atol=1e-12)


@pytest.mark.parametrize("with_others", [False, True])
def test_the_gradient_of_the_even_likelihood_is_its_derivative(with_others):
    signs, vector, _ = drawn(1, False)
    beside = Beside.none(N_PLAYERS)
    if with_others:
        beside, vector = others_of(vector)
    target = np.random.default_rng(2).normal(size=len(signs))
    likelihood, step = EvenLikelihood(signs, beside), 1e-5
    _, gradient = likelihood.loss(vector, target)
    differences = [
        (
            likelihood.loss(vector + step * along, target)[0]
            - likelihood.loss(vector - step * along, target)[0]
        )
        / (2 * step)
        for along in np.eye(len(vector))
    ]
    assert np.allclose(gradient, differences, rtol=1e-5, atol=1e-5)


def fitted(fn, seed=0, count=20):
    rng = np.random.default_rng(seed)
    some = EVERY[rng.permutation(np.arange(1, len(EVERY) // 2))[:count]]
    coalitions = np.concatenate([EVERY[[0, -1]], some, ~some])
    found = pairs_of(coalitions, fn(coalitions).reshape(len(coalitions), -1))
    return found, fit_even(found)


def test_an_even_part_that_is_constant_has_no_interactions():
    _, even = fitted(lambda sets: sets @ np.arange(6.0))
    whole, without = even.interactions(as_index("shapley"))
    assert not whole.any()
    assert not without.any()
    assert even.left == [0]


def rough(sets):
    pair, trio = sets[:, 0] & sets[:, 1], sets[:, 2] & sets[:, 3] & sets[:, 5]
    return 1.0 * pair - 2.0 * trio + 0.3 * sets[:, 4]


def test_without_a_fold_is_a_fit_without_it_under_the_same_parameters():
    pairs_known, even = fitted(rough)
    index = as_index("shapley")
    _, without = even.interactions(index)
    fold = np.arange(-1, len(pairs_known.odd) - 1) % 5
    fold[0] = 0
    stay = fold != 3
    target = pairs_known.even[stay, 0] - pairs_known.even[:, 0].mean()
    alone = np.zeros((N_PLAYERS, N_PLAYERS))
    whole = np.linalg.norm(pairs_known.even[:, 0] - pairs_known.even[:, 0].mean())
    for mean in even.means[0]:
        kernel = EvenLikelihood(pairs_known.signs, mean.beside).kernel(mean.vector)
        weights = np.linalg.solve(kernel[np.ix_(stay, stay)], target)
        share = np.linalg.norm(kernel @ mean.weights[:, 0]) / whole
        one = EvenMean(mean.vector, mean.beside, share * weights[:, None], np.zeros(0), 0.0)
        alone += pairs(one.of(pairs_known.signs[stay]), index)[..., 0]
    assert np.allclose(without[3, ..., 0], alone, rtol=1e-5, atol=1e-6)


def logistic(n_players=14):
    weights = np.random.default_rng(0).normal(size=n_players)
    every = (np.arange(1 << n_players)[:, None] >> np.arange(n_players) & 1).astype(bool)
    table = 1 / (1 + np.exp(0.5 - 1.5 * every @ weights))
    sums = SizeSums(n_players, 1)
    sums.add(every, table[:, None])
    powers = 1 << np.arange(n_players)
    return lambda sets: table[sets @ powers], sums.pairs(as_index("shapley"))[..., 0]


def drawn_pairs(fn, n_players, count, seed):
    from owenshap.designs.pairs import draw_pairs
    from owenshap.estimators.base import with_complements

    sets = with_complements(draw_pairs(n_players, count, np.random.default_rng(seed)))
    return pairs_of(sets, fn(sets)[:, None])


def test_a_function_of_one_weighted_sum_is_found():
    fn, wanted = logistic()
    found = fit_even(drawn_pairs(fn, 14, 139, 0)).interactions(as_index("shapley"))[0][..., 0]
    # 1.2e-2 without the index part
    assert np.square(found - wanted).sum() < 1e-3 * np.square(wanted).sum()


def test_errors_with_few_pairs_are_those_of_fits_made_again():
    fn, wanted = logistic()
    upper = np.triu_indices(14, 1)
    inside = []
    for seed in range(3):
        even = fit_even(drawn_pairs(fn, 14, 40, seed))
        assert all(len(mean.again) == 5 for mean in even.means[0])
        whole, without = even.interactions(as_index("shapley"))
        errors = jackknife(whole[upper], without[:, *upper], 40, 14)[:, 0]
        inside.append(np.abs(whole[upper][:, 0] - wanted[upper]) < 1.96 * errors)
    assert np.mean(inside) > 0.8


def test_products_that_stand_out_are_found_whole():
    rng, wanted = np.random.default_rng(3), np.zeros((16, 16))
    terms = [rng.choice(16, 2 * rng.integers(1, 3), replace=False) for _ in range(14)]
    sizes = rng.normal(size=14)
    for members, size in zip(terms, sizes, strict=True):  # of t² a third is the mean
        wanted[np.ix_(members, members)] += 4 * size * (1 if len(members) == 2 else 1 / 3)
    np.fill_diagonal(wanted, 0)

    def parities(sets):
        signs = np.where(sets, 1.0, -1.0)
        return np.stack([signs[:, each].prod(axis=1) for each in terms], axis=1) @ sizes

    known = drawn_pairs(parities, 16, 200, 0)
    found = fit_even(known).interactions(as_index("shapley"))[0][..., 0]
    # far above without products: a leaf is no product of signs
    assert np.square(found - wanted).sum() < 1e-8 * np.square(wanted).sum()


def test_two_classes_are_fitted_once():
    fn, _ = logistic()
    one = drawn_pairs(fn, 14, 60, 0)
    both = replace(
        one,
        odd=np.concatenate([one.odd, -one.odd], axis=1),
        even=np.concatenate([one.even, -one.even], axis=1),
        centre=np.concatenate([one.centre, 1 - one.centre]),
    )
    even = fit_even(both)
    whole, without = even.interactions(as_index("shapley"))
    assert np.array_equal(whole[..., 0], -whole[..., 1])
    assert np.array_equal(without[..., 0], -without[..., 1])
    assert even.means[0][0].vector is even.means[1][0].vector


def test_two_classes_share_an_odd_process():
    rng = np.random.default_rng(3)
    sets = rng.random((40, 8)) < 0.5
    sets = np.concatenate([np.zeros((1, 8), bool), np.ones((1, 8), bool), sets, ~sets])
    chance = 1 / (1 + np.exp(-(sets @ rng.normal(size=8)) + sets[:, 0] * sets[:, 1]))
    third = np.sin(sets @ rng.normal(size=8))
    fitted = GaussianProcessSurrogate().fit(sets, np.stack([third, chance, 1 - chance], axis=1))
    alone = GaussianProcessSurrogate().fit(sets, (1 - chance)[:, None])
    assert fitted.mixtures[2][0].learned is fitted.mixtures[1][0].learned
    assert fitted.mixtures[0][0].learned is not fitted.mixtures[1][0].learned
    # the numbers are those of a fit of its own
    for name in ("shapley_values", "without_folds", "leave_one_out", "leave_fold_out"):
        own = getattr(alone, name)[..., 0]
        assert np.allclose(getattr(fitted, name)[..., 2], own, atol=1e-6 * np.abs(own).max())
    assert np.allclose(fitted.values(sets)[:, 2], alone.values(sets)[:, 0], atol=1e-6)


def test_of_outputs_in_a_row_every_other_one_is_a_mirror_and_a_constant_is_not_fitted():
    signs = np.where(np.random.default_rng(0).random((20, 5)) < 0.5, 1.0, -1.0)
    values = np.concatenate([np.ones((1, 5)), signs])[:, :1]
    nothing = np.zeros_like(values)
    columns = [values, -values, values, -values, values, nothing, nothing]
    table = np.concatenate(columns, axis=1)
    known = Pairs(signs, table, table / 2, np.full(7, 0.5), np.full(21, 3))
    assert known.mirrors == [1, 3, 6]
    sets = np.concatenate([[np.zeros(5, bool)], signs > 0, signs < 0])
    sets = np.concatenate([[np.ones(5, bool)], sets])
    assert GaussianProcessSurrogate().fit(sets, np.full((42, 2), 0.5)).notes is None


def test_with_few_pairs_lengths_come_from_both_parts_of_the_game():
    logs = []
    for seed in range(6):
        game, rng = _leaves(12, 30, seed), np.random.default_rng(seed)
        sets = rng.random((50, 12)) < rng.random((50, 1))
        sets = np.concatenate([np.zeros((1, 12), bool), np.ones((1, 12), bool), sets, ~sets])
        fitted = fit_even(pairs_of(sets, game.fn(sets)[:, None]))
        found = fitted.interactions(as_index("shapley"))[0][..., 0]
        logs.append(np.log(np.square(found - game.pairs).sum() / np.square(game.pairs).sum()))
    assert np.exp(np.mean(logs)) < 0.43  # 0.418; 0.444 with lengths of the even part alone
