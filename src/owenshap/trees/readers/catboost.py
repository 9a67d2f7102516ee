"""catboost: models of every class, read from the library's own JSON.

Categories that a tree compares one by one can be read. Categorical statistics depend on several
columns and are refused.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from owenshap.support.arrays import FloatArray, IntArray
from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.readers.base import (
    LOG_ODDS,
    LOG_PREDICTION,
    PREDICTION,
    SCORE,
    Reader,
    flat,
    sets_matrix,
    starts,
    unreadable,
)

LOGIT_LINK = ("Logloss", "CrossEntropy", "Focal")
LOG_LINK = ("Poisson", "Tweedie")
SCORES = ("MultiClass", "MultiClassOneVsAll", "YetiRank", "PairLogit", "QueryRMSE", "QuerySoftMax", "YetiRankPairwise")
NONE = -1  # the code of a category that no tree asks for


class CatboostReader(Reader):
    """Float32 values above the border go right, as does a category that equals the split's."""

    types = {"catboost": ("CatBoost",)}  # noqa: RUF012

    @classmethod
    def read(cls, model: Any) -> TreeEnsemble:
        stored = _stored(model)
        splits = _Splits(model, stored["features_info"])
        if "oblivious_trees" in stored:
            trees = [_oblivious(tree, splits) for tree in stored["oblivious_trees"]]
        else:
            trees = [_grown(tree, splits) for tree in stored["trees"]]
        return _ensemble(model, stored, splits, trees)

    @classmethod
    def matrix(cls, model: Any, rows: Any) -> Any:
        stored = _stored(model)
        columns = _Splits(model, stored["features_info"]).categorical
        table = rows.to_numpy(dtype=object) if hasattr(rows, "to_numpy") else np.asarray(rows)
        if not columns:
            return table.astype(np.float64)
        coded = table.astype(object, copy=True)
        for column in columns:
            coded[:, column] = _codes(model, stored, table, column)
        return coded.astype(np.float64)

    @classmethod
    def margins(cls, model: Any, rows: Any) -> FloatArray:
        return np.asarray(model.predict(rows, prediction_type="RawFormulaVal"), np.float64)


class _Splits:
    """A split of catboost's as column, threshold, where missing values go, and the set of its category."""

    def __init__(self, model: Any, info: dict[str, Any]) -> None:
        self.model = model
        self.floats = info.get("float_features", [])
        self.categories = info.get("categorical_features", [])
        self.sets: list[IntArray] = []

    @property
    def categorical(self) -> list[int]:
        return [each["flat_feature_index"] for each in self.categories]

    @property
    def n_features(self) -> int:
        return 1 + max([each["flat_feature_index"] for each in (*self.floats, *self.categories)], default=-1)

    def __call__(self, split: dict[str, Any]) -> tuple[int, float, bool, int]:
        if split["split_type"] == "FloatFeature":
            feature = self.floats[split["float_feature_index"]]
            missing_right = feature["nan_value_treatment"] == "AsTrue"
            return feature["flat_feature_index"], split["border"], not missing_right, NONE
        if split["split_type"] != "OneHotFeature":
            raise unreadable(self.model, "with categorical statistics, which are no function of one column")
        feature = self.categories[split["cat_feature_index"]]
        self.sets.append(np.array([feature["values"].index(split["value"])]))
        return feature["flat_feature_index"], 0.0, True, len(self.sets) - 1


class _Tree:
    """A tree's arrays, its root first."""

    def __init__(self) -> None:
        self.left: list[int] = []
        self.right: list[int] = []
        self.split: list[tuple[int, float, bool, int]] = []
        self.value: list[list[float]] = []
        self.cover: list[float] = []


LEAF = (-1, 0.0, False, NONE)


def _oblivious(stored: dict[str, Any], splits: _Splits) -> _Tree:
    """Level i asks split depth − 1 − i of all rows; the leaf's number has a bit for each split."""
    tree = _Tree()
    depth = len(stored["splits"])
    of_level = [splits(split) for split in reversed(stored["splits"])]
    inner = (1 << depth) - 1
    tree.left = [2 * node + 1 for node in range(inner)] + [-1] * (inner + 1)
    tree.right = [2 * node + 2 for node in range(inner)] + [-1] * (inner + 1)
    tree.split = [of_level[(node + 1).bit_length() - 1] for node in range(inner)] + [LEAF] * (inner + 1)
    values = np.array(stored["leaf_values"]).reshape(inner + 1, -1)
    tree.value = [[0.0] * values.shape[1]] * inner + values.tolist()
    weights = np.array(stored.get("leaf_weights", np.ones(inner + 1)), np.float64)
    levels = [weights.reshape(1 << level, -1).sum(1) for level in range(depth)]
    tree.cover = np.concatenate([*levels, weights]).tolist()
    return tree


def _grown(stored: dict[str, Any], splits: _Splits) -> _Tree:
    """A tree of any shape, parents before children."""
    tree = _Tree()
    waiting: list[tuple[dict[str, Any], int, list[int]]] = [(stored, -1, tree.left)]
    while waiting:
        node, parent, children = waiting.pop()
        place = len(tree.left)
        if parent >= 0:
            children[parent] = place
        tree.left.append(-1)
        tree.right.append(-1)
        inner = "split" in node
        tree.split.append(splits(node["split"]) if inner else LEAF)
        tree.value.append([0.0] if inner else np.atleast_1d(node["value"]).tolist())
        tree.cover.append(0.0 if inner else float(np.sum(node.get("weight", 1.0))))
        if inner:
            waiting += [(node["right"], place, tree.right), (node["left"], place, tree.left)]
    for place in reversed(range(len(tree.left))):
        if tree.left[place] >= 0:
            tree.cover[place] = tree.cover[tree.left[place]] + tree.cover[tree.right[place]]
    return tree


def _stored(model: Any) -> dict[str, Any]:
    if not model.is_fitted():
        raise unreadable(model, "that is not fitted")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return json.loads(path.read_text(encoding="utf-8"))


def _ensemble(model: Any, stored: dict[str, Any], splits: _Splits, trees: list[_Tree]) -> TreeEnsemble:
    scale, bias = stored["scale_and_bias"]
    roots = starts([len(tree.left) for tree in trees])
    offset = np.repeat(roots, [len(tree.left) for tree in trees])
    left = flat((tree.left for tree in trees), np.int64)
    right = flat((tree.right for tree in trees), np.int64)
    feature, threshold, missing_left, category_set = _columns([split for tree in trees for split in tree.split])
    width = max((len(each) for tree in trees for each in tree.value), default=1)
    values = np.array([each if len(each) == width else each * width for tree in trees for each in tree.value])
    base = np.broadcast_to(np.array(bias, np.float64).reshape(-1), (width,)).copy()
    return TreeEnsemble(
        roots=roots,
        left=np.where(left >= 0, left + offset, -1),
        right=np.where(right >= 0, right + offset, -1),
        feature=feature.astype(np.int64),
        threshold=threshold,
        missing_left=missing_left.astype(np.bool_),
        values=values.reshape(-1, width) * scale,
        outputs=np.tile(np.arange(width), (len(trees), 1)),
        cover=flat((tree.cover for tree in trees), np.float64),
        base=base,
        n_features=splits.n_features,
        precision=np.float32,
        unit=_unit(model),
        category_set=category_set.astype(np.int64) if splits.sets else None,
        category_sets=sets_matrix(splits.sets, in_set_left=False) if splits.sets else None,
    )


def _columns(splits: list[tuple[int, float, bool, int]]) -> Any:
    return np.array(splits, np.float64).reshape(-1, 4).T


def _unit(model: Any) -> str:
    loss = str(model.get_all_params().get("loss_function", "")).partition(":")[0]
    if loss in LOGIT_LINK:
        return LOG_ODDS
    if loss in LOG_LINK:
        return LOG_PREDICTION
    return SCORE if loss in SCORES else PREDICTION


def _codes(model: Any, stored: dict[str, Any], table: Any, column: int) -> FloatArray:
    """Which of the categories that trees ask for each row has, or NONE.

    catboost compares hashes. The bits of the leaves that it finds for a row say which splits are met.
    """
    places = _places(model, stored, column)
    categories, inverse = np.unique(table[:, column].astype(str), return_index=False, return_inverse=True)
    first = np.array([np.flatnonzero(inverse == each)[0] for each in range(len(categories))])
    leaves = np.asarray(model.calc_leaf_indexes(table[first])).reshape(len(first), -1)
    codes = np.full(len(first), NONE)
    for code, (tree, bit) in places.items():
        codes[(leaves[:, tree] >> bit) & 1 == 1] = code
    return codes[inverse].astype(np.float64)


def _places(model: Any, stored: dict[str, Any], column: int) -> dict[int, tuple[int, int]]:
    """For each category that is asked for: a tree, and the bit of its leaves, that tells it."""
    categories = stored["features_info"]["categorical_features"]
    places = {}
    if "oblivious_trees" not in stored:
        raise unreadable(model, "with categories in trees that are not symmetric")
    for number, tree in enumerate(stored["oblivious_trees"]):
        for bit, split in enumerate(tree["splits"]):
            if split["split_type"] == "OneHotFeature":
                feature = categories[split["cat_feature_index"]]
                if feature["flat_feature_index"] == column:
                    places[feature["values"].index(split["value"])] = (number, bit)
    return places
