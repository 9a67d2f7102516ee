"""Least squares on pairs."""

from __future__ import annotations

from dataclasses import dataclass

from owenshap.estimators.base import FittedPairs
from owenshap.support.arrays import CACHED
from owenshap.surrogates import Surrogate
from owenshap.surrogates.linear import LinearSurrogate


@dataclass(frozen=True, eq=False)  # equal by the settings of its base
class Linear(FittedPairs):
    """The Shapley values of the linear game nearest to the values of pairs, in the weights of the
    Shapley value.

    Parameters
    ----------
    pairs : int, optional
        Coalitions that are evaluated together with their complements. By default all that the
        budget pays for.

    Notes
    -----
    Costs 2 × pairs + 2 evaluations and almost no time: for cheap models and large budgets. The
    values sum to v(N) − v(∅). Standard errors are those of a jackknife. With fewer pairs than
    players the answer is near to equal shares.

    Examples
    --------
    >>> import owenshap
    >>> from owenshap.testing import airport
    >>> owenshap.estimate(airport([1.0, 2.0, 4.0]), "linear", budget=8).values.round(4)
    array([0.3333, 0.8333, 2.8333])
    """

    name = "linear"
    citation = (
        "Musco & Witter (2025), Provably Accurate Shapley Value Estimation via Leverage Score "
        "Sampling, ICLR"
    )
    axioms = frozenset({"efficiency", "linearity"})
    most_pairs = CACHED  # of 18 players all there are

    def surrogate(self) -> Surrogate:
        return LinearSurrogate()
