"""The networks of the paper with random weights (time does not depend on them), and rows to
explain.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import owenshap
from owenshap.explain.row_games import RowGames
from owenshap.fast.linear_game import LinearModelGame


def credit(device: str) -> nn.Module:
    """16-13-9-2, sigmoid and softmax: the paper's network for credit cards."""
    torch.manual_seed(0)
    layers = [
        nn.Linear(16, 13),
        nn.Sigmoid(),
        nn.Linear(13, 9),
        nn.Sigmoid(),
        nn.Linear(9, 2),
        nn.Softmax(1),
    ]
    return nn.Sequential(*layers).eval().to(device)


def digits(device: str) -> nn.Module:
    """785-300-25-10: the paper's network for MNIST."""
    torch.manual_seed(0)
    layers = [
        nn.Linear(785, 300),
        nn.Sigmoid(),
        nn.Linear(300, 25),
        nn.Sigmoid(),
        nn.Linear(25, 10),
        nn.Softmax(1),
    ]
    return nn.Sequential(*layers).eval().to(device)


def deep(device: str) -> nn.Module:
    """A convolutional network whose first step is not known to be linear: 8 layers of 64 channels
    on 28 × 28 pixels.
    """
    torch.manual_seed(0)
    layers: list[nn.Module] = [nn.Unflatten(1, (1, 28, 28))]
    for channels in (1, *[64] * 7):
        layers += [nn.Conv2d(channels, 64, 3, padding=1), nn.ReLU()]
    return (
        nn.Sequential(
            *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10), nn.Softmax(1)
        )
        .eval()
        .to(device)
    )


def images(folder: Path | None) -> torch.Tensor:
    """The 10,000 test digits with a player for the bias, float32 (10000, 785); or as many made
    up.
    """
    path = None if folder is None else folder / "t10k-images-idx3-ubyte.gz"
    if path is not None and path.exists():
        with gzip.open(path) as file:
            pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784) / 255.0
    else:
        rng = np.random.default_rng(0)
        live = rng.random((10_000, 784)) < np.clip(rng.normal(0.19, 0.05, (10_000, 1)), 0.05, 0.4)
        pixels = live * rng.uniform(0.1, 1, live.shape)
    return torch.from_numpy(
        np.concatenate([pixels, np.ones((len(pixels), 1))], axis=1).astype(np.float32)
    )


def game(explainer: owenshap.Explainer, rows: torch.Tensor) -> LinearModelGame:
    """The game that the explainer makes of rows with the same number of live players."""
    kept: list = []
    original = RowGames.tasks

    def tasks(self: RowGames, *settings: Any, **named: Any) -> list:
        kept.extend(original(self, *settings, **named))
        return []

    RowGames.tasks = tasks  # type: ignore[method-assign]
    try:
        explainer(rows, method="castro", budget=rows.shape[1] + 1, progress=False)
    finally:
        RowGames.tasks = original  # type: ignore[method-assign]
    return kept[0].game
