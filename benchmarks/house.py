"""How large the house is, and how far one row walks through it: `python -m benchmarks.house`.

Prints the rooms, the modules and hops of one row, the largest fan-outs, the statements and the
named numbers of src. All is counted from the source, but for the way of the row, which is one run.
Members of an Enum are labels, such as exit codes, not numbers that tune something: they are not
counted.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

PACKAGE = "owenshap"
SRC = Path(__file__).parents[1] / "src" / PACKAGE
MOST_SHOWN = 5  # modules of the largest fan-out


def modules(src: Path = SRC) -> dict[str, Path]:
    """The file of every module, by its dotted name."""
    return {_dotted(path, src): path for path in sorted(src.rglob("*.py"))}


def _dotted(path: Path, src: Path) -> str:
    parts = path.relative_to(src).with_suffix("").parts
    return ".".join([PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)])


def room(module: str) -> str:
    """The room that a module stands in; the package's own name for what lies flat."""
    return module.split(".")[1] if module.count(".") else module


def rooms(src: Path = SRC) -> list[str]:
    """The folders of the package."""
    return sorted(path.parent.name for path in src.glob("*/__init__.py"))


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that a file imports, at its top or lazily."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            imported |= {name if name in known else node.module for name in names}
    return imported & known.keys()


def fan_out(src: Path = SRC) -> Counter[str]:
    """How many modules of the package each module imports; `__init__` of all, lazy, is left out."""
    known = modules(src)
    return Counter({name: len(imports(known[name], known)) for name in known if name != PACKAGE})


def statements(src: Path = SRC) -> int:
    """Statements of all files, docstrings left out; `a, b = 1, 2` is two, however it is written."""
    trees = (ast.parse(path.read_text()) for path in modules(src).values())
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.stmt))
    return sum(_assignments(node) for node in nodes if not _is_text(node))


def _assignments(node: ast.stmt) -> int:
    """How many assignments are packed into one statement."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
        return 1
    return len(node.value.elts) if isinstance(node.targets[0], ast.Tuple) else 1


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def constants(src: Path = SRC) -> list[str]:
    """Names in capitals that stand for a number."""
    return _numbers(src, str.isupper)


def settings(src: Path = SRC) -> list[str]:
    """Fields of classes, and attributes, whose default is a number."""
    return _numbers(src, str.islower)


def _numbers(src: Path, wanted: Callable[[str], bool]) -> list[str]:
    numbers = []
    for module, path in modules(src).items():
        names = (name for name, value in _assigned(path) if wanted(name) and _is_number(value))
        numbers += [f"{module}.{name}" for name in names]
    return numbers


def without_reason(src: Path = SRC) -> list[str]:
    """Constants that stand for a number and have neither a comment nor a docstring."""
    without = []
    for module, path in modules(src).items():
        lines = path.read_text().splitlines()
        for body in _bodies(path):
            for node, following in zip(body, [*body[1:], None], strict=True):
                if following is not None and _is_text(following):
                    continue
                if "#" in lines[node.end_lineno - 1] or lines[node.lineno - 2].startswith("#"):
                    continue
                numbers = [name for name, value in _of_node(node) if _is_number(value)]
                without += [f"{module}.{name}" for name in numbers if name.isupper()]
    return without


def _bodies(path: Path) -> list[list[ast.stmt]]:
    """The statements of a file and of its classes; members of an Enum are labels."""
    tree = ast.parse(path.read_text())
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return [tree.body, *(node.body for node in classes if not _is_enum(node))]


def _is_enum(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id.endswith("Enum") for base in node.bases)


def _assigned(path: Path) -> Iterator[tuple[str, Any]]:
    """What modules and classes of a file assign to names, one by one."""
    for body in _bodies(path):
        for node in body:
            yield from _of_node(node)


def _of_node(node: ast.stmt) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.Assign):
        yield from _names(node.targets[0], node.value)
    elif isinstance(node, ast.AnnAssign):
        yield from _names(node.target, node.value)


def _names(target: ast.expr, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its in zip(target.elts, value.elts, strict=False):
            yield from _names(one, its)


def _is_number(node: ast.expr | None) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


@dataclass
class Way:
    """What a call passed through."""

    modules: set[str] = field(default_factory=set)
    hops: set[tuple[str, str]] = field(default_factory=set)
    """A module, and a function of another room that it called: each once."""
    calls: int = 0
    """The same, each as often as it was called."""

    def follow(self, call: Callable[[], object]) -> None:
        """Run a call and note whose functions it calls."""
        before = sys.getprofile()
        sys.setprofile(self._note)
        try:
            call()
        finally:
            sys.setprofile(before)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        module = _module(frame)
        if event != "call" or module is None:
            return
        self.modules.add(module)
        caller = _caller(frame)
        if caller is not None and room(caller) != room(module):
            self.hops.add((caller, f"{module}.{frame.f_code.co_qualname}"))
            self.calls += 1


def _module(frame: FrameType) -> str | None:
    name: str = frame.f_globals.get("__name__", "")
    return name if name.split(".", maxsplit=1)[0] == PACKAGE else None


def _caller(frame: FrameType) -> str | None:
    """The nearest module of ours that a frame was called from."""
    outer = frame.f_back
    while outer is not None:
        module = _module(outer)
        if module is not None:
            return module
        outer = outer.f_back
    return None


def way_of_a_row() -> Way:
    """One row, halved-owen with a budget, by an explainer that was used before."""
    import owenshap

    rng = np.random.default_rng(0)
    weights, rows = rng.normal(size=12), rng.normal(size=(1, 12))
    explainer = owenshap.Explainer(lambda batch: np.tanh(batch @ weights), baseline=0.0)

    def explain() -> object:
        return explainer(rows, method="halved-owen", budget=2000, progress=False)

    explain()
    way = Way()
    way.follow(explain)
    return way


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", action="store_true", help="list modules, hops and named numbers")
    asked = parser.parse_args()
    way = way_of_a_row()
    largest = fan_out().most_common(MOST_SHOWN)
    numbers, fields = constants(), settings()
    print(f"rooms                   {len(rooms())}: {' '.join(rooms())}")
    print(f"modules of one row      {len(way.modules)}")
    print(f"hops of one row         {len(way.hops)} between rooms, in {way.calls} calls")
    print(f"largest fan-out         {', '.join(f'{name} {count}' for name, count in largest)}")
    print(f"modules                 {len(modules())}")
    print(f"statements              {statements():,}")
    by_room = Counter(room(name) for name in numbers).most_common()
    shown = ", ".join(f"{name} {count}" for name, count in by_room)
    print(f"named numbers           {len(numbers)} constants, {len(fields)} defaults of fields")
    print(f"constants by room       {shown}")
    print(f"without a reason        {' '.join(without_reason()) or 'none'}")
    if asked.names:
        hops = [f"{caller} -> {function}" for caller, function in sorted(way.hops)]
        print(*sorted(way.modules), *hops, *numbers, *fields, sep="\n")


if __name__ == "__main__":
    main()
