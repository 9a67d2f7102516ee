# mypy: ignore-errors
"""The kernel of `fused_stars`; imported where triton is known to be there."""

import triton
import triton.language as tl


@triton.jit
def _reciprocal(x):
    """1 / x to a unit in the last place, in one instruction; a division takes eight."""
    return tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def _power_of_two(x):
    """2^x in one instruction, 0 where it is too small for a normal number; triton's own takes
    four.
    """
    return tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def activated(x, KIND: tl.constexpr):
    """Of x times `factor`."""
    if KIND == 0:
        return _reciprocal(1 + _power_of_two(x))
    elif KIND == 1:  # noqa: RET505 (triton wants the branches of a constant apart)
        return 2 * _reciprocal(1 + _power_of_two(x)) - 1
    elif KIND == 2:
        return tl.maximum(x, 0.0)
    else:
        return x


@triton.jit
def factor(KIND: tl.constexpr):
    """-log2 e for a sigmoid, twice that for a tanh: exp is a power of two, and the sign comes for
    nothing.
    """
    if KIND == 0:
        return -1.4426950408889634
    elif KIND == 1:  # noqa: RET505
        return -2.8853900817779268
    else:
        return 1.0


@triton.jit
def stars(
    unit_row,  # (units,)
    unit_star,  # (units,)
    counts,  # (rows,)
    index,  # (rows, MOST)
    scale,  # (rows, MOST)
    present,  # (stars, MOST)
    table,  # (columns, WIDTH)
    centres,  # (units, WIDTH)
    middles,  # (units, MIDDLE)
    centre_outputs,  # (OUTPUTS or 1, units)
    upper,  # (WIDTH, MIDDLE_PADDED)
    lower,  # (WIDTH, MIDDLE_PADDED)
    largest,  # (MIDDLE_PADDED,)
    last_weights,  # (OUTPUTS, MIDDLE)
    last_bias,
    chosen,  # (rows,)
    made,  # (OUTPUTS or 1, units, MOST)
    units,
    most,
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
    """What a block of neighbours of one star differ by from its centre."""
    unit = tl.program_id(0).to(tl.int64)
    row = tl.load(unit_row + unit).to(tl.int64)
    star = tl.load(unit_star + unit).to(tl.int64)
    count = tl.load(counts + row)
    if tl.program_id(1) * PLAYERS >= count:
        return
    player = tl.program_id(1) * PLAYERS + tl.arange(0, PLAYERS)
    here = player < count
    column = tl.load(index + row * most + player, mask=here, other=0).to(tl.int64)
    change = tl.load(scale + row * most + player, mask=here, other=0.0) * factor(FIRST)
    change = tl.where(
        tl.load(present + star * most + player, mask=here, other=0) != 0, -change, change
    )
    middle = tl.arange(0, MIDDLE_PADDED)
    output = tl.arange(0, OUTPUTS_PADDED)
    total = tl.zeros((PLAYERS, MIDDLE_PADDED), tl.float32)
    for start in range(0, WIDTH, STEP):
        at = start + tl.arange(0, STEP)
        base = tl.load(centres + unit * WIDTH + at) * factor(FIRST)
        own = tl.load(table + column[:, None] * WIDTH + at[None, :])
        # a small difference: 22 bits of it, in two halves, are more than float32 has of the
        # neighbour's own number
        moved = (
            activated(base[None, :] + change[:, None] * own, FIRST)
            - activated(base, FIRST)[None, :]
        )
        weight = tl.load(upper + at[:, None] * MIDDLE_PADDED + middle[None, :])
        if FIRST == 2:  # unbounded: three products of tf32 halves, as exact as float32
            total = tl.dot(moved, weight, total, input_precision="tf32x3")
        else:
            short = moved.to(tl.float16)
            total = tl.dot(short, weight, total)
            total = tl.dot((moved - short.to(tl.float32)).to(tl.float16), weight, total)
            total = tl.dot(
                short, tl.load(lower + at[:, None] * MIDDLE_PADDED + middle[None, :]), total
            )
    total *= tl.load(largest + middle)[None, :]
    total += tl.load(middles + unit * MIDDLE + middle, mask=middle < MIDDLE, other=0.0)[None, :]
    weight = tl.load(
        last_weights + output[None, :] * MIDDLE + middle[:, None],
        mask=(output < OUTPUTS)[None, :] & (middle < MIDDLE)[:, None],
        other=0.0,
    )
    scores = tl.dot(activated(total * factor(SECOND), SECOND), weight, input_precision="tf32x3")
    scores += tl.load(last_bias + output, mask=output < OUTPUTS, other=0.0)[None, :]
    if SOFTMAX:
        scores = tl.where((output < OUTPUTS)[None, :], scores, float("-inf"))
        scores = tl.exp(scores - tl.max(scores, axis=1)[:, None])
        scores = scores / tl.sum(scores, axis=1)[:, None]
    if CHOSEN:
        which = tl.load(chosen + row)
        value = tl.sum(tl.where(output[None, :] == which, scores, 0.0), axis=1)
        tl.store(made + unit * most + player, value - tl.load(centre_outputs + unit), mask=here)
    else:
        centre = tl.load(centre_outputs + output * units + unit, mask=output < OUTPUTS, other=0.0)
        target = (output[None, :] * units + unit) * most + player[:, None]
        tl.store(
            made + target,
            scores - centre[None, :],
            mask=(output < OUTPUTS)[None, :] & here[:, None],
        )
