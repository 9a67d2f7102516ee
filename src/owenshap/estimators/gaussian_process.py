"""A Gaussian process on pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from owenshap.arrays import BoolArray, FloatArray
from owenshap.bits import pack
from owenshap.designs import Design, Sets
from owenshap.estimators._cross_validated import CrossValidated
from owenshap.estimators._fitted import FittedPairs, with_complements
from owenshap.pairs import MOST_PLAYERS, all_pairs, even_pairs
from owenshap.surrogates import FittedSurrogate, Surrogate
from owenshap.surrogates.gaussian_process import MOST_PAIRS, FittedProcess, GaussianProcessSurrogate

MOST_ADAPTIVE = 2.0  # pairs for each player, up to which the second half of them is chosen by what the first half says
# Of cross-validation then, up to so many pairs for each player: those that were chosen because they say most are just those
# that the others cannot tell, and leaving out a quarter of so few is worse than having them all.
MARGIN, MARGIN_EACH = 0.5, 1.5
FEWEST_PLAYERS = 10  # with fewer there is nothing to choose from
CANDIDATES, FEWEST_CANDIDATES = 8, 400  # random pairs for each that is chosen


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

    Where a game has one output, and its pairs are between 1 and 2 for each player, the second half of them is chosen when the
    first has its values: those that say most about the Shapley values under what is learned, with a share for players who are
    all alike. Rows are then evaluated one by one. Several outputs share their pairs, which no value decides on.

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

    def adaptive(self, n_players: int, outputs: int) -> bool:
        count = self._count(n_players)
        few = n_players <= count <= MOST_ADAPTIVE * n_players
        return outputs == 1 and not self.pooled and few and FEWEST_PLAYERS <= n_players <= MOST_PLAYERS

    def opening(self, design: Design) -> Design:
        count = self._count(design.n_players)
        if len(design) != 2 + 2 * count:  # several fits in one block
            return design
        return Sets.of(with_complements(design.coalitions(np.arange(2, 2 + (count + 1) // 2))))

    def chosen(self, design: Design, values: FloatArray, left: int) -> Design:
        coalitions = design.coalitions(np.arange(len(design)))
        more = next_pairs(GaussianProcessSurrogate().fit(coalitions, values), coalitions, left // 2)
        return Sets.of(np.concatenate([more, ~more]))

    def surrogate(self) -> Surrogate:
        return CrossValidated(GaussianProcessSurrogate(pooled=self.pooled), refitted=not self.pooled)

    def _fitted(self, coalitions: BoolArray, values: FloatArray) -> FittedSurrogate:
        n_players = coalitions.shape[1]
        if not self.adaptive(n_players, values.shape[1]) or self._count(n_players) > MARGIN_EACH * n_players:
            return super()._fitted(coalitions, values)
        return CrossValidated(GaussianProcessSurrogate(), margin=MARGIN).fit(coalitions, values)


def next_pairs(fitted: FittedProcess, coalitions: BoolArray, count: int) -> BoolArray:
    """One coalition of each of so many pairs (count, n) that are not among these coalitions, and say most after them."""
    n_players, known = coalitions.shape[1], {row.tobytes() for row in pack(coalitions)}
    rng = np.random.default_rng(np.ascontiguousarray(pack(coalitions)).reshape(-1).tolist())  # as random as what was drawn
    drawn = even_pairs(n_players, min(max(FEWEST_CANDIDATES, CANDIDATES * count) + len(coalitions), all_pairs(n_players)), rng)
    candidates = drawn[[row.tobytes() not in known for row in pack(drawn)]]
    return candidates[fitted.most_telling(candidates, count)]
