import math
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import refuses, same_examples, smooth

from owenshap import (
    Castro,
    Exact,
    FunctionGame,
    HalvedOwen,
    Owen,
    OwenPrinted,
    UnknownMethodError,
    estimate,
    methods,
)
from owenshap.estimators import by_name
from owenshap.estimators.base import default_budget
from owenshap.run.cost import Cost, duration
from owenshap.run.learning import Learning
from owenshap.run.plan import drawn_rows, make_plan
from owenshap.statistics.goal import USUAL, Until


def test_coalitions_that_could_all_be_evaluated_are_not_too_many():
    plan = make_plan(13, "auto", None, Cost(1e-3, 1), Until("1%"))
    assert plan.estimator.random
    assert plan.because.startswith("all 2^13 coalitions would take longer; ")


def test_these_are_among_the_methods():
    assert {
        "auto",
        "castro",
        "exact",
        "gaussian-process",
        "gaussian-process-corrected",
        "halved-owen",
        "halved-owen-printed",
        "linear",
        "owen",
        "owen-printed",
        "trees",
    } <= {*methods()}


def test_the_methods_are_auto_every_estimator_by_name_and_trees():
    assert methods() == ["auto", *sorted(by_name()), "trees"]


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("halfed-owen", "halved-owen"),
        ("casto", "castro"),
        ("Exact", "exact"),
        ("owen_printed", "owen-printed"),
    ],
)
def test_an_unknown_method_suggests_the_nearest(typo, meant):
    with refuses("method", typo, f"'{meant}'", error=UnknownMethodError):
        estimate(smooth(), typo)


@pytest.mark.parametrize("method", ["zzzzzz", None, 3, HalvedOwen])
def test_what_is_no_method_is_refused(method):
    with refuses("method", "castro", "halved-owen", error=UnknownMethodError):
        estimate(smooth(), method)


@pytest.mark.parametrize("budget", [0, -5, 1, 100.0, "100", True, math.inf, math.nan])
def test_a_budget_is_a_whole_number(budget):
    with refuses("budget"):
        estimate(smooth(), "castro", budget=budget)


NEEDED = [
    ("castro", Castro(), 2 + 7),
    ("antithetic castro", Castro(antithetic=True), 2 + 14),
    ("owen", Owen(), 2 + 9),
    ("owen with levels", Owen(levels=5, per_level=2), 2 + 10 * 9),
    ("halved-owen", HalvedOwen(), 2 + 2 * 9),
    ("halved-owen with levels", HalvedOwen(levels=5), 2 + 6 * 9),
    ("owen-printed", OwenPrinted(levels=4, per_level=3), 2 + 15 * 9),
    ("exact", Exact(), 256),
]


@pytest.mark.parametrize(
    ("estimator", "needed"), [case[1:] for case in NEEDED], ids=[case[0] for case in NEEDED]
)
def test_a_budget_below_one_replicate_says_how_many_it_takes(estimator, needed):
    with refuses("budget", f"at least {needed} ", f"got {needed - 1}.", "8 players"):
        estimate(smooth(8), estimator, budget=needed - 1)
    assert estimate(smooth(8), estimator, budget=needed).replicates == 1


def test_the_cheapest_method_is_offered_but_not_for_itself():
    with refuses("budget", "castro", "needs 9"):
        make_plan(8, "halved-owen", 12)
    for method, budget in (("castro", 8), ("gaussian-process-corrected", 3)):
        with refuses("budget", "gaussian-process", "needs 2"):
            make_plan(8, method, budget)


@pytest.mark.parametrize("n_players", [26, 100])
def test_exact_values_of_many_players_are_refused_with_what_to_do_instead(n_players):
    for budget in (None, 10**9):
        with refuses("n_players", "at most 25", str(n_players), "halved-owen", "budget"):
            make_plan(n_players, "exact", budget)


def test_auto_is_exact_where_it_fits_and_halved_where_not():
    assert make_plan(11, "auto", None).estimator == Exact()
    assert make_plan(11, "auto", 2047).estimator.name == "halved-owen"
    assert make_plan(10, "auto", 1024).estimator == Exact()
    assert make_plan(12, "auto", None).estimator.name == "halved-owen"
    assert make_plan(26, "auto", 1 << 27).estimator.name == "halved-owen"
    assert make_plan(12, "auto", None).because == "12 players are too many for all coalitions"
    assert "2^12" in make_plan(12, "auto", 2047).because


@pytest.mark.parametrize(
    ("n_players", "budget", "seconds", "outputs", "method"),
    [
        (10, 1024, 1e-2, 1, "exact"),
        (16, 80, 1e-2, 1, "gaussian-process"),
        (16, 2000, 1e-2, 1, "gaussian-process"),
        (16, 10_002, 1e-2, 1, "gaussian-process"),
        (16, 10_003, 1e-2, 1, "gaussian-process-corrected"),  # more pairs than one fit takes
        (16, 2000, 3e-7, 1, "halved-owen"),
        (16, 2000, 1e-4, 1000, "halved-owen"),  # a fit for each of the outputs
        (200, 500, 1e-2, 1, "gaussian-process"),  # many players, few evaluations
        (200, 3000, 1e-2, 1, "gaussian-process"),
        (30, 75, 1e-4, 1, "halved-owen"),  # few evaluations teach a process less
        (30, 450, 1e-4, 1, "gaussian-process"),
        (16, 2000, 0.0, 1, "halved-owen"),
    ],
)
def test_auto_weighs_the_fit_against_the_evaluations(n_players, budget, seconds, outputs, method):
    plan = make_plan(n_players, "auto", budget, Cost(seconds, outputs))
    assert plan.estimator.name == method
    assert method == "exact" or "coalitions do not fit" in plan.because
    takes = f"about {duration(seconds)}" if seconds else "hardly any time"
    assert method == "exact" or f"an evaluation takes {takes}, so " in plan.because


def test_what_the_clock_decided_is_in_the_plan():
    def slow(coalitions):
        time.sleep(0.03 * len(coalitions))
        return np.tanh(coalitions.sum(axis=1) / 5 - 1)

    game = FunctionGame(slow, n_players=14)
    chosen = estimate(game, budget=100, progress=False)
    assert chosen.method == "gaussian-process"
    assert "an evaluation takes about" in chosen.plan.because
    assert chosen.evaluations == 100
    again = estimate(game, plan=chosen.plan, progress=False)
    np.testing.assert_array_equal(again.values, chosen.values)


def test_a_fit_that_takes_longer_than_evaluating_is_not_made():
    """Where evaluations cost nothing, corrections by the first fit are sooner done than better ones
    by another; the plan repeats that.
    """
    rng = np.random.default_rng(3)
    inner, outer = rng.normal(size=(16, 24)), rng.normal(size=24)
    game = FunctionGame(lambda coalitions: np.tanh((2 * coalitions - 1) @ inner) @ outer, 16)
    asked_for = make_plan(16, "gaussian-process-corrected", None, None, Until("1%"))

    def estimated(seconds):
        cost = None if seconds is None else Cost(seconds, 1, counted=seconds)
        return estimate(game, plan=replace(asked_for, cost=cost), progress=False)

    cheap, dear, unknown = estimated(1e-6), estimated(1e-2), estimated(None)
    assert cheap.evaluations > 2 * dear.evaluations
    assert dear.evaluations == unknown.evaluations
    plan = type(cheap.plan).restored(cheap.plan.state())
    assert plan.cost == cheap.plan.cost
    assert estimate(game, plan=plan, progress=False).values.tobytes() == cheap.values.tobytes()


def cheap_to_evaluate(until):
    """A rough game whose evaluations cost nothing, and a plan that knows."""
    rng = np.random.default_rng(3)
    inner, outer = rng.normal(size=(16, 24)), rng.normal(size=24)
    game = FunctionGame(lambda coalitions: np.tanh((2 * coalitions - 1) @ inner) @ outer, 16)
    plan = make_plan(16, "gaussian-process-corrected", None, None, until)
    return game, replace(plan, cost=Cost(1e-6, 1, counted=1e-6))


def test_no_run_ends_for_a_fit_that_would_not_be_made(monkeypatch):
    """The time that it would take is not ahead."""
    game, plan = cheap_to_evaluate(Until("1%", seconds=60))
    asked = []
    usual = Learning.seconds

    def forever(self, count, next_look, left, needed):
        seconds = usual(self, count, next_look, left, needed)
        asked.append(seconds if needed < math.inf else 0.0)
        return seconds + 1e9 * asked[-1]

    monkeypatch.setattr(Learning, "seconds", forever)
    found = estimate(game, plan=plan, progress=False)
    assert max(asked) > 0
    assert found.stopped_by.startswith("tolerance of 1%")


def test_what_goes_on_knows_what_an_evaluation_costs():
    game, plan = cheap_to_evaluate(Until("1%"))
    first = estimate(game, plan=plan, progress=False)
    resumed = estimate(game, resume=first, tolerance="0.5%", progress=False)
    assert resumed.plan.cost == plan.cost


def test_few_rows_that_could_share_a_process_have_exact_values():
    for counted in (1e-4, 3e-4):
        cost = Cost(5e-5, 1, counted, taught=1)
        assert make_plan(11, "auto", None, cost, USUAL).estimator.name == "exact"
    many = make_plan(11, "auto", None, Cost(1e-4, 1, 1e-4, taught=1000), USUAL)
    assert many.estimator.taught is not None


def test_auto_keeps_what_an_evaluation_costs_for_the_fits_ahead():
    cost = Cost(2e-4, 10, counted=3e-4)
    assert make_plan(16, "auto", None, cost, Until("1%")).cost == cost


@pytest.mark.parametrize(
    ("elapsed", "computing", "seconds"),
    [
        (6e-7, 6e-7, 0.0),
        (9e-4, 9e-4, 0.0),  # a call of a fast model
        (12e-3, 1e-4, 0.0),  # a fast model on a busy machine
        (2e-3, 2e-3, 5e-4),
        (9e-3, 2e-3, 5e-4),  # again on a busy machine
        (60e-3, 1e-4, 3e-2),  # a model elsewhere
        (2.0, 2.0, 1.0),
    ],
)
def test_costs_are_measured_so_that_a_busy_machine_changes_little(elapsed, computing, seconds):
    assert Cost.measured(elapsed, computing, 2, 3) == Cost(pytest.approx(seconds), 3)


def test_a_fast_model_that_is_kept_waiting_does_not_change_the_method():
    class Interrupted:
        """Every call is kept waiting, as on a machine with many times the work that it can do."""

        n_players = 14

        def values(self, coalitions):
            time.sleep(5e-3)
            return np.tanh(coalitions.sum(axis=1) / 5 - 1)

    assert estimate(Interrupted(), budget=600, progress=False).method == "halved-owen"


def test_without_a_budget_the_settings_say_how_much():
    assert make_plan(8, Owen(levels=7), None).replicates == 1
    assert make_plan(8, "owen-printed", None).replicates == 1
    assert make_plan(8, "castro", None).budget == default_budget(8) == 2048
    assert make_plan(99, "castro", None).budget == default_budget(99) == 6400


@same_examples
@given(
    st.sampled_from(["castro", "owen", "halved-owen"]), st.integers(1, 100), st.integers(2, 20_000)
)
def test_a_plan_keeps_to_its_budget_and_uses_it(method, n_players, budget):
    try:
        plan = make_plan(n_players, method, budget)
    except ValueError as error:
        needed = int(re.search(r"at least (\d+)", str(error))[1])
        assert needed > budget
        assert make_plan(n_players, method, needed).replicates == 1
        return
    cost = plan.estimator.replicate_cost(n_players)
    assert 2 + plan.replicates * cost <= budget
    exact = plan.estimator.exact_order(n_players) >= n_players  # then one replicate is enough
    assert cost == 0 or exact or 2 + (plan.replicates + 1) * cost > budget
    assert not exact or plan.replicates == 1
    assert plan.budget == budget


@same_examples
@given(
    st.sampled_from([Owen, HalvedOwen]), st.integers(3, 60), st.integers(1, 3), st.integers(0, 5000)
)
def test_a_budget_that_allows_thirty_passes_makes_thirty(estimator, n_players, per_level, more):
    budget = 2 + 30 * 2 * per_level * (n_players + 1) + more
    plan = make_plan(n_players, estimator(per_level=per_level), budget)
    assert plan.replicates >= 30


@same_examples
@given(st.sampled_from([Owen, HalvedOwen]), st.integers(3, 60), st.integers(60, 20_000))
def test_levels_and_passes_grow_together(estimator, n_players, stars):
    plan = make_plan(n_players, estimator(), 2 + stars * (n_players + 1))
    levels = plan.estimator.levels
    assert plan.replicates >= 15 * levels
    assert stars < 15 * (levels + 1 + plan.estimator.mirrors) ** 2


@pytest.mark.parametrize("method", ["halved-owen", "auto"])
def test_a_tolerance_has_four_levels_whatever_the_budget(method):
    for budget in (None, 2 + 40 * 31, 100_000):
        plan = make_plan(30, method, budget, until=Until(0.1))
        assert plan.estimator.levels == 4
    # too few for a look
    assert make_plan(30, method, 2 + 39 * 31, until=Until(0.1)).replicates == 19


@pytest.mark.parametrize(
    ("background", "tolerance", "drawn"),
    [
        (159, "1%", None),
        (160, "1%", 40),
        (20_000, "1%", 40),
        (1_000, 0.3, 40),  # in units of the output: taken for 1 %
        (2_000, "0.5%", 160),
        (600, "0.5%", None),
        (100, "1.5%", 18),
        (100, "3%", 10),
        (100, "30%", 10),
        (39, "30%", None),
        (20_000, None, None),
    ],
)
def test_stars_draw_as_many_background_rows_as_a_tolerance_needs(background, tolerance, drawn):
    assert drawn_rows(30, background, Until(tolerance, seconds=1.0)) == drawn
    assert drawn_rows(30, background, None) is None


def test_stars_draw_nothing_where_all_coalitions_take_little_longer():
    # 320 evaluations a player of 40 rows, against 2^n of 200
    assert [drawn_rows(n, 200, Until("1%")) for n in (8, 10, 11, 12)] == [None, None, 40, 40]


def test_stars_that_draw_background_rows_are_weighed_by_the_rows_that_they_take():
    whole = Cost(3e-4, 1, 3e-4)
    drawing = replace(whole, of_a_star=0.1)
    plans = [make_plan(30, "auto", None, each, Until("3%")) for each in (whole, drawing)]
    assert [each.estimator.name for each in plans] == ["gaussian-process", "halved-owen"]


def test_a_wider_tolerance_takes_a_process_fewer_evaluations():
    # 10 ms: 60 evaluations of a first fit, against a tenth of the 1,040 of stars
    cost = Cost(1e-2, 1, 1e-2, of_a_star=0.1)
    name = make_plan(12, "auto", None, cost, Until("3%")).estimator.name
    assert name == "gaussian-process"
