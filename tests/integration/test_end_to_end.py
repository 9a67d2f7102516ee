"""Models and data as people have them, from the fit to the explanation."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import owenshap


def test_a_regression_on_a_frame():
    data = load_diabetes(as_frame=True, scaled=False)
    model = HistGradientBoostingRegressor(max_iter=30, random_state=0).fit(data.data, data.target)
    found = owenshap.Explainer(model, data.data[:30])(data.data[100:108], budget=1100)
    assert found.feature_names == list(data.data.columns)
    assert found.method == "trees"
    np.testing.assert_allclose(found.predictions, model.predict(data.data[100:108]))
    np.testing.assert_allclose(found.base_values, model.predict(data.data[:30]).mean())
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, found.predictions)
    important = found.feature_names[np.abs(found.values).mean(axis=0).argmax()]
    assert important in ("bmi", "s5")  # what everybody finds in these data


def test_a_binary_classifier():
    data = load_breast_cancer(as_frame=True)
    names = np.array(data.target_names)[data.target]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(data.data, names)
    malignant = owenshap.Explainer(model, data.data[:60], output="malignant")(data.data[200:206])
    np.testing.assert_allclose(malignant.predictions, model.decision_function(data.data[200:206]))
    explainer = owenshap.Explainer(
        model.predict_proba, data.data[:60], output=1, output_names=["benign", "malignant"]
    )
    found = explainer(data.data[200:206], method="halved-owen", budget=4000, efficient=True)
    assert found.output_names == ["malignant"]
    assert found.shape == (6, 30)
    np.testing.assert_allclose(found.predictions, model.predict_proba(data.data[200:206])[:, 1])
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, found.predictions)
    assert (found.evaluations <= 4000).all()
    assert (found.lower < found.upper).all()
    # The scores are linear, and their values known: weight × (x − mean).
    scaled = model[0].transform(data.data)
    known = model[1].coef_[0] * (scaled[200:206] - scaled[:60].mean(axis=0))
    scores = owenshap.Explainer(model, data.data[:60], predict="decision_function")(
        data.data[200:206], budget=400
    )
    np.testing.assert_allclose(scores.values, known, atol=1e-10)
    assert scores.output_names == ["malignant"]


@pytest.mark.parametrize("shape", ["flat", "images"])
def test_ten_classes_of_images(shape):
    data = load_digits()
    model = RandomForestClassifier(15, random_state=0).fit(data.data, data.target)
    patches = owenshap.patches(8, 8, 2)
    assert len(patches) == 16
    if shape == "images":
        rows = data.images
        explainer = owenshap.Explainer(
            lambda batch: model.predict_proba(batch.reshape(-1, 64)), rows[:15], players=patches
        )
    else:
        rows = data.data
        explainer = owenshap.Explainer(model, rows[:15], players=patches)
    found = explainer(rows[1000:1004], budget=1200)
    probabilities = model.predict_proba(data.data[1000:1004])
    assert found.shape == (4, 16, 10)
    assert found.feature_names == list(patches)
    np.testing.assert_allclose(found.predictions, probabilities)
    # The gap is a sum of 16 values: 6 times the sum of their standard errors is more than it can
    # be.
    assert (np.abs(found.gap) <= 6 * found.standard_errors.sum(axis=1) + 1e-12).all()
    efficient = explainer(rows[1000:1004], budget=1200, efficient=True)
    np.testing.assert_allclose(
        efficient.values.sum(axis=1) + efficient.base_values, probabilities, atol=1e-12
    )
    if shape == "flat":
        np.testing.assert_allclose(found[..., "3"].predictions, probabilities[:, 3])


def test_a_whole_pipeline_with_text_dates_and_missing_values(tmp_path):
    rng = np.random.default_rng(9)
    frame = pd.DataFrame(
        {
            "city": rng.choice(["Rome", "Oslo", "Lima"], 200),
            "kind": pd.Categorical(rng.choice(["a", "b"], 200)),
            "size": np.where(rng.random(200) < 0.2, np.nan, rng.normal(size=200)),
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, 200), unit="D"),
        }
    )
    target = (frame["city"] == "Rome") * frame["size"].fillna(1) + frame["since"].dt.year - 2020

    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["city", "kind"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )

    def dated(batch):
        return batch.assign(since=(batch["since"] - pd.Timestamp("2020-01-01")).dt.days)

    pipeline = make_pipeline(encoder, HistGradientBoostingRegressor(max_iter=30)).fit(
        dated(frame), target
    )
    explainer = owenshap.Explainer(
        lambda batch: pipeline.predict(dated(batch)), frame[:60], players={"what": ["city", "kind"]}
    )
    found = explainer(frame[100:110])
    assert found.feature_names == ["what", "size", "since"]
    np.testing.assert_allclose(found.predictions, pipeline.predict(dated(frame[100:110])))
    np.testing.assert_allclose(found.gap, 0, atol=1e-10)
    found.save(tmp_path / "found.npz")
    again = owenshap.load(tmp_path / "found.npz")
    pd.testing.assert_frame_equal(
        again.to_frame()[["row", "feature", "value"]], found.to_frame()[["row", "feature", "value"]]
    )
    assert found[0, "what"].data == f"{frame['city'][100]}, {frame['kind'][100]}"
