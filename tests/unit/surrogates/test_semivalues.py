"""Closed forms of values and pairs under any index, against all coalitions."""

import numpy as np
import pytest

from owenshap.designs.indices import as_index
from owenshap.run.keeping import SizeSums
from owenshap.surrogates.base import jackknife, pairs_of
from owenshap.surrogates.gaussian_process.even_kernel import EvenLikelihood
from owenshap.surrogates.gaussian_process.even_process import fit_even
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.semivalues import Mean, pairs, values
from owenshap.surrogates.gaussian_process.triples import Triples

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
@pytest.mark.parametrize("even", [False, True], ids=["odd", "even"])
@pytest.mark.parametrize("index_part", [False, True], ids=["plain", "with an index part"])
def test_closed_forms_are_those_of_all_coalitions(index, even, index_part):
    signs, vector, weights = drawn(0, index_part)
    players = np.array([[0, 1, 2], [2, 3, 5]])
    triples = Triples.none() if even else Triples(players, np.array([0.7, 1.3]))
    known = EvenLikelihood(signs) if even else Likelihood(signs).with_triples(triples)
    sums = SizeSums(N_PLAYERS)
    sums.add(EVERY, known.cross(vector, np.where(EVERY, 1.0, -1.0)) @ weights)
    mean, chosen = Mean(signs, vector, weights, even, triples), as_index(index)
    assert np.allclose(values(mean, chosen), sums.values(chosen), atol=1e-12)
    assert np.allclose(pairs(mean, chosen), sums.pairs(chosen), atol=1e-12)


@pytest.mark.parametrize("index_part", [False, True])
def test_the_gradient_of_the_even_likelihood_is_its_derivative(index_part):
    signs, vector, _ = drawn(1, index_part)
    target = np.random.default_rng(2).normal(size=len(signs))
    likelihood, step = EvenLikelihood(signs), 1e-5
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
    mean = even.means[0]
    fold = np.arange(-1, len(pairs_known.odd) - 1) % 5
    fold[0] = 0
    stay = fold != 3
    target = pairs_known.even[:, 0] - pairs_known.even[:, 0].mean()
    likelihood = EvenLikelihood(pairs_known.signs)
    spread = np.sqrt(np.mean(np.square(target)))
    kernel = likelihood.kernel(mean.vector)
    weights = spread * np.linalg.solve(kernel[np.ix_(stay, stay)], target[stay] / spread)
    alone = pairs(Mean(pairs_known.signs[stay], mean.vector, weights[:, None], True), index)
    assert np.allclose(without[3, ..., 0], alone[..., 0], rtol=1e-5, atol=1e-6)


def logistic(n_players=14):
    weights = np.random.default_rng(0).normal(size=n_players)
    every = (np.arange(1 << n_players)[:, None] >> np.arange(n_players) & 1).astype(bool)
    table = 1 / (1 + np.exp(0.5 - 1.5 * every @ weights))
    sums = SizeSums(n_players)
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


def test_errors_of_an_index_part_are_those_of_fits_made_again():
    fn, wanted = logistic()
    upper = np.triu_indices(14, 1)
    inside = []
    for seed in range(3):
        even = fit_even(drawn_pairs(fn, 14, 69, seed))
        assert len(even.means[0].again) == 5
        whole, without = even.interactions(as_index("shapley"))
        errors = jackknife(whole[upper], without[:, *upper], 69, 14)[:, 0]
        inside.append(np.abs(whole[upper][:, 0] - wanted[upper]) < 1.96 * errors)
    assert np.mean(inside) > 0.8  # 0.57 with the one fit's own
