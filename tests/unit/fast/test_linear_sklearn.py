"""scikit-learn's models with a linear first step, found by themselves."""

import numpy as np
import pytest
from columns import agree

from owenshap import Explainer
from owenshap.fast.first_step import first_step
from owenshap.models import as_model

sklearn = pytest.importorskip("sklearn")
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.linear_model import (  # noqa: E402
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import (  # noqa: E402
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 5)) * [1, 2, 3, 4, 5] + [0, 1, 0, -1, 2]
SCORE = X @ [1.0, -1, 0.5, 0.2, 0] + np.sin(X[:, 0])
TWO, THREE = (SCORE > 0).astype(int), np.digitize(SCORE, [-1, 1])
MLP_SETTINGS = {"hidden_layer_sizes": (6, 4), "max_iter": 20, "random_state": 0}

MODELS = {
    "two classes": (MLPClassifier(**MLP_SETTINGS), TWO, None),
    "three classes": (MLPClassifier(**MLP_SETTINGS, activation="tanh"), THREE, None),
    "many labels": (MLPClassifier(**MLP_SETTINGS), np.stack([TWO, THREE == 1], axis=1), None),
    "regressor": (MLPRegressor(**MLP_SETTINGS, activation="logistic"), SCORE, None),
    "two targets": (
        MLPRegressor(**MLP_SETTINGS, activation="identity"),
        np.stack([SCORE, -SCORE], axis=1),
        None,
    ),
    "logistic, two": (LogisticRegression(), TWO, None),
    "logistic, three": (LogisticRegression(), THREE, None),
    "log loss": (SGDClassifier(loss="log_loss", random_state=0), TWO, None),
    "discriminant": (LinearDiscriminantAnalysis(), THREE, None),
}
LINEAR = {
    "linear": (LinearRegression(), SCORE, None),
    "linear, two targets": (LinearRegression(), np.stack([SCORE, -SCORE], axis=1), None),
    "ridge": (Ridge(), SCORE, None),
    "lasso": (Lasso(alpha=0.01), SCORE, None),
    "elastic net": (ElasticNet(alpha=0.01), SCORE, None),
    "gradient descent": (SGDRegressor(random_state=0), SCORE / 10, None),
    "svr": (LinearSVR(random_state=0), SCORE, None),
    "kernel svr": (SVR(kernel="linear"), SCORE, None),
    "svc": (LinearSVC(random_state=0), TWO, None),
    "svc, three": (LinearSVC(random_state=0), THREE, None),
    "kernel svc": (SVC(kernel="linear"), TWO, "decision_function"),
    "ridge classifier": (RidgeClassifier(), TWO, None),
    "logistic scores": (LogisticRegression(), TWO, "decision_function"),
}
SCALERS = {
    "none": [],
    "standard": [StandardScaler()],
    "not centred": [StandardScaler(with_mean=False)],
    "not scaled": [StandardScaler(with_std=False)],
    "between": [MinMaxScaler((-1, 1))],
    "largest": [MaxAbsScaler()],
    "robust": [RobustScaler()],
    "two": [MinMaxScaler(), "passthrough", StandardScaler()],
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scaler", SCALERS.values(), ids=SCALERS)
@pytest.mark.parametrize(("model", "y", "predict"), MODELS.values(), ids=MODELS)
def test_models(model, y, predict, scaler, compact):
    fitted = (
        make_pipeline(*scaler, sklearn.clone(model)).fit(X, y)
        if scaler
        else sklearn.clone(model).fit(X, y)
    )
    agree(fitted, X[:3], "halved-owen", 200, background=X[10:14], predict=predict)
    assert compact


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scaler", [[], [StandardScaler()]], ids=["bare", "scaled"])
@pytest.mark.parametrize(("model", "y", "predict"), LINEAR.values(), ids=LINEAR)
def test_linear_models_in_closed_form(model, y, predict, scaler):
    scale = make_pipeline(*scaler, "passthrough").fit(X)
    scaled = scale.transform(X)
    fitted = sklearn.clone(model).fit(scaled, y)
    whole = make_pipeline(*(scale[:-1] if scaler else []), fitted) if scaler else fitted
    fast, plain = (
        Explainer(whole, X[10:15], predict=predict, fast=each)(X[:3]) for each in (True, False)
    )
    assert fast.method == "linear closed form"
    assert plain.method == "exact"
    np.testing.assert_allclose(fast.values, plain.values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fast.base_values, plain.base_values, rtol=1e-6, atol=1e-9)


LOGISTIC = {
    "logistic": LogisticRegression(),
    "log loss": SGDClassifier(loss="log_loss", alpha=0.5, random_state=0),
    "discriminant": LinearDiscriminantAnalysis(),
}
SCALED = X / 5  # log-odds within a few units: through probabilities they keep their digits


@pytest.mark.parametrize("players", [None, {"a": [0, 3]}], ids=["single", "grouped"])
@pytest.mark.parametrize("scaler", SCALERS.values(), ids=SCALERS)
@pytest.mark.parametrize("model", LOGISTIC.values(), ids=LOGISTIC)
def test_log_odds_of_two_classes_in_closed_form(model, scaler, players):
    fitted = make_pipeline(*scaler, sklearn.clone(model)).fit(SCALED, TWO)
    settings = {
        "background": SCALED[10:15],
        "background_weights": [1, 2, 0, 1, 3],
        "players": players,
    }
    found = Explainer(fitted, output="logit", **settings)(SCALED[:4])
    exact = Explainer(fitted, output="logit", fast=False, **settings)(SCALED[:4], method="exact")
    assert found.method == "linear closed form"
    assert (found.evaluations == 2).all()
    one = isinstance(model, LogisticRegression)  # its scores are log-odds as they are
    assert found.output_names == exact.output_names == (["1"] if one else ["logit 0", "logit 1"])
    np.testing.assert_allclose(
        found.values, exact.values, rtol=0, atol=1e-12 * np.abs(exact.values).max()
    )
    np.testing.assert_allclose(
        found.base_values, exact.base_values, rtol=0, atol=1e-12 * np.abs(exact.values).max()
    )
    scores = Explainer(fitted, predict="decision_function", **settings)(SCALED[:4])
    assert scores.method == "linear closed form"
    wanted = exact.values if one else exact.values[..., 1]
    np.testing.assert_allclose(scores.values, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize(
    "model",
    [LinearSVC(random_state=0), SGDClassifier(random_state=0), LogisticRegression()],
    ids=str,
)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_scores_in_closed_form_are_those_of_all_coalitions(model, y):
    fitted = make_pipeline(StandardScaler(), sklearn.clone(model)).fit(X, y)
    fast, plain = (
        Explainer(fitted, X[10:15], predict="decision_function", fast=each)(X[:4])
        for each in (True, False)
    )
    assert (fast.method, plain.method) == ("linear closed form", "exact")
    np.testing.assert_allclose(
        fast.values, plain.values, rtol=0, atol=1e-12 * np.abs(plain.values).max()
    )


def test_log_odds_are_finite_where_probabilities_are_0_or_1():
    fitted = LogisticRegression(C=1e3).fit(X, TWO)
    far = 30 * X[:4]
    assert fitted.predict_proba(far).max() == 1
    found = Explainer(fitted, baseline=0.0, output="logit")(far)
    np.testing.assert_allclose(found.values, far * fitted.coef_, rtol=1e-12)


def test_log_odds_of_three_classes_are_not_linear(compact):
    fitted = LogisticRegression().fit(SCALED, THREE)
    found = agree(fitted, SCALED[:3], "exact", None, output="logit", background=SCALED[10:14])
    assert found.method == "exact"
    assert compact


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "y", [TWO, np.stack([TWO, THREE == 1], axis=1)], ids=["two classes", "many labels"]
)
def test_log_odds_of_perceptrons(y, compact):
    fitted = MLPClassifier(**MLP_SETTINGS).fit(SCALED, y)
    agree(fitted, SCALED[:3], "halved-owen", 200, output="logit", background=SCALED[10:14])
    assert compact


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_frames_of_numbers(compact):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcde")).assign(b=(X[:, 1] * 10).astype(int))
    model = make_pipeline(StandardScaler(), MLPClassifier(**MLP_SETTINGS)).fit(frame, THREE)
    agree(model, frame.iloc[:3], "halved-owen", 200, background=frame.iloc[10:14])
    assert compact


OTHERS = {
    "trees": (RandomForestClassifier(3, random_state=0), TWO, "predict_proba"),
    "a link": (PoissonRegressor(), TWO, "predict"),
    "labels": (LogisticRegression(), TWO, "predict"),
    "another kernel": (SVC(), TWO, "decision_function"),
    "pairs of classes": (SVC(kernel="linear"), THREE, "decision_function"),
    "clipped": (make_pipeline(MinMaxScaler(clip=True), Ridge()), SCORE, "predict"),
    "not a scaler": (make_pipeline(PolynomialFeatures(2), Ridge()), SCORE, "predict"),
}


@pytest.mark.parametrize(("model", "y", "predict"), OTHERS.values(), ids=OTHERS)
def test_what_is_not_linear_first_is_left_alone(model, y, predict):
    assert first_step(as_model(sklearn.clone(model).fit(X, y), predict)) is None


class Shifted(LinearRegression):
    def predict(self, X):
        return np.square(super().predict(X))


def test_a_subclass_may_predict_otherwise():
    assert first_step(as_model(Shifted().fit(X, SCORE))) is None


@pytest.mark.parametrize("place", ["model", "scaler", "pipeline"])
def test_a_method_that_was_replaced_is_left_to_the_plain_way(place):
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, SCORE)
    assert first_step(as_model(model)) is not None
    thing, name = {
        "model": (model[-1], "predict"),
        "scaler": (model[0], "transform"),
        "pipeline": (model, "predict"),
    }[place]
    own = getattr(thing, name)
    setattr(thing, name, lambda rows: own(np.clip(rows, -1, 1)))
    assert first_step(as_model(model)) is None


TIMED = {
    "regression": lambda: Ridge().fit(X, SCORE),
    "probabilities": lambda: LogisticRegression().fit(X, TWO),
    "pipeline": lambda: make_pipeline(StandardScaler(), Ridge()).fit(X, SCORE),
    "perceptron": lambda: MLPClassifier(**MLP_SETTINGS).fit(X, TWO),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("output", [None, "logit"])
@pytest.mark.parametrize("make", TIMED.values(), ids=TIMED)
def test_a_time_for_all_rows(make, output):
    model = make()
    output = output if hasattr(model, "predict_proba") else None
    timed, exact = (
        Explainer(model, baseline=0.0, output=output, fast=fast)(X[:4], **settings)
        for fast, settings in ((True, {"seconds": 5}), (False, {"method": "exact"}))
    )
    np.testing.assert_allclose(timed.values, exact.values, atol=1e-6 * np.abs(exact.values).max())


def test_weights_of_single_precision_are_used_as_scikit_learn_uses_them():
    """A column that is far from zero beside its spread, as times and ids are, keeps its digits."""
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) + np.array([1e7, 0, 0])
    model = LinearRegression().fit(X.astype(np.float32), X.sum(axis=1))
    model.coef_, model.intercept_ = np.ones(3, np.float32), np.float32(0)
    found = Explainer(model, X[:100])(X[100:])
    assert found.method == "linear closed form"
    np.testing.assert_allclose(found.values, X[100:] - X[:100].mean(axis=0), atol=1e-6)
