"""Look-ups by torch give what numpy gives: on the host as a device, and on a CUDA device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from random_trees import chain, random_ensemble, random_rows

from owenshap.errors import InputError
from owenshap.trees import device as on_device
from owenshap.trees.exact import TreeGame

torch = pytest.importorskip("torch")

CLOSE = 1e-10  # of the largest value
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.device)]
ENSEMBLES = {
    "plain": random_ensemble(0, trees=30, depth=6, features=8),
    "outputs": random_ensemble(1, trees=9, depth=4, features=5, outputs=3),
    "vectors": random_ensemble(2, trees=5, depth=4, features=5, outputs=2, vector=True),
    "categories": random_ensemble(3, trees=20, depth=5, features=6, categorical=True),
    "a deep chain": chain(4, 40, 8),
    "many bits": random_ensemble(5, trees=2, depth=12, features=12, leafy=0.05),
    "leaves": random_ensemble(6, trees=3, depth=0, features=2),
    "none": random_ensemble(7, trees=0),
}
ENSEMBLES["zeros"] = replace(
    ENSEMBLES["plain"],
    zero_is_missing=np.arange(len(ENSEMBLES["plain"].left)) % 2 == 0,
    missing_value=2.0,
    precision=np.float32,
)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("absent", ["background", "cover"])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_device_agrees_with_numpy(name: str, absent: str, device: str) -> None:
    ensemble = ENSEMBLES[name]
    rows = random_rows(8, 300, ensemble.n_features) + 1e-9  # float32 rounds that away
    background = random_rows(9, 40, ensemble.n_features) if absent == "background" else None
    host = TreeGame.of(ensemble, background)
    other = TreeGame.of(ensemble, background, device=device)
    wanted = host.values(rows)
    found = other.values(rows)
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= CLOSE * max(1, np.abs(wanted).max())
    assert np.array_equal(host.base, other.base)


@pytest.mark.parametrize("device", DEVICES)
def test_rows_on_a_device_come_in_parts(device: str, monkeypatch: Any) -> None:
    ensemble = ENSEMBLES["plain"]
    rows = random_rows(10, 700, 8)
    game = TreeGame.of(ensemble, random_rows(11, 30, 8), device=device)
    together = game.values(rows)
    monkeypatch.setattr(on_device, "_working", lambda _: 500_000)
    assert game.on_device[1]._rows_at_once() < 300
    assert np.array_equal(game.values(rows), together)
    assert np.array_equal(game.values(rows[::-1]), together[::-1])
    rows.flags.writeable = False
    assert np.array_equal(game.values(rows[5:6]), together[5:6])


@pytest.mark.parametrize("device", DEVICES)
def test_what_has_no_room_on_a_device_is_looked_up_here(device: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("owenshap.trees.exact.BLOCK_NODES", 200)
    monkeypatch.setattr("owenshap.trees.exact.room_on", lambda _: 200_000)
    ensemble = ENSEMBLES["plain"]
    background = random_rows(11, 30, 8)
    rows = random_rows(12, 20, 8)
    game = TreeGame.of(ensemble, background, device=device)
    assert 0 < len(game.on_device[0]) < len(game.prepared)
    wanted = TreeGame.of(ensemble, background).values(rows)
    np.testing.assert_allclose(game.values(rows), wanted, rtol=0, atol=CLOSE)


def test_a_device_that_is_not_there_is_told() -> None:
    with pytest.raises(InputError, match="device must be one that torch has here"):
        on_device.checked_device("moon")
