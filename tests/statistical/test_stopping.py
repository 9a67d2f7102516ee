"""How often a valid tolerance holds, and that what is rare does not stop a run early: fixed seeds,
limits stated.
"""

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc

from owenshap import Castro, HalvedOwen, estimate
from owenshap.run.cost import Cost
from owenshap.run.plan import make_plan
from owenshap.statistics.goal import Until
from owenshap.testing import KnownGame, airport, product, unanimity, weighted_voting

RUNS = 120
GAMES = {
    "skewed product": (product([0.5] * 8, np.linspace(1.2, 2.0, 8)), 1.2),
    "airport": (airport(np.linspace(1, 10, 12) ** 2), 3.0),
    "votes": (weighted_voting([5, 4, 3, 3, 2, 2, 1, 1, 1, 1], 12), 0.06),
}
METHODS = ["castro", Castro(antithetic=True), HalvedOwen(levels=4)]
# Where 95 % of runs hold, fewer than this many of 120 do with a chance of 1e-5. Nine cases: below
# 1e-4 together.
FEWEST = next(count for count in range(RUNS) if bdtr(count, RUNS, 0.95) > 1e-5)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("name", GAMES)
def test_all_values_are_held_at_the_moment_of_stopping(name, method):
    game, tolerance = GAMES[name]
    within = held = 0
    for seed in range(RUNS):
        result = estimate(game, method, tolerance=tolerance, seed=seed, progress=False)
        lower, upper = result.simultaneous()
        assert (upper - lower).max() <= 2 * tolerance * (1 + 1e-9)
        within += np.abs(result.values - game.shapley_values).max() <= tolerance
        held += bool(((lower <= game.shapley_values) & (game.shapley_values <= upper)).all())
    assert within >= FEWEST
    assert held >= FEWEST


def test_these_limits_catch_a_rule_that_stops_early():
    # Waiting until the widest interval per value, a third too narrow, is narrow enough.
    game, tolerance = GAMES["votes"]
    within = 0
    for seed in range(RUNS):
        count = 20  # enough for a standard error
        while True:
            result = estimate(game, "castro", budget=2 + 9 * count, seed=seed, progress=False)
            if 2 * result.standard_errors.max() <= 1.5 * tolerance:
                break
            count = int(1.15 * count) + 1
        within += np.abs(result.values - game.shapley_values).max() <= tolerance
    assert within < FEWEST


@pytest.mark.parametrize("method", ["castro", "halved-owen", HalvedOwen(levels=2)], ids=str)
def test_what_is_rare_is_waited_for(method):
    # 12 of 30 players are needed: a chain gives a player its 1 with a chance of 1/12. False alarm
    # below 1e-5, as above.
    game = unanimity(30, range(12))
    right = sum(
        np.abs(
            estimate(game, method, tolerance=0.05, seed=seed, progress=False).values
            - game.shapley_values
        ).max()
        <= 0.05
        for seed in range(RUNS)
    )
    assert right >= FEWEST


def test_the_top_is_right_when_it_says_so():
    game = airport(np.arange(1.0, 13.0) ** 2)
    right = settled = 0
    for seed in range(RUNS):
        result = estimate(game, "halved-owen", top=3, budget=40_000, seed=seed, progress=False)
        if result.stopped_by.startswith("top"):
            settled += 1
            right += set(np.argsort(-result.values)[:3]) == {9, 10, 11}
    assert settled > RUNS / 2
    assert bdtr(right, settled, 0.95) > 1e-5


@pytest.mark.parametrize("players", [8, 12])
def test_a_corrected_surrogate_keeps_its_tolerance(players):
    # Fewer of 40 runs are within with a chance of 1e-5 where 95 % are.
    game = product([0.6] * players, np.linspace(1.0, 1.7, players))
    tolerance = 0.01 * float(np.ptp(game.values(np.array([[False] * players, [True] * players]))))
    runs = 40
    within = 0
    for seed in range(runs):
        result = estimate(
            game, "gaussian-process-corrected", tolerance=tolerance, seed=seed, progress=False
        )
        within += np.abs(result.values - game.shapley_values).max() <= tolerance
    assert within >= next(count for count in range(runs) if bdtr(count, runs, 0.95) > 1e-5)


def needle(n_players=20, size=10, height=10.0):
    """Coalitions of one size that hold player 0 are worth much; the others add up."""
    values = np.full(n_players, 1 - height / n_players / (n_players - 1))
    values[0] = 1 + height / n_players

    def worth(coalitions):
        sizes = coalitions.sum(axis=1)
        return sizes + height * ((sizes == size) & coalitions[:, 0])

    return KnownGame(worth, n_players, values)


@pytest.mark.parametrize("method", ["halved-owen", "gaussian-process-corrected", "auto"])
@pytest.mark.parametrize(
    ("game", "tolerance"),
    [(unanimity(30, range(12)), 0.08), (needle(), 0.5)],
    ids=["unanimity", "needle"],
)
def test_what_is_rare_does_not_stop_a_run_early(game, tolerance, method):
    # Auto as with a costly model. Fewer of 25 runs are within, or held, with a chance of 1e-5 where
    # 95 % are.
    runs, within, held = 25, 0, 0
    plan = make_plan(game.n_players, method, None, Cost(0.1, 1), Until(tolerance))
    for seed in range(runs):
        result = estimate(game, plan=plan, seed=seed, progress=False)
        lower, upper = result.simultaneous()
        within += np.abs(result.values - game.shapley_values).max() <= tolerance
        held += bool(
            ((lower <= game.shapley_values + 1e-12) & (game.shapley_values <= upper + 1e-12)).all()
        )
    assert min(within, held) >= next(
        count for count in range(runs) if bdtr(count, runs, 0.95) > 1e-5
    )


def hidden(height=3.0, closest=False):
    """An additive game, and {0, …, 3} is worth more without {4, …, 7}: 1 coalition in 256, met by 1
    chain in 70.

    Where it is to be closest, it decides that player 3 is larger than 4.
    """
    weights = np.random.default_rng(0).normal(size=14)
    if closest:
        weights[[3, 4, 8, 9]] = [1.4, 1.41, 3.0, -2.0]
        weights[[6, 12]] = [1.0, 0.5]
    values = weights + height / 280 * np.repeat([1, -1, 0], [4, 4, 6])

    def worth(coalitions):
        return coalitions @ weights + height * (
            coalitions[:, :4].all(axis=1) & ~coalitions[:, 4:8].any(axis=1)
        )

    return KnownGame(worth, 14, values)


@pytest.mark.parametrize("game", [hidden(), needle(14, 1, 1.0)], ids=["hidden", "needle"])
@pytest.mark.parametrize("method", ["castro", "halved-owen", "auto"])
def test_replicates_that_agree_do_not_stop_a_run_before_they_could_have_seen_what_matters(
    game, method
):
    # Fewer of 60 runs are within with a chance of 1e-5 where 95 % are. Without a floor 25 % to 79
    # %.
    runs = 60
    found = [
        estimate(game, method, tolerance=0.005, seed=seed, progress=False) for seed in range(runs)
    ]
    within = sum(np.abs(each.values - game.shapley_values).max() <= 0.005 for each in found)
    assert within >= next(count for count in range(runs) if bdtr(count, runs, 0.95) > 1e-5)


def test_a_surrogate_that_agrees_with_all_pairs_goes_on_until_they_could_have_seen_what_matters():
    # 1 pair in 273 meets the event, 870 pairs are the fewest: fewer than this many of 20 runs have
    # met it with a chance of 1e-5 where 95 % have. Without a floor 36 % had.
    runs, game, fooled = 20, hidden(), 0
    for seed in range(runs):
        result = estimate(
            game,
            "gaussian-process-corrected",
            tolerance=0.005,
            budget=2100,
            seed=seed,
            progress=False,
        )
        fooled += result.stopped_by.startswith("tolerance")
    assert runs - fooled >= next(count for count in range(runs) if bdtr(count, runs, 0.95) > 1e-5)


@pytest.mark.parametrize("method", ["castro", "halved-owen"])
def test_the_top_is_not_settled_before_what_decides_it_could_have_been_seen(method):
    # False alarm below 1e-5 where 95 % of those that are settled are right. At the first look, none
    # was.
    runs, game, settled, right = 60, hidden(closest=True), 0, 0
    assert game.shapley_values[3] > game.shapley_values[4]
    for seed in range(runs):
        result = estimate(game, method, top=3, budget=20_000, seed=seed, progress=False)
        if result.stopped_by.startswith("top"):
            settled += 1
            first = {*np.argsort(-np.abs(result.values))[:3].tolist()}
            # 3 and 4 are 0.01 apart, less than 1 % of the range: a tie, where that is said
            tied = "ties within" in result.stopped_by and first == {8, 9, 4}
            right += tied or first == {8, 9, 3}
    assert settled - right <= next(
        count for count in range(runs) if bdtrc(count, runs, 0.05) < 1e-5
    )


@pytest.mark.parametrize("budget", [600, 2048])
def test_no_interval_of_a_fixed_budget_is_certain(budget):
    game = hidden()
    for seed in range(20):
        result = estimate(game, "castro", budget=budget, seed=seed, progress=False)
        least = 0.15 * np.abs(result.values).sum() / result.replicates
        assert result.half_widths.min() >= 0.99 * least
