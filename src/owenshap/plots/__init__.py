"""Pictures of explanations and of runs, with matplotlib.

Each function draws into `ax`, or into a figure of its own size where that is None, and returns the
axes. Nothing is shown, and no setting of matplotlib is changed: colours of text and lines follow
the style in force, light or dark.
"""

from typing import NoReturn as _NoReturn

from owenshap.plots.bar import bar
from owenshap.plots.beeswarm import beeswarm
from owenshap.plots.cohorts import cohorts
from owenshap.plots.comparison import comparison
from owenshap.plots.convergence import convergence
from owenshap.plots.force import force
from owenshap.plots.image import image
from owenshap.plots.network import network
from owenshap.plots.pairs import pairs
from owenshap.plots.scatter import scatter
from owenshap.plots.waterfall import waterfall

__all__ = [
    "bar",
    "beeswarm",
    "cohorts",
    "comparison",
    "convergence",
    "force",
    "image",
    "network",
    "pairs",
    "scatter",
    "waterfall",
]


def __getattr__(name: str) -> _NoReturn:
    from owenshap.explain.from_shap import PLOTS, missing

    raise missing(name, "module 'owenshap.plots'", PLOTS)
