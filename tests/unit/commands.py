"""The command as tests call it, and tables for it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner

from owenshap.command.app import app

ROOT = Path(__file__).parents[2]
NAMES = ["age", "income", "debt", "years"]


def command(*arguments):
    """The command in this process; what is printed, and the exit code."""
    return CliRunner().invoke(app, [*map(str, arguments)])


def process(*arguments, **settings):
    """The command in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **settings.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "owenshap", *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        **settings,
    )


def table(rows, seed=0):
    """Rows with a name for each, and what is to be predicted."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 4)).round(3), columns=NAMES)
    frame.insert(0, "customer", [f"c{each}" for each in range(rows)])
    return frame.assign(late=(frame["age"] * frame["debt"] + frame["income"] > 0).astype(int))
