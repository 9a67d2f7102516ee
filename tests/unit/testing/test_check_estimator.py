"""check_estimator must stop every estimator with a planted fault, and name the check that did."""

import random
import threading
from dataclasses import dataclass

import numpy as np
import pytest

from owenshap import Castro, GaussianProcessCorrected, Owen, OwenPrinted
from owenshap.designs.design import Chains, Sets, Stars
from owenshap.run import blocks
from owenshap.surrogates.linear import LinearSurrogate
from owenshap.testing import ESTIMATOR_CHECKS, check_estimator
from owenshap.testing import estimators as checks


@dataclass(frozen=True)
class BiasedRule(OwenPrinted):
    """The paper's grid, said to be unbiased."""

    levels: int = 6
    per_level: int = 1

    def unbiased(self, n_players):
        return True


class WrongWeight(Castro):
    """Every contribution counts one percent too much."""

    def replicates(self, design, values):
        return 1.01 * super().replicates(design, values)


class WrongWeightUnclaimed(Castro):
    """Five percent too much, without the claim to be exact anywhere."""

    def replicates(self, design, values):
        return 1.05 * super().replicates(design, values)

    def exact_order(self, n_players):
        return 0


class ClaimsPairs(Castro):
    """Single chains are exact on additive games only."""

    def exact_order(self, n_players):
        return 2


class ReusedGenerator(Castro):
    """Every draw is the same draw."""

    def draw(self, n_players, rng, replicates):
        return super().draw(n_players, np.random.default_rng(0), replicates)


@dataclass(frozen=True)
class ReusedGeneratorWithinARun(Castro):
    """The first draw's generator serves the neighbouring block too: they share every second
    block.
    """

    def draw(self, n_players, rng, replicates):
        seed = rng.bit_generator.seed_seq.entropy
        return super().draw(n_players, np.random.default_rng(seed), replicates)


class Overspends(Castro):
    """Takes one evaluation more than it says."""

    def replicate_cost(self, n_players):
        return max(0, n_players - 2)


class Underspends(Castro):
    """Leaves half of the budget."""

    def replicates_within(self, n_players, budget):
        return max(1, super().replicates_within(n_players, budget) // 2)


class OneDrawRepeated(Castro):
    """One chain, counted many times."""

    def draw(self, n_players, rng, replicates):
        return Chains(np.repeat(super().draw(n_players, rng, 1).ranks, replicates, axis=0))


class SharedNoise(Castro):
    """Half of every replicate of a block comes from its first: the block's mean varies more than
    its replicates show.
    """

    def replicates(self, design, values):
        own = super().replicates(design, values)
        return 0.5 * own + 0.5 * own[:1]


class Neighbours(Castro):
    """Every replicate is the mean of itself and the one before."""

    def replicates(self, design, values):
        own = super().replicates(design, values)
        return 0.5 * own + 0.5 * np.roll(own, 1, axis=0)


class NeverShrinks(Castro):
    """More replicates, each of them worse."""

    def replicates(self, design, values):
        own = super().replicates(design, values)
        return own.mean(axis=0) + (own - own.mean(axis=0)) * np.sqrt(len(own))


class SeedsNumpy(Castro):
    def draw(self, n_players, rng, replicates):
        np.random.seed(0)  # noqa: NPY002
        return super().draw(n_players, rng, replicates)


class ReadsNumpy(Castro):
    def draw(self, n_players, rng, replicates):
        np.random.random()  # noqa: NPY002
        return super().draw(n_players, rng, replicates)


class ReadsRandom(Castro):
    def replicates(self, design, values):
        random.random()
        return super().replicates(design, values)


class Remembers(Castro):
    """What it gives depends on how often it was asked."""

    asked = [0]  # noqa: RUF012

    def draw(self, n_players, rng, replicates):
        self.asked[0] += 1
        return super().draw(
            n_players, np.random.default_rng([self.asked[0], rng.integers(1 << 30)]), replicates
        )


class Moody(Chains):
    """Coalitions that depend on how many are asked for at once."""

    def coalitions(self, index):
        return super().coalitions(index) if len(index) > 250 else super().coalitions(index)[:, ::-1]


class DependsOnTheChunk(Castro):
    def draw(self, n_players, rng, replicates):
        return Moody(super().draw(n_players, rng, replicates).ranks)


class DependsOnThePart(Owen):
    """Averages over the stars that it is given instead of adding up their weights."""

    def replicates(self, design, values):
        assert isinstance(design, Stars)
        return super().replicates(design, values) / design.weights.sum()


class DependsOnTheWorker(Castro):
    def replicates(self, design, values):
        return super().replicates(design, values) + 1e-15 * (
            threading.current_thread() is not threading.main_thread()
        )


class OneForAllOutputs(Castro):
    """Gives the first output's values for every output."""

    def replicates(self, design, values):
        return np.repeat(super().replicates(design, values[:, :1]), values.shape[1], axis=2)


class NotLinear(Castro):
    """Cuts off large values."""

    def replicates(self, design, values):
        return super().replicates(design, np.clip(values, -9, 9))


class SpreadsTheGap(Owen):
    """Gives null players their part of the gap."""

    axioms = frozenset({"efficiency", "linearity", "null player"})

    def replicates(self, design, values):
        own = super().replicates(design, values)
        return own - own.mean(axis=1, keepdims=True)

    def exact_order(self, n_players):
        return 0

    def unbiased(self, n_players):
        return False


class ClaimsEfficiency(Owen):
    axioms = frozenset({"efficiency", "linearity", "null player"})


class ClaimsSymmetry(Castro):
    axioms = frozenset({"efficiency", "symmetry", "linearity", "null player"})


class ClaimsFairness(Castro):
    axioms = frozenset({"fairness"})


class Summed(Castro):
    """Keeps the mean of its replicates only."""

    def replicates(self, design, values):
        return super().replicates(design, values).mean(axis=0, keepdims=True)


class Offset(Castro):
    """Adds something to everyone."""

    def replicates(self, design, values):
        return super().replicates(design, values) + 1e-6


class ForgetsPairs(Castro):
    """Wrong for two players only."""

    def replicates(self, design, values):
        own = super().replicates(design, values)
        return own[:, ::-1] if design.n_players == 2 else own

    def exact_order(self, n_players):
        return 0


class RareAndLarge(Castro):
    """One replicate of 336 is 336 times as large, the others are nothing: unbiased, but t intervals
    do not cover.
    """

    def replicates(self, design, values):
        own = super().replicates(design, values)
        # 1 of the 8 · 7 · 6 ways to place three players
        chosen = (design.ranks[:, 0, :3] == [0, 1, 2]).all(axis=1)
        return own * np.where(chosen, 336, 0)[:, None, None]


class Breaks(Castro):
    def replicates(self, design, values):
        raise RuntimeError("out of order")


@dataclass(frozen=True)
class Learning(GaussianProcessCorrected):
    """Learns from batch to batch as the process does, but a linear game, which takes no time."""

    @property
    def _surrogate(self):
        return LinearSurrogate()

    def reduced(self, design, values):
        found = super().reduced(design, values)
        return found._replace(replicates=self.spoiled(found.replicates))

    def spoiled(self, replicates):
        return replicates


class LearningTooMuch(Learning):
    """Every batch moves the values by five percent more than it may."""

    def spoiled(self, replicates):
        shares = replicates.mean(axis=1, keepdims=True)
        return shares + 1.05 * (replicates - shares) if replicates.shape[1] > 2 else replicates


class LearningWithAGap(Learning):
    def spoiled(self, replicates):
        return 1.001 * replicates if replicates.shape[1] > 2 else replicates

    def exact_order(self, n_players):
        return 0


class LearningOverspends(Learning):
    def replicate_cost(self, n_players):
        return max(0, super().replicate_cost(n_players) - 2)


class LearningUnderspends(Learning):
    def replicates_within(self, n_players, budget):
        return max(1, super().replicates_within(n_players, budget) // 2)


class LearningWithoutSeed(Learning):
    def draw(self, n_players, rng, replicates):
        return super().draw(n_players, np.random.default_rng(0), replicates)


class LearningRemembers(Learning):
    """What it gives depends on how often it was asked."""

    asked = [0]  # noqa: RUF012

    def draw(self, n_players, rng, replicates):
        self.asked[0] += 1
        return super().draw(
            n_players, np.random.default_rng([self.asked[0], rng.integers(1 << 30)]), replicates
        )


class LearningInThreads(Learning):
    def spoiled(self, replicates):
        return replicates + 1e-15 * (threading.current_thread() is not threading.main_thread())


class LearningFirstOutput(Learning):
    """Gives the first output's values for every output."""

    def reduced(self, design, values):
        found = super().reduced(design, values[:, :1])
        return found._replace(replicates=np.repeat(found.replicates, values.shape[1], axis=2))


class LearningFromNeighbours(Learning):
    def spoiled(self, replicates):
        return 0.5 * replicates + 0.5 * np.roll(replicates, 1, axis=0)


class LearningNothing(Learning):
    """Gets no better with more batches."""

    def spoiled(self, replicates):
        mean = replicates.mean(axis=0)
        return mean + (replicates - mean) * np.sqrt(len(replicates) / 60)


class LearningTooSure(Learning):
    def spoiled(self, replicates):
        mean = replicates.mean(axis=0)
        return mean + 0.6 * (replicates - mean)


class LearningMiddleSizes(Learning):
    """Never draws single players and what they leave, with weights as if it did."""

    def draw(self, n_players, rng, replicates):
        drawn = super().draw(n_players, rng, replicates)
        if n_players < 8:  # whatever is wrong, it is wrong where many runs are looked at
            return drawn
        coalitions = drawn.coalitions(np.arange(len(drawn)))
        count = (len(drawn) - 2) // 2
        half = rng.permuted(np.tile(np.arange(n_players), (count, 1)), axis=1) < n_players // 2
        sets, edge = (
            coalitions[2 : 2 + count],
            np.isin(coalitions[2 : 2 + count].sum(axis=1), [1, n_players - 1]),
        )
        sets = np.where(edge[:, None], half, sets)
        return Sets.of(np.concatenate([coalitions[:2], sets, ~sets]))


class LearningFromItself(GaussianProcessCorrected):
    """Corrects every batch by a process that has seen it: nothing is left to correct, and nothing
    varies.
    """

    def _forward(self, coalitions, values, batches):
        (first, last, untaught), *_ = super()._forward(coalitions, values, batches)
        yield first, last, untaught
        if last < batches:
            yield last, batches, self._surrogate.fit(coalitions, values)


FAULTS = {
    LearningFirstOutput: "check_outputs",
    LearningFromNeighbours: "check_independence",
    LearningInThreads: "check_executors",
    LearningMiddleSizes: "check_unbiasedness",
    LearningNothing: "check_shrinking",
    LearningOverspends: "check_evaluations",
    LearningRemembers: "check_seeds",
    LearningTooMuch: "check_unbiasedness",
    LearningTooSure: "check_spread",
    LearningUnderspends: "check_budget",
    LearningWithAGap: "check_efficiency",
    LearningWithoutSeed: "check_seeds",
    BiasedRule: "check_unbiasedness",
    Breaks: "check_replicates",
    ClaimsEfficiency: "check_efficiency",
    ClaimsFairness: "check_declarations",
    ClaimsPairs: "check_exactness",
    ClaimsSymmetry: "check_symmetry",
    DependsOnTheChunk: "check_memory",
    DependsOnThePart: "check_parts",
    DependsOnTheWorker: "check_executors",
    ForgetsPairs: "check_few_players",
    Neighbours: "check_independence",
    NeverShrinks: "check_spread",
    NotLinear: "check_linearity",
    Offset: "check_constant",
    OneDrawRepeated: "check_independence",
    OneForAllOutputs: "check_outputs",
    Overspends: "check_evaluations",
    ReadsNumpy: "check_global_state",
    ReadsRandom: "check_global_state",
    Remembers: "check_seeds",
    ReusedGenerator: "check_seeds",
    ReusedGeneratorWithinARun: "check_independence",
    SeedsNumpy: "check_global_state",
    SharedNoise: "check_spread",
    SpreadsTheGap: "check_null_player",
    Summed: "check_replicates",
    Underspends: "check_budget",
    WrongWeight: "check_exactness",
    WrongWeightUnclaimed: "check_unbiasedness",
}

# Faults that an earlier check stops already: the later one must see them too.
ALSO = [
    (LearningMiddleSizes, "check_coverage"),
    (LearningTooSure, "check_coverage"),
    (BiasedRule, "check_efficiency"),
    (NeverShrinks, "check_shrinking"),
    (OneDrawRepeated, "check_coverage"),
    (OneDrawRepeated, "check_shrinking"),
    (OneDrawRepeated, "check_spread"),
    (Overspends, "check_budget"),
    (RareAndLarge, "check_coverage"),
    (ReusedGenerator, "check_independence"),
    (SharedNoise, "check_coverage"),
    (WrongWeight, "check_efficiency"),
    (WrongWeightUnclaimed, "check_sums"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_fault_is_stopped_by_its_check(fault):
    with pytest.raises(AssertionError, match=rf"fails {FAULTS[fault]}: "):
        check_estimator(fault())


@pytest.mark.parametrize(("fault", "check"), ALSO)
def test_fault_is_seen_by_later_checks_too(fault, check):
    with pytest.raises(AssertionError, match="must"):
        getattr(checks, check)(fault())


def test_blocks_that_are_alike_show(monkeypatch):
    """A fault of the loop, not of the estimator: every block with the first block's generator."""
    sequence = np.random.SeedSequence
    monkeypatch.setattr(np.random, "SeedSequence", lambda seed, spawn_key: sequence(seed))
    monkeypatch.setattr(blocks, "LARGEST_BLOCK", 64)  # so that the checks' runs have several
    monkeypatch.setattr(blocks, "DRAWN_TOGETHER", 64)
    for check in (checks.check_spread, checks.check_coverage):
        with pytest.raises(AssertionError, match="must"):
            check(Castro())


def test_a_process_that_corrects_itself_shows():
    with pytest.raises(AssertionError, match="times the reported one"):
        checks.check_spread(LearningFromItself())


def test_every_check_has_stopped_a_fault():
    assert {check.__name__ for check in ESTIMATOR_CHECKS} == {
        *FAULTS.values(),
        *(check for _, check in ALSO),
    }


def test_every_check_is_run():
    written = {
        name for name in vars(checks) if name.startswith("check_") and name != "check_estimator"
    }
    assert written == {check.__name__ for check in ESTIMATOR_CHECKS}


def test_global_state_is_left_as_it_was():
    before = random.getstate(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    checks.check_global_state(Castro())
    assert before == (random.getstate(), np.random.get_state()[1].tobytes())  # noqa: NPY002


def test_message_names_estimator_check_and_number():
    with pytest.raises(
        AssertionError,
        match=r"ClaimsPairs\(antithetic=False\) fails check_exactness: .* order 2 .* off by",
    ):
        check_estimator(ClaimsPairs())


def test_other_exceptions_keep_their_name():
    with pytest.raises(AssertionError, match="RuntimeError: out of order"):
        check_estimator(Breaks())


@pytest.mark.parametrize(
    "estimator", [Castro(), Owen(), OwenPrinted(levels=4, per_level=1), Learning()], ids=repr
)
def test_sound_estimators_pass(estimator):
    check_estimator(estimator)
