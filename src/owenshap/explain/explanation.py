"""Explanations: what each feature added to each row's prediction, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, NDArray

from owenshap.designs.indices import SHAPLEY
from owenshap.errors import InputError
from owenshap.explain.indexing import Key, pick, resolve
from owenshap.support.arrays import ROUNDING, FloatArray, IntArray
from owenshap.support.checks import whole_number
from owenshap.support.extras import needed

if TYPE_CHECKING:
    import pandas
    import shap

    from owenshap import report
    from owenshap.explain.interactions import Interactions
    from owenshap.run.keeping import KeptRow

ROWS, PLAYERS, OUTPUTS = "rows", "players", "outputs"
AXES_OF: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("values", "standard_errors", "lower", "upper"), (ROWS, PLAYERS, OUTPUTS)),
    **dict.fromkeys(("base_values", "predictions", "doubtful"), (ROWS, OUTPUTS)),
    **dict.fromkeys(("evaluations", "model_rows", "stopped_by", "because", "row_ids"), (ROWS,)),
    "convergence": (ROWS,),
    "data": (ROWS, PLAYERS),
}
"""The axes of each array of an explanation, where none is sliced away; `convergence` has two more,
(looks, 2).
"""


@dataclass(frozen=True, eq=False)
class Explanation(NDArrayOperatorsMixin):
    """What each feature added to each row's prediction.

    Slices like an array, by number and by name: explanation[0], explanation[:10, "age"],
    explanation[..., "class 1"]. A number or a single name takes its axis away. Numpy takes it for
    its values: np.abs(explanation), explanation - other and the like are plain arrays.
    """

    values: FloatArray
    """(rows, players), or (rows, players, outputs) where there is more than one output."""
    base_values: FloatArray
    """The value of the empty coalition, (rows,) or (rows, outputs)."""
    predictions: FloatArray
    """The value of the grand coalition: what is explained, (rows,) or (rows, outputs)."""
    data: NDArray[Any] = field(repr=False)
    """The explained rows, (rows, players); the features of a group are put together as text."""
    feature_names: list[str]
    """Names of the features; of groups, what they are called."""
    output_names: list[str] | None
    standard_errors: FloatArray = field(repr=False)
    """As values; NaN for rows of a single replicate and for biased methods, as are the ends of
    their intervals.
    """
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    doubtful: NDArray[Any]
    """Why the intervals of a row may mislead, or why there is none, (rows,) or (rows, outputs); ''
    where nothing says so.
    """
    evaluations: IntArray
    """Coalitions valued for each row."""
    model_rows: IntArray
    """Rows that the model predicted for it."""
    method: str
    seed: int | None
    """None where rows of several seeds were put together."""
    confidence: float
    axes: tuple[str, ...] = (ROWS, PLAYERS)
    """The axes that values have."""
    stopped_by: NDArray[Any] | None = field(default=None, repr=False)
    """Why the estimate of each row ended, (rows,)."""
    because: NDArray[Any] | None = field(default=None, repr=False)
    """By which method each row was estimated, and why by that, (rows,)."""
    unit: str | None = None
    """What is explained: 'log-odds', 'probability', 'prediction', …; None where that is not
    known.
    """
    row_ids: NDArray[Any] | None = field(default=None, repr=False)
    """What each row is called, (rows,): the index of a pandas frame, else the row's number in the
    call; None where that is not known.
    """
    index: str = SHAPLEY.name
    """Which levels count how much; values sum to the prediction with 'shapley' alone."""
    convergence: FloatArray | None = field(default=None, repr=False)
    """How the accuracy of each row went, (rows, looks, 2): evaluations so far, and the half-width
    of all values at once then, in units of the tolerance; nan after the last look. None where no
    tolerance was asked for, or values are exact.
    """
    kept: tuple[KeptRow | None, ...] | None = field(default=None, repr=False)
    """The evaluations of each row, where they were to be kept; they are not written to files."""

    @property
    def gap(self) -> FloatArray:
        """Prediction − base value less the sum of the values: 0 but for rounding where the method
        is efficient.

        Of some players only, what those leave: the values of the others are in it.
        """
        if PLAYERS not in self.axes:
            raise InputError(
                "gap",
                "be asked of all features",
                "one feature",
                "Take it from the whole explanation",
            )
        return self.predictions - self.base_values - self.values.sum(axis=self.axes.index(PLAYERS))

    @property
    def half_widths(self) -> FloatArray:
        """How far the intervals reach, on their longer side; NaN where there is none."""
        return np.maximum(self.upper - self.values, self.values - self.lower)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, key: Key) -> Explanation:
        index = resolve(key, self.axes, {PLAYERS: self.feature_names, OUTPUTS: self.output_names})
        kept: dict[str, Any] = {
            "axes": tuple(axis for axis in self.axes if not isinstance(index[axis], int))
        }
        for name, axes in AXES_OF.items():
            array = getattr(self, name)
            kept[name] = (
                None
                if array is None
                else pick(array, [index[axis] for axis in axes if axis in index])
            )
        for name, axis in (("feature_names", PLAYERS), ("output_names", OUTPUTS)):
            names = getattr(self, name)
            if names is not None and axis in index:
                kept[name] = [names[i] for i in np.atleast_1d(np.arange(len(names))[index[axis]])]
        return replace(self, **kept, kept=self._kept_of(index))

    def _kept_of(self, index: Mapping[str, Any]) -> tuple[KeptRow | None, ...] | None:
        """The kept evaluations of some rows; of some players only they are of no use."""
        if self.kept is None or isinstance(index.get(ROWS, 0), int):
            return None
        others = [each for axis, each in index.items() if axis != ROWS]
        if any(not isinstance(each, slice) or each != slice(None) for each in others):
            return None
        return tuple(self.kept[row] for row in np.arange(len(self.kept))[index[ROWS]].tolist())

    def under(self, index: Any) -> Explanation:
        """The values under another index, from the evaluations that were kept
        (`explainer(X, keep=True)`): nothing is evaluated.

        Parameters
        ----------
        index : str or (nodes, weights)
            As for `owenshap.estimate`.
        """
        from owenshap.explain.pairing import explanation_under

        return explanation_under(self, index)

    def interactions(self, index: Any = "shapley") -> Interactions:
        """What pairs of players add together, from the evaluations that were kept
        (`explainer(X, keep=True)`): nothing is evaluated.

        Parameters
        ----------
        index : str or (nodes, weights)
            As for `owenshap.interactions`.
        """
        from owenshap.explain.pairing import of_explanation

        return of_explanation(self, index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Functions of numpy and operators, as `explanation - other`, take it for its values."""
        arrays = (each.values if isinstance(each, Explanation) else each for each in inputs)
        return getattr(ufunc, method)(*arrays, **kwargs)

    __eq__ = object.__eq__  # one object is itself alone, as in any collection
    __ne__ = object.__ne__
    __hash__ = object.__hash__

    @property
    def abs(self) -> FloatArray:
        """The absolute values, a plain array; `owenshap.importance` has their means, with
        intervals.
        """
        return np.abs(self.values)

    def mean(self, axis: int | tuple[int, ...] | None = None) -> Any:
        """The mean of the values along an axis, a plain array: mean(0) is over the rows."""
        return self.values.mean(axis=axis)

    @property
    def shap_values(self) -> FloatArray:
        """The values, by shap's word."""
        return self.values

    @property
    def expected_value(self) -> FloatArray:
        """The base values, by shap's word."""
        return self.base_values

    def sample(self, rows: int, *, seed: int = 0) -> Explanation:
        """So many rows, drawn without replacement, in the order that they have here.

        Parameters
        ----------
        rows : int
            How many; all of them where there are no more.
        seed : int
            The same seed draws the same rows.
        """
        self._of_rows("sample")
        rows = whole_number("rows", rows, 1, "It counts rows to draw")
        rng = np.random.default_rng(whole_number("seed", seed, 0, "Give a whole number"))
        return self[np.sort(rng.permutation(len(self))[:rows])]

    def sorted(self, by: str | ArrayLike = "prediction", *, descending: bool = True) -> Explanation:
        """The rows in another order; rows that are equal in it stay as they are.

        Parameters
        ----------
        by : str or array
            'prediction', a feature's name (by its contribution), or a number for each row. With
            several outputs, pick one first.
        descending : bool
            Whether the largest come first.
        """
        self._of_rows("sorted")
        keys = np.asarray(self._keys(by) if isinstance(by, str) else by)
        if keys.shape != (len(self),):
            rule = f"be one number for each of the {len(self):,} rows"
            advice = "Pick an output first" if OUTPUTS in self.axes else "Give as many as rows"
            raise InputError("by", rule, f"shape {keys.shape}", advice)
        order = np.argsort(keys[::-1], kind="stable")[::-1]  # from behind: equal ones stay
        return self[len(self) - 1 - order if descending else np.argsort(keys, kind="stable")]

    def _keys(self, by: str) -> FloatArray:
        if by == "prediction" and by not in self.feature_names:
            return self.predictions
        return self[:, by].values

    def _of_rows(self, what: str) -> None:
        if ROWS not in self.axes:
            raise InputError(what, "have an explanation of rows", "one row", "Leave it out")

    def to_frame(self) -> pandas.DataFrame:
        """A tidy pandas DataFrame: one line per row, feature and output, with the interval and the
        player's data.
        """
        from owenshap.explain.summary import frame

        return frame(self)

    def to_shap(self) -> shap.Explanation:
        """The same as shap's Explanation, for shap's own plots; its waterfall draws our
        intervals.

        shap takes base value + sum of values for the prediction. Where the values leave a gap, or
        only some features are here, that is put into the base values, so that it is.
        """
        shap = needed("shap", extra="shap")
        known = bool(np.isfinite(self.lower).any())
        return shap.Explanation(
            values=self.values,
            base_values=self._base_for_shap(),
            data=self.data,
            feature_names=list(self.feature_names),
            output_names=self.output_names if OUTPUTS in self.axes else None,
            lower_bounds=self.lower if known else None,
            upper_bounds=self.upper if known else None,
        )

    def _base_for_shap(self) -> FloatArray:
        """Base values that the values lead from to the predictions; but for rounding, their own."""
        if PLAYERS not in self.axes:
            return self.base_values
        gap = self.gap
        size = np.abs(self.base_values) + self.abs.sum(axis=self.axes.index(PLAYERS))
        return np.where(np.abs(gap) > ROUNDING * size, self.base_values + gap, self.base_values)[()]

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file: arrays and JSON in a zip (npz), readable without this package and
        without pickle.
        """
        from owenshap.explain.saving import write

        write(self, path)

    def report(
        self, path: str | PathLike[str] | None = None, *, title: str | None = None
    ) -> report.Page:
        """A page on what mattered, how sure that is, and why each row got its prediction.

        Parameters
        ----------
        path : path, optional
            A file to write it to, which needs nothing else. As the last value of a notebook's cell
            the page is shown there.
        title : str, optional
            Its heading.

        Returns
        -------
        Page
            With its text in `html`; `owenshap.report.write` has more settings.
        """
        import owenshap  # by the surface: the page is made above this room

        page = owenshap.report.page(self, title=title)
        if path is not None:
            page.save(path)
        return page

    def __repr__(self) -> str:
        from owenshap.explain.notebook import text

        return text(self)

    def _repr_html_(self) -> str:
        from owenshap.explain.notebook import html

        return html(self)
