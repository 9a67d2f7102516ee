"""A process under parameters that other games have taught."""

import gc
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from owenshap.designs.pairs import even_pairs
from owenshap.support.bits import from_codes
from owenshap.surrogates.base import pairs_of
from owenshap.surrogates.gaussian_process.fitted import FittedProcess
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.members import Learned, means, mixture
from owenshap.surrogates.gaussian_process.surrogate import (
    AsTaught,
    GaussianProcessSurrogate,
    Matrices,
    _ready,
    bytes_kept,
)
from owenshap.surrogates.gaussian_process.taught import Taught, taught_by

N = 9


def some_pairs(count, seed=0):
    drawn = even_pairs(N, count, np.random.default_rng(seed))
    ends = np.array([[True], [False]]).repeat(N, axis=1)
    return np.concatenate([ends, drawn, ~drawn])


def rough(coalitions, seed, outputs=2):
    """Games of products, of which no weighted sum tells all."""
    rng = np.random.default_rng(seed)
    sums = coalitions @ rng.normal(size=(N, outputs))
    return np.tanh(sums) + coalitions[:, :outputs] * coalitions[:, 5:6] * coalitions[:, 6:7]


def lesson(seed):
    coalitions = some_pairs(4 * N)
    fitted = GaussianProcessSurrogate().fit(coalitions, rough(coalitions, seed, outputs=1))
    return fitted.pairs.signs, fitted.pairs.odd[:, 0], fitted.mixtures[0], np.arange(N)


@pytest.fixture(scope="module")
def taught():
    return taught_by([lesson(1), lesson(2), lesson(3)], N)


def under(taught, coalitions, values):
    """The posterior by a factor for each game and each vector."""
    pairs = pairs_of(coalitions, values)
    likelihood = Likelihood(pairs.signs)
    learned = [Learned(each) for each in taught.starts()]
    mixtures = {
        k: mixture(means(likelihood, learned, odd), N, 1.0)
        for k, odd in enumerate(np.ascontiguousarray(pairs.odd.T))
    }
    return FittedProcess(likelihood, pairs, mixtures)


@pytest.mark.parametrize("count", [12, 40, 150])
def test_it_is_the_process_under_those_parameters(taught, count):
    coalitions = some_pairs(count, seed=5)
    values = rough(coalitions, 11)
    fitted = AsTaught(taught).fit(coalitions, values)
    wanted = under(taught, coalitions, values)
    assert len(fitted.mixtures[0]) > 1
    assert_allclose(fitted.shapley_values, wanted.shapley_values, atol=1e-10)
    assert_allclose(fitted.without_folds, wanted.without_folds, atol=1e-10)
    assert_allclose(fitted.leave_one_out, wanted.leave_one_out, atol=1e-10)
    assert_allclose(fitted.standard_errors, wanted.standard_errors, atol=1e-10)
    everywhere = from_codes(np.arange(1 << N), N)
    assert_allclose(fitted.values(everywhere), wanted.values(everywhere), atol=1e-10)
    assert fitted.start is None


def test_games_on_the_same_pairs_share_the_matrices(taught, monkeypatch):
    made = []
    plain = Matrices.of.__func__

    def counted(cls, likelihood, vector):
        made.append(vector)
        return plain(cls, likelihood, vector)

    monkeypatch.setattr(Matrices, "of", classmethod(counted))
    coalitions = some_pairs(33, seed=6)
    for seed in (20, 21, 22):
        AsTaught(taught).fit(coalitions, rough(coalitions, seed))
    assert len(made) == len(taught.plain)
    AsTaught(taught).fit(some_pairs(33, seed=7), rough(coalitions, 20))
    assert len(made) == 2 * len(taught.plain)


def test_no_other_game_output_or_order_changes_a_bit(taught):
    coalitions = some_pairs(30, seed=8)
    values = rough(coalitions, 30)
    both = AsTaught(taught).fit(coalitions, values)
    AsTaught(taught).fit(coalitions, rough(coalitions, 31))
    order = np.random.default_rng(0).permutation(len(coalitions))
    mixed = AsTaught(taught).fit(coalitions[order], values[order])
    assert_array_equal(mixed.shapley_values, both.shapley_values)
    for k in range(2):
        alone = AsTaught(taught).fit(coalitions, values[:, [k]])
        assert_array_equal(alone.shapley_values[:, 0], both.shapley_values[:, k])
        assert_array_equal(alone.standard_errors[:, 0], both.standard_errors[:, k])


def test_values_that_came_before_are_not_changed_by_their_reader(taught):
    """Pairs of a game are kept for the next one: nobody may write into them."""
    coalitions = some_pairs(20, seed=9)
    fitted = AsTaught(taught).fit(coalitions, rough(coalitions, 40))
    for array in (fitted.pairs.signs, fitted.pairs.sizes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_constant_games_and_parameters_without_a_factor(taught):
    coalitions = some_pairs(20)
    constant = AsTaught(taught).fit(coalitions, np.full((len(coalitions), 1), 3.0))
    assert_array_equal(constant.shapley_values, np.zeros((N, 1)))
    assert constant.notes is None
    broken = Taught((tuple(np.full(N + 6, np.nan)),))
    nothing = AsTaught(broken).fit(coalitions, rough(coalitions, 50, outputs=1))
    assert "no Gaussian process could be fitted" in nothing.notes[0]
    total = nothing.pairs.total[0]
    assert_allclose(nothing.shapley_values[:, 0], total / N)


def test_each_game_teaches_what_counts_most_in_it():
    """One vector of each, without what it has beside lengths for an index part."""
    lessons = [lesson(1), lesson(2)]
    taught = taught_by(lessons, N)
    assert [len(each) for each in taught.plain] == [N + 6, N + 6]
    for (_, _, members, _), vector in zip(lessons, taught.plain, strict=True):
        likeliest = max(members, key=lambda member: member.share)
        assert_array_equal(likeliest.learned.vector[-N - 6 :], vector)


def test_no_more_than_the_matrices_stays_in_memory(taught):
    """Of a fit to other pairs, when it is gone: bytes for what is kept, and as much for the rest."""
    coalitions = some_pairs(200, seed=21)
    values = rough(coalitions, 3)
    _ready.cache_clear()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    AsTaught(taught).fit(coalitions, values).values(coalitions)
    gc.collect()
    stays = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert stays < 1.2 * bytes_kept(200, N)
