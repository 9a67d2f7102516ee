"""Halved Owen sampling: levels over [0, ½], every coalition together with its complement."""

from __future__ import annotations

from dataclasses import dataclass

from owenshap.estimators.base import OKHRATI_LIPANI, RulePasses


@dataclass(frozen=True, eq=False)  # equal by the settings of its base
class HalvedOwen(RulePasses):
    """Halved Owen sampling: Owen sampling on [0, ½], each coalition S used together with its
    complement.

    S at level q and its complement at level 1 − q are antithetic: what is even in S cancels, and
    only the odd part of the game bears on Shapley values. φ_j = ∫₀^½ (e_j(q) + e_j(1 − q)) dq.

    Parameters
    ----------
    levels : int, optional
        The paper's Q: levels on [0, 1], half of them drawn and half mirrored. By default few, so
        that a budget makes many passes. With levels and no budget there is one pass: values, but no
        interval.
    per_level : int
        The paper's M: coalitions per level.
    rule : {'stratified', 'gauss-legendre', 'midpoint', 'grid'} or Levels
        A rule on [0, 1], folded about ½. 'stratified' and, from ⌈n/2⌉ levels on, 'gauss-legendre'
        are unbiased.

    Notes
    -----
    A pass costs 2 ⌈levels/2⌉ × per_level × (n + 1) evaluations at most. Exact on games whose
    players interact in pairs at most.

    Examples
    --------
    >>> import owenshap
    >>> from owenshap.testing import airport
    >>> game = airport([1.0, 2.0, 4.0, 8.0])
    >>> estimate = owenshap.estimate(game, "halved-owen", budget=2000)
    >>> away = abs(estimate.values - game.shapley_values)
    >>> bool((away < 4 * estimate.standard_errors + 1e-12).all())
    True
    """

    name = "halved-owen"
    citation = OKHRATI_LIPANI
    axioms = frozenset({"linearity", "null player"})
    mirrors = True
