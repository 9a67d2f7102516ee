"""Exact Shapley values of tree ensembles, read off the trees themselves: no model is called.

`read` makes plain arrays of a fitted model of one of the libraries that `readers` knows. `TreeGame`
then has its values, with a background or, without one, by the trees' own cover.
"""

from owenshap.trees.device import checked_device
from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.exact import TreeGame, baseline_interactions, baseline_values
from owenshap.trees.products import Levels
from owenshap.trees.readers import Reader, read, reader_of

__all__ = [
    "Levels",
    "Reader",
    "TreeEnsemble",
    "TreeGame",
    "baseline_interactions",
    "baseline_values",
    "checked_device",
    "read",
    "reader_of",
]
