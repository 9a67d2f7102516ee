"""What the benchmark of the default makes of its measurements."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.default import measure, report, truth
from benchmarks.default.measure import Contender, Judge, Times


def judge(noise=0.0):
    values = np.array([[[1.0], [2.0]], [[0.0], [-1.0]]])
    return Judge(values, np.full_like(values, noise), np.full((2, 1), 4.0), values.sum(axis=1))


def cell(**ours):
    mine = {"turns": 5, "seconds": 2.0, "error": 1e-3, "gap": 0.0, "finite": 1.0}
    mine |= {"coverage": 0.95, "half_width": 0.01, "doubtful": None, "method": "castro"} | ours
    theirs = {"turns": 5, "seconds": 4.0, "error": 2e-3, "gap": 0.0}
    when = {"date": "today", "source": "abc", "rows_run": 10}
    ratio = {"value": 0.4, "with": "budget=500"}
    return {"owenshap": mine, "shap": theirs, "ratio": ratio} | when


def results(**cells):
    job = {"what": "A job", "cells": cells, "warnings": []}
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


def test_as_many_rows_are_run_as_fit_the_limit():
    def call(rows, seed):
        asked.append(len(rows))
        end = time.process_time() + 0.02 * len(rows)
        while time.process_time() < end:
            pass

    asked = []
    contender = Contender(call, limit=0.6, first={"seconds": 1.0})
    assert 20 <= contender.fitting(np.ones((1000, 2))) <= 40
    assert contender.fitting(np.ones((12, 2))) == 12
    assert max(asked) == 10
    contender.limit = 0.1
    assert 3 <= contender.fitting(np.ones((10, 2))) <= 6


def test_a_call_that_fails_is_told_and_not_called_again():
    contender, times = Contender(lambda rows, seed: 1 / 0, limit=4.0), Times()
    contender.turn(np.ones((3, 2)), times, seed=0)
    contender.turn(np.ones((3, 2)), times, seed=1)
    assert times.failed == "ZeroDivisionError: division by zero"
    assert not times.seconds


def race(monkeypatch, ours, theirs, seconds, method="castro", judged=None):
    """The ratio where calls have these errors by setting, and shap's this one; seconds by setting.
    Errors of calls that judge may differ from those of calls that choose.
    """
    made = []

    def tried(case, setting, rows, seeds, limit):
        told = next(iter(setting.values()))
        choosing = [*seeds] == [measure.CHOOSING]
        made.append((told, choosing))
        off = ours[told] if choosing or judged is None else judged.get(told, ours[told])
        values = judge().values[:1, :, 0] + off
        return Times([seconds[told]], results=[SimpleNamespace(values=values)])

    monkeypatch.setattr(measure, "_tried", tried)
    mine = {
        "seconds": 4.0,
        "method": method,
        "error": judge().error(judge().values[:1, :, 0] + ours["default"]),
    }
    theirs = {"seconds": 2.0, "turns": 3, "error": judge().error(judge().values[:1, :, 0] + theirs)}
    found = {"owenshap": mine, "shap": theirs}
    return measure._ratio(found, judge(), np.ones((1, 2)), None, 9.0), made


LOOSER = {"default": 0.01, "3%": 0.1, "10%": 0.9, "30%": 0.9, 250: 0.9, 500: 0.2, 1000: 0.1}
QUICKER = dict.fromkeys(LOOSER, 3.0) | {"10%": 0.1, 500: 1.0, 1000: 9.0}


def test_a_more_accurate_default_is_timed_at_the_error_of_the_other(monkeypatch):
    found, made = race(monkeypatch, LOOSER, 0.5, QUICKER)
    assert found == {"value": 0.5, "with": "budget=500"}  # what is quicker misses the error
    assert made[-1] == (500, False)
    assert len(made) == 7


def test_a_setting_is_judged_by_other_calls_than_those_that_chose_it(monkeypatch):
    found, made = race(monkeypatch, LOOSER, 0.5, QUICKER, judged={500: 0.9})
    assert found == {"value": 1.5, "with": "tolerance=3%"}
    assert made[-2:] == [(500, False), ("3%", False)]
    found, _ = race(monkeypatch, LOOSER, 0.5, QUICKER, judged=dict.fromkeys(LOOSER, 0.9))
    assert found == {"value": 2.0, "with": "default"}


def test_a_less_accurate_default_is_made_tighter_until_it_reaches_the_error(monkeypatch):
    errors = {"default": 0.9, "0.3%": 0.7, "0.1%": 0.1, "0.03%": 0.1, "0.01%": 0.1}
    seconds = {"0.3%": 5.0, "0.1%": 6.0, "0.03%": 7.0, "0.01%": 8.0}
    found, _ = race(monkeypatch, errors, 0.5, seconds)
    assert found == {"value": 3.0, "with": "tolerance=0.1%"}
    found, _ = race(monkeypatch, errors, 0.5, seconds, judged={"0.1%": 0.7})
    assert found == {"value": 3.5, "with": "tolerance=0.03%"}


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
    found = results(**{"10": cell(gap=0.1, finite=0.5)})
    told = "| 2 | 4 | 0.5 | 0.4 (`budget=500`) | 1.0e-03 | 2.0e-03 | **1e-01** | **50 %** | – | 95 % | 1 %"
    assert told in line(found)
    text = report.table(found)
    assert "**Not measured yet**: other." in text
    assert "| sums within 1e-6 of the range | 0 of 1 | job 10 |" in text
    assert "| time to shap's error ≤ 1.1 × shap's time | 1 of 1 | – |" in text
    assert "| at most 10 % of rows doubtful | 0 of 0 | – |" in text


def test_the_table_says_why_there_is_no_result():
    missing = cell()
    missing["owenshap"] = {"failed": "ended after 60 s"}
    missing["ratio"] = {"value": None, "why": "1%: ended after 60 s"}
    assert "| ended after 60 s | 4 | – | – (1%: ended after 60 s) | – |" in line(
        results(**{"10": missing})
    )
    gone = {"failed": "TimeoutExpired, see out/default/job.log", "date": "today", "source": "abc"}
    assert "TimeoutExpired" in line(results(**{"10": gone}))


def test_fewer_rows_than_were_asked_for_are_told():
    found = results(**{"1000": cell() | {"rows_run": 40}})
    assert line(found, "| job | 1,000, by 40 rows | 2 | 4 |")


def test_choices_that_differ_are_marked():
    found = results(**{"10": cell()})
    found["choices"] = {
        "job": {"idle": {"exact": 50}, "loaded": {"exact": 50}},
        "other": {"idle": {"exact": 50}, "loaded": {"exact": 49, "castro": 1}},
    }
    text = report.table(found)
    assert "| job | exact 50 | exact 50 | yes |" in text
    assert "| other | exact 50 | exact 49, castro 1 | **no** |" in text


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
