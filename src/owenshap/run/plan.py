"""Which plan for a game of n players: what 'auto' takes, and what a budget or a goal settles."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from owenshap.designs.pairs import MOST_CHOSEN
from owenshap.errors import InputError
from owenshap.estimators import Estimator
from owenshap.estimators.base import GROWTH, ClosedForm, default_budget
from owenshap.estimators.exact import MOST_PLAYERS
from owenshap.estimators.gaussian_process import FIRST_FIT, TO_BE_TAUGHT
from owenshap.run.cost import Cost, duration, quickest
from owenshap.run.methods import named
from owenshap.run.task import Plan, check_feasible, checked_budget, infeasible
from owenshap.statistics.goal import ENDLESS, FIRST_LOOK, Until
from owenshap.surrogates.base import FOLDS
from owenshap.surrogates.cross_validated import most_refitted
from owenshap.surrogates.gaussian_process.settings import fit_seconds, taught_seconds, teaching
from owenshap.surrogates.gaussian_process.surrogate import MOST_FITTED_PLAYERS, MOST_PAIRS

# evaluations for each player that reach 1 % of the range, about, by halved stars
# (benchmarks/decisions.md#by-the-clock-or-by-count)
BY_STARS = 320
BY_PROCESS = 12  # the same by a process that grows
BY_CORRECTED = 25  # the same by one that is corrected
BY_TAUGHT = 36  # the same by one that other games have taught, and that learns nothing of its own
# times as long as sampling that all coalitions may take: their values have no error
EXACT_LONGER = 2
# background rows for each star where they are drawn for a tolerance of 1 %, and the least of them,
# so that a call has fewer coalitions to make (benchmarks/decisions.md#drawn-backgrounds)
DRAWN, LEAST_DRAWN = 40, 10
# times the predictions that averaging over all must take for drawing to be worth its error
DRAWN_WORTH = 4
STARS = "halved-owen"  # what is looked at sooner than a fit is made
TAUGHT = "taught"  # a process that grows from what other games teach
LINEAR = Plan(ClosedForm(), 1, 2, "the model is linear")


def usual_cap(n_players: int) -> int:
    """The most evaluations where nothing is asked for: what is not within 1 % by then is rough, and
    a user should know before more is spent.
    """
    return 16 * default_budget(n_players)


def least_ahead(plan: Plan, n_players: int) -> int:
    """Evaluations that a game of n players takes at least, about."""
    if plan.until is None:
        return plan.evaluations(n_players)
    return min(plan.budget, BY_PROCESS * n_players)


def least_of_a_star(n_players: int) -> int:
    """Evaluations of the first estimate by halved stars."""
    return 2 * (n_players + 1) + 2


def drawn_pays(n_players: int, background: int) -> bool:
    """Whether drawing background rows for each star takes far fewer predictions than a process that
    averages over all of them.
    """
    drawn = BY_STARS * (n_players + 1) * LEAST_DRAWN
    return background * BY_PROCESS * n_players > DRAWN_WORTH * drawn


def sums_pay(n_players: int, background: int) -> bool:
    """Whether a sum over all background rows for each feature and level, which has no error, takes
    little longer than stars that draw some of them.
    """
    return background * n_players <= EXACT_LONGER * BY_STARS * (n_players + 1) * DRAWN


def drawn_rows(n_players: int, background: int, until: Until | None) -> int | None:
    """Background rows that stars draw where a tolerance is asked for: fewer, with the square of it,
    the wider it is, so that the first look can be within it; None: all, where these are not many
    times as many, or all coalitions take little longer.
    """
    if until is None or until.tolerance is None:
        return None
    rows = max(LEAST_DRAWN, math.ceil(DRAWN * _tighter(until)))
    whole = background << n_players if n_players <= MOST_PLAYERS else math.inf
    exact = whole <= EXACT_LONGER * _by_stars(n_players, until) * rows
    return None if exact or background < DRAWN_WORTH * rows else rows


def make_plan(
    n_players: int,
    method: str | Estimator,
    budget: int | None,
    cost: Cost | None = None,
    until: Until | None = None,
    memory: float = math.inf,
) -> Plan:
    """The plan for a game of n players; what an evaluation was measured to cost, and memory, bear
    on 'auto' alone.
    """
    budget = checked_budget(budget)
    if until is not None and until.usual:
        budget = usual_cap(n_players)
        if not _stops(method, n_players):
            budget = until = None
    if until is not None:
        return _open_ended(n_players, method, budget, cost, until, memory)
    if method == "auto":
        return _auto(n_players, budget, cost, memory)
    return _planned(method, n_players, budget, "it was asked for")


def feasible_plan(
    n_players: int,
    method: str | Estimator,
    budget: int | None,
    cost: Cost | None,
    until: Until | None,
    memory: int,
) -> Plan:
    """The same; an error where it is not for so many players, or needs more memory."""
    plan = make_plan(n_players, method, budget, cost, until, memory)
    check_feasible(plan, n_players, memory)
    return plan


kept_plan = lru_cache(maxsize=64, typed=True)(feasible_plan)
"""One plan for all calls that ask for the same by name: its estimator keeps what its draws have in
common.
"""


def exact_plan(n_players: int, because: str) -> Plan:
    """The plan for exact values."""
    return _planned("exact", n_players, 1 << n_players, because)


def fitting_seconds(pairs: int, n_players: int, outputs: int) -> float:
    """What the next fit of a process that learns on the way takes, about, on one core."""
    return _doubted(pairs, n_players) * fit_seconds(pairs, n_players, outputs)


def _doubted(pairs: float, n_players: int) -> int:
    """Fits that a process takes, at most: cross-validation makes it again without each fold."""
    return 1 + FOLDS if n_players <= pairs <= most_refitted(n_players) else 1


def _open_ended(
    n_players: int,
    method: str | Estimator,
    budget: int | None,
    cost: Cost | None,
    until: Until,
    memory: float,
) -> Plan:
    """A plan that ends when a goal is reached, or the budget where there is one."""
    if method == "auto":
        plan, budget = _auto_until(n_players, budget, cost, until, memory)
        until = replace(until, exact=n_players <= MOST_PLAYERS)
    else:
        estimator = settled_for(method, n_players, budget)
        one = estimator.replicate_cost(n_players)
        plan = _planned(
            estimator,
            n_players,
            max(default_budget(n_players), 2 + one) if budget is None else budget,
            "it was asked for",
        )
    estimator = plan.estimator
    if not estimator.random or estimator.exact_order(n_players) >= n_players:
        return plan
    if not estimator.unbiased(n_players) and estimator.learner(n_players) is None:
        rule = f"be unbiased with a tolerance, top or seconds, for {n_players} players"
        raise InputError("method", rule, estimator, "Use rule='stratified', or give a budget alone")
    replicates = ENDLESS if budget is None else estimator.replicates_within(n_players, budget)
    return replace(
        plan, replicates=replicates, budget=ENDLESS if budget is None else budget, until=until
    )


def _auto_until(
    n_players: int, budget: int | None, cost: Cost | None, until: Until, memory: float
) -> tuple[Plan, int | None]:
    """What reaches a goal the soonest, and the evaluations it may have."""
    default = default_budget(n_players)
    within = None if budget is None or budget > default or until.usual else budget
    plan = _auto(n_players, within, None, memory)
    exact = not plan.estimator.random
    if exact and until.seconds is not None:
        plan, budget = _sampled_first(plan, n_players, budget)
        exact = not plan.estimator.random
    if not exact:
        plan = replace(plan, estimator=settled_for(plan.estimator.name, n_players, budget))
    if cost is None or (budget is not None and budget < default):
        return plan, budget
    ways = _ways(n_players, until, cost)
    possible = n_players <= MOST_PLAYERS and (budget is None or 1 << n_players <= budget)
    if exact or (possible and until.seconds is None):
        ways = {"exact": ((1 << n_players) / EXACT_LONGER, 0.0)} | ways
    way = quickest(ways, cost)
    if exact and way != TAUGHT:  # what has no error is the usual way, unless many rows share one
        ways.pop(TAUGHT, None)
        way = quickest(ways, cost, "exact")
    takes = cost.told(ways, way)
    if way == "exact":
        because = f"{takes}, so all 2^{n_players} coalitions take little longer than sampling"
        return (plan if exact else exact_plan(n_players, because)), budget
    if "exact" in ways:
        plan = replace(plan, because=f"all 2^{n_players} coalitions would take longer")
    if exact:
        plan = replace(plan, estimator=named(STARS).open_ended(n_players))
    if way == STARS:
        fits = (seconds for name, (_, seconds) in ways.items() if seconds and name != TAUGHT)
        fitting = duration(min(fits))
        because = f"{plan.because}; {takes}, so many of them are sooner done than fits of {fitting}"
        return replace(plan, because=because), budget
    if way == TAUGHT:
        estimator: Estimator = TO_BE_TAUGHT
        because = f"{plan.because}; {takes}, so a process that background rows teach is sooner done"
    else:
        estimator = named(way)
        fitting = duration(ways[way][1])
        because = f"{plan.because}; {takes}, so fewer of them are worth fits of about {fitting}"
    estimator = estimator.open_ended(n_players)
    better = replace(plan, estimator=estimator, because=because, cost=cost)
    if infeasible(replace(better, until=Until(), replicates=ENDLESS), n_players, memory) is None:
        return better, budget
    return replace(plan, because=f"{because}, but that needs more memory"), budget


def _ways(n_players: int, until: Until, cost: Cost) -> dict[str, tuple[float, float]]:
    """Evaluations that methods take until they are good enough, about, and seconds for fits."""

    def fits(pairs: float) -> float:
        return fit_seconds(min(int(pairs * n_players), MOST_CHOSEN), n_players, cost.outputs)

    ways = {
        STARS: (_by_stars(n_players, until) * cost.of_a_star, 0.0),
        # two fits to few pairs, or three, and what they expect of all pairs that correct them
        "gaussian-process-corrected": (BY_CORRECTED * n_players, 5 * fits(3)),
    }
    # with fewer pairs than players a fit says nothing of most of them
    # (benchmarks/decisions.md#many-players)
    if n_players <= MOST_CHOSEN:
        # a wider tolerance may be reached by the first fit
        evaluations = max(2 * FIRST_FIT, BY_PROCESS * min(1.0, _tighter(until)))
        # the first fit, the last one, and as much again for those in between and for checks
        growing = fits(FIRST_FIT) + 3 * fits(evaluations / 2)
        ways["gaussian-process"] = (evaluations * n_players, growing)
    if cost.taught and n_players <= MOST_CHOSEN:
        evaluations = max(2 * FIRST_FIT, BY_TAUGHT * math.sqrt(_tighter(until)))
        looks = 1 + math.log(evaluations / (2 * FIRST_FIT), GROWTH)
        besides, fitting = (each / cost.taught for each in teaching(n_players))
        fitting += looks * taught_seconds(cost.outputs)
        ways[TAUGHT] = (evaluations * n_players + besides, fitting)
    return ways


def _by_stars(n_players: int, until: Until) -> float:
    """Evaluations that halved stars take, about: with the square of a relative tolerance, and a
    first look at least.
    """
    return max(BY_STARS * _tighter(until), 4.0 * FIRST_LOOK) * (n_players + 1)


def _tighter(until: Until) -> float:
    """Times the replicates of a tolerance of 1 % that this one takes: one in units of the output is
    taken for that.
    """
    return 1.0 if until.share is None else (0.01 / until.share) ** 2


def _stops(method: str | Estimator, n_players: int) -> bool:
    """Whether a method can go on until it is good enough, and leaves open how far it goes."""
    if method == "auto":
        return True
    estimator = named(method)
    if not estimator.random or estimator.default_replicates(n_players) is not None:
        return False
    settled = estimator.open_ended(n_players)
    return settled.unbiased(n_players) or settled.learner(n_players) is not None


def _sampled_first(exact: Plan, n_players: int, budget: int | None) -> tuple[Plan, int | None]:
    """A plan that may turn to exact values when it is known what an evaluation takes, and the
    evaluations it may have.

    Without a budget those are twice what exact values may take: time that they do not fit is over
    before that.
    """
    stars = named(STARS)
    if 1 << n_players <= 2 + stars.open_ended(n_players).replicate_cost(n_players):
        return exact, budget  # as soon as a first replicate
    because = f"all 2^{n_players} coalitions do not fit the time"
    return replace(exact, estimator=stars, because=because), budget or 2 * default_budget(n_players)


def settled_for(method: str | Estimator, n_players: int, budget: int | None) -> Estimator:
    """The estimator settled for a run until it is good enough; for a budget where it would never be
    looked at anyway.
    """
    estimator = named(method)
    settled = estimator.open_ended(n_players)
    if budget is None or settled.replicates_within(n_players, budget) >= FIRST_LOOK // 2:
        return settled
    within = estimator.within(n_players, budget)
    return within if within.unbiased(n_players) else settled


def _auto(n_players: int, budget: int | None, cost: Cost | None, memory: float) -> Plan:
    """Exact where that fits; else a Gaussian process where its fit pays; else halved stars.

    One fit of all pairs is the most accurate as long as it can take them all: a corrected process
    is fitted on a part of them, and errors several times as large are the price of its interval.
    Past that more pairs cannot teach it, but correct it.
    """
    given = budget is not None
    budget = default_budget(n_players) if budget is None else budget
    if n_players <= MOST_PLAYERS and 1 << n_players <= budget:
        few = f"fit the budget of {budget:,}" if given else "are few enough"
        because = f"all 2^{n_players} coalitions {few}"
        return _planned("exact", n_players, budget, because)
    because = f"{n_players} players are too many for all coalitions"
    if given:
        because = f"2^{n_players} coalitions do not fit the budget of {budget:,}"
    if budget < least_of_a_star(n_players):
        because = f"{because}, nor does a star"
        otherwise = "and a Gaussian process takes too much memory"
        return _fitted("gaussian-process", n_players, budget, because, memory, "castro", otherwise)
    if cost is None:
        return _planned(STARS, n_players, budget, because)
    corrected = budget > 2 * MOST_PAIRS + 2
    fitting = _fitting_seconds(n_players, budget, corrected) * cost.outputs
    # what a fit saves: with few evaluations for each player it learns less
    saved = min(BY_STARS / BY_CORRECTED, budget / n_players) * budget
    ways = {"stars": (saved, 0.0), "fit": (0.0, fitting)}
    way = quickest(ways, cost)
    takes = f"a fit of about {duration(fitting)}"
    if way == "stars":
        because = f"{because}; {cost.told(ways, way)}, so many of them are sooner done than {takes}"
        return _planned(STARS, n_players, budget, because)
    because = f"{because}; {cost.told(ways, way)}, so few of them are worth {takes}"
    if corrected:
        because = f"{because}; past {MOST_PAIRS:,} pairs further ones correct it"
    name = "gaussian-process-corrected" if corrected else "gaussian-process"
    return _fitted(name, n_players, budget, because, memory, STARS, "but it needs more memory")


def _fitted(
    method: str, n_players: int, budget: int, because: str, memory: float, other: str, why: str
) -> Plan:
    """The plan for a fit where the memory holds it; else for the other method, and why that."""
    plan = _planned(method, n_players, budget, because)
    if infeasible(plan, n_players, memory) is None:
        return plan
    return _planned(other, n_players, budget, f"{because}, {why}")


def _fitting_seconds(n_players: int, budget: int, corrected: bool) -> float:
    """What fitting a Gaussian process to one output takes, about, on one core."""
    pairs = max(0, budget - 2) // 2
    if corrected:
        # the last fit, and about as much for all before it
        return 2 * fit_seconds(MOST_CHOSEN, n_players)
    fits = math.ceil(pairs / MOST_PAIRS) or 1
    one = pairs // fits
    return fits * _doubted(one, n_players) * fit_seconds(one, n_players)


def _planned(method: str | Estimator, n_players: int, budget: int | None, because: str) -> Plan:
    """The plan for a method that is settled: all replicates that its budget has room for."""
    estimator = named(method)
    if budget is None:
        fixed = estimator.default_replicates(n_players)
        if fixed is not None:
            return Plan(estimator, fixed, 2 + fixed * estimator.replicate_cost(n_players), because)
        budget = default_budget(n_players)
    estimator = estimator.within(n_players, budget)
    replicates = estimator.replicates_within(n_players, budget)
    if replicates < 1:
        needed = 2 + estimator.replicate_cost(n_players)
        rule = (
            f"be at least {needed} for one replicate of {estimator.name} with {n_players} players"
        )
        fitted = "gaussian-process" if n_players <= MOST_FITTED_PLAYERS else "linear"
        cheaper = ("castro", n_players + 1) if budget > n_players else (fitted, 2)
        advice = "Raise it, or use method='{}', which needs {}".format(*cheaper)
        raise InputError("budget", rule, budget, advice)
    if estimator.exact_order(n_players) >= n_players:
        replicates = 1  # each is exact
    return Plan(estimator, replicates, budget, because)
