"""One file per kind of model, found by the names of the types it knows."""

from owenshap.models.base import Model, as_model, kinds

__all__ = ["Model", "as_model", "kinds"]
