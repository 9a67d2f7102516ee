"""Exact values with the kernel's place taken by the plain formula: what surrounds it is the same on
any device.
"""

import numpy as np
import pytest

from owenshap import Explainer
from owenshap.designs.design import size_weights
from owenshap.fast import fused_stars as _fused_stars
from owenshap.fast import fused_subsets as _fused_subsets
from owenshap.fast.first_step import first_step
from owenshap.support.bits import from_codes

torch = pytest.importorskip("torch")
nn = torch.nn
PLAYERS = 7


def shapley(linear, columns, empty, chosen):
    """What `_fused_subsets.shapley` gives, coalition by coalition."""
    players = columns.shape[2]
    present = torch.from_numpy(from_codes(np.arange(1 << players), players)).to(columns.dtype)
    members, others = (
        torch.from_numpy(each)[present.sum(1).long()][:, None] for each in size_weights(players)
    )
    shares = present * members - (1 - present) * others
    found = []
    for pair in range(columns.shape[1]):
        values = linear.rest(columns[:, pair] @ present.T + empty[:, pair, None]).double()
        found.append((values if chosen is None else values[chosen[pair]][None]) @ shares)
    return torch.stack(found, 1)


@pytest.fixture
def kernels(monkeypatch):
    """How many pairs the kernel was given each time."""
    given = []
    monkeypatch.setattr(_fused_stars, "FEWEST_NUMBERS", 0)
    monkeypatch.setattr(_fused_subsets, "fits", lambda linear, n_players: True)
    monkeypatch.setattr(
        _fused_subsets,
        "shapley",
        lambda *arguments: given.append(arguments[1].shape[1]) or shapley(*arguments),
    )
    return given


def network(*layers):
    torch.manual_seed(0)
    default = [
        nn.Linear(PLAYERS, 5),
        nn.Sigmoid(),
        nn.Linear(5, 4),
        nn.Tanh(),
        nn.Linear(4, 3),
        nn.Softmax(1),
    ]
    return nn.Sequential(*(layers or default)).double().eval()


BACKGROUND = torch.linspace(-1, 1, 4 * PLAYERS, dtype=torch.float64).reshape(4, PLAYERS)
ABSENT = {
    "a number": {"baseline": 0.0},
    "a row each": {"baseline": BACKGROUND[:3]},
    "background": {"background": BACKGROUND},
    "weights": {"background": BACKGROUND, "background_weights": np.arange(1.0, 5)},
    "little memory": {"background": BACKGROUND, "memory": 3000},
    "groups": {"background": BACKGROUND, "players": {"a": [0, 3], "b": [1, 2]}},
}


@pytest.mark.parametrize("output", [None, -1, "predicted"])
@pytest.mark.parametrize("absent", ABSENT.values(), ids=ABSENT)
def test_what_the_kernel_gives_is_put_together_as_the_plain_way_does(absent, output, kernels):
    x = torch.randn(3, PLAYERS, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    ours, plain = (
        Explainer(network(), fast=each, output=output, **absent)(x, method="exact")
        for each in (True, False)
    )
    assert sum(kernels) == len(x) * (1 if "baseline" in absent else len(BACKGROUND))
    np.testing.assert_allclose(
        ours.values, plain.values, rtol=0, atol=1e-6 * np.abs(plain.values).max()
    )
    np.testing.assert_array_equal(ours.evaluations, plain.evaluations)


def test_a_function_of_the_outputs_is_left_to_the_plain_arrays(kernels):
    explainer = Explainer(
        network(), baseline=0.0, output=lambda predictions: predictions[:, :1] ** 2
    )
    assert np.isfinite(
        explainer(torch.ones(2, PLAYERS, dtype=torch.float64), method="exact").values
    ).all()
    assert kernels == []


def test_without_a_device_or_with_little_to_do_the_plain_arrays_do_it(monkeypatch):
    assert not _fused_subsets.fits(first_step(Explainer(network(), baseline=0.0)._model), 16)
    monkeypatch.setattr(_fused_subsets, "fits", lambda linear, n_players: True)
    monkeypatch.delattr(_fused_subsets, "shapley")
    Explainer(network(), baseline=0.0)(torch.ones(2, PLAYERS, dtype=torch.float64), method="exact")


LAYERS = {
    "layers": (
        [nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 4), nn.Linear(4, 3), nn.Softmax(1)],
        ["relu", "identity", "softmax"],
    ),
    "no layer": ([nn.Linear(7, 2), nn.Sigmoid()], ["sigmoid"]),
    "linear": ([nn.Linear(7, 2)], ["identity"]),
    "another activation": ([nn.Linear(7, 5), nn.GELU(), nn.Linear(5, 4)], None),
    "two activations": ([nn.Linear(7, 5), nn.ReLU(), nn.Tanh(), nn.Linear(5, 4)], None),
    "softmax inside": ([nn.Linear(7, 5), nn.Softmax(1), nn.Linear(5, 4)], None),
    "softmax twice": ([nn.Linear(7, 5), nn.Softmax(1), nn.Softmax(1)], None),
    "something else": ([nn.Linear(7, 5), nn.LayerNorm(5), nn.Linear(5, 4)], None),
}


@pytest.mark.parametrize(("layers", "kinds"), LAYERS.values(), ids=LAYERS)
def test_which_networks_the_kernel_knows(layers, kinds):
    found = _fused_subsets._layers(first_step(Explainer(network(*layers), baseline=0.0)._model))
    assert (None if found is None else found[1]) == kinds
    if kinds is not None:
        assert len(found[0]) == len(kinds) - 1
