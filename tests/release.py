"""`make release-check`: build the wheel, look into it, and use it on each Python in an environment
that has nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
LARGEST_WHEEL = 700_000  # bytes: the code alone has 627,000, so that a picture or data would show


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder))
        check_contents(wheel)
        for version in PYTHONS:
            python = interpreter(version)
            if python is None:
                print(f"Python {version}: not on this machine, untried")
                continue
            try_out(python, wheel, Path(folder) / f"environment-{version}")
            print(f"Python {version}: installed alone, imported, the README's examples right")


def build(folder: Path) -> Path:
    # A copy, so that nothing is left beside the source.
    source = folder / "source"
    files = run("git", "-C", str(ROOT), "ls-files", "-z").split("\0")
    for name in filter(None, files):
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    run(sys.executable, "-m", "build", "--wheel", "--sdist", "--outdir", str(folder), str(source))
    (wheel,) = folder.glob("*.whl")
    return wheel


def check_contents(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        about = archive.read(metadata).decode()
    strangers = [n for n in names if not n.startswith(("owenshap/", metadata.split("/")[0]))]
    assert not strangers, f"the wheel holds more than the package: {strangers[:5]}"
    source = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert source <= set(names), f"the wheel lacks {sorted(source - set(names))[:5]}"
    assert "owenshap/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names), "no licence"
    size = wheel.stat().st_size
    assert size <= LARGEST_WHEEL, f"the wheel has {size:,} bytes; at most {LARGEST_WHEEL:,}"
    version = re.search(r"^Version: (\S+)$", about, re.MULTILINE)
    stated = re.search(r'__version__ = "(.*)"', (ROOT / "src/owenshap/__init__.py").read_text())
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert version is not None
    assert stated is not None
    assert cited is not None
    assert version[1] == stated[1] == cited[1], (version[1], stated[1], cited[1])
    assert f"## {version[1]}" in (ROOT / "CHANGELOG.md").read_text(), "the changelog lacks it"
    print(f"{wheel.name}: {len(names)} files, {size:,} bytes")


def interpreter(version: str) -> str | None:
    """One of pyenv's, or a python3.x on the path."""
    places = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return next((str(place) for place in places), shutil.which(f"python{version}"))


def try_out(python: str, wheel: Path, folder: Path) -> None:
    run(python, "-m", "venv", str(folder))
    inside = str(folder / "bin" / "python")
    quiet = ("--quiet", "--disable-pip-version-check")
    constraints = ("--constraint", str(ROOT / "constraints.txt"))
    run(inside, "-m", "pip", "install", *quiet, str(wheel))
    alone = "import owenshap, numpy; game = owenshap.TableGame([0.0, 1.0, 2.0, 5.0]); "
    alone += "assert numpy.allclose(owenshap.estimate(game).values, [2.0, 3.0])"
    run(inside, "-c", alone)
    run(inside, "-m", "pip", "install", *quiet, *constraints, f"{wheel}[demo]")
    page = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```\n(?:```text\n(.*?)```)?", page, re.DOTALL)
    program = "\n".join(code for code, _ in blocks)
    printed = run(inside, "-W", "ignore", "-c", program)
    expected = "\n".join(text for _, text in blocks)
    assert printed.split() == expected.split(), f"the README says {expected!r}; got {printed!r}"


def run(*command: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment |= {"MPLBACKEND": "agg", "SOURCE_DATE_EPOCH": "1767225600"}
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        cwd=tempfile.gettempdir(),
        env=environment,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)[:300]}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
