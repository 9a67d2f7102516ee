"""What is kept of replicates."""

import numpy as np
import pytest

from owenshap.statistics.accumulators import Accumulator
from owenshap.statistics.moments import AT_ONCE, Moments

RNG = np.random.default_rng(0)


def added(accumulator, replicates, sizes):
    for block in np.split(replicates, np.cumsum(sizes)):
        accumulator.add(block)
    return accumulator


def same(one, other):
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, other.arrays()[name])


@pytest.mark.parametrize("outputs", [1, 2, 10, 40])
def test_sums_over_the_players_are_added_player_after_player(outputs):
    replicates = RNG.normal(size=(50, 17, outputs))
    accumulator = Accumulator()
    accumulator.add(replicates)
    sums = np.add.accumulate(replicates, axis=1)[:, -1:]
    same(
        accumulator.summary.sums,
        Moments.of(np.concatenate([replicates, sums], axis=1))[-1:],
    )
    same(accumulator.summary.moments, Moments.of(replicates))


def test_small_blocks_are_reduced_together_and_asking_changes_nothing():
    replicates = RNG.normal(size=(60, 5, 2))
    asked, quiet = Accumulator(at_once=AT_ONCE), Accumulator(at_once=AT_ONCE)
    for block in np.split(replicates, 6):
        asked.add(block)
        quiet.add(block)
        assert asked.summary.moments.count == asked.count
    same(asked.summary.moments, quiet.summary.moments)
    same(asked.summary.moments, Moments.of(replicates))


@pytest.mark.parametrize("at_once", [0, 100, AT_ONCE])
def test_what_is_taken_up_again_goes_on_with_the_same_bits(at_once):
    replicates, more = RNG.normal(size=(2, 40, 5, 2))
    whole = added(Accumulator(at_once=at_once), replicates, [10, 10, 5])
    part = Accumulator(at_once=at_once)
    part.restore(whole.state(), np.zeros(2))
    added(whole, more, [3, 20])
    added(part, more, [3, 20])
    same(whole.summary.moments, part.summary.moments)
    same(whole.summary.sums, part.summary.sums)


@pytest.mark.parametrize("at_once", [0, 40, AT_ONCE])
def test_going_on_spreads_the_gap_with_the_same_bits(at_once):
    replicates, more = RNG.normal(size=(2, 33, 4, 2))
    total = np.array([1.0, 2.0])
    whole = added(Accumulator(at_once=at_once, total=total), replicates, [1, 1])
    again = Accumulator(at_once=at_once, total=total)
    again.restore(whole.state(), total)
    added(whole, more, [3, 20])
    added(again, more, [3, 20])
    same(again.summary.moments, whole.summary.moments)
    same(again.summary.sums, whole.summary.sums)


def test_whoever_goes_on_may_spread_the_gap_or_not():
    replicates = RNG.normal(size=(33, 4, 2))
    total = np.array([1.0, 2.0])
    raw = added(Accumulator(total=total, spread=False), replicates, [10])
    spread = added(Accumulator(total=total), replicates, [10])
    same(raw.summary.moments, spread.summary.moments.raw)
    from_raw = Accumulator(total=total)
    from_raw.restore(raw.state(), total)
    from_spread = Accumulator(total=total, spread=False)
    from_spread.restore(spread.state(), total)
    same(from_raw.summary.moments, spread.summary.moments)
    same(from_spread.summary.moments, raw.summary.moments)


@pytest.mark.parametrize("spread", [False, True])
def test_outputs_taken_apart_and_joined_again_are_the_same(spread):
    replicates, total = RNG.normal(size=(30, 4, 6)), np.arange(6.0)
    held = Accumulator(total=total if spread else None)
    whole = added(held, replicates, [10, 10])
    parts = [whole.of_outputs(np.arange(at, at + 2)) for at in (0, 2, 4)]
    same(Accumulator.joined(parts).summary.moments, whole.summary.moments)
    same(parts[1].summary.sums, whole.summary.sums[:, np.arange(2, 4)])
    same(parts[1].summary.moments, whole.summary.moments[:, np.arange(2, 4)])


def test_sums_that_were_not_kept_are_those_of_a_method_without_a_gap():
    replicates = RNG.normal(size=(30, 4, 1))
    replicates[:, -1] = 3 - replicates[:, :-1].sum(axis=1)
    without = Accumulator(sums=False)
    without.add(replicates)
    found = Accumulator()
    found.restore(without.state(), np.array([3.0]))
    same(found.summary.moments, Moments.of(replicates))
    assert (found.summary.sums.mean.item(), found.summary.sums.squares.item()) == (3, 0)
