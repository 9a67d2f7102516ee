"""`owenshap explain`: a model and a table in, a folder with the explanation and its report out."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import re
import shlex
import sys
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from owenshap.command.check import Change, changes
from owenshap.command.faults import CHANGED, DONE, INTERRUPTED, MODEL, say
from owenshap.command.folder import OutFolder, opened
from owenshap.command.model_files import LoadedModel, Trust, load_model
from owenshap.command.table_files import (
    ROW_IN_FILE,
    Columns,
    TableFile,
    alike,
    chosen_rows,
    frame_of,
    matched,
    open_table,
    taken,
)
from owenshap.command.words import Told
from owenshap.errors import InputError
from owenshap.explain.explanation import Explanation
from owenshap.jobs.explainer import Explainer
from owenshap.jobs.layout import Layout, kinds_of
from owenshap.jobs.run import Run
from owenshap.jobs.sources import no_ids
from owenshap.support.extras import needed

STAND_INS = 100  # rows of the data that are the background where none is given: usual, and cheap
MOST_CELLS = 1 << 22  # rows × players × outputs that are written in one file: 200 MB of arrays
SUMMARISED = 10_000  # rows that the summary of a larger table is of


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    model: str
    data: Path
    background: Path | None = None
    rows: str | None = None
    ids: tuple[str, ...] = ()
    output: str | None = None
    predict: str | None = None
    players: Path | None = None
    method: str = "auto"
    tolerance: str | None = None
    budget: int | None = None
    seconds: float | None = None
    confidence: float = 0.95
    seed: int = 0
    out: Path = Path("explained")
    force: bool = False
    retry: bool = False
    check: Path | None = None
    min_change: str = "5%"
    trust: Trust = Trust()
    encoding: str | None = None
    arrays: bool = False
    title: str | None = None
    bars: bool | None = None
    """Whether progress is shown; None: where somebody sees it."""
    command: tuple[str, ...] = ()
    """How it was asked for, to be repeated."""


@dataclass(frozen=True)
class Done:
    """What was made."""

    told: Told
    files: list[Path]
    audit: dict[str, str]
    notes: list[str]
    changes: list[Change] | None
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        if self.told.failed:
            return MODEL
        return CHANGED if any(each.changed for each in self.changes or ()) else DONE


class OnArrays:
    """A function that takes arrays, given frames."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, batch: Any) -> Any:
        return self.function(batch.to_numpy())


class Work:
    """All that one call of the command does, a step at a time."""

    def __init__(self, asked: Asked, notes: list[str]) -> None:
        self.asked, self.notes = asked, notes
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
            rule, advice = "be given for rows that fit into memory", "Choose some by --rows"
            raise InputError("--seconds", rule, self.data.path, advice)
        in_order = self.columns.features == self.data.without(self.columns.carried)
        if self.background is None and (self.loaded.categories or not in_order):
            rule = "have the columns of the model in its order, and no categories"
            got = f"{self.data.path}, which is read a piece at a time"
            raise InputError(self.data.what, rule, got, "Give --background, whose columns it gets")

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
            "tolerance": as_tolerance(asked.tolerance),
            "seed": asked.seed,
            "confidence": asked.confidence,
            "progress": asked.bars,
        }

    def audit(self, plan: str | None) -> dict[str, str]:
        """Labelled lines: by what the explanation can be repeated, and by what it is known."""
        asked, loaded = self.asked, self.loaded
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
                lines[f"SHA-256 of the {name}"] = digest_of_file(path)
        return lines | versions()


def explain(asked: Asked) -> Done:
    """Explain, write, compare; what was made."""
    notes: list[str] = []
    with warnings.catch_warnings():
        _quieted(notes)
        baseline = None if asked.check is None else opened(asked.check, "--check")[0]
        work = Work(asked, notes)
        explainer = work.explainer()
        folder = OutFolder.prepared(asked.out, asked.force)
        folder.record({"audit": work.audit(None)})
        if asked.seconds is None:
            found: Run | Explanation = _run(work, explainer, folder)
        else:
            found = _within(work, explainer, folder)
        return _finished(work, found, folder, baseline)


def _run(work: Work, explainer: Explainer, folder: OutFolder) -> Run:
    """A run on disk: where it is stopped, the same command goes on with it."""
    try:
        return explainer.run(
            work.rows, folder.run, ids=work.carried, retry=work.asked.retry, **work.settings()
        )
    except KeyboardInterrupt:
        say(_how_far(folder))
        sys.exit(INTERRUPTED)
    except InputError as error:
        if error.args[0] != "out":
            raise
        _, rule, got, advice = error.args
        raise InputError("--out", rule, got, f"{advice}; --force begins anew") from error


def _how_far(folder: OutFolder) -> str:
    try:
        progress = Run(folder.run).progress
    except InputError:  # it had not begun
        return "Interrupted before the first rows were explained."
    done = f"{progress.done:,} of {progress.rows:,} rows are done and kept in {folder.run}"
    return f"Interrupted: {done}. The same command goes on from there."


def _within(work: Work, explainer: Explainer, folder: OutFolder) -> Explanation:
    """An explanation of so many seconds, all at once."""
    if folder.explanation.exists():
        advice = "Give another folder by --out, or --force"
        raise InputError("--out", "hold no explanation", str(folder.explanation), advice)
    rows = work.rows.drop(columns=work.carried)
    return explainer(rows, seconds=work.asked.seconds, **work.settings())


def _finished(
    work: Work,
    found: Run | Explanation,
    folder: OutFolder,
    baseline: Run | Explanation | None,
) -> Done:
    """The files of an explanation, its summary, and what has changed."""
    explanation, whole = in_memory(found)
    failed = 0
    evaluations = int(np.sum(explanation.evaluations))
    if isinstance(found, Run):
        progress = found.progress
        failed, evaluations = progress.failed, progress.evaluations
        work.notes.extend(_failures(found))
    audit = work.audit(_plan(found))
    folder.record({"audit": audit})
    files = []
    if whole:
        explanation.save(folder.explanation)
        parquet = needed("pyarrow.parquet", extra="cli")
        table = found.scan().to_table() if isinstance(found, Run) else _table(work, explanation)
        parquet.write_table(table, folder.table)
        files += [folder.table, folder.explanation]
    else:
        files.append(folder.run)
    files += write_report(found, folder.report, audit, work.asked.title)
    rows = len(explanation) if isinstance(found, Explanation) else found.progress.rows
    model = f"{work.loaded.kind} {work.asked.model}" if work.loaded.path else work.asked.model
    told = Told(explanation, rows, failed, model, str(work.asked.data), evaluations)
    compared = None
    if baseline is not None:
        compared = changes(in_memory(baseline)[0], explanation, work.asked.min_change)
    return Done(told, files, audit, work.notes, compared)


def in_memory(found: Run | Explanation) -> tuple[Explanation, bool]:
    """The explanation of all rows, or of some where they are too many; and whether it is of all."""
    if isinstance(found, Explanation):
        return found, True
    layout = Layout(**found.manifest["layout"])
    progress = found.progress
    cells = progress.rows * len(layout.players) * len(layout.outputs or [""])
    if progress.done < progress.rows or cells <= MOST_CELLS:
        return found.explanation(), True
    spread = np.unique(np.linspace(0, progress.rows - 1, SUMMARISED).astype(np.int64))
    failed = {each.row for each in found.errors}
    return found.explanation([each for each in spread.tolist() if each not in failed]), False


def _table(work: Work, explanation: Explanation) -> Any:
    """An explanation in the columns that a run's parts have."""
    frame = work.rows.drop(columns=work.carried)
    kinds = kinds_of(dict(zip(map(str, frame.columns), frame.dtypes, strict=True)))
    ids = no_ids(len(explanation))
    if work.carried:
        pa = needed("pyarrow", extra="cli")
        ids = pa.Table.from_pandas(work.rows[work.carried], preserve_index=False)
        ids = ids.replace_schema_metadata()
    layout = Layout.of(explanation, kinds, work.carried)
    return layout.table(np.arange(len(explanation)), ids, explanation)


def write_report(
    found: Run | Explanation, path: Path, audit: dict[str, str], title: str | None
) -> list[Path]:
    """The report beside the explanation."""
    try:
        from owenshap.report import write  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError:
        return []
    return [write(found, path, title=title, audit=audit)]


def _plan(found: Run | Explanation) -> str | None:
    if isinstance(found, Run):
        return found.manifest["plan"]
    return None if found.because is None else str(found.because[0])


def _failures(run: Run) -> list[str]:
    errors = run.errors
    if not errors:
        return []
    first = f"the first is row {errors[0].row:,} ({errors[0].error})"
    return [f"{len(errors):,} rows could not be explained, {first}. --retry tries them again."]


def _quieted(notes: list[str]) -> None:
    """Warnings become notes; what the command tells itself, or nobody can mend, is left out."""
    warnings.simplefilter("ignore", DeprecationWarning)
    warnings.simplefilter("ignore", PendingDeprecationWarning)
    warnings.simplefilter("ignore", FutureWarning)
    warnings.filterwarnings("ignore", message=".*rows could not be explained")
    warnings.filterwarnings("ignore", message="X has feature names, but")

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = re.sub(r"\b(output|predict|method)='([^']*)'", r"--\1 \2", str(message))
        text = text.removesuffix(" This is told once.")
        if text not in notes:
            notes.append(text)

    warnings.showwarning = show


def read_players(path: Path) -> dict[str, list[Any]]:
    """Groups of columns from a TOML file, as in `address = ["city", "zip"]`."""
    try:
        groups = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeError, RecursionError) as error:
        got = f"{path} ({error})"
        advice = 'A line is as address = ["city", "zip"]'
        raise InputError("--players", "be a TOML file of groups", got, advice) from error
    groups = groups.get("players", groups)
    wrong = [name for name, columns in groups.items() if not isinstance(columns, list)]
    if wrong or not groups:
        got = f"{wrong[0]} = {groups[wrong[0]]!r}" if wrong else f"{path} with none"
        advice = 'A line is as address = ["city", "zip"]'
        raise InputError("--players", "be lists of columns by name", got, advice)
    return groups


def chosen_output(text: str | None, model: Any, predict: str | None) -> Any:
    """The output that is meant by what was typed: a label of the model, a number, or a word."""
    from owenshap.models import as_model

    if text is None:
        return None
    known = as_model(model, predict).of_both_classes()
    same = [each for each in known.labels or () if str(each) == text]
    if same:
        return same[0]
    return int(text) if text.removeprefix("-").isdecimal() else text


def as_tolerance(text: str | None) -> float | str | None:
    """A share as it is, a number as a number."""
    if text is None or text.endswith("%"):
        return text
    try:
        return float(text)
    except ValueError:
        return text  # which the explainer refuses in its own words


def digest_of_file(path: Path) -> str:
    """SHA-256 of its bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions() -> dict[str, str]:
    """Of what bears on the numbers, as far as it is loaded."""
    from owenshap import __version__

    names = ("numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "skops", "onnxruntime")
    names += ("xgboost", "lightgbm", "catboost")
    loaded = {"scikit-learn": "sklearn"}
    found: Mapping[str, str] = {
        each: _version(each) for each in names if loaded.get(each, each) in sys.modules
    }
    others = ", ".join(f"{name} {version}" for name, version in found.items())
    python = f"Python {platform.python_version()} on {platform.machine()}"
    return {"versions": f"owenshap {__version__}, {python}, {others}"}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # under another name, as xgboost-cpu is
        return str(getattr(sys.modules[package], "__version__", "?"))


__all__ = ["Asked", "Columns", "Done", "LoadedModel", "explain"]
