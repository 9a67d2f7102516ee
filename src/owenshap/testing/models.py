"""What every kind of model promises, a check for each promise."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from owenshap.explain.explainer import Explainer
from owenshap.explain.explanation import Explanation
from owenshap.games.outputs import as_predictions
from owenshap.models import ROUNDING, Model, as_model
from owenshap.support.arrays import FloatArray
from owenshap.tables import Table, as_table
from owenshap.testing.trials import PLAYERS, pass_all, require


@dataclass(frozen=True, eq=False)
class Trial:
    """A model with rows to explain and a background, both as the model takes them."""

    model: Model
    rows: Table = field(repr=False)
    background: Table = field(repr=False)

    def predictions(self, table: Table) -> FloatArray:
        """The model's predictions (m, k) of all rows of a table."""
        return as_predictions(self.model.predict(table.batch()), len(table), "the model")

    def explained(self, rows: Table, background: Table, model: Model | None = None) -> Explanation:
        """An exact explanation, with the features put together into a few players."""
        names = rows.names
        groups = {f"part {part}": names[part::PLAYERS] for part in range(PLAYERS)}
        players = groups if len(names) > PLAYERS else None
        explainer = Explainer(model or self.model, background.batch(), players=players)
        return explainer(rows.batch(), method="exact", progress=False)


def check_model(model: Any, rows: Any, background: Any, *, predict: str | None = None) -> None:
    """Check that a model keeps every promise that explanations rely on.

    A row's prediction depends on that row alone and is the same every time; the model gets batches
    of the type, columns and dtypes of the data and is left as it was; explanations add up to its
    own predictions, and features that make no difference get 0.

    Parameters
    ----------
    model
        Anything that `owenshap.Explainer` takes, or an `owenshap.models.Model`.
    rows, background
        At least two rows each, in the type that the model takes, different from each other.
    predict : str, optional
        The model's method to call.

    Raises
    ------
    AssertionError
        Naming the check that failed, and by how much.

    See Also
    --------
    MODEL_CHECKS : the checks one by one, each a function of a trial.

    Examples
    --------
    >>> import numpy as np
    >>> from owenshap.testing import check_model
    >>> rows = np.random.default_rng(0).normal(size=(20, 4))
    >>> check_model(lambda batch: batch[:, 0] * batch[:, 1], rows[:10], rows[10:])
    """
    trial = trial_of(model, rows, background, predict)
    pass_all(MODEL_CHECKS, trial, type(trial.model).__name__)


def trial_of(model: Any, rows: Any, background: Any, predict: str | None = None) -> Trial:
    """The model with a few of the rows, in the order of the background's columns."""
    kind = as_model(model, predict)
    absent = kind.prepare(as_table(background))
    present = kind.prepare(as_table(rows)).like(absent, "rows")
    require(
        min(len(present), len(absent)) >= 2,
        f"there must be 2 rows at least; got {len(present)} and {len(absent)}",
    )
    return Trial(kind, _first(present), _first(absent))


def check_predictions(trial: Trial) -> None:
    """Predictions are finite numbers, one row of them for each row of a batch, named where they
    have names.
    """
    result = trial.predictions(trial.rows)
    require(np.isfinite(result).all(), "predictions must be finite; some are not")
    names = trial.model.output_names
    require(
        names is None or len(names) == result.shape[1],
        f"output_names must name {result.shape[1]} outputs; got {names}",
    )


def check_repetition(trial: Trial) -> None:
    """The same batch has the same predictions every time."""
    _require_same(
        trial,
        trial.predictions(trial.rows),
        trial.predictions(trial.rows),
        "a second prediction must be the first",
    )


def check_batches(trial: Trial) -> None:
    """A row's prediction is the same alone, among others, and in any order."""
    in_batch = trial.predictions(trial.rows)
    count = len(trial.rows)
    alone = np.concatenate(
        [trial.predictions(trial.rows.take(np.array([row]))) for row in range(count)]
    )
    _require_same(trial, alone, in_batch, "a row alone must be predicted as in a batch")
    turned = trial.predictions(trial.rows.take(np.arange(count)[::-1]))
    _require_same(
        trial, turned[::-1], in_batch, "rows in another order must have the same predictions"
    )


def check_composites(trial: Trial) -> None:
    """The model gets composites of the type, columns and dtypes of the rows."""
    spy = _Spy(trial.model)
    trial.explained(trial.rows, trial.background, spy)
    wanted = _signature(trial.rows.batch())
    other = next((seen for seen in spy.seen if seen != wanted), wanted)
    require(other == wanted, f"batches must be {wanted}; got {other}")


def check_unchanged(trial: Trial) -> None:
    """Explaining changes neither the model nor the data."""
    before = trial.predictions(trial.rows)
    rows, background = (_snapshot(table) for table in (trial.rows, trial.background))
    trial.explained(trial.rows, trial.background)
    require(_snapshot(trial.rows) == rows, "rows must be left as they were; they changed")
    require(
        _snapshot(trial.background) == background,
        "the background must be left as it was; it changed",
    )
    _require_same(
        trial,
        trial.predictions(trial.rows),
        before,
        "predictions must be the same after an explanation",
    )


def check_efficiency(trial: Trial) -> None:
    """Values add up to the model's own predictions less their mean over the background."""
    result = trial.explained(trial.rows, trial.background)
    predictions = trial.predictions(trial.rows)
    mean = trial.predictions(trial.background).mean(axis=0)
    _require_same(
        trial,
        result.predictions.reshape(predictions.shape),
        predictions,
        "predictions must be the model's own",
    )
    _require_same(
        trial,
        result.base_values.reshape(predictions.shape),
        mean,
        "base values must be its mean over the background",
    )
    sums = result.values.sum(axis=1).reshape(predictions.shape)
    _require_same(
        trial, sums, predictions - mean, "values must sum to the prediction less the base value"
    )


def check_null_player(trial: Trial) -> None:
    """Features that are the same in all background rows get 0 and cost nothing."""
    background = trial.background.take(np.array([0]))
    require(
        trial.rows.n_features >= 2,
        "there must be 2 features at least to hold one of them fixed; got 1",
    )
    fixed = np.arange(trial.rows.n_features) % 2 == 1
    mixed = trial.rows.composer(background, np.arange(trial.rows.n_features))(
        np.arange(len(trial.rows)),
        np.tile(~fixed, (len(trial.rows), 1)),
        np.zeros((1, 1), np.int64),
    )
    itself = Explainer(trial.model, background.batch())(background.batch(), progress=False)
    cost = int(itself.model_rows[0])
    require(
        cost == 1 and (itself.values == 0).all(),
        f"a row that is its own background must cost 1 prediction; it cost {cost}",
    )
    spy = _Spy(trial.model)
    result = Explainer(spy, background.batch())(
        mixed, method="castro", budget=4 * trial.rows.n_features, progress=False
    )
    require(
        (result.values[:, fixed] == 0).all(),
        f"null players must get 0; they got {result.values[:, fixed]}",
    )
    said = result.model_rows.sum()
    seen = sum(spy.sizes)
    require(said == seen, f"model_rows must be what the model saw, {seen}; got {said}")


def check_row_order(trial: Trial) -> None:
    """An explanation does not depend on where its row stands."""
    turned = trial.rows.take(np.arange(len(trial.rows))[::-1])
    _require_same(
        trial,
        trial.explained(turned, trial.background).values[::-1],
        trial.explained(trial.rows, trial.background).values,
        "rows in another order must have the same values",
    )


def check_pickling(trial: Trial) -> None:
    """It goes to another process and predicts the same there, or says that it cannot."""
    try:
        sent = pickle.dumps(trial.model)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        require(
            "pickle" in str(error), f"a model that cannot be pickled must say so; it says {error}"
        )
        return
    again = Trial(pickle.loads(sent), trial.rows, trial.background)
    _require_same(
        trial,
        again.predictions(trial.rows),
        trial.predictions(trial.rows),
        "it must predict the same when unpickled",
    )


MODEL_CHECKS: list[Callable[[Trial], None]] = [
    check_predictions,
    check_repetition,
    check_batches,
    check_composites,
    check_unchanged,
    check_efficiency,
    check_null_player,
    check_row_order,
    check_pickling,
]


@dataclass
class _Spy(Model):
    """A model that remembers the batches it got."""

    model: Model
    seen: list[tuple[object, ...]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    packages = ()

    @classmethod
    def of(cls, model: Any, predict: str | None) -> _Spy:
        return cls(as_model(model, predict))

    def prepare(self, table: Table) -> Table:
        return self.model.prepare(table)

    def predict(self, batch: Any) -> Any:
        self.seen.append(_signature(batch))
        self.sizes.append(len(batch))
        return self.model.predict(batch)


def _signature(batch: Any) -> tuple[object, ...]:
    """Type, columns, dtypes with their categories, and shape of a row."""
    dtypes = getattr(batch, "dtypes", None)
    kinds = [repr(batch.dtype)] if dtypes is None else [repr(dtype) for dtype in dtypes]
    return type(batch).__name__, as_table(batch).names, kinds, tuple(batch.shape[1:])


def _snapshot(table: Table) -> str:
    """All cells as text, to see whether one has changed."""
    return repr(table.cells().tolist())


def _first(table: Table) -> Table:
    return table.take(np.arange(min(len(table), PLAYERS)))


def _require_same(trial: Trial, result: FloatArray, wanted: FloatArray, rule: str) -> None:
    gap = float(np.abs(result - wanted).max())
    scale = float(1 + np.abs(trial.predictions(trial.rows)).max())
    require(gap <= ROUNDING * scale, f"{rule}; they are {gap:.3g} apart")
