"""A limit of time holds, whatever an evaluation takes, and what it came to can be repeated.

Games here sleep for a known time, and what counts is that time and the processor's for the rest:
what a call takes on a machine of its own, whoever else computes on this one. It is over the limit
by 20 % at most, or by one call.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from owenshap import (
    Explainer,
    FunctionGame,
    GaussianProcessCorrected,
    HalvedOwen,
    estimate,
    estimating,
)

BUSY = 0.2  # seconds by which a machine that others use may be late
spent = 0.0  # seconds that games were to sleep so far


class Slow:
    """A function of coalitions or rows that sleeps for each of them, and remembers the longest
    call.
    """

    def __init__(self, seconds):
        self.seconds, self.asked, self.longest = seconds, 0, 0

    def __call__(self, table):
        self.asked += len(table)
        self.longest = max(self.longest, len(table))
        global spent  # noqa: PLW0603 (of all games: some are made where they are used)
        spent += self.seconds * len(table)
        time.sleep(self.seconds * len(table))
        return np.tanh((table * np.linspace(-1, 2, table.shape[1])).sum(axis=1))


def timed(call, workers=1):
    """What a call gives, and the seconds that it takes where nobody else computes."""
    before, computed = spent, time.process_time()
    return call(), (spent - before) / workers + time.process_time() - computed


METHODS = ["castro", "owen", "halved-owen", "gaussian-process-corrected", "auto"]


@pytest.mark.parametrize("method", METHODS)
def test_the_time_of_a_game_holds(method):
    slow = Slow(2e-3)
    answer, took = timed(lambda: estimate(FunctionGame(slow, 20), method, seconds=0.3))
    assert took <= 1.2 * 0.3 + BUSY
    assert answer.evaluations == slow.asked
    assert answer.stopped_by.startswith("0.3 seconds: ")
    assert np.isfinite(answer.values).all()


@pytest.mark.parametrize("method", ["castro", "halved-owen"])
def test_the_time_of_a_game_is_not_half_as_long_again(method):
    # What the game was to sleep: a busy machine makes that less, never more.
    before = spent
    estimate(FunctionGame(Slow(2e-3), 20), method, seconds=0.5)
    assert spent - before <= 1.2 * 0.5


@pytest.mark.parametrize("method", METHODS)
def test_the_time_is_used(method):
    game = FunctionGame(Slow(2e-4), 8 if method == "auto" else 20)
    began = time.monotonic()
    _, took = timed(lambda: estimate(game, method, seconds=0.3, budget=10**6))
    assert time.monotonic() - began >= 0.5 * 0.3 or method == "auto"
    assert took <= 1.2 * 0.3 + BUSY


def test_a_first_replicate_is_finished_and_no_other_begun():
    slow = Slow(2e-3)
    answer, took = timed(
        lambda: estimate(FunctionGame(slow, 30), HalvedOwen(levels=4), seconds=0.05)
    )
    assert answer.replicates == 1
    assert took <= 4 * 31 * 2e-3 + BUSY
    assert np.isnan(answer.lower).all()
    assert "one replicate alone" in answer.doubtful


def test_one_replicate_in_time_sums_to_the_total():
    answer = estimate(FunctionGame(Slow(2e-3), 8), "halved-owen", seconds=0.01, budget=2000)
    assert answer.replicates == 1
    assert abs(answer.gap) < 1e-12


def test_exact_values_are_taken_only_where_they_fit_the_time():
    slow = Slow(2e-3)  # all 1,024 coalitions take 2 seconds
    for settings in ({}, {"tolerance": 1e-3}, {"efficient": False}, {"budget": 1024}):
        slow.asked = 0
        answer, took = timed(lambda: estimate(FunctionGame(slow, 10), seconds=0.3, **settings))  # noqa: B023
        assert took <= 1.2 * 0.3 + BUSY
        assert answer.evaluations == slow.asked
        assert answer.method != "exact"
    assert (
        "do not fit the time" in estimate(FunctionGame(Slow(2e-3), 10), seconds=0.01).plan.because
    )
    fast = FunctionGame(Slow(1e-5), 10)
    answer = estimate(fast, seconds=20.0)
    assert answer.method == "exact"
    assert answer.evaluations == 1024
    assert "fit the time" in answer.plan.because
    assert estimate(fast, seconds=20.0, budget=1024).method == "exact"


def test_a_time_that_all_coalitions_fit_is_used_for_them():
    answer = estimate(FunctionGame(Slow(1e-5), 13), seconds=20.0)
    assert answer.method == "exact"
    assert "fit the time" in answer.plan.because
    fewer = estimate(FunctionGame(Slow(1e-5), 13), seconds=20.0, tolerance="10%")
    assert fewer.method != "exact"


def test_calls_that_are_slow_for_their_size_do_not_keep_from_exact_values():
    """30 ms for each call: by the first two evaluations all 1,024 would take 15 seconds, by a first
    replicate they do not.
    """

    def values(coalitions):
        time.sleep(0.03)
        return np.tanh(coalitions @ np.linspace(-1, 2, 10))

    asked = []
    game = FunctionGame(
        lambda coalitions: (asked.append(len(coalitions)), values(coalitions))[1], 10
    )
    answer = estimate(game, seconds=12.0)
    assert answer.method == "exact"
    # a first replicate of four halved stars of 11 tells that the rest fits; where the ends were
    # kept waiting on a busy machine, pairs of a process tell it, which are fewer
    assert answer.evaluations == sum(asked) <= 1024 + 44
    np.testing.assert_allclose(answer.values, estimate(game, "exact").values, atol=1e-12)


# --- what the clock decided, again
# ---------------------------------------------------------------------------------------

REPEATED = [*METHODS, HalvedOwen(levels=2), GaussianProcessCorrected(pairs=3)]


@pytest.mark.parametrize(
    "settings", [{}, {"top": 2}, {"tolerance": 1e-4}, {"budget": 900}], ids=str
)
@pytest.mark.parametrize("method", REPEATED, ids=str)
def test_a_plan_repeats_what_the_clock_decided(method, settings):
    first = estimate(FunctionGame(Slow(2e-4), 12), method, seconds=0.12, seed=3, **settings)
    assert first.plan.until is None or first.plan.until.seconds is None
    quick = Slow(0.0)
    again = estimate(FunctionGame(quick, 12), plan=first.plan, seed=3)
    with ThreadPoolExecutor(2) as pool:
        together = estimate(FunctionGame(Slow(0.0), 12), plan=first.plan, seed=3, executor=pool)
    assert again.evaluations == together.evaluations == first.evaluations == quick.asked
    for name in ("values", "standard_errors", "lower", "upper"):
        one, other, third = (getattr(each, name) for each in (first, again, together))
        assert (one is None) == (other is None) == (third is None)
        if one is not None:
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(one, third)
    assert again.plan == first.plan


def test_a_clock_that_kept_from_exact_values_does_so_again():
    first = estimate(FunctionGame(Slow(1e-3), 10), seconds=0.2)
    again = estimate(FunctionGame(Slow(0.0), 10), plan=first.plan)
    assert again.method == first.method != "exact"
    np.testing.assert_array_equal(again.values, first.values)


def test_going_on_has_a_time_of_its_own():
    earlier = estimate(FunctionGame(Slow(0.0), 20), "castro", budget=20_000)
    slow = Slow(2e-3)
    answer, took = timed(lambda: estimate(FunctionGame(slow, 20), resume=earlier, seconds=0.3))
    assert took <= 1.2 * 0.3 + BUSY
    assert answer.evaluations == earlier.evaluations + slow.asked
    assert answer.replicates > earlier.replicates


def test_workers_keep_to_the_time():
    slow = Slow(2e-3)
    with ThreadPoolExecutor(4) as pool:
        answer, took = timed(
            lambda: estimate(FunctionGame(slow, 20), "castro", seconds=0.4, executor=pool), 4
        )
        assert took <= 1.2 * 0.4 + BUSY
    assert answer.evaluations > 1.2 * 0.4 / 2e-3  # more than one of them makes
    alone = estimate(FunctionGame(Slow(0.0), 20), plan=answer.plan)
    np.testing.assert_array_equal(alone.values, answer.values)


def test_snapshots_keep_to_the_time():
    snapshots, took = timed(
        lambda: list(estimating(FunctionGame(Slow(5e-4), 10), "castro", seconds=0.3))
    )
    assert took <= 1.2 * 0.3 + BUSY
    assert snapshots[-1].stopped_by.startswith("0.3 seconds: ")


# --- rows
#
#
# ------------------------------------------------------------------------------------------------------------------

ROWS = np.random.default_rng(0).normal(size=(4, 20))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("players", [10, 20])
def test_the_time_of_all_rows_holds(method, players):
    slow = Slow(3e-4)
    explainer = Explainer(slow, baseline=0.0)
    answer, took = timed(lambda: explainer(ROWS[:, :players], method=method, seconds=0.4))
    assert took <= 1.2 * 0.4 + BUSY
    assert slow.asked == answer.model_rows.sum()
    assert (answer.evaluations > 2).all()
    # times what the last row has: a fit comes before many replicates
    behind = 5 if "gaussian" in method else 3
    assert answer.evaluations.max() <= behind * answer.evaluations.min()


@pytest.mark.parametrize("rows", [1, 4])
def test_a_time_that_is_too_short_for_a_star_holds(rows):
    X = np.random.default_rng(1).normal(size=(rows, 20))
    for _ in range(3):  # a busy machine may stand still between two looks at the clock
        slow = Slow(5e-3 / rows)  # a star of each row takes 0.22 s
        explainer = Explainer(slow, baseline=0.0)
        answer, took = timed(lambda explainer=explainer: explainer(X, seconds=0.14))
        if answer.evaluations.max() < 0.14 / 5e-3:
            break
    assert answer.evaluations.max() < 0.14 / 5e-3
    assert slow.asked == answer.model_rows.sum()
    assert "share of the time" in answer.because[0]
    assert answer.stopped_by[0].startswith("0.14 seconds for all rows: a row has about ")
    assert np.abs(answer.gap).max() < 1e-12
    assert took <= 1.2 * 0.14 + BUSY


def test_the_time_holds_beside_a_total():
    slow = Slow(3e-4)
    explainer = Explainer(slow, baseline=0.0)
    answer, took = timed(lambda: explainer(ROWS, method="castro", seconds=0.3, total_budget=10**6))
    assert took <= 1.2 * 0.3 + BUSY
    assert slow.asked == answer.model_rows.sum()


def test_rows_have_exact_values_where_those_fit_the_time_of_all():
    slow = Slow(2e-5)
    explainer = Explainer(slow, baseline=0.0)
    rows = ROWS[:, :8].copy()
    rows[0, :2] = 0  # another number of players
    answer = explainer(rows, seconds=20.0)
    assert answer.method == "exact"
    assert answer.evaluations.tolist() == [64, 256, 256, 256]
    assert slow.asked == answer.model_rows.sum()
    np.testing.assert_allclose(answer.values, explainer(rows, method="exact").values, atol=1e-12)
