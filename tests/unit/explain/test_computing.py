"""Computing with explanations: arrays, importance, cohorts, comparisons, concatenation."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from explanations import explanation_of
from scipy import stats

import owenshap
from owenshap import InputError, cohorts, compare, concat, importance
from owenshap.explain.compare import at_once


def frame(rows=40, seed=0):
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["age", "income", "sex"])
    made["sex"] = np.where(made["sex"] > 0, "male", "female")
    made.index = [f"customer {number}" for number in range(rows)]
    return made


def model(age=1.0, income=1.0):
    def predict(X):
        return age * X["age"].to_numpy() + income * X["income"].to_numpy() * (X["sex"] == "male")

    return predict


def explained(X=None, **weights):
    X = frame() if X is None else X
    return owenshap.Explainer(model(**weights), frame())(X, method="exact")


# --- as an array


def test_numpy_takes_an_explanation_for_its_values():
    e = explained()
    assert np.asarray(e).dtype == np.float64
    np.testing.assert_array_equal(np.asarray(e), e.values)
    np.testing.assert_array_equal(np.concatenate([e, e]), np.concatenate([e.values, e.values]))
    np.testing.assert_array_equal(np.abs(e), e.abs)
    assert np.asarray(e, np.float32).dtype == np.float32


def test_an_array_of_an_explanation_may_be_a_copy():
    e = explained()
    copied = np.array(e)
    copied[:] = 0
    assert e.values.any()


def test_arithmetic_gives_plain_arrays():
    e = explained()
    for got, wanted in [
        (e + e, 2 * e.values),
        (e - e, 0 * e.values),
        (2 * e, 2 * e.values),
        (e * 2, 2 * e.values),
        (e / 2, e.values / 2),
        (1 / (e * 0 + 2), np.full(e.shape, 0.5)),
        (1 - e, 1 - e.values),
        (1 + e, 1 + e.values),
        (-e, -e.values),
        (e - e[0], e.values - e.values[0]),
        (np.ones(e.shape) - e, 1 - e.values),
    ]:
        assert type(got) is np.ndarray
        np.testing.assert_array_equal(got, wanted)


def test_shaps_words_are_aliases_that_cannot_be_set():
    e = explained()
    assert e.shap_values is e.values
    assert e.expected_value is e.base_values
    with pytest.raises(AttributeError):
        e.shap_values = e.values


def test_abs_and_mean_are_plain_arrays():
    e = explained()
    np.testing.assert_array_equal(e.abs.mean(0), np.abs(e.values).mean(axis=0))
    np.testing.assert_array_equal(e.mean(0), e.values.mean(axis=0))


# --- rows


def test_rows_are_called_as_the_index_of_their_frame():
    e = explained()
    assert e.row_ids.tolist() == frame().index.tolist()
    assert e[3].row_ids == "customer 3"
    assert e[3:5].to_frame()["row"].unique().tolist() == ["customer 3", "customer 4"]


def test_rows_of_arrays_go_by_their_numbers_also_after_slicing():
    rows = np.random.default_rng(0).normal(size=(5, 2))
    e = owenshap.Explainer(lambda rows: rows[:, 0], baseline=0.0)(rows)
    assert e[2:4].to_frame()["row"].unique().tolist() == [2, 3]


def test_a_torch_model_keeps_the_index_of_a_frame():
    torch = pytest.importorskip("torch")
    X = frame()[["age", "income"]]
    e = owenshap.Explainer(torch.nn.Linear(2, 1), baseline=0.0)(X)
    assert e.row_ids.tolist() == X.index.tolist()


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(4, 8),
        pd.Index(list("abcd")),
        pd.date_range("2024-01-01", periods=4),
        pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a"), (2, "b")]),
    ],
)
def test_row_ids_survive_a_file(tmp_path, index):
    e = explained(frame(4).set_axis(index))
    e.save(tmp_path / "e.npz")
    back = owenshap.load(tmp_path / "e.npz")
    assert back.row_ids.tolist() == index.to_numpy().tolist() or list(back.row_ids) == list(index)
    assert compare(e, back).counts == (4, 4)
    e[1].save(tmp_path / "one.npz")
    assert owenshap.load(tmp_path / "one.npz").row_ids == index[1]


def test_rows_are_sorted_by_prediction_contribution_or_any_number():
    e = explained()
    assert (np.diff(e.sorted().predictions) <= 0).all()
    assert (np.diff(e.sorted("age").values[:, 0]) <= 0).all()
    assert (np.diff(e.sorted("age", descending=False).values[:, 0]) >= 0).all()
    assert e.sorted(np.arange(len(e))).row_ids.tolist() == e.row_ids[::-1].tolist()
    assert e.sorted(np.zeros(len(e))).row_ids.tolist() == e.row_ids.tolist()
    with pytest.raises(InputError, match="one number for each of the 40 rows"):
        e.sorted([1, 2])


def test_a_sample_of_rows_depends_on_the_seed_alone():
    e = explained()
    assert e.sample(5).row_ids.tolist() == e.sample(5, seed=0).row_ids.tolist()
    assert e.sample(5).row_ids.tolist() != e.sample(5, seed=1).row_ids.tolist()
    assert len(set(e.sample(5).row_ids.tolist())) == 5
    assert len(e.sample(1000)) == len(e)


# --- importance


def test_importance_is_the_mean_of_absolute_values_strongest_first():
    e = explained()
    table = importance(e)
    strengths = dict(zip(e.feature_names, e.abs.mean(0), strict=True))
    assert dict(zip(table.feature_names, table.values, strict=True)) == strengths
    assert (np.diff(table.values) <= 0).all()
    np.testing.assert_array_equal(e.abs.mean(0)[table.order], table.values)


def test_intervals_of_importance_say_what_they_are_of():
    e = explained()
    assert "choice of rows" in importance(e).intervals
    fixed = importance(e, rows="fixed")
    assert "these rows and no others" in fixed.intervals
    np.testing.assert_array_equal(fixed.lower, fixed.upper)  # exact values
    assert (importance(e).upper > importance(e).values).all()


def test_few_rows_have_intervals_of_the_estimation():
    table = importance(explained()[:9])
    assert table.rows == "fixed"
    with pytest.raises(InputError, match="be 'fixed' for fewer than 10 rows"):
        importance(explained()[:9], rows="drawn")


def test_over_rows_the_half_width_of_the_estimation_is_the_mean_one():
    """Not the root of the mean square over √rows, which independent rows would have."""
    half = np.array([[0.1], [0.3], [np.nan]]) * np.ones((3, 2))
    e = explanation_of(np.ones((3, 2)), half=half)
    np.testing.assert_allclose(importance(e).of_estimation, 0.2)


def test_importance_of_several_outputs_is_a_line_for_each():
    e = explanation_of(np.arange(24.0).reshape(4, 3, 2), output_names=["no", "yes"])
    table = importance(e)
    assert table.values.shape == (3, 2)
    lines = table.to_frame()
    assert len(lines) == 6
    assert lines.iloc[0][["feature", "output"]].tolist() == ["f2", "no"]
    assert "f2" in repr(table)


def test_importance_wants_rows():
    with pytest.raises(InputError, match="several rows"):
        importance(explained()[0])
    with pytest.raises(InputError, match="be an owenshap Explanation; got ndarray"):
        importance(explained().values)


# --- cohorts


def test_cohorts_of_a_feature_have_its_categories():
    e = explained()
    by_sex = cohorts(e, "sex")
    assert set(by_sex) == {"male", "female"}
    assert by_sex.by == "sex"
    assert sum(map(len, by_sex.values())) == len(e)
    assert (by_sex["male"].data[:, 2] == "male").all()
    sizes = [len(part) for part in by_sex.values()]
    assert sizes == sorted(sizes, reverse=True)


def test_cohorts_of_a_number_are_of_about_equal_size_from_low_to_high():
    e = explained()
    groups = cohorts(e, "age")
    assert [len(part) for part in groups.values()] == [10, 10, 10, 10]
    highest = [part.data[:, 0].max() for part in groups.values()]
    assert highest == sorted(highest)
    assert len(cohorts(e, "age", bins=2)) == 2


def test_cohorts_of_labels_that_are_no_feature():
    e = explained()
    region = pd.Series(["north"] * 30 + [None] * 10, name="region")
    groups = cohorts(e, region)
    assert {name: len(part) for name, part in groups.items()} == {"north": 30, "missing": 10}
    assert groups.by == "region"


def test_numbers_that_look_alike_are_different_cohorts():
    e = explained()
    close = 1 + 1e-9 * (np.arange(40) % 2)
    assert [len(part) for part in cohorts(e, close).values()] == [20, 20]
    binned = cohorts(e, 1 + 1e-9 * np.arange(40.0))
    assert [len(part) for part in binned.values()] == [10, 10, 10, 10]


def test_cohorts_of_a_constant_number_are_one():
    assert [len(part) for part in cohorts(explained(), np.full(40, 2.5)).values()] == [40]
    mostly = np.r_[np.zeros(31), np.arange(9.0) + 1]
    assert sum(map(len, cohorts(explained(), mostly).values())) == 40


def test_an_unknown_cohort_is_named():
    with pytest.raises(InputError, match=r"There are 'male', 'female'|There are 'female', 'male'"):
        cohorts(explained(), "sex")["other"]
    with pytest.raises(InputError, match="label for each of the 40 rows"):
        cohorts(explained(), ["a", "b"])
    with pytest.raises(InputError, match="Did you mean 'sex'"):
        cohorts(explained(), "sexx")


# --- concatenation


def test_concat_puts_rows_one_after_the_other():
    e = explained()
    again = concat([e[:10], e[10:]])
    np.testing.assert_array_equal(again.values, e.values)
    assert again.row_ids.tolist() == e.row_ids.tolist()
    assert again.seed == e.seed
    assert concat([e]).shape == e.shape


def test_concat_of_other_seeds_has_none_and_can_be_saved(tmp_path):
    explainer = owenshap.Explainer(model(), frame())
    both = concat([explainer(frame(), seed=seed) for seed in (0, 1)])
    assert both.seed is None
    both.save(tmp_path / "both.npz")
    assert owenshap.load(tmp_path / "both.npz").seed is None
    assert "None" not in both._repr_html_()


def test_concat_keeps_rows_that_are_called_by_texts_and_by_numbers():
    e = explained()
    named = replace(e[:2], row_ids=np.array(["a", 7], object))
    both = concat([replace(e[:2], row_ids=np.array([3, 4])), named])
    assert both.row_ids.tolist() == [3, 4, "a", 7]


def test_concat_keeps_courses_of_several_lengths():
    e = explained()
    long = np.arange(12.0).reshape(2, 3, 2)
    parts = [replace(e[:2], convergence=each) for each in (long, long[:, :1])]
    found = concat(parts).convergence
    np.testing.assert_array_equal(found[:2], long)
    np.testing.assert_array_equal(found[2:, :1], long[:, :1])
    assert np.isnan(found[2:, 1:]).all()


def test_concat_refuses_what_does_not_go_together():
    e = explained()
    with pytest.raises(InputError, match="'income' in one of them only"):
        concat([e, e[:, ["age", "sex"]]])
    with pytest.raises(InputError, match="another order"):
        concat([e, e[:, ["age", "sex", "income"]]])
    with pytest.raises(InputError, match="at least one"):
        concat([])
    with pytest.raises(InputError, match=r"As in owenshap.concat"):
        concat(e)


# --- comparison


def test_a_feature_that_matters_more_goes_up_and_the_others_stay():
    changes = compare(explained(), explained(income=3.0))
    verdicts = dict(zip(changes.feature_names, changes.verdicts, strict=True))
    assert verdicts["income"] == "up"
    assert verdicts["age"] == "same"
    assert changes.feature_names[0] == "income"
    back = compare(explained(income=3.0), explained())
    assert dict(zip(back.feature_names, back.verdicts, strict=True))["income"] == "down"


def test_a_feature_that_turns_about_has_moved():
    changes = compare(explained(), explained(age=-1.0))
    verdicts = dict(zip(changes.feature_names, changes.verdicts, strict=True))
    assert verdicts["age"] == "moved"
    assert changes.moved[changes.feature_names.index("age")] > 1


def test_nothing_changed_where_nothing_did():
    assert set(compare(explained(), explained(), least=0.0).verdicts) == {"same"}


def test_wide_intervals_leave_it_open():
    one, other = explanation_of([[1.0, 2.0]] * 20, half=1.0), explanation_of([[1.2, 2.0]] * 20)
    assert set(compare(one, other, rows="fixed").verdicts) == {"unsure"}


def test_a_change_below_the_least_is_none():
    one, other = (explanation_of([[1.0, 2.0 + extra]] * 20, half=0.0) for extra in (0.0, 0.05))
    assert compare(one, other, least=0.0).verdicts.tolist() == ["up", "same"]
    assert compare(one, other, least=0.1).verdicts.tolist() == ["same", "same"]
    assert compare(one, other, least="50%").least == pytest.approx(0.5 * 3.05)


def test_rows_are_paired_by_their_ids():
    e, f = explained(), explained(frame().iloc[::-1])
    assert set(compare(e, f).verdicts) == {"same"}
    assert compare(e[:30], f).left_out == 10
    with pytest.raises(InputError, match="no row id in common"):
        compare(e[:5], f[:5])


def test_rows_that_go_by_numbers_must_have_the_same_data():
    one, other = (explained(frame(seed=seed).reset_index(drop=True)) for seed in (0, 1))
    with pytest.raises(InputError, match=r"other data in 40 of 40 rows.*paired=False"):
        compare(one, other)
    with pytest.raises(InputError, match="40 and 30 rows"):
        compare(one, one[:30])
    assert compare(one, other, paired=False).moved.dtype == np.float64
    assert np.isnan(compare(one, other, paired=False).moved).all()


def test_double_ids_cannot_be_paired():
    twice = explained(frame().set_axis(["a", "a", *range(38)]))
    with pytest.raises(InputError, match="there twice"):
        compare(twice, twice)


def test_single_rows_are_compared_by_their_values():
    e, f = explained(), explained(age=2.0)
    changes = compare(e[0], f[0])
    np.testing.assert_allclose(sorted(changes.change), sorted(f[0] - e[0]))
    assert "one row" in repr(changes)


def test_other_units_are_an_error():
    e = explanation_of([[1.0, 2.0]] * 3, unit="log-odds")
    f = explanation_of([[1.0, 2.0]] * 3, unit="probability")
    with pytest.raises(InputError, match=r"log-odds and probability.*output='probability'"):
        compare(e, f)
    with pytest.raises(InputError, match="unit"):
        concat([e, f])


def test_features_in_another_order_are_compared_by_name():
    e = explained()
    assert set(compare(e, e[:, ["sex", "age", "income"]]).verdicts) == {"same"}
    with pytest.raises(InputError, match="'income' in one of them only"):
        compare(e, e[:, ["age", "sex"]])


@pytest.mark.parametrize("least", [-1, "1", "x%", float("nan"), True, None])
def test_a_least_change_that_is_none_is_named(least):
    with pytest.raises(InputError, match="least must be"):
        compare(explained(), explained(), least=least)


def test_intervals_hold_at_once_for_tails_of_student():
    """The factor is at least what Student's t with 9 degrees of freedom takes."""
    from scipy.stats import t

    for cells in (2, 5, 30, 100, 1000):
        for confidence in (0.9, 0.95, 0.99):
            tail = (1 - confidence) / 2
            assert at_once(confidence, cells) >= t.isf(tail / cells, 9) / t.isf(tail, 9) * 0.999
    assert at_once(0.95, 1) == 1


def test_tables_say_what_they_are_on_a_screen_and_in_a_notebook():
    for table in (importance(explained()), compare(explained(), explained(age=2.0))):
        assert len(repr(table)) < 2000
        assert "age" in repr(table)
        assert "<script" not in table._repr_html_()
        assert "age" in table._repr_html_()
        assert len(table.to_frame()) == len(table) == 3


def test_intervals_of_a_comparison_hold_at_once_in_the_worst_case():
    """Errors that all rows share, and that go opposite ways in the two explanations.

    500 repetitions at 95 % for all features at once: fewer than 93 % have a probability of 0.03.
    Independent rows and explanations would make intervals √(2 · 20) times as narrow: they hold in
    less than half.
    """
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(20, 6)) + 5
    half = 0.1
    error = half / 1.959964
    held = []
    naive = []
    for _ in range(500):
        off = error * rng.normal(size=6)
        one, other = (explanation_of(truth + sign * off, half=half) for sign in (1, -1))
        changes = compare(one, replace(other, data=one.data), rows="fixed")
        held.append(((changes.lower <= 0) & (changes.upper >= 0)).all())
        naive.append((np.abs(changes.change) <= 2 * half / np.sqrt(40)).all())
    assert np.mean(held) > 0.93
    assert np.mean(naive) < 0.5


def test_rows_drawn_are_compared_by_students_t():
    rng = np.random.default_rng(1)
    one = rng.normal(size=(30, 2)) + 5
    other = one + rng.normal(0.3, 1.0, size=(30, 2))
    first, second = (
        explanation_of(each, half=0.0, data=np.zeros((30, 2))) for each in (one, other)
    )
    changes = compare(first, second)
    gap = np.abs(other) - np.abs(one)
    quantile = stats.t.isf(0.05 / 2 / 4, 29)  # two features, each by importance and by row
    half = quantile * stats.sem(gap)
    np.testing.assert_allclose(changes.upper - changes.change, half[changes.order])
    apart = compare(first, second, paired=False)
    welch = stats.ttest_ind(np.abs(other), np.abs(one), equal_var=False)
    ends = welch.confidence_interval(1 - 0.05 / 2)
    np.testing.assert_allclose(apart.lower, ends.low[apart.order])
    np.testing.assert_allclose(apart.upper, ends.high[apart.order])


def test_another_index_is_another_thing():
    e = explained()
    with pytest.raises(InputError, match="index must be the same"):
        compare(e, replace(e, index="banzhaf"))
    with pytest.raises(InputError, match="index must be the same"):
        concat([e, replace(e, index="banzhaf")])


def test_kept_evaluations_go_with_their_rows():
    explainer = owenshap.Explainer(model(), frame())
    parts = [explainer(frame().iloc[rows], keep=True, method="exact") for rows in ([0, 1], [2])]
    both = concat(parts)
    assert len(both.kept) == 3
    np.testing.assert_allclose(both.under("banzhaf").values[2], parts[1].under("banzhaf").values[0])
    assert concat([parts[0], explained()[2:]]).kept is None
