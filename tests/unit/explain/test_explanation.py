"""Explanations: slices, tables, shap's plots, and what stays as it is."""

import dataclasses

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from naive import refuses

import owenshap

RNG = np.random.default_rng(6)
ROWS, BACKGROUND = RNG.normal(size=(5, 3)), RNG.normal(size=(4, 3))
FEATURES, OUTPUTS = ["age", "size", "rate"], ["no", "yes"]


def model(batch):
    first = batch[:, 0] * batch[:, 1] + batch[:, 2]
    return np.stack([first, batch[:, 2] * batch[:, 0]], axis=1)


def explained(output=None, method="castro", rows=ROWS, **settings):
    explainer = owenshap.Explainer(
        model, BACKGROUND, feature_names=FEATURES, output_names=OUTPUTS, output=output
    )
    return explainer(rows, method=method, budget=100, **settings)


WHOLE, ONE_OUTPUT = explained(), explained("yes")


@pytest.mark.parametrize(
    ("key", "index"),
    [
        (0, np.s_[0]),
        (-1, np.s_[-1]),
        (np.int64(2), np.s_[2]),
        (slice(1, 3), np.s_[1:3]),
        ([3, 0], np.s_[[3, 0]]),
        (np.array([True, False, True, False, False]), np.s_[[0, 2]]),
        ([True, False, True, False, False], np.s_[[0, 2]]),
        ([], np.s_[[]]),
        ("size", np.s_[:, 1]),
        (["rate", "age"], np.s_[:, [2, 0]]),
        ("yes", np.s_[:, :, 1]),
        (["yes"], np.s_[:, :, [1]]),
        (..., np.s_[:]),
        ((..., "no"), np.s_[:, :, 0]),
        ((0, ..., 1), np.s_[0, :, 1]),
        ((slice(None, 2), "age"), np.s_[:2, 0]),
        ((slice(None), slice(None), "yes"), np.s_[:, :, 1]),
        ((0, "size", "no"), np.s_[0, 1, 0]),
        ((slice(None), [0, 2], 1), np.s_[:, [0, 2], 1]),
    ],
    ids=str,
)
def test_slices_are_those_of_the_arrays(key, index):
    found = WHOLE[key]
    index = [
        np.array(each, dtype=int) if isinstance(each, list) else each
        for each in np.index_exp[index]
    ]
    rows, players, outputs = [*index, *[slice(None)] * (3 - len(index))]
    for name in ("values", "standard_errors", "lower", "upper"):
        np.testing.assert_array_equal(
            getattr(found, name), getattr(WHOLE, name)[rows][..., outputs][take(rows, players)]
        )
    for name in ("base_values", "predictions"):
        np.testing.assert_array_equal(
            getattr(found, name), getattr(WHOLE, name)[rows][..., outputs]
        )
    np.testing.assert_array_equal(found.data, WHOLE.data[rows][..., players])
    np.testing.assert_array_equal(found.evaluations, WHOLE.evaluations[rows])
    np.testing.assert_array_equal(found.model_rows, WHOLE.model_rows[rows])
    assert found.feature_names == np.atleast_1d(np.array(FEATURES)[players]).tolist()
    assert found.output_names == np.atleast_1d(np.array(OUTPUTS)[outputs]).tolist()
    assert len(found.axes) == found.values.ndim
    assert (found.method, found.seed, found.confidence) == (
        WHOLE.method,
        WHOLE.seed,
        WHOLE.confidence,
    )


def take(rows, players):
    """The index of the players in an array whose rows are taken already."""
    return (players,) if isinstance(rows, (int, np.integer)) else (slice(None), players)


def test_lists_do_not_pair_up():
    assert WHOLE[[0, 1, 2], ["age", "rate"], [0, 1]].shape == (3, 2, 2)


def test_slices_of_slices():
    np.testing.assert_array_equal(WHOLE[2]["size"]["yes"].values, WHOLE.values[2, 1, 1])
    np.testing.assert_array_equal(WHOLE["yes"][1:]["rate"].values, WHOLE.values[1:, 2, 1])
    assert [each.shape for each in WHOLE] == [(3, 2)] * 5
    assert len(WHOLE) == 5
    np.testing.assert_array_equal(ONE_OUTPUT["age"].values, ONE_OUTPUT.values[:, 0])


def test_wrong_slices_are_told():
    with refuses("index of features", "ages", "Did you mean 'age'"):
        WHOLE["ages"]
    with refuses("index of outputs", "maybe"):
        WHOLE[..., "maybe"]
    with refuses("index", "at most 3 parts (rows, features, outputs)"):
        WHOLE[0, 0, 0, 0]
    for key in (1.5, None, True, [[0, 1]], {"a": 1}):
        with refuses("index of rows", "numbers, names or a slice"):
            WHOLE[key]
    for key in (5, -6, [9], [True, False], np.ones(6, bool)):
        with pytest.raises(IndexError):
            WHOLE[key]


def test_the_gap_is_what_the_values_leave():
    np.testing.assert_allclose(
        WHOLE.gap, WHOLE.predictions - WHOLE.base_values - WHOLE.values.sum(axis=1)
    )
    np.testing.assert_allclose(explained(method="exact").gap, 0, atol=1e-12)
    assert WHOLE[0].gap.shape == (2,)
    with refuses("gap", "one feature"):
        assert WHOLE["age"].gap


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        WHOLE.values = 0


def test_a_tidy_frame():
    frame = WHOLE.to_frame()
    assert frame.columns.tolist() == [
        "row",
        "feature",
        "output",
        "data",
        "value",
        "standard_error",
        "lower",
        "upper",
        "doubtful",
    ]
    assert len(frame) == 5 * 3 * 2
    line = frame[
        (frame["row"] == 3) & (frame["feature"] == "rate") & (frame["output"] == "yes")
    ].iloc[0]
    assert line["value"] == WHOLE.values[3, 2, 1]
    assert line["standard_error"] == WHOLE.standard_errors[3, 2, 1]
    assert (line["lower"], line["upper"]) == (WHOLE.lower[3, 2, 1], WHOLE.upper[3, 2, 1])
    assert line["data"] == ROWS[3, 2]


@pytest.mark.parametrize(
    ("found", "columns", "lines"),
    [
        (ONE_OUTPUT, ["row", "feature"], 15),
        (WHOLE["yes"], ["row", "feature"], 15),
        (WHOLE[1:3], ["row", "feature", "output"], 12),
        (WHOLE[0], ["feature", "output"], 6),
        (WHOLE["age"], ["row", "feature", "output"], 10),
        (WHOLE[0, "age"], ["feature", "output"], 2),
        (WHOLE[0, "age", "yes"], ["feature"], 1),
        (WHOLE[[]], ["row", "feature", "output"], 0),
    ],
)
def test_a_tidy_frame_of_a_slice(found, columns, lines):
    frame = found.to_frame()
    told = ["data", "value", "standard_error", "lower", "upper", "doubtful"]
    assert frame.columns.tolist() == [*columns, *told]
    assert len(frame) == lines
    np.testing.assert_array_equal(frame["value"], found.values.reshape(-1))
    assert set(frame["feature"]) <= set(found.feature_names)


def test_a_tidy_frame_without_names_or_interval():
    bare = owenshap.Explainer(model, BACKGROUND)(ROWS, method="castro", budget=4)
    frame = bare.to_frame()
    assert frame["doubtful"].str.startswith("one replicate alone").all()
    assert frame["output"].tolist() == [0, 1] * 15
    assert frame[["standard_error", "lower", "upper"]].isna().all(axis=None)


def test_a_tidy_frame_of_text_and_groups():
    rows = pd.DataFrame({"city": ["Rome", "Oslo"], "size": [1.5, 2.5], "rate": [0.1, 0.2]})
    found = owenshap.Explainer(
        lambda batch: batch["size"] * (batch["city"] == "Rome"),
        rows,
        players={"both": ["size", "rate"]},
    )(rows)
    frame = found.to_frame()
    assert frame["data"].tolist() == ["Rome", "1.5, 0.1", "Oslo", "2.5, 0.2"]
    assert found[0, "city"].to_frame()["data"].tolist() == ["Rome"]


def test_it_becomes_shaps():
    shap = pytest.importorskip("shap")
    found = WHOLE.to_shap()
    assert isinstance(found, shap.Explanation)
    np.testing.assert_array_equal(found.values, WHOLE.values)
    np.testing.assert_array_equal(found.base_values, WHOLE.base_values)
    np.testing.assert_array_equal(found.data, WHOLE.data)
    assert found.feature_names == FEATURES
    assert list(found.output_names) == OUTPUTS
    one = ONE_OUTPUT.to_shap()[0]
    np.testing.assert_array_equal(one.lower_bounds, ONE_OUTPUT.lower[0])
    np.testing.assert_array_equal(one.upper_bounds, ONE_OUTPUT.upper[0])


@pytest.mark.parametrize(
    "plot", ["waterfall", "bar", "beeswarm", "scatter", "heatmap", "waterfall of text"]
)
def test_shaps_plots_draw_it(plot):
    shap = pytest.importorskip("shap")
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        plt.close("all")
        if plot == "waterfall of text":
            rows = pd.DataFrame(
                {
                    "city": ["Rome", "Oslo", "Rome"],
                    "when": pd.to_datetime(["2024-01-01", None, "2024-02-01"]),
                }
            )
            found = owenshap.Explainer(
                lambda batch: (batch["city"] == "Rome") * 1.0 + batch["when"].isna(), rows
            )(rows)
            shap.plots.waterfall(found[1].to_shap(), show=False)
        elif plot == "waterfall":
            shap.plots.waterfall(ONE_OUTPUT[0].to_shap(), show=False)
        elif plot == "scatter":
            shap.plots.scatter(ONE_OUTPUT.to_shap()[:, "age"], show=False)
        else:
            getattr(shap.plots, plot)(ONE_OUTPUT.to_shap(), show=False)
        assert plt.gcf().axes
        plt.close("all")
