"""The jobs: a fitted model, a background and rows, and what owenshap and shap are given of them.

All data are scikit-learn's own, all seeds fixed. Models are as their users make them: defaults,
with a scaler where the kind of model needs one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_classification,
    make_regression,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.default import truth
from benchmarks.default.truth import Truth

BACKGROUND, ROWS = 100, 1000
OUT = Path(__file__).parents[2] / "out" / "default"
Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Case:
    """What is explained, and what is known about it."""

    model: Any
    """What owenshap gets."""
    background: Any
    """Array or frame, as the rows."""
    rows: Any
    question: Function
    """What both explain, as a function of rows: (m,) or (m, outputs)."""
    truth: Truth
    """Values of some rows, (rows, players, outputs), and their standard errors."""
    peer: Any = None
    """What shap gets: the model where it takes it, else a function; by default the question."""
    masker: Any = None
    """What shap gets in place of the background."""
    peer_call: dict[str, Any] = field(default_factory=dict)
    players: dict[str, list[int]] | None = None
    most_rows: int = ROWS
    judged: int = 10
    """Rows whose true values are computed."""


def _split(X: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Background and rows to explain: first rows of the data, then mixtures of two of them."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    background, real = X[order[:BACKGROUND]], X[order[BACKGROUND:]][:ROWS]
    one, other = rng.integers(len(real), size=(2, ROWS - len(real)))
    share = rng.random((len(one), 1)) / 2
    mixed = (1 - share) * real[one] + share * real[other]
    return background, np.concatenate([real, mixed])


def _breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    """As xgboost sees it: numbers that float32 holds."""
    X, y = load_breast_cancer(return_X_y=True)
    return X.astype(np.float32).astype(float), y


def _of_trees(model: Any, margin: Function) -> Case:
    """A classifier of breast cancer that both libraries read themselves."""
    X, _ = _breast_cancer()
    background, rows = _split(X)
    rows = rows.astype(np.float32).astype(float)
    return Case(model, background, rows, margin, truth.trees(model, background), peer=model)


def xgboost() -> Case:
    """xgboost, 100 trees, breast cancer."""
    from xgboost import XGBClassifier

    model = XGBClassifier(n_jobs=1).fit(*_breast_cancer())
    return _of_trees(model, lambda rows: model.predict(rows, output_margin=True))


def lightgbm() -> Case:
    """lightgbm, 100 trees, breast cancer."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_jobs=1, verbose=-1).fit(*_breast_cancer())
    return _of_trees(model, lambda rows: model.predict(rows, raw_score=True))


def catboost() -> Case:
    """catboost, 1,000 trees, breast cancer."""
    from catboost import CatBoostClassifier

    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = CatBoostClassifier(**quiet).fit(*_breast_cancer())
    return _of_trees(model, lambda rows: model.predict(rows, prediction_type="RawFormulaVal"))


def histogram_boosting() -> Case:
    """scikit-learn's histogram boosting, breast cancer."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(random_state=0).fit(*_breast_cancer())
    return _of_trees(model, model.decision_function)


def forest() -> Case:
    """Random forest of 100 trees, breast cancer."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(random_state=0).fit(*_breast_cancer())
    return _of_trees(model, model.predict_proba)


def extra_trees() -> Case:
    """Extra trees, 100 of them, breast cancer."""
    from sklearn.ensemble import ExtraTreesClassifier

    model = ExtraTreesClassifier(random_state=0).fit(*_breast_cancer())
    return _of_trees(model, model.predict_proba)


def logistic() -> Case:
    """Logistic regression in log-odds, breast cancer, standardised."""
    from sklearn.linear_model import LogisticRegression

    X, y = _breast_cancer()
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression().fit(X, y)
    background, rows = _split(X)
    exact = truth.linear(model.coef_, background)
    return Case(model, background, rows, model.decision_function, exact, peer=model)


def ridge() -> Case:
    """Ridge regression, diabetes, 10 features."""
    from sklearn.linear_model import Ridge

    X, y = load_diabetes(return_X_y=True)
    model = Ridge().fit(X, y)
    background, rows = _split(X)
    exact = truth.linear(model.coef_[None], background)
    return Case(model, background, rows, model.predict, exact, peer=model)


def mlp_pipeline() -> Case:
    """Scaler and MLPClassifier, probabilities, breast cancer."""
    from sklearn.neural_network import MLPClassifier

    X, y = _breast_cancer()
    model = make_pipeline(StandardScaler(), MLPClassifier(random_state=0, max_iter=500)).fit(X, y)
    background, rows = _split(X)
    near_exact = truth.sampled(200_000)
    return Case(model, background, rows, model.predict_proba, near_exact, judged=4)


def mlp_frame() -> Case:
    """The same pipeline fitted to a DataFrame, which both are given."""
    from pandas import DataFrame

    names = load_breast_cancer().feature_names
    plain = mlp_pipeline()
    _, y = _breast_cancer()
    X = DataFrame(_breast_cancer()[0], columns=names)
    fresh = clone(plain.model).fit(X, y)
    background, rows = (DataFrame(each, columns=names) for each in (plain.background, plain.rows))

    def near_exact(_: Any, rows: Any) -> truth.Values:
        return plain.truth(plain, rows.to_numpy())

    def predict(rows: Any) -> np.ndarray:
        return fresh.predict_proba(DataFrame(rows, columns=names))

    return Case(fresh, background, rows, predict, near_exact, fresh.predict_proba, judged=4)


def torch_mlp() -> Case:
    """torch network 16-64-32-2 with softmax, 16 features."""
    import torch
    from torch import nn

    X, y = make_classification(1500, 16, n_informative=12, n_classes=2, random_state=0)
    X = X.astype(np.float32)
    torch.manual_seed(0)
    layers = [nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2)]
    model = _trained(nn.Sequential(*layers), X, y)
    background, rows = (each.astype(np.float32) for each in _split(X))
    exact = truth.enumerated(model, background)
    return Case(model, background, rows, _called(model), exact, judged=4)


def torch_cnn() -> Case:
    """torch convolutions, digits, 16 patches as players, 10 classes."""
    import torch
    from torch import nn

    import owenshap

    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    torch.manual_seed(0)
    layers = [
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 4, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(128, 10),
    ]
    model = _trained(nn.Sequential(*layers), X, y)
    background, rows = (each.astype(np.float32) for each in _split(X))
    patches = owenshap.patches(8, 8, size=2)
    return Case(
        model,
        background,
        rows,
        _called(model),
        truth.sampled(20_000),
        masker=Patches(background, patches),
        players=patches,
        judged=2,
    )


class Patches:
    """A masker for shap whose players are patches; shap's own for images has no background."""

    def __init__(self, background: np.ndarray, patches: dict[str, list[int]]) -> None:
        self._background = background
        self._of = np.zeros((len(patches), background.shape[1]), bool)
        for player, pixels in enumerate(patches.values()):
            self._of[player, pixels] = True
        self.shape = (len(background), len(patches))

    def mask_shapes(self, _: np.ndarray) -> list[tuple[int]]:
        return [(len(self._of),)]

    def __call__(self, mask: np.ndarray, row: np.ndarray) -> tuple[np.ndarray]:
        present = self._of[np.asarray(mask, bool)].any(axis=0)
        return (np.where(present, row, self._background),)


def _trained(network: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """Two hundred steps of Adam, then a softmax at the end."""
    import torch
    from torch import nn

    rows, labels = torch.from_numpy(X), torch.from_numpy(y)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(200):
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(rows), labels).backward()
        optimiser.step()
    return nn.Sequential(network, nn.Softmax(dim=1)).eval()


def _called(network: Any) -> Function:
    """What shap's users write around a torch module."""
    import torch

    def predict(rows: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return network(torch.from_numpy(np.asarray(rows, np.float32))).numpy().astype(float)

    return predict


def support_vectors() -> Case:
    """Scaler and SVC, decision function, breast cancer."""
    from sklearn.svm import SVC

    X, y = _breast_cancer()
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    background, rows = _split(X)
    exact = _of_support_vectors(model, background)
    return Case(model, background, rows, model.decision_function, exact)


def _of_support_vectors(model: Any, background: np.ndarray) -> Truth:
    """Its kernel is a product over features."""
    scaler, machine = model[0], model[-1]
    return truth.product_kernel(
        machine.dual_coef_[0],
        machine.support_vectors_,
        machine._gamma,
        scaler.transform(background),
        scaler.transform,
    )


def nearest_neighbours() -> Case:
    """k-nearest neighbours, probabilities, breast cancer."""
    from sklearn.neighbors import KNeighborsClassifier

    X, y = _breast_cancer()
    model = KNeighborsClassifier().fit(X, y)
    background, rows = _split(X)
    return Case(model, background, rows, model.predict_proba, truth.sampled(10_000))


def gaussian_process() -> Case:
    """Gaussian process regression, RBF and noise, diabetes, 10 features."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    X, y = load_diabetes(return_X_y=True)
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, y)
    background, rows = _split(X)
    product = model.kernel_.k1
    exact = truth.product_kernel(
        product.k1.constant_value * model.alpha_ * model._y_train_std,
        model.X_train_,
        1 / (2 * product.k2.length_scale**2),
        background,
    )
    return Case(model, background, rows, model.predict, exact)


def naive_bayes() -> Case:
    """Gaussian naive Bayes, probabilities of 3 classes, wine, 13 features."""
    from sklearn.naive_bayes import GaussianNB

    X, y = load_wine(return_X_y=True)
    model = GaussianNB().fit(X, y)
    background, rows = _split(X)
    exact = truth.enumerated(model.predict_proba, background)
    return Case(model, background, rows, model.predict_proba, exact)


def isolation_forest() -> Case:
    """Isolation forest, diabetes, 10 features, by its mean path length."""
    from sklearn.ensemble import IsolationForest
    from sklearn.ensemble._iforest import _average_path_length

    X, _ = load_diabetes(return_X_y=True)
    X = X.astype(np.float32).astype(float)
    model = IsolationForest(random_state=0).fit(X)
    background, rows = _split(X)
    rows = rows.astype(np.float32).astype(float)
    usual = _average_path_length([model._max_samples])[0]

    def length(rows: np.ndarray) -> np.ndarray:
        return -np.log2(-model.score_samples(rows)) * usual

    return Case(model, background, rows, length, truth.enumerated(length, background), peer=model)


def onnx() -> Case:
    """ONNX session of a 13-100-3 network, wine, standardised; one thread."""
    import onnxruntime
    from skl2onnx import to_onnx
    from sklearn.neural_network import MLPClassifier

    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X).astype(np.float32)
    network = MLPClassifier(random_state=0, max_iter=500).fit(X, y)
    proto = to_onnx(network, X[:1], options={"zipmap": False})
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / "network.onnx"
    path.write_bytes(proto.SerializeToString())
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), settings)
    background, rows = (each.astype(np.float32) for each in _split(X))

    def predict(rows: np.ndarray) -> np.ndarray:
        return session.run(["probabilities"], {"X": rows.astype(np.float32)})[0].astype(float)

    exact = truth.enumerated(network.predict_proba, background)
    return Case(session, background, rows, predict, exact)


def function_1_ms() -> Case:
    """A Python function of 12 features that computes 1 ms for each row."""
    return _slow(0.001, BACKGROUND)


def function_100_ms() -> Case:
    """A Python function of 12 features that computes 100 ms for each row; a background of one row."""
    return _slow(0.1, 1)


def _slow(seconds: float, background_rows: int) -> Case:
    """It computes, by the thread's own clock, so that other work on the machine does not show."""

    def quick(rows: np.ndarray) -> np.ndarray:
        waves = np.sin(rows[:, 0] + rows[:, 1]) * rows[:, 2] + np.tanh(rows[:, 3:8].sum(axis=1))
        return waves + np.exp(-((rows[:, 8] - rows[:, 9]) ** 2)) + rows[:, 10] * (rows[:, 11] > 0)

    def slow(rows: np.ndarray) -> np.ndarray:
        end = time.thread_time() + seconds * len(rows)
        found = quick(rows)
        while time.thread_time() < end:
            pass
        return found

    X = np.random.default_rng(0).normal(size=(BACKGROUND + ROWS, 12))
    background, rows = _split(X)
    background = background[:background_rows]
    one = background_rows == 1
    exact = truth.enumerated(quick, background)
    return Case(slow, background, rows, quick, exact, peer=slow, most_rows=1 if one else ROWS)


def features_200() -> Case:
    """Scaler and MLPClassifier, probabilities, 200 features."""
    from sklearn.neural_network import MLPClassifier

    made = {"n_informative": 40, "n_redundant": 20, "random_state": 0}
    X, y = make_classification(1500, 200, **made)
    model = make_pipeline(StandardScaler(), MLPClassifier(random_state=0, max_iter=200)).fit(X, y)
    background, rows = _split(X)
    near_exact = truth.sampled(200_000)
    return Case(model, background, rows, model.predict_proba, near_exact, judged=2)


def features_1000() -> Case:
    """Scaler and SVR, 1,000 features; shap is given the 2,001 evaluations that it asks for."""
    from sklearn.svm import SVR

    X, y = make_regression(1500, 1000, n_informative=100, noise=1.0, random_state=0)
    y = np.tanh(y / y.std()) * 10
    model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(X[:100], y[:100])
    background, rows = _split(X)
    exact = _of_support_vectors(model, background)
    asked = {"max_evals": 2001}
    return Case(model, background, rows, model.predict, exact, peer_call=asked, judged=2)


IN_TORCH = ("torch_mlp", "torch_cnn", "onnx")
"""Jobs of packages that the peers' Python has no small build of; they run beside the tests' shap."""

ONE_ROW = ("function_100_ms",)
"""Jobs of which one row is explained."""

CASES: dict[str, Callable[[], Case]] = {
    each.__name__: each
    for each in (
        xgboost,
        lightgbm,
        catboost,
        histogram_boosting,
        forest,
        extra_trees,
        logistic,
        ridge,
        mlp_pipeline,
        mlp_frame,
        torch_mlp,
        torch_cnn,
        support_vectors,
        nearest_neighbours,
        gaussian_process,
        naive_bayes,
        isolation_forest,
        onnx,
        function_1_ms,
        function_100_ms,
        features_200,
        features_1000,
    )
}
