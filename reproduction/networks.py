"""The networks that are explained, and their weights as small files.

A network is a name for its architecture and a dictionary of arrays: an MLP needs numpy alone, the
others torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Network:
    """An architecture and its weights.

    Parameters
    ----------
    architecture : str
        'mlp 13-9', 'mlp' (no hidden layer), 'residual 32x4' (width × blocks), 'cnn 8-16' or
        'rescnn 16' (channels).
    state : mapping of str to arrays
        The state of the torch module.
    inputs, outputs : int
        Outputs are probabilities of so many classes; one output is a regression's prediction.
    """

    architecture: str
    state: Mapping[str, Any] = field(repr=False)
    inputs: int
    outputs: int

    @property
    def digest(self) -> str:
        """A short hash of architecture and weights: results that depend on them carry it."""
        found = sha256(self.architecture.encode())
        for name in sorted(self.state):
            found.update(
                name.encode() + np.ascontiguousarray(self.state[name], np.float32).tobytes()
            )
        return found.hexdigest()[:12]

    def save(self, path: Path) -> None:
        """Write the weights as float32."""
        path.parent.mkdir(parents=True, exist_ok=True)
        meta = np.array([self.architecture, str(self.inputs), str(self.outputs)])
        with path.open("wb") as file:
            np.savez_compressed(
                file,
                architecture=meta,
                **{name: np.float32(each) for name, each in self.state.items()},
            )

    @classmethod
    def read(cls, path: Path) -> Network:
        """What `save` wrote."""
        with np.load(path) as file:
            architecture, inputs, outputs = (str(each) for each in file["architecture"])
            state = {name: file[name] for name in file.files if name != "architecture"}
        return cls(architecture, state, int(inputs), int(outputs))

    def __call__(self, rows: Any) -> Any:
        """Predictions (m, outputs) of an MLP, in numpy and float64."""
        layers = sorted({int(name.partition(".")[0]) for name in self.state})
        hidden = np.asarray(rows, np.float64)
        for layer in layers:
            hidden = hidden @ self.state[f"{layer}.weight"].T.astype(np.float64) + self.state.get(
                f"{layer}.bias", 0.0
            )
            if layer != layers[-1]:
                hidden = 1 / (1 + np.exp(-hidden))
        if self.outputs == 1:
            return hidden
        odds = np.exp(hidden - hidden.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def module(self, device: str = "cpu", double: bool = False) -> Any:
        """The torch module with these weights, probabilities out, in evaluation mode."""
        import torch

        made = build(self.architecture, self.inputs, self.outputs)
        made.load_state_dict({name: torch.as_tensor(each) for name, each in self.state.items()})
        made = torch.nn.Sequential(*made, torch.nn.Softmax(dim=1)) if self.outputs > 1 else made
        return (
            made.to(device, torch.float64 if double else torch.float32).eval().requires_grad_(False)
        )


def widths(architecture: str) -> list[int]:
    """The hidden widths of an MLP."""
    return [int(each) for each in architecture.partition(" ")[2].split("-") if each]


def build(architecture: str, inputs: int, outputs: int) -> Any:
    """A torch Sequential from rows to scores, with fresh weights from torch's global generator (see
    training.fit).
    """
    kind = architecture.partition(" ")[0]
    kinds = {"mlp": _mlp, "residual": _residual, "cnn": _cnn, "rescnn": _residual_cnn}
    return kinds[kind](architecture, inputs, outputs)


def _mlp(architecture: str, inputs: int, outputs: int) -> Any:
    """Sigmoid layers. No bias in the first (the bias player is its bias), nor, as in the program,
    in the last.
    """
    from torch import nn

    sizes = [inputs, *widths(architecture), outputs]
    last = len(sizes) - 2
    layers: list[Any] = []
    for place, (before, after) in enumerate(pairwise(sizes)):
        layer = nn.Linear(before, after, bias=0 < place < last)
        nn.init.xavier_uniform_(layer.weight)  # as Keras begins, which the program is written in
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
        layers += [layer] if place == last else [layer, nn.Sigmoid()]
    return nn.Sequential(*layers)


def _residual(architecture: str, inputs: int, outputs: int) -> Any:
    """Blocks x + W relu(V relu(x)) between two linear layers."""
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.into, self.out = nn.Linear(width, width), nn.Linear(width, width)

        def forward(self, hidden: Any) -> Any:
            return hidden + self.out(self.into(hidden.relu()).relu())

    width, blocks = (int(each) for each in architecture.partition(" ")[2].split("x"))
    first = nn.Linear(inputs, width, bias=False)
    return nn.Sequential(
        first, *(Block(width) for _ in range(blocks)), nn.ReLU(), nn.Linear(width, outputs)
    )


def _cnn(architecture: str, inputs: int, outputs: int) -> Any:
    """Two convolutions with stride 2 and a linear layer; rows are pixels without a bias player."""
    from torch import nn

    side = round(inputs**0.5)
    kernel, stride = (5, 2) if side > 16 else (3, 1)
    first, second = widths(architecture)
    left = ((side - kernel) // stride + 1 - kernel) // stride + 1
    return nn.Sequential(
        nn.Unflatten(1, (1, side, side)),
        nn.Conv2d(1, first, kernel, stride),
        nn.ReLU(),
        nn.Conv2d(first, second, kernel, stride),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(second * left * left, outputs),
    )


def _residual_cnn(architecture: str, inputs: int, outputs: int) -> Any:
    """A convolution, two residual blocks with a stride between them, the mean over places."""
    from torch import nn

    class Block(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.into = nn.Conv2d(channels, channels, 3, padding=1)
            self.out = nn.Conv2d(channels, channels, 3, padding=1)

        def forward(self, hidden: Any) -> Any:
            return hidden + self.out(self.into(hidden.relu()).relu())

    side = round(inputs**0.5)
    (channels,) = widths(architecture)
    return nn.Sequential(
        nn.Unflatten(1, (1, side, side)),
        nn.Conv2d(1, channels, 5, 2),
        Block(channels),
        nn.ReLU(),
        nn.Conv2d(channels, 2 * channels, 3, 2),
        Block(2 * channels),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * channels, outputs),
    )
