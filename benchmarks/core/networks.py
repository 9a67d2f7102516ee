"""Networks as plain numpy functions, in the paper's shapes, and the games that they make with a
zero baseline.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CREDIT_CARDS = (16, 13, 9, 2)
DIGITS = (785, 300, 25, 10)


@dataclass(frozen=True, eq=False)
class Network:
    """An MLP with sigmoid hidden layers and softmax outputs; the weights are random, which costs
    what trained ones cost.
    """

    layers: tuple[int, ...]
    seed: int = 0

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        shapes = list(zip(self.layers[:-1], self.layers[1:], strict=True))
        object.__setattr__(
            self,
            "weights",
            [rng.normal(0, 2 / np.sqrt(rows), (rows, columns)) for rows, columns in shapes],
        )
        # As in the paper: no bias in the first layer, whose bias is a player, and none in the last.
        object.__setattr__(
            self, "biases", [0.0, *(rng.normal(size=columns) for _, columns in shapes[1:-1]), 0.0]
        )

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Probability of class 1 for each row (m, n)."""
        for weights, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            rows = 1 / (1 + np.exp(-(rows @ weights + bias)))
        scores = rows @ self.weights[-1] + self.biases[-1]
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return odds[:, 1] / odds.sum(axis=1)


@dataclass(frozen=True, eq=False)
class Masked:
    """The game of explaining a row: players outside the coalition are zero. Picklable, so it can go
    to another process.
    """

    network: Network

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "row", np.random.default_rng(1).normal(size=self.network.layers[0])
        )

    @property
    def n_players(self) -> int:
        return len(self.row)

    def values(self, coalitions: np.ndarray) -> np.ndarray:
        return self.network(coalitions * self.row)


def ready_rows(game: Masked, count: int) -> np.ndarray:
    """Rows of the kind that the game makes, made beforehand: what the bare network is timed on."""
    coalitions = np.random.default_rng(2).random((count, game.n_players)) < 0.5
    return coalitions * game.row


@dataclass
class Counted:
    """Any function of many rows, with the size of every call."""

    function: object

    def __post_init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        self.calls.append(1 if rows.ndim == 1 else len(rows))
        return self.function(rows)
