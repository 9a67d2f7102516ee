"""lightgbm: Boosters and scikit-learn wrappers, read from the library's own text."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.support.units import LOG_ODDS, LOG_PREDICTION, PREDICTION, SCORE
from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.readers.base import Reader, as_floats, sets_matrix, starts, unreadable

UNITS = {
    "binary": LOG_ODDS,
    "cross_entropy": LOG_ODDS,
    "xentropy": LOG_ODDS,
    "poisson": LOG_PREDICTION,
    "gamma": LOG_PREDICTION,
    "tweedie": LOG_PREDICTION,
    "multiclass": SCORE,
    "multiclassova": SCORE,
    "lambdarank": SCORE,
    "rank_xendcg": SCORE,
    "cross_entropy_lambda": SCORE,
    "xentlambda": SCORE,
}
"""What is added up, by objective; PREDICTION for all others."""


class LightgbmReader(Reader):
    """Values up to the threshold go left, in float64, as do categories in a node's set."""

    types = {"lightgbm": ("Booster", "LGBMModel")}  # noqa: RUF012

    @classmethod
    def read(cls, model: Any) -> TreeEnsemble:
        header, trees = _parsed(_booster(model).model_to_string(importance_type="split"))
        if any(tree.get("is_linear") == "1" for tree in trees):
            raise unreadable(model, "with linear_tree=True, whose leaves are linear models")
        return _ensemble(header, _Trees(trees))

    @classmethod
    def matrix(cls, model: Any, rows: Any) -> Any:
        if not hasattr(rows, "columns"):
            return np.asarray(rows, np.float64)
        known = iter(_booster(model).pandas_categorical or [])
        rows = rows.copy()
        for name in [column for column in rows.columns if hasattr(rows[column], "cat")]:
            rows[name] = rows[name].cat.set_categories(next(known))
        return as_floats(rows)


class _Trees:
    """The lines of all trees as arrays: each tree's splits first, then its leaves."""

    def __init__(self, lines: list[dict[str, str]]) -> None:
        self._lines = lines
        self.leaves: IntArray = np.array([int(line["num_leaves"]) for line in lines], np.int64)
        self.roots = starts(2 * self.leaves - 1)
        parts = np.column_stack([self.leaves - 1, self.leaves]).ravel()
        self._is_split = np.repeat(np.arange(len(parts)) % 2 == 0, parts)

    def over_nodes(self, name: str, at_leaf: float, dtype: Any) -> Any:
        """What splits have, and the same for all leaves."""
        filled = np.full(len(self._is_split), at_leaf, dtype)
        filled[self._is_split] = self._numbers(name, dtype)
        return filled

    def children(self, name: str) -> IntArray:
        """A child −1 − i is leaf i; here leaves come after the splits."""
        child = self._numbers(name, np.int64)
        first = np.repeat(self.roots, self.leaves - 1)
        splits = np.repeat(self.leaves - 1, self.leaves - 1)
        placed: IntArray = np.full(len(self._is_split), -1, np.int64)
        placed[self._is_split] = first + np.where(child < 0, splits - 1 - child, child)
        return placed

    def values(self) -> FloatArray:
        """What leaves are worth; splits 0."""
        values = np.zeros(len(self._is_split))
        values[~self._is_split] = self._numbers("leaf_value", np.float64)
        return values

    def cover(self) -> FloatArray:
        """Rows that came by; a tree without splits may not have counted them."""
        cover = self.over_nodes("internal_count", 1.0, np.float64)
        counted = np.repeat([bool(line.get("leaf_count")) for line in self._lines], self.leaves)
        leaves = np.flatnonzero(~self._is_split)
        cover[leaves[counted]] = self._numbers("leaf_count", np.float64)
        return cover

    def sets(self) -> list[list[IntArray]]:
        """The sets of categories of each tree."""
        return [_sets(line) for line in self._lines]

    def _numbers(self, name: str, dtype: Any) -> Any:
        return _numbers(" ".join(line.get(name, "") for line in self._lines), dtype)


def _sets(lines: dict[str, str]) -> list[IntArray]:
    words = _numbers(lines.get("cat_threshold", ""), np.int64)
    edges = _numbers(lines.get("cat_boundaries", ""), np.int64) * 32  # bits of a word
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
    return [np.flatnonzero(bits[begin:end]) for begin, end in pairwise(edges)]


def _booster(model: Any) -> Any:
    if not hasattr(model, "get_params"):
        return model
    if not model.__sklearn_is_fitted__():
        raise unreadable(model, "that is not fitted")
    return model.booster_


def _parsed(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The header's and each tree's lines 'name=value'; a name alone stands for itself."""
    body = text.partition("\nend of trees")[0]
    header, *trees = body.split("\nTree=")
    return _lines(header), [_lines(tree) for tree in trees]


def _lines(text: str) -> dict[str, str]:
    return {name: value for name, _, value in (line.partition("=") for line in text.splitlines())}


def _numbers(text: str, dtype: Any) -> Any:
    return np.fromstring(text, dtype, sep=" ") if text.strip() else np.zeros(0, dtype)


def _ensemble(header: dict[str, str], trees: _Trees) -> TreeEnsemble:
    per_iteration = int(header["num_tree_per_iteration"])
    count = len(trees.roots)
    decision = trees.over_nodes("decision_type", 0, np.int64)
    threshold = trees.over_nodes("threshold", 0.0, np.float64)
    categorical = (decision & 1) > 0
    default_left = (decision & 2) > 0
    missing = (decision >> 2) & 3  # 0: a missing value counts as zero; 1: zero as missing; 2: NaN
    missing_left = np.where(missing == 0, threshold >= 0, default_left) & ~categorical
    zero = (missing == 1) & ~categorical
    category_set, sets = _categories(trees, categorical, threshold)
    # a forest of lightgbm's predicts the mean
    averaged = max(1, count // per_iteration) if "average_output" in header else 1
    return TreeEnsemble(
        roots=trees.roots,
        left=trees.children("left_child"),
        right=trees.children("right_child"),
        feature=trees.over_nodes("split_feature", -1, np.int64),
        threshold=threshold,
        missing_left=missing_left,
        values=trees.values()[:, None] / averaged,
        outputs=(np.arange(count) % per_iteration)[:, None],
        cover=trees.cover(),
        base=np.zeros(per_iteration),
        n_features=int(header["max_feature_idx"]) + 1,
        unit=UNITS.get(header.get("objective", "").partition(" ")[0], PREDICTION),
        zero_is_missing=zero if zero.any() else None,
        category_set=category_set,
        category_sets=sets,
    )


def _categories(
    trees: _Trees, categorical: BoolArray, threshold: FloatArray
) -> tuple[IntArray | None, BoolArray | None]:
    """A categorical split has in place of its threshold which of the tree's sets it looks for."""
    if not categorical.any():
        return None, None
    sets = trees.sets()
    before = np.repeat(starts([len(each) for each in sets]), 2 * trees.leaves - 1)
    category_set = np.where(categorical, before + threshold.astype(np.int64), -1)
    return category_set, sets_matrix(
        [each for of_tree in sets for each in of_tree], in_set_left=True
    )
