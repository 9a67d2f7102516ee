"""Tree models are explained exactly, from their own trees: five libraries, any background, any
frame.
"""

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from naive import refuses
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import owenshap
from owenshap import Explainer
from owenshap.explain import subject
from owenshap.run.task import Settings

catboost = pytest.importorskip("catboost")
lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

CANCER, MALIGNANT = load_breast_cancer(return_X_y=True, as_frame=True)
CANCER = CANCER.iloc[:300].astype(np.float32).astype(np.float64)  # shap rounds rows to float32
MALIGNANT = MALIGNANT.iloc[:300]
DIABETES, PROGRESS = (each.iloc[:200] for each in load_diabetes(return_X_y=True, as_frame=True))
DIABETES = DIABETES.astype(np.float32).astype(np.float64)
THREE = np.digitize(PROGRESS, [100, 200])
CATBOOST = {"iterations": 20, "thread_count": 1, "verbose": 0, "allow_writing_files": False}
LIGHTGBM = {"n_estimators": 20, "n_jobs": 1, "verbose": -1}
XGBOOST = {"n_estimators": 20, "n_jobs": 1, "max_depth": 4}
ROUNDED = ("forest", "tree")  # shap rounds their thresholds, which lie halfway between two rows
SINGLE = 1e-5  # what sums in float32 allow
GROUPS = {str(i): list(range(5 * i, 5 * i + 5)) for i in range(6)}

CLASSIFIERS = {
    "xgboost": (lambda: xgboost.XGBClassifier(**XGBOOST), "margin"),
    "lightgbm": (lambda: lightgbm.LGBMClassifier(**LIGHTGBM), "margin"),
    "catboost": (lambda: catboost.CatBoostClassifier(**CATBOOST), "margin"),
    "boosting": (lambda: GradientBoostingClassifier(n_estimators=20), "decision_function"),
    "histograms": (lambda: HistGradientBoostingClassifier(max_iter=20), "decision_function"),
    "forest": (lambda: RandomForestClassifier(20, random_state=0), None),
}
REGRESSORS = {
    "xgboost": lambda: xgboost.XGBRegressor(**XGBOOST),
    "lightgbm": lambda: lightgbm.LGBMRegressor(**LIGHTGBM),
    "catboost": lambda: catboost.CatBoostRegressor(**CATBOOST),
    "boosting": lambda: GradientBoostingRegressor(n_estimators=20),
    "histograms": lambda: HistGradientBoostingRegressor(max_iter=20),
    "forest": lambda: RandomForestRegressor(20, random_state=0),
    "extra trees": lambda: ExtraTreesRegressor(20, random_state=0),
    "tree": lambda: DecisionTreeRegressor(random_state=0),
}


def by_shap(model, rows, background):
    shap = pytest.importorskip("shap")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(
            shap.TreeExplainer(model, background).shap_values(rows, check_additivity=False)
        )


def close(found, wanted, within=SINGLE):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=within * max(1, np.abs(wanted).max()))


def is_exact(explanation, trees):
    assert explanation.method == "trees"
    assert set(explanation.because) == {f"trees: exact from {trees} trees"}
    assert (explanation.evaluations == 0).all()
    assert (explanation.standard_errors == 0).all()
    np.testing.assert_array_equal(explanation.lower, explanation.values)
    np.testing.assert_array_equal(explanation.upper, explanation.values)
    assert np.abs(explanation.gap).max() <= SINGLE * max(1, np.abs(explanation.predictions).max())


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_against_shap_and_all_coalitions(name):
    make, predict = CLASSIFIERS[name]
    model = make().fit(CANCER, MALIGNANT)
    rows, background = CANCER.iloc[200:205], CANCER.iloc[:40]
    found = Explainer(model, background, predict=predict)(rows)
    is_exact(found, 20)
    if name not in ROUNDED:
        close(found.values, by_shap(model, rows, background))
    grouped = Explainer(model, background, predict=predict, players=GROUPS)
    is_exact(grouped(rows), 20)
    plain = grouped(rows, method="exact")
    close(grouped(rows).values, plain.values)
    close(grouped(rows).base_values, plain.base_values)
    np.testing.assert_array_equal(grouped(rows).predictions, plain.predictions)
    np.testing.assert_array_equal(grouped(rows).data, plain.data)


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_against_shap_and_all_coalitions(name):
    model = REGRESSORS[name]().fit(DIABETES, PROGRESS)
    rows, background = DIABETES.iloc[100:104], DIABETES.iloc[:30]
    weights = np.arange(30) % 4
    found = Explainer(model, background)(rows)
    is_exact(found, 1 if name == "tree" else 20)
    if name not in ROUNDED:
        close(found.values, by_shap(model, rows, background))
    weighed = Explainer(model, background, background_weights=weights)
    close(weighed(rows).values, weighed(rows, method="exact").values)


@pytest.mark.parametrize(
    "baseline", [0.0, DIABETES.iloc[[7]], DIABETES.iloc[20:24]], ids=["number", "row", "rows"]
)
@pytest.mark.parametrize("name", ["xgboost", "forest"])
def test_baselines(name, baseline):
    explainer = Explainer(REGRESSORS[name]().fit(DIABETES, PROGRESS), baseline=baseline)
    rows = DIABETES.iloc[100:104]
    is_exact(explainer(rows), 20)
    close(explainer(rows).values, explainer(rows, method="exact").values)
    close(explainer(rows).base_values, explainer(rows, method="exact").base_values)


@pytest.mark.parametrize("output", [None, 0, 2, "predicted", owenshap.position(1)], ids=str)
@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "catboost", "forest"])
def test_several_classes(name, output):
    make, predict = CLASSIFIERS[name]
    model = make().fit(DIABETES, THREE)
    explainer = Explainer(model, DIABETES.iloc[:20], predict=predict, output=output)
    found, plain = (
        explainer(DIABETES.iloc[100:104], method=method) for method in ("auto", "exact")
    )
    assert found.method == "trees"
    assert found.output_names == plain.output_names
    close(found.values, plain.values)
    close(found.base_values, plain.base_values)


def mixed(rows=120):
    rng = np.random.default_rng(3)
    city = rng.choice(["Bern", "Graz", "Lyon", "Oslo"], rows)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "city": pd.Categorical(city),
            "sum": rng.normal(size=rows),
        }
    )
    frame["paid"] = rng.random(rows) < 0.5
    frame.loc[frame.index[::7], "sum"] = np.nan
    target = frame["age"] / 40 + (city == "Lyon") * frame["paid"] + frame["sum"].fillna(2)
    return frame, target


FRAMED = {
    "xgboost": lambda: xgboost.XGBRegressor(**XGBOOST, enable_categorical=True),
    "lightgbm": lambda: lightgbm.LGBMRegressor(**LIGHTGBM, min_child_samples=3),
    "catboost": lambda: catboost.CatBoostRegressor(
        **CATBOOST, cat_features=["city"], one_hot_max_size=10
    ),
    "histograms": lambda: HistGradientBoostingRegressor(
        max_iter=20, categorical_features="from_dtype"
    ),
}


@pytest.mark.parametrize("name", FRAMED)
def test_frames_with_categories_and_missing_values(name):
    frame, target = mixed()
    explainer = Explainer(FRAMED[name]().fit(frame, target), frame.iloc[:30])
    found, plain = (explainer(frame.iloc[70:80], method=method) for method in ("auto", "exact"))
    is_exact(found, 20)
    close(found.values, plain.values)
    turned = frame.assign(
        city=frame["city"].cat.reorder_categories(["Oslo", "Lyon", "Bern", "Graz"])
    )
    np.testing.assert_array_equal(explainer(turned.iloc[70:80, ::-1]).values, found.values)


def test_polars_frames_of_numbers():
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(DIABETES)
    model = RandomForestRegressor(5, random_state=0).fit(frame, PROGRESS)
    found = Explainer(model, frame[:20])(frame[100:103])
    assert found.method == "trees"
    close(found.values, Explainer(model, frame[:20])(frame[100:103], method="exact").values)


@pytest.mark.parametrize("name", ["lightgbm", "forest"])
def test_the_same_bits_in_any_order_and_batch(name):
    model = REGRESSORS[name]().fit(DIABETES, PROGRESS)
    rows = DIABETES.iloc[50:80]
    explainer = Explainer(model, DIABETES.iloc[:40])
    whole = explainer(rows).values
    np.testing.assert_array_equal(explainer(rows.iloc[::-1]).values[::-1], whole)
    np.testing.assert_array_equal(
        np.concatenate([explainer(rows.iloc[[i]]).values for i in range(30)]), whole
    )
    np.testing.assert_array_equal(
        Explainer(model, DIABETES.iloc[:40])(rows.iloc[3:9]).values, whole[3:9]
    )


def test_little_memory_gives_the_same_values():
    model = REGRESSORS["lightgbm"]().fit(DIABETES, PROGRESS)
    found, small = (
        Explainer(model, DIABETES, memory=m)(DIABETES.iloc[:9]).values for m in ("256MB", "2MB")
    )
    np.testing.assert_allclose(small, found, rtol=0, atol=1e-12 * np.abs(found).max())


def test_a_goal_is_reached_without_an_evaluation():
    explainer = Explainer(REGRESSORS["xgboost"]().fit(DIABETES, PROGRESS), DIABETES)
    for goal in (
        {"tolerance": "1%"},
        {"budget": 100},
        {"seconds": 5},
        {"total_budget": 50},
        {"top": 2},
    ):
        is_exact(explainer(DIABETES.iloc[:2], **goal), 20)


# --- without a background
# ---------------------------------------------------------------------------------------------


def test_cover_of_xgboost_is_its_own():
    model = CLASSIFIERS["xgboost"][0]().fit(CANCER, MALIGNANT)
    found = Explainer(model, predict="margin")(CANCER.iloc[:20])
    wanted = model.get_booster().predict(xgboost.DMatrix(CANCER.iloc[:20]), pred_contribs=True)
    close(found.values, wanted[:, :-1])
    close(found.base_values, wanted[:, -1])
    assert set(found.because) == {"trees: exact from 20 trees and their cover"}
    assert (found.evaluations == 0).all()


def test_cover_of_lightgbm_is_its_own():
    model = CLASSIFIERS["lightgbm"][0]().fit(CANCER, MALIGNANT)
    found = Explainer(model, predict="margin")(CANCER.iloc[:20], method="trees")
    wanted = model.predict(CANCER.iloc[:20], pred_contrib=True)
    close(found.values, wanted[:, :-1])
    close(found.base_values, wanted[:, -1])


def test_groups_without_a_background():
    model = REGRESSORS["forest"]().fit(DIABETES, PROGRESS)
    explainer = Explainer(model, players={"blood": ["s1", "s2", "s3"]})
    found = explainer(DIABETES.iloc[:3])
    assert found.feature_names[4] == "blood"
    np.testing.assert_allclose(found.gap, 0, atol=1e-9)
    np.testing.assert_array_equal(explainer(DIABETES.iloc[2:3]).values, found.values[2:])


def test_other_models_need_a_background():
    with refuses("background or baseline", "not made of trees", "neither", "background=X_train"):
        Explainer(lambda rows: rows.sum(axis=1))
    model = CLASSIFIERS["xgboost"][0]().fit(DIABETES, THREE > 0)
    with refuses(
        "background or baseline", "its trees add up to its log-odds", "background=X_train"
    ):
        Explainer(model, predict="predict_proba")(DIABETES.iloc[:2])
    with refuses("method", "without a background", "castro"):
        Explainer(model, predict="margin")(DIABETES.iloc[:2], method="castro")
    with refuses("background or baseline", "not fitted"):
        Explainer(RandomForestRegressor())
    with refuses("background_weights", "come with a background", "none"):
        Explainer(model, background_weights=[1.0])


# --- where it is not taken
# ------------------------------------------------------------------------------------------


def sampled(explainer, rows, *words):
    """Rows are sampled by default, with these words as the reason, and refused with them where
    trees are asked for.
    """
    found = explainer(rows)
    assert found.method != "trees"
    for word in words:
        assert word in found.because[0]
    with refuses("model", "be a sum over trees", *words):
        explainer(rows, method="trees")


def test_probabilities_of_boosted_trees_are_sampled():
    model = CLASSIFIERS["xgboost"][0]().fit(DIABETES, THREE > 0)
    explainer = Explainer(model, DIABETES.iloc[:5], predict="predict_proba")
    sampled(explainer, DIABETES.iloc[:2], "its trees add up to its log-odds")


def test_functions_of_predictions_are_sampled():
    model = RandomForestClassifier(5, random_state=0).fit(DIABETES, THREE)
    explainer = Explainer(model, DIABETES.iloc[:5], output=np.exp)
    sampled(explainer, DIABETES.iloc[:2], "a function of its predictions is explained")


def test_isolation_forests_are_explained_by_the_length_of_their_paths():
    rows, background = DIABETES.to_numpy()[:2], DIABETES.to_numpy()[:5]
    model = IsolationForest(n_estimators=20, random_state=0).fit(DIABETES.to_numpy())
    found = Explainer(model, background)(rows)
    is_exact(found, 20)
    assert found.unit == "mean path length"
    close(found.values, by_shap(model, rows, background))
    close(found.values, Explainer(model, background)(rows, method="exact").values)
    piped = make_pipeline(StandardScaler(), model).fit(DIABETES.to_numpy())
    close(Explainer(piped, background)(rows).values, found.values)
    score = Explainer(model, background, predict="decision_function")
    sampled(score, rows, "its trees add up to its mean path length")
    assert score(rows).unit == "score"
    np.testing.assert_array_equal(score(rows).predictions, model.decision_function(rows))


def test_votes_and_means_of_any_trees():
    rows, background = DIABETES.iloc[100:102], DIABETES.iloc[:5]
    votes = AdaBoostClassifier(n_estimators=20).fit(DIABETES, THREE > 0)
    models = {
        "log-odds": votes,
        "score": AdaBoostClassifier(n_estimators=20).fit(DIABETES, THREE),
        "probability": BaggingClassifier(n_estimators=20).fit(DIABETES, THREE),
        "prediction": BaggingRegressor(n_estimators=20).fit(DIABETES, PROGRESS),
    }
    for unit, model in models.items():
        explainer = Explainer(model, background)
        found = explainer(rows)
        is_exact(found, len(model.estimators_))
        assert found.unit == unit
        close(found.values, explainer(rows, method="exact").values)
    chance = votes.predict_proba(rows)
    log_odds = Explainer(votes, background)(rows).predictions
    close(log_odds, np.log(chance[:, 1] / chance[:, 0]))


def test_medians_over_trees_are_sampled():
    model = AdaBoostRegressor(n_estimators=5).fit(DIABETES, PROGRESS)
    found = Explainer(model, DIABETES.iloc[:5])(DIABETES.iloc[:2])
    assert found.method == "exact"
    assert "a median over its trees, which is no sum" in found.because[0]


def test_lightgbm_as_a_forest():
    """Numbers are means over its trees; probabilities are made of a mean, and no mean."""
    rows, background = DIABETES.to_numpy()[100:102], DIABETES.to_numpy()[:5]
    forest = {**LIGHTGBM, "boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}
    numbers = lightgbm.LGBMRegressor(**forest).fit(DIABETES.to_numpy(), PROGRESS)
    explainer = Explainer(numbers, background)
    is_exact(explainer(rows), 20)
    close(explainer(rows).values, explainer(rows, method="exact").values)
    classes = lightgbm.LGBMClassifier(**forest).fit(DIABETES.to_numpy(), THREE > 0)
    piped = make_pipeline(StandardScaler(), lightgbm.LGBMClassifier(**forest))
    for model in (classes, piped.fit(DIABETES.to_numpy(), THREE > 0)):
        explainer = Explainer(model, background)
        sampled(explainer, rows, "its trees add up to its log-odds")
        assert explainer(rows).unit == "probability"
        np.testing.assert_array_equal(explainer(rows).predictions, model.predict_proba(rows))


def test_categorical_statistics_are_sampled():
    frame, target = mixed()
    model = catboost.CatBoostRegressor(**CATBOOST, cat_features=["city"], one_hot_max_size=1).fit(
        frame, target
    )
    found = Explainer(model, frame.iloc[:5])(frame.iloc[:2])
    assert "categorical statistics" in found.because[0]
    with refuses("model", "trees can be read", "categorical statistics"):
        Explainer(model, frame.iloc[:5])(frame.iloc[:2], method="trees")


def test_what_has_no_trees_is_told_where_trees_are_asked_for():
    rows = DIABETES.to_numpy()
    network = MLPRegressor(hidden_layer_sizes=(4,), max_iter=20, tol=10).fit(rows, PROGRESS)
    for model in (network, network.predict):
        assert "trees" not in Explainer(model, rows[:5])(rows[:2]).because[0]
        with refuses("model", "be made of trees"):
            Explainer(model, rows[:5])(rows[:2], method="trees")


def test_a_game_has_no_trees():
    with refuses("method", "for a game", "trees", "Explainer"):
        owenshap.estimate(owenshap.TableGame([0, 1, 3, 8]), "trees")


class Doubled(RandomForestRegressor):
    """Predicts otherwise than its trees."""

    def predict(self, rows):
        return 2 * super().predict(rows)


def test_a_subclass_may_predict_otherwise():
    model = Doubled(5, random_state=0).fit(DIABETES, PROGRESS)
    sampled(
        Explainer(model, DIABETES.iloc[:5]), DIABETES.iloc[:2], "its trees add up to its prediction"
    )


def test_a_model_that_is_trained_again_is_read_again():
    model = RandomForestRegressor(5, random_state=0).fit(DIABETES, PROGRESS)
    explainer = Explainer(model, DIABETES.iloc[:20])
    explainer(DIABETES.iloc[:3])
    model.fit(DIABETES, PROGRESS**2)
    found = explainer(DIABETES.iloc[:3])
    assert found.method == "trees"
    np.testing.assert_array_equal(
        found.values, Explainer(model, DIABETES.iloc[:20])(DIABETES.iloc[:3]).values
    )


def test_exact_values_can_be_switched_off():
    model = RandomForestRegressor(5, random_state=0).fit(DIABETES, PROGRESS)
    assert Explainer(model, DIABETES.iloc[:5], fast=False)(DIABETES.iloc[:2]).method == "exact"


def test_an_explainer_of_trees_can_be_copied():
    explainer = Explainer(
        RandomForestRegressor(5, random_state=0).fit(DIABETES, PROGRESS), DIABETES.iloc[:20]
    )
    found = explainer(DIABETES.iloc[:3]).values
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(explainer))(DIABETES.iloc[:3]).values, found
    )


# --- what is explained follows from the model
# -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "catboost", "boosting", "histograms"])
def test_boosted_classifiers_are_explained_in_log_odds(name):
    make, predict = CLASSIFIERS[name]
    no, yes = (0, 1) if name == "xgboost" else ("no", "yes")  # which takes numbers only
    model = make().fit(CANCER, np.where(MALIGNANT, no, yes))
    rows, background = CANCER.iloc[200:204], CANCER.iloc[:20]
    found = Explainer(model, background)(rows)
    is_exact(found, 20)
    assert (found.unit, found.output_names, found.shape) == ("log-odds", [str(yes)], (4, 30))
    np.testing.assert_array_equal(
        found.predictions, Explainer(model, background, predict=predict)(rows).predictions
    )
    np.testing.assert_array_equal(
        Explainer(model, background, output="logit")(rows).values, found.values
    )
    for label, sign in ((yes, 1), (no, -1), (owenshap.position(0), -1)):
        chosen = Explainer(model, background, output=label)(rows)
        is_exact(chosen, 20)
        np.testing.assert_array_equal(chosen.values, sign * found.values)
    predicted = Explainer(model, background, output="predicted")(rows)
    np.testing.assert_array_equal(predicted.predictions, np.abs(found.predictions))
    sampled_way = Explainer(model, background, players=GROUPS)(rows, method="exact")
    np.testing.assert_array_equal(sampled_way.predictions, found.predictions)
    assert sampled_way.unit == "log-odds"


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "catboost", "boosting", "histograms"])
def test_probabilities_are_there_for_the_asking(name):
    model = CLASSIFIERS[name][0]().fit(CANCER, MALIGNANT)
    explainer = Explainer(model, CANCER.iloc[:5], players=GROUPS, output="probability")
    found = explainer(CANCER.iloc[200:202])
    assert (found.unit, found.method, found.output_names) == ("probability", "exact", ["0", "1"])
    np.testing.assert_allclose(found.predictions, model.predict_proba(CANCER.iloc[200:202]))


def test_raw_scores_of_several_classes():
    model = CLASSIFIERS["lightgbm"][0]().fit(DIABETES, THREE)
    found = Explainer(model, DIABETES.iloc[:20])(DIABETES.iloc[100:104])
    assert (found.unit, found.method, found.output_names) == ("score", "trees", ["0", "1", "2"])
    logit = Explainer(model, DIABETES.iloc[:5], output="logit")(DIABETES.iloc[100:101])
    wanted = model.predict_proba(DIABETES.iloc[100:101])
    np.testing.assert_allclose(logit.predictions, np.log(wanted / (1 - wanted)))
    assert logit.unit == "log-odds"


LOGS = {
    "xgboost": lambda: xgboost.XGBRegressor(**XGBOOST, objective="count:poisson"),
    "lightgbm": lambda: lightgbm.LGBMRegressor(**LIGHTGBM, objective="gamma"),
    "catboost": lambda: catboost.CatBoostRegressor(**CATBOOST, loss_function="Poisson"),
    "histograms": lambda: HistGradientBoostingRegressor(max_iter=20, loss="poisson"),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_link_is_explained_in_logs(name):
    model = LOGS[name]().fit(DIABETES, PROGRESS)
    found = Explainer(model, DIABETES.iloc[:20])(DIABETES.iloc[100:104])
    is_exact(found, 20)
    assert found.unit == "log of the prediction"
    close(np.exp(found.predictions), model.predict(DIABETES.iloc[100:104]), 1e-4)
    piped = make_pipeline(StandardScaler(), LOGS[name]()).fit(DIABETES.to_numpy(), PROGRESS)
    same = Explainer(piped, DIABETES.to_numpy()[:20])(DIABETES.to_numpy()[100:104])
    assert (same.method, same.unit) == ("trees", found.unit)
    close(np.exp(same.predictions), piped.predict(DIABETES.to_numpy()[100:104]), 1e-4)


def test_rankers_are_explained_by_their_score():
    model = xgboost.XGBRanker(**XGBOOST).fit(DIABETES, THREE, qid=np.repeat(np.arange(20), 10))
    found = Explainer(model, DIABETES.iloc[:20])(DIABETES.iloc[100:104])
    is_exact(found, 20)
    assert found.unit == "ranking score"


def test_probabilities_of_forests_are_exact():
    model = RandomForestClassifier(20, random_state=0).fit(DIABETES, THREE > 0)
    found = Explainer(model, DIABETES.iloc[:20])(DIABETES.iloc[100:104])
    assert (found.unit, found.method, found.shape) == ("probability", "trees", (4, 10, 2))
    again = Explainer(model, DIABETES.iloc[:20], output="probability")(DIABETES.iloc[100:104])
    np.testing.assert_array_equal(again.values, found.values)


def test_a_model_without_probabilities_is_told():
    with refuses("output", "'probability'", "has none"):
        Explainer(REGRESSORS["forest"]().fit(DIABETES, PROGRESS), DIABETES, output="probability")


def test_the_new_default_is_told_once(monkeypatch):
    monkeypatch.setattr(subject, "_warned", False)
    model = CLASSIFIERS["lightgbm"][0]().fit(DIABETES, THREE > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Explainer(model, DIABETES, output="probability")
        Explainer(model, DIABETES, output="logit")
        Explainer(model, DIABETES, predict="margin")
    with pytest.warns(
        UserWarning,
        match=r"The log-odds of this model is explained; output='probability' explains its probability",
    ) as told:
        Explainer(model, DIABETES)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Explainer(model, DIABETES)


def test_the_unit_is_saved_and_shown(tmp_path):
    model = CLASSIFIERS["lightgbm"][0]().fit(DIABETES, THREE > 0)
    found = Explainer(model, DIABETES.iloc[:20])(DIABETES.iloc[100:104])
    found.save(tmp_path / "found.npz")
    assert owenshap.load(tmp_path / "found.npz").unit == "log-odds"
    assert found[0].unit == "log-odds"
    assert "in log-odds" in repr(found)
    assert "in log-odds" in found._repr_html_()
    assert "log-odds" in owenshap.plots.bar(found).get_xlabel()


# --- pipelines
#
#
# --------------------------------------------------------------------------------------------------------


def encoded(*numbers):
    """Columns of `mixed` as trees take them."""
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city"]),
        (make_pipeline(SimpleImputer(add_indicator=True), *numbers), ["sum", "age"]),
        remainder="passthrough",
    )


ENDS = {
    "forest": lambda: RandomForestRegressor(20, random_state=0),
    "boosting": lambda: GradientBoostingRegressor(n_estimators=20),
    "xgboost": lambda: xgboost.XGBRegressor(**XGBOOST),
    "lightgbm": lambda: lightgbm.LGBMRegressor(**LIGHTGBM, min_child_samples=3),
}


@pytest.mark.parametrize("name", ENDS)
def test_pipelines_whose_columns_stay_apart(name):
    frame, target = mixed()
    model = make_pipeline(encoded(StandardScaler()), ENDS[name]()).fit(frame, target)
    explainer = Explainer(model, frame.iloc[:30])
    found, plain = (explainer(frame.iloc[70:80], method=method) for method in ("auto", "exact"))
    is_exact(found, 20)
    assert found.feature_names == ["age", "city", "sum", "paid"]
    close(found.values, plain.values)
    close(found.base_values, plain.base_values)


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "catboost", "histograms"])
def test_pipelines_that_classify_are_explained_in_log_odds(name):
    frame, target = mixed()
    steps = [encoded(RobustScaler()), StandardScaler(with_mean=False)]
    model = make_pipeline(*steps, CLASSIFIERS[name][0]()).fit(frame, (target > 1.5).astype(int))
    explainer = Explainer(model, frame.iloc[:30])
    found, plain = (explainer(frame.iloc[70:80], method=method) for method in ("auto", "exact"))
    is_exact(found, 20)
    assert found.unit == "log-odds"
    chance = model.predict_proba(frame.iloc[70:80])[:, 1]
    close(found.predictions, np.log(chance / (1 - chance)), 1e-4)
    close(found.values, plain.values)
    search = GridSearchCV(model, {}, cv=2).fit(frame, (target > 1.5).astype(int))
    np.testing.assert_array_equal(
        Explainer(search, frame.iloc[:30])(frame.iloc[70:80]).values, found.values
    )


def test_columns_that_are_dropped_are_worth_nothing():
    frame, target = mixed()
    kept = make_column_transformer(
        (OrdinalEncoder(), ["city"]), ("passthrough", ["age"]), remainder="drop"
    )
    model = make_pipeline(kept, RandomForestRegressor(20, random_state=0)).fit(frame, target)
    found = Explainer(model, frame.iloc[:30])(frame.iloc[70:80])
    is_exact(found, 20)
    assert (found.values[:, 2:] == 0).all()
    close(found.values, Explainer(model, frame.iloc[:30])(frame.iloc[70:80], method="exact").values)


def test_groups_of_a_pipelines_inputs():
    frame, target = mixed()
    model = make_pipeline(encoded(), RandomForestRegressor(20, random_state=0)).fit(frame, target)
    explainer = Explainer(model, frame.iloc[:30], players={"both": ["city", "sum"]})
    found, plain = (explainer(frame.iloc[70:80], method=method) for method in ("auto", "exact"))
    is_exact(found, 20)
    close(found.values, plain.values)


def test_columns_that_are_mixed_are_sampled():
    model = make_pipeline(PCA(4), RandomForestRegressor(20, random_state=0)).fit(DIABETES, PROGRESS)
    sampled(
        Explainer(model, DIABETES.iloc[:5]), DIABETES.iloc[:2], "PCA may make a column from several"
    )


# --- where sampling would be done sooner


def test_trees_that_would_take_longer_are_sampled(monkeypatch):
    explainer = Explainer(REGRESSORS["forest"]().fit(DIABETES, PROGRESS), DIABETES.iloc[:20])
    rows = DIABETES.iloc[100:102]
    is_exact(explainer(rows), 20)
    monkeypatch.setattr("owenshap.trees.exact.PER_SPLIT", 1e-4)
    is_exact(explainer(rows), 20)  # it takes no time at all
    monkeypatch.setattr("owenshap.explain.exact_trees.SHORT_WORK", 0.0)
    found = explainer(rows)
    assert found.method == "exact"
    assert "so deep that this would take" in found.because[0]
    assert "1,024 evaluations" in found.because[0]
    is_exact(explainer(rows, method="trees"), 20)


# --- a device


def test_rows_can_be_looked_up_on_a_device():
    pytest.importorskip("torch")
    model = REGRESSORS["xgboost"]().fit(DIABETES, PROGRESS)
    rows, background = DIABETES.iloc[100:150], DIABETES.iloc[:30]
    found = Explainer(model, background, device="cpu")(rows)
    is_exact(found, 20)
    close(found.values, Explainer(model, background)(rows).values, 1e-10)
    close(Explainer(model, device="cpu")(rows).values, Explainer(model)(rows).values, 1e-10)


def test_a_device_is_for_trees():
    with refuses("device", "without trees", "cpu"):
        Explainer(lambda rows: rows[:, 0], baseline=0.0, device="cpu")


def tree_values(explainer, X, **asked):
    """What the explainer's trees give for these rows, in any output of its model."""
    given = explainer._inputs.given(X)
    predictions = explainer._predictor.predictions(given.rows)
    settings = Settings(seed=0, confidence=0.95)
    question = explainer._predictor.plain_question(settings, "shapley", given, predictions)
    return explainer._trees.values(question, **asked)


EXPLAINERS = {
    "margins": lambda: Explainer(CLASSIFIERS["xgboost"][0]().fit(CANCER, MALIGNANT), CANCER[:30]),
    "by cover": lambda: Explainer(CLASSIFIERS["lightgbm"][0]().fit(CANCER, MALIGNANT)),
    "predicted class": lambda: Explainer(
        CLASSIFIERS["forest"][0]().fit(CANCER, MALIGNANT), CANCER[:30], output="predicted"
    ),
    "a baseline": lambda: Explainer(
        CLASSIFIERS["histograms"][0]().fit(CANCER, MALIGNANT), baseline=CANCER[50:55]
    ),
    "groups": lambda: Explainer(
        CLASSIFIERS["catboost"][0]().fit(CANCER, MALIGNANT),
        CANCER[:30],
        players={str(i): list(CANCER.columns[5 * i : 5 * i + 5]) for i in range(6)},
    ),
}


@pytest.mark.parametrize("name", EXPLAINERS)
def test_pairs_sum_to_values_of_what_is_explained(name):
    explainer = EXPLAINERS[name]()
    values = tree_values(explainer, CANCER[100:105])
    pairs = tree_values(explainer, CANCER[100:105], pairs=True)
    players = values.values.shape[1]
    assert pairs.values.shape == (5, players, players, values.values.shape[2])
    np.testing.assert_array_equal(pairs.base, values.base)
    close(pairs.values.sum(axis=2), values.values)
    np.testing.assert_array_equal(pairs.values, pairs.values.swapaxes(1, 2))
    assert np.abs(pairs.values[:, *np.triu_indices(players, 1)]).max() > 1e-3


def test_another_weight_on_levels():
    model = REGRESSORS["forest"]().fit(DIABETES.iloc[:, :6], PROGRESS)
    explainer = Explainer(model, DIABETES.iloc[:20, :6])
    row = DIABETES.iloc[[120], :6]

    def value(sets):
        mixed = np.where(sets[:, None], row.to_numpy(), DIABETES.iloc[:20, :6].to_numpy())
        return (
            model.predict(pd.DataFrame(mixed.reshape(-1, 6), columns=row.columns))
            .reshape(len(sets), -1)
            .mean(axis=1)
        )

    every = (np.arange(64)[:, None] >> np.arange(6)) & 1 > 0
    worth = value(every)
    banzhaf = [worth[every[:, i]].mean() - worth[~every[:, i]].mean() for i in range(6)]
    half = lambda _: (np.array([0.5]), np.ones(1))  # noqa: E731
    found = tree_values(explainer, row, levels=half).values[0, :, 0]
    close(found, np.array(banzhaf))


def test_a_forest_is_asked_once_for_a_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its call takes longer than its rows: what it is compared on goes along with the rows."""
    batches: list[int] = []
    predict = RandomForestRegressor.predict
    X = DIABETES.to_numpy()
    model = RandomForestRegressor(10, random_state=0).fit(X[:, :-1], X[:, -1])

    def counted(self: Any, rows: Any) -> Any:
        batches.append(len(rows))
        return predict(self, rows)

    monkeypatch.setattr(RandomForestRegressor, "predict", counted)
    explainer = owenshap.Explainer(model, X[50:80, :-1])
    found = explainer(X[:1, :-1])
    assert (found.method, len(batches)) == ("trees", 1)
    assert found.model_rows.tolist() == batches
    np.testing.assert_array_equal(found.predictions, predict(model, X[:1, :-1]))
    again = explainer(X[:1, :-1])
    assert batches[1:] == [1]
    np.testing.assert_array_equal(again.values, found.values)


def test_a_number_as_baseline_keeps_tables_from_call_to_call():
    X = DIABETES.to_numpy()
    model = RandomForestRegressor(10, random_state=0).fit(X, PROGRESS)
    explainer = owenshap.Explainer(model, baseline=0.0)
    explainer(X[:1])
    found = explainer(X[1:2])
    assert found.model_rows.tolist() == [1]
    np.testing.assert_array_equal(
        found.values, owenshap.Explainer(model, baseline=0.0)(X[1:2]).values
    )
