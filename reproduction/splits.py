"""How much of a test accuracy on CC is the luck of the split: the paper's network on twenty plain
random splits, trained as the paper says and as its program does.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.data import credit_cards
from reproduction.networks import Network
from reproduction.steps import Result, Run
from reproduction.training import fit_together, one_feature_rule, score

WAYS = ("paper", "program")


def experiment(architecture: str, folder: Path | None, run: Run) -> None:
    """Test accuracies over splits, and the one-feature rule's on the same rows."""
    splits = run.size.splits

    def fitted(way: str) -> Result:
        path = weights_path(run, way)
        datasets = [credit_cards(folder, seed) for seed in range(splits)]
        if not path.exists() or len(read(path)[1]) < splits:
            made = fit_together(architecture, datasets, way=way, device=run.device, say=run.say)
            keep(*made, path)
        networks, epochs = (each[:splits] for each in read(path))
        return {
            "test": [
                score(network, dataset.test)
                for network, dataset in zip(networks, datasets, strict=True)
            ],
            "validation": [
                score(network, dataset.validation)
                for network, dataset in zip(networks, datasets, strict=True)
            ],
            "epochs": epochs,
            "rule": [one_feature_rule(dataset) for dataset in datasets],
        }

    def join(parts: dict[str, Result]) -> Result:
        return {"architecture": architecture, "rule": parts["paper"]["rule"], "ways": parts}

    settings = {"splits": splits, "architecture": architecture, "way": "plain random splits"}
    pieces = {way: partial(fitted, way) for way in WAYS}
    run.whole("cc-splits", settings, pieces, join, code="training")


def weights_path(run: Run, way: str) -> Path:
    """Where the networks of all splits are."""
    return run.weights / f"cc-splits-{way}.npz"


def keep(networks: list[Network], epochs: list[int], path: Path) -> None:
    """Networks of one architecture in one file, a further axis for the split; and the epochs they
    took.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    first = networks[0]
    arrays: dict[str, Any] = {
        name: np.float32(np.stack([each.state[name] for each in networks])) for name in first.state
    }
    meta = np.array([first.architecture, str(first.inputs), str(first.outputs)])
    with path.open("wb") as file:
        np.savez_compressed(file, architecture=meta, epochs=np.array(epochs), **arrays)


def read(path: Path) -> tuple[list[Network], list[int]]:
    """The networks that `keep` wrote, by split, and their epochs."""
    with np.load(path) as file:
        architecture, inputs, outputs = (str(each) for each in file["architecture"])
        epochs = file["epochs"].tolist()
        state = {name: file[name] for name in file.files if name not in ("architecture", "epochs")}
    networks = [
        Network(
            architecture,
            {name: each[place] for name, each in state.items()},
            int(inputs),
            int(outputs),
        )
        for place in range(len(epochs))
    ]
    return networks, epochs
