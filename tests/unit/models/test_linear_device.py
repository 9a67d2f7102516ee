"""The same on a CUDA device, with the plain arrays and with the kernel of our own."""

import numpy as np
import pytest
from columns import ABSENT, DESIGNS, FEATURES, OUTPUTS, rows

from owenshap import Explainer
from owenshap.models import _fused_stars

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
nn = torch.nn


def network(first=nn.Sigmoid, second=nn.Sigmoid, softmax=True, features=FEATURES, widths=(40, 25, 10)):
    torch.manual_seed(0)
    wide, middle, last = widths
    layers = [nn.Linear(features, wide), first(), nn.Linear(wide, middle), second(), nn.Linear(middle, last)]
    return nn.Sequential(*layers, *([nn.Softmax(1)] if softmax else [])).eval()


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
@pytest.mark.parametrize("absent", [ABSENT["background"], ABSENT["a row each"]], ids=["background", "a row each"])
@pytest.mark.parametrize(("method", "budget"), DESIGNS.values(), ids=DESIGNS)
def test_the_device_agrees_with_the_host(method, budget, absent, output):
    model = network()
    x = rows().astype(np.float32)
    settings = {name: np.asarray(value, np.float32) for name, value in absent.items()}
    host = Explainer(model, output=output, **settings)(x, method=method, budget=budget)
    device = Explainer(model.cuda(), output=output, **settings)(x, method=method, budget=budget)
    np.testing.assert_allclose(device.values, host.values, rtol=0, atol=1e-4 * np.abs(host.values).max())


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
    for fewest in (0, 1 << 62):
        monkeypatch.setattr(_fused_stars, "FEWEST_NUMBERS", fewest)
        explainer = Explainer(model, background, output=output)
        found.append(explainer(x, method="halved-owen", budget=40 * (features + 1)).values)
    fused, plain = found
    np.testing.assert_allclose(fused, plain, rtol=0, atol=1e-4 * np.abs(plain).max())
