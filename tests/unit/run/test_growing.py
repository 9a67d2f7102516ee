"""A process that grows until its own standard errors are within the tolerance."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from naive import Watched
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from owenshap import Explainer, FunctionGame, GaussianProcess, estimate
from owenshap.designs.pairs import MOST_CHOSEN, even_pairs
from owenshap.estimators.gaussian_process import Growing
from owenshap.explain.row_games import LINEAR_SECONDS
from owenshap.models import as_model
from owenshap.models.base import ROW_SECONDS
from owenshap.run.cost import Cost
from owenshap.run.plan import make_plan
from owenshap.statistics.goal import USUAL, Until
from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate
from owenshap.surrogates.gaussian_process.taught import Taught, taught_by
from owenshap.testing import product, unanimity

GROWING = "gaussian-process"
WEIGHTS = np.linspace(-1, 2, 14)


def wavy(coalitions):
    return np.tanh(coalitions @ WEIGHTS / 3) + 0.3 * coalitions[:, 0] * coalitions[:, 5]


def rough(coalitions):
    """Nothing that a process could learn."""
    codes = coalitions @ (1 << np.arange(14))
    return np.sin(codes * 12.9898) * 43758.5453 % 1.0


@pytest.mark.parametrize("tolerance", ["3%", "1%", 0.02])
def test_it_stops_within_the_tolerance_and_counts_what_it_evaluates(tolerance):
    game = Watched(product([1.0] * 16, np.linspace(1.01, 1.4, 16)))
    found = estimate(game, GROWING, tolerance=tolerance, seed=1)
    assert found.stopped_by.startswith(f"tolerance of {tolerance}: all values are within")
    assert found.evaluations == game.evaluations < 1000
    away = np.abs(found.values - game.game.shapley_values).max()
    assert away <= found.tolerances[0]
    assert (found.standard_errors > 0).all()
    assert (found.upper - found.values <= found.tolerances[0]).all()
    assert np.isclose(found.values.sum(), found.grand_value - found.empty_value)


def test_a_tighter_tolerance_goes_on_from_a_wider_one():
    game = FunctionGame(wavy, 14)
    wide = estimate(game, GROWING, tolerance="5%")
    tight = estimate(game, GROWING, tolerance="0.05%")
    assert wide.evaluations < tight.evaluations
    resumed = estimate(game, resume=wide, tolerance="0.05%")
    np.testing.assert_array_equal(resumed.values, tight.values)
    assert resumed.evaluations == tight.evaluations


def test_the_plan_repeats_it_and_workers_change_nothing():
    game = FunctionGame(wavy, 14)
    first = estimate(game, GROWING, tolerance="1%", seed=4)
    again = estimate(game, plan=first.plan, seed=4)
    with ThreadPoolExecutor(2) as pool:
        together = estimate(game, GROWING, tolerance="1%", seed=4, executor=pool)
    for each in (again, together):
        np.testing.assert_array_equal(each.values, first.values)
        assert each.evaluations == first.evaluations


def test_where_it_can_grow_no_more_further_pairs_correct_it():
    game = Watched(FunctionGame(rough, 14))
    found = estimate(game, GROWING, tolerance="6%", budget=30_000)
    assert "further pairs correct the process" in found.note
    assert found.evaluations == game.evaluations > 1002
    exact = estimate(FunctionGame(rough, 14), "exact").values
    assert np.abs(found.values - exact).max() <= found.tolerances[0]
    assert np.isfinite(found.upper).all()


def test_a_budget_holds():
    for budget in (3, 40, 300, 1500):
        game = Watched(FunctionGame(rough, 14))
        settings = {"tolerance": "1%", "budget": budget}
        if budget == 3:
            with pytest.raises(ValueError, match="budget must be at least 6"):
                estimate(game, GROWING, **settings)
            continue
        found = estimate(game, GROWING, **settings)
        assert found.evaluations == game.evaluations <= budget
        assert found.stopped_by.startswith(f"budget of {budget:,} evaluations")


def test_each_row_grows_for_itself():
    rows = np.random.default_rng(3).normal(size=(3, 14))
    explainer = Explainer(lambda rows: np.tanh(rows @ WEIGHTS / 3), baseline=0.0)
    together = explainer(rows, method=GROWING, tolerance="1%")
    alone = explainer(rows[1:2], method=GROWING, tolerance="1%")
    np.testing.assert_array_equal(together.values[1], alone.values[0])
    assert together.evaluations[1] == alone.evaluations[0]
    np.testing.assert_allclose(together.gap, 0, atol=1e-9)


def test_a_number_of_pairs_is_one_fit_and_has_no_tolerance():
    game = FunctionGame(wavy, 14)
    assert estimate(game, GaussianProcess(pairs=30)).evaluations == 62
    with pytest.raises(ValueError, match="unbiased"):
        estimate(game, GaussianProcess(pairs=30), tolerance="1%")


# --- what 'auto' takes

CORRECTED = "gaussian-process-corrected"
# seconds of a row as measured and as counted, players, outputs (two classes are one), what is taken
BOOSTED, BAYES = ROW_SECONDS["xgboost"], ROW_SECONDS["sklearn.naive_bayes"]
USUALLY = ROW_SECONDS[""]
JOBS = {
    "neighbours": (2.7e-6, USUALLY, 30, 1, GROWING),
    "perceptron": (1e-7, LINEAR_SECONDS, 30, 1, "halved-owen"),
    "support vectors": (6.5e-6, USUALLY, 30, 1, GROWING),
    "boosted": (5.4e-7, BOOSTED, 30, 1, CORRECTED),
    "forest": (1e-6, ROW_SECONDS["sklearn.ensemble"], 30, 1, CORRECTED),
    "naive Bayes 30": (4.5e-7, BAYES, 30, 1, CORRECTED),
    "naive Bayes 13": (2.3e-7, BAYES, 13, 3, "exact"),
    "a small network": (1.1e-7, ROW_SECONDS["onnxruntime"], 13, 3, "exact"),
    "process": (1.3e-5, USUALLY, 30, 1, GROWING),
    "convolutions": (2e-5, USUALLY, 49, 10, CORRECTED),
    "a slow function": (1e-3, USUALLY, 20, 1, GROWING),
    "8 features": (5e-6, USUALLY, 8, 1, "exact"),
    "150 features": (1e-6, USUALLY, 150, 1, GROWING),
    "400 features": (3e-6, USUALLY, 400, 1, GROWING),
    "1,000 features": (3e-6, USUALLY, 1000, 1, CORRECTED),
}


@pytest.mark.parametrize("job", JOBS)
def test_a_busy_machine_changes_no_choice(job):
    """Seconds of 100 background rows, as they were measured and off by factors up to 5."""
    seconds, counted, n_players, outputs, expected = JOBS[job]
    taken = {
        make_plan(
            n_players,
            "auto",
            None,
            Cost(100 * seconds * factor, outputs, 100 * counted),
            USUAL,
            256e6,
        ).estimator.name
        for factor in np.geomspace(1 / 5, 5, 11)
    }
    assert taken == {expected}


ROWS = {0: "exact", 1: "exact", 10: GROWING, 1000: GROWING}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("job", ["naive Bayes 13", "a small network"])
def test_many_rows_are_taught_where_that_is_sooner_done_than_all_coalitions(job, rows):
    seconds, counted, n_players, outputs, _ = JOBS[job]
    for factor in np.geomspace(1 / 5, 5, 11):
        cost = Cost(100 * seconds * factor, outputs, 100 * counted, taught=rows)
        plan = make_plan(n_players, "auto", None, cost, USUAL, 256e6)
        assert plan.estimator.name == ROWS[rows]
        assert ("background rows teach" in plan.because) == (ROWS[rows] == GROWING)


def test_very_many_players_are_corrected_from_the_start():
    """One fit of 500 pairs is the first and the last that grows: with fewer of them than players it
    says nothing of most.
    """
    dear = Cost(0.1, 1, 0.1)
    taken = [make_plan(n, "auto", None, dear, USUAL, 256e6).estimator.name for n in (30, 500, 501)]
    assert taken == ["gaussian-process", "gaussian-process", "gaussian-process-corrected"]


@pytest.mark.parametrize("n_players", [60, 400])
def test_errors_are_wider_where_players_have_few_pairs_each(monkeypatch, n_players):
    """A first fit has 2.5 pairs for each player; 500 pairs are all that it may have."""
    weights = np.random.default_rng(0).normal(size=n_players) / n_players**0.5
    game = FunctionGame(lambda sets: np.tanh(sets @ weights), n_players)
    found = estimate(game, "gaussian-process", tolerance=1.0)
    pairs = (found.evaluations - 2) // 2
    assert pairs <= MOST_CHOSEN
    monkeypatch.setattr(Growing, "_wider", 1.0)
    plain = estimate(game, "gaussian-process", tolerance=1.0)
    assert plain.evaluations == found.evaluations
    wider = max(1.0, 2.5 * n_players / pairs) ** 0.5
    np.testing.assert_allclose(found.standard_errors, wider * plain.standard_errors)


def test_what_a_row_takes_is_known_by_the_kind_of_model():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
    bayes = GaussianNB().fit(X, y)
    for model in (bayes, make_pipeline(StandardScaler(), bayes), bayes.predict_proba):
        assert as_model(model).row_seconds == BAYES
    for model in (KNeighborsClassifier().fit(X, y), lambda rows: rows[:, 0]):
        assert as_model(model).row_seconds == USUALLY


# --- a process that others taught

ALONG = (*np.full(14, -8.0), 0.2, -0.3, -3.0, 0.6, 0.4, 0.1)
WRONGLY = Taught((ALONG,))  # as if every player counted for itself


@pytest.fixture(scope="module")
def well():
    """What the game itself teaches."""
    pairs = even_pairs(14, 56, np.random.default_rng(0))
    ends = np.array([[True], [False]]).repeat(14, axis=1)
    coalitions = np.concatenate([ends, pairs, ~pairs])
    fitted = GaussianProcessSurrogate().fit(coalitions, wavy(coalitions)[:, None])
    lesson = fitted.pairs.signs, fitted.pairs.odd[:, 0], fitted.mixtures[0], np.arange(14)
    return taught_by([lesson], 14)


@pytest.fixture
def learning(monkeypatch):
    """Which fits learn from the game itself: pairs of each."""
    pairs = []
    plain = GaussianProcessSurrogate.fit

    def fit(self, coalitions, values, start=None):
        pairs.append(len(coalitions) // 2)
        return plain(self, coalitions, values, start)

    monkeypatch.setattr(GaussianProcessSurrogate, "fit", fit)
    return pairs


@pytest.mark.parametrize("wrongly", [False, True])
def test_it_learns_itself_where_that_is_sooner_done(wrongly, well, learning):
    """A fit takes some milliseconds: as long as a thousand cheap evaluations, or a few dear ones."""
    taken = []
    exact = estimate(FunctionGame(wavy, 14), "exact").values
    for seconds in (1e-5, 1e-3):
        game = Watched(FunctionGame(wavy, 14))
        taught = WRONGLY if wrongly else well
        until = Until(tolerance=0.01)
        plan = make_plan(14, GaussianProcess(taught=taught), None, until=until)
        found = estimate(game, plan=replace(plan, cost=Cost(seconds, 1, seconds)), seed=2)
        assert bool(learning) == (seconds == 1e-3)
        assert found.stopped_by.startswith("tolerance of 0.01: all values are within")
        assert found.evaluations == game.evaluations
        assert (found.upper - found.values <= found.tolerances[0]).all()
        # one run in twenty may be farther away
        assert np.abs(found.values - exact).max() <= 1.25 * found.tolerances[0]
        taken.append(found.evaluations)
    assert max(taken) < 1000
    if not wrongly:
        assert taken[1] < taken[0]


def test_looks_of_all_games_are_at_the_same_pairs(well):
    """So that they share their matrices: how far off a game is decides which looks it skips."""
    counts = set()
    for off in (1.01, 2.0, 5.0, 50.0, np.inf):
        growing = GaussianProcess(taught=well).open_ended(14).learner(14)
        while growing.count < growing.most:
            growing.pairs = growing.next_look * growing._batch
            growing.expected = off * growing.count
            counts.add(growing.count)
    assert len(counts) <= 16


def test_it_is_corrected_as_soon_as_growing_would_not_be_enough():
    found = estimate(unanimity(30, range(12)), GROWING, tolerance="1%", seed=8)
    assert found.stopped_by.startswith("tolerance of 1%")
    assert "further pairs correct the process" in found.note
    assert found.evaluations < 2 * MOST_CHOSEN  # as many as it may grow to
    np.testing.assert_allclose(found.values[:12], 1 / 12, atol=0.01)
    again = estimate(unanimity(30, range(12)), plan=found.plan, seed=8)
    np.testing.assert_array_equal(again.values, found.values)
