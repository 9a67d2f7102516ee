"""Training: Adam with Keras' defaults on mini-batches of 300, as the authors' program does."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.data import Dataset
from reproduction.networks import Network, build

BATCH, LEARNING_RATE, EPSILON = 300, 1e-3, 1e-7  # the program's batch; the other two are Adam's defaults in Keras
EPOCHS = 50


def fit(architecture: str, dataset: Dataset, *, seed: int = 0, epochs: int = EPOCHS, device: str = "cpu") -> Network:
    """The final fit of the program: all training and validation rows, a fixed number of epochs, no early stopping."""
    import torch

    rows, target = dataset.fitting
    rows = rows[:, 1:] if architecture.startswith("cnn") else rows
    outputs = dataset.classes or 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = build(architecture, rows.shape[1], outputs).to(device)
    inputs = torch.as_tensor(rows, dtype=torch.float32, device=device)
    wanted = torch.as_tensor(target, dtype=torch.int64 if dataset.classes else torch.float32, device=device)
    loss_of = torch.nn.functional.cross_entropy if dataset.classes else _squared_loss
    adam = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE, eps=EPSILON)
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = torch.as_tensor(rng.permutation(len(inputs)), device=device)
        for batch in order.split(min(BATCH, max(16, len(inputs) // 20))):
            adam.zero_grad()
            loss_of(module(inputs[batch]), wanted[batch]).backward()
            adam.step()
    state = {name: each.detach().cpu().numpy() for name, each in module.state_dict().items()}
    return Network(architecture, state, rows.shape[1], outputs)


def predictions(network: Network, rows: Any, device: str = "cpu") -> Any:
    """Predictions (m, outputs) of any network, in batches; a CNN gets the rows without the bias player."""
    import torch

    rows = rows[:, rows.shape[1] - network.inputs :]
    module = network.module(device)
    with torch.no_grad():
        parts = torch.as_tensor(rows, dtype=torch.float32, device=device).split(2000)
        return torch.cat([module(part) for part in parts]).double().cpu().numpy()


def score(network: Network, part: tuple[Any, Any], device: str = "cpu") -> float:
    """Accuracy, or the share of the variance that a regression explains."""
    rows, target = part
    predicted = predictions(network, rows, device)
    if network.outputs == 1:
        return float(1 - np.mean((predicted[:, 0] - target) ** 2) / np.var(target))
    return float(np.mean(predicted.argmax(axis=1) == target))


def one_feature_rule(dataset: Dataset) -> float:
    """Accuracy of 'default if PAY_0 > 1' on the test rows of CC."""
    assert dataset.scaling is not None
    place = dataset.player_names.index("PAY_0")
    rows, target = dataset.test
    raw = rows[:, place] * dataset.scaling[1][place - 1] + dataset.scaling[0][place - 1]
    return float(np.mean((raw > 1.5) == target))


def _squared_loss(scores: Any, target: Any) -> Any:
    return ((scores[:, 0] - target) ** 2).mean()
