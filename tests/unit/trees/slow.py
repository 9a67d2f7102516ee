"""Shapley values of trees by their definition, in rational arithmetic: slow and plain."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np

from owenshap.trees.ensemble import TreeEnsemble


def leaf_of(ensemble: TreeEnsemble, tree: int, row: Any) -> int:
    node = int(ensemble.roots[tree])
    while ensemble.left[node] >= 0:
        x = np.float64(row[ensemble.feature[node]])
        left = bool(ensemble.goes_left(np.array([node]), np.array([x]))[0])
        node = int(ensemble.left[node] if left else ensemble.right[node])
    return node


def prediction(ensemble: TreeEnsemble, row: Any) -> list[Fraction]:
    total = [Fraction(float(each)) for each in ensemble.base]
    for tree in range(ensemble.n_trees):
        leaf = leaf_of(ensemble, tree, row)
        for place, output in enumerate(ensemble.outputs[tree]):
            total[output] += Fraction(float(ensemble.values[leaf, place]))
    return total


def cover_value(
    ensemble: TreeEnsemble, row: Any, coalition: set[int], player_of: Any
) -> list[Fraction]:
    """Members go where the row goes, others both ways in the shares of the cover."""
    total = [Fraction(float(each)) for each in ensemble.base]

    def walk(node: int, share: Fraction, outputs: Any) -> None:
        left, right = int(ensemble.left[node]), int(ensemble.right[node])
        if left < 0:
            for place, output in enumerate(outputs):
                total[output] += share * Fraction(float(ensemble.values[node, place]))
            return
        feature = int(ensemble.feature[node])
        if int(player_of[feature]) in coalition:
            goes = bool(
                ensemble.goes_left(np.array([node]), np.array([np.float64(row[feature])]))[0]
            )
            walk(left if goes else right, share, outputs)
            return
        covers = [Fraction(float(ensemble.cover[each])) for each in (left, right)]
        for child, cover in zip((left, right), covers, strict=True):
            walk(child, share * cover / sum(covers), outputs)

    for tree in range(ensemble.n_trees):
        walk(int(ensemble.roots[tree]), Fraction(1), ensemble.outputs[tree])
    return total


def background_value(
    ensemble: TreeEnsemble,
    row: Any,
    background: Any,
    weights: Any,
    coalition: set[int],
    player_of: Any,
) -> list[Fraction]:
    total = [Fraction(0)] * ensemble.n_outputs
    member = np.isin(player_of, list(coalition))
    for other, weight in zip(background, weights, strict=True):
        mixed = np.where(member, row, other)
        total = [
            a + Fraction(weight) * b
            for a, b in zip(total, prediction(ensemble, mixed), strict=True)
        ]
    return total


def shapley(value: Any, n_players: int, n_outputs: int) -> list[list[Fraction]]:
    """φ (players, outputs) of a set function, by the definition."""
    worth = {
        members: value(set(members))
        for size in range(n_players + 1)
        for members in combinations(range(n_players), size)
    }
    result = []
    for player in range(n_players):
        total = [Fraction(0)] * n_outputs
        for members, without in worth.items():
            if player in members:
                continue
            size = len(members)
            weight = Fraction(
                factorial(size) * factorial(n_players - size - 1), factorial(n_players)
            )
            joined = worth[tuple(sorted((*members, player)))]
            total = [a + weight * (b - c) for a, b, c in zip(total, joined, without, strict=True)]
        result.append(total)
    return result


def differences(
    value: Any, n_players: int, n_outputs: int, order: int, size_weights: Any
) -> dict[tuple[int, ...], list[Fraction]]:
    """What each group of `order` players adds together, in the mean over coalitions of the others:
    one of s players has the weight size_weights[s].
    """
    worth = {
        members: value(set(members))
        for size in range(n_players + 1)
        for members in combinations(range(n_players), size)
    }
    result = {}
    for group in combinations(range(n_players), order):
        total = [Fraction(0)] * n_outputs
        for members in worth:
            if set(members) & set(group):
                continue
            for size in range(order + 1):
                for some in combinations(group, size):
                    sign = (-1) ** (order - size)
                    joined = worth[tuple(sorted((*members, *some)))]
                    weight = sign * size_weights[len(members)]
                    total = [a + weight * b for a, b in zip(total, joined, strict=True)]
        result[group] = total
    return result


def exact_differences(
    ensemble: TreeEnsemble,
    row: Any,
    background: Any,
    weights: Any,
    player_of: Any,
    order: int,
    levels: Any = None,
) -> np.ndarray[Any, Any]:
    """Values (players, outputs), or the indices of pairs (players, players, outputs), 0 on the
    diagonal; levels: nodes and weights as fractions, Shapley's if not given.
    """
    n_players = int(player_of.max()) + 1
    others = max(0, n_players - order)
    size_weights = []
    for size in range(others + 1):
        if levels is None:
            weight = Fraction(factorial(size) * factorial(others - size), factorial(others + 1))
        else:
            weight = sum(
                share * node**size * (1 - node) ** (others - size)
                for node, share in zip(*levels, strict=True)
            )
        size_weights.append(weight)
    if background is None:
        value = lambda s: cover_value(ensemble, row, s, player_of)  # noqa: E731
    else:
        given = [Fraction(float(each)) for each in weights]
        given = [each / sum(given) for each in given]
        value = lambda s: background_value(ensemble, row, background, given, s, player_of)  # noqa: E731
    found = differences(value, n_players, ensemble.n_outputs, order, size_weights)
    result = np.zeros((*[n_players] * order, ensemble.n_outputs))
    for group, amount in found.items():
        result[group] = result[group[::-1]] = [float(each) for each in amount]
    return result


def exact_values(
    ensemble: TreeEnsemble,
    row: Any,
    background: Any = None,
    weights: Any = None,
    player_of: Any = None,
) -> np.ndarray[Any, Any]:
    """φ (players, outputs), rounded once at the end."""
    player_of = np.arange(ensemble.n_features) if player_of is None else np.asarray(player_of)
    n_players = int(player_of.max()) + 1
    if background is None:
        found = shapley(
            lambda s: cover_value(ensemble, row, s, player_of), n_players, ensemble.n_outputs
        )
    else:
        given = [
            Fraction(float(each))
            for each in (weights if weights is not None else np.ones(len(background)))
        ]
        given = [each / sum(given) for each in given]
        found = shapley(
            lambda s: background_value(ensemble, row, background, given, s, player_of),
            n_players,
            ensemble.n_outputs,
        )
    return np.array([[float(each) for each in of_player] for of_player in found])


def leaf_by_leaf(ensemble: TreeEnsemble, row: Any, background: Any) -> np.ndarray[Any, Any]:
    """φ (players, outputs) of many players: at a leaf some must join, and some must not."""
    total = [[Fraction(0)] * ensemble.n_outputs for _ in range(ensemble.n_features)]

    def walk(node: int, fits: dict[int, list[bool]], other: Any, outputs: Any) -> None:
        if ensemble.left[node] < 0:
            _share_out(
                fits, [Fraction(float(each)) for each in ensemble.values[node]], outputs, total
            )
            return
        feature = int(ensemble.feature[node])
        goes = [
            bool(ensemble.goes_left(np.array([node]), np.array([np.float64(each[feature])]))[0])
            for each in (row, other)
        ]
        before = fits.get(feature, [True, True])
        for child, left in ((ensemble.left[node], True), (ensemble.right[node], False)):
            walk(
                int(child),
                {**fits, feature: [a and b == left for a, b in zip(before, goes, strict=True)]},
                other,
                outputs,
            )

    for other in background:
        for tree in range(ensemble.n_trees):
            walk(int(ensemble.roots[tree]), {}, other, ensemble.outputs[tree])
    return np.array([[float(each / len(background)) for each in of_player] for of_player in total])


def _share_out(
    fits: dict[int, list[bool]], values: list[Fraction], outputs: Any, total: list[list[Fraction]]
) -> None:
    must = [player for player, fit in fits.items() if fit == [True, False]]
    must_not = [player for player, fit in fits.items() if fit == [False, True]]
    if [False, False] in fits.values():
        return
    a, c = len(must), len(must_not)
    for players, weight in (
        (must, Fraction(factorial(max(a - 1, 0)) * factorial(c), factorial(a + c))),
        (must_not, -Fraction(factorial(a) * factorial(max(c - 1, 0)), factorial(a + c))),
    ):
        for player in players:
            for value, output in zip(values, outputs, strict=True):
                total[player][output] += weight * value


def cover_leaf_by_leaf(ensemble: TreeEnsemble, row: Any, group: tuple[int, ...]) -> Fraction:
    """What a group of features adds together, of many, where absent ones follow the cover; one
    output: ∫ Π_group (bit − share) Π_others (q · bit + (1 − q) · share) dq, leaf by leaf.
    """
    total = Fraction(0)

    def walk(node: int, fits: dict[int, tuple[Fraction, bool]]) -> None:
        nonlocal total
        left, right = int(ensemble.left[node]), int(ensemble.right[node])
        if left < 0:
            if all(each in fits for each in group):
                total += Fraction(float(ensemble.values[node, 0])) * _integral(fits, group)
            return
        feature = int(ensemble.feature[node])
        goes = bool(ensemble.goes_left(np.array([node]), np.array([np.float64(row[feature])]))[0])
        covers = [Fraction(float(ensemble.cover[each])) for each in (left, right)]
        share, inside = fits.get(feature, (Fraction(1), True))
        for child, cover, taken in ((left, covers[0], goes), (right, covers[1], not goes)):
            here = (share * cover / sum(covers), inside and taken)
            walk(child, {**fits, feature: here})

    for tree in range(ensemble.n_trees):
        walk(int(ensemble.roots[tree]), {})
    return total


def _integral(fits: dict[int, tuple[Fraction, bool]], group: tuple[int, ...]) -> Fraction:
    polynomial = [Fraction(1)]
    for feature, (share, inside) in fits.items():
        if feature in group:
            polynomial = [each * (int(inside) - share) for each in polynomial]
            continue
        constant, slope = share, int(inside) - share
        polynomial = [
            constant * a + slope * b
            for a, b in zip([*polynomial, Fraction(0)], [Fraction(0), *polynomial], strict=True)
        ]
    return sum((each / (power + 1) for power, each in enumerate(polynomial)), Fraction(0))
