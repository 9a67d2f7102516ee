"""What goes to workers goes once: a model and a background stay on the device where they are."""

import os
import uuid
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

import owenshap
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
