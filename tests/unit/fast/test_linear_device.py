"""The same on a CUDA device, with the plain arrays and with the kernel of our own."""

import itertools

import numpy as np
import pytest
from columns import ABSENT, DESIGNS, FEATURES, OUTPUTS, rows

from owenshap import Explainer
from owenshap.explain import prefetch
from owenshap.fast import fused_stars as _fused_stars
from owenshap.fast import fused_subsets as _fused_subsets
from owenshap.fast import linear_game

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.device
nn = torch.nn


def network(
    first=nn.Sigmoid, second=nn.Sigmoid, softmax=True, features=FEATURES, widths=(40, 25, 10)
):
    torch.manual_seed(0)
    wide, middle, last = widths
    layers = [
        nn.Linear(features, wide),
        first(),
        nn.Linear(wide, middle),
        second(),
        nn.Linear(middle, last),
    ]
    return nn.Sequential(*layers, *([nn.Softmax(1)] if softmax else [])).eval()


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
@pytest.mark.parametrize(
    "absent", [ABSENT["background"], ABSENT["a row each"]], ids=["background", "a row each"]
)
@pytest.mark.parametrize(("method", "budget"), DESIGNS.values(), ids=DESIGNS)
def test_the_device_agrees_with_the_host(method, budget, absent, output):
    model = network()
    x = rows().astype(np.float32)
    settings = {name: np.asarray(value, np.float32) for name, value in absent.items()}
    host = Explainer(model, output=output, **settings)(x, method=method, budget=budget)
    device = Explainer(model.cuda(), output=output, **settings)(x, method=method, budget=budget)
    np.testing.assert_allclose(
        device.values, host.values, rtol=0, atol=1e-4 * np.abs(host.values).max()
    )


CASES = {
    "sigmoid": {},
    "tanh, relu": {"first": nn.Tanh, "second": nn.ReLU},
    "scores": {"softmax": False},
    "paper": {"features": 785, "widths": (300, 25, 10)},
    "narrow": {"widths": (13, 9, 2)},
}


@pytest.mark.parametrize("output", [None, -1, "predicted"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_kernel_agrees_with_the_plain_arrays(case, output, monkeypatch):
    pytest.importorskip("triton")
    model = network(**case).cuda()
    features = case.get("features", FEATURES)
    x, background = torch.rand(3, features) + 0.1, torch.rand(4, features)
    found = []
    # the plain mean: what spreads the gap is a ratio, in which the last digits of float32 show
    asked = {"method": "halved-owen", "budget": 40 * (features + 1), "efficient": False}
    for fewest in (0, 1 << 62):
        monkeypatch.setattr(_fused_stars, "FEWEST_NUMBERS", fewest)
        found.append(Explainer(model, background, output=output)(x, **asked).values)
    fused, plain = found
    np.testing.assert_allclose(fused, plain, rtol=0, atol=1e-4 * np.abs(plain).max())


def perceptron(widths, activations, bias=True):
    torch.manual_seed(0)
    pairs = zip(itertools.pairwise(widths), activations, strict=True)
    layers = [
        [nn.Linear(*both, bias=bias), *([] if after is None else [after])] for both, after in pairs
    ]
    return nn.Sequential(*itertools.chain(*layers)).eval()


PERCEPTRONS = {
    "paper": ((16, 13, 9, 2), (nn.Sigmoid(), nn.Sigmoid(), nn.Softmax(1))),
    "one layer": ((12, 3), (nn.Sigmoid(),)),
    "wide": ((17, 32, 20, 16), (nn.ReLU(), nn.Tanh(), None)),
    "deep": ((7, 20, 5, 9, 4, 1), (nn.Tanh(), None, nn.ReLU(), nn.Sigmoid(), nn.Tanh())),
}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("output", [None, 0, -1, "logit"])
@pytest.mark.parametrize("absent", ["baseline", "background"])
@pytest.mark.parametrize("case", PERCEPTRONS.values(), ids=PERCEPTRONS)
def test_all_coalitions_by_the_kernel_agree_with_the_plain_arrays(
    case, absent, output, bias, monkeypatch
):
    pytest.importorskip("triton")
    model = perceptron(*case, bias=bias).cuda()
    features = case[0][0]
    x = torch.randn(3, features, generator=torch.Generator().manual_seed(1))
    instead = (
        {"baseline": 0.0} if absent == "baseline" else {"background": torch.randn(2, features)}
    )
    if output == "logit" and not isinstance(case[1][-1], (nn.Sigmoid, nn.Softmax)):
        pytest.skip("no probabilities")
    found, kernels, original = [], [], _fused_subsets.shapley
    monkeypatch.setattr(
        _fused_subsets, "shapley", lambda *given: kernels.append(1) or original(*given)
    )
    for fewest in (0, 1 << 62):
        monkeypatch.setattr(_fused_stars, "FEWEST_NUMBERS", fewest)
        found.append(Explainer(model, output=output, **instead)(x, method="exact").values)
    assert len(kernels) == 1
    fused, plain = found
    np.testing.assert_allclose(fused, plain, rtol=0, atol=1e-4 * np.abs(plain).max())


@pytest.mark.parametrize("output", [None, -1, "predicted"])
@pytest.mark.parametrize(
    "baseline",
    [0.0, torch.rand(30, 40, generator=torch.Generator().manual_seed(2))],
    ids=["0", "a row each"],
)
@pytest.mark.parametrize("budget", [90, 600])
def test_games_valued_together_agree_with_each_alone(output, baseline, budget, monkeypatch):
    pytest.importorskip("triton")
    monkeypatch.setattr(_fused_stars, "FEWEST_NUMBERS", 0)
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(30, 40, generator=generator) + 0.1
    share = torch.rand(30, 1, generator=generator)
    x = torch.where(torch.rand(30, 40, generator=generator) < share, x, torch.as_tensor(baseline))
    x[:, 0] = 2  # a live player at least
    valued = []
    monkeypatch.setattr(
        prefetch,
        "value_ahead",
        lambda work: (valued.append(len(work)), linear_game.value_ahead(work)),
    )
    model = network(features=40).cuda()

    def explained(rows, absent):
        return Explainer(model, baseline=absent, output=output)(
            rows, method="halved-owen", budget=budget, efficient=False
        )

    together = explained(x, baseline)
    assert sum(valued) > 10
    monkeypatch.setattr(_fused_stars, "FEWEST_NUMBERS", 1 << 62)
    for row in range(0, 30, 3):
        alone = explained(x[[row]], baseline if isinstance(baseline, float) else baseline[[row]])
        # values far below the outputs have the last digits of these, where one replicate is exact
        atol = max(1e-4 * np.abs(alone.values).max(), 5e-7 * np.abs(alone.base_values).max())
        np.testing.assert_allclose(together.values[row], alone.values[0], rtol=0, atol=atol)
        np.testing.assert_allclose(together.base_values[row], alone.base_values[0], rtol=1e-5)
        assert together.evaluations[row] == alone.evaluations[0]
