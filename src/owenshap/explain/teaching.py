"""What rows share is learned once: rows of the background, played as if they were explained, teach
processes where to start from.

Nothing depends on which rows are explained; on how many there are, whether learning pays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from owenshap.designs.pairs import all_pairs, more_pairs
from owenshap.estimators.gaussian_process import GaussianProcess
from owenshap.estimators.gaussian_process_corrected import GaussianProcessCorrected
from owenshap.explain.grouping import RowGroups
from owenshap.explain.inputs import Call
from owenshap.explain.predicting import Predictor, Trial
from owenshap.run.cost import MISJUDGED, SURE
from owenshap.run.task import Plan
from owenshap.support.arrays import IntArray
from owenshap.surrogates.gaussian_process.cost import fit_seconds
from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate
from owenshap.surrogates.gaussian_process.taught import Lesson, Taught, taught_by
from owenshap.surrogates.multiples import multiples

# Rows that teach, and pairs of each for every player: fewer pairs teach lengths that a row's own
# first guess is likelier than, of one row half of the others learn little
# (benchmarks/decisions.md#taught-rows).
PILOTS, PAIRS = 4, 4
# that teach: of more the first ones, as every row tries all that is taught; one is too few
MOST_OUTPUTS = 3


def own_plans(
    call: Call,
    groups: RowGroups,
    draws: Mapping[int, int | None],
    plans: Mapping[int, Plan],
    predictor: Predictor,
    trial: Trial,
) -> Callable[[Plan, IntArray], Plan]:
    """What makes the plan of a row with these live players: one whose process starts from what
    background rows have taught, where that pays.
    """
    rows = len(groups.rows) if predictor.ahead is None else predictor.ahead
    whole = [each for each in plans if draws[each] is None]
    teaching = [each for each in whole if _pays(call, groups, plans[each], each, rows, trial)]
    key = call.settings.seed, groups.linear is None
    if teaching and key not in predictor.taught:
        predictor.taught[key] = _learned(call, groups, trial)

    def plan_of(plan: Plan, players: IntArray) -> Plan:
        if len(players) not in teaching:
            return plan
        estimator = plan.estimator
        assert isinstance(estimator, GaussianProcess | GaussianProcessCorrected)
        because = f"{plan.because}; the process starts from what {PILOTS} background rows taught"
        begun = replace(estimator, taught=predictor.taught[key].of(players))
        return replace(plan, estimator=begun, because=because)

    return plan_of


def _pays(
    call: Call,
    groups: RowGroups,
    plan: Plan,
    n_players: int,
    rows: int,
    trial: Trial,
) -> bool:
    """Whether what is learned saves rows more time than learning takes: about one fit each.

    Only where 'auto' chose a process that learns on the way, and the whole background teaches.
    """
    absent = groups.absent
    if call.method != "auto" or call.asks_for_pairs or call.shared is not None:
        return False
    if not isinstance(plan.estimator, GaussianProcess | GaussianProcessCorrected):
        return False
    if plan.until is None or plan.until.seconds is not None:
        return False
    if absent.per_row or len(absent.table) < PILOTS or groups.output.predicted is not None:
        return False
    pairs = min(PAIRS * n_players, all_pairs(n_players))
    fit = fit_seconds(pairs, n_players)

    def learning(row_seconds: float) -> float:
        return PILOTS * (fit + (2 * pairs + 2) * len(absent) * row_seconds)

    # both are guesses: 4 to 9 rows earn it back, and 8 and more are taught
    # (benchmarks/decisions.md#taught-rows)
    if rows * fit < MISJUDGED * learning(groups.row_seconds):
        return False
    # by the clock, unless that is not asked for (nan), only what is sure counts
    return not learning(trial.known) > SURE * rows * fit


def _learned(call: Call, groups: RowGroups, trial: Trial) -> Taught:
    """What rows spread over the background teach."""
    table = groups.absent.table
    which = np.linspace(0, len(table) - 1, PILOTS).round().astype(np.intp)
    pilots = replace(groups, rows=table.take(which))
    games = []
    for at in range(PILOTS):
        players = np.flatnonzero(pilots.live[at])
        if len(players) > 2:
            games += _played(call, pilots, at, players, trial)
    return taught_by(games, len(groups.players))


def _played(
    call: Call, pilots: RowGroups, at: int, players: IntArray, trial: Trial
) -> list[Lesson]:
    """Pairs of a row that teaches, their values and what a process makes of them, of every output
    that is a game of its own.
    """
    n_players = len(players)
    rng = np.random.default_rng([call.settings.seed, n_players])
    count = min(PAIRS * n_players, all_pairs(n_players))
    one = more_pairs(np.zeros((0, n_players), np.bool_), count, rng)
    ends = np.array([[True], [False]]).repeat(n_players, axis=1)
    coalitions = np.concatenate([ends, one, ~one])
    game = pilots.game(np.array([at]), None, call.settings.memory)
    values = game.values(coalitions)[:, :MOST_OUTPUTS]
    trial.also(len(coalitions) * len(pilots.absent))
    if multiples((values[2 : 2 + count] - values[2 + count :]) / 2) is not None:
        values = values[:, :1]
    fitted = GaussianProcessSurrogate().fit(coalitions, values)
    return [
        (fitted.pairs.signs, fitted.pairs.odd[:, k], members, players)
        for k, members in fitted.mixtures.items()
    ]
