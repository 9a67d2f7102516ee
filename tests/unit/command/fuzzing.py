"""Broken files for the loaders: `python fuzzing.py FOLDER FIRST COUNT` tries some of every kind.

Each is tried in a child of its own, as what is native may end its process. What is printed is what
was neither loaded nor refused by one of our errors.
"""

import os
import random
import re
import resource
import signal
import sys
import warnings
from pathlib import Path

SECONDS = 60
MEMORY = 6 << 30
LIBRARIES = ["xgboost", "lightgbm", "catboost", "onnxruntime", "skops.io", "pyarrow.parquet"]


def mutated(content, rng):
    """The bytes with one to three things wrong."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(["cut", "flip", "zero", "double", "insert", "number", "swap"])
        size = max(1, len(content))
        place = rng.randrange(size)
        length = min(rng.choice([1, 4, 16, 256]), size)
        if kind == "cut":
            del content[place:]
        elif kind == "flip":
            for _ in range(rng.choice([1, 1, 3, 20])):
                if content:
                    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        elif kind == "zero":
            content[place : place + length] = bytes(length)
        elif kind == "double":
            content[place:place] = content[place : place + length]
        elif kind == "insert":
            content[place:place] = rng.randbytes(length)
        elif kind == "number":
            numbers = list(re.finditer(rb"\d+", bytes(content)))
            if numbers:
                each = rng.choice(numbers)
                new = rng.choice([b"-1", b"0", b"4294967296", b"9" * 19, b"1e308", b"nan"])
                content[each.start() : each.end()] = new
        else:
            other = rng.randrange(size)
            content[place : place + length] = content[other : other + length]
    return bytes(content)


def tried(path, data):
    """Load a file as the command does it, and what is made of it."""
    from owenshap.command import model_files
    from owenshap.command.folder import opened
    from owenshap.command.model_files import Trust, load_model
    from owenshap.command.table_files import frame_of, open_table
    from owenshap.command.work import read_players
    from owenshap.errors import OwenshapError
    from owenshap.jobs.explainer import Explainer

    kind = path.suffix
    model_files.TRIAL_SECONDS = 30
    try:
        if kind in (".csv", ".parquet"):
            table = open_table(path, "DATA", None)
            frame_of("DATA", table.table, {}, {})
        elif kind == ".toml":
            read_players(path)
        elif kind == ".npz":
            opened(path, "EXPLANATION")
        else:
            loaded = load_model(str(path), Trust((), pickle=False, memory=10**9))
            Explainer(loaded.model, data)(data[:2], budget=200, seed=0)
    except (OwenshapError, OSError, MemoryError):
        pass


def child(path, data):
    """The status of a process that tries a file: 0 where all is well."""
    number = os.fork()
    if number:
        return os.waitpid(number, 0)[1]
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    try:
        tried(path, data)
    except BaseException as error:
        path.with_suffix(".why").write_text(f"{type(error).__name__}: {error}"[:500])
        os._exit(1)
    os._exit(0)


def main(folder, first, count, kinds):
    """Try so many mutations of every file of a folder."""
    import importlib

    import pandas as pd

    for each in LIBRARIES:
        importlib.import_module(each)
    data = pd.read_csv(folder / "data.csv")[["age", "income", "debt", "years"]]
    seeds = sorted(path for path in folder.iterdir() if not kinds or path.suffix in kinds)
    failed = 0
    for number in range(first, first + count):
        for path in seeds:
            if path.suffix == ".py" or not path.is_file():
                continue
            rng = random.Random(f"{path.name} {number}")
            content = mutated(path.read_bytes(), rng)
            place = folder / "broken" / f"{number}-{path.name}"
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(content)
            status = child(place, data)
            if status:
                failed += 1
                why = place.with_suffix(".why")
                told = why.read_text() if why.exists() else f"ended by signal {status & 127}"
                print(f"{place.name}: {told}", flush=True)
            else:
                place.unlink()
    print(f"{count * len(seeds)} tried, {failed} failed")
    return failed


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = sys.argv[1:]
    sys.exit(bool(main(Path(given[0]), int(given[1]), int(given[2]), given[3:])))
