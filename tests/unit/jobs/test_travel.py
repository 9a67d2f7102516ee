"""What goes to workers goes once: a model and a background stay on the device where they are."""

import multiprocessing
import os
import uuid
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

import owenshap
from owenshap.jobs.executors import completed
from owenshap.jobs.sources import Chunk
from owenshap.tables.tensor import TensorTable

ROWS = torch.tensor(np.random.default_rng(0).normal(size=(40, 5)), dtype=torch.float32)
SETTINGS = {"method": "halved-owen", "budget": 100, "part_rows": 4, "progress": False}


class Counted(torch.nn.Module):
    """Leaves a file where it is unpickled, and where it is moved."""

    def __init__(self, folder):
        super().__init__()
        self.first = torch.nn.Linear(5, 3)
        self.folder = str(folder)

    def forward(self, batch):
        return torch.tanh(self.first(batch)).sum(dim=1)

    def _apply(self, function, *more):
        self._leave("moved")
        return super()._apply(function, *more)

    def __setstate__(self, state):
        super().__setstate__(state)
        self._leave("unpickled")

    def _leave(self, what):
        Path(self.folder, f"{what}-{os.getpid()}-{uuid.uuid4().hex}").touch()


def left(folder, what):
    return [each.name.split("-")[1] for each in folder.glob(f"{what}-*")]


def test_a_module_comes_to_a_process_once_and_is_never_moved(tmp_path):
    (tmp_path / "left").mkdir()
    made = owenshap.Explainer(Counted(tmp_path / "left"), ROWS[:3])
    with ProcessPoolExecutor(2) as executor:
        made.run(ROWS, tmp_path / "run", executor=executor, **SETTINGS)
    processes = left(tmp_path / "left", "unpickled")
    assert 1 <= len(processes) <= 2
    assert len({*processes}) == len(processes)  # 10 parts, and once for each process
    assert not left(tmp_path / "left", "moved")


def test_a_background_is_placed_once(tmp_path, monkeypatch):
    placed, place = [], TensorTable.placed

    def counted(self, *where):
        placed.append(len(self.tensor))
        return place(self, *where)

    monkeypatch.setattr(TensorTable, "placed", counted)
    made = owenshap.Explainer(torch.nn.Linear(5, 1), ROWS[:3].double())
    assert placed.count(3) == 1
    with ThreadPoolExecutor(2) as executor:
        made.run(ROWS, tmp_path / "run", executor=executor, **SETTINGS)
    assert placed.count(3) == 1
    assert placed.count(4) >= 10  # the rows of each part


@dataclass
class Parts:
    """What a worker of a run is given, but for the files: they need pyarrow, which a machine with
    a device may not have.
    """

    explainer: owenshap.Explainer

    def part(self, chunk, which):
        """Values of rows, who made them, and where model and background lie in that process."""
        asked = {each: SETTINGS[each] for each in ("method", "budget", "progress")}
        explanation = self.explainer(chunk.taken(which), **asked)
        module = self.explainer._model.module
        table = self.explainer._inputs.background.table
        weight, background = module.first.weight, table.tensor
        places = [(str(each.device), each.data_ptr()) for each in (weight, background)]
        return explanation.values, os.getpid(), tuple(places)


@contextmanager
def processes():
    """Two that begin anew: a process that is forked cannot use a device."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        yield executor


@contextmanager
def cluster():
    """Two workers of Dask."""
    distributed = pytest.importorskip("distributed")
    settings = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=2, **settings) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@pytest.mark.parametrize("workers", [processes, cluster])
@pytest.mark.parametrize(
    "device",
    [
        pytest.param("cpu", marks=pytest.mark.slow),
        pytest.param("cuda:0", marks=pytest.mark.device),
    ],
)
def test_workers_keep_model_and_background_on_their_device(tmp_path, device, workers):
    (tmp_path / "left").mkdir()
    module = Counted(tmp_path / "left").to(device)
    moved = len(left(tmp_path / "left", "moved"))
    work = Parts(owenshap.Explainer(module, ROWS[:3]))
    chunks = [Chunk(first, ROWS[first : first + 4], None) for first in range(0, 40, 4)]
    alone = {chunk.first: work.part(chunk, np.arange(4))[0] for chunk in chunks}
    tasks = ((chunk.first, chunk, np.arange(4)) for chunk in chunks)
    with workers() as executor:
        made = dict(completed(work, tasks, executor, tmp_path))
    assert made.keys() == alone.keys()
    places = defaultdict(set)
    for first, (values, process, of_process) in made.items():
        assert values.tobytes() == alone[first].tobytes()
        places[process].add(of_process)
    assert os.getpid() not in places
    for of_process in places.values():
        assert len(of_process) == 1  # the same memory for every part
        assert [where for where, _ in next(iter(of_process))] == [device] * 2
    unpickled = left(tmp_path / "left", "unpickled")
    assert {*unpickled} >= {*map(str, places)}
    # once for each process; on Dask as bytes, and from a neighbour
    assert max(unpickled.count(each) for each in unpickled) <= (2 if workers is cluster else 1)
    assert len(left(tmp_path / "left", "moved")) == moved
