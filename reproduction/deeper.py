"""Deeper networks: a CNN with patches or pixels for players, and a residual MLP; the same tables as
for the MLPs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from reproduction import images, tabular
from reproduction.data import Dataset
from reproduction.games import table
from reproduction.networks import Network
from reproduction.steps import Run

PATCHES = 4  # along each side: 16 patches, of 7 × 7 pixels on MNIST
# times fewer permutations behind the ground truth: pixels of a CNN are built one input at a time
FEWER = 5


def patch_members(side: int) -> Any:
    """Which pixels each of the 16 patches holds, (16, side²)."""
    rows, columns = np.divmod(np.arange(side * side), side)
    patch = rows * PATCHES // side * PATCHES + columns * PATCHES // side
    return (patch == np.arange(PATCHES * PATCHES)[:, None]).astype(np.float32)


def experiments(dataset: Dataset, network: Network, run: Run) -> None:
    """The table of a deeper network; of a CNN for patches, exact by enumeration, and for pixels."""
    if network.architecture.startswith("residual"):
        tabular.experiments(dataset, network, run)
        return
    rows = tabular.some_rows(dataset, run.size.rows)
    assert dataset.side is not None
    members = patch_members(dataset.side)

    def values() -> Any:
        return table(network, rows, run.device, members)

    settings = run.settings("rows", "repetitions", "table_samples", **tabular.about(network))
    tabular.compare(f"{dataset.name}-cnn-patches-table", settings, values, run)
    smaller = replace(run, size=replace(run.size, truth_samples=run.size.truth_samples // FEWER))
    images.saliency(dataset, network, smaller)
