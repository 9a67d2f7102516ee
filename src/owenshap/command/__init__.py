"""The command `owenshap`: from a model file and a table to an explanation and its report."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """What the shell's `owenshap` calls; the rest is loaded when it is known what is asked."""
    # Before numpy is loaded. Matrices are small: on a busy machine threads that wait for each other
    # took 8 s of processor a row where one takes 0.3.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from owenshap.command.app import app
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit('click must be installed; got no such package. Run pip install "owenshap[cli]".')
    app(prog_name="owenshap")
