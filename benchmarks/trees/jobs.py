"""The jobs: what is fitted, what is explained, and what is to be reached."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

import owenshap
from benchmarks.trees.contenders import PAIRS, PEERS, our_pairs_by_cover, own_pairs, quietly, run
from benchmarks.trees.race import TURNS, compared, race, ratios, timed

FEATURES, TRAINED, ROWS, BACKGROUND = 30, 10_000, 1000, 100
FURTHER = 2000  # rows beyond the first: enough that a row's own time stands out
WITH_SHAP = ("owenshap", "shap")
FEW_SECONDS = 0.05  # within it, nobody waits for ten rows


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    """Columns that act in pairs, so that trees of any depth are full; float32, as xgboost sees."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(TRAINED + ROWS + FURTHER, FEATURES)).astype(np.float32).astype(float)
    pairs = (X[:, 4:14] * X[:, 14:24]).sum(axis=1)
    noise = 0.1 * rng.normal(size=len(X))
    return X, X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3] + 0.3 * pairs + noise


@cache
def boosted(trees: int, depth: int) -> Any:
    import xgboost

    X, y = data()
    model = xgboost.XGBRegressor(n_estimators=trees, max_depth=depth, n_jobs=1)
    return model.fit(X[:TRAINED], y[:TRAINED])


def explained(count: int = ROWS) -> np.ndarray:
    return data()[0][TRAINED : TRAINED + count]


def goal(what: str, least: str, at_most: float, measured: list[float]) -> dict:
    """What was to be reached, and what was measured in every turn."""
    return {"what": what, "goal": least, "at_most": at_most, "measured": measured}


def side_by_side(model: Any, rows: np.ndarray, names: list[str]) -> dict:
    background = data()[0][:BACKGROUND]
    return race({name: partial(run, name, model, background, rows) for name in names})


def _against(found: dict, what: str, words: str, at_most: float, others: list[str]) -> dict:
    return goal(what, words, at_most, ratios(found["seconds"], "owenshap", others))


def depth_6() -> dict:
    """200 trees of depth 6, 1,000 rows, background of 100."""
    found = side_by_side(boosted(200, 6), explained(), ["owenshap", *PEERS, "xgboost"])
    goals = [
        _against(found, "of shap's time", "≤ 1/12", 1 / 12, ["shap"]),
        _against(found, "of woodelf's time", "≤ 1/7", 1 / 7, ["woodelf"]),
        _against(found, "of xgboost's own path-dependent time", "< 1", 1.0, ["xgboost"]),
    ]
    return {**found, "goals": goals}


def depth_3() -> dict:
    """100 trees of depth 3, 1,000 rows, background of 100."""
    found = side_by_side(boosted(100, 3), explained(), ["owenshap", *PEERS, "xgboost"])
    return {**found, "goals": [_against(found, "of shap's time", "≤ 1/10", 0.1, ["shap"])]}


def depth_10() -> dict:
    """50 trees of depth 10, 1,000 rows, background of 100."""
    found = side_by_side(boosted(50, 10), explained(), ["owenshap", *PEERS, "xgboost"])
    fastest = _against(found, "of the fastest peer's time", "≤ 1/4", 1 / 4, list(PEERS))
    return {**found, "goals": [fastest]}


def forest() -> dict:
    """Forest of 100 full regression trees, fitted to 2,000; 100 rows, background of 100."""
    X, y = data()
    model = RandomForestRegressor(100, max_features=1 / 3, random_state=0).fit(X[:2000], y[:2000])
    return _forest(model, ["owenshap", "shap", "shapiq"])


def forest_of_classes() -> dict:
    """Forest of 100 full trees of two classes, fitted to 5,000; 100 rows, background of 100."""
    X, y = data()
    model = RandomForestClassifier(100, random_state=0).fit(X[:5000], y[:5000] > 0)
    return _forest(model, ["owenshap", "shap"])


def _forest(model: Any, names: list[str]) -> dict:
    """Without woodelf, which takes minutes here."""
    found = side_by_side(model, explained(100), names)
    depth = max(tree.get_depth() for tree in model.estimators_)
    leaves = float(np.mean([tree.get_n_leaves() for tree in model.estimators_]))
    goals = [
        _against(found, "of shap's time", "≤ 2", 2.0, ["shap"]),
        _against(found, "of shap's time: the further goal", "≤ 1", 1.0, ["shap"]),
    ]
    return {**found, "depth": depth, "leaves of a tree": leaves, "goals": goals}


def pairs() -> dict:
    """Pairs of players: 200 trees of depth 6, 1,000 rows, background of 100."""
    model, rows, background = boosted(200, 6), explained(), data()[0][:BACKGROUND]
    found = race(
        {who: partial(quietly, each, model, background, rows) for who, each in PAIRS.items()}
    )
    fastest = _against(found, "of the faster peer's time", "≤ 1/3", 1 / 3, ["woodelf", "xgboost"])
    ours, theirs = (each(model, rows, rows) for each in (our_pairs_by_cover, own_pairs))
    far = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    same = goal("path-dependent ones from xgboost's, of the largest", "≤ 1e-5", 1e-5, [far])
    return {**found, "goals": [fastest, same]}


def large_background() -> dict:
    """200 trees of depth 6, 1,000 rows: a background of 10,000 beside one of 100."""
    model, X, rows = boosted(200, 6), data()[0], explained()
    few = rows[:10]  # shap takes seconds for as many
    differences = compared({who: partial(run, who, model, X[:TRAINED], few) for who in WITH_SHAP})
    seconds: dict[str, list[float]] = {}
    for count in (BACKGROUND, TRAINED) * TURNS:
        took, _ = timed(partial(run, "owenshap", model, X[:count], rows))
        seconds.setdefault(f"background of {count}", []).append(took)
    small, large = (np.array(each) for each in seconds.values())
    told = goal("of the time with 100", "≤ 3", 3.0, (large / small).tolist())
    return {"difference of 10 rows": differences, "seconds": seconds, "goals": [told]}


def further_row() -> dict:
    """200 trees of depth 6, background of 100: each row beyond the first 1,000."""
    explainer = owenshap.Explainer(boosted(200, 6), data()[0][:BACKGROUND])
    explainer(explained(10))
    seconds: dict[int, list[float]] = {}
    for count in (ROWS, ROWS + FURTHER) * TURNS:
        took, _ = timed(partial(explainer, explained(count)))
        seconds.setdefault(count, []).append(took)
    less, more = (np.array(each) for each in seconds.values())
    each_row = 1000 * (more - less) / FURTHER
    return {"goals": [goal("ms, processor time", "≤ 0.2 ms", 0.2, each_row.tolist())]}


def breast_cancer() -> dict:
    """10 rows by default, breast cancer, background of 100."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32).astype(float)
    found, goals = {}, []
    for name, model in _models().items():
        model.fit(X, y)
        calls = {who: partial(run, who, model, X[:100], X[-10:]) for who in WITH_SHAP}
        found[name] = race(calls)
        goals.append(_short(name, found[name]["seconds"]))
    return {"models": found, "goals": goals}


def _short(name: str, seconds: dict[str, list[float]]) -> dict:
    """Our time over the larger of shap's and 50 ms, turn by turn."""
    ours = np.array(seconds["owenshap"])
    allowed = np.maximum(seconds["shap"], FEW_SECONDS)
    told = goal(f"{name}: of shap's time or 50 ms", "≤ 1", 1.0, (ours / allowed).tolist())
    return {**told, "note": _milliseconds(seconds)}


def _milliseconds(seconds: dict[str, list[float]]) -> str:
    return ", ".join(f"{name} {1000 * np.median(each):.0f} ms" for name, each in seconds.items())


def _models() -> dict[str, Any]:
    import catboost
    import lightgbm
    import xgboost

    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return {
        "xgboost": xgboost.XGBClassifier(n_jobs=1),
        "lightgbm": lightgbm.LGBMClassifier(n_jobs=1, verbose=-1),
        "catboost": catboost.CatBoostClassifier(**quiet),
        "scikit-learn forest": RandomForestClassifier(random_state=0),
        "scikit-learn histogram boosting": HistGradientBoostingClassifier(random_state=0),
    }


JOBS: dict[str, Callable[[], dict]] = {
    each.__name__: each
    for each in (
        depth_6,
        depth_3,
        depth_10,
        forest,
        forest_of_classes,
        pairs,
        large_background,
        further_row,
        breast_cancer,
    )
}
