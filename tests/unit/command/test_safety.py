"""Files from anywhere: nothing in them is run, nothing is fetched, and broken ones are told."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import NAMES, ROOT, command, process

import owenshap

HERE = Path(__file__).parent
CORPUS = sorted((HERE / "corpus").iterdir())
WATCHED = """
import sys

FORBIDDEN = ("pickle.find_class", "socket.connect", "socket.getaddrinfo", "os.system")
found = []

def watch(event, arguments):
    if event in FORBIDDEN and watching:
        found.append((event, str(arguments)[:200]))

watching = False
sys.addaudithook(watch)
from click.testing import CliRunner
from owenshap.command.app import app
import owenshap.command.screens, pandas, pyarrow.parquet, pyarrow.csv, pyarrow.dataset
import catboost, lightgbm, onnxruntime, skops.io, sklearn.linear_model, sklearn.svm, xgboost

folder, out, *kinds = sys.argv[1:]
for kind in kinds:
    arguments = ["explain", f"{folder}/{kind}", f"{folder}/data.csv", "--rows", "0:3"]
    arguments += ["--ids", "customer", "--ids", "late", "--out", f"{out}/{kind}"]
    watching = True
    result = CliRunner().invoke(app, arguments)
    watching = False
    assert result.exit_code == 0, result.output
print(found)
"""


@pytest.mark.slow
def test_no_pickle_and_no_network_by_default(files, tmp_path):
    (tmp_path / "watched.py").write_text(WATCHED)
    kinds = ["logistic.skops", "model.onnx", "boosted.ubj", "light.txt", "cat.cbm"]
    asked = [sys.executable, tmp_path / "watched.py", files, tmp_path / "out", *kinds]
    done = subprocess.run(
        [*map(str, asked)],
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_files_that_once_ended_the_process(path, files, tmp_path):
    result = command("explain", path, files / "data.csv", "--out", tmp_path / "out")
    assert result.exit_code == 3, result.output
    assert len(result.output.strip().splitlines()) == 1
    assert path.name in result.output


@pytest.mark.slow
def test_broken_files_are_loaded_or_refused(files, tmp_path):
    """Four mutations of each; `python fuzzing.py FOLDER FIRST COUNT` tries others."""
    folder = tmp_path / "files"
    folder.mkdir()
    for each in files.iterdir():
        if each.is_file():
            (folder / each.name).write_bytes(each.read_bytes())
    rows = pd.read_csv(files / "data.csv")[NAMES]
    explained = owenshap.Explainer(lambda batch: batch @ np.ones(4), rows.to_numpy())
    explained(rows.to_numpy()[:5]).save(folder / "explanation.npz")
    (folder / "groups.toml").write_text('money = ["income", "debt"]\n')
    done = subprocess.run(
        [sys.executable, str(HERE / "fuzzing.py"), str(folder), "0", "4"],
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_demo_ends_with_a_report(tmp_path):
    result = process("demo", "--out", tmp_path / "demo")
    assert result.returncode == 0, result.stderr
    page = Path(result.stdout.partition("Report: ")[2].splitlines()[0])
    assert page == tmp_path / "demo" / "explained" / "report.html"
    assert page.stat().st_size > 50_000
    again = process("demo", "--out", tmp_path / "demo")
    assert again.returncode == 3
    assert "hold no earlier demo" in again.stderr
    shown = next(line for line in result.stdout.splitlines() if line.startswith("$ owenshap "))
    assert str(tmp_path / "demo" / "model.skops") in shown
