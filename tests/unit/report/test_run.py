"""A page of a run on disk, read part by part."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import owenshap
from owenshap import report


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 4)), columns=["a", "a.b", "c:d", "<b>"])
    table["customer"] = [f"customer {i}" for i in range(300)]
    return table


@pytest.fixture
def explainer(rows):
    features = rows.drop(columns="customer")
    model = DecisionTreeRegressor(max_depth=3).fit(features, features["a"] * features["a.b"])
    return owenshap.Explainer(model, background=features[:20])


def text_of(page):
    return " ".join(page.html.split())


def test_a_run_has_the_page_of_its_explanation(rows, explainer, tmp_path):
    run = explainer.run(rows, out=tmp_path / "run", ids=["customer"], part_rows=64)
    page = report.page(run, rows=50)
    whole = report.page(run.explanation(), rows=50)
    bars = '<ol class="bars importance">'
    assert page.html.split(bars)[1].split("</ol>")[0] == whole.html.split(bars)[1].split("</ol>")[0]
    text = text_of(page)
    assert "300 predictions of the model were explained by 4 features with the method trees" in text
    assert "Importance is over all 300 rows. Below are 50 of them" in text
    assert '"row customer ' in text.split('"names":')[1]
    for digest in (
        run.manifest["data"]["digest"],
        run.manifest["explainer"]["background"]["digest"],
    ):
        assert f"sha256 {digest}" in text


def test_rows_that_failed_or_are_to_come_are_said(rows, explainer, tmp_path):
    broken = rows.drop(columns="customer").astype(object)

    def model(frame):
        if (frame["a"] > 2.0).any():
            raise ValueError("no")
        return frame["a"].to_numpy(float)

    failing = owenshap.Explainer(model, background=broken[broken["a"] < 2.0][:5])
    with pytest.warns(UserWarning, match="could not be explained"):
        run = failing.run(broken, out=tmp_path / "run", part_rows=64, budget=50)
    text = text_of(report.page(run))
    assert f"{300 - run.progress.failed} predictions of the model" in text
    assert f"{run.progress.failed} row" in text.split("could not be explained")[0][-40:]
    journal = tmp_path / "run" / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:2]))
    assert "172 of 300 rows are to come" in text_of(report.page(run))


def test_arrays_and_ids_of_a_run_are_those_of_its_rows(rows, explainer, tmp_path):
    run = explainer.run(rows, out=tmp_path / "run", ids=["customer"], part_rows=64)
    whole = run.explanation()
    found = [(numbers, parts) for numbers, parts in run.arrays("lower", "doubtful")]
    assert np.concatenate([numbers for numbers, _ in found]).tolist() == list(range(300))
    lower = np.concatenate([parts["lower"] for _, parts in found])
    assert np.array_equal(lower, whole.lower)
    assert run.ids([7, 3]) == {"customer": ["customer 7", "customer 3"]}
