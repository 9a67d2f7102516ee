"""Kernel machines whose kernel is a product over features: the same values as all coalitions give,
and only where the model is one.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import owenshap
from owenshap.explain import formulas
from owenshap.fast import product_kernels
from owenshap.fast.product_kernels import KernelMachine
from owenshap.fast.sklearn_kernels import kernel_machine_of
from owenshap.models import as_model
from owenshap.run.plan import sums_pay
from owenshap.tables import as_table

KERNELS = "kernel closed form"


def data(rows=60, features=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * np.arange(1, features + 1)
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 6 + 0.1 * rng.normal(size=rows)
    return X, y


X, Y = data()
TWO = np.stack([Y, -2 * Y**2], axis=1)
PROCESS = ConstantKernel(2.0) * RBF(np.arange(2.0, 8.0)) + RBF(9.0) + WhiteKernel(0.1)
MACHINES = {
    "SVR": SVR(C=3).fit(X, Y),
    "NuSVR": NuSVR(gamma=0.02).fit(X, Y),
    "SVC": SVC().fit(X, Y > 0),
    "NuSVC": NuSVC(nu=0.3).fit(X, Y > 0),
    "OneClassSVM": OneClassSVM().fit(X),
    "KernelRidge": KernelRidge(kernel="rbf", gamma=0.03).fit(X, Y),
    "Laplacian": KernelRidge(kernel="laplacian").fit(X, Y),
    "two targets": KernelRidge(kernel="rbf").fit(X, TWO),
    "process": GaussianProcessRegressor(PROCESS, normalize_y=True, optimizer=None).fit(X, Y),
    "two processes": GaussianProcessRegressor(RBF(4.0), alpha=0.1, optimizer=None).fit(X, TWO),
    "scaled": make_pipeline(StandardScaler(), MinMaxScaler(), SVR()).fit(X, Y),
    "scaled Laplacian": make_pipeline(
        StandardScaler(), KernelRidge(kernel="laplacian", gamma=0.4)
    ).fit(X, Y),
}


@pytest.mark.parametrize("name", MACHINES)
def test_values_are_those_of_all_coalitions(name):
    explainer = owenshap.Explainer(MACHINES[name], X[:12])
    found = explainer(X[20:24])
    exact = explainer(X[20:24], method="exact")
    assert found.method == KERNELS
    assert np.abs(found.values - exact.values).max() < 1e-11 * np.abs(exact.values).max()
    np.testing.assert_allclose(found.base_values, exact.base_values, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(found.lower, found.values)
    assert (found.evaluations == 0).all()
    assert "products over its features" in found.because[0]


def test_groups_and_weights_of_the_background_count():
    shares = np.arange(1.0, 9.0)
    groups = {"pair": [1, 4], "two": [0, 2]}
    explainer = owenshap.Explainer(
        MACHINES["scaled"], X[:8], players=groups, background_weights=shares
    )
    found, exact = explainer(X[20:23]), explainer(X[20:23], method="exact")
    assert found.method == KERNELS
    np.testing.assert_allclose(found.values, exact.values, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        SVC().fit(X, np.digitize(Y, [-0.5, 0.5])),
        SVR(kernel="poly", degree=2).fit(X, Y),
        SVC(kernel="sigmoid").fit(X, Y > 0),
        GaussianProcessRegressor(Matern(2.0), optimizer=None).fit(X, Y),
        type("Own", (SVR,), {"predict": lambda self, X: X[:, 0] ** 2})().fit(X, Y),
    ],
    ids=["three classes", "polynomial", "sigmoid", "Matern", "subclass"],
)
def test_other_models_are_evaluated(model):
    assert owenshap.Explainer(model, X[:10])(X[20:21]).method == "exact"


def test_a_machine_that_is_not_what_the_model_predicts_is_left_alone():
    """Public coefficients are a copy: who changes them changes no prediction."""
    model = SVR().fit(X, Y)
    model.dual_coef_ = 2 * model.dual_coef_
    found = owenshap.Explainer(model, X[:10])(X[20:22])
    assert found.method == "exact"
    honest = owenshap.Explainer(SVR().fit(X, Y), X[:10])(X[20:22], method="exact")
    np.testing.assert_allclose(found.values, honest.values, atol=1e-12)


def test_a_machine_is_compared_with_predictions():
    machine = kernel_machine_of(as_model(MACHINES["SVR"]))
    assert machine is not None
    said = MACHINES["SVR"].predict(X)[:, None]
    assert machine.agrees(as_table(X), said)
    assert not machine.agrees(as_table(X), said + 1e-4)
    assert not machine.agrees(as_table(X[:, :5]), said)


@pytest.mark.parametrize(
    "asked", [{"method": "exact"}, {"keep": True}, {"seconds": 5.0}, {"index": "banzhaf"}]
)
def test_other_questions_are_evaluated(asked):
    assert owenshap.Explainer(MACHINES["SVR"], X[:10])(X[20:21], **asked).method != KERNELS


@pytest.mark.parametrize("budget", [1, 2.5])
def test_a_budget_must_be_one_even_where_none_is_needed(budget):
    explainer = owenshap.Explainer(MACHINES["SVR"], X[:10])
    with pytest.raises(owenshap.errors.InputError, match="budget"):
        explainer(X[20:21], budget=budget)
    assert explainer(X[20:21], budget=50).method == KERNELS


def test_it_is_used_only_where_it_is_fast():
    assert owenshap.Explainer(MACHINES["SVR"], X[:10], fast=False)(X[20:21]).method == "exact"
    large = np.tile(X, (200, 1))
    assert owenshap.Explainer(MACHINES["SVR"], large)(X[20:21]).method == KERNELS


def test_a_sum_over_more_background_rows_than_stars_would_draw_is_too_slow(monkeypatch):
    assert sums_pay(12, 27_000)
    assert not sums_pay(12, 28_000)
    monkeypatch.setattr(formulas, "sums_pay", lambda *_: False)
    assert owenshap.Explainer(MACHINES["SVR"], X[:10])(X[20:21]).method != KERNELS


def test_a_row_has_the_same_bits_alone_and_among_others():
    explainer = owenshap.Explainer(MACHINES["process"], X[:30])
    together = explainer(X[30:])
    for row in range(3):
        alone = explainer(X[30 + row : 31 + row])
        assert alone.values[0].tobytes() == together.values[row].tobytes()


def test_model_rows_are_those_that_the_model_predicted(monkeypatch):
    seen = []
    whole = SVR.predict
    monkeypatch.setattr(SVR, "predict", lambda self, X: seen.append(len(X)) or whole(self, X))
    found = owenshap.Explainer(MACHINES["SVR"], X[:10])(X[20:23])
    assert found.model_rows.sum() == sum(seen)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("scale", [0.01, 0.3, 3.0])
def test_fewer_levels_are_as_good_as_those_that_are_exact(power, scale, monkeypatch):
    rng = np.random.default_rng(3)
    centres, rows = rng.normal(size=(40, 90)), rng.normal(size=(4, 90))
    rates = scale * rng.random((1, 90)) ** 3
    machine = KernelMachine(centres, rates, power, rng.normal(size=(40, 1)), np.zeros(1))
    players = np.arange(90)
    found = machine.shapley_values(rows[:1], rows[1:], None, players)[0]
    monkeypatch.setattr(product_kernels, "_levels", lambda _, n: product_kernels._rule(n // 2))
    exact = machine.shapley_values(rows[:1], rows[1:], None, players)[0]
    assert np.abs(found - exact).max() < 1e-12 * np.abs(exact).max()


def test_features_far_from_all_centres_leave_finite_values():
    far = np.array([[1e3, 0, 0, 0, 0, 0], [0.0, 0, 0, 0, 0, 1e4]])
    background = np.concatenate([X[:10], 2 * far])
    found = owenshap.Explainer(MACHINES["SVR"], background)(far)
    exact = owenshap.Explainer(MACHINES["SVR"], background)(far, method="exact")
    assert found.method == KERNELS
    np.testing.assert_allclose(found.values, exact.values, atol=1e-12)
