"""torch's own threads inside those of a pool."""

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

import owenshap
import owenshap.testing
from owenshap import Explainer
from owenshap.support import threads
from owenshap.support.executors import in_order
from owenshap.support.threads import one_thread_for_algebra
from owenshap.surrogates.gaussian_process.factor import Factor
from owenshap.surrogates.gaussian_process.learning import Learner


@pytest.fixture
def eight():
    """torch with eight threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    yield
    torch.set_num_threads(before)


def test_workers_share_the_threads_that_torch_has(eight):
    together, seen = threading.Barrier(4), []

    def work(number):
        together.wait(10)  # all four are at work
        seen.append(torch.get_num_threads())
        together.wait(10)
        return number

    with ThreadPoolExecutor(4) as pool:
        assert list(in_order(work, [(number,) for number in range(4)], pool)) == [0, 1, 2, 3]
        assert sorted(seen) == [2, 2, 4, 8]  # as many as there were when each of them began
        seen.clear()
        # the pool is not ours
        assert list(pool.map(lambda _: torch.get_num_threads(), range(4))) == [8] * 4
    assert torch.get_num_threads() == 8


def test_a_single_worker_has_all_threads(eight):
    with ThreadPoolExecutor(1) as pool:
        assert list(in_order(torch.get_num_threads, [()] * 3, pool)) == [8] * 3


def test_a_worker_that_fails_gives_its_threads_back(eight):
    def fails():
        raise OSError("gone")

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(OSError, match="gone"):
            list(in_order(fails, [()], pool))
        assert pool.submit(torch.get_num_threads).result() == 8


@pytest.mark.parametrize("fast", [True, False])
def test_with_one_thread_of_torch_bits_are_the_same_with_and_without_a_pool(fast):
    before = torch.get_num_threads()
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(16, 13), nn.SiLU(), nn.Linear(13, 9), nn.SiLU(), nn.Linear(9, 2), nn.Softmax(1)
    )
    explainer, row = Explainer(network, baseline=0.0, fast=fast), torch.randn(1, 16)
    torch.set_num_threads(1)
    try:
        alone = explainer(row, method="halved-owen", budget=340_002, progress=False)
        with ThreadPoolExecutor(2) as pool:
            shared = explainer(
                row, method="halved-owen", budget=340_002, progress=False, executor=pool
            )
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(alone.values, shared.values)
    np.testing.assert_array_equal(alone.upper, shared.upper)


FORKING = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np, torch
import owenshap
import owenshap.testing
from owenshap import Explainer

torch.manual_seed(0)
layers = [torch.nn.Linear(30, 200), torch.nn.ReLU(), torch.nn.Linear(200, 50), torch.nn.ReLU(), torch.nn.Linear(50, 2)]
x = np.random.default_rng(0).normal(size=(6, 30)).astype(np.float32)
x[1, 0] = x[2, :2] = 0  # three games
for fast in (True, False):
    explainer, settings = Explainer(torch.nn.Sequential(*layers), baseline=0.0, fast=fast), {"method": "castro", "budget": 2000}
    torch.set_num_threads(2)
    explainer(x, **settings)  # starts torch's threads
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        found = explainer(x, **settings, executor=pool)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(1)
    np.testing.assert_array_equal(found.values, explainer(x, **settings).values)
"""


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="nothing is forked here"
)
def test_forked_workers_do_not_wait_for_threads_that_they_do_not_have():
    subprocess.run([sys.executable, "-c", FORKING], check=True, timeout=120)


@pytest.fixture
def two_threads():
    """Linear algebra has two threads; gives how many its libraries have at the moment."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    control = threadpoolctl.ThreadpoolController().select(user_api="blas")
    keeper = threads._keeper(os.getpid())
    limit = keeper._thread.submit(control.limit, limits=2).result()  # it listens to no other thread
    yield lambda: {library.num_threads for library in control.lib_controllers}
    keeper._thread.submit(limit.restore_original_limits).result()


def test_fits_have_one_thread_for_linear_algebra_and_give_the_others_back(monkeypatch, two_threads):
    inside = []
    learn = Learner.learn
    monkeypatch.setattr(
        Learner, "learn", lambda *args: inside.append(two_threads()) or learn(*args)
    )
    game = owenshap.testing.airport(range(1, 15))

    def fit(_):
        owenshap.estimate(game, "gaussian-process", budget=100)
        with pytest.raises(ZeroDivisionError), one_thread_for_algebra():
            1 / 0  # noqa: B018

    assert two_threads() == {2}
    fit(None)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(fit, range(4)))  # those that leave first do not take the others' limit
    assert len(inside) >= 5
    assert set.union(*inside) == {1}
    assert two_threads() == {2}


def test_checks_of_fits_and_interactions_have_one_thread_too(monkeypatch, two_threads):
    """What is made of a fit when it is asked for is algebra like the fit itself: with more threads
    it takes a hundred times as long on a busy machine.
    """
    inside = []
    make = Factor.of.__func__

    def noted(cls, *args, **settings):
        inside.append(two_threads())
        return make(cls, *args, **settings)

    monkeypatch.setattr(Factor, "of", classmethod(noted))
    game = owenshap.testing.unanimity(12, [0, 1, 2])
    owenshap.estimate(game, "gaussian-process", tolerance="1%", budget=400)
    owenshap.interactions(game, budget=200, index="beta(2, 1)")
    assert len(inside) > 100
    assert set.union(*inside) == {1}


FORKED_FIT = """
import multiprocessing, owenshap, owenshap.testing

def fit():
    return owenshap.estimate(owenshap.testing.airport(range(1, 15)), "gaussian-process", budget=100)

fit()
child = multiprocessing.get_context("fork").Process(target=fit)
child.start()
child.join(60)
assert child.exitcode == 0, child.exitcode
"""


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="nothing is forked here"
)
def test_a_forked_process_fits_too():
    subprocess.run([sys.executable, "-c", FORKED_FIT], check=True, timeout=120)
