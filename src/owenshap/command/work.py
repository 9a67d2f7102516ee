"""From what the command line asks for, and the files that it names, to an explainer and rows."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

from owenshap.command.model_files import Trust, load_model
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
from owenshap.jobs.digests import file_digest
from owenshap.jobs.explainer import Explainer
from owenshap.models import as_model
from owenshap.report.record import versions
from owenshap.support.checks import parse_bytes

STAND_INS = 100  # rows of the data that are the background where none is given: usual, and cheap
GROUPS = 'A line is as address = ["city", "zip"]'

Asked: TypeAlias = SimpleNamespace
"""The options of `explain` as click declares and checks them, by their names; and

- `trust`, a `Trust`: what a model file may do,
- `bars`: whether progress is shown; None: where somebody sees it,
- `command`: how it was asked for, to be repeated.
"""


def asked_by(options: Mapping[str, Any], command: Sequence[str]) -> Asked:
    """What the options of `explain` ask for."""
    meant = {
        "trust": Trust(
            tuple(options["trust"]), options["trust_pickle"], parse_bytes(options["memory"])
        ),
        "bars": False if options["quiet"] else None,
        "command": command,
    }
    return Asked(**{**options, **meant})


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
        self.features, self.others = matched(self.data, self.background, self.loaded, asked.ids)
        self.types = (
            {} if self.background is None else alike(self.data, self.background, self.features)
        )

    def _opened_background(self) -> TableFile | None:
        if self.asked.background is None:
            return None
        opened = open_table(self.asked.background, "--background", self.asked.encoding)
        if opened.table is None:
            raise InputError(
                "--background",
                "be a file that fits into memory",
                f"{opened.path} with {opened.rows:,} rows",
                "Some thousand rows tell as much",
            )
        return opened

    @cached_property
    def rows(self) -> Any:
        """What is explained: a frame, or the path of files that are read a piece at a time."""
        if self.asked.rows is None and self.data.table is None:
            self._check_streamed()
            return self.data.path
        table = self.data.table
        if self.asked.rows is not None:
            table = taken(self.data, chosen_rows(self.asked.rows, self.data.rows, self.asked.seed))
        table = table.select([*self.features, *self.carried])
        return frame_of("DATA", table, self.types, self.loaded.categories)

    def _check_streamed(self) -> None:
        """An error where rows must be changed to fit the model: they are read as they are."""
        if self.asked.seconds is not None:
            raise InputError(
                "--seconds",
                "be given for rows that fit into memory",
                self.data.path,
                "Choose some by --rows",
            )
        in_order = self.features == self.data.without(self.others)
        if self.background is None and (self.loaded.categories or not in_order):
            raise InputError(
                self.data.what,
                "have the columns of the model in its order, and no categories",
                f"{self.data.path}, which is read a piece at a time",
                "Give --background, whose columns it gets",
            )

    @property
    def count(self) -> int:
        """How many rows are explained."""
        return self.data.rows if self.asked.rows is None else len(self.rows)

    @property
    def carried(self) -> list[str]:
        """Columns that go along."""
        more = [] if self.asked.rows is None else [ROW_IN_FILE]
        return [*dict.fromkeys([*self.others, *more])]

    def explainer(self) -> Explainer:
        """An explainer of the model; without a background only where its trees do without."""
        if self.background is not None:
            table = self.background.table.select(self.features)
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
        table = taken(self.data, rows).select(self.features)
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
        files = {
            "model": loaded.path,
            "data": asked.data,
            "background": asked.background,
            "players": asked.players,
        }
        digests = {
            f"SHA-256 of the {name}": file_digest(path)
            for name, path in files.items()
            if path is not None and path.is_file()
        }
        return lines | digests | {"versions": versions()}


def read_players(path: Path) -> dict[str, list[Any]]:
    """Groups of columns from a TOML file, as in `address = ["city", "zip"]`."""
    try:
        groups = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeError, RecursionError) as error:
        raise InputError(
            "--players", "be a TOML file of groups", f"{path} ({error})", GROUPS
        ) from error
    groups = groups.get("players", groups)
    wrong = [name for name, columns in groups.items() if not isinstance(columns, list)]
    if wrong or not groups:
        raise InputError(
            "--players",
            "be lists of columns by name",
            f"{wrong[0]} = {groups[wrong[0]]!r}" if wrong else f"{path} with none",
            GROUPS,
        )
    return groups


def chosen_output(text: str | None, model: Any, predict: str | None) -> Any:
    """The output that is meant by what was typed: a label of the model, a number, or a word."""
    if text is None:
        return None
    known = as_model(model, predict).of_both_classes()
    same = [each for each in known.labels or () if str(each) == text]
    if same:
        return same[0]
    return int(text) if text.removeprefix("-").isdecimal() else text


def as_number(text: str) -> float | str:
    """A number as one; a share such as '1%', and what is neither, as it is."""
    try:
        return float(text)
    except ValueError:
        return text
