"""The networks that are explained: fitted where their weights are missing, and how accurate they
are.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from reproduction import splits
from reproduction.data import Dataset, load
from reproduction.networks import Network
from reproduction.pool import spread
from reproduction.steps import Run

REPORTED = {
    "cc": ("mlp 13-9", "residual 32x4"),
    "mnist": ("mlp 300-25", "cnn 16-32"),
    "breast-cancer": ("mlp 13-9", "residual 32x4"),
    "diabetes": ("mlp 13-9", "residual 32x4"),
    "digits": ("mlp 64-25", "cnn 8-16"),
}
"""The MLP of the paper, or its like, and a deeper network."""
EPOCHS = {"residual": 15, "cnn": 15, "mlp": 50}


def mlp(dataset: Dataset, run: Run) -> Network:
    """The MLP that is explained."""
    return network(dataset, REPORTED[dataset.name][0], run)


def weights_of(name: str, architecture: str, run: Run) -> Path:
    """Where the weights of a network are."""
    return run.weights / f"{name}-{architecture.replace(' ', '-')}.npz"


def network(dataset: Dataset, architecture: str, run: Run) -> Network:
    """The network that is explained: kept, or fitted and kept where it is missing.

    The MLP of CC is trained the paper's way, the first of those of `splits`; the others as the
    program does.
    """
    if (dataset.name, architecture) == ("cc", REPORTED["cc"][0]):
        return splits.read(splits.weights_path(run, "paper"))[0][0]
    path = weights_of(dataset.name, architecture, run)
    if not path.exists():
        _noted(path, fitted_to(path, dataset, architecture, run.device), run)
    return Network.read(path)


def fitted_to(path: Path, dataset: Dataset, architecture: str, device: str) -> float:
    """Fit a network and keep it; the seconds it took."""
    from reproduction import training

    began = time.perf_counter()
    epochs = EPOCHS[architecture.partition(" ")[0]]
    training.fit(architecture, dataset, epochs=epochs, device=device).save(path)
    return time.perf_counter() - began


def _loaded_and_fitted(name: str, folder: Path | None, path: Path, architecture: str) -> float:
    return fitted_to(path, load(name, folder), architecture, "cpu")


def side_by_side(name: str, folder: Path | None, run: Run) -> None:
    """On a CPU the networks that are missing, each in a process of its own; they read the data
    themselves, which are more than is quickly passed on.
    """
    missing = {
        path: each for each in REPORTED[name] if not (path := weights_of(name, each, run)).exists()
    }
    if run.device == "cpu" and name == "mnist":  # the others are fitted in seconds
        work = partial(_loaded_and_fitted, name, folder)
        for path, seconds in zip(missing, spread(work, missing, missing.values()), strict=True):
            _noted(path, seconds, run)


def _noted(path: Path, seconds: float, run: Run) -> None:
    run.fits[path.stem] = seconds
    left = run.clock.after(path.stem) if run.clock else ""
    run.say(f"{path.stem} fitted: {seconds:.1f} s{left}")


def judged(dataset: Dataset, fitted_network: Network, run: Run) -> None:
    """The accuracy of a network, as a step."""
    from reproduction import training

    def compute() -> dict[str, object]:
        rule = {"rule": training.one_feature_rule(dataset)} if dataset.name == "cc" else {}
        scores = {
            part: training.score(fitted_network, getattr(dataset, part), run.device)
            for part in ("fitting", "test")
        }
        return {"architecture": fitted_network.architecture, **scores, **rule}

    kind = fitted_network.architecture.partition(" ")[0]
    settings = {"network": fitted_network.digest}
    run.step(f"{dataset.name}-{kind}-network", settings, compute, code="other")
