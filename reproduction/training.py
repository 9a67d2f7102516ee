"""Training: Adam with Keras' defaults on mini-batches of 300.

The paper's way: training rows alone, until the loss on the validation rows has not fallen for 3
epochs; the weights are those of the last epoch. The program's final fit: training and validation
rows together, 50 epochs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from reproduction.data import Dataset
from reproduction.networks import Network, build

# the program's batch; the other two are Adam's defaults in Keras
BATCH, LEARNING_RATE, EPSILON = 300, 1e-3, 1e-7
EPOCHS = 50
PATIENCE = 3
MOST_EPOCHS = 2000  # of the paper's way, which names no limit; 100 to 300 are usual on CC
QUIET_SECONDS = 15.0  # between two words on how far a fit is


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, torch has one thread: the products of a small batch gain nothing from more, and wait
    for each other on a machine that is busy with something else.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Said:
    """Tells now and then how far a fit is."""

    def __init__(self, name: str, say: Callable[[str], None]) -> None:
        self._name, self._say = name, say
        self._began = self._last = time.perf_counter()

    def after(self, epoch: int, epochs: int | None = None) -> None:
        """One more epoch is done; of how many, where that is known."""
        now = time.perf_counter()
        if now - self._last < QUIET_SECONDS:
            return
        self._last = now
        told = f"fitting {self._name}: {epoch} epochs in {now - self._began:.0f} s"
        if epochs is not None:
            told += f", about {(now - self._began) * (epochs / epoch - 1):.0f} s left"
        self._say(told)


@one_thread()
def fit(
    architecture: str,
    dataset: Dataset,
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
    device: str = "cpu",
    say: Callable[[str], None] = print,
) -> Network:
    """The final fit of the program: all training and validation rows, a fixed number of epochs, no
    early stopping.
    """
    import torch

    rows, target = dataset.fitting
    rows = rows[:, 1:] if "cnn" in architecture else rows
    module = _begun(architecture, dataset, seed).to(device)
    inputs = torch.as_tensor(rows, dtype=torch.float32, device=device)
    wanted = torch.as_tensor(
        target, dtype=torch.int64 if dataset.classes else torch.float32, device=device
    )
    loss_of = torch.nn.functional.cross_entropy if dataset.classes else _squared_loss
    adam = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE, eps=EPSILON)
    rng, said = np.random.default_rng(seed), Said(f"{architecture} on {dataset.name}", say)
    for epoch in range(1, epochs + 1):
        order = torch.as_tensor(rng.permutation(len(inputs)), device=device)
        for batch in order.split(_batch_size(len(inputs))):
            adam.zero_grad()
            loss_of(module(inputs[batch]), wanted[batch]).backward()
            adam.step()
        said.after(epoch, epochs)
    state = {name: each.detach().cpu().numpy() for name, each in module.state_dict().items()}
    return Network(architecture, state, rows.shape[1], dataset.classes or 1)


@one_thread()
def fit_together(
    architecture: str,
    datasets: Sequence[Dataset],
    *,
    way: str = "program",
    epochs: int | None = None,
    device: str = "cpu",
    say: Callable[[str], None] = print,
) -> tuple[list[Network], list[int]]:
    """An MLP on each of these, the i-th from seed i, and the epochs it took; a step of all costs
    little more than a step of one.

    way : {'program', 'paper'}
        The program's final fit, or the paper's early stopping: a network that has stopped keeps its
        weights while others go on.
    """
    import torch

    begun = [_begun(architecture, each, seed).state_dict() for seed, each in enumerate(datasets)]
    state = {
        name: torch.stack([each[name] for each in begun]).to(device).requires_grad_()
        for name in begun[0]
    }
    inputs, wanted = _stacked(
        [each.fitting if way == "program" else each.training for each in datasets], device
    )
    checked = _stacked([each.validation for each in datasets], device)
    adam = torch.optim.Adam(state.values(), lr=LEARNING_RATE, eps=EPSILON)
    kept = {name: each.detach().clone() for name, each in state.items()}
    taken = np.zeros(len(datasets), np.int64)
    best, waited = np.full(len(datasets), np.inf), np.zeros(len(datasets), np.int64)
    orders = [np.random.default_rng(seed) for seed in range(len(datasets))]
    size = _batch_size(inputs.shape[1])
    each_net = torch.arange(len(datasets), device=device)[:, None]
    last = epochs or (EPOCHS if way == "program" else MOST_EPOCHS)
    said = Said(f"{len(datasets)} of {architecture}, the {way}'s way", say)
    for epoch in range(1, last + 1):
        order = np.stack([rng.permutation(inputs.shape[1]) for rng in orders])
        for which in torch.as_tensor(order, device=device).split(size, dim=1):
            adam.zero_grad()
            scores = _scores_together(state, inputs[each_net, which])
            _losses(scores, wanted[each_net, which]).sum().backward()
            adam.step()
        stopped = np.full(len(datasets), epoch == last)
        if way == "paper":
            with torch.no_grad():
                loss = _losses(_scores_together(state, checked[0]), checked[1]).cpu().numpy()
            waited = np.where(loss < best, 0, waited + 1)
            best = np.minimum(best, loss)
            stopped |= waited >= PATIENCE
        now = stopped & (taken == 0)
        taken[now] = epoch
        for name, each in state.items():
            kept[name][np.flatnonzero(now)] = each.detach()[np.flatnonzero(now)]
        if taken.all():
            break
        said.after(epoch, last if way == "program" else None)
    arrays = {name: each.cpu().numpy() for name, each in kept.items()}
    networks = [
        Network(
            architecture,
            {name: each[place] for name, each in arrays.items()},
            inputs.shape[2],
            datasets[0].classes,
        )
        for place in range(len(datasets))
    ]
    return networks, taken.tolist()


def _stacked(parts: Sequence[tuple[Any, Any]], device: str) -> tuple[Any, Any]:
    """Rows (networks, m, inputs) and labels (networks, m) of parts of equal length."""
    import torch

    rows = np.stack([rows for rows, _ in parts])
    labels = np.stack([labels for _, labels in parts])
    return (
        torch.as_tensor(rows, dtype=torch.float32, device=device),
        torch.as_tensor(labels, dtype=torch.int64, device=device),
    )


def _losses(scores: Any, labels: Any) -> Any:
    """The mean cross-entropy of each network: summed, each sees its own gradient alone."""
    import torch

    every = torch.nn.functional.cross_entropy(
        scores.flatten(0, 1), labels.flatten(), reduction="none"
    )
    return every.reshape(labels.shape).mean(dim=1)


def _begun(architecture: str, dataset: Dataset, seed: int) -> Any:
    """A network with its first weights."""
    import torch

    inputs = dataset.test[0].shape[1] - ("cnn" in architecture)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build(architecture, inputs, dataset.classes or 1)


def _batch_size(count: int) -> int:
    """The program's, or a twentieth of a small set."""
    return min(BATCH, max(16, count // 20))


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
