"""Rows of the background teach processes where to start from."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer
from xgboost import XGBClassifier

import owenshap

TAUGHT = "starts from what 4 background rows taught"


@pytest.fixture(scope="module")
def boosted():
    X, y = load_breast_cancer(return_X_y=True)
    model = XGBClassifier(n_estimators=20, n_jobs=1).fit(X, y)
    rows = np.random.default_rng(0).permutation(X)[:12]
    return model, X[:100], rows


def explained(boosted, rows, **settings):
    model, background, _ = boosted
    explainer = owenshap.Explainer(model, background, output="probability")
    return explainer(rows, **settings)


@pytest.fixture(scope="module")
def together(boosted):
    return explained(boosted, boosted[2])


def test_many_rows_start_from_what_the_background_taught(boosted, together):
    assert all(TAUGHT in each for each in together.because)
    assert TAUGHT not in explained(boosted, boosted[2][:1]).because[0]
    by_name = explained(boosted, boosted[2], method="gaussian-process-corrected", tolerance="20%")
    assert TAUGHT not in by_name.because[0]


def test_other_rows_change_nothing(boosted, together):
    some = explained(boosted, boosted[2][11:0:-1])
    assert_array_equal(some.values, together.values[11:0:-1])
    assert_array_equal(some.evaluations, together.evaluations[11:0:-1])


def test_what_teaching_predicts_is_counted(together):
    pilots, pairs, background = 4, 4 * 30, 100
    besides = together.model_rows.sum() - background * together.evaluations.sum()
    assert besides >= pilots * (2 * pairs + 2) * background


@pytest.mark.slow
def test_parts_of_a_run_start_from_the_same(boosted, together, tmp_path):
    model, background, rows = boosted
    explainer = owenshap.Explainer(model, background, output="probability")
    run = explainer.run(rows, tmp_path / "run", part_rows=5, progress=False)
    assert_array_equal(run.explanation().values, together.values)
    assert run.manifest["pace"]["rows"] == len(rows)
