"""Owen sampling: coalitions at levels over [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass

from owenshap.estimators.base import OKHRATI_LIPANI, RulePasses


@dataclass(frozen=True, eq=False)  # equal by the settings of its base
class Owen(RulePasses):
    """Owen sampling: every player's marginal contribution to Bernoulli(q) coalitions, over levels q
    in [0, 1].

    φ_j = ∫₀¹ e_j(q) dq with e_j(q) = E[v(S ∪ j) − v(S ∖ j)], where each player is in S with
    probability q. A star (a coalition S and its n neighbours S △ {j}) gives one draw of all e_j(q)
    for n + 1 evaluations.

    Parameters
    ----------
    levels : int, optional
        The paper's Q: how many levels on [0, 1]. By default few, so that a budget makes many
        passes. With levels and no budget there is one pass: values, but no interval.
    per_level : int
        The paper's M: coalitions per level. 1 is best: the same evaluations on more levels vary
        less.
    rule : {'stratified', 'gauss-legendre', 'midpoint', 'grid'} or Levels
        'stratified' is unbiased for any number of levels. 'gauss-legendre' is unbiased from ⌈n/2⌉
        levels on. The other two are biased: no interval is given for them.

    Notes
    -----
    A pass costs levels × per_level × (n + 1) evaluations. HalvedOwen is better on nearly every
    game; use this one to compare. This is not the Owen *value* of games with a coalition structure.

    Examples
    --------
    >>> import owenshap
    >>> from owenshap.testing import unanimity
    >>> game = unanimity(4, [0, 1])
    >>> owen = owenshap.Owen(levels=20, rule="gauss-legendre")
    >>> owenshap.estimate(game, owen, budget=20_002).values.round(1)
    array([0.5, 0.5, 0. , 0. ])
    """

    name = "owen"
    citation = OKHRATI_LIPANI
    axioms = frozenset({"linearity", "null player"})
    mirrors = False
