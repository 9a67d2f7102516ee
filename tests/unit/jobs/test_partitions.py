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


def test_dask_frames_call_it():
    dd = pytest.importorskip("dask.dataframe")
    made = owenshap.Explainer(product, background())
    frame = dd.from_pandas(ROWS, npartitions=4)
    meta = made.explain_partition(ROWS[:0], **SETTINGS)
    found = frame.map_partitions(made.explain_partition, meta=meta, **SETTINGS)
    pd.testing.assert_frame_equal(
        found.compute(scheduler="synchronous"), explained(), check_exact=True
    )
