import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import refuses, same_examples

from owenshap.designs.levels import (
    RULES,
    Levels,
    gauss_legendre,
    grid,
    halved_grid,
    midpoint,
    rule_levels,
    star_order,
    stratified,
)

MANY = 40


def mean_power(lower, upper, power):
    """The mean of q**power over [lower, upper]."""
    if lower == upper:
        return lower**power
    return (upper ** (power + 1) - lower ** (power + 1)) / ((power + 1) * (upper - lower))


def expected(levels: Levels, power: int) -> float:
    """What a rule makes of ∫ q**power dq on average, over its draws and with the complements it
    uses.
    """
    total = 0.0
    for lower, upper, weight, mirrored in zip(
        levels.lower, levels.upper, levels.weights, levels.mirrored, strict=True
    ):
        total += weight * mean_power(lower, upper, power)
        if mirrored:
            total += weight * mean_power(1 - upper, 1 - lower, power)
    return total


def bias(levels, power):
    return expected(levels, power) - 1 / (power + 1)


# rule, levels, degree of exactness: what theory says
THEORY = (
    [(gauss_legendre, count, 2 * count - 1) for count in range(1, 9)]
    + [(stratified, count, math.inf) for count in (1, 2, 3, 10, 33)]
    + [(midpoint, count, 1) for count in (1, 2, 3, 10, 33)]
    + [(grid, count, 1) for count in (1, 2, 3, 10, 33)]
    + [(lambda count: grid(count, "paper"), count, -1) for count in (1, 2, 3, 10, 33)]
    + [(halved_grid, count, 1) for count in (1, 2, 3, 10, 33)]
    + [(lambda count: halved_grid(count, "paper"), count, -1) for count in (1, 2, 3, 10, 33)]
)


@pytest.mark.parametrize(("rule", "count", "degree"), THEORY)
def test_a_rule_is_exact_to_its_degree_and_no_further(rule, count, degree):
    levels = rule(count)
    assert levels.degree == degree
    for power in range(int(min(degree, MANY)) + 1):
        assert abs(bias(levels, power)) < 1e-14
    if degree < math.inf:
        assert abs(bias(levels, int(degree) + 1)) > 1e-10


SYMMETRIC = [case for case in THEORY if case[0] in (gauss_legendre, stratified, midpoint, grid)]


@pytest.mark.parametrize(("rule", "count", "degree"), SYMMETRIC)
def test_a_folded_rule_has_the_degree_of_the_rule(rule, count, degree):
    whole = rule(count)
    folded = whole.folded()
    assert folded.degree == degree
    assert len(folded) == -(-len(whole) // 2)
    assert folded.mirrored.all()
    assert folded.mirrored.all()
    assert (folded.upper <= 0.5).all()
    for power in range(MANY):
        assert abs(expected(folded, power) - expected(whole, power)) < 1e-14


@pytest.mark.parametrize("count", range(1, 7))
def test_the_error_of_gauss_legendre_one_degree_further_is_known(count):
    known = math.factorial(count) ** 4 / ((2 * count + 1) * math.factorial(2 * count) ** 2)
    assert -bias(gauss_legendre(count), 2 * count) == pytest.approx(known, rel=1e-3)


@pytest.mark.parametrize("n_players", range(1, 15))
def test_half_as_many_gauss_legendre_levels_as_players_are_exact(n_players):
    # e_j(q) = q**(n − 1) for the unanimity game of all n players, the highest degree there is.
    enough = -(-n_players // 2)
    for levels in (gauss_legendre(enough), gauss_legendre(enough).folded()):
        assert abs(bias(levels, n_players - 1)) < 1e-14
        assert levels.degree >= n_players - 1
    if enough > 1:
        for levels in (gauss_legendre(enough - 1), gauss_legendre(enough - 1).folded()):
            assert abs(bias(levels, n_players - 1)) > 1e-9
            assert levels.degree < n_players - 1


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9, 10])
@pytest.mark.parametrize("rule", [stratified, gauss_legendre, midpoint, grid])
def test_weights_sum_to_one(rule, count):
    levels = rule(count)
    assert levels.weights.sum() == pytest.approx(1, abs=1e-14)
    folded = levels.folded()
    assert 2 * folded.weights.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("count", [1, 3, 9])
def test_the_middle_stratum_of_an_odd_number_is_halved(count):
    folded = stratified(count).folded()
    assert folded.upper[-1] == 0.5
    assert folded.lower[-1] == pytest.approx((count - 1) / (2 * count))
    assert folded.weights[-1] == pytest.approx(1 / (2 * count))
    assert np.allclose(folded.weights[:-1], 1 / count)


@pytest.mark.parametrize("count", [3, 9])
def test_the_middle_node_of_an_odd_number_stays_and_counts_half(count):
    whole, folded = gauss_legendre(count), gauss_legendre(count).folded()
    assert folded.lower[-1] == folded.upper[-1] == 0.5
    assert folded.weights[-1] == whole.weights[count // 2] / 2


def test_folding_leaves_the_rule_alone():
    whole = gauss_legendre(5)
    before = whole.weights.copy()
    whole.folded()
    assert (whole.weights == before).all()


@pytest.mark.parametrize("count", [2, 4, 10])
def test_an_even_number_folds_without_a_middle(count):
    folded = stratified(count).folded()
    assert np.allclose(folded.lower, np.arange(count // 2) / count)
    assert np.allclose(folded.weights, 1 / count)


@pytest.mark.parametrize(("divisor", "by"), [("paper", 10), ("program", 11)])
def test_the_grid_of_the_paper(divisor, by):
    levels = grid(10, divisor)
    assert np.allclose(levels.lower, np.arange(11) / 10)
    assert (levels.lower == levels.upper).all()
    assert np.allclose(levels.weights, 1 / by)
    assert not levels.mirrored.any()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9, 10])
@pytest.mark.parametrize("divisor", ["paper", "program"])
def test_the_halved_grid_of_the_paper(count, divisor):
    levels = halved_grid(count, divisor)
    assert np.allclose(levels.lower, [i / count for i in range(count + 1) if i / count <= 0.5])
    assert np.allclose(levels.weights, 1 / (count if divisor == "paper" else count + 1))
    assert levels.mirrored[:-1].all()
    assert levels.mirrored[-1] == (divisor == "paper" or count % 2 == 1)
    assert len(levels) + levels.mirrored.sum() == count + 1 + (
        divisor == "paper" and count % 2 == 0
    )


@same_examples
@given(st.integers(1, 40), st.integers(0, 10**6), st.booleans())
def test_drawn_levels_lie_in_their_strata(count, seed, fold):
    levels = stratified(count).folded() if fold else stratified(count)
    drawn = levels.draw(np.random.default_rng(seed), (3, 2))
    assert drawn.shape == (3, 2, len(levels))
    assert (levels.lower <= drawn).all()
    assert (drawn <= levels.upper).all()
    assert np.ptp(drawn, axis=0).min() > 0


def test_drawn_levels_are_uniform_in_their_strata():
    # A mean of 4,000 uniform draws in each of 5 strata: false alarm below 3e-4 at 4 standard
    # errors.
    levels = stratified(5)
    drawn = levels.draw(np.random.default_rng(0), (4000,))
    errors = (drawn.mean(axis=0) - (levels.lower + levels.upper) / 2) / (
        (0.2 / math.sqrt(12)) / math.sqrt(4000)
    )
    assert np.abs(errors).max() < 4


def test_fixed_levels_are_drawn_as_they_are_and_use_no_randomness():
    rng, same = np.random.default_rng(0), np.random.default_rng(0)
    assert (gauss_legendre(4).draw(rng, (2, 3)) == gauss_legendre(4).lower).all()
    assert rng.random() == same.random()


def test_some_levels_can_be_drawn():
    drawn = stratified(10).draw(np.random.default_rng(0), (100,), slice(3, 5))
    assert drawn.shape == (100, 2)
    assert ((drawn >= [0.3, 0.4]) & (drawn <= [0.4, 0.5])).all()


def test_stars_are_ordered_by_level_with_complements_last():
    level, weights = star_order(halved_grid(4, "program"), per_level=2)
    assert level.tolist() == [0, 0, 1, 1, 2, 2]
    assert weights.tolist() == pytest.approx([0.1] * 10)
    level, weights = star_order(gauss_legendre(2), per_level=3)
    assert level.tolist() == [0, 0, 0, 1, 1, 1]
    assert weights.tolist() == pytest.approx([1 / 6] * 6)


def test_rules_have_names_or_are_data():
    for name, rule in RULES.items():
        assert (rule_levels(name, 4).weights == rule(4).weights).all()
    own = gauss_legendre(3)
    assert rule_levels(own, 99) is own


@pytest.mark.parametrize("rule", ["simpson", "Stratified", None, 3])
def test_an_unknown_rule_is_named(rule):
    with refuses(
        "rule", repr(rule) if not isinstance(rule, str) else rule, "stratified", "gauss-legendre"
    ):
        rule_levels(rule, 4)


@pytest.mark.parametrize("make", [grid, halved_grid])
def test_an_unknown_divisor_is_named(make):
    with refuses("divisor", "'paper' or 'program'", "papr"):
        make(10, "papr")
