"""catboost: models of every class, read from the library's own JSON.

Categories that a tree compares one by one can be read. Categorical statistics depend on several
columns and are refused.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.units import LOG_ODDS, LOG_PREDICTION, PREDICTION, SCORE
from owenshap.trees.boxes import NONE
from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.readers.base import Reader, sets_matrix, starts, unreadable

UNITS = {
    "Logloss": LOG_ODDS,
    "CrossEntropy": LOG_ODDS,
    "Focal": LOG_ODDS,
    "Poisson": LOG_PREDICTION,
    "Tweedie": LOG_PREDICTION,
    "MultiClass": SCORE,
    "MultiClassOneVsAll": SCORE,
    "YetiRank": SCORE,
    "PairLogit": SCORE,
    "QueryRMSE": SCORE,
    "QuerySoftMax": SCORE,
    "YetiRankPairwise": SCORE,
}
"""What is added up, by loss; PREDICTION for all others."""

Split = tuple[int, float, bool, int]
"""A column, a threshold, whether missing values go left, and the set of a category."""
LEAF: Split = (NONE, 0.0, False, NONE)


class CatboostReader(Reader):
    """Float32 values above the border go right, as does a category that equals the split's."""

    types = {"catboost": ("CatBoost",)}  # noqa: RUF012

    @classmethod
    def read(cls, model: Any) -> TreeEnsemble:
        stored = _stored(model)
        splits = _Splits(model, stored["features_info"])
        if "oblivious_trees" in stored:
            trees = _symmetric(stored["oblivious_trees"], splits)
        else:
            trees = [_grown(tree, splits) for tree in stored["trees"]]
        return _ensemble(model, stored, splits, trees)

    @classmethod
    def matrix(cls, model: Any, rows: Any) -> Any:
        table = rows.to_numpy(dtype=object) if hasattr(rows, "to_numpy") else np.asarray(rows)
        columns = model.get_cat_feature_indices()
        if not len(columns):
            return table.astype(np.float64)
        stored = _stored(model)
        coded = table.astype(object, copy=True)
        for column in columns:
            coded[:, column] = _codes(model, stored, table, column)
        return coded.astype(np.float64)


class _Splits:
    """Splits as tuples; the sets of categories that they ask for are gathered."""

    def __init__(self, model: Any, info: dict[str, Any]) -> None:
        self.model = model
        self.floats = info.get("float_features", [])
        self.categories = info.get("categorical_features", [])
        self.sets: list[IntArray] = []

    def __call__(self, split: dict[str, Any]) -> Split:
        if split["split_type"] == "FloatFeature":
            feature = self.floats[split["float_feature_index"]]
            missing_right = feature["nan_value_treatment"] == "AsTrue"
            return feature["flat_feature_index"], split["border"], not missing_right, NONE
        if split["split_type"] != "OneHotFeature":
            raise unreadable(
                self.model, "with categorical statistics, which are no function of one column"
            )
        feature = self.categories[split["cat_feature_index"]]
        self.sets.append(np.array([feature["values"].index(split["value"])]))
        return feature["flat_feature_index"], 0.0, True, len(self.sets) - 1


@dataclass(frozen=True)
class _Trees:
    """Some trees of equal size, each with its root first: arrays (trees, nodes, ...)."""

    left: IntArray
    right: IntArray
    splits: FloatArray
    values: FloatArray
    cover: FloatArray


def _symmetric(stored: list[dict[str, Any]], splits: _Splits) -> list[_Trees]:
    """Trees of one depth together; their order does not matter to a sum."""
    depths = np.array([len(tree["splits"]) for tree in stored])
    groups = [
        [stored[place] for place in np.flatnonzero(depths == depth)] for depth in np.unique(depths)
    ]
    return [_of_depth(trees, len(trees[0]["splits"]), splits) for trees in groups]


def _of_depth(trees: list[dict[str, Any]], depth: int, splits: _Splits) -> _Trees:
    """Level i asks split depth − 1 − i of all rows; a leaf's number has a bit for each split."""
    inner = (1 << depth) - 1
    none = np.full(inner + 1, NONE)
    level = np.repeat(np.arange(depth), 1 << np.arange(depth))
    asked = np.array(
        [[splits(split) for split in reversed(tree["splits"])] for tree in trees], np.float64
    )
    at_inner = asked.reshape(len(trees), depth, len(LEAF))[:, level]
    at_leaves = np.broadcast_to(np.array(LEAF), (len(trees), inner + 1, len(LEAF)))
    values = np.array([tree["leaf_values"] for tree in trees], np.float64).reshape(
        len(trees), inner + 1, -1
    )
    weights = np.array([tree.get("leaf_weights", np.ones(inner + 1)) for tree in trees], np.float64)
    sums = [weights.reshape(len(trees), 1 << each, -1).sum(axis=2) for each in range(depth)]
    return _Trees(
        np.tile(np.append(2 * np.arange(inner) + 1, none), (len(trees), 1)),
        np.tile(np.append(2 * np.arange(inner) + 2, none), (len(trees), 1)),
        np.concatenate([at_inner, at_leaves], axis=1),
        np.concatenate([np.zeros((len(trees), inner, values.shape[2])), values], axis=1),
        np.concatenate([*sums, weights], axis=1),
    )


def _grown(stored: dict[str, Any], splits: _Splits) -> _Trees:
    """A tree of any shape, parents before children."""
    left: list[int] = []
    right: list[int] = []
    split: list[Split] = []
    values: list[list[float]] = []
    cover: list[float] = []
    waiting: list[tuple[dict[str, Any], int, list[int]]] = [(stored, NONE, left)]
    while waiting:
        node, parent, children = waiting.pop()
        place = len(left)
        if parent >= 0:
            children[parent] = place
        left.append(NONE)
        right.append(NONE)
        inner = "split" in node
        split.append(splits(node["split"]) if inner else LEAF)
        values.append([] if inner else np.atleast_1d(node["value"]).tolist())
        cover.append(0.0 if inner else float(np.sum(node.get("weight", 1.0))))
        if inner:
            waiting += [(node["right"], place, right), (node["left"], place, left)]
    for place in reversed(range(len(left))):
        if left[place] >= 0:
            cover[place] = cover[left[place]] + cover[right[place]]
    width = max(len(value) for value in values)
    filled = [value or [0.0] * width for value in values]
    return _Trees(*(np.array([each]) for each in (left, right, split, filled, cover)))


def _stored(model: Any) -> dict[str, Any]:
    if not model.is_fitted():
        raise unreadable(model, "that is not fitted")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return json.loads(path.read_text(encoding="utf-8"))


def _ensemble(
    model: Any, stored: dict[str, Any], splits: _Splits, groups: list[_Trees]
) -> TreeEnsemble:
    scale, bias = stored["scale_and_bias"]
    columns = [each["flat_feature_index"] for each in (*splits.floats, *splits.categories)]
    sizes = [group.left.shape[1] for group in groups for _ in group.left]
    offset = np.repeat(starts(sizes), sizes)
    left = np.concatenate([group.left.ravel() for group in groups])
    right = np.concatenate([group.right.ravel() for group in groups])
    asked = np.concatenate([group.splits.reshape(-1, len(LEAF)) for group in groups])
    values = np.concatenate([group.values.reshape(-1, group.values.shape[2]) for group in groups])
    width = values.shape[1]
    loss = str(model.get_all_params().get("loss_function", "")).partition(":")[0]
    return TreeEnsemble(
        roots=starts(sizes),
        left=np.where(left >= 0, left + offset, NONE),
        right=np.where(right >= 0, right + offset, NONE),
        feature=asked[:, 0].astype(np.int64),
        threshold=asked[:, 1],
        missing_left=asked[:, 2].astype(np.bool_),
        values=values * scale,
        outputs=np.tile(np.arange(width), (len(sizes), 1)),
        cover=np.concatenate([group.cover.ravel() for group in groups]),
        base=np.broadcast_to(np.array(bias, np.float64).reshape(-1), (width,)).copy(),
        n_features=1 + max(columns, default=-1),
        precision=np.float32,
        unit=UNITS.get(loss, PREDICTION),
        category_set=asked[:, 3].astype(np.int64) if splits.sets else None,
        category_sets=sets_matrix(splits.sets, in_set_left=False) if splits.sets else None,
    )


def _codes(model: Any, stored: dict[str, Any], table: Any, column: int) -> FloatArray:
    """Which of the categories that trees ask for each row has, or NONE.

    The library compares hashes. The bits of the leaf that it finds for a row say which splits are
    met.
    """
    places = _places(model, stored, column)
    _, first, inverse = np.unique(
        table[:, column].astype(str), return_index=True, return_inverse=True
    )
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
