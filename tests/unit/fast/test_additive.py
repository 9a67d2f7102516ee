"""Values read off linear models at once: those of the games of rows, in every form of the question."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from owenshap import Explainer

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 5))
THREE = RNG.integers(3, size=60)
ASKED: dict[str, dict[str, Any]] = {
    "plain": {},
    "weighted": {"background_weights": np.arange(1.0, 8)},
    "groups": {"players": {"both": [0, 3]}},
    "a class": {"output": 2},
    "predicted": {"output": "predicted"},
    "a baseline": {"background": None, "baseline": 0.5},
    "a row each": {"background": None, "baseline": X[20:24]},
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_they_are_those_of_the_games_of_rows(asked: dict[str, Any]) -> None:
    model = LogisticRegression().fit(X, THREE)
    rows = X[:4].copy()
    rows[1] = X[21]  # no player is live beside its own row
    explainer = Explainer(model, predict="decision_function", **{"background": X[40:47]} | asked)
    at_once = explainer(rows)
    by_games = explainer(rows, total_budget=1000)  # what rows share is what their games share
    assert at_once.method == by_games.method == "linear closed form"
    for name in ("values", "base_values", "predictions"):
        found, wanted = getattr(at_once, name), getattr(by_games, name)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    for name in ("evaluations", "model_rows", "because", "doubtful", "standard_errors"):
        np.testing.assert_array_equal(getattr(at_once, name), getattr(by_games, name), name)
    np.testing.assert_array_equal(at_once.lower, at_once.values)
    for row in range(4 if "baseline" not in asked else 0):
        np.testing.assert_array_equal(explainer(rows[[row]]).values[0], at_once.values[row])


def test_null_players_have_nothing_and_the_others_all_digits() -> None:
    table = np.column_stack([X[:, 0], 1e9 + X[:, 1], np.full(60, 7.0)])
    model = LinearRegression().fit(table, X[:, 1])
    model.coef_ = np.array([2.0, 1.0, 3.0])
    found = Explainer(model, table[10:])(table[:3])
    wanted = table[:3, 1] - 1e9 - (table[10:, 1] - 1e9).mean()
    np.testing.assert_array_equal(found.values[:, 2], 0)
    np.testing.assert_allclose(found.values[:, 1], wanted, rtol=1e-12)


def test_a_model_that_was_changed_is_read_again() -> None:
    model = LinearRegression().fit(X, X @ np.arange(5))
    explainer = Explainer(model, X[40:])
    before = explainer(X[:3]).values
    model.coef_ = 2 * model.coef_
    np.testing.assert_allclose(explainer(X[:3]).values, 2 * before, rtol=1e-12)


def test_a_linear_model_is_asked_once_and_has_the_same_bits_again(monkeypatch: Any) -> None:
    """Composites are predicted in the first call alone, apart from the rows."""
    batches: list[int] = []
    predict = LinearRegression.predict

    def counted(self: Any, batch: Any) -> Any:
        batches.append(len(batch))
        return predict(self, batch)

    monkeypatch.setattr(LinearRegression, "predict", counted)
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, X @ np.arange(5))
    explainer = Explainer(model, X[40:])
    calls = [explainer(X[:1]) for _ in range(3)]
    first, composites, *later = batches
    assert first == 1 < composites
    assert later == [1, 1]
    for each in calls[1:]:
        np.testing.assert_array_equal(each.predictions, calls[0].predictions)
        np.testing.assert_array_equal(each.values, calls[0].values)
