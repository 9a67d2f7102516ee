"""Runs on a Dask cluster."""

import pickle

import pytest
from run_checks import ROWS, SETTINGS, assert_same, explainer, finished
from run_models import OutOfMemory, Raises

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    settings = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
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


def test_rows_that_raise_are_marked_there_too(tmp_path, client):
    bad = ROWS["a"].iloc[[3, 77]].tolist()
    with pytest.warns(UserWarning, match="2 of 100"):
        run = finished(tmp_path, model=Raises(bad), executor=client)
    assert [each.row for each in run.errors] == [3, 77]


def test_a_worker_without_memory_is_tried_again(tmp_path, client):
    model = OutOfMemory(ROWS["a"].iloc[[80]].tolist(), tmp_path, 2)
    run = finished(tmp_path, model=model, executor=client)
    assert_same(run.explanation(), explainer()(ROWS, **SETTINGS))


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


def test_a_run_is_no_part_of_what_travels():
    """Nothing of the folder or the lock is in an explainer."""
    made = explainer()
    assert len(pickle.dumps(made)) < 10_000
