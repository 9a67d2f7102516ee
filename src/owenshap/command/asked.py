"""What the command line asks for, and what its words mean."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

from owenshap.command.model_files import Trust
from owenshap.errors import InputError
from owenshap.models import as_model
from owenshap.support.checks import parse_bytes

GROUPS = 'A line is as address = ["city", "zip"]'


Asked: TypeAlias = SimpleNamespace
"""The options of `explain` as click declares and checks them, by their names; and

- `trust`, a `Trust`: what a model file may do,
- `bars`: whether progress is shown; None: where somebody sees it,
- `command`: how it was asked for, to be repeated.
"""


def asked_by(options: Mapping[str, Any], command: Sequence[str]) -> Asked:
    """What the options of `explain` ask for."""
    trust = Trust(tuple(options["trust"]), options["trust_pickle"], parse_bytes(options["memory"]))
    bars = False if options["quiet"] else None
    return Asked(**{**options, "trust": trust, "bars": bars, "command": command})


def read_players(path: Path) -> dict[str, list[Any]]:
    """Groups of columns from a TOML file, as in `address = ["city", "zip"]`."""
    try:
        groups = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeError, RecursionError) as error:
        got = f"{path} ({error})"
        raise InputError("--players", "be a TOML file of groups", got, GROUPS) from error
    groups = groups.get("players", groups)
    wrong = [name for name, columns in groups.items() if not isinstance(columns, list)]
    if wrong or not groups:
        got = f"{wrong[0]} = {groups[wrong[0]]!r}" if wrong else f"{path} with none"
        raise InputError("--players", "be lists of columns by name", got, GROUPS)
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
