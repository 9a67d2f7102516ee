"""lightgbm: Boosters and scikit-learn wrappers, read from the library's own text."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.readers.base import (
    LOG_ODDS,
    LOG_PREDICTION,
    PREDICTION,
    SCORE,
    Reader,
    as_floats,
    sets_matrix,
    starts,
    unreadable,
)

# in lightgbm's decision_type:
CATEGORICAL = 1  # the bit of a split by category
DEFAULT_LEFT = 2  # the bit of a split whose missing values go left
MISSING_SHIFT = 2  # bits before those that say what is missing
MISSING_NONE = 0  # a missing value counts as zero
MISSING_ZERO = 1  # and zero counts as missing
WORD = 32  # bits of a word of a set of categories
LOG_LINK = ("poisson", "gamma", "tweedie")
LOGIT_LINK = ("binary", "cross_entropy", "xentropy")
SCORES = (
    "multiclass",
    "multiclassova",
    "lambdarank",
    "rank_xendcg",
    "cross_entropy_lambda",
    "xentlambda",
)


class LightgbmReader(Reader):
    """Values up to the threshold go left, in float64, as do categories in a node's set."""

    types = {"lightgbm": ("Booster", "LGBMModel")}  # noqa: RUF012

    @classmethod
    def read(cls, model: Any) -> TreeEnsemble:
        header, trees = _parsed(_booster(model).model_to_string(importance_type="split"))
        if any(tree.get("is_linear") == "1" for tree in trees):
            raise unreadable(model, "with linear_tree=True, whose leaves are linear models")
        return _ensemble(header, [_Tree(tree) for tree in trees])

    @classmethod
    def matrix(cls, model: Any, rows: Any) -> Any:
        if not hasattr(rows, "columns"):
            return np.asarray(rows, np.float64)
        known = iter(_booster(model).pandas_categorical or [])
        rows = rows.copy()
        for name in [each for each in rows.columns if hasattr(rows[each], "cat")]:
            rows[name] = rows[name].cat.set_categories(next(known))
        return as_floats(rows)

    @classmethod
    def margins(cls, model: Any, rows: Any) -> FloatArray:
        raw = np.asarray(model.predict(rows, raw_score=True), np.float64)
        header, trees = _parsed(_booster(model).model_to_string())
        # raw scores are sums even where means are predicted
        return raw / _averaged(header, len(trees))


class _Tree:
    """A tree's lines as arrays: its splits first, then its leaves."""

    def __init__(self, lines: dict[str, str]) -> None:
        self.leaves = int(lines["num_leaves"])
        self.values = _numbers(lines, "leaf_value", np.float64)
        self.feature = _numbers(lines, "split_feature", np.int64)
        self.threshold = _numbers(lines, "threshold", np.float64)
        self.decision = _numbers(lines, "decision_type", np.int64)
        self.left = self._placed(_numbers(lines, "left_child", np.int64))
        self.right = self._placed(_numbers(lines, "right_child", np.int64))
        leaf_count = _numbers(lines, "leaf_count", np.float64)
        self.cover = np.append(
            _numbers(lines, "internal_count", np.float64), leaf_count if len(leaf_count) else 1.0
        )
        self.boundaries = _numbers(lines, "cat_boundaries", np.int64)
        self.words = _numbers(lines, "cat_threshold", np.int64)

    def _placed(self, children: IntArray) -> IntArray:
        """A child −1 − i is leaf i; here leaves come after the splits."""
        return np.where(children < 0, self.leaves - 2 - children, children)

    @property
    def nodes(self) -> int:
        return 2 * self.leaves - 1

    def sets(self) -> list[IntArray]:
        bits = np.unpackbits(self.words.astype("<u4").view(np.uint8), bitorder="little")
        edges = self.boundaries * WORD
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


def _numbers(lines: dict[str, str], name: str, dtype: Any) -> Any:
    return np.array(lines.get(name, "").split(), dtype)


def _ensemble(header: dict[str, str], trees: list[_Tree]) -> TreeEnsemble:
    roots = starts([tree.nodes for tree in trees])
    per_iteration = int(header["num_tree_per_iteration"])
    decision = _over_nodes(trees, "decision", 0)
    left, right = (_children(trees, roots, name) for name in ("left", "right"))
    threshold = _over_nodes(trees, "threshold", 0.0)
    missing = (decision >> MISSING_SHIFT) & 3
    categorical = (decision & CATEGORICAL) > 0
    missing_left = (
        np.where(missing == MISSING_NONE, threshold >= 0, (decision & DEFAULT_LEFT) > 0)
        & ~categorical
    )
    zero = (missing == MISSING_ZERO) & ~categorical
    category_set, sets = _categories(trees, roots, categorical, threshold)
    return TreeEnsemble(
        roots=roots,
        left=left,
        right=right,
        feature=_over_nodes(trees, "feature", -1),
        threshold=threshold,
        missing_left=missing_left,
        values=_concatenated([np.append(np.zeros(tree.leaves - 1), tree.values) for tree in trees])[
            :, None
        ]
        / _averaged(header, len(trees)),
        outputs=(np.arange(len(trees)) % per_iteration)[:, None],
        cover=_concatenated([tree.cover for tree in trees]),
        base=np.zeros(per_iteration),
        n_features=int(header["max_feature_idx"]) + 1,
        unit=_unit(header.get("objective", "")),
        zero_is_missing=zero if zero.any() else None,
        category_set=category_set,
        category_sets=sets,
    )


def _averaged(header: dict[str, str], trees: int) -> int:
    """What a sum over trees is divided by: a forest of lightgbm's predicts the mean."""
    return (
        max(1, trees // int(header["num_tree_per_iteration"])) if "average_output" in header else 1
    )


def _concatenated(parts: list[Any]) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0)


def _over_nodes(trees: list[_Tree], name: str, at_leaf: float) -> Any:
    filled = [
        np.append(part := getattr(tree, name), np.full(tree.leaves, at_leaf, part.dtype))
        for tree in trees
    ]
    return _concatenated(filled) if filled else np.zeros(0, np.int64)


def _children(trees: list[_Tree], roots: IntArray, name: str) -> IntArray:
    placed = [
        np.append(getattr(tree, name) + root, np.full(tree.leaves, -1))
        for tree, root in zip(trees, roots, strict=True)
    ]
    return _concatenated(placed).astype(np.int64)


def _categories(
    trees: list[_Tree], roots: IntArray, categorical: BoolArray, threshold: FloatArray
) -> tuple[IntArray | None, BoolArray | None]:
    """A categorical split has in place of its threshold which of the tree's sets it looks for."""
    if not categorical.any():
        return None, None
    sets = [tree.sets() for tree in trees]
    before = np.repeat(
        starts([len(each) for each in sets]), np.diff(np.append(roots, len(categorical)))
    )
    category_set = np.where(categorical, before + threshold.astype(np.int64), -1)
    return category_set, sets_matrix(
        [each for of_tree in sets for each in of_tree], in_set_left=True
    )


def _unit(objective: str) -> str:
    name = objective.partition(" ")[0]
    if name in LOGIT_LINK:
        return LOG_ODDS
    if name in LOG_LINK:
        return LOG_PREDICTION
    return SCORE if name in SCORES else PREDICTION
