"""Frames: columns, dtypes, categories and missing values reach the model as they were."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import owenshap
from owenshap.errors import InputError, ModelError
from owenshap.tables import as_table

DAY = datetime.date(2024, 2, 29)


def of_pandas():
    """Every dtype that users hold, with missing values where it has them."""
    return pd.DataFrame(
        {
            "float": [1.5, np.nan, -2.0, 0.0, 4.0, 1.0],
            "small": np.array([1, 2, 3, 4, 5, 6], np.int8),
            "bool": [True, False, True, True, False, False],
            "Int64": pd.array([1, None, 3, 4, 5, 6], dtype="Int64"),
            "Float64": pd.array([1.5, None, 3.5, 0.5, 2.5, 1.5], dtype="Float64"),
            "boolean": pd.array([True, None, False, True, True, False], dtype="boolean"),
            "string": pd.array(["a", None, "b", "c", "a", "b"], dtype="string"),
            "str": pd.Series(["u", "v", None, "u", "w", "v"]),
            "object": pd.Series(["x", None, 3, np.nan, "y", "x"], dtype=object),
            "category": pd.Categorical(
                ["m", "n", None, "m", "n", "m"], categories=["n", "m", "unused"]
            ),
            "ordered": pd.Categorical(
                ["low", "high", "low", None, "high", "low"],
                categories=["low", "high"],
                ordered=True,
            ),
            "numbered": pd.Categorical([3, 1, 3, 2, 1, 2]),
            "time": pd.to_datetime(
                ["2024-01-01", None, "2024-03-01", "2024-04-01", "2024-05-01", "2024-06-01"]
            ),
            "zoned": pd.to_datetime(["2024-01-01", None, *["2024-03-01"] * 4]).tz_localize("UTC"),
            "span": pd.to_timedelta([1, 2, None, 4, 5, 6], unit="h"),
            "arrow": pd.array([1, None, 3, 4, 5, 6], dtype="int64[pyarrow]"),
        }
    )


def of_polars():
    return pl.DataFrame(
        {
            "float": [1.5, float("nan"), -2.0, 0.0, 4.0, 1.0],
            "half": pl.Series([1.5, None, -2.0, 0.0, 4.0, 1.0], dtype=pl.Float32),
            "small": pl.Series([1, 2, None, 4, 5, 6], dtype=pl.Int8),
            "bool": [True, None, False, True, False, False],
            "string": ["a", None, "b", "c", "a", "b"],
            "category": pl.Series(["m", "n", None, "m", "n", "m"], dtype=pl.Categorical),
            "enum": pl.Series(
                ["low", "high", None, "low", "low", "high"],
                dtype=pl.Enum(["high", "low", "unused"]),
            ),
            "date": [DAY, None, DAY, DAY + datetime.timedelta(days=1), DAY, DAY],
            "time": pl.Series(
                [datetime.datetime(2024, 1, day) for day in range(1, 7)],
                dtype=pl.Datetime("ms", "UTC"),
            ),
            "list": [[1], [2, 3], None, [], [4], [5]],
        }
    )


def row_of(frame, place):
    return frame.iloc[[place]] if isinstance(frame, pd.DataFrame) else frame[place : place + 1]


def rows_of(frame, places):
    return frame.iloc[places] if isinstance(frame, pd.DataFrame) else frame[places]


def cells_of(frame):
    return (
        list(frame.itertuples(index=False, name=None))
        if isinstance(frame, pd.DataFrame)
        else frame.rows()
    )


def same_cell(one, other):
    return one is other or one == other or (one != one and other != other)


class Spy:
    """A model that keeps the batches it got."""

    def __init__(self):
        self.batches = []

    def __call__(self, batch):
        self.batches.append(batch)
        return np.arange(len(batch), dtype=float) % 7


@pytest.mark.parametrize("make", [of_pandas, of_polars])
@pytest.mark.parametrize(
    "settings", [{}, {"background_draws": 2}, {"method": "castro", "budget": 60}]
)
def test_every_batch_is_like_the_data(make, settings):
    frame, spy = make(), Spy()
    owenshap.Explainer(spy, rows_of(frame, [2, 3, 4, 5]))(
        rows_of(frame, [0, 1]), **{"budget": 400, **settings}
    )
    assert len(spy.batches) > 1
    for batch in spy.batches:
        assert type(batch) is type(frame)
        assert list(batch.columns) == list(frame.columns)
        assert list(batch.dtypes) == list(frame.dtypes)
        if isinstance(frame, pd.DataFrame):
            for name in ("category", "ordered", "numbered"):
                pd.testing.assert_index_equal(
                    batch[name].cat.categories, frame[name].cat.categories
                )
                assert batch[name].cat.ordered == frame[name].cat.ordered
            assert batch.index.equals(pd.RangeIndex(len(batch)))


@pytest.mark.parametrize("make", [of_pandas, of_polars])
def test_composites_take_each_cell_from_the_right_row(make):
    frame = make()
    table, background = as_table(rows_of(frame, [0, 1, 2])), as_table(rows_of(frame, [3, 4, 5]))
    rng = np.random.default_rng(0)
    rows, drawn = rng.integers(0, 3, 20), rng.integers(0, 3, (20, 4))
    player_of = rng.integers(0, 5, frame.shape[1])
    coalitions = rng.random((20, 5)) < 0.5
    batch = cells_of(table.composer(background, player_of)(rows, coalitions, drawn))
    cells = cells_of(frame)
    for place, (pair, draw) in enumerate(np.ndindex(20, 4)):
        for column, player in enumerate(player_of):
            source = rows[pair] if coalitions[pair, player] else 3 + drawn[pair, draw]
            assert same_cell(batch[place][column], cells[source][column]), (place, column)
    shared = cells_of(table.composer(background, player_of)(rows, coalitions, np.array([[2, 0]])))
    for place, (pair, draw) in enumerate(np.ndindex(20, 2)):
        source = rows[pair] if coalitions[pair, player_of[0]] else 3 + (2, 0)[draw]
        assert same_cell(shared[place][0], cells[source][0])


@pytest.mark.parametrize("make", [of_pandas, of_polars])
def test_null_players_are_those_that_never_differ_and_missing_equals_missing(make):
    frame = make()
    cells = cells_of(frame)
    for at in range(6):
        other = as_table(rows_of(frame, [at, at]))
        differs = as_table(frame).differs(other)
        by_row = as_table(frame).differs_by_row(as_table(rows_of(frame, [at] * 6)))
        wanted = np.array(
            [
                [not same_missing(cell, known) for cell, known in zip(row, cells[at], strict=True)]
                for row in cells
            ]
        )
        np.testing.assert_array_equal(differs, wanted)
        np.testing.assert_array_equal(by_row, wanted)
    various = as_table(frame).differs(as_table(rows_of(frame, [0, 1, 2])))
    assert various.all()  # every column of the first three rows varies


def test_polars_tells_null_from_nan():
    frame = pl.DataFrame({"a": [None, float("nan")]})
    np.testing.assert_array_equal(as_table(frame).differs(as_table(frame[:1])), [[False], [True]])


def same_missing(one, other):
    missing = [
        each is None or each is pd.NA or (not isinstance(each, list) and each != each)
        for each in (one, other)
    ]
    return all(missing) if any(missing) else one == other


@pytest.mark.parametrize("make", [of_pandas, of_polars])
def test_columns_in_another_order_are_put_in_order(make):
    frame, spy = make(), Spy()
    names = list(frame.columns)
    turned = frame[names[::-1]] if isinstance(frame, pd.DataFrame) else frame.select(names[::-1])
    explainer = owenshap.Explainer(spy, rows_of(frame, [2, 3]))
    found = explainer(row_of(turned, 0), method="castro", budget=100)
    assert found.feature_names == names
    assert all(list(batch.columns) == names for batch in spy.batches)
    assert list(found.data[0]) == [
        None if same_missing(cell, None) and cell is not None else cell
        for cell in cells_of(frame)[0]
    ]


@pytest.mark.parametrize("make", [of_pandas, of_polars])
def test_missing_and_extra_columns_are_named(make):
    frame = make()
    explainer = owenshap.Explainer(Spy(), frame)
    fewer = (
        frame.drop(columns=["float", "small"])
        if isinstance(frame, pd.DataFrame)
        else frame.drop("float", "small")
    )
    more = frame.assign(new=1) if isinstance(frame, pd.DataFrame) else frame.with_columns(new=1)
    with pytest.raises(
        InputError, match="X must have the background's columns; got no float, small"
    ):
        explainer(fewer)
    with pytest.raises(InputError, match="X must have the background's columns; got also new"):
        explainer(more)


@pytest.mark.parametrize("make", [of_pandas, of_polars])
def test_names_come_from_the_columns_alone(make):
    with pytest.raises(InputError, match="feature_names must be None for a DataFrame"):
        owenshap.Explainer(Spy(), make(), feature_names=["a"])


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (of_pandas()["float"], r"frame.iloc\[\[i\]\]"),
        (of_polars()["float"], r"frame\[i : i \+ 1\]"),
        (of_polars().lazy(), "Collect a LazyFrame"),
        (pd.DataFrame(index=range(3)), "have at least one column"),
        (pl.DataFrame(), "have at least one column"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "have each column once; got 'a' twice"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "have each column once; got '1' twice"),
    ],
    ids=[
        "Series",
        "polars Series",
        "LazyFrame",
        "no columns",
        "nothing",
        "double",
        "double as text",
    ],
)
def test_what_is_no_frame_of_rows_is_told(data, advice):
    with pytest.raises(InputError, match=advice):
        owenshap.Explainer(Spy(), data)


def test_types_of_data_do_not_mix():
    with pytest.raises(
        InputError, match="X must be of the background's type, pandas; got DataFrame"
    ):
        owenshap.Explainer(Spy(), pd.DataFrame({"a": [1.0]}))(pl.DataFrame({"a": [1.0]}))
    with pytest.raises(
        InputError, match="X must be of the background's type, numpy; got DataFrame"
    ):
        owenshap.Explainer(Spy(), np.ones((2, 1)))(pd.DataFrame({"a": [1.0]}))
    with pytest.raises(InputError, match="baseline must be a pandas DataFrame"):
        owenshap.Explainer(Spy(), baseline=[1.0])(pd.DataFrame({"a": [1.0]}))


PANDAS_CASTS = [
    ([1, 2], "float64"),
    ([1.0, 2.0], "int64"),
    ([1.0, np.nan], "Int64"),
    (pd.array([1, 2], dtype="Int64"), "int64"),
    ([0, 1], "bool"),
    (pd.Series(["a", "b"], dtype=object), "str"),
    (pd.Series(["a", "b"], dtype="str"), object),
    (["b", "a"], pd.CategoricalDtype(["a", "b", "c"])),
    (pd.Categorical(["b", "a"]), pd.CategoricalDtype(["b", "a"], ordered=True)),
    (pd.Categorical(["b", "a"], categories=["b", "a"]), pd.CategoricalDtype(["a", "b"])),
    (pd.Categorical(["b", "a"]), "str"),
    ([1, 2], pd.CategoricalDtype([1, 2, 3])),
    (pd.Series([None, None], dtype=object), "float64"),
    (pd.Series([None, None], dtype=object), "datetime64[ns]"),
    (pd.Series(pd.to_datetime(["2024-01-01", None])).astype("datetime64[s]"), "datetime64[ns]"),
]
PANDAS_LOSSES = [
    ([1.5, 2.0], "int64"),
    ([1.0, np.nan], "int64"),
    (pd.array([1, None], dtype="Int64"), "int64"),
    ([300.0, 1.0], "int8"),
    ([1e300, 1.0], "float32"),
    ([2, 1], "bool"),
    (["1", "2"], "int64"),
    ([1, 2], "str"),
    (pd.Series([1, "a"], dtype=object), "str"),
    (["2024-01-01"] * 2, "datetime64[ns]"),
    (pd.to_datetime(["2024-01-01", "2024-01-02"]), "float64"),
    (pd.to_datetime(["2024-01-01"] * 2), "datetime64[ns, UTC]"),
    (pd.Series([None, None], dtype=object), "int64"),
]


@pytest.mark.parametrize(("cells", "wanted"), PANDAS_CASTS, ids=str)
def test_pandas_dtypes_are_cast_where_nothing_is_lost(cells, wanted):
    frame = pd.DataFrame({"a": cells})
    background = pd.DataFrame({"a": pd.Series([], dtype=wanted)})
    found = as_table(frame).like(as_table(background), "X").frame
    pd.testing.assert_frame_equal(found.iloc[:0], background)
    assert all(same_missing(one, other) for one, other in zip(found["a"], frame["a"], strict=True))


@pytest.mark.parametrize(("cells", "wanted"), PANDAS_LOSSES, ids=str)
def test_pandas_dtypes_that_lose_something_are_told(cells, wanted):
    background = pd.DataFrame({"a": pd.Series([], dtype=wanted)})
    with pytest.raises(
        InputError, match=r"X must have dtype .* in column 'a' as the background has; got"
    ):
        as_table(pd.DataFrame({"a": cells})).like(as_table(background), "X")


def test_floats_are_rounded_to_the_backgrounds():
    for package, short in ((pd, "float32"), (pl, pl.Float32)):
        background = package.DataFrame({"a": package.Series([0.0, np.nan], dtype=short)})
        found = (
            as_table(package.DataFrame({"a": [0.1, np.nan]}))
            .like(as_table(background), "X")
            .frame["a"]
        )
        assert found.dtype == short
        np.testing.assert_array_equal(found.to_numpy(), np.array([0.1, np.nan], np.float32))


POLARS_CASTS = [
    (pl.Series([1, 2]), pl.Float64),
    (pl.Series([1.0, None]), pl.Int8),
    (pl.Series([1, 0]), pl.Boolean),
    (pl.Series(["a", None]), pl.Categorical),
    (pl.Series(["a", None]), pl.Enum(["b", "a"])),
    (pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])), pl.Enum(["b", "a", "c"])),
    (pl.Series(["a", "b"], dtype=pl.Categorical), pl.String),
    (pl.Series([None, None]), pl.Date),
    (pl.Series([datetime.datetime(2024, 1, 1)] * 2, dtype=pl.Datetime("ms")), pl.Datetime("us")),
]
POLARS_LOSSES = [
    (pl.Series([1.5, 2.0]), pl.Int64),
    (pl.Series([300, 2]), pl.Int8),
    (pl.Series([1e300, 2.0]), pl.Float32),
    (pl.Series([2, 1]), pl.Boolean),
    (pl.Series(["1", "2"]), pl.Int64),
    (pl.Series([1, 2]), pl.String),
    (pl.Series([DAY, DAY]), pl.Datetime("us")),
]


@pytest.mark.parametrize(("column", "wanted"), POLARS_CASTS, ids=str)
def test_polars_dtypes_are_cast_where_nothing_is_lost(column, wanted):
    background = as_table(pl.DataFrame({"a": pl.Series([], dtype=wanted)}))
    found = as_table(pl.DataFrame({"a": column})).like(background, "X").frame["a"]
    assert found.dtype == wanted
    assert found.to_list() == column.to_list()


@pytest.mark.parametrize(("column", "wanted"), POLARS_LOSSES, ids=str)
def test_polars_dtypes_that_lose_something_are_told(column, wanted):
    background = as_table(pl.DataFrame({"a": pl.Series([], dtype=wanted)}))
    with pytest.raises(
        InputError, match=r"X must have dtype .* in column 'a' as the background has; got"
    ):
        as_table(pl.DataFrame({"a": column})).like(background, "X")


@pytest.mark.parametrize(
    ("row", "background"),
    [
        (pd.DataFrame({"a": ["z"]}), pd.DataFrame({"a": pd.Categorical(["x", "y"])})),
        (
            pl.DataFrame({"a": ["z"]}),
            pl.DataFrame({"a": pl.Series(["x", "y"], dtype=pl.Enum(["x", "y"]))}),
        ),
    ],
    ids=["pandas", "polars"],
)
def test_an_unknown_category_is_named(row, background):
    with pytest.raises(
        InputError, match=r"X must have a known category in column 'a'; got z. Known are 'x', 'y'"
    ):
        owenshap.Explainer(Spy(), background)(row)


def test_categories_in_another_order_get_the_codes_of_the_background():
    background = pd.DataFrame(
        {"a": pd.Categorical(["x", "y"], categories=["x", "y"]), "b": [0.0, 1.0]}
    )
    rows = pd.DataFrame({"a": pd.Categorical(["y"], categories=["y", "x"]), "b": [2.0]})
    found = owenshap.Explainer(lambda batch: batch["a"].cat.codes.astype(float), background)(
        rows, method="exact"
    )
    np.testing.assert_allclose(found.predictions, [1])
    np.testing.assert_allclose(found.values, [[0.5, 0]])


@pytest.mark.parametrize("package", [pd, pl])
def test_a_number_is_a_baseline_for_numbers_alone(package):
    numbers = package.DataFrame({"a": [2.0, 3.0], "b": [5, 6], "c": [True, False]})
    found = owenshap.Explainer(
        lambda batch: np.asarray(batch["a"]) * np.asarray(batch["b"]), baseline=0.0
    )(numbers)
    np.testing.assert_allclose(found.values, [[5, 5, 0], [9, 9, 0]])
    with pytest.raises(InputError, match=r"baseline must have dtype .* in column 'b'"):
        owenshap.Explainer(Spy(), baseline=0.5)(numbers)
    with pytest.raises(InputError, match=r"baseline must have dtype .* in column 'd'"):
        owenshap.Explainer(Spy(), baseline=0.0)(package.DataFrame({"a": [1.0], "d": ["text"]}))


@pytest.mark.parametrize("make", [of_pandas, of_polars])
def test_baselines_are_rows_too(make):
    frame, spy = make(), Spy()
    one = owenshap.Explainer(spy, baseline=row_of(frame, 5))(
        rows_of(frame, [0, 1]), method="castro", budget=60
    )
    each = owenshap.Explainer(spy, baseline=rows_of(frame, [5, 5]))(
        rows_of(frame, [0, 1]), method="castro", budget=60
    )
    assert one.shape == each.shape == (2, frame.shape[1])
    np.testing.assert_array_equal(one.model_rows, each.model_rows)
    with pytest.raises(
        InputError,
        match="baseline must have one row, or one for each of the 2 explained rows; got 3 rows",
    ):
        owenshap.Explainer(spy, baseline=rows_of(frame, [3, 4, 5]))(rows_of(frame, [0, 1]))


def test_pandas_columns_keep_their_labels():
    labels = pd.MultiIndex.from_tuples(
        [("size", "x"), ("size", "y"), ("kind", "")], names=["what", "axis"]
    )
    frame, spy = pd.DataFrame([[1.0, 2, "u"], [3.0, 4, "v"]], columns=labels), Spy()
    owenshap.Explainer(spy, frame[:1])(frame[1:])
    numbered, spy_numbered = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]]), Spy()
    found = owenshap.Explainer(spy_numbered, numbered[:1])(numbered[1:])
    assert all(
        batch.columns.equals(labels) and batch.columns.names == ["what", "axis"]
        for batch in spy.batches
    )
    assert all(batch.columns.equals(numbered.columns) for batch in spy_numbered.batches)
    assert found.feature_names == ["0", "1"]


def test_a_model_that_does_not_take_the_frame_is_told_with_the_rows():
    def model(batch):
        raise KeyError("income")

    with pytest.raises(
        ModelError,
        match=r"the model must predict the rows to explain; got KeyError\('income'\) on rows 0 to 5",
    ):
        owenshap.Explainer(model, of_pandas())(of_pandas())


@pytest.mark.parametrize("make", [of_pandas, of_polars])
def test_data_is_kept_for_people(make):
    cells = as_table(make()).cells()
    assert cells.dtype == object
    assert cells.shape == make().shape
    assert not any(cell is pd.NA or cell is pd.NaT for cell in cells.reshape(-1))
    numbers = as_table(make()[["float", "small", "bool"]]).cells()
    assert numbers.dtype == np.float64
    assert np.isnan(numbers[1, 0])
