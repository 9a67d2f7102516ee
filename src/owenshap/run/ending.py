"""How a session ends: at its goal, its budget or its time, or with exact values instead."""

from __future__ import annotations

import math
from dataclasses import replace

from owenshap.estimators.base import default_budget
from owenshap.run.cost import MISJUDGED
from owenshap.run.open_session import OpenSession
from owenshap.run.plan import exact_plan
from owenshap.run.result import Estimate
from owenshap.run.session import FixedSession
from owenshap.run.task import Plan
from owenshap.statistics.stopping import Verdict


def over(session: OpenSession, verdict: Verdict) -> str | None:
    """Why a session stops here, in words with numbers; None where it goes on."""
    if not verdict.done:
        ahead = session.seconds_ahead(verdict)
        if session.clock.late(session.evaluations, ahead):
            return f"{session.clock}: {missed(session, verdict)}"
    return reached_or_spent(session, verdict)


def reached_or_spent(session: OpenSession, verdict: Verdict) -> str | None:
    """The same but for the time."""
    until = session.until
    if verdict.done:
        return verdict.reached(until, session.tolerances, session.evaluations)
    # a learner that has grown as far as it can goes on with replicates
    affordable = session.affordable if session.learner is None else session.all_affordable
    if session.count < affordable:
        return None
    limit = f"budget of {session.plan.budget:,} evaluations"
    if until.usual:
        limit = f"usual {limit} (tolerance='{until.tolerance}' goes on without one)"
    return f"{limit}: {missed(session, verdict)}"


def missed(session: OpenSession, verdict: Verdict) -> str:
    """What was not reached, and what it would take."""
    until = session.until
    return verdict.missed(
        until, session.tolerances, session.count, session.evaluations, session.cost
    )


def exact_at_once(plan: Plan, n_players: int) -> bool:
    """Whether a run with a clock is to give exact values as soon as it is known that they fit the
    time.
    """
    until = plan.until
    if until is None or until.seconds is None or not until.exact:
        return False
    most = plan.budget
    if until.tolerance is not None or until.top is not None:
        most = min(most, default_budget(n_players))  # else the time is there to be used
    return 1 << n_players <= most


def better_exactly(session: OpenSession, verdict: Verdict | None, rows: float = 1) -> bool:
    """Whether all coalitions are fewer than what sampling still needs, and fit budget and time of
    so many rows.
    """
    n_players = session.game.n_players
    until = session.until
    every = 1 << n_players
    if not until.exact or session.evaluations + every - 2 > session.plan.budget:
        return False
    # many coalitions must fit the time in any case: they cannot be stopped on the way
    sure = MISJUDGED if every > default_budget(n_players) else 1
    seconds = session.clock.seconds((every - 2) * session.ends.outputs * rows)
    if sure * seconds > session.clock.left:
        return False
    if exact_at_once(session.plan, n_players):
        return True
    if verdict is None:
        return False
    # What a look knows at once is more than it takes: where that is less than all coalitions, it is
    # not asked further.
    if not every < (verdict.at_most - session.count) * session.cost < math.inf:
        return False
    return (verdict.replicates_needed - session.count) * session.cost > every


def exactly(session: OpenSession) -> Estimate:
    """Exact values in place of sampling; the evaluations made so far count."""
    n_players = session.game.n_players
    because = "sampling takes more evaluations than all coalitions"
    showed = "be cheaper than sampling"
    if exact_at_once(session.plan, n_players):
        because = f"all 2^{n_players} coalitions fit the time"
        showed = "fit the time"
    plan = exact_plan(n_players, because)
    exact = FixedSession(session.game, plan, session.settings, session.executor, ends=session.ends)
    before = session.evaluations
    exact.report = lambda done: session.report(before + done - 2)
    exact.resumable = session.resumable
    exact.advance()
    estimate = exact.result()
    if before == 2:
        return estimate
    estimate = replace(estimate, course=session.course)
    words = f"{estimate.stopped_by}, after {before:,} that showed it to {showed}"
    return replace(estimate, evaluations=estimate.evaluations + before - 2, stopped_by=words)
