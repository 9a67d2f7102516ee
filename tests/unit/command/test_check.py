"""`--check`: importance that has changed, beyond the intervals and the least change."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import NAMES, command

from owenshap import Explainer
from owenshap.command.check import changes


def explanation(weights, rows=30, noise=None, seed=0):
    """Of a linear function, or of one with a part that must be sampled."""
    X = np.random.default_rng(0).normal(size=(rows, 4))

    def model(batch):
        return batch @ np.array(weights) + (0 if noise is None else noise(batch))

    return Explainer(model, baseline=0.0, feature_names=NAMES)(X, seed=seed)


def test_nothing_changes_where_nothing_has():
    assert not any(
        each.changed for each in changes(explanation([1, 2, 3, 4]), explanation([1, 2, 3, 4]), 0.0)
    )


def test_exact_values_change_by_the_least_change_alone():
    before, after = explanation([1, 2, 3, 4]), explanation([1, 2, 3, 4.8])
    found = changes(before, after, "5%")
    assert [each.player for each in found if each.changed] == ["years"]
    assert found[0].upper == pytest.approx(found[0].change)
    assert not any(each.changed for each in changes(before, after, "10%"))
    assert sum(each.changed for each in changes(before, explanation([1.01, 2, 3, 4.8]), 0.0)) == 2


def test_sampled_values_change_only_beyond_their_intervals():
    def wavy(batch):
        return np.sin(3 * batch).prod(axis=1) + np.abs(batch).max(axis=1)

    settings = {"method": "castro", "budget": 60}
    X = np.random.default_rng(0).normal(size=(20, 4))
    explainer = Explainer(wavy, baseline=0.0)
    one, other = explainer(X, seed=1, **settings), explainer(X, seed=2, **settings)
    found = changes(one, other, 0.0)
    assert any(each.change != 0 for each in found)
    assert not any(each.changed for each in found)


def test_the_command_exits_with_one_where_importance_has_changed(files, tmp_path):
    asked = [files / "data.csv", "--background", files / "training.csv"]
    assert command("explain", files / "boosted.ubj", *asked, "--out", tmp_path / "a").exit_code == 0
    for baseline in ("a", "a/explanation.npz", "a/run"):
        out = tmp_path / f"same-{baseline.replace('/', '-')}"
        same = command(
            "explain", files / "boosted.json", *asked, "--out", out, "--check", tmp_path / baseline
        )
        assert same.exit_code == 0, same.output
        assert "No importance has changed" in same.output
    other = command(
        "explain",
        files / "light.txt",
        *asked,
        *("--out", tmp_path / "b", "--check", tmp_path / "a", "--min-change", "1%", "--json"),
    )
    assert other.exit_code == 1, other.output
    told = json.loads(other.output)
    assert told["changed"]
    changed = [each for each in told["changes"] if each["changed"]]
    assert changed
    assert all(abs(each["change"]) > each["least"] for each in changed)


def test_other_rows_cannot_be_compared(files, tmp_path):
    asked = ["explain", files / "boosted.ubj"]
    data = pd.read_csv(files / "data.csv")
    data.assign(age=data["age"] + 1).to_csv(tmp_path / "other.csv", index=False)
    assert command(*asked, files / "data.csv", "--out", tmp_path / "a").exit_code == 0
    for rows in ([files / "data.csv", "--rows", "0:5"], [tmp_path / "other.csv"]):
        result = command(*asked, *rows, "--check", tmp_path / "a", "--out", tmp_path / rows[0].stem)
        assert result.exit_code == 3, result.output
        assert "--check must be of the" in result.output
    result = command(
        *asked,
        files / "data.csv",
        "--check",
        tmp_path / "a",
        "--min-change",
        "x",
        "--out",
        tmp_path / "c",
    )
    assert result.exit_code == 3
    assert "--min-change must be" in result.output
