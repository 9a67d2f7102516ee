"""Rules on [0, 1]: the levels at which coalitions are drawn, and what each level counts.

φ_j = ∫₀¹ e_j(q) dq, and e_j is a polynomial of degree at most n − 1: a rule of at least that degree
answers without bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.support.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels and weights: level i is drawn uniformly from [lower_i, upper_i] and counts weight_i.

    Parameters
    ----------
    lower, upper : float (L,)
        Where each level is drawn from; equal for a level that is fixed.
    weights : float (L,)
        What a coalition at the level counts; its complement at 1 − q, where it is mirrored, counts
        as much again.
    degree : float
        The rule integrates polynomials up to this degree without bias (−1: not even constants;
        infinity: all).
    mirrored : bool (L,)
        Whether each coalition S at the level comes with its complement.
    nodes : float (m,), optional
        Levels in place of all of [0, 1]: what is drawn between 0 and 1 then falls on the node whose
        share it lies in.
    ends : float (m,), optional
        Where the share of each node ends.
    """

    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    degree: float
    mirrored: BoolArray = field(repr=False)
    nodes: FloatArray | None = field(default=None, repr=False)
    ends: FloatArray | None = field(default=None, repr=False)

    @classmethod
    def fixed(
        cls,
        nodes: FloatArray,
        weights: FloatArray,
        degree: float,
        mirrored: BoolArray | None = None,
    ) -> Levels:
        """A rule with fixed levels, the nodes; no level is mirrored unless said."""
        return cls(
            nodes,
            nodes,
            weights,
            degree,
            np.zeros(len(nodes), np.bool_) if mirrored is None else mirrored,
        )

    def __len__(self) -> int:
        return len(self.lower)

    def state(self) -> dict[str, Any]:
        """The rule as plain data."""
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: value for name, value in parts.items() if value is not None}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Levels:
        """The rule that `state` was written of."""
        arrays = {name: np.asarray(value) for name, value in state.items() if name != "degree"}
        return cls(**arrays, degree=state["degree"])

    def draw(
        self, rng: np.random.Generator, shape: tuple[int, ...], which: slice = slice(None)
    ) -> FloatArray:
        """Levels q of shape (*shape, L), or of the part of them that `which` names."""
        lower = self.lower[which]
        widths = self.upper[which] - lower
        if not widths.any():
            return np.broadcast_to(lower, (*shape, len(lower)))
        drawn = lower + widths * rng.random((*shape, len(lower)))
        if self.nodes is None or self.ends is None:
            return drawn
        return self.nodes[np.searchsorted(self.ends[:-1], drawn, side="right")]

    @cached_property
    def symmetric(self) -> bool:
        """Whether the rule is its own mirror image about ½, but for rounding."""
        pairs = [(self.lower, 1 - self.upper[::-1]), (self.weights, self.weights[::-1])]
        if self.nodes is not None and self.ends is not None:
            starts = np.append(0.0, self.ends[:-1])
            pairs += [(self.nodes, 1 - self.nodes[::-1]), (starts, 1 - self.ends[::-1])]
        return all(bool(np.allclose(one, other, rtol=0, atol=1e-12)) for one, other in pairs)

    def folded(self) -> Levels:
        """The rule folded about ½: the levels of its lower half, each mirrored.

        The rule must be symmetric about ½. A level in the middle is shared by both halves of its
        pair.
        """
        if self.mirrored.any() or not self.symmetric:
            raise InputError(
                "rule",
                "be symmetric about ½ to be folded",
                "another one",
                "Give a rule on [0, 1] that is not folded yet",
            )
        half = (len(self) + 1) // 2
        upper = self.upper[:half].copy()
        weights = self.weights[:half].copy()
        if len(self) % 2:
            upper[-1] = 0.5
            weights[-1] /= 2
        return Levels(
            self.lower[:half].copy(),
            upper,
            weights,
            self.degree,
            np.ones(half, np.bool_),
            self.nodes,
            self.ends,
        )


@lru_cache(maxsize=32)
def stratified(levels: int) -> Levels:
    """One uniform draw from each of `levels` equal strata: unbiased for every game, whatever the
    number.
    """
    edges = np.arange(levels + 1) / levels
    return Levels(
        edges[:-1], edges[1:], np.full(levels, 1 / levels), math.inf, np.zeros(levels, np.bool_)
    )


def drawn_levels(rule: Levels, levels: int) -> Levels:
    """One draw from each of `levels` equal shares of the weight of a rule with fixed levels: as
    unbiased as the rule, whatever the number, where the rule itself may have too many levels for a
    pass.
    """
    ends = np.cumsum(rule.weights)
    return replace(stratified(levels), degree=rule.degree, nodes=rule.lower, ends=ends / ends[-1])


@lru_cache(maxsize=32)
def gauss_legendre(levels: int) -> Levels:
    """Gauss–Legendre on [0, 1]: exact to degree 2·levels − 1, so ⌈n/2⌉ levels are unbiased for n
    players.
    """
    from scipy.special import roots_legendre  # here: the other rules do without scipy

    nodes, weights = roots_legendre(levels)
    return Levels.fixed((nodes + 1) / 2, weights / 2, 2 * levels - 1)


def midpoint(levels: int) -> Levels:
    """The midpoints of `levels` equal strata: biased from 3 players on."""
    return Levels.fixed((np.arange(levels) + 0.5) / levels, np.full(levels, 1 / levels), 1)


def grid(levels: int, divisor: str = "program") -> Levels:
    """The paper's levels 0, 1/Q, …, 1 with equal weights: biased from 3 players on.

    divisor 'paper' divides by Q as Algorithm 1 is printed, 'program' by Q + 1 as the authors'
    program does.
    """
    return Levels.fixed(np.arange(levels + 1) / levels, *_grid_weights(levels, levels + 1, divisor))


def halved_grid(levels: int, divisor: str = "program") -> Levels:
    """The paper's levels 0, 1/Q, … up to ½, each mirrored, with equal weights.

    divisor 'paper' divides by Q and mirrors ½ too, so that ½ counts twice (Algorithm 2 as printed);
    'program' divides by Q + 1 and leaves ½ unmirrored.
    """
    half = np.arange(levels // 2 + 1) / levels
    mirrored = np.ones(len(half), np.bool_)
    if divisor == "program" and levels % 2 == 0:
        mirrored[-1] = False
    return Levels.fixed(half, *_grid_weights(levels, len(half), divisor), mirrored)


def _grid_weights(levels: int, count: int, divisor: str) -> tuple[FloatArray, float]:
    divisors = {"paper": (levels, -1), "program": (levels + 1, 1)}
    if divisor not in divisors:
        raise InputError(
            "divisor",
            "be 'paper' or 'program'",
            divisor,
            "The paper divides by Q, its program by Q + 1",
        )
    by, degree = divisors[divisor]
    return np.full(count, 1 / by), degree


RULES: dict[str, Callable[[int], Levels]] = {
    "stratified": stratified,
    "gauss-legendre": gauss_legendre,
    "midpoint": midpoint,
    "grid": grid,
}


def rule_levels(rule: str | Levels, levels: int) -> Levels:
    """The levels of a rule by name, or the rule itself where it is given as data."""
    if isinstance(rule, Levels):
        return rule
    if rule not in RULES:
        raise InputError(
            "rule", f"be one of {', '.join(RULES)}, or Levels", rule, "'stratified' is never biased"
        )
    return RULES[rule](levels)


def star_order(levels: Levels, per_level: int) -> tuple[IntArray, FloatArray]:
    """Which level each drawn coalition of a pass is at, (L·M,), and the weight of each star,
    complements last.
    """
    level = np.repeat(np.arange(len(levels)), per_level)
    weights = levels.weights[level] / per_level
    return level, np.concatenate([weights, weights[levels.mirrored[level]]])
