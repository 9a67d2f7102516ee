"""All subsets from columns by doubling, h(S ∪ {k}) = h(S) + C_k, a tile at a time: no table of
coalitions is ever made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from owenshap.designs.design import Subsets, size_weights
from owenshap.fast import fused_stars as _fused_stars
from owenshap.fast import fused_subsets as _fused_subsets
from owenshap.fast.columns import Pairs
from owenshap.fast.linear_first import Arrays
from owenshap.support.arrays import CACHED, FloatArray
from owenshap.support.bits import from_codes


def of_subsets(pairs: Pairs) -> Any:
    """Values (outputs, rows, n, 1) from all 2ⁿ coalitions, a tile of low players for each coalition
    of the others.
    """
    n_players = pairs.n_players
    widest = pairs.linear.widest
    many = pairs.numbers(Subsets.all_of(n_players)) >= _fused_stars.FEWEST_NUMBERS
    if many and pairs.output.function is None and _fused_subsets.fits(pairs.linear, n_players):
        return pairs.over_pairs(partial(_fused_values, pairs), pairs.linear.width * n_players)
    low = min(n_players, max(1, (pairs.block // widest).bit_length() - 1))
    arrays: Any = pairs.linear.arrays
    small = (n_players - low + 1) << low <= CACHED
    folding = (_kept_folding if small else _folding)(arrays, n_players, low)

    def of_pairs(rows: slice, drawn: Any) -> Any:
        columns, empty = pairs.columns(rows, drawn)
        tile = _doubled(arrays, empty[..., 0], columns[:, :, :low])
        if low == n_players:
            return folding(arrays.exactly(pairs.outputs_of(tile, rows)), 0)[..., None]
        others = _doubled(arrays, 0 * empty[..., 0], columns[:, :, low:])
        total: Any = 0
        for high in range(1 << (n_players - low)):
            hidden = tile + others[..., high, None]
            total = total + folding(arrays.exactly(pairs.outputs_of(hidden, rows)), high)
        return total[..., None]

    return pairs.over_pairs(of_pairs, widest << low)


def _fused_values(pairs: Pairs, rows: slice, drawn: Any) -> Any:
    """The same of some pairs, by a kernel of our own."""
    columns, empty = pairs.columns(rows, drawn)
    chosen = pairs.chosen_outputs(rows, columns.shape[1])
    return _fused_subsets.shapley(pairs.linear, columns[..., 0], empty[..., 0], chosen)[..., None]


def _doubled(arrays: Arrays, start: Any, columns: Any) -> Any:
    """Hidden numbers of all coalitions of some players, (width, pairs, 2^players)."""
    width, pairs, players = columns.shape[:3]
    hidden = arrays.empty((width, pairs, 1 << players))
    once = arrays.put(np.ones(1))
    hidden[..., 0] = start
    for player in range(players):
        half = 1 << player
        arrays.scaled_sum(
            hidden[..., :half], columns[:, :, player], once, out=hidden[..., half : 2 * half]
        )
    return hidden


def _folding(arrays: Arrays, n_players: int, low: int) -> Callable[[Any, int], Any]:
    """What the coalitions of a tile add to the Shapley values: Σ (p + m) v over those with the
    player, less Σ m v over all.

    The weights depend on sizes alone. Sums over the coalitions with a player come from two small
    marginal tables, over the lower and the upper half of the tile's players, so that nothing as
    long as the tile is made per player.
    """
    members, others = size_weights(n_players)
    sizes = np.bitwise_count(np.arange(1 << low)).astype(np.intp)
    counts = range(n_players - low + 1)  # of the other players in a coalition
    half = low // 2
    gains = [arrays.put((members + others)[sizes + count], exact=True) for count in counts]
    losses = [arrays.put(others[sizes + count], exact=True) for count in counts]
    lower_bits = arrays.put(_bits(half), exact=True)
    upper_bits = arrays.put(_bits(low - half), exact=True)

    def folded(values: Any, high: int) -> Any:
        """(outputs, pairs, n) from the values (outputs, pairs, 2^low) with these of the other
        players present.
        """
        shape = tuple(values.shape[:2])
        gained = (values * gains[high.bit_count()]).reshape(*shape, -1, 1 << half)
        upper = gained.sum(3)
        added = arrays.zeros((*shape, n_players))
        added[..., :half] = _with_each(gained.sum(2), lower_bits)
        added[..., half:low] = _with_each(upper, upper_bits)
        for player in range(low, n_players):
            if high >> (player - low) & 1:
                added[..., player] = upper.sum(2)
        added -= (values * losses[high.bit_count()]).sum(2)[..., None]
        return added

    return folded


_kept_folding = lru_cache(maxsize=1)(_folding)
"""One that is small enough to be kept for the next call: its weights take longer to make than a
device to use.
"""


def _with_each(sums: Any, bits: Any) -> Any:
    """Of sums (…, 2^players), those of the coalitions with each player, in one order whatever the
    other axes are.
    """
    return (sums[..., None, :] * bits).sum(-1)


def _bits(players: int) -> FloatArray:
    """Which coalitions of so many players have each of them, (players, 2^players)."""
    return np.ascontiguousarray(from_codes(np.arange(1 << players), players).T, np.float64)
