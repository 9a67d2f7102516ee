"""Which code a result was made with: what a small run of it comes to.

A change that leaves a probe as it is leaves the results as they are; one that changes it makes them
results of older code. Times have no such run: theirs is the source of the functions that were timed.
"""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np


@lru_cache
def of(code: str) -> str:
    """The probe of this kind of code, twelve hexadecimal digits."""
    return _digest(PROBES[code]())


def now(kept: Mapping[str, Any]) -> str:
    """What the probe of a kept result would be with this code."""
    paths = kept["result"].get("paths")
    return of_paths(paths) if paths else of(kept.get("code", "estimators"))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


def _estimators() -> str:
    """Every variant of the tables, a few samples on a small table."""
    from reproduction.games import TableRow, estimates
    from reproduction.variants import VARIANTS

    game = TableRow(_table(5)[:, 0])
    rng = np.random.default_rng(0)
    found = [estimates(game, *variant.make(6), 2, rng) for variant in VARIANTS.values()]
    return _digits(np.concatenate(found), 9)


def _fits() -> str:
    """The estimators with a budget: efficient stars, fits and the default."""
    import owenshap
    from reproduction.fitted import FITTED

    game = owenshap.TableGame(_table(6))
    found = [
        owenshap.estimate(game, each.method, budget=40, seed=0, progress=False).values
        for each in FITTED.values()
    ]
    return _digits(np.stack(found), 5)  # an optimiser stops a little elsewhere on another machine


def _default() -> str:
    """The fits, and what the default takes: by players, budget and what an evaluation takes."""
    from owenshap.run.cost import Cost
    from owenshap.run.plan import make_plan
    from owenshap.statistics.stopping import Until

    found = []
    for n_players, budget in ((16, 80), (16, 3200), (150, 900), (150, 2100), (200, 4800)):
        for seconds in (0.0, 0.1):
            cost = Cost(seconds, 1)
            plans = (
                make_plan(n_players, "auto", budget, cost),
                make_plan(n_players, "auto", 400_000, cost, Until(tolerance="1%")),
            )
            found += [each.estimator.name for each in plans]
    return " ".join([_fits(), *found])


def _training() -> str:
    """Both ways of training and a group of a search, three epochs on a few rows, always on the
    CPU.
    """
    from reproduction.data import Dataset
    from reproduction.search import train_group
    from reproduction.training import fit_together

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(120, 5))
    labels = (rows @ [1.0, -2.0, 0.5, 0.0, 1.0] > 0).astype(np.int64)
    parts = [
        (rows[first:last], labels[first:last]) for first, last in ((0, 80), (80, 100), (100, 120))
    ]
    dataset = Dataset("probe", *parts, [], 2)
    found = []
    for way in ("paper", "program"):
        networks, _ = fit_together("mlp 4-3", [dataset, dataset], way=way, epochs=3)
        found += [np.ravel(each) for network in networks for each in network.state.values()]
    accuracy, _ = train_group([(4, 3), (2, 2)], dataset, "cpu", 0, most=3)
    return _digits(np.concatenate([*found, accuracy]), 3)


PROBES: dict[str, Callable[[], str]] = {
    "estimators": _estimators,
    "fits": _fits,
    "default": _default,
    "times": lambda: "nothing is known of what was timed",
    "training": _training,
    "other": lambda: "of nothing in owenshap",
}


Paths = dict[str, list[str]]
"""Functions by the file that they are in."""


def walked(*calls: Callable[[], Any]) -> Paths:
    """The functions of owenshap that these calls go through."""
    root = str(_root())
    found: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root):
            found.add((code.co_filename, code.co_qualname.partition(".<locals>")[0]))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        for call in calls:
            call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    paths: Paths = {}
    for file, name in sorted(found):
        if not name.startswith("<"):  # a module that was read on the way
            paths.setdefault(Path(file).relative_to(root).as_posix(), []).append(name)
    return paths


def all_of(parts: Sequence[Paths]) -> Paths:
    """The functions of all of them."""
    files = sorted({file for part in parts for file in part})
    return {file: sorted({name for part in parts for name in part.get(file, [])}) for file in files}


def of_paths(paths: Paths) -> str:
    """The probe of these functions: what they say now, and the constants beside them; without
    comments, docstrings and layout.
    """
    texts = []
    for file, names in sorted(paths.items()):
        path = _root() / file
        tree = ast.parse(path.read_text() if path.exists() else "")
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
        said: dict[str, str] = {}
        for name, text in _parts(tree.body, ""):
            said[name] = said.get(name, "") + text
        # a class that is made by calling it may have no function of its own
        texts += [f"{file} {each}: {said.get(each, 'gone')}" for each in ["", *names]]
    return _digest("\n".join(texts))


def _parts(body: list[ast.stmt], where: str) -> Iterator[tuple[str, str]]:
    """Functions by their names, and all constants of a file under no name."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{where}{node.name}", _said(node)
        elif isinstance(node, ast.ClassDef):
            yield from _parts(node.body, f"{where}{node.name}.")
        elif not isinstance(node, ast.Import | ast.ImportFrom | ast.If):
            yield "", _said(node)


def _said(node: Any) -> str:
    """What a piece of source says, the same in every version of Python: their own ways to write it
    differ.
    """
    if isinstance(node, ast.AST):
        fields = [(name, getattr(node, name, None)) for name in node._fields]
        told = [f"{name}={_said(each)}" for name, each in fields if each is not None and each != []]
        return f"{type(node).__name__}({', '.join(told)})"
    if isinstance(node, list):
        return f"[{', '.join(map(_said, node))}]"
    return repr(node)


def _root() -> Path:
    import owenshap

    return Path(owenshap.__file__).parent


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _table(n_players: int) -> Any:
    """Values of all coalitions of a small smooth game, two outputs."""
    codes = np.arange(1 << n_players)[:, None] >> np.arange(n_players) & 1
    sums = codes @ np.linspace(-1, 2, 2 * n_players).reshape(n_players, 2)
    return np.tanh(sums - 0.5) + 0.1 * sums**2


def _digits(numbers: Any, digits: int) -> str:
    """Numbers as text, to so many digits of the largest."""
    scale = np.abs(numbers).max()
    return " ".join(f"{round(each, digits) + 0.0:.{digits}f}" for each in (numbers / scale).ravel())
