"""A Gaussian process on pairs."""

from __future__ import annotations

from dataclasses import dataclass

from owenshap.estimators._cross_validated import CrossValidated
from owenshap.estimators._fitted import FittedPairs
from owenshap.surrogates import Surrogate
from owenshap.surrogates.gaussian_process import MOST_PAIRS, GaussianProcessSurrogate


@dataclass(frozen=True)
class GaussianProcess(FittedPairs):
    """The Shapley values of a Gaussian process that is fitted to the odd part of the game: most accurate per evaluation.

    Parameters
    ----------
    pairs : int, optional
        Coalitions that are evaluated together with their complements. By default all that the budget pays for.
    pooled : bool
        Whether outputs, and rows that are explained together, share what the process learns about lengths. Faster with
        many of them; a row's values then depend on which rows are explained with it.

    Notes
    -----
    Costs 2 × pairs + 2 evaluations, and the fit: a fraction of a second with up to 1,000 evaluations. The values sum to
    v(N) − v(∅). Gives no interval. Where evaluations cost less than the fit, halved-owen or linear reach more in the same time.

    From as many pairs as players on the process is cross-validated: an output whose left-out pairs least squares or equal
    shares predict better has their values instead, and `estimate.note` says so.

    Examples
    --------
    >>> import owenshap
    >>> from owenshap.testing import product
    >>> game = product([1.0] * 8, [1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8])
    >>> estimate = owenshap.estimate(game, "gaussian-process", budget=80)
    >>> bool(abs(estimate.values - game.shapley_values).max() < 0.01 * game.shapley_values.max())
    True
    """

    pooled: bool = False

    name = "gaussian-process"
    citation = (
        "Owen (1972), Multilinear Extensions of Games; Rundel et al. (2026), ShaplEIG; Fumagalli et al. (2026), OddSHAP; "
        "QuadraSHAP (2026)"
    )
    axioms = frozenset({"efficiency"})
    most_pairs = MOST_PAIRS

    def surrogate(self) -> Surrogate:
        return CrossValidated(GaussianProcessSurrogate(pooled=self.pooled), refitted=not self.pooled)
