"""What one call of an explainer asks for, checked before the model sees a row."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from owenshap.designs.indices import SHAPLEY, Index, as_index
from owenshap.estimators import Estimator
from owenshap.run.task import Settings, Shared
from owenshap.statistics.goal import USUAL, Until, checked_until
from owenshap.support.checks import whole_number
from owenshap.support.executors import Executor, checked_executor
from owenshap.support.progress import Meter, shown, silent


@dataclass(frozen=True, eq=False)
class Call:
    """The arguments of one call."""

    method: str | Estimator
    budget: int | None
    """Evaluations of a row; checked where a plan is made."""
    until: Until | None
    """What ends a row's estimate before its budget."""
    shared: Shared | None
    """What all rows share; None: each has its own budget."""
    draws: int | None
    """Background rows drawn for each star or chain; None: all of them."""
    settings: Settings
    executor: Executor | None
    progress: bool | Meter | None
    keep: bool = False
    """Whether evaluations are kept; 'auto' then takes a method that evaluates pairs."""
    index: Index = SHAPLEY
    """Which levels count how much."""
    report: Meter = silent
    """Is told how far it is, as long as the call is shown."""

    @classmethod
    def checked(
        cls,
        method: str | Estimator,
        budget: int | None,
        tolerance: float | str | None,
        top: int | None,
        seconds: float | None,
        total_budget: int | None,
        background_draws: int | None,
        seed: int,
        confidence: float,
        efficient: bool,
        memory: int,
        executor: Executor | None,
        progress: bool | Meter | None,
        keep: bool = False,
        index: Any = SHAPLEY,
    ) -> Call:
        """The arguments as a user gives them, or an error that says what is wrong."""
        chosen = SHAPLEY if index == SHAPLEY.name else as_index(index)
        efficient = efficient and chosen.efficient  # no sum is promised under another index
        settings = Settings.checked(seed, confidence, efficient, memory)
        until = checked_until(tolerance, top, seconds, None)
        shared = _shared(total_budget, None if until is None else until.seconds)
        if until is None and shared is not None:
            until = Until()
        elif until is None and budget is None:
            until = USUAL
        draws = background_draws
        if draws is not None:
            draws = whole_number("background_draws", draws, 1, "It counts background rows")
        workers = checked_executor(executor)
        return cls(method, budget, until, shared, draws, settings, workers, progress, keep, chosen)

    @property
    def asks_for_pairs(self) -> bool:
        """Whether evaluations answer other questions than Shapley values."""
        return self.keep or not self.index.efficient

    @contextmanager
    def shown(self, rows: int) -> Iterator[Call]:
        """The call with a bar for so many rows, which is there as long as this is."""
        with shown(self.progress, "explaining", rows) as report:
            yield replace(self, report=report)


def _shared(total: int | None, seconds: float | None) -> Shared | None:
    """What rows share from now on, where it is anything."""
    if total is None and seconds is None:
        return None
    if total is not None:
        advice = "It counts the evaluations of all rows together"
        total = whole_number("total_budget", total, 2, advice)
    return Shared(total, seconds, time.monotonic())
