"""One file or folder per surrogate."""

from owenshap.surrogates.base import FittedSurrogate, Surrogate

__all__ = ["FittedSurrogate", "Surrogate"]
