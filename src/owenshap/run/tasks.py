"""A game of rows with its plan: what a worker is given, and what it does with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

from owenshap.games.model_game import ModelGame
from owenshap.run.evaluate import parse_bytes, rows_within
from owenshap.run.plan import Plan, needs_spreading
from owenshap.run.result import Estimate
from owenshap.run.running import run_plan
from owenshap.support.arrays import FloatArray
from owenshap.support.executors import Executor
from owenshap.support.progress import Meter

Task: TypeAlias = tuple[ModelGame, Plan, dict[str, Any], FloatArray | None]
"""A game, its plan, the settings of the call, and the ranges of its rows' outputs where somebody asks for them."""


def at_once(game: ModelGame, plan: Plan, settings: dict[str, Any], executor: Executor | None, report: Meter) -> Estimate:
    """All rows of a game with the same budget."""
    *_, answer = run_plan(
        game,
        plan,
        seed=settings["seed"],
        confidence=settings["confidence"],
        spread=needs_spreading(settings["efficient"], plan, game.n_players),
        executor=executor,
        report=report,
        rows_at_once=rows_within(settings["memory"], game.n_players),
        memory=parse_bytes(settings["memory"]),
        ends=None,
    )
    found = answer()
    game.release()
    return without_replicates(found)


def without_replicates(found: Estimate) -> Estimate:
    """An estimate of rows, which nobody goes on from: it stays to the end, and its replicates would fill the memory."""
    return found if found.kept is None else replace(found, kept=None)
