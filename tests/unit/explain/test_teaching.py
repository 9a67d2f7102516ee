"""What rows of the background teach the processes of all rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from run_models import Impossible, impossible_rows
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.naive_bayes import GaussianNB
from xgboost import XGBClassifier

import owenshap
from owenshap.explain import teaching
from owenshap.explain.planning import Planner
from owenshap.explain.teaching import Teaching
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


def bumps(**settings):
    """Rows that learn by themselves, from what they were taught; no threads, no waiting."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 24))
    centres = rng.normal(size=(6, 24))
    explainer = owenshap.Explainer(
        lambda rows: sum(np.exp(-np.square(rows - each).sum(axis=1) / 48) for each in centres),
        X[:100],
        **settings,
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


@pytest.mark.parametrize("what", ["raises", "gives no number"])
def test_a_background_row_that_cannot_be_played_teaches_nothing(what):
    """Nobody asked for it: the rows themselves are explained."""
    background, rows = impossible_rows()
    found = owenshap.Explainer(Impossible(what), background)(rows)
    assert np.isfinite(found.upper).all()
    assert all("starts from what 3 background rows taught" in each for each in found.because)


def test_lessons_that_nobody_can_be_taught_are_not_said_to_be(monkeypatch):
    monkeypatch.setattr(Teaching, "_played", lambda *_: None)
    explainer, X = bumps()
    found = explainer(X[100:108])
    assert np.isfinite(found.upper).all()
    assert not any("background rows taught" in each for each in found.because)


def test_a_budget_too_small_for_stars_is_none_for_lessons():
    explainer, X = bumps()
    found = explainer(X[100:110], tolerance="1%", budget=44)
    assert found.method == "gaussian-process"
    assert found.model_rows.sum() <= 10 * (100 * 44 + 2)


def test_lessons_fit_into_memory(monkeypatch):
    explainer, X = bumps(memory="128MB")
    assert TAUGHT in explainer(X[100:108]).because[0]
    monkeypatch.setattr(teaching, "lesson_pairs", lambda _: 10**6)
    assert TAUGHT not in explainer(X[100:108]).because[0]


def test_that_minutes_are_ahead_is_said_before_lessons_begin(monkeypatch):
    order = []
    for room, name in ((Planner, "warn"), (Teaching, "_learned")):
        plain = getattr(room, name)

        def noted(self, *rest, plain=plain, name=name):
            order.append(name)
            return plain(self, *rest)

        monkeypatch.setattr(room, name, noted)
    explainer, X = bumps()
    explainer(X[100:108], progress=lambda done, of: None)
    assert order == ["warn", "_learned"]


def test_rows_that_share_a_total_know_what_an_evaluation_costs(monkeypatch):
    plans = []
    plain = Planner.plan
    monkeypatch.setattr(
        Planner, "plan", lambda self, count: plans.append(plain(self, count)) or plans[-1]
    )
    explainer, X = bumps()
    explainer(X[100:104], tolerance="1%", total_budget=4 * 4000)
    (plan,) = plans
    assert plan.estimator.learner(24) is not None
    assert plan.cost is not None


def test_large_games_are_spared_no_more_than_their_fits(monkeypatch):
    """Rows are fitted to 500 pairs, whatever their features: lessons of 3,136 are a dear price."""
    saved = []
    monkeypatch.setattr(
        teaching, "fit_seconds", lambda pairs, n_players: saved.append(pairs) or 0.0
    )
    explainer, X = bumps()
    monkeypatch.setattr(teaching, "lesson_pairs", lambda _: 3136)
    explainer(X[100:108])
    assert set(saved) == {500}


@pytest.mark.slow
def test_parts_of_a_run_start_from_the_same(job, tmp_path):
    explainer, rows, together = job
    run = explainer.run(rows, tmp_path / "run", part_rows=5, progress=False)
    assert_array_equal(run.explanation().values, together.values)
    assert run.manifest["pace"]["rows"] == len(rows)
    assert TAUGHT in run.manifest["plan"]


def test_a_run_plays_its_lessons_once_and_keeps_them(tmp_path, monkeypatch):
    """Whoever makes a part, and whoever goes on, knows them from the manifest."""
    learned = []
    plain = Teaching._learned
    monkeypatch.setattr(Teaching, "_learned", lambda self: learned.append(1) or plain(self))
    background, rows = impossible_rows()
    explainer = owenshap.Explainer(Impossible("raises"), background)
    run = explainer.run(rows, tmp_path / "run", part_rows=5, progress=False)
    assert len(learned) == 1
    assert "starts from what 3 background rows taught" in run.manifest["plan"]
    ((seed, itself, taught),) = run.manifest["taught"]
    assert (seed, itself, len(taught[0])) == (0, True, 3)
    values = run.explanation().values
    for part in (tmp_path / "run").rglob("*.parquet"):
        part.unlink()
    again = owenshap.Explainer(Impossible("raises"), background)
    run = again.run(rows, tmp_path / "run", part_rows=5, progress=False)
    assert_array_equal(run.explanation().values, values)
    assert len(learned) == 1


@pytest.mark.slow
def test_lessons_that_hang_are_not_waited_for(tmp_path):
    background, rows = impossible_rows()
    explainer = owenshap.Explainer(Impossible("hangs"), background)
    run = explainer.run(rows[:8], tmp_path / "run", part_rows=4, timeout=2, progress=False)
    assert not run.errors
    assert run.manifest["taught"] == []
    assert "rows" not in run.manifest["pace"]
