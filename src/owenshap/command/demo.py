"""`owenshap demo`: files as users have them, and the command that explains them."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path

from owenshap.command.app import app
from owenshap.command.explaining import explain
from owenshap.command.words import summary
from owenshap.command.work import asked_by
from owenshap.errors import InputError
from owenshap.support.extras import needed

MODEL = "model.skops"
TRAINING = "training.csv"
PATIENTS = "patients.csv"
OUT = "explained"
ROWS = "0:40"
"""Of 143 patients, to 1 %: from start to report some 11 s on two cores, of which 15 may pass."""


def run_demo(path: Path, force: bool) -> None:
    """Train a network, write it and its data to files, and explain them by the command."""
    files = [path / name for name in (MODEL, TRAINING, PATIENTS, OUT)]
    there = [file for file in files if file.exists()]
    if there and not force:
        raise InputError(
            "--out",
            "hold no earlier demo",
            str(there[0]),
            "Give another folder by --out, or --force",
        )
    path.mkdir(parents=True, exist_ok=True)
    model, training, patients, out = files
    right = _trained(model, training, patients)
    print(f"A network that tells tumours apart: {right:.1%} of the patients' are right.")
    asked = [str(model), str(patients), "--background", str(training), "--output", "malignant"]
    command = ["explain", *asked, "--rows", ROWS, "--out", str(out)]
    command += ["--force"] * out.exists()
    print(f"\n$ owenshap {shlex.join(command)}\n", flush=True)
    options = app.commands["explain"].make_context(command[0], command[1:]).params
    done = explain(asked_by(options, command))
    print(summary(done))
    print(f"\nReport: {done.files[-1].resolve()}\nOpen it in a browser.")


def _trained(model: Path, training: Path, patients: Path) -> float:
    """Write a trained network and its data; the share of new patients that it has right."""
    names = ("datasets", "model_selection", "neural_network", "pipeline", "preprocessing")
    sklearn = {name: needed(f"sklearn.{name}", extra="demo") for name in names}
    tumours = sklearn["datasets"].load_breast_cancer(as_frame=True)
    labels = tumours.target_names[tumours.target]
    rows, new, classes, new_classes = sklearn["model_selection"].train_test_split(
        tumours.data, labels, random_state=0
    )
    network = sklearn["neural_network"].MLPClassifier(
        (8,), solver="lbfgs", alpha=1.0, max_iter=200, random_state=0
    )
    fitted = sklearn["pipeline"].make_pipeline(sklearn["preprocessing"].StandardScaler(), network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 200 steps are enough for a demo
        fitted.fit(rows, classes)
    needed("skops.io", extra="demo").dump(fitted, model)
    rows.assign(diagnosis=classes).to_csv(training, index=False)
    new.assign(diagnosis=new_classes).to_csv(patients, index=False)
    return float(fitted.score(new, new_classes))
