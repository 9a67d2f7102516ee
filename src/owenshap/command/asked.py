"""What the command line asks for, and what its words mean."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from owenshap.command.model_files import Trust
from owenshap.errors import InputError
from owenshap.models import as_model

GROUPS = 'A line is as address = ["city", "zip"]'


@dataclass(frozen=True)
class Asked:
    """What the command line asks for; its options have the defaults."""

    model: str
    data: Path
    background: Path | None
    rows: str | None
    ids: tuple[str, ...]
    output: str | None
    predict: str | None
    players: Path | None
    method: str
    tolerance: str | None
    budget: int | None
    seconds: float | None
    index: str
    interactions: bool
    confidence: float
    seed: int
    out: Path
    force: bool
    retry: bool
    check: Path | None
    min_change: str
    trust: Trust
    encoding: str | None
    arrays: bool
    title: str | None
    bars: bool | None
    """Whether progress is shown; None: where somebody sees it."""
    command: tuple[str, ...]
    """How it was asked for, to be repeated."""


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
