import numpy as np
import pytest

from owenshap import Castro, HalvedOwen, estimate
from owenshap.games.game import Declared, FunctionGame, abilities
from owenshap.run.blocks import (
    DRAWN_TOGETHER,
    LARGEST_BLOCK,
    all_drawn,
    block_sizes,
    blocks_smaller,
    in_draws,
)
from owenshap.run.evaluate import Ends, Evaluator
from owenshap.run.plan import make_plan


def game(n_players=6):
    return FunctionGame(lambda coalitions: np.tanh(coalitions @ np.arange(n_players)), n_players)


class Other(Castro):
    """Somebody's own."""

    def draw(self, n_players, rng, replicates):
        return super().draw(n_players, rng, replicates)


@pytest.mark.parametrize("method", [Castro(), HalvedOwen(), HalvedOwen(levels=20_000)])
@pytest.mark.parametrize("budget", [150_000, 400_000])
def test_blocks_are_drawn_together_in_bounded_draws(method, budget):
    plan = make_plan(6, method, budget)
    draws, cost = list(in_draws(plan, 6)), plan.estimator.replicate_cost(6)
    assert [size for draw in draws for size in draw.sizes] == list(block_sizes(plan, 6))
    assert [draw.first for draw in draws] == np.cumsum(
        [0, *(len(draw.sizes) for draw in draws[:-1])]
    ).tolist()
    assert all(sum(draw.sizes) * cost <= DRAWN_TOGETHER or len(draw.sizes) == 1 for draw in draws)
    if cost < LARGEST_BLOCK:
        assert len(draws[0].sizes) > 1


def test_blocks_begin_small_and_double_up_to_a_bound():
    """The first snapshot comes early, and later blocks drown their overhead."""
    cost = 8
    sizes = list(block_sizes(make_plan(cost + 1, "castro", 2 + cost * 4000), cost + 1))
    assert [size * cost for size in sizes[:5]] == [1024, 2048, 4096, 8192, 8192]
    assert sum(sizes) == 4000


@pytest.mark.parametrize(("outputs", "smaller"), [(1, 1), (16, 1), (17, 2), (48, 3)])
def test_blocks_of_many_outputs_are_smaller(outputs, smaller):
    """So that they take no more memory."""
    ends = Ends(np.zeros(outputs), np.ones(outputs), scalar=False)
    assert blocks_smaller(Evaluator(game(), ends, 1)) == smaller


def test_what_others_draw_is_not_cut():
    plan = make_plan(6, Other(), 50_000)
    assert all(len(draw.sizes) == 1 for draw in in_draws(plan, 6))


def test_blocks_drawn_together_are_those_of_one_generator():
    plan = make_plan(6, HalvedOwen(), 50_000)
    (drawn,) = all_drawn(6, None, plan.estimator, 3, in_draws(plan, 6))
    alone = plan.estimator.draw(
        6, np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0,))), plan.replicates
    )
    np.testing.assert_array_equal(
        np.concatenate([each.design.centres for each in drawn.one_by_one()]), alone.centres
    )
    assert [each.sizes for each in drawn.one_by_one()] == [[size] for size in drawn.sizes]


def test_the_draws_of_a_run_differ():
    plan = make_plan(6, HalvedOwen(), 200_000)
    first, second, *_ = all_drawn(6, None, plan.estimator, 0, in_draws(plan, 6))
    count = min(len(first.design.centres), len(second.design.centres))
    assert (first.design.centres[:count] != second.design.centres[:count]).mean() > 0.2


def test_a_class_is_asked_once_what_its_games_can_do():
    class Plain(Declared):
        n_players = 2

        def values(self, coalitions):
            return coalitions.sum(axis=1)

    class Compact(Plain):
        def design_replicates(self, design, empty, grand):
            raise NotImplementedError

    for _ in range(2):
        assert abilities(Plain()).compact is None
        compact = Compact()
        assert abilities(compact).compact is compact
        assert abilities(compact).drawing is None


@pytest.mark.parametrize("efficient", [True, False])
def test_sums_are_those_of_replicates_as_they_were_made(efficient):
    found = estimate(game(), "halved-owen", budget=20_000, seed=1, efficient=efficient)
    raw = found.moments.raw if efficient else found.moments
    assert found.sums.mean.shape == (1, 1)
    np.testing.assert_allclose(found.sums.mean[0], raw.mean.sum(axis=0), rtol=1e-12)
    assert found.moments.mean.shape == (6, 1)
