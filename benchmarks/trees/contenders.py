"""Who explains trees: each is a whole call, from a fitted model to an array of values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import owenshap

Values = np.ndarray
Contender = Callable[[Any, np.ndarray, np.ndarray], Values]
"""Of a model, a background and rows: values (rows, features) or (rows, features, outputs)."""


def ours(model: Any, background: np.ndarray, rows: np.ndarray) -> Values:
    """As a user calls it."""
    return owenshap.Explainer(model, background)(rows).values


def shap(model: Any, background: np.ndarray, rows: np.ndarray) -> Values:
    """With all of the background: an array alone would be cut to 100 rows."""
    from shap import TreeExplainer
    from shap.maskers import Independent

    masker = Independent(background, max_samples=len(background))
    explainer = TreeExplainer(model, masker, feature_perturbation="interventional")
    return np.asarray(explainer.shap_values(rows, check_additivity=False))


def woodelf(model: Any, background: np.ndarray, rows: np.ndarray) -> Values:
    """It takes frames alone; making them is no work to speak of."""
    from pandas import DataFrame
    from woodelf import WoodelfExplainer

    explainer = WoodelfExplainer(model, DataFrame(background))
    return np.asarray(explainer.shap_values(DataFrame(rows), verbose=False))


def shapiq(model: Any, background: np.ndarray, rows: np.ndarray) -> Values:
    """Its own algorithm: left alone it hands large jobs to woodelf."""
    from shapiq import TreeExplainer

    explainer = TreeExplainer(
        model,
        mode="interventional",
        reference_dataset=background,
        index="SV",
        max_order=1,
        backend="shapiq",
    )
    values = np.zeros(rows.shape)
    for players, of_rows in explainer.explain_X(rows).values.items():
        values[:, players[0]] = of_rows
    return values


def own(model: Any, _: np.ndarray, rows: np.ndarray) -> Values:
    """Path-dependent values of xgboost itself: another question, for its time alone."""
    import xgboost

    matrix = xgboost.DMatrix(rows, nthread=1)
    return model.get_booster().predict(matrix, pred_contribs=True)[:, :-1]


def our_pairs(model: Any, background: np.ndarray, rows: np.ndarray) -> Values:
    """As a user calls it."""
    return owenshap.Explainer(model, background).interactions(rows).values


def our_pairs_by_cover(model: Any, _: np.ndarray, rows: np.ndarray) -> Values:
    """The same where absent features follow the trees' own cover."""
    return owenshap.Explainer(model).interactions(rows).values


def woodelf_pairs(model: Any, background: np.ndarray, rows: np.ndarray) -> Values:
    from pandas import DataFrame
    from woodelf import WoodelfExplainer

    explainer = WoodelfExplainer(model, DataFrame(background))
    return np.asarray(explainer.shap_interaction_values(DataFrame(rows), verbose=False))


def own_pairs(model: Any, _: np.ndarray, rows: np.ndarray) -> Values:
    """Path-dependent interactions of xgboost itself."""
    import xgboost

    matrix = xgboost.DMatrix(rows, nthread=1)
    return model.get_booster().predict(matrix, pred_interactions=True)[:, :-1, :-1]


PEERS: dict[str, Contender] = {"shap": shap, "woodelf": woodelf, "shapiq": shapiq}
ALL: dict[str, Contender] = {"owenshap": ours, **PEERS, "xgboost": own}
OTHER_VALUES = ("xgboost",)  # path-dependent: timed, not compared
PAIRS: dict[str, Contender] = {
    "owenshap": our_pairs,
    "woodelf": woodelf_pairs,
    "xgboost": own_pairs,
}


def run(name: str, model: Any, background: np.ndarray, rows: np.ndarray) -> Values:
    """A contender's values, without its warnings."""
    return quietly(ALL[name], model, background, rows)


def quietly(who: Contender, model: Any, background: np.ndarray, rows: np.ndarray) -> Values:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return who(model, background, rows)
