"""Working arrays stay within `memory`, by what numpy reports to tracemalloc.

Allowed beside the setting: what the game itself makes, and a few arrays of the shape of the answer,
(n, k).
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import owenshap
from owenshap.designs.design import Chains, Design, Stars
from owenshap.statistics.accumulators import FOLDS
from owenshap.support.arrays import BoolArray, FloatArray, IntArray

MEMORY = 10_000_000
LIKE_THE_ANSWER = 12  # arrays (n, k) of moments and intervals
# ten folds of two such arrays besides, and as many again when replicates are added to them
FOLDED = 2 * 2 * FOLDS


def peak(call: Callable[[], Any]) -> int:
    """The most bytes that a call has in use at once."""
    # what a first call loads
    owenshap.estimate(owenshap.FunctionGame(first_player, 12), "castro", budget=100)
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def first_player(coalitions: BoolArray) -> FloatArray:
    return coalitions[:, 0].astype(np.float64)


@pytest.mark.parametrize(
    ("n_players", "outputs", "method", "budget"),
    [
        (10_000, 1, "castro", 10_001),
        (20_000, 1, "halved-owen", 40_004),
        (10, 5_000, "castro", 3_000),
        (10, 5_000, "halved-owen", 3_000),
        (8, 5_000, "exact", 256),
        (200, 100, "castro", 20_000),
        (12, 300, "halved-owen", 20_000),
    ],
)
def test_an_estimate_keeps_to_its_memory(
    n_players: int, outputs: int, method: str, budget: int
) -> None:
    scales = np.arange(1.0, outputs + 1)
    game = owenshap.FunctionGame(
        lambda coalitions: first_player(coalitions)[:, None] * scales, n_players
    )
    used = peak(
        lambda: owenshap.estimate(game, method, budget=budget, memory=MEMORY, progress=False)
    )
    few = budget < 10 * 2 * n_players  # too few replicates to fill the folds
    arrays = LIKE_THE_ANSWER + (FOLDED if method == "halved-owen" and not few else 0)
    assert used < MEMORY + arrays * 8 * n_players * outputs


@pytest.mark.parametrize("kind", ["chains", "stars"])
def test_some_coalitions_of_a_design_are_those_of_the_whole(kind: str) -> None:
    rng = np.random.default_rng(0)
    ranks: IntArray = rng.permuted(np.tile(np.arange(9, dtype=np.int8), (4, 1)), axis=1)[:, None]
    stars = Stars(rng.random((4, 1, 9)) < 0.5, np.ones(1))
    design: Design = Chains(ranks) if kind == "chains" else stars
    every = design.coalitions(np.arange(len(design)))
    for some in ([0], [9], [3, 4], [0, 39], [17, 2, 30], [5, 5]):
        index = np.array(some)
        assert np.array_equal(design.coalitions(index), every[index])


def test_rows_of_many_outputs_have_the_same_bits_alone_and_together() -> None:
    rows = np.random.default_rng(0).normal(size=(3, 5))
    scales = np.arange(1.0, 41)  # more outputs than usual: blocks are smaller

    def model(inputs: FloatArray) -> FloatArray:
        return np.tanh(np.cumsum(inputs, axis=1)[:, -1:]) * scales

    explainer = owenshap.Explainer(model, baseline=0.0, memory="10MB")
    for method in ("castro", "halved-owen"):
        together = explainer(rows, method=method, budget=3_000)
        alone = explainer(rows[1:2], method=method, budget=3_000)
        assert np.array_equal(together.values[1], alone.values[0])
        assert np.array_equal(together.standard_errors[1], alone.standard_errors[0])


def test_rows_together_keep_to_the_memory_whatever_their_values() -> None:
    # All 64 rows at once, of 1,000 players and 10 outputs, take 500 MB.
    rng = np.random.default_rng(0)
    model = owenshap.MLP([rng.normal(size=(1_000, 4)), rng.normal(size=(4, 10))])
    rows = rng.normal(size=(64, 1_000))
    explainer = owenshap.Explainer(model, baseline=0.0, memory="10MB")
    method = owenshap.HalvedOwen(levels=2)
    answer = rows.size * 10 * 8
    used = peak(lambda: explainer(rows, method=method, budget=2 + 2_004 * 12, progress=False))
    # raw and corrected moments of all rows stay until the end; folds and replicates do not
    assert used < MEMORY + 2 * LIKE_THE_ANSWER * answer
