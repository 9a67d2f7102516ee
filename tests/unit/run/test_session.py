"""A session: one loop for every kind of run, that can be written down and taken up again."""

import io
import json

import numpy as np
import pytest

import owenshap
from owenshap import Castro, FunctionGame, GaussianProcess, HalvedOwen, estimate
from owenshap.run.open_session import OpenSession
from owenshap.run.plan import make_plan
from owenshap.run.session import FixedSession
from owenshap.run.task import Plan, Settings, check_feasible
from owenshap.statistics.goal import Until
from owenshap.surrogates.gaussian_process.taught import Taught

RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(9, 6))
GAME = FunctionGame(lambda coalitions: np.tanh(coalitions @ WEIGHTS)[:, :2], 9)
TIGHT = Until(tolerance=0.01)
SAMPLED = [
    "castro",
    "owen",
    "halved-owen",
    Castro(antithetic=True),
    HalvedOwen(rule="gauss-legendre", levels=5),
]
LENGTHS = ((-1.0,) * 9, (-8.0,) * 9)  # one that fits the game, about, and one that is wrong
TAUGHT = [Taught(((*each, 0.2, -0.3, -3.0, 0.6, 0.4, 0.1),)) for each in LENGTHS]
LEARNED = [
    "gaussian-process-corrected",
    "gaussian-process",
    *(GaussianProcess(taught=each) for each in TAUGHT),
]


def written(state):
    """What comes back of a state that went through arrays and JSON, and nothing else."""
    arrays = {}

    def out(value):
        if isinstance(value, np.ndarray):
            arrays[f"a{len(arrays)}"] = value
            return {"array": f"a{len(arrays) - 1}"}
        if isinstance(value, dict):
            return {"dict": {key: out(each) for key, each in value.items()}}
        if isinstance(value, (list, tuple)):
            return [out(each) for each in value]
        return value

    text = json.dumps(out(state))
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        stored = dict(loaded)

    def back(value):
        if isinstance(value, dict):
            return (
                stored[value["array"]]
                if "array" in value
                else {k: back(v) for k, v in value["dict"].items()}
            )
        return [back(each) for each in value] if isinstance(value, list) else value

    return back(json.loads(text))


def session(method, until=TIGHT, budget=None, settings=None):
    kind = FixedSession if until is None else OpenSession
    return kind(GAME, make_plan(9, method, budget, until=until), settings or Settings(3, 0.95))


def same(one, other):
    first, second = one.result("enough"), other.result("enough")
    np.testing.assert_array_equal(first.values, second.values)
    np.testing.assert_array_equal(first.moments.squares, second.moments.squares)
    assert (first.evaluations, first.replicates) == (second.evaluations, second.replicates)


@pytest.mark.parametrize("method", [*SAMPLED, *LEARNED], ids=str)
def test_a_session_that_was_written_down_goes_on_with_the_same_bits(method):
    whole, part = session(method), session(method)
    for replicates in (12, 60, 150, 200):
        for each in (whole, part):
            each.relearn()
            each.advance(replicates)
            each.look()
        part = OpenSession.restore(GAME, written(part.state()))
        assert part.next_look == whole.next_look
    same(whole, part)


@pytest.mark.parametrize("method", SAMPLED, ids=str)
@pytest.mark.parametrize("efficient", [False, True])
def test_a_fixed_budget_goes_on_after_any_block(method, efficient):
    settings = Settings(5, 0.95, efficient=efficient)
    whole = session(method, None, 20_000, settings)
    whole.advance()
    for blocks in (1, 3):
        part = session(method, None, 20_000, settings)
        for _, _ in zip(range(blocks), part.advancing(), strict=False):
            pass
        assert part.count < whole.count
        part = FixedSession.restore(GAME, written(part.state()))
        part.advance()
        same(whole, part)


def test_a_learner_that_was_written_down_has_learned_the_same():
    part = session("gaussian-process-corrected")
    for replicates in (50, 100, 200):
        part.advance(replicates)
        part.relearn(part.look())
    assert part.learner.begun
    restored = OpenSession.restore(GAME, written(part.state()))
    coalitions = RNG.random((20, 9)) < 0.5
    np.testing.assert_array_equal(
        restored.learner._fitted.values(coalitions), part.learner._fitted.values(coalitions)
    )


def test_resume_takes_the_state_that_was_written_down():
    import dataclasses

    first = estimate(GAME, "halved-owen", tolerance=0.05, seed=1, progress=False)
    stored = dataclasses.replace(first, state=written(first.state))
    found, again = (
        estimate(GAME, resume=each, tolerance=0.02, progress=False) for each in (first, stored)
    )
    np.testing.assert_array_equal(found.values, again.values)
    assert found.evaluations == again.evaluations > first.evaluations


def test_a_method_without_a_gap_goes_on_from_a_budget_to_a_tolerance():
    first = estimate(GAME, "castro", budget=1000, seed=1, progress=False)
    further = estimate(GAME, resume=first, tolerance=0.02, progress=False)
    assert len(further.values) == 9
    exact = estimate(GAME, "exact", progress=False).values
    assert np.abs(further.values - exact).max() < 0.03


@pytest.mark.parametrize("method", [each for each in owenshap.methods() if each != "trees"])
def test_plans_are_plain_data(method):
    plan = make_plan(9, method, None)
    assert Plan.restored(written(plan.state())).estimator == plan.estimator


def test_a_rule_of_ones_own_is_plain_data():
    from owenshap.designs.levels import rule_levels

    estimator = HalvedOwen(rule=rule_levels("gauss-legendre", 5))
    restored = Plan.restored(written(make_plan(9, estimator, 2000).state())).estimator
    found, again = (
        estimate(GAME, each, budget=2000, progress=False).values for each in (estimator, restored)
    )
    np.testing.assert_array_equal(found, again)


def test_a_subclass_that_changes_nothing_gives_the_same_bits():
    class Mine(HalvedOwen):
        name = "mine"

    found, again = (
        estimate(GAME, each, budget=70_000, seed=2, progress=False).values
        for each in (HalvedOwen(), Mine())
    )
    np.testing.assert_array_equal(found, again)


@pytest.mark.parametrize(("made", "size"), [(0, 1), (80, 7), (10**6, 1024)])
def test_blocks_grow_with_what_is_made_where_a_clock_may_end_the_run(made, size):
    """So that little of the time stays unused when the next one would be late."""
    plan = make_plan(9, "castro", None, until=Until(seconds=60.0))
    assert OpenSession(GAME, plan, Settings(0, 0.95))._block_size(made) == size


@pytest.mark.parametrize(("budget", "enough"), [(300, True), (1000, False)])
def test_a_fit_that_takes_as_little_as_any_run_needs_no_more_memory(budget, enough):
    plan = make_plan(12, "gaussian-process", budget)
    if enough:
        check_feasible(plan, 12, 10**6)
    else:
        with pytest.raises(owenshap.InputError, match="about 54MB"):
            check_feasible(plan, 12, 10**6)
