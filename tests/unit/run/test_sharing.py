"""Who gets the next evaluations of what rows share."""

import numpy as np
import pytest

from owenshap import FunctionGame
from owenshap.run.cost import never
from owenshap.run.open_session import OpenSession
from owenshap.run.plan import make_plan
from owenshap.run.sharing import Row, Sharing
from owenshap.run.task import Settings, Shared, Task
from owenshap.statistics.goal import FIRST_LOOK, Until

PLAYERS = 9
WEIGHTS = np.linspace(-1, 2, PLAYERS)
GAME = FunctionGame(lambda coalitions: np.tanh(coalitions @ WEIGHTS), PLAYERS)
PLAN = make_plan(PLAYERS, "castro", None, until=Until())
COST = PLAYERS - 1


def rows_with(needs):
    """Rows that were looked at, and need so much."""
    rows = []
    for need in needs:
        session = OpenSession(GAME, PLAN, Settings(0, 0.95))
        session.advance(FIRST_LOOK)
        rows.append(Row(Task(GAME, PLAN), 0, session, need=need))
    return rows


def sharing_of(total, rows=3):
    return Sharing(Shared(total, None, 0.0, 0), [Task(GAME, PLAN)] * rows, never)


def went_on(rows, left):
    targets = sharing_of(10**6).targets(rows, left)
    return [targets.get(id(row), FIRST_LOOK) > FIRST_LOOK for row in rows]


def test_rows_that_need_nearly_as_much_as_the_neediest_go_on_together():
    """The others wait: what they would get changes with the next look."""
    assert went_on(rows_with([1.0, 0.92, 0.88, 0.1]), left=10**6) == [True, True, False, False]


def test_the_neediest_come_first_where_little_is_left():
    assert went_on(rows_with([0.95, 1.0]), left=COST) == [False, True]


def test_rows_that_nothing_is_left_for_have_no_target():
    assert sharing_of(10**6).targets(rows_with([1.0]), left=COST - 1) == {}


@pytest.mark.parametrize(
    ("total", "first"),
    [
        (3 * 2 * (2 + 5 * COST), 5),  # half of an equal share
        (10**6, FIRST_LOOK),  # a look, at most
    ],
)
def test_the_first_estimate_of_a_row_leaves_half_of_its_share(total, first):
    assert sharing_of(total).first(Task(GAME, PLAN)) == first
