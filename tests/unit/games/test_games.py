import numpy as np
import pytest
from hypothesis import given
from naive import refuses, same_examples, tables

from owenshap import FunctionGame, Game, TableGame, estimate
from owenshap.support.bits import from_codes

EVERY_PAIR = from_codes(np.arange(4), 2)


def test_a_function_game_hands_the_coalitions_on():
    game = FunctionGame(lambda coalitions: coalitions @ [1.0, 10.0], n_players=2)
    assert game.values(EVERY_PAIR).tolist() == [0, 1, 10, 11]


def test_a_function_may_return_a_list():
    game = FunctionGame(lambda coalitions: [float(row.sum()) for row in coalitions], n_players=2)
    assert estimate(game, "exact").values.tolist() == [1, 1]


@same_examples
@given(tables())
def test_a_table_is_read_by_the_bits_of_the_index(table):
    game = TableGame(table)
    for code, value in enumerate(table):
        coalition = np.array([[bool(code >> player & 1) for player in range(game.n_players)]])
        assert game.values(coalition) == value


def test_a_table_with_outputs_has_rows():
    game = TableGame([[0, 1], [2, 3], [4, 5], [6, 7]])
    assert game.n_players == 2
    assert game.values(EVERY_PAIR).shape == (4, 2)


def test_a_table_is_a_copy_that_nobody_changes():
    table = np.arange(4.0)
    game = TableGame(table)
    table[:] = 7
    assert game.values(EVERY_PAIR).tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        game.table[0] = 1


def test_both_are_games_and_a_function_is_none():
    assert isinstance(TableGame([0, 1]), Game)
    assert isinstance(FunctionGame(len, 3), Game)
    assert not isinstance(len, Game)


@pytest.mark.parametrize("n_players", [0, -3, 2.5, True, "4", None])
def test_the_number_of_players_is_whole_and_positive(n_players):
    with refuses("n_players", repr(n_players)):
        FunctionGame(len, n_players)


def test_a_number_of_numpy_is_a_number():
    assert FunctionGame(len, np.int64(4)).n_players == 4
    assert type(FunctionGame(len, np.int64(4)).n_players) is int


def test_fn_is_a_function():
    with refuses("fn", "TableGame"):
        FunctionGame([0, 1, 2, 3], 2)


@pytest.mark.parametrize(
    "table",
    [[], [1.0], [1.0, 2.0, 3.0], np.zeros((6, 2)), np.zeros((4, 0)), np.zeros((2, 2, 2)), 5.0],
)
def test_a_table_has_a_power_of_two_of_rows(table):
    with refuses("values", "2**n"):
        TableGame(table)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, None])
def test_a_table_is_finite_and_the_error_says_where(bad):
    with refuses("values", "finite", "index 2"):
        TableGame([0, 1, bad, 3])


@pytest.mark.parametrize(
    "table", ["abcd", ["a", "b"], [[1, 2], [3]], [1j, 2j], np.array([1j, 2j]), [{}, {}]]
)
def test_a_table_is_of_real_numbers(table):
    with refuses("values", "numbers"):
        TableGame(table)


def test_the_error_about_a_long_table_is_short():
    with refuses("values") as caught:
        TableGame([[1.0]] * 5000 + [[1.0, 2.0]])
    assert len(str(caught.value)) < 1000
