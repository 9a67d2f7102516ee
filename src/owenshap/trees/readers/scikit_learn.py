"""scikit-learn: decision trees, forests, bagging, boosting of all kinds, isolation forests.

An isolation forest's score is a function of the mean length of the paths, which is a sum over
trees: that length is what is read. AdaBoost for classes is a vote, a sum over trees; for numbers it
is a median over trees, which is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.support.units import (
    LOG_ODDS,
    LOG_PREDICTION,
    PATH_LENGTH,
    PREDICTION,
    PROBABILITY,
    SCORE,
)
from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.readers.base import Reader, starts, unreadable


class ScikitLearnReader(Reader):
    """Values up to the threshold go left: in float32, in histogram trees in float64."""

    types = {  # noqa: RUF012
        "sklearn": (
            "BaseBagging",
            "BaseDecisionTree",
            "BaseForest",
            "BaseWeightBoosting",
            "BaseGradientBoosting",
            "BaseHistGradientBoosting",
            "IsolationForest",
        )
    }

    @classmethod
    def read(cls, model: Any) -> TreeEnsemble:
        if not any(hasattr(model, name) for name in ("tree_", "estimators_", "_predictors")):
            raise unreadable(model, "that is not fitted")
        if hasattr(model, "_predictors"):
            return _histogram(model)
        if hasattr(model, "_raw_predict_init"):
            return _boosted(model)
        if hasattr(model, "_average_path_length_per_tree"):
            return _isolation(model)
        if hasattr(model, "estimator_weights_"):
            return _votes(model)
        if hasattr(model, "estimators_features_"):
            return _bagged(model)
        return _forest(model, getattr(model, "estimators_", [model]))

    @classmethod
    def matrix(cls, model: Any, rows: Any) -> Any:
        encoder = getattr(model, "_preprocessor", None)
        if encoder is None:
            return np.asarray(rows, np.float64)
        encoded = np.empty((len(rows), model.n_features_in_))
        encoded[:, _order(model)] = encoder.transform(rows)
        return encoded


def _forest(model: Any, estimators: list[Any]) -> TreeEnsemble:
    """The mean over the trees; a classifier's leaves are shares of classes, per target."""
    trees = [each.tree_ for each in estimators]
    values = np.concatenate([tree.value for tree in trees])
    if hasattr(model, "predict_proba"):
        shares = _shares(values, estimators[0].n_classes_)
        return _joined(model, trees, 1 / len(trees), [shares], PROBABILITY)
    return _joined(model, trees, 1 / len(trees), [values[:, :, 0]], PREDICTION)


def _shares(value: FloatArray, classes: Any) -> FloatArray:
    """Shares of the classes in each node, target by target; older versions store counts."""
    totals = value.sum(axis=2, keepdims=True)
    shares = value / np.where(totals == 0, 1, totals)
    of_target = zip(np.atleast_1d(classes), range(shares.shape[1]), strict=True)
    return np.concatenate([shares[:, target, :count] for count, target in of_target], axis=1)


def _trees_of(model: Any) -> list[Any]:
    """What an ensemble of any estimators is made of, where they are trees."""
    for each in model.estimators_:
        if not hasattr(each, "tree_"):
            raise unreadable(model, f"of {type(each).__name__}, which is no single tree")
    return list(model.estimators_)


def _bagged(model: Any) -> TreeEnsemble:
    """The mean over trees that were given some of the rows and columns each."""
    estimators = _trees_of(model)
    trees = [each.tree_ for each in estimators]
    if hasattr(model, "predict_proba"):
        unit = PROBABILITY
        values = [_of_classes(each, len(model.classes_)) for each in estimators]
    else:
        unit = PREDICTION
        values = [tree.value[:, :, 0] for tree in trees]
    return _joined(model, trees, 1 / len(trees), values, unit, model.estimators_features_)


def _of_classes(tree: Any, classes: int) -> FloatArray:
    """A tree's shares, in the columns of the classes that its rows had."""
    shares = _shares(tree.tree_.value, tree.n_classes_)
    spread = np.zeros((len(shares), classes))
    spread[:, tree.classes_.astype(np.int64)] = shares
    return spread


def _votes(model: Any) -> TreeEnsemble:
    """Each tree votes for one class with its weight, and a little against all others."""
    if not hasattr(model, "decision_function"):
        raise unreadable(model, "whose prediction is a median over its trees, which is no sum")
    trees = [each.tree_ for each in _trees_of(model)]
    weights = np.asarray(model.estimator_weights_, np.float64)[: len(trees)]
    classes = len(model.classes_)
    against = -1 / (classes - 1)
    votes = [
        np.where(np.eye(classes)[tree.value[:, 0].argmax(axis=1)] > 0, 1.0, against)
        for tree in trees
    ]
    if classes == 2:
        votes = [vote[:, 1:] - vote[:, :1] for vote in votes]
    unit = LOG_ODDS if classes == 2 else SCORE
    return _joined(model, trees, weights / weights.sum(), votes, unit)


def _boosted(model: Any) -> TreeEnsemble:
    """A sum over stages, which have a tree for each output."""
    stages = model.estimators_
    trees = [each.tree_ for each in stages.ravel()]
    unit = PREDICTION
    if hasattr(model, "predict_proba"):
        unit = SCORE if stages.shape[1] > 1 or model.loss == "exponential" else LOG_ODDS
    values = [tree.value[:, :, 0] for tree in trees]
    outputs = np.tile(np.arange(stages.shape[1]), stages.shape[0])[:, None]
    joined = _joined(model, trees, float(model.learning_rate), values, unit)
    return replace(joined, outputs=outputs, base=_start(model))


def _start(model: Any) -> FloatArray:
    """What boosting began with, where it is the same for every row."""
    if not (
        isinstance(model.init_, str)
        or type(model.init_).__name__ in ("DummyClassifier", "DummyRegressor")
    ):
        raise unreadable(
            model, f"that begins with another model, init={type(model.init_).__name__}"
        )
    return np.asarray(
        model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32)), np.float64
    )[0]


def _isolation(model: Any) -> TreeEnsemble:
    trees = [estimator.tree_ for estimator in model.estimators_]
    lengths = zip(model._decision_path_lengths, model._average_path_length_per_tree, strict=True)
    values = [(path + average - 1.0)[:, None] for path, average in lengths]
    columns = model.estimators_features_
    return _joined(model, trees, 1 / len(trees), values, PATH_LENGTH, columns)


def _joined(
    model: Any,
    trees: list[Any],
    scale: float | FloatArray,
    values: list[FloatArray],
    unit: str,
    columns: Sequence[Any] | None = None,
) -> TreeEnsemble:
    """Trees that all speak of all outputs.

    Parameters
    ----------
    model : estimator
        What is made of them.
    trees : list of Tree
        As scikit-learn stores them.
    scale : float or float (T,)
        What leaves are multiplied by.
    values : list of float (nodes, V)
        Of the leaves.
    unit : str
        As `TreeEnsemble` has it.
    columns : list of int (columns,), optional
        Which columns each tree was given; all of them if not given.
    """
    nodes = [tree.node_count for tree in trees]
    roots = starts(nodes)
    offset = np.repeat(roots, nodes)
    left = np.concatenate([tree.children_left for tree in trees])
    right = np.concatenate([tree.children_right for tree in trees])
    inner = left >= 0
    features = [tree.feature for tree in trees]
    if columns is not None:  # a tree counts those that it was given
        given = zip(columns, features, strict=True)
        features = [np.take(own, feature, mode="clip") for own, feature in given]
    leaf_values = np.concatenate(values)
    width = leaf_values.shape[1]
    return TreeEnsemble(
        roots=roots,
        left=np.where(inner, left + offset, -1),
        right=np.where(inner, right + offset, -1),
        feature=np.where(inner, np.concatenate(features), -1),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        missing_left=_missing_left(trees, len(left)),
        values=np.repeat(np.broadcast_to(scale, len(trees)), nodes)[:, None] * leaf_values,
        outputs=np.tile(np.arange(width), (len(trees), 1)),
        cover=np.concatenate([tree.weighted_n_node_samples for tree in trees]),
        base=np.zeros(width),
        n_features=model.n_features_in_,
        precision=np.float32,
        unit=unit,
    )


def _missing_left(trees: list[Any], nodes: int) -> BoolArray:
    """Whether missing values go left; older versions do not say, and take none."""
    if not hasattr(trees[0], "missing_go_to_left"):
        return np.zeros(nodes, np.bool_)
    return np.concatenate([tree.missing_go_to_left for tree in trees]).astype(np.bool_)


def _histogram(model: Any) -> TreeEnsemble:
    predictors = [each for stage in model._predictors for each in stage]
    nodes = [predictor.nodes for predictor in predictors]
    joined = np.concatenate(nodes)
    roots = starts([len(node) for node in nodes])
    offset = np.repeat(roots, [len(node) for node in nodes])
    inner = joined["is_leaf"] == 0
    per_stage = model.n_trees_per_iteration_
    category_set, sets = _categories(model, predictors, joined, inner)
    return TreeEnsemble(
        roots=roots,
        left=np.where(inner, joined["left"] + offset, -1),
        right=np.where(inner, joined["right"] + offset, -1),
        feature=np.where(inner, _order(model)[joined["feature_idx"]], -1),
        threshold=joined["num_threshold"].astype(np.float64),
        missing_left=joined["missing_go_to_left"].astype(np.bool_),
        values=np.where(inner, 0.0, joined["value"])[:, None],
        outputs=(np.arange(len(nodes)) % per_stage)[:, None],
        cover=joined["count"].astype(np.float64),
        base=np.asarray(model._baseline_prediction, np.float64).reshape(-1),
        n_features=model.n_features_in_,
        unit=_histogram_unit(model),
        category_set=category_set,
        category_sets=sets,
    )


def _order(model: Any) -> IntArray:
    """The column of the input that each column of the trees is: categories come first."""
    categorical = model.is_categorical_
    if categorical is None:
        return np.arange(model.n_features_in_)
    return np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])


def _histogram_unit(model: Any) -> str:
    if hasattr(model, "predict_proba"):
        return LOG_ODDS if model.n_trees_per_iteration_ == 1 else SCORE
    return LOG_PREDICTION if model.loss in ("poisson", "gamma") else PREDICTION


def _categories(
    model: Any, predictors: list[Any], joined: Any, inner: BoolArray
) -> tuple[IntArray | None, BoolArray | None]:
    """One set per categorical split; a category that was not seen goes where missing values go."""
    categorical = inner & (joined["is_categorical"] == 1)
    if not categorical.any():
        return None, None
    known, of_feature = model._bin_mapper.make_known_categories_bitsets()
    bitsets = np.concatenate([predictor.raw_left_cat_bitsets for predictor in predictors])
    before = starts([len(predictor.raw_left_cat_bitsets) for predictor in predictors])
    place = (
        np.repeat(before, [len(predictor.nodes) for predictor in predictors]) + joined["bitset_idx"]
    )
    left = _unpacked(bitsets)[place[categorical]]
    seen = _unpacked(known)[of_feature[joined["feature_idx"][categorical]]]
    unseen_left = joined["missing_go_to_left"][categorical].astype(np.bool_)[:, None]
    category_set = np.full(len(joined), -1)
    category_set[categorical] = np.arange(int(categorical.sum()))
    return category_set, np.concatenate([np.where(seen, left, unseen_left), unseen_left], axis=1)


def _unpacked(bitsets: Any) -> BoolArray:
    return np.unpackbits(
        np.ascontiguousarray(bitsets, "<u4").view(np.uint8), axis=1, bitorder="little"
    ).astype(np.bool_)
