"""Games of more players than float64 can count coalitions of."""

from __future__ import annotations

import numpy as np
import pytest

import owenshap
from owenshap.designs.pairs import even_pairs
from owenshap.run.cost import Cost
from owenshap.run.plan import make_plan
from owenshap.run.task import check_feasible
from owenshap.support.arrays import BoolArray, FloatArray
from owenshap.surrogates.gaussian_process.surrogate import MOST_FITTED_PLAYERS

MANY = 1_100  # 2^1100 and its half are beyond float64


def share_of_players(coalitions: BoolArray) -> FloatArray:
    return coalitions.mean(axis=1)


@pytest.mark.parametrize(
    ("method", "off"), [("linear", 0.05), ("gaussian-process", 0.3), ("auto", 0.3)]
)
def test_many_players_have_values_from_few_pairs(method: str, off: float) -> None:
    """Nine pairs know little of single players: lengths that differ more let values do so too."""
    game = owenshap.FunctionGame(share_of_players, MANY)
    estimate = owenshap.estimate(game, method, budget=20)
    assert estimate.evaluations == 20
    assert estimate.gap == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(estimate.values, 1 / MANY, rtol=off)


@pytest.mark.parametrize("count", [1, 7, 4_000])
def test_pairs_of_many_players_are_of_all_sizes_alike(count: int) -> None:
    sizes = even_pairs(MANY, count, np.random.default_rng(0)).sum(axis=1)
    assert len(sizes) == count
    assert sizes.max() <= MANY // 2
    if count > MANY:
        assert np.ptp(np.bincount(sizes, minlength=MANY // 2 + 1)[1:-1]) <= 1


def test_a_hundred_thousand_players_get_an_answer_or_an_error_at_once() -> None:
    game = owenshap.FunctionGame(share_of_players, 100_000)
    linear = owenshap.estimate(game, "linear", budget=10)
    np.testing.assert_allclose(linear.values, 1e-5, atol=1e-12)
    with pytest.raises(
        owenshap.InputError,
        match=r"budget must be at least 100001 .*method='linear', which needs 2",
    ):
        owenshap.estimate(game, budget=10)
    for method in ("gaussian-process", "gaussian-process-corrected"):
        with pytest.raises(
            owenshap.InputError,
            match=f"n_players must be at most {MOST_FITTED_PLAYERS:,} for {method}",
        ):
            owenshap.estimate(game, method, budget=10)


def test_auto_takes_chains_where_a_fit_of_many_players_takes_too_much_memory() -> None:
    assert make_plan(4_000, "auto", 8_000, memory=256e6).estimator.name == "castro"
    assert make_plan(4_000, "auto", 8_000).estimator.name == "gaussian-process"
    assert make_plan(MANY, "auto", 200).estimator.name == "gaussian-process"


@pytest.mark.parametrize("budget", [2_000, 20_000])
def test_auto_takes_no_fit_that_does_not_fit_into_memory(budget: int) -> None:
    dear = Cost(10.0, 1)
    assert make_plan(30, "auto", budget, dear, memory=256e6).estimator.name.startswith(
        "gaussian-process"
    )
    plan = make_plan(30, "auto", budget, dear, memory=20e6)
    assert plan.estimator.name == "halved-owen"
    assert "needs more memory" in plan.because


@pytest.mark.parametrize("method", ["gaussian-process", "gaussian-process-corrected", "linear"])
def test_a_fit_that_does_not_fit_into_memory_is_an_error(method: str) -> None:
    game = owenshap.FunctionGame(share_of_players, 1_000)
    with pytest.raises(
        owenshap.InputError, match=rf"memory must hold what {method} needs .* Raise it"
    ):
        owenshap.estimate(game, method, memory="64MB", budget=64_064)


@pytest.mark.parametrize("n_players", [2, 16, 100, 785, 1_000])
@pytest.mark.parametrize("method", ["gaussian-process", "linear"])
def test_a_fit_by_name_fits_into_the_usual_memory(method: str, n_players: int) -> None:
    check_feasible(make_plan(n_players, method, 200_000), n_players, 256 * 10**6)
