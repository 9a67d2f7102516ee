"""One file per kind of model, found by the names of the types it knows."""

from owenshap.models.base import ROUNDING, Model, as_model, kinds

__all__ = ["ROUNDING", "Model", "as_model", "kinds"]
