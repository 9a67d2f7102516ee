"""The random search over architectures: all models of a group are trained together as batched
tensors.

From the paper: 0 to 3 hidden layers, 1000 draws, early stopping after 3 epochs without a lower
validation loss. From the program: batches of 300, at most 50 epochs, score = last validation
accuracy, mean of 5 trainings, one score per distinct architecture. Ours: the paper's and the
program's winners are scored whether they were drawn or not. The five trainings of an architecture
are in five groups, which have batches and weights of their own; widths are padded to the widest of
a group, and masks keep the padding at zero.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from reproduction.data import Dataset
from reproduction.networks import Network
from reproduction.steps import HERE, Result, Run
from reproduction.training import (
    BATCH,
    EPOCHS,
    EPSILON,
    LEARNING_RATE,
    PATIENCE,
    fit,
    score,
)

TRAININGS, MOST_LAYERS = 5, 3
WIDTHS = {
    "cc": list(range(1, 16)),
    "mnist": list(range(25, 501, 25)),
    "digits": list(range(5, 101, 5)),
}
SMALL_WIDTHS = list(range(1, 16))
DRAW_SEED = 3
VALIDATION_AT_ONCE = 1 << 29  # hidden numbers while validating
COMPACT_BELOW = 0.85  # share of a group still training: below it the others are taken out

Widths = tuple[int, ...]


def draw(dataset: str, draws: int, seed: int = DRAW_SEED) -> Counter[Widths]:
    """Random architectures, and how often each was drawn: layers uniform over 0 … 3, then every
    width uniform.
    """
    rng = np.random.default_rng(seed)
    choice = WIDTHS.get(dataset, SMALL_WIDTHS)
    layers = rng.integers(0, MOST_LAYERS + 1, size=draws)
    return Counter(
        tuple(int(width) for width in rng.choice(choice, size=count)) for count in layers
    )


@dataclass
class Group:
    """Models of one depth, padded to common widths and trained together."""

    models: list[Widths]
    inputs: int
    outputs: int
    device: str
    seed: int

    def __post_init__(self) -> None:
        import torch

        generator = torch.Generator(self.device).manual_seed(self.seed)
        sizes = np.array([(self.inputs, *each, self.outputs) for each in self.models])
        padded = sizes.max(axis=0)
        self.masks = [
            self._mask(sizes[:, place], padded[place]) for place in range(1, sizes.shape[1] - 1)
        ]
        self.weights, self.biases = [], []
        last = sizes.shape[1] - 2
        for place, (before, after) in enumerate(pairwise(padded)):
            limits = torch.as_tensor(
                np.sqrt(6 / (sizes[:, place] + sizes[:, place + 1])), dtype=torch.float32
            )
            weight = (
                torch.rand((len(sizes), before, after), generator=generator, device=self.device)
                .mul_(2)
                .sub_(1)
            )
            weight *= limits.to(self.device)[:, None, None]
            if place:
                weight *= self.masks[place - 1].transpose(1, 2)
            if place < last:
                weight *= self.masks[place]
            self.weights.append(weight.requires_grad_())
            if 0 < place < last:
                self.biases.append(
                    torch.zeros(len(sizes), 1, after, device=self.device, requires_grad=True)
                )
        self._new_adam()

    def _mask(self, real: Any, padded: int) -> Any:
        import torch

        return torch.as_tensor(
            np.arange(padded) < real[:, None], dtype=torch.float32, device=self.device
        )[:, None]

    def _new_adam(self) -> None:
        import torch

        self.adam = torch.optim.Adam(
            [*self.weights, *self.biases],
            lr=LEARNING_RATE,
            eps=EPSILON,
            fused=self.device == "cuda",
        )

    def scores(self, rows: Any) -> Any:
        """Scores (models, m, outputs) of rows (m, inputs) that all models share."""
        hidden = rows.expand(len(self.weights[0]), -1, -1)
        last = len(self.weights) - 1
        for place, weight in enumerate(self.weights):
            inner = 0 < place < last
            hidden = self.biases[place - 1].baddbmm(hidden, weight) if inner else hidden.bmm(weight)
            if place < last:
                hidden = hidden.sigmoid() * self.masks[place]
        return hidden

    def train(self, rows: Any, labels: Any) -> None:
        """One step of Adam."""
        self.adam.zero_grad()
        self._losses(self.scores(rows), labels).sum().backward()
        self.adam.step()

    def validate(self, rows: Any, labels: Any) -> tuple[Any, Any]:
        """Loss and accuracy of every model."""
        import torch

        widest = max([1, self.inputs // 8, *(mask.shape[-1] for mask in self.masks)])
        step = max(1, VALIDATION_AT_ONCE // (len(self.weights[0]) * widest))
        losses, right = 0, 0
        with torch.no_grad():
            for part, wanted in zip(rows.split(step), labels.split(step), strict=True):
                found = self.scores(part)
                losses = losses + self._losses(found, wanted) * len(part)
                right = right + (found.argmax(dim=2) == wanted).sum(dim=1)
        return losses / len(rows), right / len(rows)

    @staticmethod
    def _losses(scores: Any, labels: Any) -> Any:
        wanted = labels.expand(len(scores), -1)[..., None]
        return (scores.logsumexp(dim=2) - scores.gather(2, wanted)[..., 0]).mean(dim=1)

    def keep(self, which: Any) -> None:
        """Take all other models out."""
        before = [*self.weights, *self.biases]
        states = [
            {
                name: each if name == "step" else each[which]
                for name, each in self.adam.state[p].items()
            }
            for p in before
        ]
        self.masks = [mask[which] for mask in self.masks]
        self.weights = [each.detach()[which].requires_grad_() for each in self.weights]
        self.biases = [each.detach()[which].requires_grad_() for each in self.biases]
        self._new_adam()
        for parameter, state in zip([*self.weights, *self.biases], states, strict=True):
            self.adam.state[parameter] = state


def train_group(
    models: list[Widths], dataset: Dataset, device: str, seed: int, most: int = EPOCHS
) -> tuple[Any, Any]:
    """Last validation accuracy of every model, and the epochs it was trained."""
    import torch

    (rows, labels), validation = (
        _tensors(dataset.training, device),
        _tensors(dataset.validation, device),
    )
    group = Group(models, rows.shape[1], dataset.classes, device, seed)
    rng = np.random.default_rng(seed)
    batch = min(BATCH, max(16, len(rows) // 20))
    accuracy, epochs = np.zeros(len(models)), np.zeros(len(models), np.int64)
    training = np.arange(len(models))
    best, waited = np.full(len(models), math.inf), np.zeros(len(models), np.int64)
    for epoch in range(1, most + 1):
        for which in torch.as_tensor(rng.permutation(len(rows)), device=device).split(batch):
            group.train(rows[which], labels[which])
        loss, right = (each.cpu().numpy() for each in group.validate(*validation))
        open_ = epochs[training] == 0
        accuracy[training[open_]] = right[open_]
        better = loss < best[training]
        best[training] = np.where(better, loss, best[training])
        waited[training] = np.where(better, 0, waited[training] + 1)
        done = open_ & ((waited[training] >= PATIENCE) | (epoch == most))
        epochs[training[done]] = epoch
        left = epochs[training] == 0
        if not left.any():
            break
        if left.mean() < COMPACT_BELOW:
            group.keep(torch.as_tensor(np.flatnonzero(left), device=device))
            training = training[left]
    return accuracy, epochs


def groups(models: list[Widths]) -> list[list[int]]:
    """Models of the same depth, the wider halves of wide ones apart: little padding, few groups."""
    keys = [
        (len(each), each[0] > 250 if each else False, each[1] > 250 if len(each) > 2 else False)
        for each in models
    ]
    return [[place for place, each in enumerate(keys) if each == key] for key in sorted(set(keys))]


def known_winners(dataset: str) -> list[Widths]:
    """The architectures that the paper and its program chose."""
    known = json.loads((HERE / "expected.json").read_text())["networks"].get(dataset, {})
    return sorted(
        {tuple(map(int, known[who]["architecture"].split("-"))) for who in known if who != "goal"}
    )


def experiment(dataset: Dataset, run: Run) -> None:
    """Score every distinct architecture; the winner is fitted again on all rows but the test rows,
    and tested.
    """
    drawn = draw(dataset.name, run.size.draws)
    models = sorted({*drawn, *known_winners(dataset.name)}, key=lambda each: (len(each), each))
    together = groups(models)

    def piece(number: int, training: int) -> Result:
        import torch

        precision = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")  # searching needs no more digits
        which = [models[place] for place in together[number]]
        seed = number * TRAININGS + training
        accuracy, epochs = train_group(which, dataset, run.device, seed)
        torch.set_float32_matmul_precision(precision)
        return {"accuracy": accuracy.tolist(), "epochs": epochs.tolist()}

    def join(parts: dict[str, Result]) -> Result:
        accuracy = np.zeros((len(models), TRAININGS))
        epochs = np.zeros((len(models), TRAININGS))
        for number, which in enumerate(together):
            for training in range(TRAININGS):
                part = parts[f"group {number} training {training}"]
                accuracy[which, training] = part["accuracy"]
                epochs[which, training] = part["epochs"]
        names = ["-".join(map(str, each)) for each in models]
        means = accuracy.mean(axis=1)
        # a known winner that was not drawn is ranked, but cannot win
        candidates = [place for place, each in enumerate(models) if drawn[each]]
        best = max(candidates, key=lambda place: means[place])
        winner = f"mlp {names[best]}".strip()
        network = fit(winner, dataset, device=run.device)
        return {
            "winner": winner,
            "winner_test": score(network, dataset.test, run.device),
            "architectures": names,
            "drawn": [drawn[each] for each in models],
            "accuracy": accuracy,
            "epochs": epochs.mean(axis=1).tolist(),
            "trainings": TRAININGS,
        }

    pieces = {
        f"group {number} training {training}": partial(piece, number, training)
        for number in range(len(together))
        for training in range(TRAININGS)
    }
    settings = run.settings("draws", seed=DRAW_SEED, batches="of each training")
    run.whole(f"{dataset.name}-search", settings, pieces, join, code="training")


def _tensors(part: tuple[Any, Any], device: str) -> tuple[Any, Any]:
    import torch

    rows, labels = part
    return torch.as_tensor(rows, dtype=torch.float32, device=device), torch.as_tensor(
        labels, dtype=torch.int64, device=device
    )


def unpadded(group: Group, place: int) -> Network:
    """One model of a group as a network of its own, without the padding."""
    sizes = [group.inputs, *group.models[place], group.outputs]
    state: dict[str, Any] = {}
    for layer, weight in enumerate(group.weights):
        state[f"{2 * layer}.weight"] = (
            weight[place, : sizes[layer], : sizes[layer + 1]].detach().cpu().numpy().T
        )
        if 0 < layer < len(group.weights) - 1:
            state[f"{2 * layer}.bias"] = (
                group.biases[layer - 1][place, 0, : sizes[layer + 1]].detach().cpu().numpy()
            )
    return Network(
        "mlp " + "-".join(map(str, group.models[place])), state, group.inputs, group.outputs
    )
