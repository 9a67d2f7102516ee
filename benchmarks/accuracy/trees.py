"""Trees as games with exact Shapley values: every leaf is a product of players who must be in and
players who must be out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

CHUNK = 1 << 21  # coalitions × leaves at once


@dataclass(frozen=True)
class Tree:
    """Nodes as arrays; a leaf has no left child. Rows are compared in single precision, as both
    libraries do.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    value: np.ndarray
    strict: bool
    """Whether left is < (xgboost) or ≤ (scikit-learn)."""

    def goes_left(self, node: int, number: float) -> bool:
        single, threshold = np.float32(number), self.threshold[node]
        return bool(single < threshold) if self.strict else bool(single <= threshold)


def of_scikit_learn(trees: Iterable[Any], scale: float) -> list[Tree]:
    """The trees of a forest, each counted `scale` times."""
    return [
        Tree(
            each.children_left,
            each.children_right,
            each.feature,
            each.threshold,
            each.value.reshape(len(each.value), -1)[:, -1] * scale,
            strict=False,
        )
        for each in trees
    ]


def of_xgboost(model: Any) -> tuple[list[Tree], float]:
    """The trees of a binary classifier, and the margin that they are added to."""
    learner = json.loads(bytes(model.get_booster().save_raw("json")))["learner"]
    stated = json.loads(learner["learner_model_param"]["base_score"])
    chance = float(stated[0] if isinstance(stated, list) else stated)
    trees = []
    for each in learner["gradient_booster"]["model"]["trees"]:
        threshold = np.array(each["split_conditions"], np.float32)  # of a leaf: its value
        left, right = np.array(each["left_children"]), np.array(each["right_children"])
        trees.append(
            Tree(
                left,
                right,
                np.array(each["split_indices"]),
                threshold,
                threshold.astype(float),
                strict=True,
            )
        )
    return trees, float(np.log(chance / (1 - chance)))


@dataclass(frozen=True)
class LeafGame:
    """v(S) = Σ weight over the leaves whose members are all in S and whose others are all out; at
    most 64 players.
    """

    members: np.ndarray
    involved: np.ndarray
    weights: np.ndarray
    start: float

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        codes, found = _codes(coalitions), np.empty(len(coalitions))
        step = max(1, CHUNK // len(self.weights))
        for begin in range(0, len(codes), step):
            part = codes[begin : begin + step, None]
            found[begin : begin + step] = ((part & self.involved) == self.members) @ self.weights
        return found + self.start


def leaf_game(
    trees: list[Tree], row: np.ndarray, background: np.ndarray, start: float = 0.0
) -> tuple[LeafGame, np.ndarray]:
    """The game of a row whose absent features come from the background, averaged over it; and its
    Shapley values.
    """
    leaves: dict[tuple[frozenset[int], frozenset[int]], float] = {}
    for tree in trees:
        for other in background:
            for members, others, value in _leaves(tree, 0, row, other, frozenset(), frozenset()):
                leaves[members, others] = leaves.get((members, others), 0.0) + value / len(
                    background
                )
    shapley = np.zeros(len(row))
    for (members, others), weight in leaves.items():
        ins, outs = len(members), len(others)
        for player in members:
            shapley[player] += weight / (ins * comb(ins + outs, ins))
        for player in others:
            shapley[player] -= weight / (outs * comb(ins + outs, outs))
    inside = np.array([sum(1 << each for each in members) for members, _ in leaves], np.uint64)
    involved = np.array(
        [sum(1 << each for each in members | others) for members, others in leaves], np.uint64
    )
    return LeafGame(inside, involved, np.array(list(leaves.values())), start), shapley


def _leaves(
    tree: Tree,
    node: int,
    row: np.ndarray,
    other: np.ndarray,
    members: frozenset[int],
    others: frozenset[int],
) -> Any:
    """The leaves that a composite of row and other can reach: who is in, who is out, the leaf's
    value.
    """
    if tree.left[node] < 0:
        yield members, others, float(tree.value[node])
        return
    feature = int(tree.feature[node])
    here, there = tree.goes_left(node, row[feature]), tree.goes_left(node, other[feature])
    for side, child in ((True, int(tree.left[node])), (False, int(tree.right[node]))):
        if here == side and there == side:
            yield from _leaves(tree, child, row, other, members, others)
        elif here == side and feature not in others:
            yield from _leaves(tree, child, row, other, members | {feature}, others)
        elif there == side and feature not in members:
            yield from _leaves(tree, child, row, other, members, others | {feature})


def _codes(coalitions: np.ndarray) -> np.ndarray:
    """Coalitions (m, n) as numbers: bit i is player i."""
    packed = np.zeros((len(coalitions), 8), np.uint8)
    bits = np.packbits(coalitions, axis=1, bitorder="little")
    packed[:, : bits.shape[1]] = bits
    return packed.view("<u8")[:, 0]


def worst_difference(
    game: LeafGame,
    margin: Callable[[np.ndarray], np.ndarray],
    row: np.ndarray,
    background: np.ndarray,
) -> float:
    """Largest difference to the model's own margins over random coalitions."""
    coalitions = np.random.default_rng(0).random((200, len(row))) < np.linspace(0, 1, 200)[:, None]
    own = np.mean([margin(np.where(coalitions, row, other)) for other in background], axis=0)
    return float(np.abs(game(coalitions) - own).max())
