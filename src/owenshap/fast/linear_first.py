"""Models whose first step is linear: what a fast path needs to know of them.

With h = Wx + c a coalition's h is h(∅) plus a sum of columns of C = W·diag(x − baseline): no input
row is ever built. Arrays have features first and coalitions last, (width, m), which keeps every
step of a small network long and contiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.games.outputs import Output, logit
from owenshap.models.mlp import ACTIVATIONS
from owenshap.support.arrays import CACHED, CALL_NUMBERS, FloatArray
from owenshap.tables import Table

SHORT = 16  # numbers along an axis
# The most columns of a product with the first layer on a host. The last bits of a product depend on
# its shape; kernels take 4 to 48 columns at once, which divide these, so that no column is ever one
# that is left over. Where bits depend on a column's place as well, panels are narrower.
FIRST_PANEL = 48
PANEL = 4 * FIRST_PANEL  # the same for later layers, of which a call has many columns
SEVERAL = 32  # products that tell whether bits depend on a column's place: one in eight hides it
# numbers up to which filling up a panel takes less as one copy than as a call of its own
COPIED = CACHED // 2
# of the largest prediction, what products in half precision lose: further off, the structure was
# not what it looked like
CLOSE = float(np.finfo(np.float16).eps)


@dataclass(frozen=True)
class Arrays:
    """What a model computes with, on its device: numpy on the host. Torch overrides what differs
    there, and nothing else.
    """

    dtype: Any

    @property
    def tile(self) -> int:
        """Numbers of one working array that keep the device busy."""
        return CACHED

    @property
    def launches(self) -> bool:
        """Whether work is begun there and awaited when its results are."""
        return False

    @property
    def fixed(self) -> bool:
        """Whether all products have one shape and sums one order: bits then depend on nothing else
        in the call.
        """
        return True

    def of_table(self, table: Table) -> Any:
        """The rows as an array (rows, features); None where they are not all numbers."""
        numbers = table.numbers()
        return None if numbers is None else numbers.astype(self.dtype, copy=False)

    def put(self, array: NDArray[Any], exact: bool = False) -> Any:
        """A host array on the device, in the model's dtype; in float64, as integers or booleans
        where exact.
        """
        return array if exact else array.astype(self.dtype, copy=False)

    def get(self, array: Any) -> FloatArray:
        """An array back on the host."""
        return np.asarray(array, np.float64)

    def begin_reversed(self, array: Any) -> Callable[[], FloatArray]:
        """The array with its axes in the opposite order on its way to the host; what waits for
        it.
        """
        return lambda: self.get(array).T

    def empty(self, shape: tuple[int, ...]) -> Any:
        """An array to be filled."""
        return np.empty(shape, self.dtype)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """Zeros in float64."""
        return np.zeros(shape)

    def joined(self, parts: Sequence[Any], axis: int) -> Any:
        """The parts one after the other."""
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis)

    def padded(self, array: Any, columns: int) -> Any:
        """The array (a, m) with zeros up to so many columns, row after row in memory."""
        wider = np.zeros((len(array), columns), array.dtype)
        wider[:, : array.shape[1]] = array
        return wider

    def order(self, ranks: Any) -> Any:
        """Who has each rank, along the first axis."""
        every = np.arange(len(ranks)).reshape(-1, *[1] * (ranks.ndim - 1))
        order = np.empty(ranks.shape, np.intp)
        np.put_along_axis(order, ranks.astype(np.intp, copy=False), every, axis=0)
        return order

    def scaled_sum(self, base: Any, array: Any, scale: Any, out: Any) -> None:
        """Fill out with base + array · scale."""
        # numpy's inner loop would be that short, and all overhead
        if array.shape[-1] == 1 < scale.shape[-1] < SHORT:
            for at in range(scale.shape[-1]):
                np.add(array[..., 0] * scale[..., at], base[..., at], out=out[..., at])
        else:
            np.multiply(array, scale, out=out)
            out += base

    def summed(self, array: Any, axis: int) -> Any:
        """Running sums along an axis, where the array was."""
        return np.cumsum(array, axis=axis, out=array)

    def along(self, array: Any, index: Any) -> Any:
        """Of an array (a, b, n, m or 1), what the index (any, m) names along the third axis."""
        if array.shape[3] > 1:
            return np.take_along_axis(array, index[None, None], 2)
        return array[..., 0].take(index, 2)

    def along_last(self, array: Any, index: Any) -> Any:
        """Of an array (a, b, n), what the index (a, b, m) names along the last axis."""
        return np.take_along_axis(array, index, 2)

    def exactly(self, array: Any) -> Any:
        """The array in float64."""
        return np.asarray(array, np.float64)

    def exact_sum(self, array: Any) -> Any:
        """Sums along the last axis but one, made in float64, each in the same order whatever the
        other axes are.
        """
        array = self.exactly(array)
        while (count := array.shape[-2]) > 1:  # half on half until one is left
            half = count // 2
            summed = array[..., :half, :] + array[..., half : 2 * half, :]
            if count % 2:
                summed[..., :1, :] += array[..., -1:, :]
            array = summed
        return array[..., 0, :]

    def affine(self, weights: Any, bias: Any) -> Step:
        """The step Wh + c; weights (new width, width), and perhaps no bias."""
        return affine(weights, bias)

    def running(self) -> AbstractContextManager[Any]:
        """The context in which all of this happens."""
        # exp of a very negative score: the sigmoid is 0 then, as it should be
        return np.errstate(over="ignore")


@dataclass(frozen=True, eq=False)
class Step:
    """One step after the first, (width, m) → (new width, m); it may overwrite what it is given."""

    kind: str
    apply: Callable[[Any], Any] = field(repr=False)
    weights: Any = field(default=None, repr=False)
    bias: Any = field(default=None, repr=False)
    by_panel: bool = False
    """Whether it takes (panels, width, m) as well, and nothing is lost by that."""


@dataclass(frozen=True, eq=False)
class LinearFirst:
    """A model that begins with h = Wx + c.

    Parameters
    ----------
    weights : (width, features)
        W, in the model's own array library.
    bias : (width,)
        c.
    steps : tuple of Step
        From h to the predictions; none where the model is linear.
    arrays : Arrays
        The array library.
    """

    weights: Any = field(repr=False)
    bias: Any = field(repr=False)
    steps: tuple[Step, ...]
    arrays: Arrays = field(default_factory=lambda: Arrays(np.float64))

    @cached_property
    def width(self) -> int:
        """Numbers in h."""
        return int(self.weights.shape[0])

    @cached_property
    def widest(self) -> int:
        """The most numbers that one coalition has between two steps."""
        return max(
            [
                self.width,
                *(int(step.weights.shape[0]) for step in self.steps if step.weights is not None),
            ]
        )

    @cached_property
    def by_panel(self) -> bool:
        """Whether all steps are made a panel at a time: a column then has the same bits in whatever
        company.
        """
        return self.arrays.fixed and all(step.by_panel for step in self.steps)

    def rest(self, hidden: Any) -> Any:
        """Predictions (k, m) from h (width, m), which may be overwritten."""
        if not self.steps:
            return hidden
        if not self.by_panel:
            return self._stepped(hidden)
        columns, panel = hidden.shape[1], self._panel
        whole = columns - columns % panel if columns * len(hidden) > COPIED else 0
        parts = [self._rest_of_panels(hidden[:, :whole])] if whole else []
        if whole < columns:
            others = self.arrays.padded(hidden[:, whole:], -(-(columns - whole) // panel) * panel)
            parts.append(self._rest_of_panels(others)[:, : columns - whole])
        return self.arrays.joined(parts, 1)

    def _rest_of_panels(self, hidden: Any) -> Any:
        """The same for whole panels: many products of one shape, which keep all cores busy."""
        panels = self._stepped(hidden.reshape(len(hidden), -1, self._panel).swapaxes(0, 1))
        return panels.swapaxes(0, 1).reshape(panels.shape[1], -1)

    @cached_property
    def _panel(self) -> int:
        """Columns that the later layers take at once."""
        layers = [step for step in self.steps if step.weights is not None]
        widths = [
            even_panel(self.arrays, int(layer.weights.shape[1]), layer.apply, PANEL)
            for layer in layers
        ]
        return min(widths, default=PANEL)

    def _stepped(self, hidden: Any) -> Any:
        for step in self.steps:
            hidden = step.apply(hidden)
        return hidden

    def first(self, rows: Any) -> Any:
        """The h (width, m) of rows (m, features)."""
        return times(self.arrays, self.weights[:, None], rows.T)[:, 0] + self.bias[:, None]

    def kept_first(self, table: Table, rows: Any) -> Any:
        """The same for the rows of a table, kept while it is asked for the same table: games share
        what stands in.
        """
        kept = self._kept
        if kept is None or kept[0] is not table:
            kept = self.__dict__["_kept"] = table, self.first(rows)
        return kept[1]

    @cached_property
    def _kept(self) -> Any:
        return None

    @cached_property
    def log_odds(self) -> LinearFirst | None:
        """The same model before its last step made probabilities: log p / (1 − p) of each; None
        where it does not do that.

        Scores are sums of whatever size: these log-odds are finite and linear in the last layer
        where the way through probabilities rounds them to 0 and 1.
        """
        if not self.steps:
            return None
        *before, last = self.steps
        if last.kind in ELEMENTWISE:
            return replace(self, steps=tuple(before))
        layer = before[-1] if before else self.arrays.affine(self.weights, self.bias)
        if layer.kind != "affine" or (last.kind, len(layer.weights)) not in LOG_ODDS:
            return None
        matrix = self.arrays.put(np.array(LOG_ODDS[last.kind, len(layer.weights)]))
        weights = matrix @ layer.weights
        bias = None if layer.bias is None else matrix @ layer.bias
        if not before:
            return replace(self, weights=weights, bias=bias, steps=())
        return replace(self, steps=(*before[:-1], self.arrays.affine(weights, bias)))

    def agrees(self, rows: Table, predictions: FloatArray) -> bool:
        """Whether it gives the model's own predictions (rows, k): structure is found, never
        believed.
        """
        here = self.predict(rows)
        if here is None or here.shape != predictions.shape:
            return False
        return bool(np.abs(here - predictions).max() <= CLOSE * np.abs(predictions).max())

    def predict(self, rows: Table) -> FloatArray | None:
        """Predictions (rows, k); None where the rows are not what it takes."""
        taken = self.arrays.of_table(rows)
        if taken is None or taken.shape[1] != self.weights.shape[1]:
            return None
        step = max(1, self.arrays.tile // self.widest)
        with self.arrays.running():
            parts = [
                self.arrays.get(self.rest(self.first(taken[at : at + step]))).T
                for at in range(0, len(rows), step)
            ]
        return np.concatenate(parts)


ELEMENTWISE = frozenset({"logistic", "sigmoid"})
"""Last steps that make a probability of each score: the score is its log-odds."""

LOG_ODDS: dict[tuple[str, int], list[list[float]]] = {
    ("two classes", 1): [[-1.0], [1.0]],
    ("softmax", 2): [[1.0, -1.0], [-1.0, 1.0]],
}
"""By last step and number of scores: the log-odds of its probabilities, a matrix times the
scores.
"""


def settled(linear: LinearFirst, output: Output) -> tuple[LinearFirst, Output]:
    """The model's steps to what is explained, and what is left to do: log-odds of a logistic model
    are its scores.
    """
    scores = linear.log_odds if output.function is logit else None
    return (linear, output) if scores is None else (scores, Output())


def is_additive(linear: LinearFirst, output: Output) -> bool:
    """Whether what is explained is linear in the features."""
    steps, left = settled(linear, output)
    return not steps.steps and left.function is None


def times(arrays: Arrays, left: Any, right: Any) -> Any:
    """Of left (a, pairs, b) and right (b, m), the products (a, pairs, m).

    On a host each pair meets each panel of columns in a product of its own, so that all have one
    shape. One call makes those of all pairs with a panel, or of all panels with a pair, whichever
    are more.
    """
    pairs = left.shape[1]
    columns = right.shape[1]
    if not arrays.fixed:
        return (left.reshape(-1, len(right)) @ right).reshape(len(left), pairs, columns)
    panel = first_panel(arrays, len(left), len(right))
    whole = arrays.padded(right, -(-columns // panel) * panel)
    panels = whole.reshape(len(right), -1, panel).swapaxes(0, 1)
    if pairs > len(panels):
        lefts = left.swapaxes(0, 1)
        products = arrays.joined([lefts @ some[None] for some in panels], 2)
        return products.swapaxes(0, 1)[..., :columns]
    by_pair = [
        (left[:, pair][None] @ panels).swapaxes(0, 1).reshape(len(left), 1, -1)
        for pair in range(pairs)
    ]
    return arrays.joined([product[..., :columns] for product in by_pair], 1)


@lru_cache
def first_panel(arrays: Arrays, height: int, length: int) -> int:
    """Columns that a product with a matrix (height, length) takes at once."""
    few = min(height, max(1, CALL_NUMBERS // length))  # of a large one some rows tell
    left = arrays.put(np.random.default_rng(0).normal(size=(1, few, length)))
    return even_panel(arrays, length, lambda right: left @ right, FIRST_PANEL)


def even_panel(arrays: Arrays, length: int, product: Callable[[Any], Any], most: int) -> int:
    """Columns of a panel (length, columns), at most so many, of which each has the same bits
    wherever it stands: kernels of some processors add up the first and the last few in another
    order than those between.
    """
    # of one number alone both orders may come to the same bits
    draws = max(1, min(SEVERAL, CALL_NUMBERS // (length * most)))
    column = arrays.put(np.random.default_rng(1).normal(size=(draws, length, 1)))
    columns = most
    while columns > 1:
        made = product(arrays.joined([column] * columns, 2))
        if bool((made == made[..., :1]).all()):
            break
        columns = 1 << (columns - 1).bit_length() - 1  # the next lower power of two
    return columns


def affine(weights: NDArray[Any], bias: NDArray[Any]) -> Step:
    """The step Wh + c in numpy; weights (new width, width)."""

    def apply(hidden: Any) -> Any:
        result = weights @ hidden
        result += bias[:, None]
        return result

    return Step("affine", apply, weights, bias, by_panel=True)


STEPS = {name: Step(name, apply, by_panel=True) for name, apply in ACTIVATIONS.items()}
"""Steps in numpy by name; 'identity' is no step."""


def layered(
    weights: Sequence[NDArray[Any]], biases: Sequence[NDArray[Any]], activations: Sequence[str]
) -> LinearFirst:
    """A multilayer perceptron in numpy: weights (new width, width) and biases per layer, and the
    activation after each.
    """
    dtype = np.result_type(np.float32, *weights, *biases)
    (first, bias), *others = [
        (weight.astype(dtype), bias.astype(dtype))
        for weight, bias in zip(weights, biases, strict=True)
    ]
    after = [[] if name == "identity" else [STEPS[name]] for name in activations]
    steps = after[0]
    for layer, activation in zip(others, after[1:], strict=True):
        steps += [affine(*layer), *activation]
    return LinearFirst(first, bias, tuple(steps), Arrays(dtype))
