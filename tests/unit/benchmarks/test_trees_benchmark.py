"""What the benchmark of trees makes of its measurements."""

import numpy as np
import pytest

from benchmarks.trees import race, report


def test_a_contender_that_fails_is_told_and_left_out():
    calls = {
        "owenshap": lambda: np.ones((2, 3)),
        "shap": lambda: np.ones((2, 3)) * 1.5,
        "woodelf": lambda: 1 / 0,
        "shapiq": lambda: np.ones((2, 2)),
    }
    found = race.race(calls, turns=3)
    assert found["differences"]["shap"] == pytest.approx(0.5)
    assert found["differences"]["woodelf"].startswith("ZeroDivisionError")
    assert found["differences"]["shapiq"] == "shape (2, 2), not (2, 3)"
    assert {name: len(each) for name, each in found["seconds"].items()} == {
        "owenshap": 3,
        "shap": 3,
    }


def test_ratios_are_taken_within_a_turn_against_the_fastest():
    seconds = {"owenshap": [1.0, 3.0], "shap": [4.0, 5.0], "woodelf": [2.0, 6.0]}
    assert race.ratios(seconds, "owenshap", ["shap", "woodelf", "absent"]) == [0.5, 0.6]


@pytest.mark.parametrize(
    ("measured", "met"),
    [
        ([0.8, 0.9, 0.7], "yes"),
        ([0.8, 0.9, 1.7], "yes, not in every turn"),
        ([0.8, 1.1, 1.7], "**no**, but in some turns"),
        ([1.2, 1.1, 1.7], "**no**"),
    ],
)
def test_a_missed_goal_is_written_as_missed(measured, met):
    goals = [{"what": "of shap's time", "goal": "≤ 1", "at_most": 1.0, "measured": measured}]
    (line,) = report._goals({"what": "a job", "goals": goals})
    assert line.endswith(f"| {met} |")
