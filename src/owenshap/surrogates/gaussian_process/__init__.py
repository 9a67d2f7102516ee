"""A Gaussian process on the odd part of a game."""

from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate

__all__ = ["GaussianProcessSurrogate"]
