"""What the subcommands do and print."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from owenshap.command.check import Change
from owenshap.command.explaining import explain
from owenshap.command.faults import say
from owenshap.command.folder import REPORT, opened, readable, run_in
from owenshap.command.words import Done, as_data, first_lines, summary
from owenshap.command.work import asked_by
from owenshap.errors import InputError
from owenshap.jobs.run import Run
from owenshap.report import write


def explained(options: dict[str, Any]) -> int:
    """`owenshap explain`: the work, what is printed of it, and the exit code."""
    done = explain(asked_by(options, sys.argv[1:]))
    if options["as_json"]:
        print(json.dumps(_as_data(done), ensure_ascii=False, indent=1))
    elif not options["quiet"]:
        print(_screen(done))
    return done.exit_code


def _screen(done: Done) -> str:
    parts = [summary(done)]
    if done.changes is not None:
        parts += ["", told_changes(done.changes)]
    parts += ["", *(f"Note: {note}" for note in done.notes)]
    parts += [f"Wrote {file}" for file in done.files]
    return "\n".join(parts)


def _as_data(done: Done) -> dict[str, Any]:
    data = as_data(done) | {
        "files": [str(file) for file in done.files],
        "notes": done.notes,
        "audit": done.audit,
    }
    if done.changes is not None:
        data["changes"] = [change.state() for change in done.changes]
        data["changed"] = any(change.changed for change in done.changes)
    return data


def told_changes(changes: list[Change]) -> str:
    """What has changed, in words."""
    changed = [change for change in changes if change.changed]
    if not changed:
        return f"No importance has changed; the largest difference is {_told_change(changes[0])}."
    what = "features" if changes[0].output is None else "features of outputs"
    lines = first_lines([_told_change(each) for each in changed], "more")
    head = f"The importance of {len(changed)} of {len(changes)} {what} has changed:"
    return "\n".join([head, *(f"  {line}" for line in lines)])


def _told_change(each: Change) -> str:
    of = "" if each.output is None else f" for {each.output}"
    half = (each.upper - each.lower) / 2
    sure = f" ± {half:.2g}" if half else ""
    return (
        f"{each.player}{of}: {each.before:.4g} → {each.after:.4g} "
        f"({each.change:+.2g}{sure}; from {each.least:.2g} on it counts)"
    )


def reported(source: Path, out: Path | None, title: str | None, force: bool) -> None:
    """`owenshap report`: the page of something on disk."""
    loaded, audit = opened(source, "EXPLANATION|RUN")
    place = out or (source if source.is_dir() else source.parent) / REPORT
    if place.exists() and not force:
        raise InputError(
            "--out",
            "be a new file",
            f"{place}, which is there",
            "Give another by --out, or --force",
        )
    if isinstance(loaded, Run) and loaded.progress.done < loaded.progress.rows:
        say(f"The run is not finished: {loaded.progress}.")
    with readable(source, "EXPLANATION|RUN"):
        written = write(loaded, place, title=title, audit=audit, interactions=_pairs_beside(source))
    print(f"Wrote {written}")


def _pairs_beside(source: Path) -> Run | None:
    """The run in a folder that `explain` wrote, where it has interactions."""
    place = run_in(source)
    if place is None:
        return None
    run = Run(place)
    return run if run.has_interactions and run.progress.done > run.progress.failed else None


def status_of(path: Path, as_json: bool) -> str:
    """`owenshap status`: how far a run is."""
    place = run_in(path)
    if place is None:
        raise InputError("RUN", "be the folder of a run", str(path), "owenshap explain makes one")
    with readable(place, "RUN"):
        run = Run(place)
        progress = run.progress
        errors = run.errors
    if as_json:
        about: dict[str, Any] = {
            key: None if isinstance(each, float) and math.isnan(each) else each
            for key, each in asdict(progress).items()
        }
        about["errors"] = [asdict(error) for error in errors]
        return json.dumps(about | {"plan": run.manifest.get("plan")}, default=str, indent=1)
    state = "running" if progress.running else "stopped: the same command goes on"
    state = "finished" if progress.done == progress.rows else state
    lines = [f"{run.path}: {progress} ({state})", f"Plan: {run.manifest.get('plan')}"]
    failed = [f"Row {error.row:,} failed: {error.error}" for error in errors]
    return "\n".join(lines + first_lines(failed, "more rows failed"))


def listed_methods() -> list[dict[str, str]]:
    """`owenshap methods`: each with what it is and where it comes from."""
    from owenshap.estimators import by_name
    from owenshap.run.methods import methods

    kinds = by_name()
    others = {
        "auto": "The best for the model and the accuracy: trees, exact, or sampled with intervals.",
        "trees": "Exact values of tree ensembles from the trees themselves.",
    }
    listed = []
    for name in methods():
        kind = kinds.get(name)
        text = others.get(name, "") if kind is None else _first_sentence(kind.__doc__ or "")
        listed.append({"name": name, "what": text, "from": getattr(kind, "citation", "")})
    return listed


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return paragraph.split(". ")[0].rstrip(".") + "."


if not sys.stdout.encoding.lower().startswith("utf"):
    # letters that the terminal does not have are replaced, not an error
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
