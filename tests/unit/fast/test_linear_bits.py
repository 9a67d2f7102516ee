"""A row's bits from columns depend on nothing but the row: not on the others, their order, or the
memory.
"""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

from owenshap import MLP, Castro, Exact, Explainer, HalvedOwen, Linear, OwenPrinted
from owenshap.fast import linear_first

FEATURES, ROWS = 10, 11
DESIGNS = {
    "stars": ("halved-owen", 1000, None),
    "stars of many levels": (OwenPrinted(levels=150), None, None),
    "chains": (Castro(antithetic=True), 300, None),
    "exact": (Exact(), None, None),
    "sets": (Linear(), 150, None),
    "drawn stars": (HalvedOwen(), 300, 2),
    "drawn chains": ("castro", 300, 2),
}
BACKGROUND = np.random.default_rng(5).normal(size=(7, FEATURES))
ABSENT = {
    "a number": {"baseline": 0.0},
    "a row each": {"baseline": np.random.default_rng(6).normal(size=(ROWS, FEATURES))},
    "background": {"background": BACKGROUND, "background_weights": np.arange(1.0, 8)},
    "groups": {"background": BACKGROUND, "players": {"a": [0, 3], "b": [1, 2, 4]}},
}
WIDTHS = (FEATURES, 40, 17, 2)
CASES = {
    f"{name}, {design}": (absent, *settings)
    for name, absent in ABSENT.items()
    for design, settings in DESIGNS.items()
    if settings[2] is None or "background" in absent
}


def data():
    """Rows of which some have null players against the baseline 0."""
    x = np.random.default_rng(0).normal(size=(ROWS, FEATURES))
    x[3, 2] = x[5, [1, 4]] = x[6, 1] = 0
    return x


def layers_of(dtype):
    rng = np.random.default_rng(1)
    return [rng.normal(size=pair).astype(dtype) / 3 for pair in pairwise(WIDTHS)]


def module(dtype):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    steps = []
    for at, weights in enumerate(layers_of(dtype)):
        layer = torch.nn.Linear(*weights.shape, bias=at % 2 == 0).to(
            torch.from_numpy(weights).dtype
        )
        layer.weight = torch.nn.Parameter(torch.from_numpy(weights.T.copy()))
        steps += [layer, torch.nn.Sigmoid()]
    return torch.nn.Sequential(*steps[:-1], torch.nn.Softmax(1)).eval()


MODELS = {
    "numpy": lambda dtype: MLP(layers_of(dtype), activations="tanh"),
    "torch": module,
}


def test_panels_are_narrow_where_bits_depend_on_the_place():
    """As in a kernel of some processors: in wide products the first and last 8 columns differ."""

    def product(right):
        made = 1 / 3 * right
        if right.shape[2] > 16:
            made[..., 8:-8] += 1e-16 * made[..., 8:-8].sum()
        return made

    arrays = linear_first.Arrays(np.float64)
    assert linear_first.even_panel(arrays, 3, product, 48) == 16
    assert linear_first.even_panel(arrays, 3, lambda right: 1 / 3 * right, 48) == 48
    places = np.random.default_rng(0).normal(size=48)
    assert (
        linear_first.even_panel(arrays, 3, lambda right: right * places[: right.shape[2]], 48) == 1
    )


def test_one_number_that_agrees_by_luck_does_not_tell():
    """Two orders of adding up few numbers often come to the same bits."""

    def product(right):
        made = np.cumsum(right, axis=1)[:, -1:]
        made[..., :8] = np.cumsum(right[:, ::-1, :8], axis=1)[:, -1:]
        return made

    arrays = linear_first.Arrays(np.float64)
    assert all(linear_first.even_panel(arrays, length, product, 48) <= 8 for length in range(9, 40))


def test_a_wide_first_layer_is_not_made_again_to_test_its_panels():
    tracemalloc.start()
    linear_first.first_panel(linear_first.Arrays(np.float64), 500, 50_000)
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()


@pytest.fixture(autouse=True)
def threads_as_before():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("absent", "method", "budget", "draws"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["single", "double"])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_bits_of_a_row(make, dtype, absent, method, budget, draws):
    model, x = make(dtype), data().astype(dtype)
    settings = {
        name: each.astype(dtype) if name == "background" else each for name, each in absent.items()
    }

    def explained(which, memory="256MB"):
        own = dict(settings)
        if np.ndim(own.get("baseline", 0)) == 2:
            own["baseline"] = own["baseline"][which].astype(dtype)
        explainer = Explainer(model, memory=memory, **own)
        return explainer(
            x[which], method=method, budget=budget, background_draws=draws, progress=False
        )

    everyone = np.arange(ROWS)
    together = explained(everyone)
    turned = np.random.default_rng(1).permutation(ROWS)
    others = [
        (turned, "256MB"),
        (everyone, 20_000),
        (everyone, 200_000),
        (np.arange(4, 7), "256MB"),
    ]
    others += [(np.array([row]), "256MB") for row in (0, 3, 5)]
    for which, memory in others:
        found = explained(which, memory)
        for name in ("values", "base_values", "standard_errors"):
            ours, theirs = getattr(found, name), getattr(together, name)
            assert (ours is None) == (theirs is None)
            if ours is not None:
                np.testing.assert_array_equal(
                    ours, theirs[which], err_msg=f"{name} of rows {which} in {memory}"
                )
