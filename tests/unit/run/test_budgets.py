"""A budget is never exceeded, of a row or of all rows, and what is reported is what the model was
asked.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from naive import Watched, refuses, smooth

from owenshap import Castro, Explainer, InputError, estimate, estimating
from owenshap.estimators import by_name

ROWS = np.random.default_rng(0).normal(size=(6, 30))
WEIGHTS = np.linspace(-1, 2, 30)


class Counting:
    """A model that knows how many rows it predicted."""

    def __init__(self):
        self.rows = 0

    def __call__(self, batch):
        self.rows += len(batch)
        return np.tanh(batch @ WEIGHTS[: batch.shape[1]])


def counted(rows, **settings):
    """What the explainer says of these rows; the model was asked for as much."""
    model = Counting()
    answer = Explainer(model, baseline=0.0)(rows, **settings)
    assert model.rows == answer.model_rows.sum() >= answer.evaluations.sum() + len(rows)
    return answer


# --- a total, beside the budget of each row
# ------------------------------------------------------------------------------


def test_spreading_the_gap_is_paid_from_the_total():
    model = Counting()
    with refuses(
        "total_budget", "must be at least 96 for a first estimate of each of the 4 rows; got 90"
    ):
        Explainer(model, baseline=0.0)(ROWS[:4, :10], method="halved-owen", total_budget=90)
    assert model.rows == 4  # which are predicted whatever comes of it
    answer = counted(ROWS[:4, :10], method="halved-owen", total_budget=272)
    assert answer.evaluations.sum() <= 272
    np.testing.assert_allclose(
        answer.values.sum(axis=1) + answer.base_values, answer.predictions, atol=1e-12
    )


@pytest.mark.parametrize("players", [5, 20, 30])
@pytest.mark.parametrize(
    "method", ["gaussian-process-corrected", "halved-owen", "owen", "castro", "auto"]
)
def test_the_budget_of_a_row_holds_for_what_a_first_estimate_takes(method, players):
    least = 2 + 2 * (players + 1)  # two stars
    answer = counted(ROWS[:, :players], method=method, budget=max(50, least), total_budget=20_000)
    assert answer.evaluations.max() <= max(50, least)


def test_rows_are_not_refused_for_more_than_their_budgets_take():
    rows = np.random.default_rng(1).normal(size=(150, 10))
    answer = counted(rows, method="gaussian-process-corrected", budget=50, total_budget=20_000)
    assert answer.evaluations.max() <= 50


def test_the_budget_of_a_row_holds_where_all_coalitions_would_fit_it_but_not_the_total():
    rows = np.random.default_rng(0).normal(size=(4, 10)) * np.array([[0.01], [0.01], [0.01], [3.0]])
    answer = counted(rows, budget=1100, total_budget=2000)
    assert answer.evaluations.max() <= 1100
    assert answer.evaluations.sum() <= 2000


@dataclass(frozen=True)
class Dear(Castro):
    """As many chains as players a replicate: n (n − 1) evaluations."""

    name = "dear"
    by_design = False

    def replicate_cost(self, n_players):
        return n_players * (n_players - 1)

    def draw(self, n_players, rng, replicates):
        return super().draw(n_players, rng, replicates * n_players)

    def replicates(self, design, values):
        chains = super().replicates(design, values)
        return chains.reshape(-1, design.n_players, *chains.shape[1:]).mean(axis=1)


@pytest.fixture
def dear(monkeypatch):
    monkeypatch.setitem(by_name(), "dear", Dear)
    return "dear"


def test_a_dear_method_has_what_fits_the_total_or_the_total_is_refused(dear):
    for method in (dear, Dear()):
        answer = counted(ROWS[:4, :20], method=method, total_budget=3000)
        assert answer.evaluations.sum() <= 3000
        with refuses(
            "total_budget",
            "must be at least 2,292 for a first estimate of each of the 6 rows; got 2000",
        ):
            counted(ROWS[:, :20], method=method, total_budget=2000)


# --- going on from an earlier estimate
# -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["halved-owen", "owen", "castro"])
@pytest.mark.parametrize("how", [{"budget": 2000}, {"tolerance": 0.03, "budget": 3000}])
def test_going_on_keeps_the_replicates_that_the_gap_was_spread_of(method, how):
    game = Watched(smooth(12))
    first = estimate(game, method, **how)
    more = estimate(game, resume=first, budget=4000)
    assert more.evaluations == game.evaluations <= 4000
    assert more.replicates == 3998 // more.plan.estimator.replicate_cost(12)
    assert abs(more.gap) < 1e-12
    exact = estimate(smooth(12), "exact").values
    assert (np.abs(more.values - exact) < 5 * more.standard_errors).all()


def test_going_on_spreads_as_going_through_does():
    coarse = estimate(smooth(12), "halved-owen", tolerance=0.1, budget=20_000)
    again = estimate(smooth(12), resume=coarse, tolerance=0.03, budget=20_000)
    through = estimate(smooth(12), "halved-owen", tolerance=0.03, budget=20_000)
    np.testing.assert_array_equal(again.values, through.values)
    np.testing.assert_array_equal(again.lower, through.lower)
    assert again.evaluations == through.evaluations


@pytest.mark.parametrize("efficient", [True, False])
@pytest.mark.parametrize("how", [{"budget": 2000}, {"tolerance": 0.1, "budget": 20_000}])
def test_whoever_goes_on_may_spread_the_gap_or_not(how, efficient):
    after = [
        estimate(
            smooth(12),
            resume=estimate(smooth(12), "halved-owen", efficient=before, **how),
            budget=20_000,
            efficient=efficient,
        )
        for before in (True, False)
    ]
    assert (abs(after[0].gap) < 1e-12) == efficient
    if "tolerance" in how:  # which stops sooner where the gap is spread
        assert after[0].replicates == after[1].replicates
        np.testing.assert_allclose(after[0].values, after[1].values, rtol=1e-9)
    else:
        np.testing.assert_array_equal(after[0].values, after[1].values)


# --- whatever is asked
#
#
# -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_no_budget_of_a_game_is_exceeded(seed):
    rng = np.random.default_rng(seed)
    n_players = int(rng.integers(2, 24))
    budget = int(rng.integers(2, 3000))
    settings = {"efficient": bool(rng.integers(2)), "seed": seed}
    if rng.integers(2):
        settings["tolerance"] = float(10 ** rng.uniform(-3, 0))
    method = rng.choice(["auto", "castro", "owen", "halved-owen", "gaussian-process-corrected"])
    game = Watched(smooth(n_players))
    try:
        *_, last = estimating(game, str(method), budget=budget, **settings)
    except InputError as error:
        last, refused = None, str(error)
    if last is None:
        assert game.evaluations <= 2
        assert "budget must be at least" in refused
    else:
        assert last.evaluations == game.evaluations <= budget


@pytest.mark.parametrize("seed", range(40))
def test_no_total_is_exceeded(seed):
    rng = np.random.default_rng(seed)
    rows, players = int(rng.integers(1, 7)), int(rng.integers(2, 31))
    total = int(rng.integers(100, 8000))
    settings = {"efficient": bool(rng.integers(2)), "seed": seed, "total_budget": total}
    if rng.integers(2):
        settings["tolerance"] = float(10 ** rng.uniform(-3, 0))
    if rng.integers(2):
        settings["budget"] = int(rng.integers(2 + 6 * (players + 1), 3000))
    method = str(
        rng.choice(["auto", "castro", "owen", "halved-owen", "gaussian-process-corrected"])
    )
    table = ROWS[:rows, :players] * rng.choice([0.01, 1.0], size=(rows, 1))
    try:
        answer = counted(table, method=method, **settings)
    except InputError as error:
        answer, refused = None, str(error)
    if answer is None:
        assert "total_budget must be at least" in refused
    else:
        assert answer.evaluations.sum() <= total
        assert answer.evaluations.max() <= settings.get("budget", total)
