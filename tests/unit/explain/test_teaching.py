"""What rows of the background teach the processes of all rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.naive_bayes import GaussianNB
from xgboost import XGBClassifier

import owenshap
from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate

TAUGHT = "starts from what 4 background rows taught"


def boosted():
    """Rows that go on as they were taught."""
    X, y = load_breast_cancer(return_X_y=True)
    model = XGBClassifier(n_estimators=20, n_jobs=1).fit(X, y)
    return owenshap.Explainer(model, X[:100], output="probability"), X


def bayes():
    """Rows of three outputs, each of which teaches."""
    X, y = load_wine(return_X_y=True)
    return owenshap.Explainer(GaussianNB().fit(X, y), X[::2][:80]), X


def bumps():
    """Rows that learn by themselves, from what they were taught; no threads, no waiting."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 24))
    centres = rng.normal(size=(6, 24))
    explainer = owenshap.Explainer(
        lambda rows: sum(np.exp(-np.square(rows - each).sum(axis=1) / 48) for each in centres),
        X[:100],
    )
    return explainer, X


JOBS = {"boosted": (boosted, 12), "bayes": (bayes, 12), "bumps": (bumps, 25)}


@pytest.fixture(scope="module", params=JOBS)
def job(request):
    """An explainer, its rows, and what it says of all of them."""
    make, count = JOBS[request.param]
    explainer, X = make()
    rows = np.random.default_rng(0).permutation(X)[:count]
    return explainer, rows, explainer(rows)


def test_many_rows_start_from_what_the_background_taught(job):
    explainer, rows, together = job
    assert all(TAUGHT in each for each in together.because)
    assert TAUGHT not in explainer(rows[:1]).because[0]
    by_name = explainer(rows, method="gaussian-process-corrected", tolerance="20%")
    assert TAUGHT not in by_name.because[0]


def test_other_rows_change_nothing(job):
    explainer, rows, together = job
    some = explainer(rows[:0:-1])
    assert_array_equal(some.values, together.values[:0:-1])
    assert_array_equal(some.lower, together.lower[:0:-1])
    assert_array_equal(some.evaluations, together.evaluations[:0:-1])


def test_what_teaching_predicts_is_counted(job):
    _, rows, together = job
    n_players = rows.shape[1]
    background = 80 if n_players == 13 else 100  # rows
    pilots, pairs = 4, 4 * n_players
    besides = together.model_rows.sum() - background * together.evaluations.sum()
    assert besides >= pilots * (2 * pairs + 2) * background


def test_cheap_rows_are_not_fitted_for_themselves(monkeypatch):
    """Four lessons, whatever the number of rows."""
    explainer, X = bayes()
    fits = []
    plain = GaussianProcessSurrogate.fit

    def fit(self, coalitions, values, start=None):
        fits.append(values.shape)
        return plain(self, coalitions, values, start)

    monkeypatch.setattr(GaussianProcessSurrogate, "fit", fit)
    assert all(TAUGHT in each for each in explainer(X[:20]).because)
    assert fits == [(2 * 4 * 13 + 2, 1)] * 4


def test_six_rows_of_a_dear_model_pay_for_teaching():
    """A row is spared two fits, about; four lessons are played for that."""
    explainer, X = bumps()
    said = [TAUGHT in explainer(X[100 : 100 + rows]).because[0] for rows in (3, 5, 6, 8)]
    assert said == [False, False, True, True]


def test_each_output_teaches_in_turn():
    """One hangs on the first features, the other on the last ones: their lengths are the longer."""
    X = np.random.default_rng(2).normal(size=(140, 20))

    def model(rows):
        return np.stack([np.tanh(rows[:, :10].sum(axis=1)), np.tanh(rows[:, 10:].sum(axis=1))], 1)

    explainer = owenshap.Explainer(model, X[:100])
    assert TAUGHT in explainer(X[100:]).because[0]
    (taught,) = explainer._predictor.taught.values()
    first, last = np.array(taught.plain)[:, :20].reshape(4, 2, 10).mean(axis=2).T
    assert (first > last).tolist() == [True, False, True, False]


def test_a_constant_background_teaches_nothing_and_rows_learn():
    """Games of background rows that are all alike have no live players."""
    rng = np.random.default_rng(0)
    background = np.tile(rng.normal(size=20), (50, 1))
    rows = background[0] + rng.normal(size=(12, 20))
    explainer = owenshap.Explainer(lambda rows: np.tanh(rows.sum(axis=1)), background)
    found = explainer(rows, tolerance="2%")
    assert np.isfinite(found.upper).all()
    assert np.abs(found.gap).max() < 1e-9


@pytest.mark.slow
def test_parts_of_a_run_start_from_the_same(job, tmp_path):
    explainer, rows, together = job
    run = explainer.run(rows, tmp_path / "run", part_rows=5, progress=False)
    assert_array_equal(run.explanation().values, together.values)
    assert run.manifest["pace"]["rows"] == len(rows)
