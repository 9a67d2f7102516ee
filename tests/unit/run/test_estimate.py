import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import Watched, random_table, refuses, same_examples, shapley_by_subsets, smooth

from owenshap import (
    Castro,
    Exact,
    FunctionGame,
    GameError,
    HalvedOwen,
    HalvedOwenPrinted,
    InputError,
    Owen,
    OwenPrinted,
    TableGame,
    estimate,
    estimating,
    methods,
)
from owenshap.statistics.intervals import half_widths

SAMPLING = ["castro", "owen", "halved-owen"]
PRINTED = [OwenPrinted(levels=6, per_level=1), "owen-printed", "halved-owen-printed"]


# --- shapes and what is said
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["exact", *SAMPLING])
@pytest.mark.parametrize("outputs", [None, 1, 3])
def test_shapes_follow_the_game(method, outputs):
    result = estimate(random_table(6, outputs=outputs), method, budget=2000)
    shape = (6,) if outputs is None else (6, outputs)
    for array in (result.values, result.standard_errors, result.lower, result.upper):
        assert array.shape == shape
    for each in (result.gap, result.empty_value, result.grand_value):
        assert isinstance(each, float) if outputs is None else each.shape == (outputs,)


@pytest.mark.parametrize("method", SAMPLING)
def test_outputs_are_estimated_from_the_same_coalitions(method):
    game = random_table(6, outputs=3)
    together = estimate(game, method, budget=2000, seed=4)
    for output in range(3):
        alone = estimate(TableGame(game.table[:, output]), method, budget=2000, seed=4)
        np.testing.assert_allclose(together.values[:, output], alone.values, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            together.standard_errors[:, output], alone.standard_errors, rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("method", ["exact", *SAMPLING, *PRINTED])
def test_the_gap_is_what_the_values_leave(method):
    game = random_table(7)
    result = estimate(game, method, budget=40_000, efficient=False)
    assert result.gap == pytest.approx(
        game.table[-1] - game.table[0] - result.values.sum(), abs=1e-12
    )
    assert (result.empty_value, result.grand_value) == (game.table[0], game.table[-1])
    if "efficiency" in result.plan.estimator.axioms:
        assert abs(result.gap) < 1e-12
    else:
        assert abs(result.gap) > 1e-6


def test_an_interval_is_students_widened_for_skewness():
    result = estimate(smooth(), "castro", budget=500, confidence=0.9)
    half = half_widths(result.moments, 0.9)[:, 0]
    np.testing.assert_allclose(result.upper - result.values, half)
    np.testing.assert_allclose(result.values - result.lower, half)
    np.testing.assert_array_equal(result.standard_errors, result.moments.standard_errors[:, 0])
    assert result.doubtful is None


def test_exact_values_have_intervals_without_width():
    result = estimate(smooth(), "exact")
    assert (result.standard_errors == 0).all()
    assert (result.lower == result.values).all()
    assert (result.upper == result.values).all()


NO_INTERVAL = {
    "one pass": (Owen(levels=5), {}, "one replicate alone"),
    "the paper's grid": (OwenPrinted(levels=5), {"budget": 20_000}, "biased"),
    "midpoints": (HalvedOwen(levels=5, rule="midpoint"), {"budget": 20_000}, "biased"),
    "too few nodes": (Owen(levels=3, rule="gauss-legendre"), {"budget": 20_000}, "biased"),
}


@pytest.mark.parametrize(("method", "settings", "reason"), NO_INTERVAL.values(), ids=NO_INTERVAL)
def test_without_an_interval_there_is_a_reason(method, settings, reason):
    result = estimate(smooth(8), method, **settings)
    for array in (result.standard_errors, result.lower, result.upper, *result.simultaneous()):
        assert array.shape == (8,)
        assert np.isnan(array).all()
    assert reason in result.doubtful
    assert np.isfinite(result.values).all()


@pytest.mark.parametrize("replicates", [2, 3, 9, 10])
def test_few_replicates_have_an_interval_that_is_doubtful_below_ten(replicates):
    result = estimate(smooth(8), "castro", budget=2 + replicates * 7)
    assert np.isfinite([result.lower, result.upper, *result.simultaneous()]).all()
    assert (result.standard_errors > 0).all()
    assert (result.doubtful is not None) == (replicates < 10)


@pytest.mark.parametrize("method", [Castro(), Owen(levels=5), HalvedOwen(levels=4, per_level=3)])
def test_the_budget_that_it_names_makes_an_interval(method):
    result = estimate(smooth(8), method, budget=2 + method.replicate_cost(8))
    named = int(result.doubtful.split("a budget of ")[1].split(" ")[0].replace(",", ""))
    assert np.isnan(estimate(smooth(8), method, budget=named - 1, seed=2).lower).all()
    assert np.isfinite(estimate(smooth(8), method, budget=named, seed=2).lower).all()


def test_why_it_stopped_is_said_with_numbers():
    result = estimate(smooth(8), "castro", budget=1000)
    assert (
        result.stopped_by
        == "budget of 1,000 evaluations: 142 replicates took 996, one more may take 7"
    )
    assert estimate(smooth(8), "exact").stopped_by == "all 256 coalitions are evaluated"


def test_an_estimate_says_how_it_came_about():
    result = estimate(smooth(8), "halved-owen", budget=2000, seed=7, confidence=0.8)
    assert (result.method, result.seed, result.confidence) == ("halved-owen", 7, 0.8)
    assert result.plan.budget == 2000
    assert result.replicates == result.plan.replicates


@pytest.mark.parametrize("method", ["auto", "exact", *SAMPLING, *PRINTED])
def test_one_player_gets_everything(method):
    result = estimate(TableGame([1.0, 4.0]), method)
    if np.isfinite(result.lower).all():
        np.testing.assert_allclose(result.values, [3.0], atol=1e-12)
        assert result.standard_errors.tolist() == [0.0]
    assert result.evaluations == 2


def test_any_class_with_players_and_values_is_a_game():
    class Sums:
        n_players = np.int64(5)

        def values(self, coalitions):
            return coalitions.sum(axis=1)

    for method in ["exact", *SAMPLING]:
        np.testing.assert_allclose(
            estimate(Sums(), method, budget=500).values, np.ones(5), atol=1e-12
        )


# --- evaluations and budget
# -------------------------------------------------------------------------------------------


@same_examples
@given(
    st.sampled_from(
        [
            *methods(),
            Castro(antithetic=True),
            Owen(levels=3),
            HalvedOwen(levels=3),
            OwenPrinted(levels=2),
        ]
    ),
    st.integers(1, 9),
    st.integers(2, 1500),
    st.integers(0, 100),
)
def test_a_budget_is_never_exceeded_and_every_evaluation_counted(method, n_players, budget, seed):
    game = Watched(smooth(n_players))
    try:
        result = estimate(game, method, budget=budget, seed=seed)
    except InputError:
        assert game.evaluations == 0
        return
    assert result.evaluations == game.evaluations <= budget
    sizes = game.coalitions.sum(axis=1)
    assert (sizes == 0).sum() == 1
    assert (sizes == n_players).sum() == 1


# --- the same seed
#
#
# ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("efficient", [False, True])
@pytest.mark.parametrize("method", ["auto", "exact", *SAMPLING])
def test_a_plan_passed_back_repeats_every_bit(method, efficient):
    first = estimate(smooth(12), method, budget=9000, seed=3, efficient=efficient)
    again = estimate(smooth(12), plan=first.plan, seed=3, efficient=efficient)
    assert (first.values == again.values).all()
    assert (first.moments.squares == again.moments.squares).all()
    assert (first.evaluations, first.stopped_by, first.plan) == (
        again.evaluations,
        again.stopped_by,
        again.plan,
    )


@pytest.mark.parametrize("method", SAMPLING)
def test_seeds_matter_and_the_global_generator_does_not(method):
    first = estimate(smooth(), method, budget=500, seed=1).values
    np.random.seed(7)  # noqa: NPY002 (that it changes nothing is what is tested)
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    assert (estimate(smooth(), method, budget=500, seed=1).values == first).all()
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert (estimate(smooth(), method, budget=500, seed=2).values != first).any()


@pytest.mark.parametrize("method", SAMPLING)
def test_memory_changes_no_bit(method):
    game = random_table(8)
    assert (
        estimate(game, method, budget=3000, memory=1000).values
        == estimate(game, method, budget=3000).values
    ).all()


def test_blocks_are_drawn_apart():
    # Of 30 players half a billion coalitions are of middle size: two are the same only where two
    # chains are.
    game = Watched(smooth(30))
    assert len(list(estimating(game, "castro", budget=10_000))) > 2
    middle = game.coalitions[game.coalitions.sum(axis=1) == 15]
    assert len(np.unique(middle, axis=0)) == len(middle) > 300


# --- efficient=True
#
#
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("method", ["owen", "halved-owen", Owen(levels=4, rule="midpoint")])
def test_efficient_values_sum_to_the_total(method, outputs):
    game = random_table(7, outputs=outputs)
    for snapshot in estimating(game, method, budget=5000, efficient=True):
        np.testing.assert_allclose(
            snapshot.values.sum(axis=0), game.table[-1] - game.table[0], rtol=0, atol=1e-12
        )
        assert np.abs(snapshot.gap).max() < 1e-12


@pytest.mark.parametrize("method", [OwenPrinted(levels=4), HalvedOwenPrinted(levels=4)])
def test_printed_methods_stay_as_they_are(method):
    budget = 2 + 12 * method.replicate_cost(7)
    found = estimate(random_table(7), method, budget=budget)
    raw = estimate(random_table(7), method, budget=budget, efficient=False)
    assert abs(found.gap) > 1e-3
    assert (found.values == raw.values).all()


@pytest.mark.parametrize("method", ["owen", "halved-owen"])
def test_efficient_values_stay_unbiased(method):
    # 2,000 runs of few passes on a rough game, 5 players: false alarm below 5 × 6e-5 at 4 standard
    # errors.
    game = random_table(5, seed=8)
    estimator = Owen(levels=2) if method == "owen" else HalvedOwen(levels=2)
    budget = 2 + 4 * estimator.replicate_cost(5)
    runs = np.array(
        [
            estimate(game, estimator, budget=budget, seed=seed, efficient=True).values
            for seed in range(2000)
        ]
    )
    error = runs.mean(axis=0) - shapley_by_subsets(game.table)
    assert np.abs(error / (runs.std(axis=0) / math.sqrt(len(runs)))).max() < 4


@pytest.mark.parametrize("method", ["exact", "castro", Castro(antithetic=True)])
def test_efficient_changes_nothing_where_nothing_is_left(method):
    plain = estimate(random_table(7), method, budget=5000, efficient=False)
    efficient = estimate(random_table(7), method, budget=5000)
    assert (plain.values == efficient.values).all()
    assert (plain.moments.squares == efficient.moments.squares).all()


def test_few_replicates_sum_to_the_total_and_one_pass_keeps_its_gap():
    for budget in (92, 137, 182):
        found = estimate(smooth(8), Owen(levels=5), budget=budget)
        assert found.replicates == (budget - 2) // 45
        assert abs(found.gap) < 1e-12
    raw = estimate(smooth(8), Owen(levels=5), efficient=False)
    found = estimate(smooth(8), Owen(levels=5))
    assert found.replicates == 1
    assert found.gap == raw.gap != 0


def test_memory_does_not_grow_with_the_replicates():
    found = estimate(smooth(8), Owen(levels=2), budget=50_000, memory=3000)
    assert abs(found.gap) < 1e-12
    kept = found.state["replicates"]
    assert kept["folds"]["sums"].size == 10 * 2 * 9
    assert sum(block.size for block in kept["blocks"]) < 4096 < found.replicates * 8


# --- snapshots and interruptions
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["exact", *SAMPLING])
def test_the_last_snapshot_is_the_estimate(method):
    snapshots = list(estimating(smooth(10), method, budget=20_000, seed=2))
    result = estimate(smooth(10), method, budget=20_000, seed=2)
    assert (snapshots[-1].values == result.values).all()
    assert (snapshots[-1].standard_errors == result.standard_errors).all()
    assert snapshots[-1].stopped_by == result.stopped_by
    assert snapshots[-1].evaluations == result.evaluations


def test_snapshots_grow_and_say_that_they_are_not_done():
    game = Watched(smooth(10))
    seen = []
    for snapshot in estimating(game, "castro", budget=20_000):
        seen.append((snapshot.replicates, snapshot.evaluations))
        assert snapshot.evaluations == game.evaluations
        if snapshot.replicates < snapshot.plan.replicates:
            assert snapshot.stopped_by.startswith(
                f"nothing yet: {snapshot.replicates:,} of {snapshot.plan.replicates:,} "
            )
    assert len(seen) > 3
    assert seen == sorted(set(seen))


def test_nothing_is_evaluated_before_the_first_snapshot_is_asked_for():
    game = Watched(smooth())
    run = estimating(game, "castro", budget=20_000)
    assert game.evaluations == 0
    next(run)
    assert 2 < game.evaluations < 10_000


def test_bad_input_is_refused_before_the_first_snapshot_is_asked_for():
    with refuses("budget"):
        estimating(smooth(), "castro", budget=3)


def test_an_interrupt_leaves_the_last_snapshot_readable():
    game = Watched(smooth(), fails_after=3000, error=KeyboardInterrupt())
    latest = None
    with pytest.raises(KeyboardInterrupt):
        for latest in estimating(game, "castro", budget=20_000):  # noqa: B007
            pass
    assert latest.evaluations == game.evaluations >= 3000
    assert (latest.lower < latest.upper).any()
    assert latest.stopped_by.startswith("nothing yet")


def test_an_interrupt_passes_through_estimate_with_a_note():
    game = Watched(smooth(), fails_after=3000, error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as caught:
        estimate(game, "castro", budget=20_000)
    (note,) = caught.value.__notes__
    assert "evaluations were done" in note
    assert "estimating" in note
    at_once = Watched(smooth(), fails_after=0, error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as caught:
        estimate(at_once, "castro", budget=20_000)
    assert "0 evaluations" in caught.value.__notes__[0]


@pytest.mark.parametrize("method", SAMPLING)
@pytest.mark.parametrize("efficient", [False, True])
def test_a_game_that_raises_midway_loses_nothing(method, efficient):
    game = Watched(smooth(), fails_after=3000, error=OSError("gone"))
    with refuses("the game", "OSError(gone)", error=GameError) as caught:
        estimate(game, method, budget=20_000, efficient=efficient)
    computed = caught.value.estimate
    assert 1000 < computed.evaluations <= game.evaluations
    *_, same = (
        s
        for s in estimating(smooth(), method, budget=20_000, efficient=efficient)
        if s.replicates <= computed.replicates
    )
    assert (computed.values == same.values).all()
    assert np.isfinite(computed.lower).all()


def test_a_value_that_is_no_number_midway_loses_nothing():
    def fn(coalitions):
        return np.where(
            coalitions[:, :5].all(axis=1) & ~coalitions[:, 5:].any(axis=1),
            np.nan,
            coalitions.sum(axis=1),
        )

    with refuses("the game's values", "{0, 1, 2, 3, 4} of 12 players", error=GameError) as caught:
        estimate(FunctionGame(fn, 12), "castro", budget=50_000)
    assert caught.value.estimate.evaluations > 500


def test_a_game_that_raises_at_once_has_nothing_to_lose():
    game = Watched(smooth(), fails_after=0, error=OSError("gone"))
    with refuses(
        "the game", "2 coalitions, the first the empty coalition of 8 players", error=GameError
    ) as caught:
        estimate(game, "castro", budget=500)
    assert caught.value.estimate is None


# --- bad input
#
#
# --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", [None, 3, [0, 1, 3, 8], len, np.zeros(4)])
def test_what_is_no_game_is_refused_with_what_to_do(game):
    with refuses("game", type(game).__name__, "FunctionGame", "TableGame"):
        estimate(game)


@pytest.mark.parametrize("n_players", [0, -1, 2.5, True, "3", None])
def test_a_game_has_players(n_players):
    class Odd:
        def values(self, coalitions):
            return coalitions.sum(axis=1)

    game = Odd()
    game.n_players = n_players
    with refuses("n_players"):
        estimate(game, "castro", budget=100)


@pytest.mark.parametrize("seed", ["a", 1.5, None, -1, True, [1]])
def test_a_seed_is_a_whole_number(seed):
    with refuses("seed", "whole number" if seed != -1 else "at least 0"):
        estimate(smooth(), "castro", budget=100, seed=seed)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, "x", None, math.nan, True])
def test_a_confidence_is_between_0_and_1(confidence):
    with refuses("confidence", "between 0 and 1", "0.95"):
        estimate(smooth(), "castro", budget=100, confidence=confidence)


def test_numbers_of_numpy_are_numbers():
    plain = estimate(smooth(), "castro", budget=500, seed=3, confidence=0.9)
    numpys = estimate(
        smooth(), "castro", budget=np.int32(500), seed=np.uint8(3), confidence=np.float64(0.9)
    )
    assert (plain.lower == numpys.lower).all()


def test_a_plan_comes_alone():
    plan = estimate(smooth(), "castro", budget=500).plan
    with refuses("plan", "alone"):
        estimate(smooth(), plan=plan, budget=500)
    with refuses("plan", "alone"):
        estimate(smooth(), "castro", plan=plan)
    with refuses("plan", "alone"):
        estimate(smooth(), Exact(), plan=plan)


def test_the_plan_of_a_smaller_game_does_not_exceed_its_budget():
    plan = estimate(smooth(8), "castro", budget=500).plan
    game = Watched(smooth(30))
    with refuses("plan", "500", "30 players"):
        estimate(game, plan=plan)
    assert game.evaluations == 0


def test_a_plan_is_a_plan():
    with refuses("plan"):
        estimate(smooth(), plan="castro")
