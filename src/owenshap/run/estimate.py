"""What is asked of a game: checked, planned and run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from owenshap.errors import InputError
from owenshap.estimators import Estimator
from owenshap.games.game import Game
from owenshap.run.allocation import Allocation, Snapshot
from owenshap.run.cost import Clock, timed_ends
from owenshap.run.evaluate import Ends
from owenshap.run.plan import make_plan
from owenshap.run.result import Estimate
from owenshap.run.semivalues import players_of, snapshots_under
from owenshap.run.task import Plan, Settings, Task, check_feasible, check_plan
from owenshap.statistics.goal import USUAL, Until, checked_until
from owenshap.support.checks import parse_bytes
from owenshap.support.executors import Executor, checked_executor
from owenshap.support.progress import Meter, close, meter


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
    efficient: bool = True,
    executor: Executor | None = None,
    progress: bool | Meter | None = None,
    memory: str | int = "256MB",
    index: Any = "shapley",
) -> Estimate:
    """Estimate the Shapley values of a game.

    Parameters
    ----------
    game : Game
        FunctionGame, TableGame, or anything with `n_players` and `values`.
    method : str or Estimator
        A name from `owenshap.methods()`, or an estimator with its settings, as in
        HalvedOwen(levels=1000, per_level=2). 'auto' takes what reaches the accuracy the soonest:
        all 2ⁿ coalitions, a Gaussian process where evaluations are dear, else halved-owen. It goes
        by counted work; what it times decides only where that differs by more than ten times. Under
        a budget it is exact where that fits; else a Gaussian process where an evaluation is worth a
        fit, corrected past 10,000 evaluations; else halved-owen. `plan` says what it chose and why,
        `note` what went otherwise.
    budget : int, optional
        The most evaluations (coalitions that the game values). Never exceeded, and used up to the
        last whole replicate.
    tolerance : float or str, optional
        Stop as soon as all values, of all players and outputs at once, are within it: in units of
        the game's values, or a share such as '1%' of their range (|v(N) − v(∅)|, or how far apart
        values were seen to lie where that is more). Without a budget the run goes on until then.
        'auto' goes over to exact values where those are cheaper. Where nothing else is said either,
        it is '1%', with a budget of the larger of 32,768 and 1,024 (n + 1) evaluations; methods
        that cannot be looked at (biased rules, levels or pairs that are given, `linear`) take what
        their settings say, else the larger of 2,048 and 64 (n + 1) evaluations.
    top : int, optional
        Stop as soon as it is settled which players have the `top` largest absolute values (in every
        output), but for ties within the tolerance, or 1 % of the range without one. 'auto' goes
        over to exact values here too.
    seconds : float, optional
        Stop after this time, before the block of replicates that would end later; a first replicate
        is finished however short it is, and so is a method that was asked for by name and has but
        one. 'auto' takes exact values only where they fit it. What it came to is in `plan`, to be
        repeated. Of budget, tolerance, top and seconds, whichever comes first stops the run;
        `stopped_by` says which.
    confidence : float
        Of each interval, and of the answer that a tolerance or `top` stops at.
    seed : int
        The same seed and plan give the same bits, whatever the executor.
    plan : Plan, optional
        The `plan` of an earlier estimate, to repeat it; then without method, budget, tolerance, top
        and seconds.
    resume : Estimate, optional
        An earlier estimate of the same game to go on from, with its method and seed: to a tighter
        tolerance, or a larger budget, which then counts its evaluations too.
    efficient : bool
        Whether the values sum to v(N) − v(∅). Replicates of `owen` and `halved-owen` do so only on
        average; the gap of each is spread over the players by how they go with the sum in the
        others, which lowers the error as well. False leaves the plain mean and its `gap`. One pass
        alone, and the printed methods, keep theirs.
    executor : optional
        Anything with `submit`: a thread or process pool.
    progress : bool or callable, optional
        None: a bar where stderr is a terminal, and in Jupyter. A callable gets (evaluations done,
        evaluations expected).
    memory : str or int
        Bound on working arrays, beside the answer itself. A method whose fit needs more is an
        error; 'auto' takes another.
    index : str or (nodes, weights)
        Which levels count how much: 'shapley', 'banzhaf', 'beta(a, b)' (Kwon & Zou 2022; the
        larger a, the more small coalitions count), or nodes in [0, 1] with weights that sum to 1.
        Sums are promised for 'shapley' alone. Other values are read off the same evaluations: all
        coalitions, pairs of a process, or stars at the index's own levels; a tolerance is that of
        the Shapley values.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> weights = np.arange(16.0)
    >>> fn = lambda coalitions: np.tanh(coalitions @ weights / 60)
    >>> game = owenshap.FunctionGame(fn, n_players=16)
    >>> estimate = owenshap.estimate(game, "halved-owen", budget=2000, seed=0)
    >>> estimate.values.shape, estimate.evaluations <= 2000
    ((16,), True)
    """
    run = _Request(**locals()).snapshots()
    latest = None
    try:
        for latest in run:  # noqa: B007
            pass
    except KeyboardInterrupt as interrupt:
        done = latest().evaluations if latest else 0
        interrupt.add_note(
            f"owenshap: {done:,} evaluations were done; iterate over owenshap.estimating(...) to "
            "keep them."
        )
        raise
    assert latest is not None
    return latest()


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
    efficient: bool = True,
    executor: Executor | None = None,
    progress: bool | Meter | None = None,
    memory: str | int = "256MB",
    index: Any = "shapley",
) -> Iterator[Estimate]:
    """Estimate, one snapshot at a time: each is an Estimate from all blocks so far, the last one is
    the answer.

    Takes what `estimate` takes. Whatever ends the iteration, the last snapshot stays readable.
    The interval of a snapshot holds for a number of replicates fixed beforehand: do not stop
    because it looks narrow, but give a tolerance.

    Examples
    --------
    >>> import owenshap
    >>> from owenshap.testing import airport
    >>> for snapshot in owenshap.estimating(airport([1.0, 2.0, 4.0]), "castro", budget=3000):
    ...     pass
    >>> snapshot.evaluations
    3000
    """
    run = _Request(**locals()).snapshots()
    return (snapshot() for snapshot in run)


@dataclass(frozen=True, eq=False)
class _Request:
    """What is asked of a game, as it was given."""

    game: Game
    method: str | Estimator
    budget: int | None
    tolerance: float | str | None
    top: int | None
    seconds: float | None
    confidence: float
    seed: int
    plan: Plan | None
    resume: Estimate | None
    efficient: bool
    executor: Executor | None
    progress: bool | Meter | None
    memory: str | int
    index: Any

    def snapshots(self) -> Iterator[Snapshot]:
        """Check what is asked, plan it, and run it as its snapshots are asked for."""
        if self.index == "shapley":
            return self._shapley_snapshots()
        return snapshots_under(self, lambda changed: replace(self, **changed).snapshots())

    def _shapley_snapshots(self) -> Iterator[Snapshot]:
        began = time.monotonic()
        game = self.game
        n_players = players_of(game)
        settings = Settings.checked(
            self.seed, self.confidence, self.efficient, parse_bytes(self.memory)
        )
        until = checked_until(self.tolerance, self.top, self.seconds, n_players)
        if until is None and self.budget is None and self.plan is None and self.resume is None:
            until = USUAL
        clock = Clock(until or Until(), began)
        ends = None
        if self.resume is not None:
            plan = _resumed_plan(self, until, n_players)
            settings = replace(settings, seed=self.resume.seed)
            ends = self.resume.ends
        elif self.plan is None:
            plan, ends = self._planned(until, clock, n_players, settings.memory)
        else:
            plan = self._repeated(until, n_players)
            clock = Clock(plan.until or Until(), began)
        check_feasible(plan, n_players, settings.memory)
        executor = checked_executor(self.executor)
        report = meter(self.progress, plan.estimator.name)
        run = Allocation(
            [Task(game, plan)], settings, None, executor, report, clock, ends, self.resume
        )
        return (snapshot for _, snapshot, _ in _closing(run.run(), report))

    def _planned(
        self, until: Until | None, clock: Clock, n_players: int, memory: int
    ) -> tuple[Plan, Ends | None]:
        """A new plan; 'auto' asks what v(∅) and v(N) took, which are then known."""
        plan = make_plan(n_players, self.method, self.budget, until=until, memory=memory)
        if self.method != "auto" or not (plan.estimator.random or until):
            return plan, None
        ends, cost = timed_ends(self.game, clock)
        return make_plan(n_players, self.method, self.budget, cost, until, memory), ends

    def _repeated(self, until: Until | None, n_players: int) -> Plan:
        """The plan of an earlier estimate, as it was."""
        if self.budget is not None or self.method != "auto" or until is not None:
            raise InputError(
                "plan", "come alone", "method, budget or tolerance beside it", "The plan says all"
            )
        return check_plan(self.plan, n_players)


def _closing(
    steps: Iterator[tuple[Game, Snapshot, bool]], report: Meter
) -> Iterator[tuple[Game, Snapshot, bool]]:
    """The same, and the bar is closed whatever ends it."""
    try:
        yield from steps
    finally:
        close(report)


def _resumed_plan(request: _Request, until: Until | None, n_players: int) -> Plan:
    """The plan to go on with from an earlier estimate."""
    earlier = request.resume
    advice = (
        "Give an estimate of the same game, and a tolerance or a larger budget, without method "
        "and plan"
    )
    if not isinstance(earlier, Estimate):
        raise InputError("resume", "be an Estimate", type(earlier).__name__, advice)
    if request.plan is not None or request.method != "auto":
        raise InputError("resume", "come without plan and method", "them", advice)
    if earlier.state is None:
        raise InputError(
            "resume", "be of `estimate` or `estimating`", "one without its session", advice
        )
    if len(earlier.moments.mean) != n_players:
        raise InputError(
            "resume", f"be of a game with {n_players} players", len(earlier.moments.mean), advice
        )
    estimator = earlier.plan.estimator
    if estimator.one_block and not earlier.learned:
        what = f"an estimate by {estimator.name} with a fixed budget"
        raise InputError(
            "resume", "be of independent replicates", what, "Begin anew, with a tolerance"
        )
    if not estimator.random or estimator.exact_order(n_players) >= n_players:
        raise InputError(
            "resume", "leave something to do", f"an estimate by {estimator.name}", "It is exact"
        )
    if request.budget is None and until is None:
        raise InputError(
            "resume", "come with a tolerance, top, seconds or budget", "none of them", advice
        )
    plan = replace(
        make_plan(n_players, estimator, request.budget, until=until or Until()),
        cost=earlier.plan.cost,
    )
    # A learner has spent more than its latest replicates took.
    needed = 2 + earlier.moments.count * estimator.replicate_cost(n_players)
    if earlier.learned:
        needed = earlier.evaluations
    if plan.budget < needed:
        rule = f"be at least the {needed:,} evaluations of the earlier estimate"
        raise InputError("budget", rule, request.budget, "Raise it")
    return plan
