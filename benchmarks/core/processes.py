"""Two processes against one, on a game whose model takes nearly all of the time."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

import owenshap
from benchmarks.core.networks import Masked, Network
from benchmarks.core.timing import race, ratio

LAYERS = (16, 1000, 1000, 2)
EVALUATIONS = 34_000
TURNS = 7


def measure() -> dict[str, object]:
    """Times of one estimate here, with one worker and with two, and the ratios."""
    game = Masked(Network(LAYERS))
    pools = {"one_process": _warm_pool(1), "two_processes": _warm_pool(2)}
    contenders = {
        name: (lambda pool=pool: _estimate(game, pool))
        for name, pool in {"here": None, **pools}.items()
    }
    answers = [contender() for contender in contenders.values()]
    if any((answer != answers[0]).any() for answer in answers):
        raise RuntimeError("the answers differ by executor: nothing to time")
    times = race(contenders, TURNS)
    for pool in pools.values():
        pool.shutdown()
    here = times["here"].summary()["best"]
    return {
        "evaluations": EVALUATIONS,
        "turns": TURNS,
        "processors": os.cpu_count(),
        "microseconds_per_evaluation": here / EVALUATIONS * 1e6,
        "seconds": {name: each.summary() for name, each in times.items()},
        "speedup": ratio(times["one_process"], times["two_processes"]),
        "speedup_against_here": ratio(times["here"], times["two_processes"]),
        "limit": _limit(),
    }


def _estimate(game: Masked, pool: ProcessPoolExecutor | None) -> np.ndarray:
    return owenshap.estimate(
        game, "halved-owen", budget=EVALUATIONS, executor=pool, progress=False
    ).values


def _warm_pool(workers: int) -> ProcessPoolExecutor:
    """A pool whose workers have started, imported everything and do not compete for processors with
    threads of their own.
    """
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_one_thread
    )
    list(pool.map(_import_and_wait, range(4 * workers)))
    return pool


def _one_thread() -> None:
    threadpool_limits(1)  # here, where numpy is loaded: before, there is nothing to limit


def _import_and_wait(_: int) -> None:
    time.sleep(0.2)


def _limit() -> dict[str, float]:
    """What two processes can gain here at all: the same products without owenshap, in one worker
    and in two.
    """
    pools = {workers: _warm_pool(workers) for workers in (1, 2)}
    contenders = {
        str(workers): (lambda pool=pool: list(pool.map(_products, range(16))))
        for workers, pool in pools.items()
    }
    times = race(contenders, TURNS)
    for pool in pools.values():
        pool.shutdown()
    return ratio(times["1"], times["2"])


def _products(seed: int) -> float:
    network = Network(LAYERS, seed)
    rows = np.zeros((500, LAYERS[0]))
    return float(network(rows).sum())
