"""When exact values take the place of sampling under a limit of time."""

from types import SimpleNamespace

import pytest

from owenshap.run.ending import better_exactly, exact_at_once
from owenshap.run.plan import make_plan
from owenshap.statistics.goal import Until

SECONDS = Until(seconds=10.0)


def session(n_players, left, seconds):
    """One that has evaluated its ends, with so much time left, where all coalitions take so
    long.
    """
    plan = make_plan(n_players, "auto", None, until=SECONDS)
    return SimpleNamespace(
        game=SimpleNamespace(n_players=n_players),
        plan=plan,
        until=plan.until,
        evaluations=2,
        ends=SimpleNamespace(outputs=1),
        clock=SimpleNamespace(left=left, seconds=lambda _: seconds),
    )


@pytest.mark.parametrize(("n_players", "needed"), [(11, 1.0), (14, 2.0)])
def test_many_coalitions_must_surely_fit_the_time(n_players, needed):
    """They cannot be stopped on the way; few are soon done."""
    assert better_exactly(session(n_players, 1.01 * needed, 1.0), None)
    assert not better_exactly(session(n_players, 0.99 * needed, 1.0), None)


@pytest.mark.parametrize(("n_players", "possible"), [(21, True), (25, True), (26, False)])
def test_all_coalitions_may_have_the_time_that_was_given(n_players, possible):
    """However many exact values take: what does not fit is sampled."""
    assert exact_at_once(make_plan(n_players, "auto", None, until=SECONDS), n_players) == possible
