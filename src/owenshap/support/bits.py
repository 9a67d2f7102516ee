"""Coalitions as bits: player i is bit i."""

import numpy as np

from owenshap.support.arrays import BoolArray, ByteArray, IntArray


def pack(coalitions: BoolArray) -> ByteArray:
    """Coalitions (m, n) as bytes (m, ⌈n/8⌉)."""
    return np.packbits(coalitions, axis=1, bitorder="little")


def unpack(packed: ByteArray, n_players: int) -> BoolArray:
    """The coalitions (m, n) that `pack` made bytes of."""
    return np.unpackbits(packed, axis=1, count=n_players, bitorder="little").view(np.bool_)


def to_codes(coalitions: BoolArray) -> IntArray:
    """Coalitions (m, n ≤ 63) as the integers Σ_i 2^i [i in S]."""
    packed = pack(coalitions)
    padded = np.zeros((len(packed), 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<i8")[:, 0]


def from_codes(codes: IntArray, n_players: int) -> BoolArray:
    """The coalitions (m, n ≤ 63) of these integers."""
    as_bytes = np.ascontiguousarray(codes, "<i8").view(np.uint8).reshape(-1, 8)
    return unpack(as_bytes[:, : (n_players + 7) // 8], n_players)
