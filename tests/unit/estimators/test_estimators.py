import dataclasses
import inspect
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import (
    members,
    random_table,
    refuses,
    same_examples,
    shapley_by_permutations,
    shapley_by_subsets,
    tables,
)

from owenshap import (
    Castro,
    Exact,
    FunctionGame,
    HalvedOwen,
    HalvedOwenPrinted,
    Owen,
    OwenPrinted,
    TableGame,
    estimate,
)
from owenshap.designs.design import Chains, Stars
from owenshap.designs.levels import Levels, gauss_legendre, stratified
from owenshap.estimators import AXIOMS, Estimator, by_name

EVERY = [
    Exact(),
    Castro(),
    Castro(antithetic=True),
    Owen(levels=3),
    Owen(levels=4, per_level=2, rule="gauss-legendre"),
    Owen(levels=4, rule="midpoint"),
    HalvedOwen(levels=3),
    HalvedOwen(levels=4, rule="gauss-legendre"),
    HalvedOwen(levels=4, per_level=2, rule="grid"),
    OwenPrinted(levels=4),
    OwenPrinted(levels=3, divisor="paper"),
    HalvedOwenPrinted(levels=4),
    HalvedOwenPrinted(levels=4, divisor="paper"),
    HalvedOwenPrinted(levels=3),
]
every = pytest.mark.parametrize("estimator", EVERY, ids=repr)
BUDGET = 700


def values(table, estimator, **settings):
    return estimate(TableGame(table), estimator, budget=BUDGET, **settings).values


# --- exact
#
#
# -----------------------------------------------------------------------------------------------------------


@same_examples
@given(tables(most_players=5))
def test_exact_values_are_the_mean_over_all_orders(table):
    np.testing.assert_allclose(
        values(table, "exact"), shapley_by_permutations(table), rtol=0, atol=1e-11
    )


@same_examples
@given(tables(most_players=7))
def test_exact_values_are_shapleys_formula(table):
    np.testing.assert_allclose(
        values(table, "exact"), shapley_by_subsets(table), rtol=0, atol=1e-11
    )


def test_exact_values_cut_into_parts_are_shapleys_formula():
    # 2^14 coalitions are two parts.
    game = random_table(14)
    by_hand = shapley_by_subsets(game.table)
    np.testing.assert_allclose(estimate(game, "exact").values, by_hand, rtol=0, atol=1e-12)


def test_exact_values_of_many_outputs_are_those_of_each():
    game = random_table(6, outputs=3)
    together = estimate(game, "exact").values
    assert together.shape == (6, 3)
    for output in range(3):
        np.testing.assert_allclose(
            together[:, output], shapley_by_subsets(game.table[:, output]), rtol=0, atol=1e-12
        )


def test_exact_values_of_20_players_are_streamed():
    weights = np.arange(20.0)
    game = FunctionGame(lambda coalitions: coalitions @ weights, 20)
    tracemalloc.start()
    result = estimate(game, "exact")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.evaluations == 1 << 20
    np.testing.assert_allclose(result.values, weights, rtol=0, atol=1e-9)
    # 256 MB are allowed; all coalitions at once would take 21 MB as booleans, 168 MB as floats
    assert peak < 16e6


@same_examples
@given(tables())
def test_exact_values_are_efficient(table):
    assert values(table, "exact").sum() == pytest.approx(table[-1] - table[0], abs=1e-10)


@same_examples
@given(tables(players=5), st.permutations(range(5)))
def test_exact_values_follow_the_players_when_they_change_names(table, order):
    codes = [sum(1 << order[player] for player in members(code)) for code in range(32)]
    np.testing.assert_allclose(
        values(table[codes], "exact"), values(table, "exact")[order], rtol=0, atol=1e-10
    )


@same_examples
@given(tables(players=5), st.integers(0, 4), st.integers(0, 4))
def test_exact_values_of_twins_are_the_same(table, one, other):
    swapped = [
        code & ~(1 << one) & ~(1 << other) | (code >> one & 1) << other | (code >> other & 1) << one
        for code in range(32)
    ]
    found_values = values(table + table[swapped], "exact")
    assert found_values[one] == pytest.approx(found_values[other], abs=1e-10)


# --- every estimator
# --------------------------------------------------------------------------------------------------


@every
@same_examples
@given(tables(players=4), tables(players=4), st.integers(-3, 3), st.integers(-3, 3))
def test_estimates_are_linear_in_the_game(estimator, first, second, a, b):
    # as they are: what spreads a gap depends on the game
    of_sum = values(a * first + b * second, estimator, efficient=False)
    one = values(first, estimator, efficient=False)
    other = values(second, estimator, efficient=False)
    np.testing.assert_allclose(of_sum, a * one + b * other, rtol=0, atol=1e-9)


@every
@same_examples
@given(tables(players=4), st.integers(0, 3))
def test_a_null_player_gets_nothing(estimator, table, null):
    without = table[[code & ~(1 << null) for code in range(16)]]
    result = values(without, estimator)
    assert abs(result[null]) < (1e-11 if estimator == Exact() else 1e-300)


@every
@same_examples
@given(tables(players=4))
def test_efficiency_holds_where_it_is_declared(estimator, table):
    if "efficiency" in estimator.axioms:
        assert values(table, estimator).sum() == pytest.approx(table[-1] - table[0], abs=1e-9)


@every
@pytest.mark.parametrize("n_players", [1, 2, 3, 6])
def test_every_replicate_is_exact_to_its_order(estimator, n_players):
    rng = np.random.default_rng(n_players)
    order = estimator.exact_order(n_players)
    table = np.zeros(1 << n_players)
    for group in range(1 << n_players):
        if group.bit_count() <= order:
            table[[code & group == group for code in range(1 << n_players)]] += rng.normal()
    result = values(table, estimator)
    if order:
        np.testing.assert_allclose(result, shapley_by_subsets(table), rtol=0, atol=1e-12)
        assert (
            np.abs(estimate(TableGame(table), estimator, budget=BUDGET).moments.squares).max()
            < 1e-20
        )


@every
def test_no_estimator_is_exact_beyond_its_order(estimator):
    n_players, order = 6, estimator.exact_order(6)
    if order < n_players:
        group = (1 << order + 1) - 1
        table = np.array([float(code & group == group) for code in range(1 << n_players)])
        assert np.abs(values(table, estimator) - shapley_by_subsets(table)).max() > 1e-6


@every
def test_a_replicate_costs_no_more_than_it_says(estimator):
    for n_players in (1, 2, 5):
        design = estimator.draw(n_players, np.random.default_rng(0), 4 if estimator.random else 1)
        sizes = design.sizes()
        inner = int(((sizes > 0) & (sizes < n_players)).sum())
        assert inner <= (4 if estimator.random else 1) * estimator.replicate_cost(n_players)


@every
def test_an_estimator_says_what_it_is(estimator):
    assert estimator.axioms <= AXIOMS
    assert {"linearity", "null player"} <= estimator.axioms
    assert estimator.citation
    assert inspect.getdoc(estimator)
    assert by_name()[estimator.name] is type(estimator)


@every
def test_an_estimator_is_frozen_data(estimator):
    assert estimator == dataclasses.replace(estimator)
    assert hash(estimator) == hash(dataclasses.replace(estimator))
    with pytest.raises(dataclasses.FrozenInstanceError):
        estimator.name = "other"


def test_estimators_are_found_by_name():
    assert {each.name for each in EVERY} <= {*by_name()}
    assert all(issubclass(each, Estimator) for each in by_name().values())
    assert all(name == each.name for name, each in by_name().items())


UNBIASED = [estimator for estimator in EVERY if estimator.unbiased(5)]


@pytest.mark.parametrize("estimator", UNBIASED, ids=repr)
def test_unbiased_estimators_are(estimator):
    # 5 players, 8 estimators: false alarm below 40 × 6e-5 = 0.3 % at 4 standard errors.
    game = random_table(5, seed=3)
    result = estimate(game, estimator, budget=300_000, seed=1)
    error = result.values - shapley_by_subsets(game.table)
    assert (np.abs(error) <= 4 * result.standard_errors + 1e-12).all()
    assert result.standard_errors.max() < 0.02


@pytest.mark.parametrize("n_players", range(1, 12))
def test_gauss_legendre_is_called_unbiased_from_half_as_many_levels_as_players(n_players):
    enough = -(-n_players // 2)
    for kind in (Owen, HalvedOwen):
        assert kind(levels=enough, rule="gauss-legendre").unbiased(n_players)
        assert kind(levels=1).unbiased(n_players)
        assert enough == 1 or not kind(levels=enough - 1, rule="gauss-legendre").unbiased(n_players)
        assert kind(levels=99, rule="midpoint").unbiased(n_players) == (n_players <= 2)


def test_printed_rules_never_claim_to_be_unbiased():
    for kind in (OwenPrinted, HalvedOwenPrinted):
        for n_players in (1, 2, 10):
            assert not kind().unbiased(n_players)


# --- what they draw
#
#
# ---------------------------------------------------------------------------------------------------


def test_castro_draws_every_order_equally_often():
    # Chi-squared with 23 degrees of freedom: false alarm 1e-4 beyond 57.
    design = Castro().draw(4, np.random.default_rng(0), 24_000)
    _, counts = np.unique(design.ranks.reshape(-1, 4), axis=0, return_counts=True)
    assert len(counts) == 24
    assert ((counts - 1000) ** 2 / 1000).sum() < 57


def test_antithetic_chains_are_reversed():
    design = Castro(antithetic=True).draw(7, np.random.default_rng(0), 5)
    assert isinstance(design, Chains)
    assert design.ranks.shape == (5, 2, 7)
    assert (design.ranks[:, 0] + design.ranks[:, 1] == 6).all()


@pytest.mark.parametrize(
    "estimator", [HalvedOwen(levels=6, per_level=2), HalvedOwen(levels=5), HalvedOwen(levels=1)]
)
def test_halved_stars_come_with_their_complements(estimator):
    design = estimator.draw(9, np.random.default_rng(0), 20)
    assert isinstance(design, Stars)
    half = design.centres.shape[1] // 2
    assert (design.centres[:, :half] == ~design.centres[:, half:]).all()
    assert (design.weights[:half] == design.weights[half:]).all()


@pytest.mark.parametrize("per_level", [1, 3])
@pytest.mark.parametrize("rule", ["stratified", "gauss-legendre", "midpoint", "grid"])
def test_players_join_with_the_probability_of_the_level(rule, per_level):
    # 3 × 5 to 3 × 18 means of 60,000 draws: false alarm below 0.4 % at 4 standard errors.
    estimator = Owen(levels=5, per_level=per_level, rule=rule)
    levels, count = estimator.pass_levels(), 20_000
    drawn = estimator.draw(3, np.random.default_rng(4), count).centres.mean(axis=(0, 2))
    q = np.repeat((levels.lower + levels.upper) / 2, per_level)
    assert (np.abs(drawn - q) <= 4 * np.sqrt(q * (1 - q) / (3 * count)) + 1e-15).all()


def test_draws_of_a_level_are_independent():
    # A correlation of 20,000 draws: false alarm 6e-5 at 4 standard errors. Two draws of one stratum
    # that shared their level would correlate by (1/12) / (1/4) = 1/3.
    centres = Owen(levels=1, per_level=2).draw(1, np.random.default_rng(0), 20_000).centres[..., 0]
    assert abs(np.corrcoef(centres.T)[0, 1]) < 4 / np.sqrt(20_000)


def test_players_of_a_star_share_their_level():
    # Two players of a Bernoulli(q) coalition with q uniform correlate by 1/3; standard error about
    # 0.007.
    centres = Owen(levels=1).draw(2, np.random.default_rng(0), 20_000).centres[:, 0]
    assert np.corrcoef(centres.T)[0, 1] == pytest.approx(1 / 3, abs=0.03)


def test_a_long_pass_is_drawn_in_pieces(monkeypatch):
    estimator = Owen(levels=50, per_level=2, rule="gauss-legendre")
    whole = estimator.draw(5, np.random.default_rng(0), 2).centres
    monkeypatch.setattr("owenshap.estimators.base.passes.CACHED", 50)
    pieces = estimator.draw(5, np.random.default_rng(0), 2).centres
    assert pieces.shape == whole.shape == (2, 100, 5)
    by_level = pieces.reshape(2, 50, 2, 5).mean(axis=(0, 2, 3))
    assert by_level[:10].mean() < 0.3 < 0.7 < by_level[-10:].mean()


def test_a_rule_can_be_given_as_data():
    game = random_table(6)
    by_name = estimate(game, Owen(levels=4, rule="gauss-legendre"), seed=1)
    by_data = estimate(game, Owen(rule=gauss_legendre(4)), seed=1)
    assert (by_name.values == by_data.values).all()
    halved = estimate(game, HalvedOwen(rule=gauss_legendre(4)), seed=1)
    assert (
        halved.values == estimate(game, HalvedOwen(levels=4, rule="gauss-legendre"), seed=1).values
    ).all()


# --- bad settings
#
#
# -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Owen, HalvedOwen, OwenPrinted, HalvedOwenPrinted])
@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "7"])
def test_levels_and_draws_are_whole_numbers(kind, bad):
    with refuses("levels", "Q"):
        kind(levels=bad)
    with refuses("per_level", "M"):
        kind(per_level=bad)


@pytest.mark.parametrize("kind", [Owen, HalvedOwen])
def test_an_unknown_rule_is_refused_when_it_is_given(kind):
    with refuses("rule", "simpson", "stratified"):
        kind(rule="simpson")


@pytest.mark.parametrize("kind", [OwenPrinted, HalvedOwenPrinted])
def test_an_unknown_divisor_is_refused_when_it_is_given(kind):
    with refuses("divisor", "progam", "'program'"):
        kind(divisor="progam")


@pytest.mark.parametrize("kind", [Owen, HalvedOwen])
def test_levels_beside_a_rule_that_has_its_own_are_refused(kind):
    with refuses("levels", "rule", "4"):
        kind(levels=4, rule=stratified(3))


def test_a_rule_that_cannot_be_folded_is_refused():
    lopsided = Levels.fixed(np.array([0.0, 2 / 3]), np.array([0.25, 0.75]), degree=2)  # Gauss–Radau
    assert Owen(rule=lopsided).unbiased(3)
    with refuses("rule", "symmetric"):
        HalvedOwen(rule=lopsided)
    with refuses("rule"):
        HalvedOwen(rule=stratified(4).folded())


@pytest.mark.parametrize("n_players", [1, 5, 127, 128, 200])
def test_permutations_are_those_of_the_generator(n_players):
    """However they are shuffled, a seed draws the same chains."""
    ranks = np.tile(np.arange(n_players, dtype=np.min_scalar_type(-n_players)), (7, 1))
    wanted = np.random.default_rng(3).permuted(ranks, axis=1)
    drawn = Castro().draw(n_players, np.random.default_rng(3), 7).ranks[:, 0]
    np.testing.assert_array_equal(drawn, wanted)
    assert drawn.dtype == wanted.dtype
