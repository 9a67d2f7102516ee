"""One file or folder per surrogate."""

from owenshap.surrogates.base import FittedSurrogate, Notes, Surrogate

__all__ = ["FittedSurrogate", "Notes", "Surrogate"]
