"""What the benchmark of the default makes of its measurements."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.default import measure, report, truth
from benchmarks.default.measure import Contender, Judge, Times


def judge(noise=0.0):
    values = np.array([[[1.0], [2.0]], [[0.0], [-1.0]]])
    return Judge(values, np.full_like(values, noise), np.full((2, 1), 4.0), values.sum(axis=1))


def cell(**ours):
    mine = {"rows_run": 10, "seconds": 2.0, "error": 1e-3, "gap": 0.0, "finite": 1.0}
    mine |= {"coverage": 0.95, "half_width": 0.01, "doubtful": None, "method": "castro"} | ours
    theirs = {"rows_run": 10, "seconds": 4.0, "error": 2e-3, "gap": 0.0}
    return {"owenshap": mine, "shap": theirs, "ratio": {"value": 0.4, "with": "budget=500"}}


def results(**cells):
    job = {"what": "A job", "date": "today", "source": "abc", "cells": cells, "warnings": []}
    return {"command": "make", "wanted": ["job", "other"], "machine": {}, "jobs": {"job": job}}


def line(found, start="| job | 10 |"):
    return next(each for each in report.table(found).splitlines() if each.startswith(start))


def test_errors_are_squared_and_relative_and_without_the_noise_of_the_truth():
    found = judge().values[..., 0] + 0.5
    assert judge().error(found) == pytest.approx(4 * 0.25 / 6)
    assert judge(noise=0.1).error(found) == pytest.approx((4 * 0.25 - 4 * 0.01) / 6)
    assert judge().error(found[:1]) == pytest.approx(2 * 0.25 / 5)


def test_a_gap_is_the_largest_of_the_rows_over_the_range():
    assert judge().gap(np.array([[1.0, 2.0], [0.0, 1.0]])) == pytest.approx(2 / 4)


def test_one_output_of_two_classes_stands_for_both():
    two = Judge(np.array([[[-1.0, 1.0]]]), np.zeros((1, 1, 2)), np.ones((1, 2)), np.ones((1, 2)))
    assert two.error(np.array([[1.0]])) == 0
    last = Judge(np.array([[[1.0]]]), np.zeros((1, 1, 1)), np.ones((1, 1)), np.ones((1, 1)))
    assert last.error(np.array([[[-1.0, 1.0]]])) == 0


def test_intervals_are_counted_where_they_are_finite():
    lower = np.array([[0.5, 2.5], [np.nan, -1.2]])
    found = judge().intervals(SimpleNamespace(lower=lower, upper=lower + 1))
    assert found == {
        "finite": 0.75,
        "coverage": pytest.approx(2 / 3),
        "half_width": pytest.approx(0.5 / 4),
    }
    nothing = judge().intervals(SimpleNamespace(lower=None, upper=None))
    assert nothing == {"finite": 0.0, "coverage": None, "half_width": None}


def test_rows_past_the_limit_are_carried_on_in_a_straight_line():
    contender = Contender(lambda rows, seed: rows, limit=4.0)
    contender.times = {1: Times(1, [1.5]), 10: Times(10, [6.0])}
    times = contender.begin(1000)
    assert times.rows_run == 10  # never fewer than before
    times.seconds = [6.0]
    assert contender.seconds(1000) == pytest.approx(6 + 990 * 0.5)


def test_a_call_that_fails_is_told_and_not_called_again():
    contender = Contender(lambda rows, seed: 1 / 0, limit=4.0)
    times = contender.begin(1)
    contender.turn(np.ones((3, 2)), times, seed=0)
    assert times.failed == "ZeroDivisionError: division by zero"
    assert contender.begin(10).failed == times.failed


def race(monkeypatch, ours, theirs, seconds, method="castro"):
    """The ratio where calls have these errors by setting, and shap's this one; seconds by setting."""
    made = []

    def tried(case, setting, rows, turns, limit):
        made.append(setting)
        told = next(iter(setting.values()))
        values = judge().values[:1, :, 0] + ours[told]
        return Times(1, [seconds[told]], results=[SimpleNamespace(values=values)])

    monkeypatch.setattr(measure, "_tried", tried)
    mine = {
        "seconds": 4.0,
        "method": method,
        "error": judge().error(judge().values[:1, :, 0] + ours["default"]),
    }
    theirs = {"seconds": 2.0, "turns": 1, "error": judge().error(judge().values[:1, :, 0] + theirs)}
    contenders = {"owenshap": Contender(lambda rows, seed: rows, 9.0)}
    case = SimpleNamespace(rows=np.ones((1, 2)))
    found = {"owenshap": mine, "shap": theirs}
    return measure._ratio(found, contenders, judge(), 1, case), made


def test_a_more_accurate_default_is_timed_at_the_error_of_the_other(monkeypatch):
    errors = {"default": 0.01, "3%": 0.1, "10%": 0.9, "30%": 0.9, 250: 0.9, 500: 0.2, 1000: 0.1}
    seconds = dict.fromkeys(errors, 3.0) | {"10%": 0.1, 500: 1.0}
    found, made = race(monkeypatch, errors, 0.5, seconds)
    assert found == {"value": 0.5, "with": "budget=500"}  # what is quicker misses the error
    assert len(made) == 6


def test_a_less_accurate_default_is_made_tighter_until_it_reaches_the_error(monkeypatch):
    errors = {"default": 0.9, "0.3%": 0.7, "0.1%": 0.1}
    found, made = race(monkeypatch, errors, 0.5, {"0.3%": 5.0, "0.1%": 6.0})
    assert found == {"value": 3.0, "with": "tolerance=0.1%"}
    assert len(made) == 2


def test_values_that_are_read_off_a_model_are_not_made_looser(monkeypatch):
    found, made = race(monkeypatch, {"default": 0.0}, 0.5, {}, "trees")
    assert (found, made) == ({"value": 2.0, "with": "default"}, [])


def test_a_call_that_takes_too_long_is_ended():
    def forever():
        while True:
            pass

    with pytest.raises(measure.TooLongError), measure.ended_after(0.01):
        forever()


def test_the_table_marks_what_is_missed_and_what_was_not_run():
    found = results(**{"10": cell(gap=0.1, finite=0.5, rows_run=3)})
    told = "| ~2 | 4 | 0.5 | 0.4 (`budget=500`) | 1.0e-03 | 2.0e-03 | **1e-01** | **50 %** | – | 95 % | 1 %"
    assert told in line(found)
    text = report.table(found)
    assert "**Not measured yet**: other." in text
    assert "| sums within 1e-6 of the range | 0 of 1 | job 10 |" in text
    assert "| time to shap's error ≤ 1.1 × shap's time | 1 of 1 | – |" in text
    assert "| at most 10 % of rows doubtful | 0 of 0 | – |" in text


def test_the_table_says_why_there_is_no_result():
    missing = cell()
    missing["owenshap"] = {"rows_run": 10, "failed": "ended after 60 s"}
    missing["ratio"] = {"value": None, "why": "1%: ended after 60 s"}
    assert "| ended after 60 s | 4 | – | – (1%: ended after 60 s) | – |" in line(
        results(**{"10": missing})
    )
    failed = results()
    failed["jobs"]["job"] |= {"failed": "TimeoutExpired, see out/default/job.log"}
    assert "TimeoutExpired" in line(failed, "| job | – |")


def test_errors_below_the_noise_of_the_truth_are_bounds():
    assert "| ≤ 5e-03 | 2.0e-03 |" in line(results(**{"10": cell(noise=5e-3)}))
    assert "| exact |" in line(results(**{"10": cell(error=1e-30)}))


def test_true_values_of_product_kernels_are_those_of_all_coalitions():
    rng = np.random.default_rng(0)
    weights, centres = rng.normal(size=5), rng.normal(size=(5, 4))
    background, rows = rng.normal(size=(6, 4)), rng.normal(size=(2, 4))

    def predict(batch):
        return np.exp(-0.3 * ((batch[:, None] - centres) ** 2).sum(axis=2)) @ weights

    closed, _ = truth.product_kernel(weights, centres, 0.3, background)(None, rows)
    listed, noise = truth.enumerated(predict, background)(None, rows)
    assert np.allclose(closed, listed, atol=1e-13)
    assert not noise.any()
