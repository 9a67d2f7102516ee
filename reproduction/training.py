"""Training: Adam with Keras' defaults on mini-batches of 300, as the authors' program does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from reproduction.data import Dataset
from reproduction.networks import Network, build

# the program's batch; the other two are Adam's defaults in Keras
BATCH, LEARNING_RATE, EPSILON = 300, 1e-3, 1e-7
EPOCHS = 50


def fit(
    architecture: str, dataset: Dataset, *, seed: int = 0, epochs: int = EPOCHS, device: str = "cpu"
) -> Network:
    """The final fit of the program: all training and validation rows, a fixed number of epochs, no
    early stopping.
    """
    import torch

    rows, target = dataset.fitting
    rows = rows[:, 1:] if architecture.startswith("cnn") else rows
    module = _begun(architecture, dataset, seed).to(device)
    inputs = torch.as_tensor(rows, dtype=torch.float32, device=device)
    wanted = torch.as_tensor(
        target, dtype=torch.int64 if dataset.classes else torch.float32, device=device
    )
    loss_of = torch.nn.functional.cross_entropy if dataset.classes else _squared_loss
    adam = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE, eps=EPSILON)
    for batch in _batches(len(inputs), seed, epochs, device):
        adam.zero_grad()
        loss_of(module(inputs[batch]), wanted[batch]).backward()
        adam.step()
    state = {name: each.detach().cpu().numpy() for name, each in module.state_dict().items()}
    return Network(architecture, state, rows.shape[1], dataset.classes or 1)


def fit_together(
    architecture: str, datasets: Sequence[Dataset], *, epochs: int = EPOCHS, device: str = "cpu"
) -> list[Network]:
    """What `fit` gives for an MLP on each of these, up to rounding; a step of all costs little more
    than a step of one.
    """
    import torch

    begun = _begun(architecture, datasets[0], 0)
    state = {
        name: each.expand(len(datasets), *each.shape).to(device, copy=True).requires_grad_()
        for name, each in begun.state_dict().items()
    }
    fitting = [dataset.fitting for dataset in datasets]
    inputs = torch.as_tensor(
        np.stack([rows for rows, _ in fitting]), dtype=torch.float32, device=device
    )
    wanted = torch.as_tensor(
        np.stack([target for _, target in fitting]), dtype=torch.int64, device=device
    )
    adam = torch.optim.Adam(state.values(), lr=LEARNING_RATE, eps=EPSILON)
    for batch in _batches(inputs.shape[1], 0, epochs, device):
        adam.zero_grad()
        scores = _scores_together(state, inputs[:, batch])
        # Summed over data sets: each sees the gradient of its own mean loss, as if it were alone.
        loss = torch.nn.functional.cross_entropy(
            scores.flatten(0, 1), wanted[:, batch].flatten()
        ) * len(datasets)
        loss.backward()
        adam.step()
    kept = {name: each.detach().cpu().numpy() for name, each in state.items()}
    return [
        Network(
            architecture,
            {name: each[place] for name, each in kept.items()},
            inputs.shape[2],
            datasets[0].classes,
        )
        for place in range(len(datasets))
    ]


def _begun(architecture: str, dataset: Dataset, seed: int) -> Any:
    """A network with its first weights."""
    import torch

    inputs = dataset.test[0].shape[1] - architecture.startswith("cnn")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build(architecture, inputs, dataset.classes or 1)


def _batches(count: int, seed: int, epochs: int, device: str) -> Iterator[Any]:
    """Places of the rows of every batch of every epoch."""
    import torch

    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        yield from torch.as_tensor(rng.permutation(count), device=device).split(
            min(BATCH, max(16, count // 20))
        )


def _scores_together(state: dict[str, Any], rows: Any) -> Any:
    """Scores (networks, m, outputs) of MLPs on rows (networks, m, inputs)."""
    layers = sorted({int(name.partition(".")[0]) for name in state})
    for layer in layers:
        weight, bias = state[f"{layer}.weight"].transpose(1, 2), state.get(f"{layer}.bias")
        rows = rows.bmm(weight) if bias is None else bias[:, None].baddbmm(rows, weight)
        rows = rows if layer == layers[-1] else rows.sigmoid()
    return rows


def predictions(network: Network, rows: Any, device: str = "cpu") -> Any:
    """Predictions (m, outputs) of any network, in batches; a CNN gets the rows without the bias
    player.
    """
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
