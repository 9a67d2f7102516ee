import multiprocessing
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from naive import Watched, random_table, refuses, smooth

from owenshap import FunctionGame, GameError, estimate, estimating
from owenshap.executors import IN_FLIGHT, checked_executor, in_order


def cubes(coalitions):
    return (coalitions @ np.arange(6.0)) ** 3


def breaks_on_pairs(coalitions):
    if (coalitions.sum(axis=1) == 2).any():
        raise OSError("gone")
    return coalitions.sum(axis=1)


class Promise:
    """A future that is worked out when asked."""

    def __init__(self, work):
        self.work, self.cancelled = work, False

    def result(self):
        return self.work()

    def cancel(self):
        self.cancelled = True


class Promises:
    """An executor that keeps what it promised."""

    def __init__(self):
        self.made, self.kept = [], 0

    def submit(self, function, /, *args):
        def work():
            self.kept += 1
            return function(*args)

        self.made.append(Promise(work))
        return self.made[-1]


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def test_results_come_in_the_order_of_the_tasks():
    def slow_first(number):
        time.sleep(0.02 if number % 7 == 0 else 0)
        return number

    tasks = [(number,) for number in range(100)]
    with ThreadPoolExecutor(8) as pool:
        assert list(in_order(slow_first, tasks, pool)) == list(range(100))
    assert list(in_order(slow_first, tasks, None)) == list(range(100))


def test_no_more_tasks_are_handed_out_than_are_in_flight():
    pool = Promises()
    drawn = []

    def tasks():
        for number in range(1000):
            drawn.append(number)
            yield (number,)

    results = in_order(lambda number: number, tasks(), pool)
    for done in range(200):
        assert next(results) == done
        assert len(pool.made) <= done + IN_FLIGHT
        assert len(drawn) <= done + IN_FLIGHT


@pytest.mark.parametrize("method", ["exact", "castro", "owen", "halved-owen", "owen-printed", "halved-owen-printed"])
@pytest.mark.parametrize("efficient", [False, True])
def test_workers_change_no_bit(method, efficient):
    game = random_table(9, outputs=2)
    settings = {"budget": 6000 if method != "owen-printed" else 60_000, "seed": 5}
    if method.endswith("printed"):
        settings = {"budget": 80_000, "seed": 5}
    alone = estimate(game, method, **settings, efficient=efficient and not method.endswith("printed"))
    for workers in (1, 3):
        with ThreadPoolExecutor(workers) as pool:
            together = estimate(game, method, **settings, efficient=efficient and not method.endswith("printed"), executor=pool)
        assert (together.values == alone.values).all()
        assert (together.moments.squares == alone.moments.squares).all()
        assert together.evaluations == alone.evaluations


def test_processes_change_no_bit(processes):
    game = FunctionGame(cubes, 6)
    alone = estimate(game, "halved-owen", budget=5000)
    together = estimate(game, "halved-owen", budget=5000, executor=processes)
    assert (together.values == alone.values).all()
    assert (together.standard_errors == alone.standard_errors).all()


def test_a_game_that_raises_in_another_process_is_named(processes):
    with refuses("the game", "OSError(gone)", error=GameError):
        estimate(FunctionGame(breaks_on_pairs, 6), "castro", budget=5000, executor=processes)


def test_a_game_that_cannot_travel_is_refused_with_what_to_do(processes):
    game = FunctionGame(lambda coalitions: coalitions.sum(axis=1), 6)
    with refuses("the game", "picklable", "top of a module", "threads"):
        estimate(game, "castro", budget=5000, executor=processes)


class Locked:
    """A game that holds what cannot be pickled."""

    n_players = 4

    def __init__(self):
        self.lock = threading.Lock()

    def values(self, coalitions):
        with self.lock:
            return coalitions.sum(axis=1)


def test_a_game_with_a_lock_cannot_travel_either(processes):
    with refuses("the game", "picklable"):
        estimate(Locked(), "castro", budget=5000, executor=processes)
    with ThreadPoolExecutor(2) as pool:
        assert estimate(Locked(), "castro", budget=5000, executor=pool).evaluations == 4998 + 2


@pytest.mark.parametrize("executor", [3, "threads", object(), map])
def test_what_cannot_submit_is_no_executor(executor):
    with refuses("executor", "submit", type(executor).__name__, "ThreadPoolExecutor"):
        estimate(smooth(), "castro", budget=300, executor=executor)
    assert checked_executor(None) is None


def test_a_run_that_is_closed_early_cancels_what_it_asked_for():
    pool = Promises()
    run = estimating(smooth(), "castro", budget=20_000, executor=pool)
    next(run)
    run.close()
    assert pool.kept == 1
    assert len(pool.made) > 1
    assert all(promise.cancelled for promise in pool.made[1:])


def test_a_game_that_raises_cancels_the_rest():
    game = Watched(smooth(), fails_after=1000, error=OSError("gone"))
    pool = Promises()
    with refuses("the game", "gone", error=GameError) as caught:
        estimate(game, "castro", budget=20_000, executor=pool)
    assert all(promise.cancelled for promise in pool.made[pool.kept :])
    assert caught.value.estimate.evaluations == game.evaluations


def test_an_interrupt_between_two_results_cancels_the_rest_at_once():
    pool = Promises()

    def interrupting(done, expected):
        if done < expected and pool.kept == 3:
            raise KeyboardInterrupt

    # `caught` keeps the traceback and all its frames alive: nothing may be left to the garbage collector.
    with pytest.raises(KeyboardInterrupt) as caught:
        estimate(smooth(), "castro", budget=20_000, executor=pool, progress=interrupting)
    assert all(promise.cancelled for promise in pool.made[3:])
    assert caught.value is not None
