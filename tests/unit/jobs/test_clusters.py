"""Runs on a Dask cluster."""

import os
import pickle
import subprocess
import sys
import time

import pytest
from run_checks import ROWS, SETTINGS, assert_same, explainer, finished
from run_models import OutOfMemory, Raises

import owenshap

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    settings = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=3, **settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_cluster_gives_the_same_bits(tmp_path, client):
    run = finished(tmp_path, executor=client, part_rows=7)
    assert_same(run.explanation(), explainer()(ROWS, **SETTINGS))


def test_an_executor_of_the_cluster_does_too(tmp_path, client):
    run = finished(tmp_path, executor=client.get_executor(), part_rows=7)
    assert_same(run.explanation(), explainer()(ROWS, **SETTINGS))


def test_functions_that_are_in_no_module_travel(tmp_path, client):
    run = finished(tmp_path, model=lambda batch: batch["a"] * batch["b"], executor=client)
    wanted = explainer(lambda batch: batch["a"] * batch["b"])(ROWS, **SETTINGS)
    assert_same(run.explanation(), wanted)


@pytest.mark.slow
def test_a_cluster_that_was_begun_elsewhere_does_too(tmp_path):
    """Scheduler and workers are processes of their own, in folders of their own."""
    file, begun = tmp_path / "scheduler.json", []

    def begin(what, *more):
        folder = tmp_path / str(len(begun))
        folder.mkdir()
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *more]
        command += ["--scheduler-file", str(file)]
        begun.append(subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL))

    try:
        begin("scheduler", "--port", "0")
        begin("worker", "--nthreads", "1", "--no-nanny")
        begin("worker", "--nthreads", "1", "--no-nanny")
        with distributed.Client(scheduler_file=str(file), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            run = finished(
                tmp_path, model=lambda batch: batch["a"] * batch["b"], executor=client, part_rows=7
            )
        wanted = explainer(lambda batch: batch["a"] * batch["b"])(ROWS, **SETTINGS)
        assert_same(run.explanation(), wanted)
    finally:
        for process in begun:
            process.terminate()
            process.wait()


def test_rows_that_raise_are_marked_there_too(tmp_path, client):
    bad = ROWS["a"].iloc[[3, 77]].tolist()
    with pytest.warns(UserWarning, match="2 of 100"):
        run = finished(tmp_path, model=Raises(bad), executor=client)
    assert [each.row for each in run.errors] == [3, 77]


def test_a_worker_without_memory_is_tried_again(tmp_path, client):
    model = OutOfMemory(ROWS["a"].iloc[[80]].tolist(), tmp_path, 2)
    run = finished(tmp_path, model=model, executor=client)
    assert_same(run.explanation(), explainer()(ROWS, **SETTINGS))


def test_workers_are_not_counted_for_every_part(tmp_path, client, monkeypatch):
    counted, count = [], client.nthreads

    def nthreads():
        counted.append(time.monotonic())
        return count()

    monkeypatch.setattr(client, "nthreads", nthreads)
    finished(tmp_path, executor=client, part_rows=1)
    assert len(counted) <= 3 + counted[-1] - counted[0]  # seconds; 100 parts are made


class Counted:
    """Says where it was unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __setstate__(self, state):
        self.__dict__ |= state
        import os
        import uuid

        with open(f"{self.folder}/{os.getpid()}-{uuid.uuid4().hex}", "w"):
            pass

    def __call__(self, batch):
        return batch["a"] * batch["b"]


def test_the_model_travels_once_to_a_worker(tmp_path, client):
    (tmp_path / "unpickled").mkdir()
    finished(tmp_path, model=Counted(str(tmp_path / "unpickled")), executor=client, part_rows=5)
    processes = [each.name.partition("-")[0] for each in (tmp_path / "unpickled").iterdir()]
    assert 1 <= len({*processes}) <= 3
    assert max(processes.count(each) for each in processes) <= 2  # as bytes, and from a neighbour


class Named:
    """Says which process predicts."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __call__(self, batch):
        name = f"{self.folder}/{os.getpid()}"
        if not os.path.exists(name):
            with open(name, "w") as file:
                file.write(repr(time.monotonic()))
        time.sleep(0.05)
        return batch["a"] * batch["b"]


def test_workers_begin_together(tmp_path, client):
    """The model is at all of them before the first part, so that none waits for another's."""
    begun = []
    for turn in range(5):
        (tmp_path / str(turn)).mkdir()
        made = explainer(Named(tmp_path / str(turn)))
        made.run(ROWS[:36], tmp_path / f"run {turn}", executor=client, part_rows=4, **SETTINGS)
        times = [float(each.read_text()) for each in (tmp_path / str(turn)).iterdir()]
        times.remove(min(times))  # this process's own, which settles what 'auto' takes
        if len(times) == 3:  # on a busy machine two may have done all before the third is woken
            begun.append(max(times) - min(times))
    assert min(begun) < 0.1, begun  # a part takes 0.15 s and more


class Refuses:
    """Cannot be unpickled."""

    def __setstate__(self, state):
        raise ValueError("not here")

    def __getstate__(self):
        return {"some": "state"}

    def __call__(self, batch):
        return batch["a"] * batch["b"]


def test_a_model_that_no_worker_can_have_ends_the_run(tmp_path, client):
    with pytest.raises(owenshap.GameError, match="not here"):
        finished(tmp_path, model=Refuses(), executor=client)


def test_a_run_is_no_part_of_what_travels():
    """Nothing of the folder or the lock is in an explainer."""
    made = explainer()
    assert len(pickle.dumps(made)) < 10_000
