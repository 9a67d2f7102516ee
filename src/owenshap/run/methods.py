"""The names that `method=` takes, and the estimators that are called so."""

from __future__ import annotations

import difflib

from owenshap.errors import InputError, UnknownMethodError
from owenshap.estimators import Estimator, by_name

TREES = "trees"  # exact values from a model's own trees: for an Explainer, not for games

OF_SHAP = {
    "permutation": "castro",
    "sampling": "castro",
    "kernel": "linear",
    "tree": TREES,
    "partition": "auto",
    "deep": "auto",
    "gradient": "auto",
    "additive": "auto",
}
"""What methods of shap are called here."""


def methods() -> list[str]:
    """The names that `method=` takes.

    >>> import owenshap
    >>> "halved-owen" in owenshap.methods()
    True
    """
    return ["auto", *by_name(), TREES]


def named(method: object) -> Estimator:
    """The estimator of a name, or itself; an error that says what is near."""
    if isinstance(method, Estimator):
        return method
    names = methods()
    if not isinstance(method, str) or method not in names:
        near = [OF_SHAP[str(method)]] if str(method) in OF_SHAP else []
        near = near or difflib.get_close_matches(str(method), names, n=1, cutoff=0.4)
        advice = f"Perhaps '{near[0]}' is meant" if near else "owenshap.methods() lists them"
        raise UnknownMethodError(
            "method", f"be one of {', '.join(names)}, or an Estimator", method, advice
        )
    if method == TREES:
        rule = "be for a game, which has no trees to read"
        raise InputError("method", rule, method, "Give the model itself to an Explainer")
    return by_name()[method]()
