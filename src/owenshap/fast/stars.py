"""Stars from columns: a neighbour's h is its centre's, one column more or less."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from owenshap.designs.design import Stars
from owenshap.fast import fused_stars as _fused_stars
from owenshap.fast.batched_stars import fusible, joinable, joined, joined_bytes
from owenshap.fast.columns import Pairs, hidden_at
from owenshap.fast.linear_first import FIRST_PANEL


def of_stars(pairs: Pairs, design: Stars, ends: Any) -> Any:
    """Replicates (outputs, rows, n, r), given the values of the ends, (2, outputs, rows), where
    background rows are drawn.
    """
    arrays = pairs.linear.arrays
    replicates, stars, n_players = design.centres.shape
    many = pairs.numbers(design) >= _fused_stars.FEWEST_NUMBERS
    fused = many and fusible(pairs, design)
    if fused and joinable(pairs) and joined_bytes(pairs, design) <= pairs.memory:
        return joined([(pairs, design)])[0]
    weights = arrays.put(design.weights)
    kept = _kept_centres(pairs, design, fused)

    def of_pairs(rows: slice, some: slice, part: slice, columns: Any, empty: Any) -> Any:
        centres = arrays.put(np.ascontiguousarray(design.centres[some, part].transpose(2, 1, 0)))
        signs = centres * -2
        signs += 1  # in place: another such array takes longer to come by than to fill
        present = centres.reshape(n_players, -1)
        sign = signs.reshape(n_players, -1)
        if fused:
            steps = _fused_steps(pairs, rows, present, columns, empty)
        else:
            if kept is None:
                hidden = hidden_at(arrays, present, columns, empty)
            else:
                hidden = kept(columns, empty)[:, :, part, some].reshape(*columns.shape[:2], -1)
            outputs = _outputs(pairs, rows, hidden, sign, columns)
            if design.background is not None:
                outputs = _with_ends(outputs, present, sign, ends[:, :, rows], arrays)
            steps = outputs[:, :, 1:] - outputs[:, :, :1]
        steps *= (signs * weights[part, None]).reshape(n_players, -1)
        return arrays.exact_sum(steps.reshape(*steps.shape[:2], *signs.shape))

    return pairs.over_units(
        of_pairs, (replicates, stars), design.background, 8 if fused else pairs.linear.widest
    )


def _kept_centres(pairs: Pairs, design: Stars, fused: bool) -> Callable[[Any, Any], Any] | None:
    """The h of all centres, (width, pairs, stars, replicates), made once for the columns of some
    pairs; None where each tile makes its own.

    Where a tile has fewer stars than a panel, it would fill up a whole panel for them.
    """
    arrays = pairs.linear.arrays
    replicates, stars, n_players = design.centres.shape
    if fused or design.background is not None:
        return None
    many = pairs.tile // (pairs.linear.widest * (n_players + 1)) >= FIRST_PANEL
    if many or pairs.linear.width * replicates * stars > pairs.tile:
        return None
    kept: tuple[Any, Any] = (None, None)

    def of_columns(columns: Any, empty: Any) -> Any:
        nonlocal kept
        if kept[0] is not columns:
            present = arrays.put(np.ascontiguousarray(design.centres.transpose(2, 1, 0)))
            every = hidden_at(arrays, present.reshape(n_players, -1), columns, empty)
            kept = (columns, every.reshape(*columns.shape[:2], stars, replicates))
        return kept[1]

    return of_columns


def _outputs(pairs: Pairs, rows: slice, centres: Any, signs: Any, columns: Any) -> Any:
    """Outputs of the centres, whose h is (width, pairs, stars), and then of their neighbours,
    (outputs, pairs, n + 1, stars).
    """
    width, of_rows, n_players = columns.shape[:3]
    arrays = pairs.linear.arrays
    hidden = arrays.empty((width, of_rows, n_players + 1, centres.shape[2]))
    hidden[:, :, 0] = centres
    arrays.scaled_sum(centres[:, :, None], columns, signs, out=hidden[:, :, 1:])
    return pairs.outputs_of(hidden, rows)


def _fused_steps(pairs: Pairs, rows: slice, present: Any, columns: Any, empty: Any) -> Any:
    """What the neighbours' outputs differ by from their centres', (outputs, pairs, n, stars), by a
    kernel of our own.
    """
    arrays = pairs.linear.arrays
    width, count, n_players, _ = columns.shape
    stars = present.shape[1]
    index = arrays.put(np.arange(count * n_players).reshape(count, n_players), exact=True)
    units = _fused_stars.Units(
        row=arrays.put(np.repeat(np.arange(count, dtype=np.int32), stars), exact=True),
        star=arrays.put(np.tile(np.arange(stars, dtype=np.int32), count), exact=True),
        counts=arrays.put(np.full(count, n_players, np.int32), exact=True),
        index=index,
        scale=0 * index.to(columns.dtype) + 1,
        present=present.T.bool(),
        table=columns.reshape(width, -1).T,
        centres=hidden_at(arrays, present, columns, empty).reshape(width, -1).T,
        chosen=pairs.chosen_outputs(rows, count),
    )
    steps = _fused_stars.steps(pairs.linear, units)
    return steps.reshape(len(steps), count, stars, n_players).swapaxes(2, 3)


def _with_ends(outputs: Any, present: Any, signs: Any, ends: Any, arrays: Any) -> Any:
    """Values of stars (outputs, rows, n + 1, stars), those of the empty and the grand coalition
    over the whole background.
    """
    n_players, stars = present.shape
    sizes = arrays.zeros((n_players + 1, stars))
    sizes[0] = present.sum(0)
    sizes[1:] = sizes[0] + signs
    exact = arrays.exactly(outputs)
    for end, size in zip(ends, (0, n_players), strict=True):
        here = arrays.exactly(sizes == size)
        exact = exact * (1 - here) + end[..., None, None] * here
    return exact
