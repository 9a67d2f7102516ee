"""Estimators by stars at levels: one replicate is one pass over all levels."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from owenshap.designs.design import Design, Stars
from owenshap.designs.levels import Levels, rule_levels, star_order
from owenshap.errors import InputError
from owenshap.estimators.base.estimator import Estimator
from owenshap.support.arrays import CACHED, BoolArray, FloatArray
from owenshap.support.checks import whole_number
from owenshap.support.draws import Draws

OKHRATI_LIPANI = (
    "Okhrati & Lipani (2020), A Multilinear Sampling Algorithm to Estimate Shapley Values, ICPR"
)
# under a budget: 30 passes over 2 levels, 60 over 4, since the sum over a long pass hides its tails
PASSES_A_LEVEL = 15
# levels of a run until it is good enough: with 2 its first look is too early, more make it late
GOING_ON = 4
PASSES = Draws.single("passes")


class Passes(Estimator):
    """Stars at every level; one replicate is one pass over all levels."""

    per_level: int

    by_design = True

    @abstractmethod
    def pass_levels(self) -> Levels:
        """The levels of one pass."""

    @cached_property
    def _layout(self) -> tuple[Levels, FloatArray, BoolArray | slice | None]:
        """The levels, the weight of each star of a pass, and which drawn coalitions are mirrored,
        if any.
        """
        levels = self.pass_levels()
        level, weights = star_order(levels, self.per_level)
        some = levels.mirrored[level]
        return levels, weights, slice(None) if some.all() else some if some.any() else None

    def replicate_cost(self, n_players: int) -> int:
        return len(self._layout[1]) * (n_players + 1)

    def draw(self, n_players: int, rng: np.random.Generator, replicates: int) -> Design:
        levels, weights, mirrored = self._layout
        drawn = _bernoulli(levels, self.per_level, n_players, rng, replicates)
        centres = (
            drawn if mirrored is None else np.concatenate([drawn, ~drawn[:, mirrored]], axis=1)
        )
        return Stars(centres, weights)

    def replicates(self, design: Design, values: FloatArray) -> FloatArray:
        assert isinstance(design, Stars)
        return design.weighted_contributions(values)

    def unbiased(self, n_players: int) -> bool:
        return self._layout[0].degree >= n_players - 1

    def draws(self, n_players: int) -> Draws:  # noqa: ARG002
        return PASSES

    def exact_order(self, n_players: int) -> int:  # noqa: ARG002
        levels = self._layout[0]
        return 0 if levels.degree < 0 else 2 if levels.mirrored.all() else 1


@dataclass(frozen=True)
class RulePasses(Passes):
    """Passes over the levels of a rule, their number settled by the budget where it is left
    open.
    """

    levels: int | None = None
    per_level: int = 1
    rule: str | Levels = "stratified"

    mirrors: ClassVar[bool]
    """Whether levels are folded about ½, so that each coalition comes with its complement."""

    def __post_init__(self) -> None:
        if self.levels is not None:
            whole_number("levels", self.levels, 1, "It is the paper's Q")
        whole_number("per_level", self.per_level, 1, "It is the paper's M")
        if isinstance(self.rule, Levels) and self.levels is not None:
            raise InputError(
                "levels",
                "be None where the rule is given as Levels",
                self.levels,
                "The rule has its own",
            )
        self.pass_levels()

    def pass_levels(self) -> Levels:
        rule = rule_levels(self.rule, self.levels or 1)
        return rule.folded() if self.mirrors else rule

    def within(self, n_players: int, budget: int) -> Self:
        """Few levels and many passes: both grow as the square root of the budget.

        The variance falls little with more levels (benchmarks/decisions.md#levels-and-passes), and
        an interval takes many replicates.
        """
        stars = (budget - 2) // ((n_players + 1) * self.per_level)
        return self._with_levels(math.isqrt(max(0, stars) // PASSES_A_LEVEL))

    def open_ended(self, n_players: int) -> Self:  # noqa: ARG002
        return self._with_levels(GOING_ON)

    def _with_levels(self, levels: int) -> Self:
        """The same with so many levels, where they are open; an even number where each is
        mirrored.
        """
        if self.levels is not None or isinstance(self.rule, Levels):
            return self
        step = 1 + self.mirrors
        return replace(self, levels=max(step, levels // step * step))

    def default_replicates(self, n_players: int) -> int | None:  # noqa: ARG002
        return None if self.levels is None and not isinstance(self.rule, Levels) else 1


def _bernoulli(
    levels: Levels, per_level: int, n_players: int, rng: np.random.Generator, replicates: int
) -> BoolArray:
    """Coalitions (replicates, levels × per_level, n), each player in with the probability of its
    level.

    Drawn a few levels at a time, so that a pass of any length fits into memory.
    """
    drawn = np.empty((replicates, len(levels), per_level, n_players), np.bool_)
    step = max(1, CACHED // (replicates * per_level * n_players))
    for start in range(0, len(levels), step):
        which = slice(start, start + step)
        q = levels.draw(rng, (replicates, per_level), which).swapaxes(1, 2)[..., None]
        np.less(rng.random(drawn[:, which].shape), q, out=drawn[:, which])
    return drawn.reshape(replicates, -1, n_players)
