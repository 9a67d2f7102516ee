"""`owenshap explain`: what it writes and prints, of every kind of model."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from commands import NAMES, command, process

import owenshap

KINDS = [
    "logistic.skops",
    "vectors.skops",
    "model.onnx",
    "boosted.ubj",
    "boosted.json",
    "light.txt",
    "cat.cbm",
]


def explained(*arguments):
    """A call that must go well."""
    result = command("explain", *arguments)
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_is_explained(kind, files, tmp_path):
    explained(
        files / kind,
        files / "data.csv",
        *("--background", files / "training.csv", "--ids", "customer", "--ids", "late"),
        *("--rows", "0:4", "--out", tmp_path / "out"),
    )
    found = owenshap.load(tmp_path / "out" / "explanation.npz")
    assert found.feature_names == NAMES
    assert len(found) == 4
    assert np.abs(found.gap).max() < 1e-5
    data = pd.read_csv(files / "data.csv")
    np.testing.assert_allclose(found.data, data[NAMES][:4])


def test_values_are_those_of_a_call_in_python(files, tmp_path):
    import skops.io

    explained(
        files / "logistic.skops",
        files / "data.csv",
        *("--background", files / "training.csv", "--out", tmp_path / "out"),
    )
    background, data = (pd.read_csv(files / f"{each}.csv")[NAMES] for each in ("training", "data"))
    model = skops.io.load(files / "logistic.skops")
    wanted = owenshap.Explainer(model, background)(data)
    found = owenshap.load(tmp_path / "out" / "explanation.npz")
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-12)
    assert found.unit == "log-odds"


def test_columns_that_are_no_features_go_along(files, tmp_path):
    explained(
        files / "boosted.ubj", files / "data.parquet", "--out", tmp_path / "out", "--rows", "3,5:7"
    )
    written = pd.read_parquet(tmp_path / "out" / "explanation.parquet")
    assert written["customer"].tolist() == ["c3", "c5", "c6"]
    assert written["row_in_file"].tolist() == [3, 5, 6]
    assert {"late", "value:age", "data:debt", "prediction"} <= {*written.columns}


def test_columns_in_another_order_are_the_model_s(files, tmp_path):
    data = pd.read_csv(files / "data.csv")
    data[["debt", "late", "age", "customer", "years", "income"]].to_csv(
        tmp_path / "shuffled.csv", index=False
    )
    for name, table in (("a", files / "data.csv"), ("b", tmp_path / "shuffled.csv")):
        for kind in ("boosted.ubj", "light.txt", "cat.cbm", "logistic.skops"):
            background = ["--background", files / "training.csv"] if "skops" in kind else []
            explained(files / kind, table, *background, "--out", tmp_path / f"{name}-{kind}")
    for kind in ("boosted.ubj", "light.txt", "cat.cbm", "logistic.skops"):
        one, other = (
            owenshap.load(tmp_path / f"{each}-{kind}" / "explanation.npz") for each in "ab"
        )
        np.testing.assert_allclose(one.values, other.values, atol=1e-6)


def test_without_a_background_it_says_what_stands_in(files, tmp_path):
    result = explained(files / "boosted.ubj", files / "data.csv", "--out", tmp_path / "a")
    assert "cover of the model's own trees" in result.output
    result = explained(files / "logistic.skops", files / "data.csv", "--out", tmp_path / "b")
    assert "all 20 rows of data.csv stand in" in result.output


def test_a_function_gets_frames_or_arrays(files, tmp_path, monkeypatch):
    monkeypatch.chdir(files)
    monkeypatch.syspath_prepend(str(files))
    ids = ["--ids", "customer", "--ids", "late", "--rows", "0:3"]
    explained("shop:risk", "data.csv", *ids, "--out", tmp_path / "a")
    explained("shop:by_place", "data.csv", *ids, "--arrays", "--out", tmp_path / "b")
    one, other = (owenshap.load(tmp_path / each / "explanation.npz") for each in "ab")
    np.testing.assert_allclose(one.values, other.values, atol=1e-9)


def test_the_summary_for_machines_is_json_alone(files, tmp_path):
    result = process(
        "explain", files / "boosted.ubj", files / "data.csv", "--json", "--out", tmp_path / "out"
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    told = json.loads(result.stdout)
    importance = [each["importance"] for each in told["outputs"][0]["importance"]]
    assert importance == sorted(importance, reverse=True)
    assert {each["feature"] for each in told["outputs"][0]["importance"]} == {*NAMES}
    assert told["rows"] == 20
    assert told["failed"] == 0
    assert len(told["audit"]["SHA-256 of the model"]) == 64


def test_quiet_prints_nothing(files, tmp_path):
    result = explained(files / "boosted.ubj", files / "data.csv", "-q", "--out", tmp_path / "out")
    assert result.output == ""


def test_seconds_are_enough_for_a_first_estimate(files, tmp_path):
    explained(
        files / "vectors.skops",
        files / "data.csv",
        *("--background", files / "training.csv", "--seconds", "0.5", "--rows", "0:3"),
        *("--method", "castro", "--out", tmp_path / "out"),
    )
    found = owenshap.load(tmp_path / "out" / "explanation.npz")
    assert found.method == "castro"
    written = pd.read_parquet(tmp_path / "out" / "explanation.parquet")
    assert written["customer"].tolist() == ["c0", "c1", "c2"]
    np.testing.assert_array_equal(written["value:age"], found[:, "age"].values)


def test_settings_reach_the_explainer(files, tmp_path):
    explained(
        files / "vectors.skops",
        files / "data.csv",
        *("--background", files / "training.csv", "--rows", "sample:5", "--seed", 7),
        *("--method", "halved-owen", "--budget", 300, "--confidence", 0.9),
        *("--out", tmp_path / "out"),
    )
    found = owenshap.load(tmp_path / "out" / "explanation.npz")
    assert (found.seed, found.confidence, len(found)) == (7, 0.9, 5)
    assert (found.evaluations <= 300).all()


@pytest.mark.parametrize("limit", [[], ["--seconds", 5]], ids=["run", "seconds"])
def test_another_index_is_told_everywhere(files, tmp_path, limit):
    asked = [files / "boosted.ubj", files / "data.csv", "--out", tmp_path / "out"]
    result = explained(*asked, "--index", "banzhaf", *limit)
    assert "Index: banzhaf, whose values need not sum to the prediction" in result.output
    found = owenshap.load(tmp_path / "out" / "explanation.npz")
    assert found.index == "banzhaf"
    import xgboost

    model = xgboost.XGBClassifier()
    model.load_model(files / "boosted.ubj")
    data = pd.read_csv(files / "data.csv")[NAMES]
    wanted = owenshap.Explainer(model)(data, index="banzhaf", progress=False)
    np.testing.assert_array_equal(found.values, wanted.values)
    assert np.abs(found.gap).max() > 1e-3
    page = " ".join((tmp_path / "out" / "report.html").read_text().split())
    assert ", as banzhaf values," in page
    assert "contributions do not sum to the prediction" in " ".join(page.split())


def test_another_index_is_another_run(files, tmp_path):
    asked = [files / "boosted.ubj", files / "data.csv", "--out", tmp_path / "out"]
    explained(*asked)
    result = command("explain", *asked, "--index", "beta(4,1)")
    assert result.exit_code == 3
    assert "index 'shapley' there and 'beta(4, 1)' here" in result.output
    result = command("explain", *asked[:3], tmp_path / "new", "--index", "core")
    assert result.exit_code == 3
    assert "index must be 'shapley', 'banzhaf'" in result.output


@pytest.mark.parametrize("limit", [[], ["--seconds", 5]], ids=["run", "seconds"])
@pytest.mark.parametrize("kind", ["boosted.ubj", "vectors.skops"])
def test_interactions_are_written_and_told(files, tmp_path, kind, limit):
    asked = [files / kind, files / "data.csv", "--background", files / "training.csv"]
    asked += ["--ids", "customer", "--ids", "late", "--out", tmp_path / "out", "--rows", "0:5"]
    result = explained(*asked, "--interactions", "--json", *limit)
    told = json.loads(result.output)
    assert str(tmp_path / "out" / "interactions.parquet") in told["files"]
    written = pd.read_parquet(tmp_path / "out" / "interactions.parquet")
    assert len(written) == 5 * 10
    found = owenshap.load(tmp_path / "out" / "explanation.npz")
    added = written.groupby("row")["value"].sum().to_numpy()
    np.testing.assert_allclose(added, found.predictions - found.base_values, atol=1e-5)
    pairs = written[written["first"] != written["second"]]
    means = pairs.assign(value=pairs["value"].abs()).groupby(["first", "second"], observed=True)
    strongest = means["value"].mean().sort_values(ascending=False)
    assert strongest.index[0] == (
        told["interactions"][0]["first"],
        told["interactions"][0]["second"],
    )
    np.testing.assert_allclose(strongest.iloc[0], told["interactions"][0]["together"])
    page = " ".join((tmp_path / "out" / "report.html").read_text().split())
    assert "What features do together" in page
    if not limit:
        run = owenshap.open_run(tmp_path / "out" / "run")
        assert run.interactions().values.shape == (5, 4, 4)
        assert command("report", tmp_path / "out", "--force").exit_code == 0
        assert "What features do together" in (tmp_path / "out" / "report.html").read_text()
        result = explained(*asked, "--interactions")
        first = told["interactions"][0]
        assert f"Together: {first['first']} and {first['second']} " in result.output


def test_an_output_is_chosen_by_its_label_as_typed(files, tmp_path):
    for label in ("0", "1"):
        explained(
            files / "logistic.skops",
            files / "data.csv",
            *("--background", files / "training.csv", "--output", label, "--out", tmp_path / label),
        )
    zero, one = (owenshap.load(tmp_path / each / "explanation.npz") for each in "01")
    np.testing.assert_allclose(zero.values, -one.values)
    assert one.output_names == ["1"]


def test_players_come_from_a_toml_file(files, tmp_path):
    (tmp_path / "groups.toml").write_text('money = ["income", "debt"]\n')
    explained(
        files / "logistic.skops",
        files / "data.csv",
        *("--background", files / "training.csv", "--players", tmp_path / "groups.toml"),
        *("--out", tmp_path / "out"),
    )
    found = owenshap.load(tmp_path / "out" / "explanation.npz")
    assert {*found.feature_names} == {"age", "money", "years"}


def test_a_pickle_is_read_only_where_it_is_trusted(files, tmp_path):
    import skops.io

    model = skops.io.load(files / "logistic.skops")
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    asked = [tmp_path / "model.pkl", files / "data.csv", "--out", tmp_path / "out"]
    result = command("explain", *asked)
    assert result.exit_code == 3
    assert "can run any program" in result.output
    assert not (tmp_path / "out").exists()
    explained(*asked, "--trust-pickle")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_large_tables_are_read_a_piece_at_a_time(kind, files, tmp_path, monkeypatch):
    """With the limits of memory made small: what is written is the same."""
    asked = [files / "boosted.ubj", files / f"data.{kind}"]
    explained(*asked, "--out", tmp_path / "whole")
    monkeypatch.setattr("owenshap.command.folder.MOST_CELLS", 8 * len(NAMES))
    monkeypatch.setattr("owenshap.command.table_files.USUAL_MEMORY", 100)
    result = explained(*asked, "--out", tmp_path / "pieces", "--json")
    told = json.loads(result.output)
    assert (told["rows"], told["summarised_rows"]) == (20, 8)
    assert not (tmp_path / "pieces" / "explanation.npz").exists()
    assert (tmp_path / "pieces" / "report.html").exists()
    run = owenshap.open_run(tmp_path / "pieces" / "run")
    whole = owenshap.load(tmp_path / "whole" / "explanation.npz")
    np.testing.assert_allclose(run.explanation().values, whole.values, atol=1e-12)
    assert run.scan().to_table()["customer"].to_pylist()[3] == "c3"


def test_the_index_of_a_frame_is_a_column_like_others(files, tmp_path):
    data = pd.read_csv(files / "data.csv")
    data.set_index("age").to_parquet(tmp_path / "named.parquet")
    data[::-1].to_parquet(tmp_path / "numbers.parquet")
    for name in ("named", "numbers"):
        explained(files / "boosted.ubj", tmp_path / f"{name}.parquet", "--out", tmp_path / name)
        found = owenshap.load(tmp_path / name / "explanation.npz")
        assert found.feature_names == NAMES
    explained(
        files / "model.onnx",
        tmp_path / "numbers.parquet",
        *("--ids", "customer", "--ids", "late", "--rows", "0:2", "--out", tmp_path / "onnx"),
    )


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_text_is_what_the_model_learned_it_to_be(kind, tmp_path):
    """Categories in a CSV file are text, in any order: the file of the model says their codes."""
    rng = np.random.default_rng(0)
    colours = ["red", "green", "blue", "a b"]
    frame = pd.DataFrame(
        {"colour": rng.choice(colours, 300), "size": rng.normal(size=300).round(3)}
    )
    target = frame["colour"].map({"red": 3.0, "green": -1.0, "blue": 0.5, "a b": 9.0})
    target = target + frame["size"]
    trained = frame.assign(colour=pd.Categorical(frame["colour"], categories=colours))
    if kind == "xgboost":
        import xgboost

        model = xgboost.XGBRegressor(n_estimators=20, max_depth=3, enable_categorical=True)
        path = tmp_path / "model.ubj"
        model.fit(trained, target).save_model(path)
    else:
        import lightgbm

        model = lightgbm.LGBMRegressor(n_estimators=20, num_leaves=8, verbose=-1)
        path = tmp_path / "model.txt"
        model.fit(trained, target).booster_.save_model(path)
    some = frame[frame["colour"] != "red"][:12][::-1]  # other codes, if the file made them
    some.to_csv(tmp_path / "some.csv", index=False)
    frame[:50].to_csv(tmp_path / "training.csv", index=False)
    for number, background in enumerate(([], ["--background", tmp_path / "training.csv"])):
        out = tmp_path / f"out{number}"
        result = command("explain", path, tmp_path / "some.csv", "--out", out, *background)
        assert result.exit_code == 0, result.output
        found = owenshap.load(out / "explanation.npz")
        wanted = model.predict(trained.loc[some.index])
        np.testing.assert_allclose(found.predictions, wanted, rtol=1e-5)
        assert found.data[:, 0].tolist() == some["colour"].tolist()
    some.assign(colour="violet").to_csv(tmp_path / "some.csv", index=False)
    result = command("explain", path, tmp_path / "some.csv", "--out", tmp_path / "other")
    assert result.exit_code == 3
    assert "hold what the model knows in column 'colour'; got violet" in result.output
