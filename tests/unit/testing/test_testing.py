"""The closed forms against the sum over all coalitions."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import owenshap
from owenshap import testing
from owenshap.errors import InputError

few = settings(deadline=None, max_examples=25, derandomize=True)
seeds = st.integers(0, 2**32)
numbers = st.integers(-1000, 1000).map(lambda whole: whole / 100)
PLAYERS = st.integers(1, 9)

GAMES = {
    "additive": testing.additive([1.5, -2.0, 0.0, 3.0]),
    "airport": testing.airport([3.0, 1.0, 1.0, 0.0, 7.5]),
    "constant": testing.constant(3, -2.5),
    "gloves": testing.gloves(2, 4),
    "product": testing.product([1.0, 0.0, -1.0, 2.0], [0.0, 2.0, 1.5, 2.0]),
    "random_unanimity_sum": testing.random_unanimity_sum(7, terms=15, order=5, seed=3),
    "stacked": testing.stacked(testing.gloves(1, 2), testing.airport([1.0, 2.0, 4.0])),
    "unanimity": testing.unanimity(6, [1, 4, 5]),
    "weighted_voting": testing.weighted_voting([4, 3, 0, 2, 2], quota=6),
}


def assert_known(game):
    exact = owenshap.estimate(game, "exact").values
    assert exact.shape == game.shapley_values.shape
    scale = max(1.0, np.abs(exact).max())
    assert np.abs(exact - game.shapley_values).max() <= 1e-12 * scale


@pytest.mark.parametrize("name", GAMES)
def test_closed_form_is_exact(name):
    assert_known(GAMES[name])


def test_every_factory_is_tried():
    factories = {
        name for name in testing.__all__ if name[0].islower() and not name.startswith("check")
    }
    assert factories == set(GAMES)


@pytest.mark.parametrize("name", GAMES)
def test_games_can_be_pickled(name):
    game = GAMES[name]
    coalitions = np.random.default_rng(0).random((50, game.n_players)) < 0.5
    again = pickle.loads(pickle.dumps(game))
    np.testing.assert_array_equal(again.values(coalitions), game.values(coalitions))
    np.testing.assert_array_equal(again.shapley_values, game.shapley_values)


@pytest.mark.parametrize("name", GAMES)
def test_values_do_not_depend_on_the_batch(name):
    game = GAMES[name]
    coalitions = np.random.default_rng(0).random((97, game.n_players)) < 0.5
    one_by_one = np.concatenate([game.values(row[None]) for row in coalitions])
    np.testing.assert_array_equal(game.values(coalitions), one_by_one)


@few
@given(st.lists(numbers, min_size=1, max_size=9))
def test_additive(weights):
    assert_known(testing.additive(weights))


@few
@given(st.lists(numbers.map(abs), min_size=1, max_size=9))
def test_airport(costs):
    assert_known(testing.airport(costs))


@few
@given(PLAYERS.flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1), min_size=1))))
def test_unanimity(arguments):
    assert_known(testing.unanimity(*arguments))


@few
@given(st.lists(st.integers(0, 12), min_size=1, max_size=9), st.integers(1, 60))
def test_weighted_voting(weights, quota):
    assert_known(testing.weighted_voting(weights, quota))


@few
@given(st.integers(0, 5), st.integers(0, 5))
def test_gloves(left, right):
    if left + right:
        assert_known(testing.gloves(left, right))


@few
@given(
    st.lists(
        st.tuples(numbers.map(lambda x: x / 5), numbers.map(lambda x: x / 5)),
        min_size=1,
        max_size=9,
    )
)
def test_product(factors):
    assert_known(testing.product(*zip(*factors, strict=True)))


@few
@given(PLAYERS, st.integers(1, 30), seeds, st.sampled_from([None, 1, 3]))
def test_random_unanimity_sum(n_players, terms, seed, outputs):
    order = 1 + seed % n_players
    game = testing.random_unanimity_sum(n_players, terms, order, seed, outputs)
    assert game.shapley_values.shape == ((n_players,) if outputs is None else (n_players, outputs))
    assert_known(game)


def test_voting_with_many_players_is_exact():
    # Fifty equal votes are symmetric, and a player without a vote or with all of them is known.
    assert testing.weighted_voting([1] * 50, 26).shapley_values == pytest.approx(
        np.full(50, 1 / 50), abs=1e-16
    )
    values = testing.weighted_voting([*range(40), 10_000], 900).shapley_values
    assert values[0] == 0
    assert values[-1] == 1
    values = testing.weighted_voting(range(1, 46), 518).shapley_values
    assert values.sum() == pytest.approx(1, abs=1e-14)
    assert (np.diff(values) >= 0).all()


def test_gloves_with_many_players_are_efficient():
    game = testing.gloves(30, 25)
    assert game.shapley_values.sum() == pytest.approx(25, abs=1e-12)
    assert (game.shapley_values[30:] > game.shapley_values[0]).all()


def test_products_with_many_players_are_efficient():
    rng = np.random.default_rng(0)
    game = testing.product(rng.uniform(0.9, 1.1, 200), rng.uniform(0.9, 1.1, 200))
    empty, grand = game.values([[False] * 200, [True] * 200])
    assert game.shapley_values.sum() == pytest.approx(grand - empty, abs=1e-12)


def test_a_thousand_players():
    game = testing.random_unanimity_sum(1000, terms=800, order=6)
    grand = game.values(np.ones((1, 1000), bool))[0]
    assert game.values(np.zeros((1, 1000), bool))[0] == 0
    assert game.shapley_values.sum() == pytest.approx(grand, abs=1e-10)


def test_seeds_name_games():
    coalitions = np.ones((1, 5), bool)
    first, again, other = (
        testing.random_unanimity_sum(5, seed=seed).values(coalitions) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: testing.additive([]), r"weights must be one-dimensional \(n,\); got shape \(0,\)"),
        (lambda: testing.additive([1.0, np.nan]), "weights must be finite; got nan"),
        (lambda: testing.additive(["a"]), "weights must be numbers"),
        (lambda: testing.airport([-1.0]), "costs must be 0 or more; got -1.0"),
        (lambda: testing.constant(0), "n_players must be at least 1; got 0"),
        (lambda: testing.gloves(0, 0), "n_players must be at least 1; got 0"),
        (
            lambda: testing.product([1.0], [1.0, 2.0]),
            "present must have 1 factors as absent has; got 2",
        ),
        (
            lambda: testing.random_unanimity_sum(3, order=4),
            "order must be at most the number of players, 3; got 4",
        ),
        (
            lambda: testing.stacked(testing.constant(2), testing.constant(3)),
            "games must all have the same number of players",
        ),
        (testing.stacked, "games must all have the same number of players"),
        (lambda: testing.unanimity(3, [3]), r"members must be some of the 3 players; got \[3\]"),
        (lambda: testing.unanimity(3, []), "members must be some of the 3 players"),
        (lambda: testing.weighted_voting([1, 2], 0), "quota must be at least 1; got 0"),
        (lambda: testing.weighted_voting([1.5], 1), "weights must be a whole number; got 1.5"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
