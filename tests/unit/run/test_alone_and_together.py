"""An output's bits are the same alone and beside others: rows that are explained together are
outputs of one game.
"""

from __future__ import annotations

import numpy as np
import pytest

import owenshap
from owenshap.statistics.moments import Moments, sums_over_players
from owenshap.support.arrays import FloatArray
from owenshap.surrogates.linear import LinearSurrogate


def nearly_linear(n_players: int, outputs: int, rng: np.random.Generator) -> FloatArray:
    """Values (2**n, k) that least squares predict as well as a process does."""
    bits = (np.arange(1 << n_players)[:, None] >> np.arange(n_players)) & 1
    along = bits @ rng.normal(size=(n_players, outputs))
    return along + 1e-6 * np.cos(1e5 * along)


@pytest.mark.parametrize("case", range(12))
def test_a_corrected_process_gives_an_output_the_same_bits_alone_and_together(case: int) -> None:
    rng = np.random.default_rng(case)
    n_players = int(rng.integers(3, 5))
    table = nearly_linear(n_players, 2, rng)
    budget = int(rng.integers(8, 16)) * n_players
    method = "gaussian-process-corrected"
    together = owenshap.estimate(owenshap.TableGame(table), method, budget=budget).moments
    alone = owenshap.estimate(owenshap.TableGame(table[:, :1]), method, budget=budget).moments
    assert np.array_equal(together.mean[:, 0], alone.mean[:, 0])
    assert np.array_equal(together.squares[:, 0], alone.squares[:, 0])


@pytest.mark.parametrize("memory", ["20KB", "1GB"])
def test_memory_does_not_change_the_bits_of_a_corrected_process(memory: str) -> None:
    rows = np.random.default_rng(0).normal(size=(4, 6))

    def model(inputs: FloatArray) -> FloatArray:
        along = np.cumsum(inputs, axis=1)  # no product, whose bits depend on the batch
        return along[:, -1] + 1e-6 * np.cos(1e5 * along[:, 2])

    settings = {"method": "gaussian-process-corrected", "budget": 100}
    usual = owenshap.Explainer(model, baseline=0.0)(rows, **settings)
    other = owenshap.Explainer(model, baseline=0.0, memory=memory)(rows, **settings)
    assert np.array_equal(usual.values, other.values)


@pytest.mark.parametrize("case", range(30))
def test_least_squares_give_an_output_the_same_bits_alone_and_together(case: int) -> None:
    rng = np.random.default_rng(case)
    n_players, outputs = int(rng.integers(2, 8)), int(rng.integers(2, 9))
    table = nearly_linear(n_players, outputs, rng)
    coalitions = ((np.arange(1 << n_players)[:, None] >> np.arange(n_players)) & 1).astype(bool)
    together = LinearSurrogate().fit(coalitions, table)
    for output in range(outputs):
        alone = LinearSurrogate().fit(coalitions, table[:, [output]])
        for name in ("shapley_values", "leave_one_out"):
            assert np.array_equal(getattr(together, name)[:, output], getattr(alone, name)[:, 0])
        assert np.array_equal(
            together.values(coalitions)[:, output], alone.values(coalitions)[:, 0]
        )


@pytest.mark.parametrize("outputs", [2, 31, 32, 33])
@pytest.mark.parametrize("shape", [(1, 40), (7, 40), (300, 17)])
def test_what_is_summed_over_players_has_the_same_bits_alone_and_together(
    shape: tuple[int, int], outputs: int
) -> None:
    replicates = np.random.default_rng(0).normal(size=(*shape, outputs))
    alone = replicates[..., :1].copy()
    assert np.array_equal(sums_over_players(replicates)[..., :1], sums_over_players(alone))
    if len(replicates) > 2:
        pooled = [Moments.of(each).squared_skewness[1][0] for each in (replicates, alone)]
        assert pooled[0] == pooled[1]
