"""ONNX: files, models in memory and onnxruntime's sessions; the one file that names onnxruntime."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.models.base import IN_A_CACHE, Model, usual_row_seconds
from owenshap.support.extras import needed
from owenshap.tables import Table
from owenshap.tables.array import ArrayTable
from owenshap.tables.tensor import TensorTable

DTYPES: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(string)": np.object_,
    **{f"tensor({name})": name for name in ("float16", "bool")},
    **{
        f"tensor({sign}int{bits})": f"{sign}int{bits}"
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}
FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")
# how the type of scikit-learn's list of {class: probability} begins
PROBABILITIES_BY_CLASS = "seq(map("


@dataclass
class OnnxModel(Model):
    """An ONNX model with one input of rows, or one input per column, run by onnxruntime.

    Rows are cast to the dtypes of the inputs. What is explained are the probabilities where there
    are any, else the only output of floats; `predict` names another output. Files run on the CPU:
    give a session for other providers and options.
    """

    session: Any
    output: str
    source: str | bytes | None
    """The file or the model itself, where the session can be made anew in another process."""
    labels: list[Any] | None = None
    """The classes, known once a prediction has named them."""

    packages = ("onnxruntime", "onnx")
    batch_elements = IN_A_CACHE

    @property
    def row_seconds(self) -> float:
        return usual_row_seconds(self.session)

    @classmethod
    def distance(cls, model: object) -> int | None:
        return (
            0
            if isinstance(model, (str, Path)) and Path(model).suffix == ".onnx"
            else super().distance(model)
        )

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        source = _source(model)
        session = model if source is None else _session(source)
        fixed = [
            taken
            for taken in session.get_inputs()
            if taken.shape and isinstance(taken.shape[0], int)
        ]
        if fixed:
            raise InputError(
                "model",
                "take any number of rows",
                f"{fixed[0].shape[0]} rows at a time in input {fixed[0].name!r}",
                "Export it with a first axis of no fixed length",
            )
        unknown = next((taken for taken in session.get_inputs() if taken.type not in DTYPES), None)
        if unknown is not None:
            raise InputError(
                "model",
                "take tensors of numbers or texts",
                f"{unknown.type} in input {unknown.name!r}",
                "Explain a function that runs the session",
            )
        return cls(session, _chosen(session.get_outputs(), predict), source)

    def __getstate__(self) -> dict[str, Any]:
        if self.source is None:
            raise TypeError(
                "cannot pickle a session of onnxruntime: give the ONNX file's path in its place"
            )
        return {**self.__dict__, "session": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, session=_session(state["source"]))

    def prepare(self, table: Table) -> Table:
        if isinstance(table, TensorTable):
            table = ArrayTable.of(table.host(table.batch()), table.names)
        inputs = [taken.name for taken in self.session.get_inputs()]
        if len(inputs) == 1:
            return table
        if isinstance(table, ArrayTable):
            shuffled = set(table.names) == set(inputs) and table.names != inputs
            if table.n_features != len(inputs) or shuffled:
                raise InputError(
                    "data",
                    f"have the columns {', '.join(inputs)} as the model has inputs",
                    f"{', '.join(table.names)}",
                    "Put them in this order, or give a DataFrame",
                )
            return table
        missing = [name for name in inputs if name not in _by_input_name(table.names)]
        if missing:
            raise InputError(
                "data",
                "have a column for each input of the model",
                f"no {', '.join(missing)}",
                f"Its inputs are {', '.join(inputs)}",
            )
        return table

    def predict(self, batch: Any) -> NDArray[Any]:
        inputs = self.session.get_inputs()
        feed = (
            {inputs[0].name: _cast(batch, inputs[0])}
            if len(inputs) == 1
            else _by_column(batch, inputs)
        )
        raw = self.session.run([self.output], feed)[0]
        if not isinstance(raw, list):
            return raw
        self.labels = [*raw[0]]
        return np.array([[row[label] for label in raw[0]] for row in raw])


def _source(model: Any) -> str | bytes | None:
    """What the session can be made of again; None for a session itself."""
    if isinstance(model, (str, Path)):
        path = Path(model).absolute()
        if not path.is_file():
            raise InputError("model", "be an ONNX file that exists", str(model), "Check its path")
        return str(path)
    if type(model).__name__ == "ModelProto":
        return model.SerializeToString()
    if isinstance(model, needed("onnxruntime", extra="onnx").InferenceSession):
        return None
    raise InputError(
        "model",
        "be an ONNX file, model or session",
        type(model).__name__,
        "Give the path of the .onnx file",
    )


def _session(source: str | bytes) -> Any:
    runtime = needed("onnxruntime", extra="onnx")
    try:
        return runtime.InferenceSession(source, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no common type of their own
        what = source if isinstance(source, str) else "model"
        raise InputError(
            what,
            "be an ONNX model that onnxruntime takes",
            str(error),
            "Check it with onnx.checker",
        ) from error


def _chosen(outputs: list[Any], predict: str | None) -> str:
    """The output that is explained: the one named, else the probabilities, else the only one of
    floats, or of numbers.
    """
    types = {
        output.name: output.type
        for output in outputs
        if output.type in DTYPES or output.type.startswith(PROBABILITIES_BY_CLASS)
    }
    numbers = [name for name, kind in types.items() if kind != "tensor(string)"]
    if predict is not None and predict not in numbers:
        raise InputError(
            "predict",
            f"name one of the outputs {', '.join(numbers)}",
            predict,
            "Leave it out for the probabilities",
        )
    by_class = [name for name in numbers if types[name].startswith(PROBABILITIES_BY_CLASS)]
    floats = [name for name in numbers if types[name] in FLOATS]
    probabilities = [name for name in floats if "prob" in name.lower()]
    likely = next(
        (
            names
            for names in ([predict] if predict else [], by_class, probabilities, floats, numbers)
            if names
        ),
        [],
    )
    if len(likely) != 1:
        raise InputError(
            "model",
            "have one output of numbers",
            f"the outputs {', '.join(output.name for output in outputs)}",
            "Name the one to explain, as in predict='logits'",
        )
    return likely[0]


def _cast(column: Any, wanted: Any) -> NDArray[Any]:
    """Rows or a column in the dtype that the input takes."""
    return np.ascontiguousarray(np.asarray(column, dtype=DTYPES[wanted.type]))


def _by_column(batch: Any, inputs: list[Any]) -> dict[str, NDArray[Any]]:
    """Each input from the column of its name, or of its place where columns have no names."""
    if isinstance(batch, np.ndarray):
        columns = dict(zip([taken.name for taken in inputs], batch.T, strict=True))
    else:
        columns = {name: batch[column] for name, column in _by_input_name(batch.columns).items()}
    return {
        taken.name: _cast(columns[taken.name], taken).reshape(-1, *[1] * (len(taken.shape) - 1))
        for taken in inputs
    }


def _by_input_name(columns: Any) -> dict[str, Any]:
    """Columns by the names that inputs have: as they are, and as converters write them, without
    spaces and signs.
    """
    return {re.sub(r"\W", "_", str(column)): column for column in columns} | {
        str(column): column for column in columns
    }
