# mypy: ignore-errors
"""The kernel of `device`; imported where triton is known to be there."""

import triton
import triton.language as tl


@triton.jit
def look_ups(
    patterns,  # (cells, rows)
    cell,  # (slots,)
    start,  # (slots,)
    begin,  # (targets + 1,)
    entries,  # (slots × 2^bits,)
    total,  # (targets, rows)
    rows,
    blocks,
    ROWS: tl.constexpr,
):
    """Add what all slots of one target give to a block of rows, slot after slot."""
    target = tl.program_id(0) // blocks
    row = (tl.program_id(0) % blocks) * ROWS + tl.arange(0, ROWS)
    here = row < rows
    place = total + target.to(tl.int64) * rows + row
    sums = tl.load(place, mask=here, other=0.0)
    first = tl.load(begin + target)
    last = tl.load(begin + target + 1)
    for slot in range(first, last):
        of_cell = patterns + tl.load(cell + slot).to(tl.int64) * rows
        pattern = tl.load(of_cell + row, mask=here, other=0).to(tl.int32)
        sums += tl.load(entries + tl.load(start + slot) + pattern)
    tl.store(place, sums, mask=here)
