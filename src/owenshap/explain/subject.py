"""What of a model is explained: which of its predictions, and what they are."""

from __future__ import annotations

import warnings
from typing import Any

from owenshap.errors import InputError
from owenshap.games.outputs import Choice
from owenshap.models import Model, as_model
from owenshap.support.units import LOG_ODDS, PROBABILITY, SCORE

LOGIT = "logit"
INSTEAD = {PROBABILITY: "output='probability'", SCORE: "predict='decision_function'"}
"""How to have something else explained; else by predict='predict'."""

_warned = False
"""Whether this process was told what is explained by default."""


def settled_model(given: Any, predict: str | None, output: Choice) -> tuple[Model, Choice]:
    """The model that predicts what is to be explained, and what is left to choose of its outputs.

    Boosted and logistic classifiers predict log-odds. 'probability' is what they become, 'logit'
    what they are; each of two classes can be chosen.
    """
    model = as_model(given, predict)
    asked = output if isinstance(output, str) and output not in (model.output_names or ()) else None
    if asked == PROBABILITY:
        return _probabilities(model), None
    if asked == LOGIT and model.unit == LOG_ODDS:
        return model, None
    if asked == LOGIT and model.unit == SCORE and predict is None:
        return model.probabilities() or model, output
    if model.formerly is not None:
        _warn(model.unit, model.formerly)
    chooses = output is not None and not callable(output)
    return (model.of_both_classes() if chooses else model), output


def _probabilities(model: Model) -> Model:
    predicting = model.probabilities()
    if predicting is None:
        advice = "Leave it out to explain what the model predicts"
        rule = "not be 'probability' for a model that has none"
        raise InputError("output", rule, PROBABILITY, advice)
    return predicting


def _warn(unit: str | None, formerly: str) -> None:
    """Tell once what is explained, and how to have the other thing that may be expected."""
    global _warned  # noqa: PLW0603 (once per process)
    if _warned:
        return
    _warned = True
    instead = INSTEAD.get(formerly, "predict='predict'")
    message = (
        f"The {unit} of this model is explained; {instead} explains its {formerly}. This is told "
        "once."
    )
    warnings.warn(message, UserWarning, stacklevel=5)
