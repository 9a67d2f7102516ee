"""From the files that are named to an explainer and its rows."""

from __future__ import annotations

import hashlib
import shlex
from functools import cached_property
from pathlib import Path
from typing import Any

from owenshap.command.asked import Asked, as_number, chosen_output, read_players
from owenshap.command.model_files import load_model
from owenshap.command.table_files import (
    ROW_IN_FILE,
    TableFile,
    alike,
    chosen_rows,
    frame_of,
    matched,
    open_table,
    taken,
)
from owenshap.errors import InputError
from owenshap.jobs.explainer import Explainer
from owenshap.report.record import versions

STAND_INS = 100  # rows of the data that are the background where none is given: usual, and cheap


class OnArrays:
    """A function that takes arrays, given frames."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, batch: Any) -> Any:
        return self.function(batch.to_numpy())


class Work:
    """All that one call of the command does, a step at a time."""

    def __init__(self, asked: Asked, notes: list[str]) -> None:
        self.asked = asked
        self.notes = notes
        self.stands_in = ""
        self.loaded = load_model(asked.model, asked.trust)
        self.data = open_table(asked.data, "DATA", asked.encoding)
        self.background = self._opened_background()
        self.columns = matched(self.data, self.background, self.loaded, asked.ids)
        self.types = (
            {}
            if self.background is None
            else alike(self.data, self.background, self.columns.features)
        )

    def _opened_background(self) -> TableFile | None:
        if self.asked.background is None:
            return None
        opened = open_table(self.asked.background, "--background", self.asked.encoding)
        if opened.table is None:
            got = f"{opened.path} with {opened.rows:,} rows"
            advice = "Some thousand rows tell as much"
            raise InputError("--background", "be a file that fits into memory", got, advice)
        return opened

    @cached_property
    def rows(self) -> Any:
        """What is explained: a frame, or the path of files that are read a piece at a time."""
        if self.asked.rows is None and self.data.table is None:
            self._check_streamed()
            return self.data.path
        table = self.data.table
        if self.asked.rows is not None:
            rows = chosen_rows(self.asked.rows, self.data.rows, self.asked.seed)
            table = taken(self.data, rows)
        table = table.select([*self.columns.features, *self.carried])
        return frame_of("DATA", table, self.types, self.loaded.categories)

    def _check_streamed(self) -> None:
        """An error where rows must be changed to fit the model: they are read as they are."""
        if self.asked.seconds is not None:
            rule = "be given for rows that fit into memory"
            advice = "Choose some by --rows"
            raise InputError("--seconds", rule, self.data.path, advice)
        in_order = self.columns.features == self.data.without(self.columns.carried)
        if self.background is None and (self.loaded.categories or not in_order):
            rule = "have the columns of the model in its order, and no categories"
            got = f"{self.data.path}, which is read a piece at a time"
            raise InputError(self.data.what, rule, got, "Give --background, whose columns it gets")

    @property
    def count(self) -> int:
        """How many rows are explained."""
        return self.data.rows if self.asked.rows is None else len(self.rows)

    @property
    def carried(self) -> list[str]:
        """Columns that go along."""
        more = [] if self.asked.rows is None else [ROW_IN_FILE]
        return [*dict.fromkeys([*self.columns.carried, *more])]

    def explainer(self) -> Explainer:
        """An explainer of the model; without a background only where its trees do without."""
        if self.background is not None:
            table = self.background.table.select(self.columns.features)
            return self._explainer(
                frame_of("--background", table, self.types, self.loaded.categories)
            )
        try:
            explainer = self._explainer(None)
        except InputError as error:
            if error.args[0] != "background or baseline":
                raise
        else:
            self.stands_in = "absent features follow the cover of the model's own trees"
            self.notes.append(f"No --background: {self.stands_in}.")
            return explainer
        count = min(STAND_INS, self.data.rows)
        rows = chosen_rows(f"sample:{count}", self.data.rows, self.asked.seed)
        table = taken(self.data, rows).select(self.columns.features)
        which = f"{count:,} rows" if count < self.data.rows else f"all {count:,} rows"
        self.stands_in = f"{which} of {self.data.path.name} stand in for absent features"
        self.notes.append(f"No --background: {self.stands_in}.")
        return self._explainer(frame_of("DATA", table, {}, self.loaded.categories))

    def _explainer(self, background: Any) -> Explainer:
        model = OnArrays(self.loaded.model) if self.asked.arrays else self.loaded.model
        return Explainer(
            model,
            background,
            players=None if self.asked.players is None else read_players(self.asked.players),
            output=chosen_output(self.asked.output, model, self.asked.predict),
            predict=self.asked.predict,
        )

    def settings(self) -> dict[str, Any]:
        """What an explainer is called with."""
        asked = self.asked
        return {
            "method": asked.method,
            "budget": asked.budget,
            "tolerance": None if asked.tolerance is None else as_number(asked.tolerance),
            "seed": asked.seed,
            "confidence": asked.confidence,
            "index": asked.index,
            "progress": asked.bars,
        }

    def audit(self, plan: str | None) -> dict[str, str]:
        """Labelled lines: by what the explanation can be repeated, and by what it is known."""
        asked = self.asked
        loaded = self.loaded
        lines = {
            "command": shlex.join(["owenshap", *asked.command]),
            "model": f"{loaded.kind}, {asked.model}",
            "data": f"{asked.data}, {self.data.rows:,} rows",
            "background": f"none given: {self.stands_in}"
            if self.background is None
            else f"{asked.background}, {self.background.rows:,} rows",
            "seed": str(asked.seed),
            "plan": plan or "",
        }
        for name, path in (
            ("model", loaded.path),
            ("data", asked.data),
            ("background", asked.background),
            ("players", asked.players),
        ):
            if path is not None and path.is_file():
                lines[f"SHA-256 of the {name}"] = _digest(path)
        return lines | {"versions": versions()}


def _digest(path: Path) -> str:
    """SHA-256 of the bytes of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
