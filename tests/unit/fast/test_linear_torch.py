"""torch's Sequentials that begin with a Linear, found by themselves."""

import numpy as np
import pytest
from columns import ABSENT, BACKGROUND, DESIGNS, FEATURES, OUTPUTS, agree, rows

from owenshap import Explainer
from owenshap.fast import linear_first
from owenshap.fast.first_step import first_step
from owenshap.fast.linear_first import LinearFirst
from owenshap.fast.torch_linear import TorchArrays
from owenshap.models import as_model

torch = pytest.importorskip("torch")
nn = torch.nn


@pytest.fixture(autouse=True)
def one_thread():
    """Networks this small are slower on several threads, and much slower on cores that others
    use.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def network(dtype=torch.float64, seed=0, middle=nn.Tanh):
    torch.manual_seed(seed)
    layers = [
        nn.Linear(FEATURES, 5),
        nn.Sigmoid(),
        nn.Linear(5, 4, bias=False),
        middle(),
        nn.Linear(4, 3),
        nn.Softmax(1),
    ]
    return nn.Sequential(*layers).to(dtype).eval()


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
@pytest.mark.parametrize(("method", "budget"), DESIGNS.values(), ids=DESIGNS)
def test_every_design_and_output(method, budget, output, compact):
    agree(network(), rows(), method, budget, baseline=0.0, output=output)
    assert compact


@pytest.mark.parametrize("absent", ABSENT.values(), ids=ABSENT)
@pytest.mark.parametrize(("method", "budget"), DESIGNS.values(), ids=DESIGNS)
def test_every_way_to_be_absent(method, budget, absent, compact):
    agree(network(), rows(), method, budget, output="predicted", players={"a": [0, 3]}, **absent)
    assert compact


@pytest.mark.parametrize(
    ("method", "budget"), [each for name, each in DESIGNS.items() if name != "exact"]
)
def test_background_rows_that_are_drawn(method, budget, compact):
    agree(network(), rows(), method, budget, draws=3, background=BACKGROUND)
    assert compact


@pytest.mark.parametrize(("method", "budget"), DESIGNS.values(), ids=DESIGNS)
def test_float32(method, budget, compact):
    agree(
        network(torch.float32),
        rows().astype(np.float32),
        method,
        budget,
        1e-4,
        background=BACKGROUND.astype(np.float32),
    )
    assert compact


@pytest.fixture
def panels(monkeypatch):
    """Small panels, never copied as a whole; the shapes of what the steps were given."""
    shapes, stepped = [], LinearFirst._stepped
    monkeypatch.setattr(linear_first, "PANEL", 8)
    monkeypatch.setattr(linear_first, "COPIED", 0)
    monkeypatch.setattr(
        LinearFirst,
        "_stepped",
        lambda self, hidden: (shapes.append(hidden.shape), stepped(self, hidden))[1],
    )
    return shapes


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
@pytest.mark.parametrize("absent", ABSENT.values(), ids=ABSENT)
def test_stars_by_panel(absent, output, panels):
    agree(
        network(), rows(), *DESIGNS["halved stars"], output=output, players={"a": [0, 3]}, **absent
    )
    assert {shape[2] for shape in panels} == {8}


def test_stars_by_panel_with_background_rows_that_are_drawn(panels):
    agree(network(), rows(), *DESIGNS["halved stars"], draws=3, background=BACKGROUND)
    assert {shape[2] for shape in panels} == {8}


def test_no_panels_where_a_step_cannot_take_them(panels):
    agree(network(middle=lambda: nn.LayerNorm(4)), rows(), *DESIGNS["halved stars"], baseline=0.0)
    assert {len(shape) for shape in panels} == {2}


@pytest.mark.parametrize("absent", ABSENT.values(), ids=ABSENT)
@pytest.mark.parametrize(("method", "budget"), DESIGNS.values(), ids=DESIGNS)
def test_products_as_wide_as_they_come_on_a_device(method, budget, absent, monkeypatch, compact):
    monkeypatch.setattr(TorchArrays, "fixed", False)
    agree(network(), rows(), method, budget, players={"a": [0, 3]}, **absent)
    assert compact


def test_the_same_bits_on_any_number_of_threads():
    """But for steps whose own last bits depend on where threads cut an array, as torch's sigmoid
    and softmax do.
    """
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(FEATURES, 13), nn.ReLU(), nn.Linear(13, 9), nn.ReLU(), nn.Linear(9, 2)
    ).eval()
    explainer, x, found = Explainer(model, baseline=0.0), rows().astype(np.float32), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(explainer(x, method="halved-owen", budget=20_000, progress=False))
    for each in found[1:]:
        np.testing.assert_array_equal(each.values, found[0].values)
        np.testing.assert_array_equal(each.standard_errors, found[0].standard_errors)


MIDDLES = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "leaky": lambda: nn.LeakyReLU(0.1),
    "softplus": nn.Softplus,
    "dropout": lambda: nn.Dropout(0.5),
    "nothing": nn.Identity,
    "batch norm": lambda: nn.BatchNorm1d(4),
    "layer norm": lambda: nn.LayerNorm(4),
    "parametric": lambda: nn.PReLU(4),
    "nested": lambda: nn.Sequential(nn.Tanh(), nn.Linear(4, 4), nn.ReLU()),
    "log softmax": lambda: nn.LogSoftmax(dim=-1),
    "unknown": lambda: Squared(),  # noqa: PLW0108 (it is defined below)
}


class Squared(nn.Module):
    def forward(self, hidden):
        return hidden**2 + hidden[:, :1]


@pytest.mark.parametrize("middle", MIDDLES.values(), ids=MIDDLES)
def test_layers_between(middle, compact):
    agree(network(middle=middle), rows(), "halved-owen", 400, baseline=0.0)
    assert compact


def test_after_flatten(compact):
    model = nn.Sequential(nn.Flatten(), *network()).eval()
    images = torch.from_numpy(rows()).reshape(-1, 2, 3)
    agree(model, images, "castro", 200, baseline=0.0)
    assert compact


def test_a_linear_layer_on_the_last_axis_of_images_is_left_to_the_plain_way(compact):
    model = nn.Sequential(nn.Linear(3, 2), nn.Flatten(), nn.Linear(4, 1)).double().eval()
    Explainer(model, baseline=0.0)(
        torch.from_numpy(rows()).reshape(-1, 2, 3), method="castro", budget=50
    )
    assert not compact


def test_a_module_in_training_mode_stays_in_it_and_predicts_in_evaluation_mode():
    model = network(middle=lambda: nn.Dropout(0.5)).train()
    agree(model, rows(), "castro", 200, baseline=0.0)
    assert all(each.training for each in model.modules())


class Custom(nn.Sequential):
    def forward(self, batch):
        return super().forward(batch) ** 2


class Own(nn.Module):
    """A module with a forward of its own, which is given as a function of itself and the rows."""

    def __init__(self, forward):
        super().__init__()
        self.first, self.second, self.last = (
            nn.Linear(FEATURES, 5),
            nn.Linear(FEATURES, 5),
            nn.Linear(5, 3),
        )
        self.drop, self._forward = nn.Dropout(0.5), forward

    def forward(self, batch):
        return self._forward(self, batch)


def branching(module, batch):
    hidden = module.first(batch)
    return module.last(hidden.tanh() if hidden.isfinite().all() else hidden)


def in_place(module, batch):
    hidden = module.first(batch)
    hidden.relu_()
    return module.last(hidden)


FORWARDS = {
    "functions": lambda module, batch: torch.softmax(
        module.last(module.drop(torch.relu(module.first(batch)))), dim=1
    ),
    "methods": lambda module, batch: module.last(module.first(batch).sigmoid()),
    "in place": in_place,
    "skipping": lambda module, batch: module.last(
        (hidden := module.first(batch)) + torch.tanh(hidden)
    ),
    "branching": branching,
    "one number a row": lambda module, batch: module.last(torch.tanh(module.first(batch)))[:, 0],
    "by name": lambda module, batch: module.last(torch.tanh(module.first(input=batch))),
    "view": lambda module, batch: module.last(
        torch.tanh(module.first(batch.view(batch.size(0), -1)))
    ),
    "reshape": lambda module, batch: module.last(
        torch.tanh(module.first(batch.reshape(batch.shape[0], -1)))
    ),
    "flatten": lambda module, batch: module.last(torch.tanh(module.first(torch.flatten(batch, 1)))),
    "checked": lambda module, batch: (
        module.last(torch.tanh(module.first(batch))) * len(batch) / len(batch)
    ),
}


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize(
    ("method", "budget"), [DESIGNS["exact"], DESIGNS["chains"], DESIGNS["halved stars"]]
)
@pytest.mark.parametrize("forward", FORWARDS.values(), ids=FORWARDS)
def test_modules_with_a_forward_of_their_own(forward, method, budget, background, compact):
    model = Own(forward).double().eval()
    absent = {"background": BACKGROUND} if background else {"baseline": 0.0}
    agree(model, rows(), method, budget, **absent)
    assert compact


def test_a_sequence_with_a_forward_of_its_own(compact):
    agree(Custom(nn.Linear(FEATURES, 1)).double().eval(), rows(), "castro", 200, baseline=0.0)
    assert compact


@pytest.mark.parametrize("how", ["view", "reshape", "flatten"])
def test_images_that_a_forward_flattens(how, compact):
    agree(
        Own(FORWARDS[how]).double().eval(),
        torch.from_numpy(rows()).reshape(-1, 2, 3),
        "castro",
        200,
        baseline=0.0,
    )
    assert compact


def test_images_that_a_forward_does_not_flatten_are_left_to_the_plain_way(compact):
    model = nn.Sequential(Custom(nn.Linear(3, 2)), nn.Flatten()).double().eval()
    Explainer(model, baseline=0.0)(
        torch.from_numpy(rows()).reshape(-1, 2, 3), method="castro", budget=50
    )
    assert not compact


ELSEWHERE = {
    "before": lambda module, batch: module.last(module.first(batch**2)),
    "added": lambda module, batch: module.last(module.first(batch)) + batch[:, :3],
    "joined": lambda module, batch: torch.cat([module.last(module.first(batch)), batch], dim=1),
    "two layers": lambda module, batch: module.last(module.first(batch) * module.second(batch)),
    "the other layer": lambda module, batch: module.last(torch.tanh(module.second(batch))),
    "scaled by its data": lambda module, batch: (
        module.last(module.first(batch)) * batch.data.mean()
    ),
    "turned": lambda module, batch: module.last(module.first(batch)) + batch.T.sum(0)[:, None],
    "as numbers": lambda module, batch: module.last(module.first(batch)) * float(batch.sum()),
    "in numpy": lambda module, batch: (
        module.last(module.first(batch)) + torch.from_numpy(batch.numpy()[:, :1])
    ),
    "twice": lambda module, batch: module.last(module.first(batch) + module.first(-batch)),
    "not at all": lambda module, batch: module.last(torch.ones(len(batch), 5, dtype=torch.float64)),
    "several outputs": lambda module, batch: (module.first(batch), 1),
}


def test_rows_that_are_looked_at_for_some_coalitions_only(compact):
    def fixed(module, batch):
        scores = module.last(torch.tanh(module.first(batch)))
        return scores + batch[:, :1] if len(batch) > 32 else scores + 0 * scores

    model = Own(fixed).double().eval()
    found = Explainer(model, baseline=0.0)(rows(), method="castro", budget=300)
    assert np.isfinite(found.values).all()
    assert compact


@pytest.mark.parametrize("forward", ELSEWHERE.values(), ids=ELSEWHERE)
def test_rows_that_also_go_elsewhere(forward):
    assert first_step(as_model(Own(forward).double().eval())) is None


def hooked():
    model = network()
    model[0].register_forward_hook(lambda module, given, made: made + 1)
    return model


def replaced(module, name="forward"):
    """A network that limits what it is given, by a method that was put on the module or one of its
    layers.
    """
    model = network()
    found = model if module is None else model[module]
    own = getattr(found, name)
    setattr(found, name, lambda batch: own(batch.clamp(-1, 1)))
    return model


class Limiting(nn.Sequential):
    def __call__(self, batch):
        return super().__call__(batch.clamp(-1, 1))


OTHERS = {
    "own forward while training": lambda: Own(FORWARDS["functions"]).train(),
    "hooks": hooked,
    "a replaced forward": lambda: replaced(None),
    "a replaced call": lambda: replaced(None, "_call_impl"),
    "a layer's replaced forward": lambda: replaced(0),
    "a later layer's replaced forward": lambda: replaced(3),
    "a type that is called otherwise": lambda: Limiting(*network()),
    "begins otherwise": lambda: nn.Sequential(nn.Tanh(), nn.Linear(FEATURES, 1)),
    "half": lambda: network(torch.float16),
    "norm while training": lambda: network(middle=lambda: nn.BatchNorm1d(4)).train(),
}


@pytest.mark.parametrize("model", OTHERS.values(), ids=OTHERS)
def test_what_is_not_known_to_be_linear_first_is_left_alone(model):
    assert first_step(as_model(model())) is None


@pytest.mark.parametrize(
    "kind", ["register_module_forward_pre_hook", "register_module_forward_hook"]
)
def test_hooks_of_all_modules_are_left_to_the_plain_way(kind):
    handle = getattr(nn.modules.module, kind)(lambda *_: None)
    try:
        assert first_step(as_model(network())) is None
    finally:
        handle.remove()
    assert first_step(as_model(network())) is not None


def test_a_layer_whose_type_was_changed_is_left_to_the_plain_way(monkeypatch):
    own = nn.Tanh.forward
    monkeypatch.setattr(nn.Tanh, "forward", lambda self, batch: own(self, batch) ** 2)
    assert first_step(as_model(network())) is None


@pytest.mark.parametrize(
    "change", [lambda: replaced(None), lambda: replaced(0)], ids=["model", "layer"]
)
def test_a_forward_that_shows_only_outside_the_explained_rows(change):
    """It limits what it is given to [-1, 1], where the explained rows lie and the background does
    not.
    """
    inside, outside = rows() / 10, 3 * BACKGROUND
    found, plain = (
        Explainer(change(), outside, fast=fast)(inside, method="exact") for fast in (True, False)
    )
    np.testing.assert_array_equal(found.values, plain.values)


def test_one_linear_layer_has_its_values_in_closed_form():
    model = nn.Linear(FEATURES, 2).double()
    explanation = Explainer(model, baseline=0.0)(rows())
    assert explanation.method == "linear closed form"
    weights = model.weight.detach().numpy()
    np.testing.assert_allclose(explanation.values, rows()[:, :, None] * weights.T, atol=1e-12)


@pytest.mark.parametrize("layers", [1, 2])
def test_a_time_for_all_rows(layers):
    model = nn.Linear(FEATURES, 2).double() if layers == 1 else network()
    found = Explainer(model, baseline=0.0)(rows(), seconds=5)
    exact = Explainer(model, baseline=0.0)(rows(), method="exact")
    np.testing.assert_allclose(found.values, exact.values, atol=1e-12)


ONE_LAYER = {
    "sigmoid": [nn.Linear(FEATURES, 2), nn.Sigmoid()],
    "softmax": [nn.Linear(FEATURES, 2), nn.Softmax(1)],
    "no bias": [nn.Linear(FEATURES, 2, bias=False), nn.Softmax(-1)],
}


@pytest.mark.parametrize("layers", ONE_LAYER.values(), ids=ONE_LAYER)
def test_log_odds_of_one_layer_in_closed_form(layers):
    model = nn.Sequential(*layers).double().eval()
    found, exact = (
        Explainer(model, BACKGROUND, output="logit", fast=fast)(rows(), method=method)
        for fast, method in ((True, "auto"), (False, "exact"))
    )
    assert found.method == "linear closed form"
    np.testing.assert_allclose(found.values, exact.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.base_values, exact.base_values, rtol=0, atol=1e-12)


LAST = {
    "sigmoid": [nn.Linear(5, 3), nn.Sigmoid()],
    "two": [nn.Linear(5, 2), nn.Softmax(1)],
    "two, no bias": [nn.Linear(5, 2, bias=False), nn.Softmax(1)],
    "of no layer": [nn.Linear(5, 2), nn.Tanh(), nn.Softmax(1)],
}


@pytest.mark.parametrize("last", LAST.values(), ids=LAST)
@pytest.mark.parametrize(("method", "budget"), DESIGNS.values(), ids=DESIGNS)
def test_log_odds_of_networks(method, budget, last, compact):
    model = nn.Sequential(nn.Linear(FEATURES, 5), nn.Tanh(), *last).double().eval()
    agree(model, rows(), method, budget, output="logit", background=BACKGROUND)
    assert compact


@pytest.mark.parametrize(
    "settings",
    [{"method": "exact"}, {"method": "halved-owen", "tolerance": "5%"}],
    ids=["exact", "share"],
)
def test_log_odds_are_finite_where_probabilities_are_0_and_1(settings):
    model = (
        nn.Sequential(nn.Linear(FEATURES, 5), nn.Tanh(), nn.Linear(5, 2), nn.Softmax(1))
        .double()
        .eval()
    )
    with torch.no_grad():
        model[2].weight *= 1e4
        assert (model(torch.as_tensor(rows())) == 1).any()
    data = np.concatenate([rows(), np.zeros((1, FEATURES))])  # the last has no live player
    found = Explainer(model, baseline=0.0, output="logit")(data, **settings)
    scores = model[:3](torch.as_tensor(data)).detach().numpy()
    np.testing.assert_allclose(found.predictions[:, 0], scores[:, 0] - scores[:, 1], rtol=1e-12)
    assert (
        np.abs(found.gap).max()
        <= (1e-9 if settings["method"] == "exact" else 0.2) * np.abs(found.predictions).max()
    )
