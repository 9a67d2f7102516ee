"""The variants that are compared, by name: how each spends so many samples, or so many
evaluations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import owenshap
from owenshap.estimators import Estimator

PER_LEVEL = 2  # the paper's M throughout


@dataclass(frozen=True)
class Variant:
    """An estimator for a number of equivalent samples, and how many samples an evaluation budget
    buys.

    A 'sample' is the paper's: one permutation, or one coalition with all its marginal
    contributions.
    """

    label: str
    paper: str | None
    """What the paper calls it, where its numbers are known."""
    make: Callable[[int], tuple[Estimator, int]]
    """From samples to an estimator and its replicates."""
    sample_cost: Callable[[int], int]
    """The most evaluations of one sample with n players."""
    extra: int = 0
    """Samples that it takes beyond those asked for."""

    def within(self, n_players: int, budget: int) -> int:
        """The largest even number of samples whose evaluations fit the budget; at least 2."""
        fitting = (budget - 2) // self.sample_cost(n_players) - self.extra
        return max(2, fitting // 2 * 2)


def _star(n_players: int) -> int:
    return n_players + 1


def _chain(n_players: int) -> int:
    return n_players - 1


VARIANTS: dict[str, Variant] = {
    "castro": Variant("Castro", "castro", lambda samples: (owenshap.Castro(), samples), _chain),
    "castro-antithetic": Variant(
        "Castro, antithetic",
        None,
        lambda samples: (owenshap.Castro(antithetic=True), samples // 2),
        _chain,
    ),
    "owen-printed": Variant(
        "Owen, as printed",
        "owen",
        lambda samples: (owenshap.OwenPrinted(samples // 2, PER_LEVEL, divisor="paper"), 1),
        _star,
        2,
    ),
    "owen-program": Variant(
        "Owen, the program's divisor",
        "owen",
        lambda samples: (owenshap.OwenPrinted(samples // 2, PER_LEVEL, divisor="program"), 1),
        _star,
        2,
    ),
    "owen": Variant(
        "Owen, stratified (ours)", None, lambda samples: (owenshap.Owen(levels=samples), 1), _star
    ),
    "halved-owen-printed": Variant(
        "Halved Owen, as printed",
        "halved",
        lambda samples: (owenshap.HalvedOwenPrinted(samples // 2, PER_LEVEL, divisor="paper"), 1),
        _star,
        4,
    ),
    "halved-owen-program": Variant(
        "Halved Owen, the program's divisor",
        "halved",
        lambda samples: (owenshap.HalvedOwenPrinted(samples // 2, PER_LEVEL, divisor="program"), 1),
        _star,
        2,
    ),
    "halved-owen": Variant(
        "Halved Owen, stratified (ours)",
        None,
        lambda samples: (owenshap.HalvedOwen(levels=samples), 1),
        _star,
    ),
}
