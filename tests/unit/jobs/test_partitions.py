"""`explain_partition`: pure, picklable, and the same for any partitioning."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from run_models import Raises, background, product, rows_of, two_outputs

import owenshap

ROWS = rows_of(60)
SETTINGS = {"method": "halved-owen", "budget": 200}


def explained(frame=ROWS, model=product, **settings):
    made = owenshap.Explainer(model, background())
    return made.explain_partition(frame, **{**SETTINGS, **settings})


@pytest.mark.parametrize(
    "settings", [{}, {"method": "auto", "budget": None}, {"index": "banzhaf"}], ids=str
)
@pytest.mark.parametrize("model", [product, two_outputs])
def test_a_partition_is_what_a_call_gives(model, settings):
    frame = explained(model=model, **settings)
    wanted = owenshap.Explainer(model, background())(ROWS, **{**SETTINGS, **settings})
    for name, stem in (("values", "value:"), ("lower", "lower:"), ("predictions", "prediction")):
        array = getattr(wanted, name)
        if array is None:
            assert frame.filter(regex=f"^{stem}").isna().all().all()
            continue
        found = frame.filter(regex=f"^{stem}").to_numpy()
        assert found.tobytes() == array.reshape(60, -1).tobytes(), name


@pytest.mark.parametrize("cuts", [[0, 60], [0, 1, 60], [0, 0, 13, 14, 60, 60]])
def test_the_cuts_change_nothing(cuts):
    made = owenshap.Explainer(product, background())
    parts = [
        made.explain_partition(ROWS.iloc[start:stop], tolerance="20%", budget=3000)
        for start, stop in itertools.pairwise(cuts)
    ]
    whole = owenshap.Explainer(product, background()).explain_partition(
        ROWS, tolerance="20%", budget=3000
    )
    assert [part.dtypes.tolist() for part in parts] == [whole.dtypes.tolist()] * len(parts)
    dropped = ["model_rows"]  # with shares of what a call asks besides
    pd.testing.assert_frame_equal(
        pd.concat(parts).drop(columns=dropped), whole.drop(columns=dropped), check_exact=True
    )


def test_it_travels_and_repeats():
    function = owenshap.Explainer(product, background()).explain_partition
    sent = pickle.loads(pickle.dumps(function))
    first = function(ROWS, **SETTINGS)
    pd.testing.assert_frame_equal(sent(ROWS, **SETTINGS), first, check_exact=True)
    pd.testing.assert_frame_equal(function(ROWS, **SETTINGS), first, check_exact=True)


def test_index_ids_and_rows_that_fail_are_kept():
    frame = ROWS.assign(id=np.arange(60)).set_axis(np.arange(100, 160))
    with_ids = explained(frame, Raises(ROWS["a"].iloc[[5]].tolist()), ids=["id"])
    assert with_ids.index.tolist() == [*range(100, 160)]
    assert with_ids["id"].tolist() == [*range(60)]
    assert with_ids["error"].notna().to_numpy().nonzero()[0].tolist() == [5]
    assert with_ids["value:a"].isna().to_numpy().nonzero()[0].tolist() == [5]
    assert with_ids.dtypes.drop("id").equals(explained().dtypes)
    every = explained(model=Raises(ROWS["a"].tolist()))
    assert every["error"].notna().all()
    assert every.dtypes.equals(explained().dtypes)


def test_polars_in_polars_out():
    frame = pl.DataFrame(ROWS)
    made = owenshap.Explainer(lambda batch: batch["a"] * batch["b"], frame[:2])
    found = made.explain_partition(frame, **SETTINGS)
    assert isinstance(found, pl.DataFrame)
    wanted = made(frame, **SETTINGS, progress=False).values
    assert (found.select(pl.col("^value:.*$")).to_numpy() == wanted).all()
    assert made.explain_partition(frame[:0], **SETTINGS).schema == found.schema


def test_what_is_no_partition_is_told():
    with pytest.raises(owenshap.InputError, match="frame must be a DataFrame; got ndarray"):
        explained(ROWS.to_numpy())
    with pytest.raises(owenshap.InputError, match="frame must have a row that can be explained"):
        owenshap.Explainer(product, baseline=0.0).explain_partition(ROWS[:0])
    with pytest.raises(owenshap.InputError, match="ids must be columns of X; got z"):
        explained(ids=["z"])
    told = r"frame must have the background's columns; got also id. .*ids=\['id'\]"
    with pytest.raises(owenshap.InputError, match=told):
        explained(ROWS.assign(id=0))
    with pytest.raises(owenshap.InputError, match=r"frame must have .* columns; got no a"):
        explained(ROWS.drop(columns="a"))


def test_dask_frames_call_it():
    dd = pytest.importorskip("dask.dataframe")
    made = owenshap.Explainer(product, background())
    frame = dd.from_pandas(ROWS, npartitions=4)
    meta = made.explain_partition(ROWS[:0], **SETTINGS)
    found = frame.map_partitions(made.explain_partition, meta=meta, **SETTINGS)
    pd.testing.assert_frame_equal(
        found.compute(scheduler="synchronous"), explained(), check_exact=True
    )


PAIRS = {"interactions": True}


@pytest.mark.parametrize(
    "settings",
    [{}, {"method": "exact"}, {"method": "linear", "budget": 30}, {"index": "banzhaf"}],
    ids=str,
)
@pytest.mark.parametrize("model", [product, two_outputs])
def test_pairs_are_those_of_a_call(model, settings):
    frame = ROWS.set_axis(np.arange(100, 160))
    made = owenshap.Explainer(model, background())
    found = made.explain_partition(frame, **PAIRS, **settings)
    wanted = owenshap.Explainer(model, background()).interactions(ROWS, **settings)
    first, second = np.triu_indices(5)
    whole = np.where(first == second, 1.0, 2.0).reshape(-1, *[1] * (wanted.values.ndim - 3))
    for name in ("values", "standard_errors", "lower", "upper"):
        cells = whole * getattr(wanted, name)[:, first, second]
        column = found[{"values": "value", "standard_errors": "standard_error"}.get(name, name)]
        assert column.to_numpy().tobytes() == cells.tobytes(), name
    outputs = wanted.values[0, 0, 0].size
    assert found.index.tolist() == np.arange(100, 160).repeat(15 * outputs).tolist()
    assert found["first"].tolist()[:: 15 * outputs] == ["a"] * 60
    assert found["error"].isna().all()
    one = found.loc[100]
    one = one[one["output"] == "0"] if outputs > 1 else one
    alone = one[one["first"] == one["second"]].set_index("first")["value"]
    both = one[one["first"] != one["second"]]
    halves = (
        both.groupby("first")["value"]
        .sum()
        .add(both.groupby("second")["value"].sum(), fill_value=0)
    )
    values = wanted.player_values[0].reshape(5, -1)[:, 0]
    np.testing.assert_allclose(alone + halves / 2, values, atol=1e-12)


@pytest.mark.parametrize("cuts", [[0, 1, 60], [0, 0, 13, 14, 60, 60]])
def test_the_cuts_change_no_pair(cuts, monkeypatch):
    monkeypatch.setattr("owenshap.jobs.layout.WORKING", 7 * 8 * 4 * 25)  # seven rows, so four
    made = owenshap.Explainer(Raises(ROWS["a"].iloc[[0, 13, 40]].tolist()), background())
    asked = {**PAIRS, "ids": ["id"], "method": "linear", "budget": 30}
    frame = ROWS.assign(id=np.arange(60))
    parts = [
        made.explain_partition(frame.iloc[start:stop], **asked)
        for start, stop in itertools.pairwise(cuts)
    ]
    whole = pickle.loads(pickle.dumps(made.explain_partition))(frame, **asked)
    pd.testing.assert_frame_equal(pd.concat(parts), whole, check_exact=True)
    assert [part.dtypes.tolist() for part in parts] == [whole.dtypes.tolist()] * len(parts)
    failed = whole[whole["error"].notna()]
    assert failed["id"].tolist() == failed.index.tolist() == [0, 13, 40]
    assert failed["value"].isna().all()
    assert len(whole) == 57 * 15 + 3


def test_pairs_of_polars_and_of_trees():
    from sklearn.ensemble import HistGradientBoostingRegressor

    frame = pl.DataFrame(ROWS.assign(id=np.arange(60)))
    model = HistGradientBoostingRegressor(max_iter=5).fit(ROWS, product(ROWS))
    made = owenshap.Explainer(model, pl.DataFrame(background()))
    found = made.explain_partition(frame, ids=["id"], **PAIRS)
    assert isinstance(found, pl.DataFrame)
    assert found["id"].to_list() == np.arange(60).repeat(15).tolist()
    assert (found["lower"] == found["value"]).all()  # exact: nothing is null
    none = made.explain_partition(frame[:0], ids=["id"], **PAIRS)
    assert none.schema == found.schema
    with pytest.raises(owenshap.InputError, match="ids must name columns that tell rows of polars"):
        made.explain_partition(frame.drop("id"), **PAIRS)
    with pytest.raises(owenshap.InputError, match="ids must not be called as a column of results"):
        made.explain_partition(frame.rename({"id": "first"}), ids=["first"], **PAIRS)


def test_dask_frames_call_it_for_pairs():
    dd = pytest.importorskip("dask.dataframe")
    made = owenshap.Explainer(product, background())
    frame = dd.from_pandas(ROWS, npartitions=4)
    meta = made.explain_partition(ROWS[:0], **PAIRS)
    found = frame.map_partitions(made.explain_partition, meta=meta, **PAIRS)
    wanted = made.explain_partition(ROWS, **PAIRS)
    found = found.compute(scheduler="synchronous")
    pd.testing.assert_frame_equal(found, wanted, check_exact=True)


def test_no_more_matrices_than_fit_are_made_at_a_time(monkeypatch):
    predicted = []

    def model(batch):
        predicted.append(len(batch))
        return product(batch)

    made = owenshap.Explainer(model, baseline=0.0)
    made.explain_partition(ROWS, **PAIRS)
    assert predicted[0] == 1  # what a row comes to tells how many fit
    assert 59 in predicted
    predicted.clear()
    monkeypatch.setattr("owenshap.jobs.layout.WORKING", 7 * 8 * 4 * 25)  # seven rows' matrices
    made.explain_partition(ROWS, **PAIRS)
    assert 4 in predicted
    assert 59 not in predicted
