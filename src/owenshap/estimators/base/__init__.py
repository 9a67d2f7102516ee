"""What estimators have in common: the contract, and bases for stars and for fits to pairs."""

from owenshap.estimators.base.closed_form import ClosedForm
from owenshap.estimators.base.estimator import (
    AXIOMS,
    Estimator,
    Reduced,
    combined_notes,
    default_budget,
    notes_in_words,
)
from owenshap.estimators.base.fitted_pairs import GROWTH, FittedPairs
from owenshap.estimators.base.passes import OKHRATI_LIPANI, Passes, RulePasses
from owenshap.surrogates import Notes
from owenshap.surrogates.base import with_complements

__all__ = [
    "AXIOMS",
    "GROWTH",
    "OKHRATI_LIPANI",
    "ClosedForm",
    "Estimator",
    "FittedPairs",
    "Notes",
    "Passes",
    "Reduced",
    "RulePasses",
    "combined_notes",
    "default_budget",
    "notes_in_words",
    "with_complements",
]
