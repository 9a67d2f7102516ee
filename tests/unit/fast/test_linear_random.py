"""Random networks: the same values from columns as from input rows, in numpy and torch, in both
precisions.
"""

import threading
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from columns import agree

from owenshap import MLP, Castro, Exact, Explainer, HalvedOwen, Linear
from owenshap.fast import stars
from owenshap.fast.columns import hidden_at
from owenshap.fast.linear_first import FIRST_PANEL
from owenshap.games.model_game import MOST_COMPARED

DESIGNS = {
    "exact": (Exact(), None),
    "chains": (Castro(), 200),
    "stars": (HalvedOwen(), 400),
    "sets": (Linear(), 60),
}
PRECISIONS = {"float64": (np.float64, 1e-6), "float32": (np.float32, 1e-4)}
ACTIVATIONS = ("identity", "relu", "tanh", "sigmoid")


def layers_of(seed, dtype):
    """Weights (width, next width), biases and activations of a network of 1 to 4 layers; widths
    from 1.
    """
    rng = np.random.default_rng(seed)
    widths = [
        int(rng.integers(3, 9)),
        *rng.integers(1, 13, size=rng.integers(1, 4)).tolist(),
        int(rng.integers(1, 5)),
    ]
    weights = [
        rng.normal(size=(a, b)).astype(dtype) / np.sqrt(a).astype(dtype)
        for a, b in pairwise(widths)
    ]
    biases = [rng.normal(size=b).astype(dtype) for b in widths[1:]]
    last = (
        "softmax"
        if widths[-1] > 1 and rng.random() < 0.5
        else str(rng.choice(["identity", "sigmoid"]))
    )
    return weights, biases, [*rng.choice(ACTIVATIONS, size=len(weights) - 1).tolist(), last]


def data_of(seed, features, dtype):
    """Rows of which some have null players, and a background for the odd seeds."""
    rng = np.random.default_rng((seed, 1))
    x = rng.normal(size=(4, features)).astype(dtype)
    x[1, 0] = x[2, -1] = 0
    return x, {"background": rng.normal(size=(3, features)).astype(dtype)} if seed % 2 else {
        "baseline": 0.0
    }


@pytest.mark.parametrize(("method", "budget"), DESIGNS.values(), ids=DESIGNS)
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS.values(), ids=PRECISIONS)
@pytest.mark.parametrize("seed", range(10))
def test_perceptrons_as_weights(seed, dtype, tolerance, method, budget):
    model = MLP(*layers_of(seed, dtype))
    x, absent = data_of(seed, layers_of(seed, dtype)[0][0].shape[0], dtype)
    agree(model, x, method, budget, tolerance, **absent)


@pytest.mark.parametrize(("method", "budget"), DESIGNS.values(), ids=DESIGNS)
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS.values(), ids=PRECISIONS)
@pytest.mark.parametrize("seed", range(10))
def test_modules(seed, dtype, tolerance, method, budget):
    torch = pytest.importorskip("torch")
    nn, layers = torch.nn, []
    kinds = {
        "identity": nn.Identity,
        "relu": nn.ReLU,
        "tanh": nn.Tanh,
        "sigmoid": nn.Sigmoid,
        "softmax": lambda: nn.Softmax(1),
    }
    weights, biases, activations = layers_of(seed, dtype)
    for weight, bias, activation in zip(weights, biases, activations, strict=True):
        layer = nn.Linear(*weight.shape)
        layer.weight, layer.bias = (
            nn.Parameter(torch.from_numpy(each)) for each in (weight.T.copy(), bias)
        )
        layers += [layer, kinds[activation]()]
    x, absent = data_of(seed, weights[0].shape[0], dtype)
    agree(nn.Sequential(*layers).eval(), x, method, budget, tolerance, **absent)


@pytest.mark.parametrize(("method", "budget"), DESIGNS.values(), ids=DESIGNS)
def test_no_input_row_is_built(method, budget, monkeypatch):
    asked = []
    predict = MLP.predict
    monkeypatch.setattr(
        MLP, "predict", lambda self, batch: (asked.append(len(batch)), predict(self, batch))[1]
    )
    weights, biases, activations = layers_of(1, np.float64)
    x, _ = data_of(1, len(weights[0]), np.float64)
    Explainer(MLP(weights, biases, activations), x[2:])(x, method=method, budget=budget)
    stand_ins = len(x) - 2
    # the explained rows once, and what the structure is compared on
    assert asked == [len(x), stand_ins + MOST_COMPARED]


def test_single_precision_errs_less_than_sampling():
    rng = np.random.default_rng(3)
    weights = [rng.normal(size=(a, b)) / np.sqrt(a) for a, b in pairwise((40, 30, 10, 3))]
    x = rng.normal(size=(3, 40)).astype(np.float32)
    method = HalvedOwen(levels=20)
    long, short = (
        Explainer(MLP([each.astype(dtype) for each in weights]), baseline=0.0)(
            x.astype(dtype), method=method, budget=400 * 41
        )
        for dtype in (np.float64, np.float32)
    )
    assert np.linalg.norm(long.values - short.values) < 0.001 * np.linalg.norm(long.standard_errors)


def test_exact_values_need_no_table_of_coalitions():
    players = 21
    rng = np.random.default_rng(0)
    model = MLP([rng.normal(size=(players, 2)), rng.normal(size=(2, 1))])
    explainer, x = Explainer(model, baseline=0.0), rng.normal(size=(1, players))
    tracemalloc.start()
    try:
        explainer(x, method="exact", progress=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << players  # one float64 of every coalition


def test_null_players_are_dropped_for_each_row_of_a_batch(compact):
    features, stars = 8, 10
    weights, rng = [np.ones((features, 3)), np.ones((3, 1))], np.random.default_rng(0)
    x = np.where(
        np.arange(features) < np.array([[8], [3], [5], [3], [8], [1]]),
        rng.normal(size=(6, features)),
        0.0,
    )
    found = Explainer(MLP(weights), baseline=0.0)(
        x, method=HalvedOwen(levels=stars), progress=False
    )
    live = (x != 0).sum(axis=1)
    # one design for rows alike
    assert [design.n_players for design in compact] == sorted(set(live.tolist()))
    assert (found.values[x == 0] == 0).all()
    for row in range(len(x)):
        alone = Explainer(MLP([weights[0][: live[row]], weights[1]]), baseline=0.0)(
            x[[row], : live[row]], method=HalvedOwen(levels=stars), progress=False
        )
        np.testing.assert_allclose(found.values[row, : live[row]], alone.values[0], rtol=1e-12)
        assert found.evaluations[row] == alone.evaluations[0] <= 2 + stars * (live[row] + 1)


def test_many_rows_share_one_design_and_send_little_else(compact, monkeypatch):
    torch = pytest.importorskip("torch")
    from owenshap.fast.torch_linear import TorchArrays

    sent = []
    put = TorchArrays.put
    monkeypatch.setattr(
        TorchArrays,
        "put",
        lambda self, array, exact=False: (sent.append(array.nbytes), put(self, array, exact))[1],
    )
    model = torch.nn.Sequential(torch.nn.Linear(50, 20), torch.nn.Tanh(), torch.nn.Linear(20, 2))
    x = torch.rand(200, 50) + 0.1
    Explainer(model, baseline=0.0, output="predicted")(
        x, method=HalvedOwen(levels=20), progress=False
    )
    assert len(compact) == 1
    centres = compact[0].centres.nbytes
    assert centres == 20 * 50
    # beside them, for each row: its live players and values at both ends, and the chosen output
    # wherever it is asked for
    assert sum(sent) < 10 * centres + len(x) * 8 * (50 + 2 + 20)


def test_no_thread_is_started_and_none_taken_away():
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    before = threading.active_count(), torch.get_num_threads()
    for each in (model, MLP([np.ones((5, 2)), np.ones((2, 1))])):
        Explainer(each, baseline=0.0)(np.ones((3, 5), np.float32), method="halved-owen", budget=200)
    assert (threading.active_count(), torch.get_num_threads()) == before


def test_tiles_of_few_stars_have_their_centres_from_one_product(monkeypatch):
    rng = np.random.default_rng(0)
    shapes = ((100, 40), (40, 2))
    model = MLP([rng.normal(size=each) / 5 for each in shapes], [np.zeros(40), np.zeros(2)])
    row = rng.normal(size=(1, 100))
    made = []

    def counted(arrays, present, *others):
        made.append(present.shape[1])
        return hidden_at(arrays, present, *others)

    monkeypatch.setattr(stars, "hidden_at", counted)
    asked = {"method": "halved-owen", "budget": 20_000}
    found = Explainer(model, baseline=0.0)(row, **asked)
    assert len(made) == 1
    assert made[0] > FIRST_PANEL
    plain = Explainer(model, baseline=0.0, fast=False)(row, **asked)
    np.testing.assert_allclose(found.values, plain.values, rtol=1e-9)
