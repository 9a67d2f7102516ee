"""What users of shap type is answered with what to type here."""

import inspect
import re
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from explanations import explanation_of
from naive import refuses
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression

import owenshap
from owenshap import plots
from owenshap.errors import UnknownArgumentError
from owenshap.explain.from_shap import ARGUMENTS, NAMES, OF_EXPLAINER, PLOTS

ROWS = np.random.default_rng(0).normal(size=(20, 3))


def explainer(**settings):
    return owenshap.Explainer(lambda rows: rows.sum(axis=1) ** 2, ROWS, **settings)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_of_shap_gets_a_sentence(name):
    told = re.escape(ARGUMENTS[name].partition("'")[0])
    with pytest.raises(UnknownArgumentError, match=rf"got {name}=\. {told}"):
        explainer(**{name: 1})
    with pytest.raises(TypeError, match=told):
        explainer()(ROWS, **{name: 1})


def test_what_replaces_an_argument_is_there():
    """Every keyword= that a hint names is one of the Explainer or of its call."""
    known = {*inspect.signature(owenshap.Explainer).parameters}
    known |= {*inspect.signature(owenshap.Explainer.__call__).parameters}
    for hint in [*ARGUMENTS.values(), *NAMES.values()]:
        assert {*re.findall(r"(\w+)=", hint)} <= known | {"paired"}, hint


def test_other_arguments_get_the_nearest_one():
    with pytest.raises(UnknownArgumentError, match="Perhaps tolerance= is meant"):
        explainer()(ROWS, tolerence=0.1)
    with pytest.raises(UnknownArgumentError, match="documentation"):
        explainer(zebra=1)


@pytest.mark.parametrize(("where", "names"), [(owenshap, NAMES), (plots, PLOTS)])
def test_names_of_shap_say_what_is_here(where, names):
    for name, instead in names.items():
        with pytest.raises(AttributeError, match=re.escape(instead)):
            getattr(where, name)
        for called in re.findall(r"owenshap\.plots\.(\w+)", instead):
            assert called in plots.__all__
        for called in re.findall(r"owenshap\.(\w+)", instead):
            assert called in owenshap.__all__
    assert not hasattr(where, "zebra")


def test_an_explainer_says_where_its_values_are():
    for name in OF_EXPLAINER:
        with pytest.raises(AttributeError, match="in its place"):
            getattr(explainer(), name)


@pytest.mark.parametrize(
    ("theirs", "ours"), [("permutation", "castro"), ("kernel", "linear"), ("tree", "trees")]
)
def test_methods_of_shap_have_names_here(theirs, ours):
    with refuses("method", f"Perhaps '{ours}' is meant", error=owenshap.UnknownMethodError):
        explainer()(ROWS, method=theirs)


# --- inputs


@pytest.mark.parametrize("kind", ["numpy", "pandas", "polars", "nullable"])
@pytest.mark.parametrize("fraction", [1.5, np.nan])
def test_a_fraction_beside_an_integer_background_is_explained(kind, fraction):
    def model(batch):
        return np.nan_to_num(np.asarray(batch, float), nan=7.0) @ [10.0, 1.0]

    background = pd.DataFrame({"a": [1, 2, 6], "b": [1, 2, 3]})
    row = pd.DataFrame({"a": [fraction], "b": [2]})
    wanted = (7.0 if np.isnan(fraction) else fraction) * 10 - 30
    if kind == "numpy":
        background, row = background.to_numpy(), row.to_numpy()
    if kind == "polars":
        polars = pytest.importorskip("polars")
        background, row = polars.from_pandas(background), polars.from_pandas(row, nan_to_null=False)
    if kind == "nullable":
        background = background.convert_dtypes()

        def model(batch, plain=model):
            return plain(batch.to_numpy(float, na_value=np.nan))

    explained = owenshap.Explainer(model, background)(row)
    np.testing.assert_allclose(explained.values[0, 0], wanted)
    np.testing.assert_allclose(explained.gap, 0, atol=1e-9)


def test_whole_numbers_keep_the_backgrounds_integers():
    seen = []

    def model(batch):
        seen.append(batch["a"].dtype)
        return batch["a"].to_numpy() * 1.0

    owenshap.Explainer(model, pd.DataFrame({"a": [1, 2]}))(pd.DataFrame({"a": [3.0]}))
    assert {*map(str, seen)} == {"int64"}


def test_missing_values_keep_integers_that_have_room_for_them():
    seen = []

    def model(batch):
        seen.append(str(batch["a"].dtype))
        return batch["a"].to_numpy(float, na_value=0.0)

    background = pd.DataFrame({"a": pd.array([1, 2], dtype="Int64")})
    owenshap.Explainer(model, background)(pd.DataFrame({"a": [np.nan, 3.0]}))
    assert {*seen} == {"Int64"}


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.coo_array])
def test_sparse_rows_are_named(make):
    model = LinearRegression().fit(ROWS, ROWS[:, 0])
    with refuses("data", "be dense", "sparse", "toarray"):
        owenshap.Explainer(model, ROWS)(make(ROWS[:2]))
    with refuses("data", "be dense"):
        owenshap.Explainer(model, make(ROWS))


def test_log_odds_of_what_is_no_probability_are_refused():
    model = LinearRegression().fit(ROWS, ROWS[:, 0])
    with refuses("output", "no probabilities", "Leave it out"):
        owenshap.Explainer(model, ROWS, output="logit")(ROWS[:3])
    forest = RandomForestClassifier(3, random_state=0).fit(ROWS, ROWS[:, 0] > 0)
    with pytest.raises(owenshap.ModelError, match="no log-odds: leave out 'logit'"):
        owenshap.Explainer(forest, ROWS, output="logit")(ROWS[:3], method="exact")


# --- what is shown


def test_reprs_are_short_and_say_what_it_is():
    values = np.random.default_rng(0).normal(size=(200, 30))
    explanation = explanation_of(values, output_names=["0"], unit="log-odds")
    for shown in (explanation, explanation[0], explanation[:, "f1"], explanation[0, "f1"]):
        assert len(repr(shown)) < 1000
        assert "class 0, in log-odds" in repr(shown)
    assert repr(explanation).startswith("Explanation of 200 rows, 30 features: class 0")
    assert "25 other features" in repr(explanation)
    assert "players" not in repr(explanation) + explanation._repr_html_()
    assert "base value 0.5" in repr(explanation[0])
    several = explanation_of(values.reshape(100, 6, 10))
    assert len(repr(several)) < 1500
    assert "4 outputs not shown" in repr(several)
    assert repr(explanation[:0]).startswith("Explanation of 0 rows")
    assert repr(explainer()) == "Explainer(function, background of 20 rows, all outputs)"
    forest = RandomForestClassifier(3).fit(ROWS, ROWS[:, 0] > 0)
    named = owenshap.Explainer(forest, output=True)
    assert repr(named) == "Explainer(RandomForestClassifier, path-dependent, output True)"
    baseline = owenshap.Explainer(forest, baseline=0.0, output=owenshap.position(1))
    assert "a baseline" in repr(baseline)


# --- to shap


SHAP_PLOTS = ["bar", "beeswarm", "violin", "heatmap", "scatter"]


@pytest.mark.parametrize("name", [*SHAP_PLOTS, "waterfall", "decision", "force"])
def test_shaps_plots_draw_ours(name):
    shap = pytest.importorskip("shap")
    theirs = explainer()(ROWS, method="exact").to_shap()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "decision":
            shap.plots.decision(theirs.base_values[0], theirs.values, show=False)
        elif name == "force":
            shap.plots.force(theirs.base_values[0], theirs.values[0], matplotlib=True, show=False)
        else:
            picked = theirs[0] if name == "waterfall" else theirs
            picked = theirs[:, 0] if name == "scatter" else picked
            getattr(shap.plots, name)(picked, show=False)
        plt.gcf().canvas.draw()
    plt.close("all")


def test_what_shap_takes_for_the_prediction_is_the_prediction():
    def probability(rows):
        return 1 / (1 + np.exp(-8 * rows.sum(axis=1)))

    made = owenshap.Explainer(probability, ROWS)
    printed = made(ROWS, method="owen", budget=60, efficient=False)
    assert np.abs(printed.gap).max() > 1e-3
    for e in (made(ROWS), printed, printed[:, ["feature 0"]]):
        theirs = e.to_shap()
        sums = theirs.base_values + theirs.values.sum(axis=1)
        np.testing.assert_allclose(sums, e.predictions, atol=1e-12)
        assert sums.max() < 1 + 1e-12
        assert sums.min() > -1e-12


# --- the table


def test_every_name_of_shap_is_in_the_table_of_the_docs():
    """Explainers, maskers, links, plots and attributes of shap: each has its line."""
    page = (Path(__file__).parents[3] / "docs" / "from-shap.md").read_text()
    shap = pytest.importorskip("shap")
    explainers = [name for name in dir(shap) if name.endswith("Explainer")]
    drawn = [
        name
        for name in dir(shap.plots)
        if not name.startswith("_") and inspect.isfunction(getattr(shap.plots, name))
    ]
    maskers = [name for name in dir(shap.maskers) if name[0].isupper()]
    for name in [*explainers, *maskers, *(f"plots.{each}" for each in drawn)]:
        assert name in page, name
