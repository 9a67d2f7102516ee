"""What is linear in scikit-learn: perceptrons, linear models and linear SVMs, behind scalers or
not.

Models are known by the names of their types: a subclass may predict otherwise, and is left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.fast.linear_first import LinearFirst, layered

REGRESSORS = frozenset(
    [
        "LinearRegression",
        "Ridge",
        "RidgeCV",
        "Lasso",
        "LassoCV",
        "ElasticNet",
        "ElasticNetCV",
        "Lars",
        "LarsCV",
        "LassoLars",
        "LassoLarsCV",
        "LassoLarsIC",
        "OrthogonalMatchingPursuit",
        "OrthogonalMatchingPursuitCV",
        "BayesianRidge",
        "ARDRegression",
        "HuberRegressor",
        "TheilSenRegressor",
        "QuantileRegressor",
        "SGDRegressor",
        "PassiveAggressiveRegressor",
        "LinearSVR",
        "MultiTaskLasso",
        "MultiTaskLassoCV",
        "MultiTaskElasticNet",
        "MultiTaskElasticNetCV",
    ]
)
CLASSIFIERS = frozenset(
    [
        "LogisticRegression",
        "LogisticRegressionCV",
        "SGDClassifier",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "LinearSVC",
        "Perceptron",
        "PassiveAggressiveClassifier",
        "LinearDiscriminantAnalysis",
    ]
)
SUMS = REGRESSORS | CLASSIFIERS
LOGISTIC = frozenset({"LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"})
KERNEL_MACHINES = {
    "SVC": "decision_function",
    "NuSVC": "decision_function",
    "SVR": "predict",
    "NuSVR": "predict",
}
CALLED = frozenset({"predict", "predict_proba", "decision_function", "transform"})
PERCEPTRONS = {"MLPClassifier": "predict_proba", "MLPRegressor": "predict"}


def linear_first_of(estimator: Any, method: str) -> LinearFirst | None:
    """A fitted estimator's linear first step, where `method` is known to begin with one."""
    scalings, final = scalings_and_final(estimator)
    layers = _layers(final, method)
    if layers is None:
        return None
    weights, biases, activations = layers
    # as scikit-learn computes for rows of float64, whatever it was fitted to: columns that are far
    # from zero beside their spread would lose their digits in float32
    weights = [each.astype(np.float64) for each in weights]
    first = weights[0]
    bias = biases[0]
    for scale, shift in scalings:
        bias = bias + first @ np.broadcast_to(shift, first.shape[1:])
        first = first * scale
    return layered([first, *weights[1:]], [bias, *biases[1:]], activations)


def scalings_and_final(estimator: Any) -> tuple[list[Any], Any]:
    """Scale and shift of each scaler of a pipeline, the last one first, and its last step; of
    another estimator none, and itself. None as the last step where one before it is no known
    scaler, or somebody put a method of their own on one of them.
    """
    piped = sklearn_name(estimator) == "Pipeline"
    steps = [step for _, step in estimator.steps] if piped else [estimator]
    if any(not CALLED.isdisjoint(getattr(each, "__dict__", ())) for each in (estimator, *steps)):
        return [], None
    scalers = [step for step in steps[:-1] if step is not None and step != "passthrough"]
    scalings = [_scaling(scaler) for scaler in reversed(scalers)]
    return scalings, None if None in scalings else steps[-1]


def sums_features(estimator: Any) -> bool:
    """Whether a fitted estimator is known to predict sums of features times weights, and says no
    more of rows than that: one that was fitted to named columns warns of rows without names.
    """
    return sklearn_name(estimator) in SUMS and "feature_names_in_" not in vars(estimator)


def sklearn_name(thing: Any) -> str | None:
    """What a type of scikit-learn is called; None for all others."""
    return type(thing).__name__ if type(thing).__module__.startswith("sklearn.") else None


def _scaling(scaler: Any) -> tuple[Any, Any] | None:
    """Scale and shift of z = scale · x + shift; None for what is no such scaler."""
    name = sklearn_name(scaler)
    if name == "MinMaxScaler" and not scaler.clip:
        return scaler.scale_, scaler.min_
    if name == "MaxAbsScaler" and not getattr(scaler, "clip", False):
        return 1 / scaler.scale_, np.zeros(1)
    if name in ("StandardScaler", "RobustScaler"):
        centre = scaler.mean_ if name == "StandardScaler" else scaler.center_
        moved = scaler.with_mean if name == "StandardScaler" else scaler.with_centering
        scale = np.ones(1) if scaler.scale_ is None else 1 / scaler.scale_
        return scale, -centre * scale if moved else np.zeros(1)
    return None


Layers = tuple[list[NDArray[Any]], list[NDArray[Any]], list[str]]


def _layers(model: Any, method: str) -> Layers | None:
    """Weights (new width, width), biases and activations, layer by layer."""
    name = sklearn_name(model)
    if name in PERCEPTRONS:
        return _perceptron(model) if method == PERCEPTRONS[name] else None
    scores = name in CLASSIFIERS and method == "decision_function"
    kernel = (
        name in KERNEL_MACHINES and method == KERNEL_MACHINES[name] and model.kernel == "linear"
    )
    if kernel and method == "decision_function" and len(model.classes_) > 2:
        return None  # one score for each two classes, mixed into one per class
    if (name in REGRESSORS and method == "predict") or scores or kernel:
        return _one_layer(model, "identity")
    if name in LOGISTIC and method == "predict_proba":
        return _one_layer(model, "two classes" if len(model.classes_) == 2 else "softmax")
    if (
        name == "SGDClassifier"
        and method == "predict_proba"
        and model.loss == "log_loss"
        and len(model.classes_) == 2
    ):
        return _one_layer(model, "two classes")
    return None


def _one_layer(model: Any, activation: str) -> Layers | None:
    coefficients = model.coef_
    if not isinstance(coefficients, np.ndarray):
        return None  # sparse
    weights = coefficients.reshape(-1, coefficients.shape[-1])
    bias = np.zeros(len(weights), weights.dtype)
    bias += model.intercept_
    return [weights], [bias], [activation]


def _perceptron(model: Any) -> Layers:
    last = model.out_activation_
    if last == "logistic" and model.n_outputs_ == 1:
        last = "two classes"
    hidden = [model.activation] * (len(model.coefs_) - 1)
    return [weights.T for weights in model.coefs_], list(model.intercepts_), [*hidden, last]
