"""One Triton kernel for stars of a perceptron with two hidden layers: from the centres' h to outputs in one go.

The plain way takes h of every neighbour through memory five times; here it stays in registers. Needs CUDA and triton.
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from typing import Any

from owenshap.extras import needed
from owenshap.models.linear_first import LinearFirst

PLAYERS_AT_ONCE, WIDTH_AT_ONCE, WARPS = 64, 32, 4
MOST_MIDDLE, MOST_OUTPUTS = 64, 32
FEWEST_NUMBERS = 1 << 24  # of h in a call: below, the plain way is done before a kernel is compiled or looked up
ACTIVATIONS = {"sigmoid": 0, "tanh": 1, "relu": 2}


def fits(linear: LinearFirst) -> bool:
    """Whether the kernel can do this model's steps here."""
    kinds = [step.kind for step in linear.steps]
    shape = len(kinds) in (4, 5) and kinds[0] in ACTIVATIONS and kinds[2] in ACTIVATIONS and kinds[1] == kinds[3] == "affine"
    if not shape or kinds[4:] not in ([], ["softmax"]):
        return False
    middle, last = linear.steps[1].weights, linear.steps[3].weights
    small = len(middle) <= MOST_MIDDLE and len(last) <= MOST_OUTPUTS
    return small and middle.is_cuda and middle.element_size() == 4 and importlib.util.find_spec("triton") is not None


def outputs(linear: LinearFirst, centres: Any, columns: Any, signs: Any, chosen: Any) -> Any:
    """Outputs (k, pairs, n + 1, stars) of stars: centres h (width, pairs, stars), columns (width, pairs, n), signs (n, stars).

    `chosen` (pairs,) names the output of each pair, which is then the only one; None gives all.
    """
    torch = needed("torch", extra="torch")
    kinds = [step.kind for step in linear.steps]
    middle, last = linear.steps[1], linear.steps[3]
    (width, pairs, n_players), stars = columns.shape, signs.shape[1]
    count = len(last.weights) if chosen is None else 1
    made = torch.empty((count, pairs, stars, n_players + 1), dtype=torch.float32, device=columns.device)
    zeros = torch.zeros(max(len(middle.weights), len(last.weights)), device=columns.device)
    triton = needed("triton", extra="torch")
    grid = (triton.cdiv(n_players + 1, PLAYERS_AT_ONCE), stars, pairs)
    _kernel()[grid](
        centres.permute(1, 2, 0).contiguous(),
        columns.contiguous(),
        signs.contiguous(),
        middle.weights.contiguous(),
        zeros if middle.bias is None else middle.bias,
        last.weights.contiguous(),
        zeros if last.bias is None else last.bias,
        zeros if chosen is None else chosen.remainder(len(last.weights)),
        made,
        pairs,
        n_players,
        stars,
        WIDTH=width,
        MIDDLE=len(middle.weights),
        MIDDLE_PADDED=max(16, triton.next_power_of_2(len(middle.weights))),
        OUTPUTS=len(last.weights),
        OUTPUTS_PADDED=max(16, triton.next_power_of_2(len(last.weights))),
        FIRST=ACTIVATIONS[kinds[0]],
        SECOND=ACTIVATIONS[kinds[2]],
        SOFTMAX=len(kinds) == 5,
        CHOSEN=chosen is not None,
        PLAYERS=PLAYERS_AT_ONCE,
        STEP=WIDTH_AT_ONCE,
        num_warps=WARPS,
    )
    return made.swapaxes(2, 3)


@lru_cache(maxsize=1)
def _kernel() -> Any:
    """The kernel, compiled when it is first called; in a module of its own because triton reads the file it is in."""
    from owenshap.models import _star_kernel

    return _star_kernel.stars
