"""Multilayer perceptrons given as weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from owenshap.errors import InputError
from owenshap.models.base import Model


def _logistic(hidden: Any) -> Any:
    np.negative(hidden, out=hidden)
    np.exp(hidden, out=hidden)
    hidden += 1
    return np.reciprocal(hidden, out=hidden)


def _softmax(hidden: Any) -> Any:
    hidden -= hidden.max(axis=-2, keepdims=True)
    np.exp(hidden, out=hidden)
    hidden /= hidden.sum(axis=-2, keepdims=True)
    return hidden


def _two_classes(hidden: Any) -> Any:
    second = _logistic(hidden)
    return np.concatenate([1 - second, second], axis=-2)


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda hidden: np.maximum(hidden, 0, out=hidden),
    "tanh": lambda hidden: np.tanh(hidden, out=hidden),
    "logistic": _logistic,
    "softmax": _softmax,
    "two classes": _two_classes,
}
"""'identity' is none of them."""


class MLP(Model):
    """A multilayer perceptron given as numpy arrays, for models whose framework is elsewhere.

    h₀ = x, h_{l+1} = activation_l(h_l W_l + c_l).

    Parameters
    ----------
    weights : list of arrays (width, next width)
        W_l, as scikit-learn's `coefs_`; torch's `weight` is the transpose. Computed with in their
        own dtype.
    biases : list of arrays (next width,), optional
        c_l; by default 0.
    activations : str or list of str
        'identity', 'relu', 'tanh', 'sigmoid' or 'softmax': after each layer, or one name after
        every layer but the last.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> model = owenshap.MLP([np.ones((3, 2)), np.ones((2, 1))], activations="relu")
    >>> owenshap.Explainer(model, baseline=0.0)(np.array([[1.0, 2.0, 3.0]])).values
    array([[2., 4., 6.]])
    """

    packages = ()  # it is a model by itself, and nothing else is one of this kind

    def __init__(
        self,
        weights: Sequence[ArrayLike],
        biases: Sequence[ArrayLike] | None = None,
        activations: str | Sequence[str] = "sigmoid",
    ) -> None:
        layers = [np.asarray(weight) for weight in weights]
        if not layers or any(layer.ndim != 2 or layer.dtype.kind not in "biuf" for layer in layers):
            raise InputError(
                "weights",
                "be tables of numbers",
                [layer.shape for layer in layers],
                "Give one array (width, next width) per layer",
            )
        if any(before.shape[1] != after.shape[0] for before, after in pairwise(layers)):
            raise InputError(
                "weights",
                "fit each other, (width, next width)",
                [layer.shape for layer in layers],
                "Transpose them where they come from torch",
            )
        added = (
            [np.zeros(layer.shape[1], layer.dtype) for layer in layers]
            if biases is None
            else [np.asarray(b) for b in biases]
        )
        if [bias.shape for bias in added] != [layer.shape[1:] for layer in layers]:
            raise InputError(
                "biases",
                f"have shapes {[layer.shape[1:] for layer in layers]}",
                [bias.shape for bias in added],
                "Give one number per output of each layer",
            )
        self.layers = ([layer.T for layer in layers], added, _names(activations, len(layers)))

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:  # noqa: ARG003
        raise InputError(
            "model",
            "be made with MLP(weights, biases, activations)",
            model,
            "It is a model by itself",
        )

    def predict(self, batch: Any) -> NDArray[Any]:
        weights, biases, activations = self.layers
        dtype = np.result_type(np.float32, *weights, *biases)
        hidden = np.asarray(batch).reshape(len(batch), -1).astype(dtype).T
        # exp of a very negative score: the sigmoid is 0 then, as it should be
        with np.errstate(over="ignore"):
            for layer, bias, activation in zip(weights, biases, activations, strict=True):
                hidden = layer.astype(dtype) @ hidden + bias.astype(dtype)[:, None]
                if activation != "identity":
                    hidden = ACTIVATIONS[activation](hidden)
        return hidden.T

    def __call__(self, rows: ArrayLike) -> NDArray[Any]:
        """Predictions (m, k) of rows."""
        return self.predict(rows)


def _names(activations: str | Sequence[str], layers: int) -> list[str]:
    names = (
        [activations] * (layers - 1) + ["identity"]
        if isinstance(activations, str)
        else list(activations)
    )
    names = ["logistic" if name == "sigmoid" else name for name in names]
    known = ["identity", *(name for name in ACTIVATIONS if name != "two classes")]
    if len(names) != layers or any(name not in known for name in names):
        raise InputError(
            "activations",
            f"be one of identity, relu, tanh, sigmoid and softmax for each of the {layers} layers",
            activations,
            "One name stands for all layers but the last",
        )
    return names
