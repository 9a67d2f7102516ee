"""Random ensembles: any shape, missing values, categories, several outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from margins import margins

from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.exact import TreeGame
from owenshap.trees.readers import reader_of

CATEGORIES = 5


def random_ensemble(
    seed: int,
    trees: int = 2,
    depth: int = 4,
    features: int = 4,
    outputs: int = 1,
    vector: bool = False,
    categorical: bool = False,
    leafy: float = 0.2,
) -> TreeEnsemble:
    """Thresholds are whole numbers, so that rows of whole numbers lie on them."""
    rng = np.random.default_rng(seed)
    left: list[int] = []
    right: list[int] = []
    feature: list[int] = []

    def grow(level: int) -> int:
        node = len(left)
        left.append(-1)
        right.append(-1)
        feature.append(-1)
        if level < depth and rng.random() > leafy:
            feature[node] = int(rng.integers(features))
            left[node] = grow(level + 1)
            right[node] = grow(level + 1)
        return node

    roots = [grow(0) for _ in range(trees)]
    return finished(rng, roots, left, right, feature, features, outputs, vector, categorical)


def chain(seed: int, depth: int, features: int) -> TreeEnsemble:
    """One long path with a leaf at every step."""
    rng = np.random.default_rng(seed)
    count = 2 * depth + 1
    left = [node + 1 if node % 2 == 0 and node < 2 * depth else -1 for node in range(count)]
    right = [node + 2 if node % 2 == 0 and node < 2 * depth else -1 for node in range(count)]
    feature = [
        (node // 2) % features if node % 2 == 0 and node < 2 * depth else -1
        for node in range(count)
    ]
    return finished(rng, [0], left, right, feature, features, 1, False, False)


def finished(
    rng: Any,
    roots: list[int],
    left: list[int],
    right: list[int],
    feature: list[int],
    features: int,
    outputs: int,
    vector: bool,
    categorical: bool,
) -> TreeEnsemble:
    count = len(left)
    is_category = np.isin(feature, np.arange(0, features, 2)) & categorical
    width = outputs if vector else 1
    spoken = (
        np.tile(np.arange(outputs), (len(roots), 1))
        if vector
        else rng.integers(outputs, size=(len(roots), 1))
    )
    values = np.where(np.array(left)[:, None] < 0, rng.normal(size=(count, width)), 0.0)
    return TreeEnsemble(
        roots=np.array(roots, np.int64),
        left=np.array(left),
        right=np.array(right),
        feature=np.array(feature),
        threshold=rng.integers(-2, 3, size=count).astype(np.float64),
        missing_left=rng.random(count) < 0.5,
        values=values,
        outputs=spoken,
        cover=_cover(rng, left, right),
        base=rng.normal(size=outputs),
        n_features=features,
        category_set=np.where(is_category, np.arange(count), -1) if categorical else None,
        category_sets=rng.random((count, CATEGORIES + 1)) < 0.5 if categorical else None,
    )


def _cover(rng: Any, left: list[int], right: list[int]) -> Any:
    cover = rng.integers(1, 20, len(left)).astype(np.float64)
    for node in reversed(range(len(left))):
        if left[node] >= 0:
            cover[node] = cover[left[node]] + cover[right[node]]
    return cover


def random_rows(seed: int, count: int, features: int) -> Any:
    """Whole numbers, some missing, infinite or minus zero."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, size=(count, features)).astype(np.float64)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[rng.random(rows.shape) < 0.05] = np.inf
    rows[rng.random(rows.shape) < 0.05] = -np.inf
    rows[rng.random(rows.shape) < 0.05] = -0.0
    return rows


def values(ensemble: TreeEnsemble, rows: Any, *args: Any, **settings: Any) -> tuple[Any, Any]:
    """Exact values of rows and their base values, with the arguments of `TreeGame.of`."""
    game = TreeGame.of(ensemble, *args, **settings)
    return game.values(rows), game.base


def agrees(model: Any, ensemble: TreeEnsemble, rows: Any) -> bool:
    """Whether the trees give what the library gives for these rows, but for its rounding."""
    own = ensemble.predict(reader_of(model).matrix(model, rows))
    given = margins(model, rows).reshape(own.shape)
    return bool((np.abs(own - given) <= ensemble.tolerance()).all())
