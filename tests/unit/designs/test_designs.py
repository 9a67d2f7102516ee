import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import Watched, random_table, refuses, same_examples

from owenshap import Castro, HalvedOwen, Owen, estimate
from owenshap.designs.design import Chains, Sets, Stars, Subsets
from owenshap.run.evaluate import Evaluator, evaluate_ends


@st.composite
def stars(draw):
    replicates, per_replicate, n_players = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 5)),
        draw(st.integers(1, 7)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    share = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))  # 0 and 1: stars of the end coalitions
    return Stars(
        rng.random((replicates, per_replicate, n_players)) < share, rng.normal(size=per_replicate)
    )


@st.composite
def chains(draw):
    replicates, per_replicate, n_players = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 3)),
        draw(st.integers(1, 7)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return Chains(
        rng.permuted(np.tile(np.arange(n_players), (replicates, per_replicate, 1)), axis=-1)
    )


def listed(design):
    """The design's coalitions as frozen sets, by position."""
    return [
        frozenset(np.flatnonzero(row).tolist()) for row in design.coalitions(np.arange(len(design)))
    ]


def stars_by_hand(design):
    flat = [
        frozenset(np.flatnonzero(row).tolist())
        for row in design.centres.reshape(-1, design.n_players)
    ]
    return [
        coalition
        for centre in flat
        for coalition in [centre, *(centre ^ {j} for j in range(design.n_players))]
    ]


def chains_by_hand(design):
    coalitions = []
    for ranks in design.ranks.reshape(-1, design.n_players).tolist():
        order = sorted(range(design.n_players), key=ranks.__getitem__)
        coalitions += [frozenset(order[:size]) for size in range(design.n_players + 1)]
    return coalitions


@same_examples
@given(stars())
def test_stars_are_a_centre_and_its_neighbours(design):
    by_hand = stars_by_hand(design)
    assert listed(design) == by_hand
    assert len(design) == len(by_hand)
    assert design.sizes().tolist() == [len(each) for each in by_hand]


@same_examples
@given(chains())
def test_chains_grow_by_one_player_from_empty_to_grand(design):
    by_hand = chains_by_hand(design)
    assert listed(design) == by_hand
    assert len(design) == len(by_hand)
    assert design.sizes().tolist() == [len(each) for each in by_hand]


@same_examples
@given(st.integers(1, 9))
def test_subsets_are_all_of_them_once(n_players):
    design = Subsets.all_of(n_players)
    by_hand = [
        frozenset(j for j in range(n_players) if code >> j & 1) for code in range(1 << n_players)
    ]
    assert listed(design) == by_hand
    assert design.sizes().tolist() == [len(each) for each in by_hand]


@same_examples
@given(st.integers(1, 70), st.integers(0, 6), st.integers(0, 10**6))
def test_sets_are_what_was_given(n_players, count, seed):
    given_coalitions = np.random.default_rng(seed).random((count, n_players)) < 0.5
    design = Sets.of(given_coalitions)
    assert len(design) == count
    assert design.n_players == n_players
    assert (design.coalitions(np.arange(count)) == given_coalitions).all()
    assert design.sizes().tolist() == given_coalitions.sum(axis=1).tolist()


@same_examples
@given(st.one_of(stars(), chains(), st.integers(1, 6).map(Subsets.all_of)), st.data())
def test_coalitions_come_in_the_order_asked_and_are_the_callers(design, data):
    index = np.array(data.draw(st.lists(st.integers(0, len(design) - 1), min_size=1, max_size=9)))
    everything = design.coalitions(np.arange(len(design)))
    asked = design.coalitions(index)
    assert (asked == everything[index]).all()
    asked ^= True
    assert (design.coalitions(np.arange(len(design))) == everything).all()


@same_examples
@given(stars(), st.integers(1, 200))
def test_stars_cut_into_parts_are_the_whole(design, about):
    values = np.random.default_rng(1).normal(size=(len(design), 2))
    by_star = values.reshape(*design.centres.shape[:2], design.n_players + 1, 2)
    parts = list(design.parts(about))
    assert (np.concatenate([part.centres for part in parts], axis=1) == design.centres).all()
    assert (np.concatenate([part.weights for part in parts]) == design.weights).all()
    assert all(
        len(part) <= max(about, len(design.centres) * (design.n_players + 1)) for part in parts
    )
    summed, start = 0, 0
    for part in parts:
        stop = start + part.centres.shape[1]
        summed = summed + part.weighted_contributions(by_star[:, start:stop].reshape(-1, 2))
        start = stop
    np.testing.assert_allclose(summed, design.weighted_contributions(values), rtol=0, atol=1e-12)


@same_examples
@given(st.integers(1, 8), st.integers(1, 300))
def test_subsets_cut_into_parts_are_the_whole(n_players, about):
    parts = list(Subsets.all_of(n_players).parts(about))
    assert [each for part in parts for each in listed(part)] == listed(Subsets.all_of(n_players))
    assert all(len(part) <= about for part in parts)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("estimator", [Castro(antithetic=True), HalvedOwen(levels=4)])
def test_some_replicates_and_the_others_joined_are_all(estimator, drawn):
    design = estimator.draw(5, np.random.default_rng(0), 7)
    if drawn:
        design = design.over(np.random.default_rng(1).integers(0, 9, (*design.units, 2)))
    first, second = design.some(0, 3), design.some(3, 7)
    assert listed(first) + listed(second) == listed(design) == listed(first.joined([second]))
    every = np.arange(len(second))
    expected, found = (
        each.background_of(at) for each, at in ((design, every + len(first)), (second, every))
    )
    np.testing.assert_array_equal(found, expected)


def test_a_list_of_coalitions_has_no_replicates_to_take():
    with pytest.raises(TypeError, match="no replicates"):
        Sets.of([[True, False]]).some(0, 1)


@same_examples
@given(chains(), st.integers(1, 50))
def test_what_is_not_cut_is_one_part(design, about):
    assert list(design.parts(about)) == [design]


@same_examples
@given(stars())
def test_weighted_contributions_of_stars(design):
    table = np.random.default_rng(2).normal(size=(1 << design.n_players, 2))
    values = np.array([table[sum(1 << j for j in each)] for each in stars_by_hand(design)])
    by_hand = np.zeros((len(design.centres), design.n_players, 2))
    for r, centres in enumerate(design.centres):
        for centre, weight in zip(centres, design.weights, strict=True):
            code = sum(1 << j for j in np.flatnonzero(centre).tolist())
            for j in range(design.n_players):
                by_hand[r, j] += weight * (table[code | 1 << j] - table[code & ~(1 << j)])
    np.testing.assert_allclose(design.weighted_contributions(values), by_hand, rtol=0, atol=1e-12)


@same_examples
@given(chains())
def test_contributions_of_chains(design):
    table = np.random.default_rng(3).normal(size=(1 << design.n_players, 2))
    values = np.array([table[sum(1 << j for j in each)] for each in chains_by_hand(design)])
    contributions = design.contributions(values)
    for r, c in np.ndindex(design.ranks.shape[:2]):
        code = 0
        for j in sorted(range(design.n_players), key=design.ranks[r, c].tolist().__getitem__):
            np.testing.assert_array_equal(
                contributions[r, c, j], table[code | 1 << j] - table[code]
            )
            code |= 1 << j


@same_examples
@given(st.one_of(stars(), chains(), st.integers(1, 6).map(Subsets.all_of)))
def test_the_game_sees_every_inner_coalition_of_a_design_and_no_end(design):
    game = Watched(random_table(design.n_players))
    ends = evaluate_ends(game)
    game.asked.clear()
    values, evaluations = Evaluator(game, ends, 7).evaluate(design)
    inner = [each for each in listed(design) if 0 < len(each) < design.n_players]
    seen = (
        [frozenset(np.flatnonzero(row).tolist()) for row in game.coalitions] if game.asked else []
    )
    assert seen == inner
    assert evaluations == len(inner)
    expected = game.game.values(design.coalitions(np.arange(len(design))))
    assert (values[:, 0] == expected).all()


@pytest.mark.parametrize("antithetic", [False, True])
@pytest.mark.parametrize("n_players", [1, 2, 5, 9])
def test_r_chains_cost_two_and_r_times_n_minus_1(n_players, antithetic):
    game = Watched(random_table(n_players))
    estimator = Castro(antithetic=antithetic)
    result = estimate(game, estimator, budget=777)
    r = result.replicates * (1 + antithetic)
    assert result.evaluations == game.evaluations == 2 + r * (n_players - 1)
    exact = n_players <= 1 + antithetic  # one replicate is all it takes
    assert r == 1 + antithetic if exact else r > 80


@pytest.mark.parametrize("estimator", [Owen(levels=5), HalvedOwen(levels=5, per_level=2)])
def test_a_star_costs_n_plus_1_less_the_ends_in_it(estimator):
    n_players = 6
    for seed in range(20):
        design = estimator.draw(n_players, np.random.default_rng(seed), replicates=3)
        game = random_table(n_players)
        _, evaluations = Evaluator(game, evaluate_ends(game), 100).evaluate(design)
        sizes = np.count_nonzero(design.centres, axis=-1)
        # The stars of the end coalitions hold that end, the stars of their neighbours too; all
        # others hold none.
        assert (
            evaluations
            == sizes.size * (n_players + 1) - np.isin(sizes, [0, 1, n_players - 1, n_players]).sum()
        )


def test_between_one_and_two_players_a_star_can_hold_both_ends():
    game = random_table(1)
    design = Stars(np.array([[[True]]]), np.ones(1))
    assert Evaluator(game, evaluate_ends(game), 100).evaluate(design)[1] == 0


@pytest.mark.parametrize(
    "coalitions",
    [
        [[0, 1], [1, 0]],
        [[0.5, 1.0]],
        [["a", "b"]],
        [[None, True]],
        [[True, 2]],
    ],
)
def test_coalitions_are_boolean(coalitions):
    with refuses("coalitions", "boolean", "dtype"):
        Sets.of(coalitions)


@pytest.mark.parametrize(
    "coalitions", [[], True, [True, False], np.zeros((2, 0), bool), np.zeros((2, 2, 2), bool)]
)
def test_coalitions_are_a_table(coalitions):
    with refuses("coalitions", "two-dimensional", "shape"):
        Sets.of(coalitions)


def test_ragged_coalitions_are_named():
    with refuses("coalitions", "different lengths"):
        Sets.of([[True], [True, False]])
