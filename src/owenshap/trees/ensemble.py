"""A sum of decision trees as plain arrays: all that is known of a model once it is read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike

from owenshap.errors import InputError
from owenshap.support.arrays import BoolArray, FloatArray, IntArray

NEARLY_ZERO = 1e-35  # where zero means missing, lightgbm takes anything so small for zero
SAME = 64 * float(np.finfo(np.float64).eps)  # of the largest leaf: by less, rounding differs
ROUNDING = float(np.finfo(np.float32).eps)  # 2⁻²³: xgboost adds its leaves in float32


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """The model is base + Σ_t (value of the leaf that a row reaches in tree t).

    All trees lie one after the other in arrays over their nodes (N,). A row goes to the left child
    of a node where its value is at most the threshold; readers turn each library's own comparison
    into this one. Means over trees are sums of smaller leaves.

    Parameters
    ----------
    roots : int (T,)
        The node that each tree begins at.
    left, right : int (N,)
        Children; −1 at leaves.
    feature : int (N,)
        The column that a node looks at; −1 at leaves.
    threshold : float64 (N,)
        Values up to this one go left.
    missing_left : bool (N,)
        Whether a missing value goes left.
    values : float64 (N, V)
        What a leaf adds to the outputs that its tree speaks of.
    outputs : int (T, V)
        Which outputs these are.
    cover : float64 (N,)
        How much of the training data came by, as the library weighs it.
    base : float64 (K,)
        What is added to each output.
    n_features : int
        Columns of a row.
    precision : dtype
        Rows are rounded to it before they are compared.
    unit : str
        What the outputs are: 'log-odds', 'probability', 'prediction', ...
    zero_is_missing : bool (N,), optional
        Where zero counts as missing.
    category_set : int (N,), optional
        Which set of categories a node looks for; −1 where it has a threshold.
    category_sets : bool (S, C), optional
        Whether category c goes left; the last column is for every category that has no column.
    missing_value : float
        A number that means missing, beside NaN.
    """

    roots: IntArray
    left: IntArray = field(repr=False)
    right: IntArray = field(repr=False)
    feature: IntArray = field(repr=False)
    threshold: FloatArray = field(repr=False)
    missing_left: BoolArray = field(repr=False)
    values: FloatArray = field(repr=False)
    outputs: IntArray = field(repr=False)
    cover: FloatArray = field(repr=False)
    base: FloatArray
    n_features: int
    precision: DTypeLike = np.float64
    unit: str = "prediction"
    zero_is_missing: BoolArray | None = field(default=None, repr=False)
    category_set: IntArray | None = field(default=None, repr=False)
    category_sets: BoolArray | None = field(default=None, repr=False)
    missing_value: float = np.nan

    @property
    def n_trees(self) -> int:
        """How many trees it adds."""
        return len(self.roots)

    @property
    def n_outputs(self) -> int:
        """How many numbers it predicts for a row."""
        return len(self.base)

    @cached_property
    def tree_of(self) -> IntArray:
        """The tree of each node (N,); the nodes of a tree lie together, its root first."""
        tree = np.zeros(len(self.left), np.int32)
        tree[self.roots[1:]] = 1
        return np.cumsum(tree, dtype=np.int32)

    def second_of_two(self) -> tuple[TreeEnsemble, float | None]:
        """The ensemble of the second output and the sum of both, where that is the same for every
        row; else the ensemble itself.
        """
        if self.values.shape[1] != 2 or self.n_outputs != 2 or not self.n_trees:
            return self, None
        leaves = np.flatnonzero(self.left < 0)
        values = self.values.take(leaves, axis=0)
        sums = values[:, 0] + values[:, 1]
        of_tree = sums[np.searchsorted(leaves, self.roots)]
        off = np.abs(sums - of_tree.take(self.tree_of.take(leaves)))
        if (
            off.max() > SAME * np.abs(values).max()
            or self.outputs.tolist() != [[0, 1]] * self.n_trees
        ):
            return self, None
        second = replace(
            self,
            values=self.values[:, 1:],
            outputs=np.zeros_like(self.outputs[:, 1:]),
            base=self.base[1:],
        )
        return second, float(self.base.sum() + of_tree.sum())

    def checked(self, rows: object) -> FloatArray:
        """Rows as they were given (m, n_features), or an error where they are no such table."""
        matrix = np.asarray(rows, np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != self.n_features:
            raise InputError(
                "rows",
                f"be a table with {self.n_features} columns",
                f"shape {matrix.shape}",
                "Give the columns that the model was trained on",
            )
        return matrix

    def matrix(self, rows: object) -> FloatArray:
        """Rows as the trees compare them (m, n_features): rounded, NaN where missing."""
        matrix = self.checked(rows)
        with np.errstate(over="ignore"):  # beyond the precision is infinity, in the library as here
            matrix = matrix.astype(self.precision).astype(np.float64)
        if not np.isnan(self.missing_value):
            matrix = np.where(matrix == self.missing_value, np.nan, matrix)
        return matrix

    def goes_left(self, nodes: IntArray, x: FloatArray, gaps: bool = True) -> BoolArray:
        """Whether a value x goes left at a node; their shapes broadcast. Without gaps, no value is
        NaN.
        """
        left = x <= self.threshold.take(nodes)
        if not gaps and self.zero_is_missing is None and self.category_set is None:
            return left
        missing = np.isnan(x)
        if self.zero_is_missing is not None:
            missing |= self.zero_is_missing[nodes] & (np.abs(x) <= NEARLY_ZERO)
        if self.category_set is not None:
            left = np.where(self.category_set[nodes] >= 0, self._in_left_set(nodes, x), left)
        return np.where(missing, self.missing_left[nodes], left) if missing.any() else left

    def _in_left_set(self, nodes: IntArray, x: FloatArray) -> BoolArray:
        assert self.category_set is not None
        assert self.category_sets is not None
        others = self.category_sets.shape[1] - 1
        known = (x > -1) & (x < others)  # a fraction counts as the whole number before it
        code = np.where(known, np.nan_to_num(x), others).astype(np.int64)
        return self.category_sets[self.category_set[nodes], code]

    def leaves(self, matrix: FloatArray) -> IntArray:
        """The leaf that each row reaches in each tree (m, T), for rows from `matrix`."""
        gaps = bool(np.isnan(matrix).any())
        cells = matrix.ravel()
        node = np.tile(self.roots, len(matrix))
        going = np.flatnonzero(self.left.take(node) >= 0)
        first = going // max(1, self.n_trees) * self.n_features  # cell of its row
        while len(going):
            here = node.take(going)
            goes_left = self.goes_left(here, cells.take(first + self.feature.take(here)), gaps)
            here = np.where(goes_left, self.left.take(here), self.right.take(here))
            node[going] = here
            inner = np.flatnonzero(self.left.take(here) >= 0)
            going = going.take(inner)
            first = first.take(inner)
        return node.reshape(len(matrix), -1)

    def predict(self, rows: object) -> FloatArray:
        """What the model predicts (m, K), in `unit`: a plain walk through every tree."""
        matrix = self.matrix(rows)
        total = np.empty((len(matrix), self.n_outputs))
        step = max(1, (1 << 20) // max(1, self.n_trees))
        for start in range(0, len(matrix), step):
            leaf = self.leaves(matrix[start : start + step])
            cells = np.arange(len(leaf) * self.n_outputs)
            place = cells[:: self.n_outputs, None, None] + self.outputs
            added = np.append(np.tile(self.base, len(leaf)), self.values.take(leaf, axis=0))
            sums = np.bincount(np.append(cells, place), added)  # in tree order, the base first
            total[start : start + step] = sums.reshape(len(leaf), -1)
        return total

    @cached_property
    def largest(self) -> FloatArray:
        """How much the leaves may add to each output (K,): Σ_t largest |leaf|."""
        total = np.zeros(self.n_outputs)
        if self.n_trees:
            largest = np.maximum.reduceat(np.abs(self.values), self.roots, axis=0)
            np.add.at(total, self.outputs, largest)
        return total

    def tolerance(self) -> FloatArray:
        """How far the library's sum may be off (K,): 2⁻²³ × trees × (|base| + Σ_t largest
        |leaf|).
        """
        return ROUNDING * max(1, self.n_trees) * (np.abs(self.base) + self.largest)
