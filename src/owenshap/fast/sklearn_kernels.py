"""Kernel machines of scikit-learn whose kernel is a product over features, behind scalers or not.

Models are known by the names of their types: a subclass may predict otherwise, and is left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from owenshap.fast.product_kernels import KernelMachine
from owenshap.fast.sklearn_linear import scalings_and_final, sklearn_name
from owenshap.models import Model
from owenshap.models.scikit_learn import SklearnModel
from owenshap.support.arrays import FloatArray

SUPPORT_VECTORS = {
    "SVC": "decision_function",
    "NuSVC": "decision_function",
    "OneClassSVM": "decision_function",
    "SVR": "predict",
    "NuSVR": "predict",
}
POWERS = {"rbf": 2, "laplacian": 1}
Machine = tuple[FloatArray, FloatArray, int, FloatArray, FloatArray]
"""Centres, rates, power, weights and bias of a `KernelMachine`."""


def kernel_machine_of(model: Model) -> KernelMachine | None:
    """The model as a sum of products over features, where it is known to be one; else None."""
    if not isinstance(model, SklearnModel) or model.log or model.arguments or model.both:
        return None
    scalings, final = scalings_and_final(model.estimator)
    machine = _machine(final, model.method)
    if machine is None:
        return None
    centres, rates, power, weights, bias = machine
    for scale, shift in scalings:
        centres = (centres - shift) / scale
        rates = rates * np.abs(scale) ** power
    return KernelMachine(centres, rates, power, weights, bias)


def _machine(model: Any, method: str) -> Machine | None:
    name = sklearn_name(model)
    if name is None:
        return None
    if SUPPORT_VECTORS.get(name) == method:
        return _of_support_vectors(model)
    if name == "KernelRidge" and method == "predict":
        return _of_ridge(model)
    if name == "GaussianProcessRegressor" and method == "predict" and hasattr(model, "alpha_"):
        return _of_process(model)
    return None


def _of_support_vectors(model: Any) -> Machine | None:
    several = len(getattr(model, "classes_", ())) > 2  # one score for each two classes
    if model.kernel != "rbf" or several or not isinstance(model.dual_coef_, np.ndarray):
        return None
    centres = np.asarray(model.support_vectors_, np.float64)
    rates = np.full((1, centres.shape[1]), float(model._gamma))
    return centres, rates, 2, model.dual_coef_.reshape(-1, 1), np.ravel(model.intercept_)[:1]


def _of_ridge(model: Any) -> Machine | None:
    power = POWERS.get(model.kernel) if isinstance(model.kernel, str) else None
    if power is None or not isinstance(model.X_fit_, np.ndarray):
        return None
    centres = np.asarray(model.X_fit_, np.float64)
    gamma = 1 / centres.shape[1] if model.gamma is None else float(model.gamma)
    weights = np.asarray(model.dual_coef_, np.float64).reshape(len(centres), -1)
    rates = np.full((1, centres.shape[1]), gamma)
    return centres, rates, power, weights, np.zeros(weights.shape[1])


def _of_process(model: Any) -> Machine | None:
    """Of a regression whose covariance is a sum of products of constants and Gaussian kernels;
    noise is none between different rows.
    """
    centres = np.asarray(model.X_train_, np.float64)
    terms = _terms(model.kernel_, centres.shape[1])
    if not terms:
        return None
    weights = np.asarray(model.alpha_, np.float64).reshape(len(centres), -1) * model._y_train_std
    rates = np.concatenate([np.tile(rate, (len(centres), 1)) for _, rate in terms])
    scaled = np.concatenate([scale * weights for scale, _ in terms])
    bias = np.broadcast_to(model._y_train_mean, (weights.shape[1],)).astype(np.float64)
    return np.tile(centres, (len(terms), 1)), rates, 2, scaled, bias


def _terms(kernel: Any, features: int) -> list[tuple[float, FloatArray]] | None:
    """A covariance as a sum of terms, each a factor and rates (features,); None for others."""
    name = sklearn_name(kernel)
    if name == "WhiteKernel":
        return []
    if name == "ConstantKernel":
        return [(float(kernel.constant_value), np.zeros(features))]
    if name == "RBF":
        return [(1.0, np.broadcast_to(0.5 / np.square(kernel.length_scale), (features,)))]
    one = other = None
    if name in ("Sum", "Product"):
        one = _terms(kernel.k1, features)
        other = _terms(kernel.k2, features)
    if one is None or other is None:
        return None
    products = [(a * b, first + second) for a, first in one for b, second in other]
    return one + other if name == "Sum" else products
