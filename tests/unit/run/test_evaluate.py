import numpy as np
import pytest
from naive import Watched, random_table, refuses, smooth

from owenshap import FunctionGame, GameError, estimate
from owenshap.designs.design import Sets, Subsets
from owenshap.run.evaluate import Evaluator, describe, evaluate_ends
from owenshap.run.task import Settings
from owenshap.support.checks import parse_bytes


def answering(answer, n_players=4, after=0):
    """A game that answers 0 for a number of calls, then what `answer` makes of the coalitions."""
    calls = []

    def fn(coalitions):
        calls.append(len(coalitions))
        return answer(coalitions) if len(calls) > after else np.zeros(len(coalitions))

    return FunctionGame(fn, n_players)


BAD_ROWS = {
    "too few": lambda coalitions: np.zeros(len(coalitions) - 1),
    "too many": lambda coalitions: np.zeros(len(coalitions) + 1),
    "one for all": lambda coalitions: 1.0,
    "none": lambda coalitions: [],
    "no outputs": lambda coalitions: np.zeros((len(coalitions), 0)),
    "turned": lambda coalitions: np.zeros((3, len(coalitions))),
    "too deep": lambda coalitions: np.zeros((len(coalitions), 2, 2)),
}
NO_NUMBERS = {
    "strings": lambda coalitions: ["a"] * len(coalitions),
    "numbers in strings": lambda coalitions: ["1"] * len(coalitions),
    "objects": lambda coalitions: [object()] * len(coalitions),
    "nothing": lambda coalitions: None,
    "dictionaries": lambda coalitions: [{}] * len(coalitions),
    "complex numbers": lambda coalitions: np.ones(len(coalitions)) * 1j,
    "dates": lambda coalitions: np.zeros(len(coalitions), "datetime64[s]"),
}


@pytest.mark.parametrize("after", [0, 1], ids=["at once", "midway"])
@pytest.mark.parametrize("answer", BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_game_returns_a_row_for_each_coalition(answer, after):
    with refuses("the game's values", "one row for each of the", "shape", error=GameError):
        estimate(answering(answer, after=after), "castro", budget=300)


@pytest.mark.parametrize("after", [0, 1], ids=["at once", "midway"])
@pytest.mark.parametrize("answer", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_a_game_returns_real_numbers(answer, after):
    with refuses("the game's values", "real numbers", "dtype", error=GameError):
        estimate(answering(answer, after=after), "castro", budget=300)


def test_rows_of_different_lengths_are_the_games_fault():
    with refuses("the game", "ValueError", error=GameError):
        estimate(answering(lambda coalitions: [[1.0], [1.0, 2.0]]), "castro", budget=300)


@pytest.mark.parametrize(
    "dtype", [bool, np.int8, np.uint32, np.float16, np.float32, np.float64, np.longdouble]
)
def test_every_real_dtype_will_do(dtype):
    game = FunctionGame(lambda coalitions: coalitions[:, 0].astype(dtype), 3)
    result = estimate(game, "exact")
    assert result.values.dtype == np.float64
    np.testing.assert_allclose(result.values, [1, 0, 0], atol=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("method", ["exact", "castro", "owen", "halved-owen"])
def test_a_value_that_is_not_finite_is_named_with_its_coalition(bad, method):
    def fn(coalitions):
        values = np.ones((len(coalitions), 2))
        values[(coalitions == [False, True, False, True, False]).all(axis=1), 1] = bad
        return values

    with refuses(
        "the game's values", "finite", str(bad), "output 1", "{1, 3} of 5 players", error=GameError
    ):
        estimate(FunctionGame(fn, 5), method, budget=3000)


@pytest.mark.parametrize("method", ["castro", "halved-owen", "gaussian-process-corrected"])
def test_values_too_large_for_their_powers_are_named(method):
    game = FunctionGame(lambda coalitions: 1e80 * np.sin(coalitions @ np.arange(1.0, 9.0)), 8)
    with refuses("the game's values", "2e+72 at most", "e+7", "Divide all values", error=GameError):
        estimate(game, method, budget=400)


@pytest.mark.parametrize(("end", "name"), [(0, "the empty coalition"), (3, "the grand coalition")])
def test_an_end_that_is_not_finite_is_named(end, name):
    def fn(coalitions):
        return np.where(coalitions.sum(axis=1) == end, np.nan, 1.0)

    with refuses("the game's values", "nan", f"{name} of 3 players", error=GameError):
        estimate(FunctionGame(fn, 3), "castro", budget=100)


CHANGES = {
    "two outputs for one": (np.zeros, lambda m: np.zeros((m, 2))),
    "a column for a list": (np.zeros, lambda m: np.zeros((m, 1))),
    "a list for a column": (lambda m: np.zeros((m, 1)), np.zeros),
    "three outputs for two": (lambda m: np.zeros((m, 2)), lambda m: np.zeros((m, 3))),
}


@pytest.mark.parametrize(("first", "then"), CHANGES.values(), ids=CHANGES)
def test_a_game_keeps_its_outputs(first, then):
    game = FunctionGame(
        lambda coalitions: (first if len(coalitions) == 2 else then)(len(coalitions)), 6
    )
    with refuses("the game's values", "as in the first call", "shape", error=GameError):
        estimate(game, "castro", budget=300)


def test_a_game_that_raises_is_quoted_with_what_it_was_asked():
    def fn(coalitions):
        if len(coalitions) > 2:
            raise ZeroDivisionError("no such row")
        return np.zeros(len(coalitions))

    with refuses(
        "the game", "ZeroDivisionError(no such row)", "coalitions, the first {", error=GameError
    ) as caught:
        estimate(FunctionGame(fn, 5), "castro", budget=300)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_game_that_asks_for_an_end_of_the_program_gets_it():
    def fn(coalitions):
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        estimate(FunctionGame(fn, 5), "castro", budget=300)


def test_the_ends_are_evaluated_together_and_kept():
    game = Watched(random_table(4, outputs=2))
    ends = evaluate_ends(game)
    assert game.evaluations == 2
    assert (ends.empty == game.game.table[0]).all()
    assert (ends.grand == game.game.table[-1]).all()
    assert (ends.outputs, ends.scalar) == (2, False)
    assert evaluate_ends(random_table(4)).scalar


@pytest.mark.parametrize("rows", [1, 3, 14, 1000])
def test_the_number_of_rows_in_a_call_changes_nothing(rows):
    game = Watched(random_table(4))
    ends = evaluate_ends(game)
    game.asked.clear()
    values, evaluations = Evaluator(game, ends, rows).evaluate(Subsets.all_of(4))
    assert (values[:, 0] == game.game.table).all()
    assert evaluations == game.evaluations == 14
    assert max(map(len, game.asked)) == min(rows, 14)


def test_a_design_of_ends_asks_nothing():
    game = Watched(random_table(3))
    ends = evaluate_ends(game)
    game.asked.clear()
    design = Sets.of([[True] * 3, [False] * 3, [True] * 3])
    values, evaluations = Evaluator(game, ends, 10).evaluate(design)
    assert evaluations == game.evaluations == 0
    assert values[:, 0].tolist() == game.game.table[[7, 0, 7]].tolist()


def test_a_game_may_answer_in_an_array_that_it_uses_again():
    inner, answers = smooth(6), np.empty(100_000)

    def fn(coalitions):
        answers[: len(coalitions)] = inner.values(coalitions)
        return answers[: len(coalitions)]

    again, fresh = (
        estimate(FunctionGame(fn, 6), "castro", budget=5000),
        estimate(inner, "castro", budget=5000),
    )
    assert (again.values == fresh.values).all()
    assert (again.empty_value, again.grand_value) == (fresh.empty_value, fresh.grand_value)


def test_a_game_may_spoil_what_it_was_asked():
    inner = smooth(6)

    def fn(coalitions):
        values = inner.values(coalitions)
        coalitions[:] = True
        return values

    assert (
        estimate(FunctionGame(fn, 6), "castro", budget=500).values
        == estimate(inner, "castro", budget=500).values
    ).all()


@pytest.mark.parametrize(
    ("memory", "count"),
    [
        ("256MB", 256_000_000),
        ("1GB", 10**9),
        ("2 KiB", 2048),
        ("1.5kb", 1500),
        ("64MiB", 64 * 2**20),
        ("7B", 7),
        ("300", 300),
        (300, 300),
    ],
)
def test_memory_in_words(memory, count):
    assert parse_bytes(memory) == count


@pytest.mark.parametrize("memory", ["12XB", "", "MB", "-3MB", "1e9", -1, None, True, "256 M B"])
def test_memory_in_other_words(memory):
    with refuses("memory", "number of bytes", "GiB"):
        parse_bytes(memory)
    with refuses("memory"):
        estimate(smooth(), "castro", budget=300, memory=memory)


@pytest.mark.parametrize("memory", ["1B", 0, "0.1KB"])
def test_too_little_memory_says_how_much_it_takes(memory):
    with refuses("memory", "one coalition of 8 players", "136 bytes"):
        estimate(smooth(8), "castro", budget=300, memory=memory)


def test_memory_bounds_the_rows_of_a_call():
    game = Watched(smooth(10))
    estimate(game, "castro", budget=3000, memory=17 * 10 * 25)
    assert max(map(len, game.asked)) == 25
    assert Settings(0, 0.95).coalitions_at_once(10) * 10 <= 1 << 20


def test_coalitions_in_words():
    assert describe(np.array([True, False, True])) == "{0, 2} of 3 players"
    assert describe(np.zeros(3, bool)) == "the empty coalition of 3 players"
    assert describe(np.ones(3, bool)) == "the grand coalition of 3 players"
    most = np.ones(100, bool)
    most[[3, 50]] = False
    assert describe(most) == "all 100 players but {3, 50}"
