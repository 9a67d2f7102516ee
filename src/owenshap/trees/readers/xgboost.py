"""xgboost: Boosters and scikit-learn wrappers, read from the library's own JSON."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.support.units import LOG_ODDS, LOG_PREDICTION, PREDICTION, SCORE
from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.readers.base import (
    Reader,
    as_floats,
    flat,
    just_below,
    sets_matrix,
    starts,
    unreadable,
)

LOGIT_LINK = ("binary:logistic", "reg:logistic")
RAW_LOG_ODDS = "binary:logitraw"  # its base score is a margin already
LOG_LINK = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")


class XgboostReader(Reader):
    """Float32 values below the threshold go left, as do categories outside of a node's set."""

    types = {  # noqa: RUF012
        "xgboost": ("Booster", "XGBModel"),
    }

    @classmethod
    def read(cls, model: Any) -> TreeEnsemble:
        booster = _booster(model)
        learner = json.loads(booster.save_raw("json"))["learner"]
        boosting = learner["gradient_booster"]
        if boosting["name"] == "gblinear":
            raise unreadable(model, "with booster='gblinear', which has no trees")
        weights = boosting.get("weight_drop")
        stored = boosting["gbtree"]["model"] if weights is not None else boosting["model"]
        count = _trees_used(model, stored)
        given = getattr(model, "missing", None)
        missing = np.nan if given is None else float(given)
        return _ensemble(stored, learner, count, weights, missing)

    @classmethod
    def matrix(cls, model: Any, rows: Any) -> Any:
        if not hasattr(rows, "columns"):
            return np.asarray(rows, np.float64)
        boosting = json.loads(_booster(model).save_raw("json"))["learner"]["gradient_booster"]
        stored = boosting["gbtree"]["model"] if "gbtree" in boosting else boosting["model"]
        categories = stored.get("cats", {}).get("enc")  # older versions take the codes of the rows
        return as_floats(_recoded(rows, categories) if categories else rows)


def _booster(model: Any) -> Any:
    if not hasattr(model, "get_booster"):
        return model
    if not model.__sklearn_is_fitted__():
        raise unreadable(model, "that is not fitted")
    return model.get_booster()


def _trees_used(model: Any, stored: dict[str, Any]) -> int:
    """All trees, but a wrapper that stopped early predicts with those up to its best iteration."""
    wrapped = hasattr(model, "get_booster")
    stopped_early = wrapped and model.get_booster().attr("best_iteration") is not None
    ends = stored.get("iteration_indptr")
    if not stopped_early or ends is None:
        return len(stored["trees"])
    return int(ends[model.best_iteration + 1])


def _ensemble(
    stored: dict[str, Any],
    learner: dict[str, Any],
    count: int,
    weights: list[float] | None,
    missing: float,
) -> TreeEnsemble:
    trees = stored["trees"][:count]
    sizes = [len(tree["left_children"]) for tree in trees]
    roots = starts(sizes)
    offset = np.repeat(roots, sizes)
    left = flat((tree["left_children"] for tree in trees), np.int64)
    right = flat((tree["right_children"] for tree in trees), np.int64)
    inner = left >= 0
    conditions = flat((tree["split_conditions"] for tree in trees), np.float32)
    parameters = learner["learner_model_param"]
    base = _base(learner, parameters)
    if trees and int(trees[0]["tree_param"]["size_leaf_vector"]) > 1:
        values = _vector_leaves(trees, inner, right, sizes)
        outputs = np.tile(np.arange(len(base)), (count, 1))
    else:
        values = np.where(inner, 0, conditions)[:, None]  # a leaf has its value there
        outputs = np.array(stored["tree_info"][:count], np.int64)[:, None]
    if weights is not None:
        values = values * np.repeat(np.array(weights[:count], np.float32), sizes)[:, None]
    category_set, sets = _categories(trees, roots, len(left))
    return TreeEnsemble(
        roots=roots,
        left=np.where(inner, left + offset, -1),
        right=np.where(inner, right + offset, -1),
        feature=np.where(inner, flat((tree["split_indices"] for tree in trees), np.int64), -1),
        threshold=just_below(conditions, np.float32),
        missing_left=flat((tree["default_left"] for tree in trees), np.int64).astype(np.bool_),
        values=values.astype(np.float64),
        outputs=outputs,
        cover=flat((tree["sum_hessian"] for tree in trees), np.float64),
        base=base,
        n_features=int(parameters["num_feature"]),
        precision=np.float32,
        unit=_unit(learner["objective"]["name"]),
        category_set=category_set,
        category_sets=sets,
        missing_value=missing,
    )


def _vector_leaves(
    trees: list[dict[str, Any]], inner: BoolArray, right: IntArray, sizes: list[int]
) -> FloatArray:
    """A leaf with several values has in place of its right child where they lie."""
    size = int(trees[0]["tree_param"]["size_leaf_vector"])
    stored = flat((tree["leaf_weights"] for tree in trees), np.float32).reshape(-1, size)
    begin = starts([len(tree["leaf_weights"]) // size for tree in trees])
    place = right + np.repeat(begin, sizes)
    values = np.zeros((len(right), size))
    values[~inner] = stored[place[~inner]]
    return values


def _base(learner: dict[str, Any], parameters: dict[str, str]) -> FloatArray:
    """The base score on the scale of the margins, one per output."""
    stored = np.array(json.loads(parameters["base_score"].replace("E", "e")), np.float32).reshape(
        -1
    )
    outputs = max(int(parameters["num_class"]), int(parameters.get("num_target", 1)), 1)
    base = np.broadcast_to(stored.astype(np.float64), (outputs,)).copy()
    name = learner["objective"]["name"]
    if name in LOGIT_LINK:
        return np.log(base) - np.log1p(-base)
    return np.log(base) if name in LOG_LINK else base


def _unit(objective: str) -> str:
    if objective in (*LOGIT_LINK, RAW_LOG_ODDS):
        return LOG_ODDS
    if objective in LOG_LINK:
        return LOG_PREDICTION
    scores = objective.startswith(("multi:", "rank:", "binary:"))
    return SCORE if scores else PREDICTION


def _categories(
    trees: list[dict[str, Any]], roots: IntArray, nodes: int
) -> tuple[IntArray | None, BoolArray | None]:
    if not any(tree["categories_nodes"] for tree in trees):
        return None, None
    category_set = np.full(nodes, -1)
    sets: list[IntArray] = []
    for root, tree in zip(roots, trees, strict=True):
        categories = np.array(tree["categories"], np.int64)
        for node, begin, size in zip(
            tree["categories_nodes"],
            tree["categories_segments"],
            tree["categories_sizes"],
            strict=True,
        ):
            category_set[root + node] = len(sets)
            sets.append(categories[begin : begin + size])
    return category_set, sets_matrix(sets, in_set_left=False)


def _recoded(rows: Any, categories: list[dict[str, Any]]) -> Any:
    """A frame whose categories are the ones that the model was trained on."""
    rows = rows.copy()
    for name, stored in zip(rows.columns, categories, strict=True):
        if hasattr(rows[name], "cat") and stored["values"]:
            rows[name] = rows[name].cat.set_categories(_names(stored))
    return rows


def _names(stored: dict[str, Any]) -> list[Any]:
    """Categories that are strings lie in one run of bytes; numbers as they are."""
    if "offsets" not in stored:
        return list(stored["values"])
    text = bytes(each % 256 for each in stored["values"])
    edges = stored["offsets"]
    return [text[begin:end].decode() for begin, end in pairwise(edges)]
