"""Boosted trees: what is called, with what, and what the outputs are named."""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

import owenshap
from owenshap.errors import InputError
from owenshap.fast.first_step import first_step
from owenshap.models import as_model
from owenshap.models.boosting import CatboostModel, LightgbmModel, XgboostModel

RNG = np.random.default_rng(1)
ROWS = RNG.normal(size=(200, 5))
TARGET = ROWS[:, 0] * ROWS[:, 1] + ROWS[:, 2]
TWO, THREE = np.where(TARGET > 0, 1, 0), np.digitize(TARGET, [-0.5, 0.5])
FRAME = pd.DataFrame(ROWS, columns=list("abcde")).assign(
    e=pd.Categorical(np.array(["low", "mid", "high"])[THREE])
)
# One thread: small data, and two thread pools that wait for each other on a busy machine take
# seconds.
CATBOOST = {"iterations": 10, "thread_count": 1, "verbose": 0, "allow_writing_files": False}
LIGHTGBM = {"n_estimators": 10, "n_jobs": 1, "verbose": -1}


def xgboosted(kind="XGBRegressor", rows=ROWS, target=TARGET, **settings):
    return getattr(xgboost, kind)(n_estimators=10, n_jobs=1, **settings).fit(rows, target)


def lightgbmed(kind="LGBMRegressor", rows=FRAME, target=TARGET):
    return getattr(lightgbm, kind)(**LIGHTGBM).fit(rows, target)


def catboosted(kind="CatBoostRegressor", rows=FRAME, target=TARGET):
    return getattr(catboost, kind)(**CATBOOST, cat_features=["e"]).fit(rows, target)


@pytest.mark.parametrize(
    ("make", "rows", "wanted", "kind"),
    [
        (xgboosted, ROWS, lambda m, r: m.predict(r), XgboostModel),
        (
            lambda: xgboosted("XGBClassifier", target=TWO),
            ROWS,
            lambda m, r: m.predict(r, output_margin=True),
            XgboostModel,
        ),
        (
            lambda: xgboosted("XGBRFClassifier", target=THREE),
            ROWS,
            lambda m, r: m.predict(r, output_margin=True),
            XgboostModel,
        ),
        (
            lambda: xgboosted(rows=FRAME, enable_categorical=True),
            FRAME,
            lambda m, r: m.predict(r),
            XgboostModel,
        ),
        (
            lambda: xgboosted(rows=FRAME, enable_categorical=True).get_booster(),
            FRAME,
            lambda m, r: m.predict(xgboost.DMatrix(r, enable_categorical=True)),
            XgboostModel,
        ),
        (
            lambda: xgboosted("XGBClassifier", target=THREE).get_booster(),
            ROWS,
            lambda m, r: m.inplace_predict(r, predict_type="margin"),
            XgboostModel,
        ),
        (
            lambda: xgboosted(target=TWO, objective="count:poisson"),
            ROWS,
            lambda m, r: m.predict(r, output_margin=True),
            XgboostModel,
        ),
        (
            lambda: xgboosted(booster="gblinear").get_booster(),
            ROWS,
            lambda m, r: m.predict(xgboost.DMatrix(r)),
            XgboostModel,
        ),
        (lightgbmed, FRAME, lambda m, r: m.predict(r), LightgbmModel),
        (
            lambda: lightgbmed("LGBMClassifier", target=THREE),
            FRAME,
            lambda m, r: m.predict(r, raw_score=True),
            LightgbmModel,
        ),
        (lambda: lightgbmed().booster_, FRAME, lambda m, r: m.predict(r), LightgbmModel),
        (
            lambda: lightgbmed("LGBMClassifier", target=TWO).booster_,
            FRAME,
            lambda m, r: m.predict(r, raw_score=True),
            LightgbmModel,
        ),
        (catboosted, FRAME, lambda m, r: m.predict(r), CatboostModel),
        (
            lambda: catboosted("CatBoostClassifier", target=THREE),
            FRAME,
            lambda m, r: m.predict(r, prediction_type="RawFormulaVal"),
            CatboostModel,
        ),
        (
            lambda: catboost.CatBoost({**CATBOOST, "loss_function": "MultiClass"}).fit(ROWS, THREE),
            ROWS,
            lambda m, r: m.predict(r, prediction_type="RawFormulaVal"),
            CatboostModel,
        ),
        (
            lambda: catboost.CatBoost({**CATBOOST, "loss_function": "RMSE"}).fit(ROWS, TARGET),
            ROWS,
            lambda m, r: m.predict(r),
            CatboostModel,
        ),
    ],
)
def test_predictions_are_the_models_own(make, rows, wanted, kind):
    model = make()
    found = as_model(model)
    assert isinstance(found, kind)
    np.testing.assert_array_equal(found.predict(rows), wanted(model, rows))
    explanation = owenshap.Explainer(model, rows[100:110])(rows[:3], method="exact")
    shape = (3,) if wanted(model, rows).ndim == 1 else (3, wanted(model, rows).shape[1])
    np.testing.assert_allclose(
        explanation.predictions, wanted(model, rows[:3]).reshape(shape), rtol=1e-6
    )
    np.testing.assert_allclose(explanation.gap, 0, atol=1e-6)
    assert explanation.feature_names == (
        list("abcde") if rows is FRAME else [f"feature {i}" for i in range(5)]
    )


@pytest.mark.parametrize(
    ("make", "rows", "own"),
    [
        (
            lambda: xgboosted("XGBClassifier", target=TWO),
            ROWS,
            lambda m, r: m.predict(r, output_margin=True),
        ),
        (
            lambda: xgboosted("XGBClassifier", target=TWO).get_booster(),
            ROWS,
            lambda m, r: m.predict(xgboost.DMatrix(r), output_margin=True),
        ),
        (
            lambda: xgboosted(booster="gblinear").get_booster(),
            ROWS,
            lambda m, r: m.predict(xgboost.DMatrix(r), output_margin=True),
        ),
        (
            lambda: lightgbmed("LGBMClassifier", target=THREE),
            FRAME,
            lambda m, r: m.predict(r, raw_score=True),
        ),
        (
            lambda: lightgbmed("LGBMClassifier", target=THREE).booster_,
            FRAME,
            lambda m, r: m.predict(r, raw_score=True),
        ),
        (
            lambda: catboosted("CatBoostClassifier", target=TWO),
            FRAME,
            lambda m, r: m.predict(r, prediction_type="RawFormulaVal"),
        ),
    ],
)
def test_margins_are_there_for_the_asking(make, rows, own):
    model = make()
    np.testing.assert_array_equal(as_model(model, "margin").predict(rows), own(model, rows))


@pytest.mark.parametrize(
    ("make", "predict", "names"),
    [
        (lambda: xgboosted("XGBClassifier", target=THREE), None, ["0", "1", "2"]),
        (lambda: xgboosted("XGBClassifier", target=TWO), "margin", ["1"]),
        (lambda: xgboosted("XGBClassifier", target=TWO), "predict", None),
        (xgboosted, None, None),
        (
            lambda: lightgbmed("LGBMClassifier", target=FRAME["e"].astype(object)),
            None,
            ["high", "low", "mid"],
        ),
        (lambda: lightgbmed("LGBMClassifier", target=THREE), "margin", ["0", "1", "2"]),
        (lightgbmed, None, None),
        (
            lambda: catboosted("CatBoostClassifier", target=np.where(TWO, "yes", "no")),
            "predict_proba",
            ["no", "yes"],
        ),
        (
            lambda: catboosted("CatBoostClassifier", target=np.where(TWO, "yes", "no")),
            "margin",
            ["yes"],
        ),
        (catboosted, None, None),
    ],
)
def test_classes_are_the_names_of_the_outputs(make, predict, names):
    assert as_model(make(), predict).output_names == names


@pytest.mark.parametrize(
    "make",
    [
        xgboosted,
        lambda: xgboosted().get_booster(),
        lightgbmed,
        lambda: lightgbmed().booster_,
        catboosted,
    ],
)
def test_an_unknown_way_to_predict_is_told(make):
    with pytest.raises(InputError, match=r"predict must be one of .*margin; got apply\. .*lambda"):
        owenshap.Explainer(make(), baseline=0.0, predict="apply")


def test_what_does_not_predict_is_told():
    with pytest.raises(InputError, match="model must have a method predict; got DMatrix"):
        owenshap.Explainer(xgboost.DMatrix(ROWS), baseline=0.0)


def test_boosters_are_left_alone():
    model = xgboosted("XGBClassifier", target=TWO)
    booster = model.get_booster()
    before = booster.save_config(), model.get_params(), booster.save_raw()
    owenshap.Explainer(model, ROWS[:10])(ROWS[:5], method="exact")
    owenshap.Explainer(booster, ROWS[:10])(ROWS[:5], method="exact")
    assert (booster.save_config(), model.get_params(), booster.save_raw()) == before


def test_categories_reach_the_booster_by_name_whatever_their_order():
    model = xgboosted(rows=FRAME, enable_categorical=True)
    turned = FRAME.assign(e=FRAME["e"].cat.reorder_categories(["mid", "low", "high"]))
    as_text = FRAME.assign(e=FRAME["e"].astype(str))
    explainer = owenshap.Explainer(model, FRAME[:20])
    wanted = explainer(FRAME[50:55], method="exact")
    for other in (turned, as_text):
        np.testing.assert_array_equal(explainer(other[50:55], method="exact").values, wanted.values)


def test_a_booster_with_names_takes_arrays():
    booster = xgboost.train(
        {"nthread": 1}, xgboost.DMatrix(ROWS, TARGET, feature_names=list("vwxyz")), 5
    )
    found = owenshap.Explainer(booster, ROWS[:10], feature_names=list("vwxyz"))(
        ROWS[:2], method="exact"
    )
    np.testing.assert_allclose(found.predictions, booster.inplace_predict(ROWS[:2]))
    linear = xgboost.train(
        {"booster": "gblinear", "nthread": 1},
        xgboost.DMatrix(ROWS, TARGET, feature_names=list("vwxyz")),
        5,
    )
    np.testing.assert_allclose(
        as_model(linear).predict(ROWS),
        linear.predict(xgboost.DMatrix(ROWS, feature_names=list("vwxyz"))),
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: xgboosted(booster="gblinear"),
        lambda: xgboosted(booster="gblinear").get_booster(),
        lambda: xgboosted("XGBClassifier", target=TWO, booster="gblinear"),
        lambda: xgboosted("XGBClassifier", target=THREE, booster="gblinear"),
        lambda: xgboosted("XGBClassifier", target=THREE, booster="gblinear").get_booster(),
    ],
)
def test_margins_of_boosted_linear_models_have_their_values_in_closed_form(make):
    model = make()
    quick, plain = (
        owenshap.Explainer(model, ROWS[:7], predict="margin", fast=fast)(ROWS[-3:])
        for fast in (True, False)
    )
    assert set(quick.stopped_by) == {"closed form: the model is linear"}
    assert (quick.evaluations == 2).all()
    np.testing.assert_allclose(quick.values, plain.values, atol=1e-5 * np.abs(plain.values).max())
    np.testing.assert_allclose(quick.base_values, plain.base_values, rtol=1e-5, atol=1e-6)


def test_probabilities_of_boosted_linear_models_are_not_linear():
    model = xgboosted("XGBClassifier", target=TWO, booster="gblinear")
    assert first_step(as_model(model, "predict_proba")) is None
    assert first_step(as_model(model)) is not None
    assert first_step(as_model(xgboosted(), "margin")) is None


def test_several_targets_are_explained_as_they_are_predicted():
    model = xgboosted("XGBClassifier", target=np.stack([TWO, THREE > 1, THREE > 0], axis=1))
    found = owenshap.Explainer(model, ROWS[:5], output=owenshap.position(1))(
        ROWS[:2], method="exact"
    )
    np.testing.assert_allclose(found.predictions, model.predict_proba(ROWS[:2])[:, 1])
    margins = owenshap.Explainer(model, ROWS[:5], predict="margin")(ROWS[:2])
    assert (margins.method, margins.shape) == ("trees", (2, 5, 3))
