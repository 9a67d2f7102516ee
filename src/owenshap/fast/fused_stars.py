"""One Triton kernel for stars of a perceptron with two hidden layers: from the centres' h to
contributions in one go.

The plain way takes h of every neighbour through memory five times; here it stays in registers.
Needs CUDA and triton. A *unit* is a star of a row; rows may have different numbers of live players,
so that many games fill the device together.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from owenshap.fast.linear_first import LinearFirst
from owenshap.fast.torch_linear import TorchArrays
from owenshap.support.extras import needed

# `kernel_settings` of benchmarks/speed tries others on a device:
PLAYERS_AT_ONCE = 64  # neighbours of a program, or coalitions where it goes through all of them
WIDTH_AT_ONCE = 32  # numbers of h that a program takes in one step
MOST_MIDDLE = PLAYERS_AT_ONCE  # numbers of the second layer: a square of registers
MOST_OUTPUTS = MOST_MIDDLE // 2  # outputs, or numbers of a narrow layer, beside them
# of h in a call: below, the plain way is done before a kernel is compiled or looked up
FEWEST_NUMBERS = 1 << 24
ACTIVATIONS = {"sigmoid": 0, "tanh": 1, "relu": 2}


@dataclass(frozen=True, eq=False)
class Units:
    """Stars of rows, on the device."""

    row: Any
    """int32 (units,)"""
    star: Any
    """int32 (units,)"""
    counts: Any
    """Live players of each row, int32 (rows,)."""
    index: Any
    """The column of each live player of each row, (rows, most); what is past its players is not
    looked at.
    """
    scale: Any
    """What the column is multiplied with, (rows, most)."""
    present: Any
    """The centres, bool (stars, most)."""
    table: Any
    """Columns of C, (columns, width); None: those of W."""
    centres: Any
    """h of the centres, (units, width)."""
    chosen: Any
    """The one output of each row that is wanted; None: all."""


def fits(linear: LinearFirst) -> bool:
    """Whether the kernel can do this model's steps here."""
    kinds = [step.kind for step in linear.steps]
    shape = (
        len(kinds) in (4, 5)
        and kinds[0] in ACTIVATIONS
        and kinds[2] in ACTIVATIONS
        and kinds[1] == kinds[3] == "affine"
    )
    if (
        not shape
        or kinds[4:] not in ([], ["softmax"])
        or not isinstance(linear.arrays, TorchArrays)
    ):
        return False
    middle = linear.steps[1].weights
    last = linear.steps[3].weights
    small = len(middle) <= MOST_MIDDLE and len(last) <= MOST_OUTPUTS
    return small and middle.is_cuda and middle.element_size() == 4 and has_triton()


def steps(linear: LinearFirst, units: Units) -> Any:
    """What the neighbours' outputs differ by from the centre's, (k, units, most); anything past a
    row's live players.
    """
    # in a module of its own because triton reads the file it is in
    from owenshap.fast import star_kernel

    torch = needed("torch", extra="torch")
    triton = needed("triton", extra="torch")
    kinds = [step.kind for step in linear.steps]
    table, upper, lower, largest = _packed(linear, WIDTH_AT_ONCE)
    middle = linear.steps[1]
    last = linear.steps[3]
    most = units.index.shape[1]
    count = len(units.row)
    outputs = len(last.weights) if units.chosen is None else 1
    chosen = None if units.chosen is None else units.chosen.remainder(len(last.weights))
    hidden = linear.steps[0].apply(units.centres.clone())
    middles = middle.apply(hidden.T).T.contiguous()
    centre = middles.T.clone()
    for step in linear.steps[2:]:
        centre = step.apply(centre)
    if chosen is not None:
        centre = centre.gather(0, chosen[units.row][None])
    made = torch.empty((outputs, count, most), dtype=torch.float32, device=units.index.device)
    star_kernel.stars[(count, triton.cdiv(most, PLAYERS_AT_ONCE))](
        units.row,
        units.star,
        units.counts,
        units.index.contiguous(),
        units.scale.contiguous(),
        units.present.contiguous().view(torch.uint8),
        table if units.table is None else _padded(units.table, table.shape[1]),
        _padded(units.centres, table.shape[1]),
        middles,
        centre.contiguous(),
        upper,
        lower,
        largest,
        last.weights.contiguous(),
        last.weights.new_zeros(len(last.weights)) if last.bias is None else last.bias,
        made if chosen is None else chosen,
        made,
        count,
        most,
        WIDTH=table.shape[1],
        MIDDLE=len(middle.weights),
        MIDDLE_PADDED=upper.shape[1],
        OUTPUTS=len(last.weights),
        OUTPUTS_PADDED=max(16, triton.next_power_of_2(len(last.weights))),
        FIRST=ACTIVATIONS[kinds[0]],
        SECOND=ACTIVATIONS[kinds[2]],
        SOFTMAX=len(kinds) == 5,
        CHOSEN=chosen is not None,
        PLAYERS=PLAYERS_AT_ONCE,
        STEP=WIDTH_AT_ONCE,
    )
    return made


def _padded(array: Any, width: int) -> Any:
    """An array (…, width) with zeros up to a greater width."""
    torch = needed("torch", extra="torch")
    return torch.nn.functional.pad(array, (0, width - array.shape[1])).contiguous()


@lru_cache(maxsize=1)
def _packed(linear: LinearFirst, step: int) -> tuple[Any, Any, Any, Any]:
    """The columns of W, and the middle weights as two float16 that add up to 22 bits, of at most 1,
    and what both are multiplied with; in float32 where the first layer has no bounds.

    The width is padded to whole steps: what is added is 0 everywhere and changes nothing.
    """
    torch = needed("torch", extra="torch")
    middle = linear.steps[1].weights
    width = -(-linear.width // step) * step
    wide = torch.nn.functional.pad(
        middle,
        (0, width - linear.width, 0, max(16, 1 << (len(middle) - 1).bit_length()) - len(middle)),
    )
    largest = wide.new_ones(len(wide))
    upper = lower = wide
    if linear.steps[0].kind != "relu":
        largest = wide.abs().amax(1).clamp_min(1e-30)
        scaled = wide / largest[:, None]
        upper = scaled.half()
        lower = (scaled - upper.float()).half()
    columns = _padded(linear.weights.T, width)
    return columns, upper.T.contiguous(), lower.T.contiguous(), largest


@lru_cache(maxsize=1)
def has_triton() -> bool:
    """Whether kernels can be compiled here, and the device has the matrix units that they use."""
    torch = needed("torch", extra="torch")
    if importlib.util.find_spec("triton") is None or torch.version.hip is not None:
        return False
    return bool(torch.cuda.get_device_capability() >= (8, 0))
