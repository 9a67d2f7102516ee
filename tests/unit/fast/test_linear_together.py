"""Games valued together, with the kernel's place taken by plain arrays: what surrounds it is the
same on any device.
"""

import numpy as np
import pytest

from owenshap import Explainer
from owenshap.explain import prefetch
from owenshap.fast import fused_stars as _fused_stars
from owenshap.fast import linear_game
from owenshap.fast.first_step import first_step

torch = pytest.importorskip("torch")
nn = torch.nn


def steps(linear, units):
    """What `_fused_stars.steps` gives, unit by unit, and nonsense past a row's players."""
    table = linear.weights.T if units.table is None else units.table
    made = []
    for unit, (row, star) in enumerate(zip(units.row.tolist(), units.star.tolist(), strict=True)):
        sign = 1 - 2 * units.present[star].to(table.dtype)
        hidden = units.centres[unit] + (sign * units.scale[row])[:, None] * table[units.index[row]]
        both = linear.rest(torch.cat([units.centres[unit][None], hidden]).T.contiguous())
        change = both[:, 1:] - both[:, :1]
        change[:, units.counts[row] :] = 123.0
        made.append(change if units.chosen is None else change[units.chosen[row]][None])
    return torch.stack(made, 1)


@pytest.fixture
def together(monkeypatch):
    """How many games were valued together each time."""
    valued = []
    monkeypatch.setattr(_fused_stars, "FEWEST_NUMBERS", 0)
    monkeypatch.setattr(_fused_stars, "fits", lambda linear: True)
    monkeypatch.setattr(_fused_stars, "steps", steps)
    monkeypatch.setattr(
        prefetch,
        "value_ahead",
        lambda work: (valued.append(len(work)), linear_game.value_ahead(work)),
    )
    return valued


def network(features=12, outputs=3):
    torch.manual_seed(0)
    layers = [
        nn.Linear(features, 9),
        nn.Sigmoid(),
        nn.Linear(9, 5),
        nn.Tanh(),
        nn.Linear(5, outputs),
        nn.Softmax(1),
    ]
    return nn.Sequential(*layers).double().eval()


def rows(count=14, features=12, baseline=0.0):
    """Rows with different numbers of live players."""
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(count, features, generator=generator, dtype=torch.float64) + 0.1
    live = torch.rand(count, features, generator=generator) < torch.rand(
        count, 1, generator=generator
    )
    live[:, 0] = True
    return torch.where(live, x, torch.as_tensor(baseline, dtype=x.dtype))


BASELINES = {
    "0": 0.0,
    "a row": torch.linspace(-1, 0, 12),
    "a row each": torch.linspace(-1, 0, 14 * 12).reshape(14, 12),
}


@pytest.mark.parametrize("memory", ["256MB", 20_000], ids=["one group", "several"])
@pytest.mark.parametrize("output", [None, -1, "predicted"])
@pytest.mark.parametrize("baseline", BASELINES.values(), ids=BASELINES)
def test_games_valued_together_agree_with_the_plain_way(baseline, output, memory, together):
    settings = {"baseline": baseline, "output": output, "memory": memory}
    x = rows(baseline=baseline)
    ours = Explainer(network(), **settings)(x, method="halved-owen", budget=150)
    plain = Explainer(network(), fast=False, **settings)(x, method="halved-owen", budget=150)
    assert sum(together) == len(set(ours.evaluations)) > 3 or memory == 20_000
    scale = np.abs(plain.values).max()
    np.testing.assert_allclose(ours.values, plain.values, rtol=0, atol=1e-6 * scale)
    np.testing.assert_allclose(ours.base_values, plain.base_values, rtol=1e-6)
    np.testing.assert_array_equal(ours.evaluations, plain.evaluations)


@pytest.mark.parametrize("players", [None, {"a": [0, 3], "b": [1, 2]}], ids=["single", "grouped"])
def test_one_game_with_a_background(players, together):
    settings = {"background": rows(4), "output": "predicted", "players": players}
    ours, plain = (
        Explainer(network(), fast=each, **settings)(rows(3) + 1, method="owen", budget=150)
        for each in (True, False)
    )
    np.testing.assert_allclose(
        ours.values, plain.values, rtol=0, atol=1e-6 * np.abs(plain.values).max()
    )


def test_log_odds(together):
    settings = {"baseline": 0.0, "output": "logit"}
    model = network(outputs=2)
    ours, plain = (
        Explainer(model, fast=each, **settings)(rows(), method="owen", budget=150)
        for each in (True, False)
    )
    assert together
    np.testing.assert_allclose(
        ours.values, plain.values, rtol=0, atol=1e-6 * np.abs(plain.values).max()
    )


def test_without_a_device_the_plain_arrays_do_it():
    assert not _fused_stars.fits(first_step(Explainer(network(), baseline=0.0)._model))
