"""What the paper proves and prints, against enumeration: expectations and variances are computed,
not sampled.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from owenshap import HalvedOwenPrinted, OwenPrinted, TableGame, estimate
from owenshap.designs.design import Stars
from owenshap.designs.levels import gauss_legendre
from owenshap.support.bits import from_codes

PRINTED = [OwenPrinted, HalvedOwenPrinted]
DIVISORS = ["paper", "program"]


def random_game(n_players=6, seed=0):
    return TableGame(np.random.default_rng(seed).normal(size=1 << n_players))


def smooth_game(n_players=7):
    weights = np.linspace(-1, 2, n_players)
    return TableGame(np.tanh(from_codes(np.arange(1 << n_players), n_players) @ weights - 0.5))


def unanimity_game(n_players):
    return TableGame(np.arange(1 << n_players) == (1 << n_players) - 1)


GAMES = {"random": random_game(), "smooth": smooth_game(), "unanimity": unanimity_game(5)}
games = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)


def contributions(game, player):
    """v(S ∪ j) − v(S) of all S without j, (2**(n − 1),), and the sizes of those S."""
    without = np.array([code for code in range(1 << game.n_players) if not code >> player & 1])
    return game.table[without | 1 << player] - game.table[without], np.bitwise_count(
        without
    ).astype(int)


def moment(game, player, q, power=1):
    """E[(v(E_j ∪ j) − v(E_j))**power] with every other player in E_j with probability q, over all
    coalitions.
    """
    added, sizes = contributions(game, player)
    return float(np.sum(added**power * q**sizes * (1.0 - q) ** (game.n_players - 1 - sizes)))


def by_size(game, player, power=1):
    """The same as a polynomial in q."""
    q, total = Polynomial([0.0, 1.0]), Polynomial([0.0])
    added, sizes = contributions(game, player)
    for size in range(game.n_players):
        total += (
            (added[sizes == size] ** power).sum() * q**size * (1 - q) ** (game.n_players - 1 - size)
        )
    return total


def integral(polynomial):
    return polynomial.integ()(1.0)


def levels_of(kind, count, divisor):
    """The levels at which the paper evaluates e_j, each as often as it is counted, and the
    divisor.
    """
    by = count if divisor == "paper" else count + 1
    if kind is OwenPrinted:
        return [i / count for i in range(count + 1)], by
    levels = []
    for i in range(count // 2 + 1):
        levels += [i / count, 1 - i / count]
    if divisor == "program" and count % 2 == 0:
        levels.pop()
    return levels, by


def expectation(kind, count, divisor, e):
    levels, by = levels_of(kind, count, divisor)
    return sum(map(e, levels)) / by


# --- the multilinear extension
# ----------------------------------------------------------------------------------------


@games
@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 0.77, 1.0])
def test_stars_at_a_level_are_drawn_with_the_mean_e_j(game, q):
    # Every coalition as the centre of a star, weighted by its probability: the mean over a star is
    # e_j(q) exactly.
    n_players = game.n_players
    centres = from_codes(np.arange(1 << n_players), n_players)
    sizes = centres.sum(axis=1)
    design = Stars(centres[None], q**sizes * (1.0 - q) ** (n_players - sizes))
    values = game.values(design.coalitions(np.arange(len(design))))
    means = design.weighted_contributions(values[:, None])[0, :, 0]
    for player in range(n_players):
        assert means[player] == pytest.approx(moment(game, player, q), abs=1e-12)
        assert by_size(game, player)(q) == pytest.approx(moment(game, player, q), abs=1e-12)


@games
def test_shapley_values_are_the_integral_of_e_j(game):
    exact = estimate(game, "exact").values
    rule = gauss_legendre(-(-game.n_players // 2))
    for player in range(game.n_players):
        by_rule = sum(
            w * moment(game, player, q) for q, w in zip(rule.lower, rule.weights, strict=True)
        )
        halved = sum(
            w * (moment(game, player, q) + moment(game, player, 1 - q)) / 2
            for q, w in zip(rule.lower, rule.weights, strict=True)
        )
        assert by_rule == pytest.approx(exact[player], abs=1e-12)
        assert halved == pytest.approx(exact[player], abs=1e-12)
        assert integral(by_size(game, player)) == pytest.approx(exact[player], abs=1e-12)


# --- the two algorithms, literally
# ------------------------------------------------------------------------------------


def algorithm_1(value, coalitions, q_count, m_count, divisor):
    """Algorithm 1 on given coalitions, {q: [sets]}; value takes a frozenset."""
    n_players = value.n_players
    sums = [0.0] * n_players
    for i in range(q_count + 1):
        e = [0.0] * n_players
        for m in range(m_count):
            drawn = coalitions[i][m]
            for j in range(n_players):
                e[j] += value(drawn | {j}) - value(drawn - {j})
        for j in range(n_players):
            sums[j] += e[j]
    return [each / ((q_count if divisor == "paper" else q_count + 1) * m_count) for each in sums]


def algorithm_2(value, coalitions, q_count, m_count, divisor):
    """Algorithm 2 on given coalitions: with 'paper' every one is mirrored, with 'program' not those
    at ½.
    """
    n_players = value.n_players
    everyone = frozenset(range(n_players))
    sums = [0.0] * n_players
    for i in range(q_count // 2 + 1):
        e = [0.0] * n_players
        mirrored = divisor == "paper" or 2 * i != q_count
        for m in range(m_count):
            drawn = coalitions[i][m]
            complement = everyone - drawn
            for j in range(n_players):
                e[j] += value(drawn | {j}) - value(drawn - {j})
                if mirrored:
                    e[j] += value(complement | {j}) - value(complement - {j})
        for j in range(n_players):
            sums[j] += e[j]
    return [each / ((q_count if divisor == "paper" else q_count + 1) * m_count) for each in sums]


class Value:
    """v of a frozenset."""

    def __init__(self, game):
        self.table, self.n_players = game.table, game.n_players

    def __call__(self, coalition):
        return float(self.table[sum(1 << player for player in coalition)])


def drawn_sets(design, replicate, levels, per_level):
    """The coalitions that were drawn, by level, without the complements that follow them."""
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in design.centres[replicate]]
    return [sets[i * per_level : (i + 1) * per_level] for i in range(levels)]


@games
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize(("count", "per_level"), [(1, 1), (2, 1), (5, 2), (6, 3), (11, 2), (20, 1)])
@pytest.mark.parametrize("kind", PRINTED)
def test_the_printed_rules_are_the_algorithms_on_the_same_coalitions(
    kind, count, per_level, divisor, game
):
    estimator = kind(levels=count, per_level=per_level, divisor=divisor)
    design = estimator.draw(game.n_players, np.random.default_rng(count), replicates=3)
    values = game.values(design.coalitions(np.arange(len(design))))[:, None]
    replicates = estimator.replicates(design, values)
    naive, levels = (
        (algorithm_1, count + 1) if kind is OwenPrinted else (algorithm_2, count // 2 + 1)
    )
    for replicate in range(3):
        coalitions = drawn_sets(design, replicate, levels, per_level)
        by_hand = naive(Value(game), coalitions, count, per_level, divisor)
        np.testing.assert_allclose(replicates[replicate, :, 0], by_hand, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", PRINTED)
@pytest.mark.parametrize("divisor", DIVISORS)
def test_an_estimate_is_the_algorithm_on_the_coalitions_of_its_seed(kind, divisor):
    game, count, per_level, seed = random_game(), 9, 2, 12
    result = estimate(game, kind(levels=count, per_level=per_level, divisor=divisor), seed=seed)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    design = kind(levels=count, per_level=per_level, divisor=divisor).draw(game.n_players, rng, 1)
    naive, levels = (
        (algorithm_1, count + 1) if kind is OwenPrinted else (algorithm_2, count // 2 + 1)
    )
    by_hand = naive(
        Value(game), drawn_sets(design, 0, levels, per_level), count, per_level, divisor
    )
    np.testing.assert_allclose(result.values, by_hand, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "kind", "naive"),
    [
        ("owen-printed", OwenPrinted, algorithm_1),
        ("halved-owen-printed", HalvedOwenPrinted, algorithm_2),
    ],
)
def test_what_is_named_printed_has_the_printed_divisor(name, kind, naive):
    assert kind() == kind(divisor="paper")
    assert kind.name == name
    game, count = random_game(), 6
    estimator = kind(levels=count, per_level=1)
    design = estimator.draw(game.n_players, np.random.default_rng(0), replicates=1)
    values = game.values(design.coalitions(np.arange(len(design))))[:, None]
    levels = count + 1 if kind is OwenPrinted else count // 2 + 1
    by_hand = naive(Value(game), drawn_sets(design, 0, levels, 1), count, 1, "paper")
    found = estimator.replicates(design, values)[0, :, 0]
    np.testing.assert_allclose(found, by_hand, rtol=0, atol=1e-12)


@pytest.mark.parametrize("levels", [5, 7, 9])
def test_neither_divisor_is_always_the_better_one(levels):
    # e_j(q) = C(10, 5) q⁵ (1 − q)⁵ of a majority of eleven vanishes at both ends: the printed
    # divisor makes the trapezoid rule of it, the program's takes 1/(Q + 1) away.
    majority = TableGame(2 * np.bitwise_count(np.arange(1 << 11)) > 11)
    curve = by_size(majority, 0)
    off = {
        divisor: abs(expectation(OwenPrinted, levels, divisor, curve) / integral(curve) - 1)
        for divisor in DIVISORS
    }
    assert off["paper"] < 0.002
    assert off["program"] == pytest.approx(1 / (levels + 1), abs=0.002)
    smooth = [by_size(GAMES["smooth"], player) for player in range(7)]
    errors = {
        divisor: sum(
            (expectation(OwenPrinted, levels, divisor, e) - integral(e)) ** 2 for e in smooth
        )
        for divisor in DIVISORS
    }
    assert errors["program"] < errors["paper"]


@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize("count", [1, 2, 5, 6])
@pytest.mark.parametrize("per_level", [1, 3])
def test_complements_are_complements_and_one_half_is_mirrored_as_said(count, per_level, divisor):
    estimator = HalvedOwenPrinted(levels=count, per_level=per_level, divisor=divisor)
    centres = estimator.draw(8, np.random.default_rng(1), replicates=4).centres
    drawn = (count // 2 + 1) * per_level
    at_half = per_level if count % 2 == 0 else 0
    mirrored = drawn - (at_half if divisor == "program" else 0)
    assert centres.shape[1] == drawn + mirrored
    assert (centres[:, drawn:] == ~centres[:, :mirrored]).all()


def test_the_first_level_draws_the_empty_coalition_and_the_last_the_grand_one():
    centres = (
        OwenPrinted(levels=7, per_level=2).draw(9, np.random.default_rng(0), replicates=50).centres
    )
    assert not centres[:, :2].any()
    assert centres[:, -2:].all()


# --- convergence: Proposition III.1 and Theorem III.1
# -----------------------------------------------------------------


@games
@pytest.mark.parametrize("kind", PRINTED)
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize("odd", [False, True], ids=["even Q", "odd Q"])
def test_the_bias_falls_as_one_over_q(kind, divisor, odd, game):
    # Euler and Maclaurin: (1/Q) Σ e(i/Q) = φ + (e(0) + e(1)) / 2Q + O(1/Q²); dividing by Q + 1
    # takes φ/Q away, and counting ½ twice adds e(½)/Q.
    for player in range(game.n_players):
        e = by_size(game, player)
        phi = integral(e)
        limit = (e(0.0) + e(1.0)) / 2
        if divisor == "program":
            limit -= phi
        elif kind is HalvedOwenPrinted and not odd:
            limit += e(0.5)
        scaled = [
            count * (expectation(kind, count, divisor, e) - phi) - limit
            for count in (100 + odd, 400 + odd, 1600 + odd)
        ]
        assert abs(scaled[-1]) < 0.005 * (1 + np.abs(e.coef).sum())
        for before, after in pairwise(scaled):
            assert abs(after) < 0.3 * abs(before) + 1e-11


def sampled(kind, count, per_level, divisor, game, passes, seed):
    """Passes (r, n) of a printed rule."""
    estimator = kind(levels=count, per_level=per_level, divisor=divisor)
    design = estimator.draw(game.n_players, np.random.default_rng(seed), passes)
    values = game.values(design.coalitions(np.arange(len(design))))[:, None]
    return estimator.replicates(design, values)[:, :, 0]


@games
@pytest.mark.parametrize("kind", PRINTED)
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize("count", [4, 5])
def test_the_sampled_mean_of_the_printed_rules_is_the_computed_one(kind, count, divisor, game):
    # 24 cases of at most 7 players: false alarm below 168 × 6e-6 = 0.1 % at 4.5 standard errors.
    passes = sampled(kind, count, 2, divisor, game, passes=4000, seed=count)
    expected = [
        expectation(kind, count, divisor, by_size(game, player)) for player in range(game.n_players)
    ]
    errors = passes.std(axis=0, ddof=1) / math.sqrt(len(passes))
    assert (np.abs(passes.mean(axis=0) - expected) <= 4.5 * errors + 1e-12).all()
    assert errors.max() < 0.03


def variance_of_owen(count, per_level, divisor, game, player):
    """The variance of one pass of Algorithm 1: stars at different levels are independent."""
    first, second = by_size(game, player), by_size(game, player, power=2)
    levels, by = levels_of(OwenPrinted, count, divisor)
    return sum(second(q) - first(q) ** 2 for q in levels) / by**2 / per_level


@games
@pytest.mark.parametrize("divisor", DIVISORS)
def test_the_variance_falls_as_one_over_q_m(divisor, game):
    for player in range(game.n_players):
        first, second = by_size(game, player), by_size(game, player, power=2)
        limit = integral(second - first**2)
        for count, per_level in [(4000, 1), (1000, 4)]:
            scaled = count * per_level * variance_of_owen(count, per_level, divisor, game, player)
            assert scaled == pytest.approx(limit, rel=0.01, abs=0.003)


@pytest.mark.parametrize("game", [GAMES["random"], GAMES["smooth"]], ids=["random", "smooth"])
@pytest.mark.parametrize(("count", "per_level"), [(8, 1), (8, 4), (32, 1)])
def test_the_sampled_variance_of_owen_is_the_computed_one(count, per_level, game):
    # The standard error of a variance comes from the fourth moments of 4,000 passes; 6 cases of at
    # most 7 players: false alarm below 42 × 6e-6 at 4.5 standard errors.
    passes = sampled(OwenPrinted, count, per_level, "program", game, passes=4000, seed=count)
    squares = (passes - passes.mean(axis=0)) ** 2
    errors = squares.std(axis=0) / math.sqrt(len(passes))
    expected = [
        variance_of_owen(count, per_level, "program", game, player)
        for player in range(game.n_players)
    ]
    assert (np.abs(squares.mean(axis=0) - expected) <= 4.5 * errors).all()


@pytest.mark.parametrize("divisor", DIVISORS)
def test_the_variance_of_halved_owen_falls_as_one_over_q_m_too(divisor):
    # Four times the work, a quarter of the variance; a ratio of two variances of 4,000 passes,
    # summed over 7 players, has a standard error of about 0.02: false alarm below 1e-5. Levels 0
    # and ½ make Q·M variance vary by 1/Q.
    game = GAMES["smooth"]
    spread = {
        work: sampled(HalvedOwenPrinted, *work, divisor, game, passes=4000, seed=sum(work))
        .var(axis=0)
        .sum()
        for work in [(21, 1), (21, 4), (85, 1)]
    }
    assert 4 * spread[21, 4] / spread[21, 1] == pytest.approx(1, abs=0.1)
    assert 4 * spread[85, 1] / spread[21, 1] == pytest.approx(1, abs=0.15)


@games
@pytest.mark.parametrize("kind", PRINTED)
def test_the_error_falls_as_q_and_m_grow(kind, game):
    # Mean squared error of 200 passes at each step of 16 × the work (4 × Q, 4 × M): the variance
    # falls 16 ×, the squared bias 16 ×. Fixed seeds; a factor of 8 leaves room for 5 standard
    # errors.
    exact = estimate(game, "exact").values
    errors = [
        (
            (sampled(kind, count, per_level, "program", game, passes=200, seed=count) - exact) ** 2
        ).mean()
        for count, per_level in [(5, 1), (20, 4), (80, 16)]
    ]
    assert errors[1] < errors[0] / 8
    assert errors[2] < errors[1] / 8


# --- the numbers that are quoted
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PRINTED)
def test_ten_levels_overestimate_the_unanimity_game_of_ten_by_48_per_cent(kind):
    # Ten levels from 0 to 1 are Q = 9; e_j(q) = q^9 and φ = 1/10.
    expected = expectation(kind, 9, "program", lambda q: q**9)
    assert expected / 0.1 == pytest.approx(1.48, abs=0.005)
    passes = sampled(kind, 9, 50, "program", unanimity_game(10), passes=40, seed=0)
    errors = passes.std(axis=0, ddof=1) / math.sqrt(len(passes))
    # 10 players, 39 degrees of freedom: false alarm below 0.2 % at 4.5 standard errors.
    assert (np.abs(passes.mean(axis=0) - expected) < 4.5 * errors).all()


def test_the_bias_of_the_program_on_a_random_game_is_as_quoted():
    # 0.093 at Q = 10 and 0.0089 at Q = 100 on a game with max |φ| = 1.5: about one tenth, on any
    # such game.
    game = random_game(8, seed=1)
    scale = 1.5 / np.abs(estimate(game, "exact").values).max()
    worst = []
    for count in (10, 100):
        curves = [by_size(game, player) for player in range(8)]
        worst.append(
            max(abs(expectation(OwenPrinted, count, "program", e) - integral(e)) for e in curves)
            * scale
        )
    assert 0.02 < worst[0] < 1
    assert worst[0] / worst[1] == pytest.approx(10, rel=0.15)
