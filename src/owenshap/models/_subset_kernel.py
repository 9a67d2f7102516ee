# mypy: ignore-errors
"""The kernel of `_fused_subsets`; imported where triton is known to be there."""

import triton
import triton.language as tl

from owenshap.models._star_kernel import activated, factor


@triton.jit(do_not_specialize=["pairs", "n_players", "blocks"])
def subsets(
    columns,  # (FIRST, pairs, n_players)
    empty,  # (FIRST, pairs)
    weights,  # (LAYERS, WIDTH, WIDTH), transposed
    biases,  # (LAYERS, WIDTH)
    members,  # (n_players + 1,)
    others,  # (n_players + 1,)
    chosen,  # (pairs,)
    made,  # (pairs, programs, OUTPUTS_PADDED, PLAYERS)
    pairs,
    n_players,
    blocks,
    FIRST: tl.constexpr,
    WIDTH: tl.constexpr,
    LAYERS: tl.constexpr,
    KINDS: tl.constexpr,
    SOFTMAX: tl.constexpr,
    CHOSEN: tl.constexpr,
    OUTPUTS: tl.constexpr,
    OUTPUTS_PADDED: tl.constexpr,
    PLAYERS: tl.constexpr,
    COALITIONS: tl.constexpr,
):
    """What some blocks of coalitions add to the Shapley values of a pair; KINDS has two bits for each activation."""
    pair = tl.program_id(0).to(tl.int64)
    player = tl.arange(0, PLAYERS)
    wide = tl.arange(0, WIDTH)
    column = (wide * pairs + pair) * n_players
    here = (player < n_players)[:, None] & (wide < FIRST)[None, :]
    own = tl.load(columns + column[None, :] + player[:, None], mask=here, other=0.0)
    start = tl.load(empty + wide * pairs + pair, mask=wide < FIRST, other=0.0)
    output = tl.arange(0, OUTPUTS_PADDED)
    total = tl.zeros((OUTPUTS_PADDED, PLAYERS), tl.float64)
    for block in range(blocks):
        code = (tl.program_id(1) * blocks + block) * COALITIONS + tl.arange(0, COALITIONS)
        present = (code[:, None] >> player[None, :]) & 1
        hidden = tl.dot(present.to(tl.float32), own, input_precision="tf32x3") + start[None, :]
        for layer in tl.static_range(LAYERS):
            taken = activated(hidden * factor((KINDS >> (2 * layer)) & 3), (KINDS >> (2 * layer)) & 3)
            weight = tl.load(weights + (layer * WIDTH + wide[:, None]) * WIDTH + wide[None, :])
            hidden = tl.dot(taken, weight, input_precision="tf32x3") + tl.load(biases + layer * WIDTH + wide)[None, :]
        scores = activated(hidden * factor((KINDS >> (2 * LAYERS)) & 3), (KINDS >> (2 * LAYERS)) & 3)
        if SOFTMAX:
            scores = tl.where((wide < OUTPUTS)[None, :], scores, float("-inf"))
            scores = tl.exp(scores - tl.max(scores, axis=1)[:, None])
            scores = scores / tl.sum(scores, axis=1)[:, None]
        size = tl.sum(present, axis=1)
        share = tl.where(present != 0, tl.load(members + size)[:, None], -tl.load(others + size)[:, None])
        if CHOSEN:
            value = tl.sum(tl.where(wide[None, :] == tl.load(chosen + pair), scores, 0.0), axis=1).to(tl.float64)
            total += tl.sum(share * value[:, None], axis=0)[None, :]
        else:
            for each in tl.static_range(OUTPUTS):
                value = tl.sum(tl.where(wide[None, :] == each, scores, 0.0), axis=1).to(tl.float64)
                total += tl.where((output == each)[:, None], tl.sum(share * value[:, None], axis=0)[None, :], 0.0)
    target = (pair * tl.num_programs(1) + tl.program_id(1)) * OUTPUTS_PADDED + output
    tl.store(made + target[:, None] * PLAYERS + player[None, :], total)
