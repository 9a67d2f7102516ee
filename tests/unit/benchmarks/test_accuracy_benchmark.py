"""The accuracy benchmark's arithmetic, against small examples done by hand."""

import json

import numpy as np
import pytest

from benchmarks.accuracy import measure as measuring
from benchmarks.accuracy.games import KnownGame
from benchmarks.accuracy.measure import Counted, Results, measure, slow_before
from benchmarks.accuracy.ours import HEADLINE
from benchmarks.accuracy.report import _slow, bootstrap, read_cells
from benchmarks.accuracy.running import Task, _chains

GAME = "cc-mlp-16"
ADDITIVE = KnownGame(lambda coalitions: coalitions.sum(axis=1, dtype=float), 3, np.ones(3))


def results(folder, who, cells, fingerprint="same"):
    path = folder / f"results-{who}.json"
    path.write_text(
        json.dumps({"games": {GAME: {"fingerprint": fingerprint, "players": [16]}}, "cells": cells})
    )
    return Results(path)


def errors(*rows, evaluations=1.0):
    return {"errors": [list(row) for row in rows], "evaluations": evaluations, "seconds": 0.1}


def test_the_best_peer_is_that_of_the_cell_among_those_within_the_budget(tmp_path):
    peers = {
        f"{GAME} 5": {
            "a": errors([2, 4], [6, 8]),
            "b": errors([4, 4], [4, 20]),
            "over": errors([0, 0], [0, 0], evaluations=1.03),
        },
        f"{GAME} 10": {
            "a": errors([3, 3], [3, 3]),
            "b": errors([1, 1], [2, 2], evaluations=1.02),
            "c": {"failed": "slow: 30 s"},
        },
    }
    own = {f"{GAME} {each}": {HEADLINE: errors([1, 1], [2, 4])} for each in (5, 10)}
    first, second = read_cells(results(tmp_path, "peers", peers), results(tmp_path, "ours", own))
    assert (first.best, first.own, first.ratio) == ("a", 2.0, 2.5)
    assert (second.best, second.ratio) == ("b", 0.75)


def test_results_of_different_games_are_refused(tmp_path):
    own = results(tmp_path, "ours", {f"{GAME} 5": {HEADLINE: errors([1])}}, "other")
    with pytest.raises(SystemExit, match="differ"):
        read_cells(results(tmp_path, "peers", {f"{GAME} 5": {"a": errors([1])}}), own)


def test_bootstrap_draws_the_same_rows_for_both():
    assert bootstrap([[4, 4], [8, 8]], [[1, 1], [2, 2]]) == (4.0, 4.0)


def test_bootstrap_draws_within_rows():
    """Means of six draws of {1, 3}: 1 with chance 1/64, at most 4/3 with 7/64, so that the interval
    of 2 / mean ends there.
    """
    assert bootstrap([[2, 2]] * 3, [[1, 3]] * 3) == pytest.approx((2 / (8 / 3), 2 / (4 / 3)))


def test_ends_count_once_and_errors_have_a_floor(monkeypatch):
    counted = Counted(ADDITIVE)
    for _ in range(2):
        counted(np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0]], bool))
    assert counted.seen == 4
    found = measure(lambda *_: np.ones(3), [ADDITIVE], 2, draws=2, patient=False)
    assert found["errors"] == [[1e-12, 1e-12]]


def test_slow_peers_are_not_tried_with_more_and_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "RUN_SECONDS", -1.0)
    slow = measure(lambda *_: np.array([1.0, 1.0, 2.0]), [ADDITIVE], 2, draws=2, patient=False)
    assert slow["error"] == pytest.approx(1 / 3, rel=1e-2)
    quick = {"a": errors([1])}
    peers = results(tmp_path, "peers", {f"{GAME} 2.5": {"b": slow} | quick, f"{GAME} 5": quick})
    assert slow_before(peers, GAME, 5, "b") == "slow: 0 s a run at 2.5 n"
    assert slow_before(peers, GAME, 5, "a") is None
    cells = read_cells(
        peers, results(tmp_path, "ours", {f"{GAME} 2.5": {HEADLINE: errors([0.1, 0.3])}})
    )
    assert f"| b | {GAME} | 2.5 n | 0 s a run | 3.3e-01 | 2.0e-01 |" in _slow(cells, peers)


def test_runs_are_stopped_at_an_evaluation(monkeypatch):
    monkeypatch.setattr(measuring, "STOP_SECONDS", -1.0)

    def run(fn, n_players, budget, seed):
        return fn(np.eye(n_players, dtype=bool))

    assert (
        measure(run, [ADDITIVE], 2, 1, patient=False)["failed"]
        == "slow: stopped after -1 s with 3 of 6 evaluations"
    )
    assert "errors" in measure(run, [ADDITIVE], 2, 1, patient=True)


def test_peers_wait_for_fewer_evaluations_and_ours_start_with_most():
    def tasks(who):
        return [Task(who, GAME, each, name, 5, 6) for name in "ab" for each in (2.5, 5.0)]

    assert [[task.each for task in chain] for chain in _chains(tasks("peers"))] == [
        [2.5, 5.0],
        [2.5, 5.0],
    ]
    assert [[task.each for task in chain] for chain in _chains(tasks("ours"))] == [
        [5.0],
        [5.0],
        [2.5],
        [2.5],
    ]
