"""Fits keep to the memory that they say they need, and cutting them into parts changes nothing."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from owenshap.designs.pairs import even_pairs
from owenshap.estimators.gaussian_process import GaussianProcess
from owenshap.estimators.gaussian_process_corrected import GaussianProcessCorrected
from owenshap.support.arrays import BoolArray, FloatArray
from owenshap.surrogates import Surrogate
from owenshap.surrogates.base import _complete, pairs_of
from owenshap.surrogates.cross_validated import CrossValidated
from owenshap.surrogates.gaussian_process import (
    GaussianProcessSurrogate,
    gaussians,
    kernel,
    learning,
    members,
)
from owenshap.surrogates.gaussian_process.factor import Factor
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.members import Learned, means
from owenshap.surrogates.gaussian_process.parameters import OTHERS
from owenshap.surrogates.gaussian_process.surrogate import AsTaught, bytes_kept
from owenshap.surrogates.gaussian_process.taught import Taught
from owenshap.surrogates.linear import LinearSurrogate


def pairs(count: int, n_players: int) -> tuple[BoolArray, FloatArray]:
    """The ends and so many pairs with the values of a bent sum."""
    drawn = even_pairs(n_players, count, np.random.default_rng(0))
    ends = np.array([[True], [False]]).repeat(n_players, axis=1)
    coalitions = np.concatenate([ends, drawn, ~drawn])
    weights = np.random.default_rng(1).normal(size=n_players) / np.sqrt(n_players)
    return coalitions, np.tanh(coalitions @ weights)[:, None]


def as_taught(n_players: int) -> AsTaught:
    """By four games, whose lengths differ."""
    rest = (0.2, -0.3, -3.0, 0.6, 0.4, 0.1)
    lengths = np.random.default_rng(2).normal(-1, 0.6, (4, n_players))
    return AsTaught(Taught(tuple((*each.tolist(), *rest) for each in lengths)))


@pytest.mark.parametrize(
    ("surrogate", "count", "n_players"),
    [
        (as_taught(12), 150, 12),
        (as_taught(30), 600, 30),
        (LinearSurrogate(), 2_000, 100),
        (LinearSurrogate(), 100, 700),
        (CrossValidated(GaussianProcessSurrogate()), 150, 12),
        (CrossValidated(GaussianProcessSurrogate()), 20, 400),
        (CrossValidated(GaussianProcessSurrogate()), 600, 12),
        (CrossValidated(GaussianProcessSurrogate()), 60, 1000),
    ],
)
def test_a_fit_takes_no_more_memory_than_it_says(
    surrogate: Surrogate, count: int, n_players: int
) -> None:
    coalitions, values = pairs(count, n_players)
    surrogate.fit(*pairs(20, n_players))  # what a first call loads
    tracemalloc.start()
    try:
        fitted = surrogate.fit(coalitions, values)
        assert fitted.shapley_values.shape == (n_players, 1)
        assert fitted.standard_errors.shape == (n_players, 1)
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used < surrogate.bytes_needed(count, n_players)


def test_means_of_many_pairs_hold_one_matrix_and_are_those_of_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    coalitions, values = pairs(700, 12)
    signs, target = np.where(coalitions[2:702], 1.0, -1.0), values[2:702, 0]
    learned = [Learned(np.zeros(12 + OTHERS)), Learned(np.full(12 + OTHERS, 0.1))]
    usual = means(Likelihood(signs), learned, target)
    for module in (kernel, members, learning):
        monkeypatch.setattr(module, "FILLED_AT_ONCE", 500)
    likelihood = Likelihood(signs)
    tracemalloc.start()
    try:
        parted = means(likelihood, learned, target)
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used < 2 * 8 * 700**2  # one of all pairs, and some rows
    for one, other in zip(usual, parted, strict=True):
        np.testing.assert_allclose(one.left_out, other.left_out, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(one.fit, other.fit, rtol=1e-9)


def test_a_factor_in_its_own_memory_has_the_same_diagonal() -> None:
    matrix = np.cov(np.random.default_rng(0).normal(size=(90, 300))) + np.eye(90)
    factor = Factor.of(matrix)
    assert factor is not None
    wanted = np.diagonal(np.linalg.inv(matrix))
    np.testing.assert_allclose(factor.inverted().diagonal(), wanted, rtol=1e-10)
    np.testing.assert_allclose(factor.inverted(overwrite=True).diagonal(), wanted, rtol=1e-10)


def test_waves_in_parts_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.random.default_rng(0).normal(size=9)
    whole = gaussians.waves(weights)
    monkeypatch.setattr(gaussians, "CACHED", 20)
    for one, other in zip(whole, gaussians.waves(weights), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("count", [10, 40])
def test_a_linear_guess_is_the_same_by_pairs_and_by_players(count: int) -> None:
    coalitions, values = pairs(count, 25)
    signs, target = np.where(coalitions[2 : 2 + count], 1.0, -1.0), values[2 : 2 + count, 0]
    by_players = signs.T @ signs + 1e-2 * count * np.eye(25)
    wanted = np.linalg.solve(by_players, signs.T @ target)
    np.testing.assert_allclose(learning.coefficients(signs, target), wanted, rtol=1e-9, atol=1e-12)


def test_what_corrects_many_players_is_cut() -> None:
    """Some megabytes, beside the coalitions and what comes out: not some for each number of all
    pairs.
    """
    learner = GaussianProcessCorrected(pairs=64).learner(1000)
    assert learner is not None
    design = learner.draw(1000, np.random.default_rng(0), 64)
    values = np.random.default_rng(1).normal(size=(len(design), 1))
    tracemalloc.start()
    try:
        learner.replicates(design, values)
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used < 3 * 1000 * len(design) + 64e6


def test_pairs_of_large_designs_do_not_stay_in_memory():
    """Small ones do: rows share them."""
    _complete.cache_clear()
    ends = np.array([[True], [False]]).repeat(40, axis=1)
    for count, kept in [(20, 1), (13_200, 1)]:
        drawn = np.random.default_rng(count).random((count, 40)) < 0.5
        coalitions = np.concatenate([ends, drawn, ~drawn])
        pairs_of(coalitions, coalitions.sum(axis=1, keepdims=True))
        assert _complete.cache_info().currsize == kept


def test_matrices_of_all_looks_are_counted_before_the_first():
    """They are kept up to 600 pairs, however few are drawn at once."""
    taught = GaussianProcess(taught=Taught()).open_ended(24)
    assert taught.bytes_needed(24, 1) > bytes_kept(600, 24)
