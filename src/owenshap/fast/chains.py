"""Chains from columns: running sums along each permutation."""

from __future__ import annotations

from typing import Any

import numpy as np

from owenshap.designs.design import Chains
from owenshap.fast.columns import Pairs


def of_chains(pairs: Pairs, design: Chains, ends: Any) -> Any:
    """Replicates (outputs, rows, n, r), given the values of the ends, (2, outputs, rows)."""
    linear = pairs.linear
    replicates, chains, n_players = design.ranks.shape
    arrays = linear.arrays
    if n_players == 1:  # no coalition lies between the ends
        return arrays.zeros((*ends.shape[1:], 1, replicates)) + (ends[1] - ends[0])[..., None, None]
    # all in one go, whatever the tiles
    ranks = arrays.put(np.ascontiguousarray(design.ranks.transpose(2, 1, 0)), exact=True)
    inner = arrays.order(ranks)[:-1]

    def of_pairs(rows: slice, some: slice, part: slice, columns: Any, empty: Any) -> Any:
        places = ranks[:, part, some]
        added = arrays.along(columns, inner[:, part, some].reshape(n_players - 1, -1))
        added[:, :, :1] += empty[:, :, None]
        steps = _steps(pairs, pairs.outputs_of(arrays.summed(added, 2), rows), ends[:, :, rows])
        contributions = arrays.along(steps, places.reshape(n_players, -1)).reshape(
            *steps.shape[:2], *places.shape
        )
        return contributions[..., 0, :] if chains == 1 else arrays.exact_sum(contributions) / chains

    return pairs.over_units(of_pairs, (replicates, chains), design.background, linear.widest)


def _steps(pairs: Pairs, outputs: Any, ends: Any) -> Any:
    """What each place of a chain adds, (outputs, pairs, n, chains), from the values of its inner
    coalitions.
    """
    count, of_rows, inner, chains = outputs.shape
    along = pairs.linear.arrays.zeros((count, of_rows, inner + 2, chains))
    by_row = along.reshape(count, ends.shape[2], -1, inner + 2, chains)
    by_row[:, :, :, 0] = ends[0][..., None, None]
    by_row[:, :, :, -1] = ends[1][..., None, None]
    along[:, :, 1:-1] = outputs
    return along[:, :, 1:] - along[:, :, :-1]
