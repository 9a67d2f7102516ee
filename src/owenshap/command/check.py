"""Whether importance has changed since an earlier explanation of the same rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.compare import compare
from owenshap.explain.explanation import Explanation


@dataclass(frozen=True)
class Change:
    """How the importance of a player for an output has changed, and whether that counts."""

    player: str
    output: str | None
    before: float
    """Mean |value| over the rows."""
    after: float
    lower: float
    """Of the change after − before; all intervals hold at once."""
    upper: float
    least: float
    """The least change that counts."""

    @property
    def change(self) -> float:
        """After − before."""
        return self.after - self.before

    @property
    def changed(self) -> bool:
        """Whether the change is beyond its interval, and beyond the least that counts."""
        beyond = self.lower > 0 or self.upper < 0
        return beyond and abs(self.change) > self.least

    def state(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "change": self.change, "changed": self.changed}


def changes(before: Explanation, after: Explanation, least: float | str) -> list[Change]:
    """Every player's importance before and after, the largest change first.

    The rows are the same ones, so that only the estimates are unsure: exact values have intervals
    of width 0, and `least` alone decides.

    Parameters
    ----------
    before, after : Explanation
        Of the same rows, players and outputs.
    least : float or str
        The least change that counts: in the unit of the output, or a share such as '5%' of the
        importance of all players together.
    """
    try:
        comparison = compare(before, after, least=least, rows="fixed")
    except InputError as error:
        what, rule, got, advice = error.args
        if what == "least":
            raise InputError("--min-change", rule, got, advice) from error
        raise InputError(
            "--check",
            f"be of the same {what.replace('_', ' ')}",
            got,
            "Give an explanation of the same rows, columns and outputs",
        ) from error
    names = comparison.output_names if comparison.before.ndim > 1 else None
    limits = np.broadcast_to(comparison.least, comparison.before.shape)
    listed = [
        Change(
            comparison.feature_names[place[0]],
            names[place[1]] if names else (str(place[1]) if len(place) > 1 else None),
            *(float(each[place]) for each in (comparison.before, comparison.after)),
            *(float(each[place]) for each in (comparison.lower, comparison.upper, limits)),
        )
        for place in np.ndindex(*comparison.before.shape)
    ]
    return sorted(listed, key=lambda each: -abs(each.change))
