"""What is done for a game of n players under a budget: written down before the first evaluation."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from owenshap.checks import whole_number
from owenshap.errors import InputError, UnknownMethodError
from owenshap.estimators import Estimator, found
from owenshap.estimators.exact import MOST_PLAYERS


@dataclass(frozen=True)
class Plan:
    """What a run does; passed back as `plan=` with the same seed, it repeats the run bit for bit.

    Parameters
    ----------
    estimator : Estimator
        With everything settled that a budget settles.
    replicates : int
        How many to make.
    budget : int
        The evaluations that they may take.
    because : str
        Why this estimator.
    """

    estimator: Estimator
    replicates: int
    budget: int
    because: str


def default_budget(n_players: int) -> int:
    """Evaluations where nobody says how many: enough for 10 passes of halved stars on a few levels."""
    return max(2048, 64 * (n_players + 1))


def methods() -> list[str]:
    """The names that `method=` takes.

    >>> import owenshap
    >>> "halved-owen" in owenshap.methods()
    True
    """
    return ["auto", *found()]


def make_plan(n_players: int, method: str | Estimator, budget: int | None) -> Plan:
    """The plan for a game of n players."""
    if budget is not None:
        budget = whole_number("budget", budget, 2, "It counts evaluations, the empty and the grand coalition among them")
    if method == "auto":
        return _auto(n_players, budget)
    estimator = method if isinstance(method, Estimator) else _by_name(method)
    return _planned(estimator, n_players, budget, "it was asked for")


def check_plan(plan: object, n_players: int) -> None:
    """A plan that is passed back must be one, and keep to its budget with so many players."""
    advice = "Give the `plan` of an estimate of a game with as many players"
    if not isinstance(plan, Plan):
        raise InputError("plan", "be a Plan", repr(plan), advice)
    needed = 2 + plan.replicates * plan.estimator.replicate_cost(n_players)
    if needed > plan.budget:
        rule = f"keep to its budget of {plan.budget:,} with {n_players} players"
        raise InputError("plan", rule, f"{plan.replicates:,} replicates of {needed:,} evaluations", advice)


def _auto(n_players: int, budget: int | None) -> Plan:
    budget = default_budget(n_players) if budget is None else budget
    if n_players <= MOST_PLAYERS and 1 << n_players <= budget:
        return _planned(found()["exact"](), n_players, budget, f"all 2^{n_players} coalitions fit a budget of {budget}")
    because = f"2^{n_players} coalitions do not fit a budget of {budget}"
    return _planned(found()["halved-owen"](), n_players, budget, because)


def _planned(estimator: Estimator, n_players: int, budget: int | None, because: str) -> Plan:
    if budget is None:
        fixed = estimator.default_replicates(n_players)
        if fixed is not None:
            return Plan(estimator, fixed, 2 + fixed * estimator.replicate_cost(n_players), because)
        budget = default_budget(n_players)
    estimator = estimator.within(n_players, budget)
    replicates = estimator.replicates_within(n_players, budget)
    if replicates < 1:
        needed = 2 + estimator.replicate_cost(n_players)
        rule = f"be at least {needed} for one replicate of {estimator.name} with {n_players} players"
        advice = "Raise it" if estimator.name == "castro" else f"Raise it, or use method='castro', which needs {n_players + 1}"
        raise InputError("budget", rule, budget, advice)
    return Plan(estimator, replicates, budget, because)


def _by_name(method: object) -> Estimator:
    names = methods()
    if not isinstance(method, str) or method not in names:
        near = difflib.get_close_matches(str(method), names, n=1, cutoff=0.4)
        advice = f"Perhaps '{near[0]}' is meant" if near else "owenshap.methods() lists them"
        raise UnknownMethodError("method", f"be one of {', '.join(names)}, or an Estimator", method, advice)
    return found()[method]()
