# mypy: ignore-errors
"""The kernel of `_fused_stars`; imported where triton is known to be there."""

import triton
import triton.language as tl


@triton.jit
def _activated(x, KIND: tl.constexpr):
    if KIND == 0:
        return tl.sigmoid(x)
    elif KIND == 1:  # noqa: RET505 (triton wants the branches of a constant apart)
        return 2 * tl.sigmoid(2 * x) - 1
    else:
        return tl.maximum(x, 0.0)


@triton.jit
def stars(
    centres,  # (pairs, stars, width)
    columns,  # (width, pairs, n)
    signs,  # (n, stars)
    middle_weights,  # (middle, width)
    middle_bias,
    last_weights,  # (outputs, middle)
    last_bias,
    chosen,  # (pairs,)
    made,  # (outputs or 1, pairs, stars, n + 1)
    pairs,
    n_players,
    n_stars,
    WIDTH: tl.constexpr,
    MIDDLE: tl.constexpr,
    MIDDLE_PADDED: tl.constexpr,
    OUTPUTS: tl.constexpr,
    OUTPUTS_PADDED: tl.constexpr,
    FIRST: tl.constexpr,
    SECOND: tl.constexpr,
    SOFTMAX: tl.constexpr,
    CHOSEN: tl.constexpr,
    PLAYERS: tl.constexpr,
    STEP: tl.constexpr,
):
    """Outputs of a block of neighbours of one star of one pair; place 0 is the centre itself, which has no column."""
    star = tl.program_id(1).to(tl.int64)
    pair = tl.program_id(2).to(tl.int64)
    place = tl.program_id(0) * PLAYERS + tl.arange(0, PLAYERS)
    player = place - 1
    here = (place >= 1) & (place <= n_players)
    sign = tl.load(signs + player * n_stars + star, mask=here, other=0.0)
    middle = tl.arange(0, MIDDLE_PADDED)
    output = tl.arange(0, OUTPUTS_PADDED)
    centre = centres + (pair * n_stars + star) * WIDTH
    total = tl.zeros((MIDDLE_PADDED, PLAYERS), tl.float32)
    for start in range(0, WIDTH, STEP):
        at = start + tl.arange(0, STEP)
        inside = at < WIDTH
        base = tl.load(centre + at, mask=inside, other=0.0)
        own = columns + (at[:, None] * pairs + pair) * n_players + player[None, :]
        column = tl.load(own, mask=inside[:, None] & here[None, :], other=0.0)
        hidden = _activated(base[:, None] + sign[None, :] * column, FIRST)
        weight = tl.load(
            middle_weights + middle[:, None] * WIDTH + at[None, :],
            mask=(middle < MIDDLE)[:, None] & inside[None, :],
            other=0.0,
        )
        # three products of tf32 halves: as exact as float32, at the matrix units' speed
        total = tl.dot(weight, hidden, total, input_precision="tf32x3")
    total += tl.load(middle_bias + middle, mask=middle < MIDDLE, other=0.0)[:, None]
    weight = tl.load(
        last_weights + output[:, None] * MIDDLE + middle[None, :],
        mask=(output < OUTPUTS)[:, None] & (middle < MIDDLE)[None, :],
        other=0.0,
    )
    scores = tl.dot(weight, _activated(total, SECOND), input_precision="tf32x3")
    scores += tl.load(last_bias + output, mask=output < OUTPUTS, other=0.0)[:, None]
    if SOFTMAX:
        scores = tl.where((output < OUTPUTS)[:, None], scores, float("-inf"))
        scores = tl.exp(scores - tl.max(scores, axis=0)[None, :])
        scores = scores / tl.sum(scores, axis=0)[None, :]
    stored = place <= n_players
    if CHOSEN:
        which = tl.load(chosen + pair)
        value = tl.sum(tl.where(output[:, None] == which, scores, 0.0), axis=0)
        tl.store(made + (pair * n_stars + star) * (n_players + 1) + place, value, mask=stored)
    else:
        target = ((output[:, None] * pairs + pair) * n_stars + star) * (n_players + 1) + place[None, :]
        tl.store(made + target, scores, mask=(output < OUTPUTS)[:, None] & stored[None, :])
