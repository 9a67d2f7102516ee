import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from naive import same_examples

from owenshap.support.bits import from_codes, pack, to_codes, unpack


def coalitions(most_players):
    shapes = st.tuples(st.integers(0, 6), st.integers(1, most_players))
    return shapes.flatmap(lambda shape: hnp.arrays(np.bool_, shape))


@same_examples
@given(coalitions(70))
def test_unpack_undoes_pack(given_coalitions):
    packed = pack(given_coalitions)
    assert packed.shape == (len(given_coalitions), -(-given_coalitions.shape[1] // 8))
    unpacked = unpack(packed, given_coalitions.shape[1])
    assert unpacked.dtype == np.bool_
    assert (unpacked == given_coalitions).all()


@same_examples
@given(coalitions(63))
def test_bit_i_of_a_code_is_player_i(given_coalitions):
    codes = to_codes(given_coalitions)
    assert codes.tolist() == [
        sum(1 << player for player in np.flatnonzero(row).tolist()) for row in given_coalitions
    ]
    assert (from_codes(codes, given_coalitions.shape[1]) == given_coalitions).all()


@pytest.mark.parametrize("n_players", [1, 7, 8, 9, 16, 17, 63])
def test_the_ends_of_every_width(n_players):
    ends = np.array([[False] * n_players, [True] * n_players])
    assert to_codes(ends).tolist() == [0, (1 << n_players) - 1]
