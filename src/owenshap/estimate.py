"""The one loop: blocks of replicates are drawn, evaluated and merged until the plan is done."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, cast

import numpy as np

from owenshap.arrays import FloatArray, IntArray
from owenshap.checks import checked_confidence, whole_number
from owenshap.designs import Design
from owenshap.efficiency import FEWEST_TO_SPREAD, spread_gap
from owenshap.errors import InputError, OwenshapError
from owenshap.estimators import Estimator
from owenshap.estimators._closed_form import ClosedForm
from owenshap.estimators._forward import Forward
from owenshap.evaluate import Ends, evaluate, evaluate_ends, parse_bytes, rows_within
from owenshap.executors import IN_FLIGHT, Executor, checked_executor, in_order
from owenshap.games import AdditiveGame, CompactGame, DrawingGame, Game
from owenshap.intervals import FEWEST_REPLICATES, half_widths, simultaneous_half_widths, stopped_half_widths
from owenshap.moments import Moments
from owenshap.planning import Cost, Plan, check_plan, exact_plan, make_plan
from owenshap.progress import Meter, close, meter, note
from owenshap.stopping import ENDLESS, FIRST_LOOK, LEARNER_LOOK, Clock, Look, Until, checked_until, look, next_look, spent

# Evaluations of a block: few at first, so that workers and snapshots have something early, then enough to drown the
# overhead of a block. Nothing but the number of the block decides, so that results depend on nothing else.
FIRST_BLOCK, LARGEST_BLOCK = 1024, 8192
MOST_TOGETHER = 1 << 20  # evaluations of blocks that a game values together


@dataclass(frozen=True, eq=False)
class Estimate:
    """Shapley values of a game, how far they may be off, and how they came about.

    `values`, `standard_errors`, `lower` and `upper` have shape (n,) where the game returned (m,), else (n, k).
    The last three are None where no interval can be given; `no_interval` says why.

    Each of the intervals [lower, upper] holds its value with the given confidence, at a number of replicates fixed beforehand
    or at the moment when a tolerance, `top` or a clock stopped the run. `simultaneous()` gives intervals that all hold at once.
    """

    plan: Plan
    evaluations: int
    """Coalitions that the game has valued."""
    stopped_by: str
    """Why it ended, in words with numbers."""
    seed: int
    confidence: float
    moments: Moments = field(repr=False)
    ends: Ends = field(repr=False)
    blocks: int = field(default=0, repr=False)
    """Blocks of replicates so far: where `resume` goes on."""
    looks: int = field(default=0, repr=False)
    """Looks at the replicates so far, over which the error rate of `top` is spent."""
    sums: Moments | None = field(default=None, repr=False)
    """Of the values' sums over the players, where the run looked at them."""
    tolerances: FloatArray | None = field(default=None, repr=False)
    """The tolerance of each output (k,), where one was asked for."""

    @property
    def method(self) -> str:
        """Name of the estimator."""
        return self.plan.estimator.name

    @property
    def replicates(self) -> int:
        """Independent estimates of all values that the estimate is the mean of."""
        return self.moments.count

    @property
    def values(self) -> FloatArray:
        """The Shapley values."""
        return self._shaped(self.moments.mean)

    @property
    def no_interval(self) -> str | None:
        """Why there is no interval; None where there is one."""
        estimator, n_players = self.plan.estimator, len(self.moments.mean)
        if self._exact:
            return None
        reason = estimator.no_interval_reason(n_players, self.replicates)
        learned_apart = estimator.together and self.plan.until is not None  # replicates of one surrogate: alike, independent
        if reason and not learned_apart:
            return reason
        if self.replicates < FEWEST_REPLICATES:
            enough = 2 + FEWEST_REPLICATES * estimator.replicate_cost(n_players)
            return (
                f"an interval needs {FEWEST_REPLICATES} replicates and this estimate has {self.replicates}; "
                f"a budget of {enough:,} makes them"
            )
        return None

    @property
    def standard_errors(self) -> FloatArray | None:
        """Standard error of each value."""
        if self.no_interval:
            return None
        return self._shaped(np.zeros_like(self.moments.mean) if self._exact else self.moments.standard_errors)

    @property
    def half_widths(self) -> FloatArray | None:
        """Half the width of the interval of each value."""
        half = self._half_widths()
        return None if half is None else self._shaped(half)

    @property
    def lower(self) -> FloatArray | None:
        """Lower end of the interval of each value."""
        half = self._half_widths()
        return None if half is None else self._shaped(self.moments.mean - half)

    @property
    def upper(self) -> FloatArray | None:
        """Upper end of the interval of each value."""
        half = self._half_widths()
        return None if half is None else self._shaped(self.moments.mean + half)

    @property
    def empty_value(self) -> FloatArray | float:
        """v(∅), a number or (k,)."""
        return self._per_output(self.ends.empty)

    @property
    def grand_value(self) -> FloatArray | float:
        """v(N), a number or (k,)."""
        return self._per_output(self.ends.grand)

    @property
    def gap(self) -> FloatArray | float:
        """v(N) − v(∅) less the sum of the values, a number or (k,): 0 but for rounding where the method is efficient."""
        return self._per_output(self.ends.grand - self.ends.empty - self.moments.mean.sum(axis=0))

    @property
    def _exact(self) -> bool:
        n_players = len(self.moments.mean)
        return self.plan.estimator.exact_order(n_players) >= n_players

    def simultaneous(self) -> tuple[FloatArray, FloatArray] | None:
        """Lower and upper ends of intervals that hold for all players and outputs at once; None where there is none.

        What a tolerance watches: when it stops a run, none of them is wider than the tolerance on either side.

        Examples
        --------
        >>> import owenshap
        >>> from owenshap.testing import airport
        >>> game = airport([1.0, 2.0, 4.0, 8.0])
        >>> lower, upper = owenshap.estimate(game, "castro", tolerance=0.2).simultaneous()
        >>> bool((lower <= game.shapley_values).all() and (game.shapley_values <= upper).all())
        True
        """
        if self.no_interval:
            return None
        half = np.zeros_like(self.moments.mean)
        if not self._exact:
            half = simultaneous_half_widths(self.moments, self._confidence, 1.0 if self.tolerances is None else self.tolerances)
        return self._shaped(self.moments.mean - half), self._shaped(self.moments.mean + half)

    def _half_widths(self) -> FloatArray | None:
        if self.no_interval:
            return None
        if self._exact:
            return np.zeros_like(self.moments.mean)
        return (half_widths if self.plan.until is None else stopped_half_widths)(self.moments, self._confidence)

    @property
    def _confidence(self) -> float:
        """At this look: less error is left for each where the order of the values may have stopped the run."""
        until = self.plan.until
        return self.confidence if until is None or until.top is None else spent(self.confidence, max(1, self.looks))

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self.ends.scalar else values

    def _per_output(self, values: FloatArray) -> FloatArray | float:
        return float(values[0]) if self.ends.scalar else values


def estimate(
    game: Game,
    method: str | Estimator = "auto",
    *,
    budget: int | None = None,
    tolerance: float | str | None = None,
    top: int | None = None,
    seconds: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    plan: Plan | None = None,
    resume: Estimate | None = None,
    efficient: bool = False,
    executor: Executor | None = None,
    progress: bool | Meter | None = None,
    memory: str | int = "256MB",
) -> Estimate:
    """Estimate the Shapley values of a game.

    Parameters
    ----------
    game : Game
        FunctionGame, TableGame, or anything with `n_players` and `values`.
    method : str or Estimator
        A name from `owenshap.methods()`, or an estimator with its settings, as in HalvedOwen(levels=1000, per_level=2).
        'auto' is exact where all 2ⁿ coalitions fit the budget; else a Gaussian process where an evaluation is worth a fit,
        corrected where that gives an interval; else halved-owen. `plan` says what it chose and why.
    budget : int, optional
        The most evaluations (coalitions that the game values). Never exceeded, and used up to the last whole replicate.
        Where nothing says how many: the larger of 2048 and 64 (n + 1).
    tolerance : float or str, optional
        Stop as soon as all values, of all players and outputs at once, are within it: in units of the game's values, or a share
        of |v(N) − v(∅)| such as '1%'. Without a budget the run goes on until then. 'auto' goes over to exact values where
        those are cheaper.
    top : int, optional
        Stop as soon as it is settled which players have the `top` largest absolute values (in every output).
    seconds : float, optional
        Stop after this time, at the end of a block. What it came to is in `plan`, to be repeated.
        Of budget, tolerance, top and seconds, whichever comes first stops the run; `stopped_by` says which.
    confidence : float
        Of each interval, and of the answer that a tolerance or `top` stops at.
    seed : int
        The same seed and plan give the same bits, whatever the executor.
    plan : Plan, optional
        The `plan` of an earlier estimate, to repeat it; then without method, budget, tolerance, top and seconds.
    resume : Estimate, optional
        An earlier estimate of the same game to go on from, with its method and seed: to a tighter tolerance, or a larger
        budget, which then counts its evaluations too.
    efficient : bool
        Whether the values must sum to v(N) − v(∅). Methods that leave a gap then spread it over the players.
    executor : optional
        Anything with `submit`: a thread or process pool.
    progress : bool or callable, optional
        None: a bar where stderr is a terminal. A callable gets (evaluations done, evaluations expected).
    memory : str or int
        Bound on working arrays.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> weights = np.arange(16.0)
    >>> game = owenshap.FunctionGame(lambda coalitions: np.tanh(coalitions @ weights / 60), n_players=16)
    >>> estimate = owenshap.estimate(game, "halved-owen", budget=2000, seed=0)
    >>> estimate.values.shape, estimate.evaluations <= 2000
    ((16,), True)
    """
    latest = None
    try:
        for latest in estimating(  # noqa: B007
            game,
            method,
            budget=budget,
            tolerance=tolerance,
            top=top,
            seconds=seconds,
            confidence=confidence,
            seed=seed,
            plan=plan,
            resume=resume,
            efficient=efficient,
            executor=executor,
            progress=progress,
            memory=memory,
        ):
            pass
    except KeyboardInterrupt as interrupt:
        done = latest.evaluations if latest else 0
        interrupt.add_note(f"owenshap: {done:,} evaluations were done; iterate over owenshap.estimating(...) to keep them.")
        raise
    assert latest is not None
    return latest


def estimating(
    game: Game,
    method: str | Estimator = "auto",
    *,
    budget: int | None = None,
    tolerance: float | str | None = None,
    top: int | None = None,
    seconds: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    plan: Plan | None = None,
    resume: Estimate | None = None,
    efficient: bool = False,
    executor: Executor | None = None,
    progress: bool | Meter | None = None,
    memory: str | int = "256MB",
) -> Iterator[Estimate]:
    """Estimate, one snapshot at a time: each is an Estimate from all blocks so far, the last one is the answer.

    Takes what `estimate` takes. Whatever ends the iteration, the last snapshot stays readable.
    The interval of a snapshot holds for a number of replicates fixed beforehand: do not stop because it looks narrow, but give
    a tolerance.

    Examples
    --------
    >>> import owenshap
    >>> from owenshap.testing import airport
    >>> for snapshot in owenshap.estimating(airport([1.0, 2.0, 4.0]), "castro", budget=3000):
    ...     pass
    >>> snapshot.evaluations
    3000
    """
    if not isinstance(game, Game):
        advice = "Wrap a function in FunctionGame(fn, n_players), a table of values in TableGame(values)"
        raise InputError("game", "have n_players and values", type(game).__name__, advice)
    n_players = whole_number("n_players", game.n_players, 1, "Give the number of players")
    seed = whole_number("seed", seed, 0, "Any whole number from 0 on will do")
    confidence = checked_confidence(confidence)
    until, ends = checked_until(tolerance, top, seconds, n_players), None
    if resume is not None:
        plan = _resumed(resume, n_players, plan, method, budget, until)
        seed = resume.seed
    elif plan is None:
        plan = make_plan(n_players, method, budget, until=until)
        if method == "auto" and plan.estimator.random:
            started = time.perf_counter()
            ends = evaluate_ends(game)
            plan = make_plan(n_players, method, budget, Cost((time.perf_counter() - started) / 2, ends.outputs), until)
    elif budget is not None or method != "auto" or until is not None:
        raise InputError("plan", "come alone", "method, budget or tolerance beside it", "The plan says all")
    else:
        check_plan(plan, n_players)
    if plan.until is not None:
        return _run_until(
            game,
            plan,
            seed=seed,
            confidence=confidence,
            spread=needs_spreading(efficient, plan, n_players),
            executor=checked_executor(executor),
            report=meter(progress, plan.estimator.name),
            memory=memory,
            resume=resume,
            ends=ends,
        )
    return _run(
        game,
        plan,
        seed=seed,
        confidence=confidence,
        spread=needs_spreading(efficient, plan, n_players),
        executor=checked_executor(executor),
        report=meter(progress, plan.estimator.name),
        rows_at_once=rows_within(memory, n_players),
        memory=parse_bytes(memory),
        ends=ends,
    )


def _run(
    game: Game,
    plan: Plan,
    *,
    seed: int,
    confidence: float,
    spread: bool,
    executor: Executor | None,
    report: Meter,
    rows_at_once: int,
    memory: int,
    ends: Ends | None,
) -> Iterator[Estimate]:
    estimator, n_players = plan.estimator, game.n_players
    if isinstance(estimator, ClosedForm):
        close(report)
        yield _closed_form(game, plan, seed, confidence)
        return
    expected = 2 + plan.replicates * estimator.replicate_cost(n_players)
    ends = evaluate_ends(game) if ends is None else ends
    gathered = _Gathered(plan, n_players, ends.grand - ends.empty, memory) if spread else _Merged()
    evaluations, blocks, block, latest = 2, 0, np.zeros(1), None
    numbered = enumerate(_blocks(plan, n_players))
    try:
        for partly, used, last in _done(game, estimator, seed, numbered, ends, executor, rows_at_once, memory):
            evaluations += used
            block = block + partly
            report(min(evaluations, expected - 1), expected)
            if not last:
                continue
            moments = gathered.add(block)
            block, blocks = np.zeros(1), blocks + 1
            if moments is not None:
                stopped_by = _stopped_by(plan, moments.count, evaluations, n_players)
                latest = Estimate(plan, evaluations, stopped_by, seed, confidence, moments, ends, blocks)
                yield latest
    except OwenshapError as error:
        error.estimate = latest
        raise
    else:
        report(expected, expected)
    finally:
        close(report)


class Continuing:
    """A run that is looked at from time to time: what it has come to, and how to go on."""

    def __init__(
        self,
        game: Game,
        plan: Plan,
        seed: int,
        memory: str | int,
        executor: Executor | None,
        spread: bool = False,
        earlier: Estimate | None = None,
        ends: Ends | None = None,
    ) -> None:
        self.game, self.plan = game, plan
        self.ends = earlier.ends if earlier is not None else evaluate_ends(game) if ends is None else ends
        self.evaluations, self.blocks = (2, 0) if earlier is None else (earlier.evaluations, earlier.blocks)
        self.moments = None if earlier is None else earlier.moments
        self.sums = None if earlier is None else earlier.sums
        self.seed, self._executor = seed, executor
        self._memory = parse_bytes(memory)
        total = self.ends.grand - self.ends.empty
        self._gathered = _Gathered(plan, game.n_players, total, self._memory) if spread else None
        self._learner = plan.estimator.learner(game.n_players)
        self.looks = 0 if earlier is None else earlier.looks

    @property
    def affordable(self) -> int:
        """Replicates that the budget leaves, those made so far among them."""
        if self._learner is None:
            return self.plan.replicates
        return self.count + (self.plan.budget - self.evaluations) // self.plan.estimator.replicate_cost(self.game.n_players)

    @property
    def next_look(self) -> int:
        """Replicates at the next look."""
        if self._learner is not None and self.count == 0:
            return min(LEARNER_LOOK, self.affordable)
        return min(next_look(self.count, self.plan.estimator.replicate_cost(self.game.n_players)), self.affordable)

    def relearn(self, needed: float) -> bool:
        """Begin anew with what was learned, where that pays; whether it did."""
        if self._learner is None or not self._learner.relearn(self.count, needed, self.affordable - self.count):
            return False
        self.moments = self.sums = None
        return True

    @property
    def count(self) -> int:
        """Replicates so far."""
        return 0 if self.moments is None else self.moments.count

    def advance(self, replicates: int, report: Callable[[int], None], late: Callable[[int], bool]) -> None:
        """Go on to so many replicates, or to the end of the block in which it is late, for another look."""
        cost = max(1, self.plan.estimator.replicate_cost(self.game.n_players))
        at_once = 1 if self._executor is None else IN_FLIGHT
        if self._learner is not None and self.blocks == 0:
            self._make([min(self._learner.first, replicates)], report)
            self.relearn(math.inf)
            replicates = min(replicates, self.affordable)
        while self.count < replicates and (self.count == 0 or not late(self.evaluations)):
            largest, left = max(1, LARGEST_BLOCK // cost), replicates - self.count
            sizes: list[int] = []
            while left and len(sizes) < at_once:
                sizes.append(min(left, largest))
                left -= sizes[-1]
            self._make(sizes, report)
        self.looks += 1

    def _make(self, sizes: list[int], report: Callable[[int], None]) -> None:
        """Blocks of so many replicates each."""
        if self._learner is not None:
            self._learn(self._learner, sizes, report)
            return
        numbered = enumerate(sizes, self.blocks)
        block, rows_at_once = np.zeros(1), rows_within(self._memory, self.game.n_players)
        for partly, spent_here, last in _done(
            self.game, self.plan.estimator, self.seed, numbered, self.ends, self._executor, rows_at_once, self._memory
        ):
            self.evaluations += spent_here
            block = block + partly
            report(self.evaluations)
            if last:
                self._add(block)
                block = np.zeros(1)

    def _learn(self, learner: Forward, sizes: list[int], report: Callable[[int], None]) -> None:
        """The same for a learner, which sees the values block by block."""
        designs = list(_designs(self.game, self.plan.estimator, self.seed, enumerate(sizes, self.blocks)))
        rows_at_once = rows_within(self._memory, self.game.n_players)
        tasks = ((self.game, design, self.ends, rows_at_once) for design in designs)
        for design, (values, used) in zip(designs, in_order(evaluate, tasks, self._executor), strict=True):
            self.evaluations += used
            report(self.evaluations)
            self._add(learner.replicates(design, values))

    def _add(self, replicates: FloatArray) -> None:
        sums = Moments.of(replicates.sum(axis=1, keepdims=True))
        self.blocks += 1
        self.sums = sums if self.sums is None else self.sums.merge(sums)
        if self._gathered is not None:
            self.moments = self._gathered.add(replicates)
            return
        moments = Moments.of(replicates)
        self.moments = moments if self.moments is None else self.moments.merge(moments)

    def only(self, game: Game, outputs: IntArray) -> None:
        """Go on with a game of some of the outputs alone."""
        assert self.moments is not None
        assert self.sums is not None
        if self._gathered is not None:
            self._gathered.only(outputs)
        self.game, self.ends = game, self.ends.of_outputs(outputs)
        self.moments, self.sums = self.moments.of_outputs(outputs), self.sums.of_outputs(outputs)

    def look(self, outputs: slice, tolerances: FloatArray | None, confidence: float) -> Look:
        """Look at some outputs."""
        assert self.plan.until is not None
        assert self.moments is not None
        total = (self.ends.grand - self.ends.empty)[outputs]
        own = None if tolerances is None else tolerances[outputs]
        moments, sums = self.moments.of_outputs(outputs), self.sums and self.sums.of_outputs(outputs)
        return look(moments, sums, total, self.plan.until, own, confidence, max(1, self.looks))

    def estimate(
        self, outputs: IntArray | slice, tolerances: FloatArray | None, confidence: float, stopped_by: str, finished: bool
    ) -> Estimate:
        """What some of the outputs have come to; a finished one has the plan that repeats it."""
        assert self.moments is not None
        plan = self.plan
        if finished and plan.until is not None:
            cost = plan.estimator.replicate_cost(self.game.n_players)
            budget = max(self.evaluations, 2 + self.count * cost) if plan.budget == ENDLESS else plan.budget
            plan = replace(plan, until=plan.until.without_clock(self.evaluations))
            if self._learner is None:  # what a learner does next depends on what it may spend
                plan = replace(plan, replicates=self.count, budget=budget)
        return Estimate(
            plan,
            self.evaluations,
            stopped_by,
            self.seed,
            confidence,
            self.moments.of_outputs(outputs),
            self.ends.of_outputs(outputs),
            self.blocks,
            self.looks,
            self.sums and self.sums.of_outputs(outputs),
            None if tolerances is None else tolerances[outputs],
        )


def _run_until(
    game: Game,
    plan: Plan,
    *,
    seed: int,
    confidence: float,
    spread: bool,
    executor: Executor | None,
    report: Meter,
    memory: str | int,
    resume: Estimate | None,
    ends: Ends | None,
) -> Iterator[Estimate]:
    """Go on from look to look until a goal is reached, or the budget or the time ends."""
    assert plan.until is not None
    began, latest, everything = time.monotonic(), None, slice(None)
    try:
        run = Continuing(game, plan, seed, memory, executor, spread, resume, ends)
        ends, cost = run.ends, plan.estimator.replicate_cost(game.n_players)
        tolerances = plan.until.tolerances(np.abs(ends.grand - ends.empty))
        clock = Clock(plan.until, began)
        expected = plan.budget if plan.budget < ENDLESS else run.evaluations + 10 * cost * next_look(run.count, cost)
        looked = run.count < FIRST_LOOK  # an earlier estimate may be good enough as it is
        while True:
            if looked:
                run.advance(run.next_look, partial(_bounded, report, expected), clock.late)
            looked, found = True, run.look(everything, tolerances, confidence)
            reason = stop_reason(plan, found, run, cost, tolerances, clock)
            said = reason or f"nothing yet: {run.count:,} replicates are done"
            latest = run.estimate(everything, tolerances, confidence, said, reason is not None)
            expected = expected_evaluations(plan, found, run, cost)
            note(report, found.standing(plan.until, tolerances))
            learned = reason is None and run.relearn(found.replicates_needed)
            if reason is None and not learned and better_exactly(plan, found, run):
                settings = {"seed": seed, "confidence": confidence, "memory": memory}
                yield exactly(game, run.evaluations, settings, executor, report)
                return
            if reason is not None:
                report(run.evaluations, run.evaluations)
            yield latest
            if reason is not None:
                return
    except OwenshapError as error:
        error.estimate = latest
        raise
    finally:
        close(report)


def _bounded(report: Meter, expected: int, done: int) -> None:
    report(min(done, expected - 1), expected)


def exactly(
    game: Game, evaluations: int, settings: dict[str, Any], executor: Executor | None = None, progress: bool | Meter = False
) -> Estimate:
    """Exact values in place of sampling that has taken so many evaluations already; they count."""
    plan = exact_plan(game.n_players, "the tolerance takes more evaluations than all coalitions")
    found = estimate(game, plan=plan, executor=executor, progress=progress, **settings)
    words = f"{found.stopped_by}, after {evaluations:,} that showed it to be cheaper than sampling"
    return replace(found, evaluations=found.evaluations + evaluations, stopped_by=words)


def stop_reason(plan: Plan, found: Look, run: Continuing, cost: int, tolerances: FloatArray | None, clock: Clock) -> str | None:
    """Why a run stops here, in words with numbers; None where it goes on."""
    assert plan.until is not None
    count, evaluations = run.count, run.evaluations
    if found.done:
        return found.reached(plan.until, tolerances, evaluations)
    if clock.late(evaluations):
        return f"{clock}: {found.missed(plan.until, tolerances, count, evaluations, cost)}"
    if count >= run.affordable:
        return f"budget of {plan.budget:,} evaluations: {found.missed(plan.until, tolerances, count, evaluations, cost)}"
    return None


def better_exactly(plan: Plan, found: Look, run: Continuing) -> bool:
    """Whether all coalitions are fewer than what sampling still needs, and fit the budget."""
    assert plan.until is not None
    if not plan.until.exact or not found.replicates_needed < math.inf:
        return False
    n_players = run.game.n_players
    needed = (found.replicates_needed - run.count) * plan.estimator.replicate_cost(n_players)
    return needed > 1 << n_players and run.evaluations + (1 << n_players) <= plan.budget


def expected_evaluations(plan: Plan, found: Look, run: Continuing, cost: int) -> int:
    """Evaluations at the end, as far as a look can tell."""
    more = found.replicates_needed - run.count
    return int(min(run.evaluations + (max(1.0, more) * cost if math.isfinite(more) else run.evaluations), plan.budget))


def _resumed(
    earlier: object, n_players: int, plan: Plan | None, method: str | Estimator, budget: int | None, until: Until | None
) -> Plan:
    """The plan to go on with from an earlier estimate."""
    advice = "Give an estimate of the same game, and a tolerance or a larger budget, without method and plan"
    if not isinstance(earlier, Estimate):
        raise InputError("resume", "be an Estimate", type(earlier).__name__, advice)
    if plan is not None or method != "auto":
        raise InputError("resume", "come without plan and method", "them", advice)
    if len(earlier.moments.mean) != n_players:
        raise InputError("resume", f"be of a game with {n_players} players", len(earlier.moments.mean), advice)
    estimator = earlier.plan.estimator
    if estimator.together:
        raise InputError("resume", "be of independent replicates", f"an estimate by {estimator.name}", "Begin anew")
    if not estimator.random:
        raise InputError("resume", "leave something to do", f"an estimate by {estimator.name}", "It is exact")
    if budget is None and until is None:
        raise InputError("resume", "come with a tolerance, top, seconds or budget", "none of them", advice)
    going_on = make_plan(n_players, estimator, budget, until=until or Until())
    if going_on.replicates < earlier.moments.count:
        needed = 2 + earlier.moments.count * estimator.replicate_cost(n_players)
        raise InputError("budget", f"be at least the {needed:,} evaluations of the earlier estimate", budget, "Raise it")
    return going_on


def _done(
    game: Game,
    estimator: Estimator,
    seed: int,
    blocks: Iterable[tuple[int, int]],
    ends: Ends,
    executor: Executor | None,
    rows_at_once: int,
    memory: int,
) -> Iterator[tuple[FloatArray, int, bool]]:
    """What each part of a block adds to its replicates, its evaluations, and whether it ends its block."""
    designs = _designs(game, estimator, seed, blocks)
    if isinstance(game, CompactGame) and estimator.by_design:
        most = min(MOST_TOGETHER, memory // (32 * ends.outputs))
        groups = ((game, estimator, group, ends, rows_at_once) for group in _groups(designs, most))
        return chain.from_iterable(in_order(_work_together, groups, executor))
    return in_order(_work, ((game, estimator, part, last, ends, rows_at_once) for part, last in _parts(designs)), executor)


def _designs(game: Game, estimator: Estimator, seed: int, blocks: Iterable[tuple[int, int]]) -> Iterator[Design]:
    """The design of every block, given by number and replicates."""
    drawing = isinstance(game, DrawingGame)
    for number, replicates in blocks:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        design = estimator.draw(game.n_players, rng, replicates)
        if drawing and design.units is not None:
            design = design.over(cast(DrawingGame, game).draw_background(rng, design.units))
        yield design


def _parts(designs: Iterable[Design]) -> Iterator[tuple[Design, bool]]:
    """The designs cut into parts of bounded size; with each, whether it ends its block."""
    for design in designs:
        parts = list(design.parts(LARGEST_BLOCK))
        for part in parts:
            yield part, part is parts[-1]


def _groups(designs: Iterable[Design], most: int) -> Iterator[list[Design]]:
    """The designs of blocks that a game can value together, of so many coalitions where they are cut anywhere."""
    group: list[Design] = []
    for design in designs:
        if group and sum(map(len, group)) + len(design) > most:
            yield group
            group = []
        group.append(design)
    yield group


def _blocks(plan: Plan, n_players: int) -> Iterator[int]:
    """Replicates of each block."""
    if plan.estimator.together:
        yield plan.replicates
        return
    cost, left, number = max(1, plan.estimator.replicate_cost(n_players)), plan.replicates, 0
    while left:
        evaluations = min(FIRST_BLOCK << min(number, 8), LARGEST_BLOCK)
        replicates = min(left, max(1, evaluations // cost))
        yield replicates
        left, number = left - replicates, number + 1


def _work(
    game: Game, estimator: Estimator, part: Design, last: bool, ends: Ends, rows_at_once: int
) -> tuple[FloatArray, int, bool]:
    """What a worker does: expand a part of a design, evaluate it, reduce it to what it adds to its replicates."""
    values, evaluations = evaluate(game, part, ends, rows_at_once)
    return estimator.replicates(part, values), evaluations, last


def _work_together(
    game: CompactGame, estimator: Estimator, group: list[Design], ends: Ends, rows_at_once: int
) -> list[tuple[FloatArray, int, bool]]:
    """The same for the blocks of a game that needs no coalitions."""
    design = group[0].joined(group[1:])
    replicates = game.design_replicates(design, ends.empty, ends.grand)
    if not np.isfinite(replicates).all():  # the long way tells where
        return [_work(game, estimator, part, last, ends, rows_at_once) for part, last in _parts(group)]
    cuts = np.cumsum([each.units[0] for each in group[:-1] if each.units is not None], dtype=np.intp)
    blocks = zip(np.split(replicates, cuts), np.split(design.evaluations(), cuts), strict=True)
    return [(block, int(spent.sum()), True) for block, spent in blocks]


def _closed_form(game: Game, plan: Plan, seed: int, confidence: float) -> Estimate:
    """Of an additive game: nothing to sample, nothing to be unsure of."""
    values = game.shapley_values() if isinstance(game, AdditiveGame) else None
    if values is None:
        advice = "Leave out plan, or give that of another method"
        raise InputError("game", "be additive for values in closed form", type(game).__name__, advice)
    moments = Moments(1, values, np.zeros_like(values))
    return Estimate(plan, 2, "closed form: the model is linear", seed, confidence, moments, evaluate_ends(game))


class _Merged:
    """Replicates as they come, kept as moments."""

    def __init__(self) -> None:
        self._moments: Moments | None = None

    def add(self, replicates: FloatArray) -> Moments | None:
        """Moments of all replicates so far."""
        new = Moments.of(replicates)
        self._moments = new if self._moments is None else self._moments.merge(new)
        return self._moments


class _Gathered:
    """Replicates as they come, all kept, because the gap of each is spread by weights from all others."""

    def __init__(self, plan: Plan, n_players: int, total: FloatArray, memory: int) -> None:
        held = 4 * 8 * plan.replicates * n_players * len(total)
        if plan.replicates == ENDLESS:
            raise InputError(
                "budget", "be given with efficient=True and a tolerance", None, "All replicates are kept in memory"
            )
        if held > memory:
            advice = "Raise it, lower the budget, or leave out efficient=True"
            raise InputError("memory", f"hold {held:,} bytes of replicates to spread the gap", memory, advice)
        self._total = total
        self._kept: list[FloatArray] = []

    def add(self, replicates: FloatArray) -> Moments | None:
        """Moments of all replicates so far, once there are enough for weights."""
        self._kept.append(replicates)
        kept = np.concatenate(self._kept)
        return Moments.of(spread_gap(kept, self._total)) if len(kept) >= FEWEST_TO_SPREAD else None

    def only(self, outputs: IntArray) -> None:
        """Go on with some of the outputs alone."""
        self._total = self._total[outputs]
        self._kept = [each[:, :, outputs] for each in self._kept]


def needs_spreading(efficient: bool, plan: Plan, n_players: int) -> bool:
    """Whether the gap must be spread, or an error where it cannot be."""
    if not efficient or "efficiency" in plan.estimator.axioms:
        return False
    if plan.replicates < FEWEST_TO_SPREAD:
        needed = 2 + FEWEST_TO_SPREAD * plan.estimator.replicate_cost(n_players)
        rule = f"be at least {needed} with efficient=True, which needs {FEWEST_TO_SPREAD} replicates"
        raise InputError("budget", rule, plan.budget, "Raise it, or use method='castro', which leaves no gap")
    return True


def _stopped_by(plan: Plan, replicates: int, evaluations: int, n_players: int) -> str:
    if replicates < plan.replicates:
        return f"nothing yet: {replicates:,} of {plan.replicates:,} replicates are done"
    if not plan.estimator.random:
        return f"all {evaluations:,} coalitions are evaluated"
    cost = plan.estimator.replicate_cost(n_players)
    return f"budget of {plan.budget:,} evaluations: {replicates:,} replicates took {evaluations:,}, one more may take {cost:,}"
