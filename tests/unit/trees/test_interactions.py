"""Pairs of players, and other weights on levels, against rational arithmetic and the libraries."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from random_trees import chain, random_ensemble, random_rows
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor
from slow import cover_leaf_by_leaf, exact_differences

from owenshap.trees import read
from owenshap.trees.exact import TreeGame, baseline_interactions, baseline_values
from owenshap.trees.work import WalkWork

CLOSE = 1e-12  # of the largest value

RULES: dict[str, Any] = {
    "shapley": None,
    "banzhaf": ([Fraction(1, 2)], [Fraction(1)]),
    "ends": ([Fraction(0), Fraction(1)], [Fraction(3, 4), Fraction(1, 4)]),
    "some levels": ([Fraction(1, 8), Fraction(2, 3)], [Fraction(2, 5), Fraction(3, 5)]),
}

SHAPES: list[dict[str, Any]] = [
    {},
    {"trees": 1, "depth": 8, "features": 5, "leafy": 0.3},
    {"trees": 4, "depth": 3, "features": 3, "outputs": 3},
    {"trees": 3, "depth": 3, "features": 3, "outputs": 2, "vector": True},
    {"trees": 3, "depth": 4, "features": 4, "categorical": True},
    {"trees": 3, "depth": 3, "features": 1},
    {"trees": 5, "depth": 1, "features": 2, "leafy": 0.5},
    {"trees": 2, "depth": 0},
    {"trees": 0},
]


@pytest.fixture(params=["tables", "no tables", "mixed", "as planned"])
def way(request: Any, monkeypatch: Any) -> str:
    """Which leaves have tables: all, none, those with few players, or as the plan has it."""
    most = {"tables": 9, "no tables": 0, "mixed": 2}.get(request.param)

    if most is not None:
        monkeypatch.setattr("owenshap.trees.prepared.pair_work", walking_beyond(most))
        monkeypatch.setattr("owenshap.trees.prepared.path_work", walking_beyond(most))
    return str(request.param)


def walking_beyond(most: int) -> Any:
    """Work that makes leaves with more players than these do without tables."""

    def walking(block: Any, *_: Any) -> WalkWork:
        free = np.zeros(len(block))
        return WalkWork(np.where(block.players > most, free, 1e30), free, free)

    return walking


def as_levels(rule: Any) -> Any:
    """A rule of fractions as the trees take it."""
    if rule is None:
        return None
    nodes, weights = (np.array([float(each) for each in part]) for part in rule)
    return lambda _: (nodes, weights)


def agree(found: Any, true: Any) -> None:
    assert found.shape == true.shape
    assert np.abs(found - true).max(initial=0) <= CLOSE * max(1.0, np.abs(true).max(initial=0))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("with_background", [True, False])
def test_rational_arithmetic(shape: dict[str, Any], rule: str, with_background: bool) -> None:
    ensemble = random_ensemble(1, **shape)
    rows = random_rows(11, 2, ensemble.n_features)
    background = random_rows(21, 4, ensemble.n_features) if with_background else None
    weights = np.array([1.0, 0.0, 2.5, 0.5]) if with_background else None
    player_of = np.arange(ensemble.n_features)
    game = TreeGame.of(ensemble, background, weights)
    levels = as_levels(RULES[rule])
    cells = game.interactions(rows, levels)
    values = game.values(rows, levels)
    asked = (background, weights, player_of)
    for row, value, cell in zip(rows, values, cells, strict=True):
        agree(value, exact_differences(ensemble, row, *asked, 1, RULES[rule]))
        check_cells(cell, value, exact_differences(ensemble, row, *asked, 2, RULES[rule]))


def check_cells(cell: Any, value: Any, index: Any) -> None:
    """Pairs are half of their index in each cell, rows sum to the values."""
    own = np.arange(len(value))
    off_diagonal = cell.copy()
    off_diagonal[own, own] = 0
    agree(off_diagonal, index / 2)
    agree(cell.sum(axis=1), value)
    np.testing.assert_array_equal(off_diagonal, off_diagonal.swapaxes(0, 1))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("with_background", [True, False])
def test_groups_of_columns(with_background: bool) -> None:
    ensemble = random_ensemble(2, trees=3, depth=6, features=7)
    rows = random_rows(12, 3, 7)
    background = random_rows(22, 3, 7) if with_background else None
    weights = np.ones(3)
    player_of = np.array([0, 1, 1, 2, 3, 0, 3])
    game = TreeGame.of(ensemble, background, None, player_of)
    for row, value, cell in zip(rows, game.values(rows), game.interactions(rows), strict=True):
        check_cells(
            cell, value, exact_differences(ensemble, row, background, weights, player_of, 2)
        )


def by_fixing(ensemble: Any, row: Any, background: Any) -> Any:
    """I_ij is what i gets where j is present, less what it gets where j is absent."""
    count = ensemble.n_features
    index = np.zeros((count, count, ensemble.n_outputs))
    for player in range(count):
        present = background.copy()
        present[:, player] = row[player]
        absent = np.tile(row, (len(background), 1))
        absent[:, player] = background[:, player]
        with_it = TreeGame.of(ensemble, present).values(row[None])[0]
        without_it = baseline_values(ensemble, absent, background)[0].mean(axis=0)
        index[:, player] = with_it - without_it
        index[player, player] = 0
    return index


DEEP = {
    "bushy": random_ensemble(5, trees=2, depth=11, features=12, leafy=0.15),
    "chain": chain(6, depth=40, features=25),
    "two classes": random_ensemble(7, trees=2, depth=9, features=9, outputs=2, vector=True),
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", DEEP)
def test_many_players(name: str) -> None:
    ensemble = DEEP[name]
    rows = random_rows(15, 2, ensemble.n_features)
    background = random_rows(25, 6, ensemble.n_features)
    game = TreeGame.of(ensemble, background)
    for row, value, cell in zip(rows, game.values(rows), game.interactions(rows), strict=True):
        check_cells(cell, value, by_fixing(ensemble, row, background))


@pytest.mark.parametrize("rule", RULES)
def test_a_baseline_for_each_row(rule: str) -> None:
    ensemble = random_ensemble(8, trees=3, depth=6, features=5, outputs=2)
    rows, baselines = (random_rows(each, 4, 5) for each in (18, 28))
    levels = as_levels(RULES[rule])
    values, base = baseline_values(ensemble, rows, baselines, None, levels)
    cells, same = baseline_interactions(ensemble, rows, baselines, None, levels)
    np.testing.assert_array_equal(base, ensemble.predict(baselines))
    np.testing.assert_array_equal(same, base)
    for row, own, value, cell in zip(rows, baselines, values, cells, strict=True):
        asked = (own[None], np.ones(1), np.arange(5))
        agree(value, exact_differences(ensemble, row, *asked, 1, RULES[rule]))
        check_cells(cell, value, exact_differences(ensemble, row, *asked, 2, RULES[rule]))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", DEEP)
def test_with_and_without_tables(name: str, rule: str, monkeypatch: Any) -> None:
    ensemble = DEEP[name]
    rows = random_rows(15, 3, ensemble.n_features)
    levels = as_levels(RULES[rule])
    for background in (None, random_rows(25, 6, ensemble.n_features)):
        found = []
        for most in (9, 0):
            monkeypatch.setattr("owenshap.trees.prepared.path_work", walking_beyond(most))
            monkeypatch.setattr("owenshap.trees.prepared.pair_work", walking_beyond(most))
            game = TreeGame.of(ensemble, background)
            found.append(game.interactions(rows, levels))
        agree(*found)


def test_the_same_bits_in_any_batch() -> None:
    ensemble = DEEP["bushy"]
    rows = random_rows(16, 30, ensemble.n_features)
    for background in (None, random_rows(26, 20, ensemble.n_features)):
        whole = TreeGame.of(ensemble, background).interactions(rows)
        game = TreeGame.of(ensemble, background)
        one_by_one = [game.interactions(rows[each : each + 1]) for each in range(30)]
        np.testing.assert_array_equal(np.concatenate(one_by_one), whole)


def test_little_memory_gives_the_same_pairs() -> None:
    ensemble = DEEP["bushy"]
    rows, background = (random_rows(each, 9, ensemble.n_features) for each in (17, 27))
    little = TreeGame.of(ensemble, background, memory=1000)
    agree(little.interactions(rows), TreeGame.of(ensemble, background).interactions(rows))


X, Y = load_diabetes(return_X_y=True)
X = X.astype(np.float32).astype(np.float64)


def test_xgboost_itself() -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=30, max_depth=5, n_jobs=1).fit(X, Y)
    own = model.get_booster().predict(xgboost.DMatrix(X[:20]), pred_interactions=True)
    found = TreeGame.of(read(model)).interactions(X[:20])[..., 0]
    np.testing.assert_allclose(found, own[:, :-1, :-1], rtol=0, atol=1e-5 * np.abs(own).max())


def test_xgboost_itself_on_several_classes() -> None:
    xgboost = pytest.importorskip("xgboost")
    classes = np.digitize(Y, [100, 200])
    model = xgboost.XGBClassifier(n_estimators=10, max_depth=4, n_jobs=1).fit(X, classes)
    own = model.get_booster().predict(xgboost.DMatrix(X[:9]), pred_interactions=True)
    found = TreeGame.of(read(model)).interactions(X[:9])
    wanted = np.moveaxis(own[:, :, :-1, :-1], 1, -1)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(own).max())


def test_lightgbm_and_forests_by_shap() -> None:
    shap = pytest.importorskip("shap")
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=20, num_leaves=15, n_jobs=1, verbose=-1).fit(X, Y)
    wanted = shap.TreeExplainer(model).shap_interaction_values(X[:9])
    found = TreeGame.of(read(model)).interactions(X[:9])[..., 0]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_rare_indicators_that_are_all_asked_on_one_path() -> None:
    """Where every split asks a new feature, interpolated polynomials would lose their digits."""
    rng = np.random.default_rng(0)
    rare = (rng.random((3000, 60)) < 0.02).astype(np.float64)
    target = rare @ rng.normal(size=60) + 0.01 * rng.normal(size=3000)
    model = DecisionTreeRegressor(max_leaf_nodes=60, random_state=0).fit(rare, target)
    ensemble = read(model)
    game = TreeGame.of(ensemble)
    assert max(int(block.players.max()) for block in game.blocks) > 35
    row = rare[[int(rare.sum(axis=1).argmax())]]
    values = game.values(row)[0, :, 0]
    cells = game.interactions(row)[0, :, :, 0]
    largest = np.abs(values).max()
    assert abs(values.sum() + game.base[0] - model.predict(row)[0]) <= 1e-12 * largest
    first, second = (int(each) for each in np.argsort(-np.abs(values))[:2])
    for player in (first, second, int(np.flatnonzero(row[0] == 0)[0])):
        true = float(cover_leaf_by_leaf(ensemble, row[0], (player,)))
        assert abs(values[player] - true) <= 1e-12 * largest
    true = float(cover_leaf_by_leaf(ensemble, row[0], (first, second))) / 2
    assert abs(cells[first, second] - true) <= 1e-12 * largest


@pytest.mark.parametrize("with_background", [True, False])
def test_memory_is_bounded_beside_the_answer(with_background: bool) -> None:
    ensemble = random_ensemble(9, trees=20, depth=7, features=300, leafy=0.05)
    rows = random_rows(19, 90, 300)
    game = TreeGame.of(ensemble, random_rows(29, 30, 300) if with_background else None)
    tracemalloc.start()
    cells = game.interactions(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - cells.nbytes <= game.memory / 2


def test_one_weight_on_levels_is_kept_beside_shapleys() -> None:
    game = TreeGame.of(DEEP["two classes"], random_rows(30, 5, 9))
    rows = random_rows(31, 2, 9)
    game.interactions(rows)
    for rule in ("banzhaf", "ends", "some levels"):
        game.interactions(rows, as_levels(RULES[rule]))
        assert len(game._known) == 3
