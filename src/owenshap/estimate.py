"""The one loop: blocks of replicates are drawn, evaluated and merged until the plan is done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from time import perf_counter
from typing import cast

import numpy as np

from owenshap.arrays import FloatArray
from owenshap.checks import whole_number
from owenshap.designs import Design
from owenshap.efficiency import FEWEST_TO_SPREAD, spread_gap
from owenshap.errors import InputError, OwenshapError
from owenshap.estimators import Estimator
from owenshap.estimators._closed_form import ClosedForm
from owenshap.evaluate import Ends, evaluate, evaluate_ends, parse_bytes, rows_within
from owenshap.executors import Executor, checked_executor, in_order
from owenshap.games import AdditiveGame, CompactGame, DrawingGame, Game
from owenshap.intervals import FEWEST_REPLICATES, t_half_widths
from owenshap.moments import Moments
from owenshap.planning import Cost, Plan, check_plan, make_plan
from owenshap.progress import Meter, close, meter

# Evaluations of a block: few at first, so that workers and snapshots have something early, then enough to drown the
# overhead of a block. Nothing but the number of the block decides, so that results depend on nothing else.
FIRST_BLOCK, LARGEST_BLOCK = 1024, 8192
MOST_TOGETHER = 1 << 20  # evaluations of blocks that a game values together


@dataclass(frozen=True, eq=False)
class Estimate:
    """Shapley values of a game, how far they may be off, and how they came about.

    `values`, `standard_errors`, `lower` and `upper` have shape (n,) where the game returned (m,), else (n, k).
    The last three are None where no interval can be given; `no_interval` says why.
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
        if reason:
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

    def _half_widths(self) -> FloatArray | None:
        if self.no_interval:
            return None
        return np.zeros_like(self.moments.mean) if self._exact else t_half_widths(self.moments, self.confidence)

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self.ends.scalar else values

    def _per_output(self, values: FloatArray) -> FloatArray | float:
        return float(values[0]) if self.ends.scalar else values


def estimate(
    game: Game,
    method: str | Estimator = "auto",
    *,
    budget: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    plan: Plan | None = None,
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
        Where neither it nor the method's own settings say how many: the larger of 2048 and 64 (n + 1).
    confidence : float
        Of each interval.
    seed : int
        The same seed and plan give the same bits, whatever the executor.
    plan : Plan, optional
        The `plan` of an earlier estimate, to repeat it; then without method and budget.
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
            confidence=confidence,
            seed=seed,
            plan=plan,
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
    confidence: float = 0.95,
    seed: int = 0,
    plan: Plan | None = None,
    efficient: bool = False,
    executor: Executor | None = None,
    progress: bool | Meter | None = None,
    memory: str | int = "256MB",
) -> Iterator[Estimate]:
    """Estimate, one snapshot at a time: each is an Estimate from all blocks so far, the last one is the answer.

    Takes what `estimate` takes. Whatever ends the iteration, the last snapshot stays readable.
    The interval of a snapshot holds for a number of replicates fixed beforehand: do not stop because it looks narrow.

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
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise InputError("confidence", "be between 0 and 1", confidence, "0.95 is usual")
    ends = None
    if plan is None:
        plan = make_plan(n_players, method, budget)
        if method == "auto" and plan.estimator.random:
            started = perf_counter()
            ends = evaluate_ends(game)
            plan = make_plan(n_players, method, budget, Cost((perf_counter() - started) / 2, ends.outputs))
    elif budget is not None or method != "auto":
        raise InputError("plan", "come alone", "method or budget beside it", "The plan says both")
    else:
        check_plan(plan, n_players)
    return _run(
        game,
        plan,
        seed=seed,
        confidence=float(confidence),
        spread=_needs_spreading(efficient, plan, n_players),
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
    evaluations, block, latest = 2, np.zeros(1), None
    try:
        for partial, spent, last in _done(game, plan, seed, ends, executor, rows_at_once, memory):
            evaluations += spent
            block = block + partial
            report(min(evaluations, expected - 1), expected)
            if not last:
                continue
            moments = gathered.add(block)
            block = np.zeros(1)
            if moments is not None:
                stopped_by = _stopped_by(plan, moments.count, evaluations, n_players)
                latest = Estimate(plan, evaluations, stopped_by, seed, confidence, moments, ends)
                yield latest
    except OwenshapError as error:
        error.estimate = latest
        raise
    else:
        report(expected, expected)
    finally:
        close(report)


def _done(
    game: Game, plan: Plan, seed: int, ends: Ends, executor: Executor | None, rows_at_once: int, memory: int
) -> Iterator[tuple[FloatArray, int, bool]]:
    """What each part of a block adds to its replicates, its evaluations, and whether it ends its block."""
    designs, estimator = _designs(game, plan, seed), plan.estimator
    if isinstance(game, CompactGame) and estimator.by_design:
        most = min(MOST_TOGETHER, memory // (32 * ends.outputs))
        groups = ((game, estimator, group, ends, rows_at_once) for group in _groups(designs, most))
        return chain.from_iterable(in_order(_work_together, groups, executor))
    return in_order(_work, ((game, estimator, part, last, ends, rows_at_once) for part, last in _parts(designs)), executor)


def _designs(game: Game, plan: Plan, seed: int) -> Iterator[Design]:
    """The design of every block."""
    drawing = isinstance(game, DrawingGame)
    for number, replicates in enumerate(_blocks(plan, game.n_players)):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        design = plan.estimator.draw(game.n_players, rng, replicates)
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


def _needs_spreading(efficient: bool, plan: Plan, n_players: int) -> bool:
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
