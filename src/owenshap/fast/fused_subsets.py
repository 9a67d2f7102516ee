"""One Triton kernel for all coalitions of a small perceptron: from columns to Shapley values, h
stays in registers.

The plain way takes h of every coalition through memory and a launch for every player and step.
Needs CUDA and triton.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import Any

from owenshap.designs.design import size_weights
from owenshap.fast.fused_stars import ACTIVATIONS, MOST_OUTPUTS, PLAYERS_AT_ONCE, has_triton
from owenshap.fast.linear_first import Arrays, LinearFirst, Step
from owenshap.fast.torch_linear import TorchArrays
from owenshap.support.extras import needed

PROGRAMS = 1 << 12  # that fill a device some times over
FEW_OUTPUTS = MOST_OUTPUTS // 2  # that a program keeps in registers beside its players
NOTHING = len(ACTIVATIONS)  # the number of none of them


def fits(linear: LinearFirst, n_players: int) -> bool:
    """Whether the kernel can do this model's steps for so many players here."""
    if not isinstance(linear.arrays, TorchArrays) or 1 << n_players < PLAYERS_AT_ONCE:
        return False
    weights = linear.weights
    layers = _layers(linear)
    if layers is None or not weights.is_cuda or weights.element_size() != 4 or not has_triton():
        return False
    outputs = layers[0][-1].weights.shape[0] if layers[0] else linear.width
    return linear.widest <= MOST_OUTPUTS and outputs <= FEW_OUTPUTS


def shapley(linear: LinearFirst, columns: Any, empty: Any, chosen: Any) -> Any:
    """Shapley values (k, pairs, n) in float64 from columns (width, pairs, n) and h(∅) (width,
    pairs).

    `chosen` is the one output of each pair that is wanted; None: all.
    """
    # in a module of its own because triton reads the file it is in
    from owenshap.fast import subset_kernel

    torch = needed("torch", extra="torch")
    triton = needed("triton", extra="torch")
    layers_and_kinds = _layers(linear)
    assert layers_and_kinds is not None
    layers, kinds = layers_and_kinds
    width, pairs, n_players = columns.shape
    players = _padded(n_players)
    widths = [width, *(layer.weights.shape[0] for layer in layers)]
    parts = [part.flatten() for layer in layers for part in (layer.weights, _bias(layer))]
    outputs = widths[-1]
    starts = list(accumulate((part.numel() for part in parts), initial=0))
    blocks = (1 << n_players) // PLAYERS_AT_ONCE
    programs = min(blocks, triton.next_power_of_2(triton.cdiv(PROGRAMS, pairs)))
    padded = triton.next_power_of_2(outputs) if chosen is None else 1
    made = torch.empty(
        (pairs, programs, padded, players), dtype=torch.float64, device=columns.device
    )
    subset_kernel.subsets[(pairs, programs)](
        columns.contiguous(),
        empty.contiguous(),
        torch.cat(parts) if parts else empty,
        *_shares(linear.arrays, n_players),
        made if chosen is None else chosen.remainder(outputs),
        made,
        pairs,
        n_players,
        blocks // programs,
        WIDTHS=tuple(widths),
        STARTS=tuple(starts[:-1:2]),
        KINDS=tuple(ACTIVATIONS.get(kind, NOTHING) for kind in kinds),
        LAYERS=len(layers),
        WIDTH=_padded(max(widths)),
        SOFTMAX=kinds[-1] == "softmax",
        CHOSEN=chosen is not None,
        OUTPUTS=outputs,
        OUTPUTS_PADDED=padded,
        PLAYERS=players,
        COALITIONS=PLAYERS_AT_ONCE,
    )
    return made.sum(1)[:, : outputs if chosen is None else 1, :n_players].swapaxes(0, 1)


def _layers(linear: LinearFirst) -> tuple[list[Step], list[str]] | None:
    """The linear layers after the first, and what is applied before each and after the last; None
    where it is more.
    """
    layers: list[Step] = []
    kinds = []
    activation = "identity"
    for step in linear.steps:
        if step.kind == "affine":
            layers.append(step)
            kinds.append(activation)
            activation = "identity"
        elif activation == "identity" and step.kind in (*ACTIVATIONS, "softmax"):
            activation = step.kind
        else:
            return None
    return (layers, [*kinds, activation]) if "softmax" not in kinds else None


def _bias(layer: Step) -> Any:
    return layer.weights.new_zeros(len(layer.weights)) if layer.bias is None else layer.bias


def _padded(count: int) -> int:
    """To a power of two that the matrix units take."""
    return max(16, 1 << (count - 1).bit_length())


@lru_cache(maxsize=32)
def _shares(arrays: Arrays, n_players: int) -> tuple[Any, Any]:
    """The weights of a coalition by its size: for its members and for the others."""
    members, others = size_weights(n_players)
    return arrays.put(members, exact=True), arrays.put(others, exact=True)
