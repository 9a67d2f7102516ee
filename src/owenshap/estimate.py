"""What is asked of a game: checked, planned and run."""

from __future__ import annotations

import time
from collections.abc import Iterator

from owenshap.checks import checked_confidence, whole_number
from owenshap.continuing import resumed, run_until, timed_ends
from owenshap.errors import InputError
from owenshap.estimated import Estimate
from owenshap.estimators import Estimator
from owenshap.evaluate import parse_bytes, rows_within
from owenshap.executors import Executor, checked_executor
from owenshap.games import Game
from owenshap.gathering import needs_spreading
from owenshap.planning import Cost, Plan, check_feasible, check_plan, make_plan
from owenshap.progress import Meter, meter
from owenshap.running import Snapshot, run_plan
from owenshap.stopping import Clock, Until, checked_until


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
        corrected past 10,000 evaluations; else halved-owen. `plan` says what it chose and why, `note` what went otherwise.
    budget : int, optional
        The most evaluations (coalitions that the game values). Never exceeded, and used up to the last whole replicate.
        Where nothing says how many: the larger of 2048 and 64 (n + 1).
    tolerance : float or str, optional
        Stop as soon as all values, of all players and outputs at once, are within it: in units of the game's values, or a share
        of |v(N) − v(∅)| such as '1%'. Without a budget the run goes on until then. 'auto' goes over to exact values where
        those are cheaper.
    top : int, optional
        Stop as soon as it is settled which players have the `top` largest absolute values (in every output), but for ties
        within the tolerance, or 0.1 % of the range without one. 'auto' goes over to exact values here too.
    seconds : float, optional
        Stop after this time, before the block of replicates that would end later; a first replicate is finished however short
        it is, and so is a method that was asked for by name and has but one. 'auto' takes exact values only where they fit it.
        What it came to is in `plan`, to be repeated.
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
        Bound on working arrays, beside the answer itself. A method whose fit needs more is an error; 'auto' takes another.

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
        for latest in _snapshots(  # noqa: B007
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
        done = latest().evaluations if latest else 0
        interrupt.add_note(f"owenshap: {done:,} evaluations were done; iterate over owenshap.estimating(...) to keep them.")
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
    run = _snapshots(
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
    )
    return (snapshot() for snapshot in run)


def _snapshots(
    game: Game,
    method: str | Estimator,
    *,
    budget: int | None,
    tolerance: float | str | None,
    top: int | None,
    seconds: float | None,
    confidence: float,
    seed: int,
    plan: Plan | None,
    resume: Estimate | None,
    efficient: bool,
    executor: Executor | None,
    progress: bool | Meter | None,
    memory: str | int,
) -> Iterator[Snapshot]:
    """Check what is asked, plan it, and run it as its snapshots are asked for."""
    if not isinstance(game, Game):
        advice = "Wrap a function in FunctionGame(fn, n_players), a table of values in TableGame(values)"
        raise InputError("game", "have n_players and values", type(game).__name__, advice)
    n_players = whole_number("n_players", game.n_players, 1, "Give the number of players")
    seed = whole_number("seed", seed, 0, "Any whole number from 0 on will do")
    confidence = checked_confidence(confidence)
    began, until, ends = time.monotonic(), checked_until(tolerance, top, seconds, n_players), None
    clock = Clock(until or Until(), began)
    if resume is not None:
        plan = resumed(resume, n_players, plan, method, budget, until, efficient)
        seed = resume.seed
    elif plan is None:
        plan = make_plan(n_players, method, budget, until=until, memory=parse_bytes(memory))
        if method == "auto" and plan.estimator.random:
            started, computed = time.perf_counter(), time.thread_time()
            ends = timed_ends(game, clock)
            elapsed, computing = time.perf_counter() - started, time.thread_time() - computed
            cost = Cost.measured(elapsed, computing, 2, ends.outputs)
            plan = make_plan(n_players, method, budget, cost, until, parse_bytes(memory))
    elif budget is not None or method != "auto" or until is not None:
        raise InputError("plan", "come alone", "method, budget or tolerance beside it", "The plan says all")
    else:
        check_plan(plan, n_players)
        clock = Clock(plan.until or Until(), began)
    check_feasible(plan, n_players, parse_bytes(memory))
    if plan.until is not None:
        return run_until(
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
            clock=clock,
        )
    return run_plan(
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
