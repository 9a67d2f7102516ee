"""What each library itself predicts, in the unit in which its trees add up."""

from __future__ import annotations

from typing import Any

import numpy as np


def margins(model: Any, rows: Any) -> Any:
    """(m,) or (m, K)."""
    library = next(
        kind.__module__.partition(".")[0]
        for kind in type(model).__mro__
        if kind.__module__.startswith(("sklearn", "xgboost", "lightgbm", "catboost"))
    )
    of_library = {
        "catboost": lambda: model.predict(rows, prediction_type="RawFormulaVal"),
        "lightgbm": lambda: _lightgbm(model, rows),
        "xgboost": lambda: _xgboost(model, rows),
        "sklearn": lambda: _scikit_learn(model, rows),
    }
    return np.asarray(of_library[library](), np.float64)


def _lightgbm(model: Any, rows: Any) -> Any:
    booster = getattr(model, "booster_", model)
    raw = model.predict(rows, raw_score=True)
    # raw scores are sums even where a forest predicts means
    is_mean = "average_output" in booster.model_to_string()
    return raw / max(1, booster.current_iteration()) if is_mean else raw


def _xgboost(model: Any, rows: Any) -> Any:
    if hasattr(model, "get_booster"):
        return model.predict(rows, output_margin=True)
    import xgboost

    names = None if hasattr(rows, "columns") else model.feature_names
    types = None if hasattr(rows, "columns") else model.feature_types
    matrix = xgboost.DMatrix(
        rows, feature_names=names, feature_types=types, enable_categorical=True
    )
    return model.predict(matrix, output_margin=True)


def _scikit_learn(model: Any, rows: Any) -> Any:
    if hasattr(model, "_average_path_length_per_tree"):
        # the score of an isolation forest is −2^(−length / usual length)
        return -np.log2(-model.score_samples(rows)) * _usual_length(model._max_samples)
    if hasattr(model, "estimator_weights_"):
        return model.decision_function(rows)
    if hasattr(model, "_raw_predict_init"):
        return model._raw_predict(np.asarray(rows, np.float32))
    if hasattr(model, "_raw_predict"):
        return model._raw_predict(rows)
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(rows)
        return np.concatenate(shares, axis=1) if isinstance(shares, list) else shares
    return model.predict(rows)


def _usual_length(count: int) -> float:
    """The mean length of a path in a tree grown on so many rows until each is alone."""
    if count <= 2:
        return float(count - 1)
    return 2 * (np.log(count - 1.0) + np.euler_gamma) - 2 * (count - 1.0) / count
