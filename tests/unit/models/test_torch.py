import multiprocessing
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from owenshap import Explainer, InputError, patches
from owenshap.errors import ModelError
from owenshap.models import as_model
from owenshap.models.torch_module import ON_A_DEVICE, TorchModel
from owenshap.tables import as_table

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.device)]
# old ways, still in use
scripting = pytest.mark.filterwarnings(r"ignore:`torch.jit.*` is deprecated:DeprecationWarning")


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def seeded(module, dtype=torch.float32):
    """The module with weights that are the same every time, whatever other tests did with torch's
    generator.
    """
    rng = np.random.default_rng(11)
    with torch.no_grad():
        for weights in module.parameters():
            weights.copy_(torch.tensor(rng.normal(scale=0.5, size=tuple(weights.shape))))
    return module.to(dtype)


def mlp():
    return seeded(nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3), nn.Softmax(dim=1)))


def as_numpy_function(net):
    first, second = net[0], net[2]
    weights = [
        each.detach().double().numpy()
        for each in (first.weight, first.bias, second.weight, second.bias)
    ]

    def function(rows):
        scores = np.tanh(rows @ weights[0].T + weights[1]) @ weights[2].T + weights[3]
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    return function


class Picture(nn.Module):
    """A small convolutional net of (1, 8, 8) images with all that behaves otherwise in training."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5)
        )
        self.head = nn.Linear(4, 2)

    def forward(self, images):
        return self.head(self.features(images).mean(dim=(2, 3)))

    def first(self, images):
        return self(images)[:, 0]


class Returns(nn.Module):
    """A module that returns whatever `make` makes of its batch."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, rows):
        return self.make(rows)


SETTINGS = [{"method": "exact"}, {"method": "halved-owen", "budget": 400, "seed": 3}]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "given",
    [{"background": numbers(9, 5, seed=1)}, {"baseline": 0.0}, {"baseline": numbers(5, seed=2)}],
)
@pytest.mark.parametrize("settings", SETTINGS, ids=["exact", "halved-owen"])
def test_a_module_is_explained_as_the_same_function(device, given, settings):
    net, rows = mlp(), numbers(4, 5)
    wanted = Explainer(as_numpy_function(net), **given)(rows, **settings)
    found = Explainer(net.to(device), **given)(rows, **settings)
    assert found.values.dtype == np.float64
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-5, rtol=0)
    np.testing.assert_allclose(found.predictions, wanted.predictions, atol=1e-5, rtol=0)
    np.testing.assert_allclose(found.data, rows, atol=1e-6)


def test_rows_of_every_type_give_the_same():
    net, rows, background = mlp(), numbers(3, 5), numbers(6, 5, seed=1)
    names = list("abcde")
    wanted = Explainer(net, background)(rows).values
    of_tensors = Explainer(net, torch.tensor(background))(
        torch.tensor(rows, requires_grad=True)
    ).values
    np.testing.assert_array_equal(of_tensors, wanted)
    frames = Explainer(net, pd.DataFrame(background, columns=names))(
        pd.DataFrame(rows, columns=names)[list("cabed")]
    )
    np.testing.assert_array_equal(frames.values, wanted)
    assert list(frames.feature_names) == names


def test_a_frame_with_other_columns_is_told():
    frame = pd.DataFrame(numbers(6, 5), columns=list("abcde"))
    explainer = Explainer(mlp(), frame)
    with pytest.raises(
        InputError,
        match=r"X must have rows of shape \(5,\) as the background has; got \(4,\) without e",
    ):
        explainer(frame[list("abcd")])


@pytest.mark.parametrize("device", DEVICES)
def test_patches_of_an_image_and_the_method_to_call(device):
    net = seeded(Picture()).to(device).eval()
    images, background = (
        torch.tensor(numbers(2, 1, 8, 8)),
        torch.tensor(numbers(4, 1, 8, 8, seed=1)),
    )
    players = patches(8, 8, size=4)
    both = Explainer(net, background, players=players)(images)
    assert both.values.shape == (2, 4, 2)
    with torch.inference_mode():
        mean = net(background.float().to(device)).double().mean(dim=0).cpu().numpy()
        predictions = net(images.float().to(device)).double().cpu().numpy()
    np.testing.assert_allclose(both.values.sum(axis=1), predictions - mean, atol=1e-5)
    one = Explainer(net, background, players=players, predict="first")(images)
    np.testing.assert_allclose(one.values, both.values[..., 0], atol=1e-6)
    arrays = Explainer(net, background.numpy(), players=players)(images.numpy())
    np.testing.assert_array_equal(arrays.values, both.values)


def flags(net):
    return [each.training for each in net.modules()]


def buffers(net):
    return [each.clone() for each in net.buffers()]


@pytest.mark.parametrize("mixed", [False, True])
def test_the_module_is_left_as_it_was_found(mixed):
    net = seeded(Picture()).train()
    if mixed:
        net.features[1].eval()
        net.head.training = False
    before, kept, state = flags(net), buffers(net), torch.random.get_rng_state()
    images = numbers(2, 1, 8, 8)
    found = Explainer(net, baseline=0.0, players=patches(8, 8, size=4))(images)
    assert flags(net) == before
    assert all(torch.equal(a, b) for a, b in zip(net.buffers(), kept, strict=True))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(weights.grad is None and weights.requires_grad for weights in net.parameters())
    np.testing.assert_array_equal(
        found.values,
        Explainer(net.eval(), baseline=0.0, players=patches(8, 8, size=4))(images).values,
    )


def test_nothing_is_kept_for_a_backward_pass():
    seen = []
    net = Returns(lambda rows: seen.append(torch.is_inference_mode_enabled()) or rows.sum(dim=1))
    Explainer(net, baseline=0.0)(numbers(2, 3))
    assert seen
    assert all(seen)


def test_the_module_is_left_as_it_was_found_when_it_fails():
    net = nn.Sequential(nn.Dropout(), nn.Linear(3, 1)).train()
    net[1].training = False
    with pytest.raises(
        ModelError, match="the model must predict the rows to explain; got RuntimeError"
    ):
        Explainer(net, baseline=0.0)(numbers(2, 4))
    assert flags(net) == [True, True, False]


def test_overridden_training_switches_are_not_called():
    class Merging(nn.Linear):
        def train(self, mode=True):
            raise AssertionError("switched")

    net = seeded(Merging(3, 1))
    assert Explainer(net, baseline=0.0)(numbers(2, 3)).values.shape == (2, 3)
    assert net.training


def test_threads_share_the_switch():
    inside, leave = threading.Barrier(2, timeout=20), threading.Event()

    class Waits(nn.Module):
        """Two threads are in its forward at once; one leaves, then the other looks at the flag
        again.
        """

        def forward(self, rows):
            number = inside.wait()
            if number == 0:
                assert leave.wait(20)
            return torch.full((len(rows),), float(self.training))

    net = Waits().train()
    model = as_model(net)

    def predict():
        result = model.predict(torch.ones(2, 3))
        leave.set()
        return result

    with ThreadPoolExecutor(2) as pool:
        results = [each.result() for each in [pool.submit(predict), pool.submit(predict)]]
    assert [each.tolist() for each in results] == [[0.0, 0.0], [0.0, 0.0]]
    assert net.training


def test_threads_and_processes_give_the_same():
    net, rows = (
        seeded(nn.Sequential(nn.Linear(5, 4), nn.Dropout(), nn.ReLU(), nn.Linear(4, 1))),
        numbers(300, 5),
    )
    explainer, settings = Explainer(net, baseline=0.0), {"method": "halved-owen", "budget": 100}
    here = explainer(rows, **settings).values
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(explainer(rows, executor=pool, **settings).values, here)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        np.testing.assert_array_equal(explainer(rows, executor=pool, **settings).values, here)
    assert net.training
    assert isinstance(pickle.loads(pickle.dumps(as_model(net))), TorchModel)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.bfloat16, 0.05), (torch.float16, 0.01)]
)
def test_rows_take_the_dtype_of_the_module(dtype, tolerance):
    seen = []
    net = mlp()
    wanted = Explainer(as_numpy_function(net), numbers(4, 5, seed=1))(numbers(2, 5)).values
    net = net.to(dtype)
    net.register_forward_pre_hook(lambda _, batch: seen.append(batch[0].dtype))
    found = Explainer(net, numbers(4, 5, seed=1))(numbers(2, 5))
    assert set(seen) == {dtype}
    assert found.values.dtype == found.predictions.dtype == np.float64
    np.testing.assert_allclose(found.values, wanted, atol=tolerance)


def test_what_half_precision_cannot_hold_is_told():
    with pytest.raises(InputError, match=r"data must fit into torch.float16; got 100000. Scale it"):
        Explainer(nn.Linear(2, 1).half(), baseline=0.0)(np.array([[1.0, 1e5]]))


def test_integers_stay_integers_only_in_tensors():
    net = nn.Sequential(nn.Embedding(7, 3), nn.Flatten(), nn.Linear(6, 1))
    model = as_model(net)
    words = torch.tensor([[1, 2], [3, 4]])
    assert model.prepare(as_table(words)).batch().dtype == torch.int64
    found = Explainer(net, words[:1])(words[1:])
    assert found.values.shape == (1, 2)
    assert Explainer(net, baseline=0)(words).values.shape == (2, 2)
    assert (
        as_model(mlp()).prepare(as_table(np.ones((2, 5), np.int64))).batch().dtype == torch.float32
    )


def test_a_module_without_parameters_gets_rows_as_they_are():
    seen = []
    net = Returns(lambda rows: seen.append(rows.dtype) or rows[:, 0] * rows[:, 1])
    np.testing.assert_allclose(
        Explainer(net, baseline=0.0)(np.array([[2.0, 3.0]])).values, [[3.0, 3.0]]
    )
    assert set(seen) == {torch.float64}
    statistics = nn.BatchNorm1d(2, affine=False)  # only buffers
    assert as_model(statistics).prepare(as_table(numbers(2, 2))).batch().dtype == torch.float32


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda rows: (rows, rows),
            r"got TypeError\(tuple is no tensor; explain a function that makes one of it\) on rows 0",
        ),
        (
            lambda rows: {"logits": rows},
            r"got TypeError\(dict is no tensor; explain a function that makes one of it\)",
        ),
        (
            lambda rows: rows.max(dim=1),
            r"got TypeError\(max is no tensor; explain a function that makes one of it\)",
        ),
        (
            lambda rows: rows.to(torch.complex64),
            "the model's predictions must be real numbers; got dtype complex64",
        ),
    ],
)
def test_what_is_no_tensor_of_predictions_is_told(make, message):
    with pytest.raises(ModelError, match=message):
        Explainer(Returns(make), baseline=0.0)(numbers(2, 3))


def test_a_method_that_is_not_there_is_told():
    with pytest.raises(
        InputError, match="model must have the method that predict names; got Linear without scores"
    ):
        Explainer(nn.Linear(2, 1), baseline=0.0, predict="scores")


def test_a_tensor_is_no_model():
    with pytest.raises(InputError, match="model must be of a known kind or a function; got Tensor"):
        Explainer(torch.ones(3), baseline=0.0)


@scripting
@pytest.mark.parametrize("frozen", [False, True])
def test_scripts(frozen):
    net, rows = nn.Sequential(*mlp(), nn.Dropout()), numbers(2, 5)
    wanted = Explainer(net, baseline=0.0)(rows).values
    script = torch.jit.script(net.train())
    script = torch.jit.freeze(script.eval()) if frozen else script.train()
    data = rows.astype(np.float32)  # a frozen script has no parameters to take the dtype from
    np.testing.assert_allclose(Explainer(script, baseline=0.0)(data).values, wanted, atol=1e-6)
    assert frozen or all(flags(script))


@scripting
def test_a_scripted_function_is_a_function():
    assert not isinstance(as_model(torch.jit.script(product)), TorchModel)


def product(rows):
    return rows[:, 0] * rows[:, 1]


@pytest.mark.device
def test_batches_are_larger_on_a_device():
    assert as_model(mlp().cuda()).batch_elements == ON_A_DEVICE


def test_batches_on_the_host_are_those_of_any_model():
    assert as_model(mlp()).batch_elements < ON_A_DEVICE


def test_a_function_of_tensors_may_return_what_still_has_a_gradient():
    net = torch.nn.Linear(3, 2)
    rows = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
    explanation = Explainer(net.forward, baseline=0.0)(rows)
    plain = (net.weight[None] * rows[:, None]).swapaxes(1, 2).detach().numpy()
    np.testing.assert_allclose(explanation.values, plain, atol=1e-6)
