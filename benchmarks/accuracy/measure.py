"""Errors of contenders on games with known values, cell by cell, kept in a file as they are
done.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.games import KnownGame
from benchmarks.accuracy.peers import Contender

EACH = (2.5, 5, 10, 20, 50)
FLOOR = 1e-12
SLACK = 1.02  # evaluations over the budget beyond which a contender is not compared
CELL_SECONDS = 600.0  # a contender that has taken longer in a cell makes no further draws there
# a contender whose first run took longer is not compared, nor run with more evaluations
RUN_SECONDS = 20.0
STOP_SECONDS = 120.0  # a run that asks for another evaluation after that is stopped
SLOW = "slow"


class TooSlowError(Exception):
    """A run that was stopped."""


class Counted:
    """Counts evaluations; the empty and the grand coalition are remembered and count once. Stops
    who takes too long.
    """

    def __init__(self, game: KnownGame, seconds: float = float("inf")) -> None:
        self.game, self._inside, self._ends = game, 0, set[bool]()
        self._until = time.process_time() + seconds

    @property
    def seen(self) -> int:
        return self._inside + len(self._ends)

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        coalitions = np.asarray(coalitions, bool)
        first, same = coalitions[:, 0], (coalitions == coalitions[:, :1]).all(axis=1)
        self._ends.update(first[same].tolist())
        self._inside += int((~same).sum())
        if time.process_time() > self._until:
            raise TooSlowError
        return self.game.values(coalitions)


def measure(
    run: Contender, known: list[KnownGame], each: float, draws: int, patient: bool
) -> dict[str, Any]:
    """The errors of one contender in one cell, by row; one draw of every row, then the next, while
    there is patience.
    """
    errors: list[list[float]] = [[] for _ in known]
    shares, seconds = [], []
    for seed in range(draws):
        for row, game in enumerate(known):
            if not patient and seed and sum(seconds) > CELL_SECONDS:
                break
            counted = Counted(game, float("inf") if patient else STOP_SECONDS)
            budget = int(each * game.n_players)
            started = time.process_time()
            try:
                values = run(counted, game.n_players, budget, seed)
                if not np.isfinite(values).all():
                    raise FloatingPointError("values that are not finite")
            except TooSlowError:
                return {
                    "failed": f"{SLOW}: stopped after {STOP_SECONDS:g} s with {counted.seen} of {budget} evaluations"
                }
            except Exception as failure:  # whatever a contender raises is its result
                return {"failed": f"{type(failure).__name__}: {failure}"[:120]}
            seconds.append(time.process_time() - started)
            shares.append(counted.seen / budget)
            errors[row].append(_digits(relative_error(values, game.shapley_values)))
            if not patient and len(seconds) == 1 and seconds[0] > RUN_SECONDS:
                return {
                    "failed": f"{SLOW}: {seconds[0]:.0f} s a run",
                    "seconds": _digits(seconds[0]),
                    "error": errors[0][0],
                }
    return {
        "errors": errors,
        "evaluations": _digits(float(np.mean(shares))),
        "seconds": _digits(float(np.median(seconds))),
    }


def relative_error(values: np.ndarray, exact: np.ndarray) -> float:
    return max(float(np.square(values - exact).sum() / np.square(exact).sum()), FLOOR)


def _digits(number: float) -> float:
    return float(f"{number:.3g}")


class Results:
    """A file {"about": versions, "games": {name: …}, "cells": {"name each": {contender: …}}}, a
    line per contender.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        found = json.loads(path.read_text()) if path.exists() else {}
        self.about: dict[str, str] = found.get("about", {})
        self.games: dict[str, dict[str, Any]] = found.get("games", {})
        self.cells: dict[str, dict[str, dict[str, Any]]] = found.get("cells", {})

    def add(self, cell: str, contender: str, result: dict[str, Any]) -> None:
        self.cells.setdefault(cell, {})[contender] = result
        self.write()

    def forget(self, game: str) -> None:
        self.cells = {
            cell: found for cell, found in self.cells.items() if cell.rpartition(" ")[0] != game
        }

    def of_contenders(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Every contender's result, cell by cell."""
        for cell, found in self.cells.items():
            for contender, result in found.items():
                yield cell, contender, result

    def write(self) -> None:
        games = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(each)}" for name, each in self.games.items()
        )
        cells = ",\n".join(
            f"{json.dumps(name)}: {{\n{_lines(each)}\n}}" for name, each in self.cells.items()
        )
        part = self.path.with_suffix(".part")
        part.write_text(
            f'{{"about": {json.dumps(self.about)},\n"games": {{\n{games}\n}},\n"cells": {{\n{cells}\n}}}}\n'
        )
        part.replace(self.path)


def _lines(cell: dict[str, dict[str, Any]]) -> str:
    return ",\n".join(
        f" {json.dumps(name)}: {json.dumps(each, separators=(',', ':'))}"
        for name, each in cell.items()
    )


def slow_before(results: Results, game: str, each: float, contender: str) -> str | None:
    """Why a contender is not run in a cell: what it took with fewer evaluations."""
    for less in reversed([other for other in EACH if other < each]):
        before = results.cells.get(f"{game} {less:g}", {}).get(contender, {})
        if before.get("failed", "").startswith(SLOW):
            return (
                before["failed"]
                if " at " in before["failed"]
                else f"{before['failed']} at {less:g} n"
            )
        if before:
            return None
    return None
