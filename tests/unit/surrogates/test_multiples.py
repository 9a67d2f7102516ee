"""Outputs that are one game are fitted once."""

import numpy as np
import pytest

from owenshap import FunctionGame, estimate
from owenshap.designs.pairs import draw_pairs
from owenshap.estimators.base import with_complements
from owenshap.surrogates.cross_validated import CrossValidated
from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate
from owenshap.surrogates.multiples import FittedMultiples, OncePerGame, multiples

WEIGHTS = np.linspace(-1, 2, 12)
TIMES = [1.0, -1.0, 2.5, 0.0]
PROCESS = OncePerGame(CrossValidated(GaussianProcessSurrogate()))


def one(coalitions):
    return np.tanh(coalitions @ WEIGHTS / 3) + 0.3 * coalitions[:, 0] * coalitions[:, 5]


def classes(coalitions):
    first = 0.5 + 0.2 * one(coalitions)
    return np.stack([first, 1 - first], axis=1)


def fits():
    """Of several outputs together, and the fit of the first alone; with other coalitions."""
    coalitions = with_complements(draw_pairs(12, 36, np.random.default_rng(0)))
    values = one(coalitions)[:, None] * TIMES + [0.0, 1.0, 3.0, 7.0]
    return PROCESS.fit(coalitions, values), PROCESS.fit(coalitions, values[:, :1]), coalitions


def test_what_is_known_of_one_is_known_of_its_multiples():
    several, alone, coalitions = fits()
    assert isinstance(several, FittedMultiples)
    assert not isinstance(alone, FittedMultiples)
    for name in ("shapley_values", "leave_one_out", "leave_fold_out", "without_folds"):
        found, wanted = getattr(several, name), getattr(alone, name) * TIMES
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(several.standard_errors, alone.standard_errors * np.abs(TIMES))
    wanted = alone.values(~coalitions) * TIMES + [0.0, 1.0, 3.0, 7.0]
    np.testing.assert_allclose(several.values(~coalitions), wanted, atol=1e-12)
    assert several.flexible.tolist() == [alone.flexible[0]] * 4
    assert several.notes == (alone.notes and alone.notes * 4)
    assert several.start.keys() == alone.start.keys()


@pytest.mark.parametrize("off", [1e-5, 0.1])
def test_what_is_not_a_multiple_has_a_fit_of_its_own(off):
    odd = np.random.default_rng(1).normal(size=(20, 1)) * [1.0, -1.0]
    np.testing.assert_array_equal(multiples(odd), [1.0, -1.0])
    odd[3, 1] += off
    assert multiples(odd) is None


def test_of_one_output_and_of_a_constant_one_nothing_is_a_multiple():
    odd = np.random.default_rng(1).normal(size=(20, 2))
    assert multiples(odd[:, :1]) is None
    assert multiples(odd * [0.0, 1.0]) is None


def test_rounding_in_single_precision_is_no_difference():
    odd = np.random.default_rng(1).normal(size=(20, 1)) * [1.0, -1.0]
    odd[:, 1] += 1e-7
    found = multiples(odd)
    np.testing.assert_allclose(found, [1.0, -1.0], atol=1e-6)


@pytest.mark.parametrize("method", ["gaussian-process", "gaussian-process-corrected"])
def test_two_classes_take_one_fit_at_a_time(method, monkeypatch):
    outputs = []
    fit = GaussianProcessSurrogate.fit

    def watched(self, coalitions, values, start=None):
        outputs.append(values.shape[1])
        return fit(self, coalitions, values, start)

    monkeypatch.setattr(GaussianProcessSurrogate, "fit", watched)
    found = estimate(FunctionGame(classes, 12), method, tolerance="2%")
    assert set(outputs) == {1}
    np.testing.assert_allclose(found.values[:, 0], -found.values[:, 1], atol=1e-12)
    gaps = found.values.sum(axis=0) - (found.grand_value - found.empty_value)
    assert np.abs(gaps).max() < 1e-12
