import multiprocessing
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest
from naive import Watched, random_table, refuses, smooth

from owenshap import FunctionGame, GameError, estimate, estimating
from owenshap.run import blocks
from owenshap.support.executors import IN_FLIGHT, checked_executor, in_order, made_ahead


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


@pytest.mark.parametrize(
    "method", ["exact", "castro", "owen", "halved-owen", "owen-printed", "halved-owen-printed"]
)
@pytest.mark.parametrize("efficient", [False, True])
def test_workers_change_no_bit(method, efficient):
    game = random_table(9, outputs=2)
    settings = {"budget": 6000 if method != "owen-printed" else 60_000, "seed": 5}
    if method.endswith("printed"):
        settings = {"budget": 80_000, "seed": 5}
    alone = estimate(
        game, method, **settings, efficient=efficient and not method.endswith("printed")
    )
    for workers in (1, 3):
        with ThreadPoolExecutor(workers) as pool:
            together = estimate(
                game,
                method,
                **settings,
                efficient=efficient and not method.endswith("printed"),
                executor=pool,
            )
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

    # `caught` keeps the traceback and all its frames alive: nothing may be left to the garbage
    # collector.
    with pytest.raises(KeyboardInterrupt) as caught:
        estimate(smooth(), "castro", budget=20_000, executor=pool, progress=interrupting)
    assert all(promise.cancelled for promise in pool.made[3:])
    assert caught.value is not None


def counting(made, fails_at=None):
    """Numbers from 0 on, written down as they are made."""
    for number in range(20):
        if number == fails_at:
            raise OSError("gone")
        made.append((number, threading.current_thread()))
        yield number


def test_a_thread_makes_things_ahead_and_no_further():
    made = []
    with made_ahead(counting(made)) as items:
        for wanted in range(20):
            assert next(items) == wanted
            time.sleep(0.001)
            assert len(made) <= wanted + 2
        assert next(items, None) is None
    assert len({thread for _, thread in made}) == 1
    assert not made[0][1].is_alive()
    assert made[0][1] is not threading.current_thread()


def test_a_thread_that_fails_is_told_after_what_it_made():
    with made_ahead(counting([], fails_at=3)) as items:
        assert [next(items) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(OSError, match="gone"):
            next(items)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_thread_ends_with_those_who_use_it(error):
    made = []

    def use():
        with made_ahead(counting(made)) as items:
            next(items)
            raise error

    with pytest.raises(error):
        use()
    assert not made[0][1].is_alive()
    before = len(made)
    time.sleep(0.01)
    assert len(made) == before <= 2


class Compact:
    """A game that values whole chains, and what it was asked for by whom."""

    n_players = 12

    def __init__(self, fails_at=None):
        self.fails_at, self.sizes, self.threads = fails_at, [], set()

    def values(self, coalitions):
        return coalitions @ np.arange(12.0)

    def design_replicates(self, design, empty, grand):
        self.sizes.append(len(design))
        self.threads.add(threading.current_thread())
        if len(self.sizes) == self.fails_at:
            raise GameError("the game", "go on", "an end", "Mend it")
        return np.sin(design.ranks[:, 0, :, None] + np.arange(3.0))[..., :1]


class LaunchedCompact(Compact):
    """The same on a device: what is begun and what is awaited, in order."""

    launches_replicates = True

    def __init__(self, fails_at=None, infinite_at=None):
        super().__init__(fails_at)
        self.infinite_at, self.log = infinite_at, []

    def begin_replicates(self, design, empty, grand):
        made, number = self.design_replicates(design, empty, grand), len(self.sizes)
        self.log.append(f"begin {number}")
        return lambda: (
            self.log.append(f"finish {number}")
            or (made + np.inf if number == self.infinite_at else made)
        )


LONG = 600_000


def test_the_next_blocks_are_launched_before_the_last_are_awaited():
    game = LaunchedCompact()
    ours, theirs = (estimate(each, "castro", budget=LONG) for each in (game, Compact()))
    assert len(game.sizes) > 3
    assert game.log[:4] == ["begin 1", "begin 2", "finish 1", "begin 3"]
    assert ours.evaluations == theirs.evaluations
    np.testing.assert_array_equal(ours.values, theirs.values)
    np.testing.assert_array_equal(ours.standard_errors, theirs.standard_errors)


def test_launched_blocks_go_to_workers_where_there_are_any():
    game = LaunchedCompact()
    with ThreadPoolExecutor(2) as pool:
        found = estimate(game, "castro", budget=LONG, executor=pool)
    assert game.log == []
    np.testing.assert_array_equal(found.values, estimate(Compact(), "castro", budget=LONG).values)


def test_launched_blocks_that_are_not_finite_are_valued_the_long_way():
    found = estimate(LaunchedCompact(infinite_at=2), "castro", budget=LONG)
    assert np.isfinite(found.values).all()
    assert found.evaluations == estimate(Compact(), "castro", budget=LONG).evaluations


def test_launched_blocks_before_one_that_fails_are_kept():
    kept = []
    for game in (LaunchedCompact(fails_at=3), Compact(fails_at=3)):
        with refuses("the game", "an end", error=GameError) as caught:
            estimate(game, "castro", budget=LONG)
        kept.append(caught.value.estimate)
    np.testing.assert_array_equal(kept[0].values, kept[1].values)


def test_a_long_run_is_drawn_in_a_thread_without_a_change(monkeypatch):
    found = []
    for thread in (True, False):
        if not thread:
            monkeypatch.setattr(blocks, "made_ahead", nullcontext)
        game, before = Compact(), threading.active_count()
        found.append((game, estimate(game, "castro", budget=LONG)))
        assert game.threads == {threading.current_thread()}
        assert threading.active_count() == before
    (game, ours), (other, theirs) = found
    assert game.sizes == other.sizes
    assert len(game.sizes) > 3
    assert ours.evaluations == theirs.evaluations
    np.testing.assert_array_equal(ours.values, theirs.values)
    np.testing.assert_array_equal(ours.standard_errors, theirs.standard_errors)


def test_a_long_run_that_fails_keeps_what_it_has_and_leaves_no_thread():
    before = threading.active_count()
    with refuses("the game", "an end", error=GameError) as caught:
        estimate(Compact(fails_at=3), "castro", budget=LONG)
    assert caught.value.estimate.evaluations > LONG / 5
    assert threading.active_count() == before


def test_a_long_run_that_is_left_leaves_no_thread():
    before = threading.active_count()
    run = estimating(Compact(), "castro", budget=LONG)
    next(run)
    assert threading.active_count() == before + 1
    run.close()
    assert threading.active_count() == before


def test_a_long_run_that_is_interrupted_leaves_no_thread():
    before = threading.active_count()

    def interrupting(done, expected):
        if done > expected / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:  # which keeps all frames alive
        estimate(Compact(), "castro", budget=LONG, progress=interrupting)
    assert caught.value is not None
    assert threading.active_count() == before


@pytest.mark.parametrize("settings", [{"budget": 100_000}, {"budget": 200_000, "tolerance": 1e-9}])
def test_a_short_run_has_no_thread(monkeypatch, settings):
    monkeypatch.delattr(blocks, "made_ahead")
    assert estimate(Compact(), "castro", **settings).evaluations > 1000
