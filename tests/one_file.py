"""An estimator is one file: `python tests/one_file.py [target …]`.

Copies the checkout, puts the estimator of docs/contributing.md into the copy as the one new file,
and runs `make check test` there, or other targets. The copy is gone afterwards.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "contributing.md"
NAME = "rotations"
LEFT = (".git", ".venv*", "out", "__pycache__", ".*_cache", ".hypothesis")
"""What a fresh checkout does not have."""


def example() -> str:
    """The file of an estimator, as the page shows it."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    [code] = [block for block in blocks if f'name = "{NAME}"' in block]
    return code


def main(targets: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "owenshap"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT))
        (copy / "src" / "owenshap" / "estimators" / f"{NAME}.py").write_text(example())
        environment = os.environ | {"PYTHONPATH": str(copy / "src")}  # before the installed package
        ask = f"import owenshap; assert {NAME!r} in owenshap.methods(), owenshap.__file__"
        subprocess.run([sys.executable, "-c", ask], env=environment, cwd=copy, check=True)
        ready = f"--old-file={sys.prefix}/.ready"  # this environment as it is: nothing is installed
        command = ["make", ready, f"VENV={sys.prefix}", *(targets or ["check", "test"])]
        return subprocess.run(command, env=environment, cwd=copy, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
