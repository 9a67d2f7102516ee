# mypy: ignore-errors
"""The kernel of `fused_subsets`; imported where triton is known to be there."""

import triton
import triton.language as tl

from owenshap.fast.star_kernel import activated, factor


@triton.jit
def _upper(x):
    """The leading digits of a number, as many as the matrix units take."""
    return (x.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)


@triton.jit
def _layer(taken, weight, bias):
    """Wh + c to float32: three products of halves. What is not finite becomes none, which the
    caller looks for.
    """
    upper = _upper(taken)
    weight_upper = _upper(weight)
    total = tl.dot(
        taken - upper,
        weight_upper,
        tl.broadcast_to(bias[None, :], taken.shape),
        input_precision="tf32",
    )
    total = tl.dot(upper, weight - weight_upper, total, input_precision="tf32")
    return tl.dot(upper, weight_upper, total, input_precision="tf32")


@triton.jit(do_not_specialize=["pairs", "n_players", "blocks"])
def subsets(
    columns,  # (WIDTHS[0], pairs, n_players)
    empty,  # (WIDTHS[0], pairs)
    layers,  # one after the other: weights (new width, width), bias (new width,)
    members,  # (n_players + 1,)
    others,  # (n_players + 1,)
    chosen,  # (pairs,)
    made,  # (pairs, programs, OUTPUTS_PADDED, PLAYERS)
    pairs,
    n_players,
    blocks,
    WIDTHS: tl.constexpr,
    STARTS: tl.constexpr,
    KINDS: tl.constexpr,
    LAYERS: tl.constexpr,
    WIDTH: tl.constexpr,
    SOFTMAX: tl.constexpr,
    CHOSEN: tl.constexpr,
    OUTPUTS: tl.constexpr,
    OUTPUTS_PADDED: tl.constexpr,
    PLAYERS: tl.constexpr,
    COALITIONS: tl.constexpr,
):
    """What some blocks of coalitions add to the Shapley values of a pair.

    WIDTHS of h and of what each layer makes, STARTS of the layers' weights, KINDS of what is
    applied before each layer and after the last; WIDTH holds the widest.
    """
    pair = tl.program_id(0).to(tl.int64)
    player = tl.arange(0, PLAYERS)
    wide = tl.arange(0, WIDTH)
    column = (wide * pairs + pair) * n_players
    here = (player < n_players)[:, None] & (wide < WIDTHS[0])[None, :]
    own = tl.load(columns + column[None, :] + player[:, None], mask=here, other=0.0)
    start = tl.load(empty + wide * pairs + pair, mask=wide < WIDTHS[0], other=0.0)
    first = tl.broadcast_to(start[None, :], (COALITIONS, WIDTH))
    output = tl.arange(0, OUTPUTS_PADDED)
    total = tl.zeros((OUTPUTS_PADDED, PLAYERS), tl.float64)
    for block in range(blocks):
        code = (tl.program_id(1) * blocks + block) * COALITIONS + tl.arange(0, COALITIONS)
        present = (code[:, None] >> player[None, :]) & 1
        hidden = tl.dot(present.to(tl.float32), own - _upper(own), first, input_precision="tf32")
        hidden = tl.dot(present.to(tl.float32), _upper(own), hidden, input_precision="tf32")
        for layer in tl.static_range(LAYERS):
            there = wide < WIDTHS[layer + 1]
            at = layers + STARTS[layer] + wide[None, :] * WIDTHS[layer] + wide[:, None]
            weight = tl.load(at, mask=there[None, :] & (wide < WIDTHS[layer])[:, None], other=0.0)
            bias = tl.load(
                layers + STARTS[layer] + WIDTHS[layer] * WIDTHS[layer + 1] + wide,
                mask=there,
                other=0.0,
            )
            hidden = _layer(activated(hidden * factor(KINDS[layer]), KINDS[layer]), weight, bias)
        scores = activated(hidden * factor(KINDS[LAYERS]), KINDS[LAYERS])
        size = tl.sum(present, axis=1)
        share = tl.where(
            present != 0, tl.load(members + size)[:, None], -tl.load(others + size)[:, None]
        )
        if SOFTMAX and OUTPUTS == 2:  # the sigmoid of a difference, and 1 less that
            difference = tl.sum(
                tl.where((wide < 2)[None, :], scores * (2 * wide - 1)[None, :], 0.0), axis=1
            )
            value = activated(difference * factor(0), 0).to(tl.float64)
            side = 2 * (tl.load(chosen + pair) if CHOSEN else output) - 1
            total += tl.sum(share * value[:, None], axis=0)[None, :] * (output * 0 + side)[:, None]
        else:
            whole = 1.0
            if SOFTMAX:
                scores = tl.where((wide < OUTPUTS)[None, :], scores, float("-inf"))
                scores = tl.exp(scores - tl.max(scores, axis=1)[:, None])
                whole = tl.sum(scores, axis=1)
            for each in tl.static_range(1 if CHOSEN else OUTPUTS):
                which = tl.load(chosen + pair) if CHOSEN else each
                value = (tl.sum(tl.where(wide[None, :] == which, scores, 0.0), axis=1) / whole).to(
                    tl.float64
                )
                total += tl.where(
                    (output == each)[:, None], tl.sum(share * value[:, None], axis=0)[None, :], 0.0
                )
    target = (pair * tl.num_programs(1) + tl.program_id(1)) * OUTPUTS_PADDED + output
    tl.store(made + target[:, None] * PLAYERS + player[None, :], total)
