"""An explanation as a tidy pandas DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from owenshap.explain.explanation import AXES_OF, OUTPUTS, ROWS, Explanation
from owenshap.explain.summary import with_axes
from owenshap.tables.frame_pandas import tidy

if TYPE_CHECKING:
    import pandas


def frame(explanation: Explanation) -> pandas.DataFrame:
    """One line per row, feature and output."""
    whole = with_axes(explanation, *AXES_OF["values"])
    row, player, output = np.indices(whole.shape).reshape(3, whole.values.size)
    columns: dict[str, Any] = {}
    if ROWS in explanation.axes:
        columns["row"] = row if whole.row_ids is None else whole.row_ids[row]
    columns["feature"] = np.array(whole.feature_names, object)[player]
    if OUTPUTS in explanation.axes:
        names = whole.output_names
        columns["output"] = output if names is None else np.array(names, object)[output]
    columns |= {
        "data": whole.data[row, player],
        "value": whole.values.reshape(-1),
        "standard_error": whole.standard_errors.reshape(-1),
        "lower": whole.lower.reshape(-1),
        "upper": whole.upper.reshape(-1),
        "doubtful": whole.doubtful[row, output],
    }
    return tidy(columns)
