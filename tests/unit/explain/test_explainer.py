"""From a model and its data to explanations: what absent means, what it costs, many rows, and bad
input.
"""

import itertools
import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy.special import bdtr, ndtri

import owenshap
from owenshap.errors import InputError, ModelError, UnknownMethodError
from owenshap.explain import row_games

RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(12, 4))
BACKGROUND = RNG.normal(size=(7, 4))
WEIGHTS = np.array([1.0, 2.0, 0.0, 3.0, 1.0, 1.0, 4.0])


def model(batch):
    """Its arithmetic does not depend on the batch."""
    return batch[:, 0] * batch[:, 1] + batch[:, 2] * batch[:, 2] * batch[:, 0] - 0.5 * batch[:, 3]


def two_outputs(batch):
    return np.stack([model(batch), batch[:, 0] * batch[:, 3] * batch[:, 1]], axis=1)


class Counting:
    """A model that knows how many rows it predicted, and how large its batches were."""

    def __init__(self, function=model):
        self.function, self.batches = function, []

    def __call__(self, batch):
        self.batches.append(len(batch))
        return self.function(batch)

    @property
    def rows(self):
        return sum(self.batches)


def by_definition(function, row, background, weights=None):
    """Shapley values from the formula, one coalition at a time."""
    n = len(row)

    def value(coalition):
        composites = background.copy()
        composites[:, list(coalition)] = row[list(coalition)]
        return np.average(function(composites), axis=0, weights=weights)

    values = []
    for player in range(n):
        others = [other for other in range(n) if other != player]
        gains = [
            math.factorial(size)
            * math.factorial(n - size - 1)
            / math.factorial(n)
            * (value((*rest, player)) - value(rest))
            for size in range(n)
            for rest in itertools.combinations(others, size)
        ]
        values.append(sum(gains))
    return np.array(values)


# What absent means


def test_a_number_is_a_baseline_of_every_feature():
    found = owenshap.Explainer(model, baseline=0.25)(ROWS, method="exact")
    wanted = [by_definition(model, row, np.full((1, 4), 0.25)) for row in ROWS]
    np.testing.assert_allclose(found.values, wanted, atol=1e-12)
    np.testing.assert_allclose(found.base_values, model(np.full((1, 4), 0.25)).repeat(12))
    np.testing.assert_array_equal(found.predictions, model(ROWS))


@pytest.mark.parametrize(
    "row", [BACKGROUND[0], BACKGROUND[:1], BACKGROUND[0].tolist()], ids=["row", "rows", "list"]
)
def test_a_row_is_a_baseline(row):
    found = owenshap.Explainer(model, baseline=row)(ROWS, method="exact")
    np.testing.assert_allclose(
        found.values, [by_definition(model, each, BACKGROUND[:1]) for each in ROWS], atol=1e-12
    )


def test_each_row_may_have_its_own_baseline():
    # the third player is a null player of every row
    baseline = np.where(np.arange(4) == 2, ROWS[:7], BACKGROUND)
    found = owenshap.Explainer(model, baseline=baseline)(ROWS[:7], method="exact")
    wanted = [
        by_definition(model, row, own[None]) for row, own in zip(ROWS[:7], baseline, strict=True)
    ]
    np.testing.assert_allclose(found.values, wanted, atol=1e-12)
    assert (found.values[:, 2] == 0).all()
    np.testing.assert_array_equal(found.evaluations, 2**3)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("function", [model, two_outputs])
def test_a_background_is_averaged_over_exactly(weights, function):
    found = owenshap.Explainer(function, BACKGROUND, background_weights=weights)(
        ROWS, method="exact"
    )
    np.testing.assert_allclose(
        found.values,
        [by_definition(function, row, BACKGROUND, weights) for row in ROWS],
        atol=1e-12,
    )
    base = np.average(function(BACKGROUND), axis=0, weights=weights)
    np.testing.assert_allclose(
        found.base_values, np.broadcast_to(base, found.base_values.shape), atol=1e-12
    )
    np.testing.assert_allclose(found.gap, 0, atol=1e-12)


def test_all_of_a_large_background_is_used_in_bounded_memory():
    background = np.random.default_rng(0).normal(size=(20_000, 4))
    counting = Counting()
    found = owenshap.Explainer(counting, background, memory="1MB")(ROWS[:2], method="exact")
    np.testing.assert_allclose(
        found.values, [by_definition(model, row, background) for row in ROWS[:2]], atol=1e-10
    )
    assert found.model_rows.tolist() == [1 + 16 * 20_000] * 2
    assert counting.rows == found.model_rows.sum()
    assert max(counting.batches) * 4 * 8 <= 500_000
    roomy = owenshap.Explainer(model, background, memory="1GB")(ROWS[:2], method="exact")
    np.testing.assert_array_equal(roomy.values, found.values)


# Drawn backgrounds


@pytest.mark.parametrize("method", ["castro", "owen", "halved-owen"])
def test_drawn_backgrounds_are_unbiased_and_their_error_is_in_the_interval(method):
    # A false alarm of 1e-6 for each method, shared by 4 players and two tests, were the seeds not
    # fixed.
    runs, alarm = 300, 1e-6 / 8
    explainer = owenshap.Explainer(model, BACKGROUND, background_weights=WEIGHTS)
    row, truth = ROWS[4:5], by_definition(model, ROWS[4], BACKGROUND, WEIGHTS)
    found = [
        explainer(row, method=method, budget=400, background_draws=2, seed=seed)
        for seed in range(runs)
    ]
    values = np.array([each.values[0] for each in found])
    scores = (values.mean(axis=0) - truth) / (values.std(axis=0, ddof=1) / np.sqrt(runs))
    assert np.abs(scores).max() < -ndtri(alarm / 2), scores
    hits = np.sum([(each.lower[0] <= truth) & (truth <= each.upper[0]) for each in found], axis=0)
    assert (bdtr(hits, runs, 0.95) > alarm).all(), hits
    # an interval that is always right is too wide
    assert (bdtr(runs - hits, runs, 0.05) > alarm).all(), hits


def test_every_row_has_an_interval_and_doubts_of_its_own():
    """Of rows together and of one alone."""
    explainer = owenshap.Explainer(
        lambda rows: rows.prod(axis=1) + (rows[:, 0] > 1.5) * rows.sum(axis=1), baseline=0.0
    )
    rows = np.ones((3, 30))
    rows[1] = [2.0, *[1e-3] * 29]
    rows[2] = 0.0
    found = explainer(rows, method="owen", budget=800)
    assert np.isfinite([found.standard_errors, found.lower, found.upper]).all()
    assert found.doubtful[0]
    assert found.doubtful[1:].tolist() == ["", ""]
    alone = explainer(rows[:1], method="owen", budget=800)
    assert alone.doubtful.tolist() == [found.doubtful[0]]
    np.testing.assert_array_equal(alone.standard_errors, found.standard_errors[:1])


def test_drawn_backgrounds_cost_less_and_tell_it():
    background = np.random.default_rng(0).normal(size=(100, 4))
    counting = Counting()
    found = owenshap.Explainer(counting, background)(
        ROWS[:3], method="castro", budget=50, background_draws=3
    )
    inner = found.evaluations - 2
    np.testing.assert_array_equal(found.model_rows, 1 + 2 * 100 + 3 * inner)
    assert counting.rows == found.model_rows.sum()


def test_drawn_backgrounds_are_not_for_exact_values():
    explainer = owenshap.Explainer(model, BACKGROUND)
    with pytest.raises(InputError, match="background_draws must be None for method 'exact'; got 2"):
        explainer(ROWS, method="exact", background_draws=2)
    assert explainer(ROWS, background_draws=2).method == "halved-owen"
    with pytest.raises(InputError, match="background_draws must be at least 1"):
        explainer(ROWS, background_draws=0)


def test_drawn_backgrounds_have_intervals_and_add_up_by_default():
    found = owenshap.Explainer(model, BACKGROUND)(ROWS, background_draws=10)
    assert np.isfinite([found.lower, found.upper]).all()
    assert np.abs(found.gap).max() < 1e-12
    assert found.because[0] == (
        "halved-owen: 10 background rows are drawn for each star, as asked for"
    )


LARGE = np.random.default_rng(8).normal(size=(2000, 12)) + np.linspace(-1, 1, 12)
SLOPES = np.linspace(-1, 2, 12)


def sloped(batch):
    return batch @ SLOPES + batch[:, 0] * batch[:, 1]


def sloped_values(row):
    """Of `sloped` over all of the large background, in closed form."""
    values = SLOPES * (row - LARGE.mean(axis=0))
    (a, b), means = row[:2], LARGE[:, :2].mean(axis=0)
    both = (LARGE[:, 0] * LARGE[:, 1]).mean()
    values[0] += (a * means[1] - both + a * b - means[0] * b) / 2
    values[1] += (means[0] * b - both + a * b - a * means[1]) / 2
    return values


def test_a_large_background_is_drawn_from_and_that_is_said():
    counting = Counting(sloped)
    found = owenshap.Explainer(counting, LARGE)(LARGE[:2] + 0.5)
    assert found.because[0].startswith("halved-owen: all 2^12 coalitions would take longer; ")
    drawn = "; 40 of 2,000 background rows are drawn for each star, and their error is in the"
    assert f"{drawn} interval" in found.because[0]
    assert counting.rows == found.model_rows.sum()
    assert counting.rows < 2 * 12 * 12 * 2000 / 4  # a fourth of what a process takes
    np.testing.assert_allclose(found.base_values, sloped(LARGE).mean())
    assert np.abs(found.gap).max() < 1e-11
    asked = owenshap.Explainer(sloped, LARGE)(LARGE[:1] + 0.5, method="halved-owen", budget=60)
    assert "drawn" not in asked.because[0]


def test_a_wide_tolerance_draws_from_a_small_background():
    wider = np.hstack([LARGE, LARGE[:, ::-1]])  # 24 features: all coalitions are too many
    explainer = owenshap.Explainer(lambda batch: np.tanh(sloped(batch[:, :12]) / 9), wider[:100])
    rows = wider[200:202] + 0.5
    wide, usual, named = (
        explainer(rows, **each)
        for each in ({"tolerance": "10%"}, {}, {"method": "halved-owen", "tolerance": "10%"})
    )
    assert "10 of 100 background rows are drawn" in wide.because[0]
    assert not any("drawn" in each.because[0] for each in (usual, named))
    assert wide.model_rows.sum() < named.model_rows.sum() / 5
    np.testing.assert_allclose(wide.base_values, usual.base_values)
    assert np.abs(wide.gap).max() < 1e-11


def test_the_error_of_a_large_background_is_in_the_interval():
    # 40 runs of 12 values, all of them within the tolerance, were there no error of 5 %: fewer
    # than 33 such runs come once in 100,000, were the seeds not fixed
    explainer = owenshap.Explainer(sloped, LARGE)
    row = LARGE[0] + 0.5
    truth = sloped_values(row)
    range_ = np.ptp(np.append(sloped(LARGE), sloped(row[None])))
    found = [explainer(row[None], tolerance="2%", seed=seed) for seed in range(40)]
    errors = np.array([np.abs(each.values[0] - truth).max() for each in found])
    assert (errors <= 0.02 * range_).sum() >= 33
    hits = [((each.lower <= truth) & (truth <= each.upper)).mean() for each in found]
    assert 0.9 <= np.mean(hits) <= 1.0


def test_a_large_background_makes_rows_depend_on_neither_batches_nor_workers():
    rows = LARGE[:3] + 0.5
    together = owenshap.Explainer(sloped, LARGE)(rows)
    narrow = owenshap.Explainer(sloped, LARGE, batch_rows=777)(rows[1:2])
    np.testing.assert_allclose(narrow.values[0], together.values[1], rtol=0, atol=1e-12)
    with ThreadPoolExecutor(2) as pool:
        shared = owenshap.Explainer(sloped, LARGE)(rows, executor=pool)
    np.testing.assert_array_equal(shared.values, together.values)


def test_exact_values_of_few_players_average_over_a_large_background():
    found = owenshap.Explainer(lambda batch: np.tanh(batch).prod(axis=1), LARGE[:, :4])(ROWS[:1])
    assert found.method == "exact"


# Null players and cost


@pytest.mark.parametrize(
    "settings", [{"background": BACKGROUND}, {"baseline": 0.0}], ids=["background", "baseline"]
)
def test_rows_that_a_range_is_of_count_as_model_rows(settings):
    counting = Counting()
    found = owenshap.Explainer(counting, **settings)(ROWS[:3], method="castro", tolerance="5%")
    assert counting.rows == found.model_rows.sum()
    absolute = owenshap.Explainer(Counting(), **settings)(ROWS[:3], method="castro", tolerance=0.05)
    assert (
        absolute.model_rows.sum()
        == 3 + (absolute.evaluations * len(settings.get("background", [0]))).sum()
    )


def test_model_rows_are_what_the_model_saw_for_each_row():
    background = BACKGROUND.copy()
    background[:, 1], background[:, 3] = 0.5, np.nan
    rows = ROWS[:4].copy()
    rows[1, 1], rows[2, 3], rows[3, [1, 3]] = 0.5, np.nan, (0.5, np.nan)

    def careful(batch):
        return model(np.where(np.isnan(batch), 7.0, batch))

    for settings in (
        {"method": "exact"},
        {"method": "castro", "budget": 60},
        {"method": "halved-owen", "budget": 500},
    ):
        together = owenshap.Explainer(careful, background)(rows, **settings)
        for number in range(4):
            counting = Counting(careful)
            alone = owenshap.Explainer(counting, background)(rows[number : number + 1], **settings)
            assert alone.model_rows[0] == counting.rows == together.model_rows[number]
            np.testing.assert_array_equal(alone.values[0], together.values[number])
        assert (
            together.values[1, 1]
            == together.values[2, 3]
            == together.values[3, 1]
            == together.values[3, 3]
            == 0
        )
        assert together.lower[1, 1] == together.upper[1, 1] == 0
    exact = owenshap.Explainer(careful, background)(rows, method="exact")
    assert exact.evaluations.tolist() == [16, 8, 8, 4]
    assert exact.model_rows.tolist() == [1 + 7 * evaluations for evaluations in (16, 8, 8, 4)]


def test_a_row_that_is_the_baseline_costs_its_prediction():
    counting = Counting()
    found = owenshap.Explainer(counting, baseline=ROWS[0])(ROWS[:1])
    assert counting.rows == found.model_rows[0] == found.evaluations[0] == 1
    np.testing.assert_array_equal(found.values, np.zeros((1, 4)))
    np.testing.assert_array_equal(found.base_values, found.predictions)


def test_a_group_is_null_only_where_all_of_it_is():
    baseline = ROWS[0].copy()
    baseline[0] += 1
    found = owenshap.Explainer(model, baseline=baseline, players={"both": [0, 1], "rest": [2, 3]})(
        ROWS[:1]
    )
    assert found.evaluations[0] == 2
    np.testing.assert_allclose(found.values, [[found.predictions[0] - found.base_values[0], 0]])


def test_a_column_beside_groups_keeps_its_numbers():
    found = owenshap.Explainer(model, baseline=0.0, players={"both": [0, 1]})(ROWS[:1])
    assert [type(cell) for cell in found.data[0]] == [str, np.float64, np.float64]
    assert found.data[0, 1] == ROWS[0, 2]


# Many rows


def rows_with_nulls():
    rows = np.concatenate([ROWS] * 3)
    rows[::3, 1], rows[::5, 3], rows[::7, 0] = 0.25, 0.25, 0.25
    return rows


@pytest.mark.parametrize(
    "settings",
    [{"method": "exact"}, {"method": "halved-owen", "budget": 300}, {"method": "castro"}],
)
@pytest.mark.parametrize("function", [model, two_outputs])
def test_a_row_does_not_depend_on_the_others(monkeypatch, settings, function):
    monkeypatch.setattr(row_games, "MOST_ROWS", 5)
    explainer, rows = owenshap.Explainer(function, baseline=0.25), rows_with_nulls()
    whole = explainer(rows, **settings)
    turned = explainer(rows[::-1].copy(), **settings)
    some = explainer(rows[[4, 17, 30]], **settings)
    for name in (
        "values",
        "base_values",
        "predictions",
        "standard_errors",
        "lower",
        "upper",
        "evaluations",
        "model_rows",
    ):
        np.testing.assert_array_equal(getattr(turned, name)[::-1], getattr(whole, name))
        np.testing.assert_array_equal(getattr(some, name), getattr(whole, name)[[4, 17, 30]])


@pytest.mark.parametrize(
    "settings",
    [{"method": "exact"}, {"budget": 900, "method": "halved-owen", "background_draws": 2}],
)
@pytest.mark.parametrize("rows", [ROWS[:1], rows_with_nulls()], ids=["one row", "many rows"])
def test_workers_and_memory_change_no_bit(settings, rows):
    alone = owenshap.Explainer(two_outputs, BACKGROUND)(rows, **settings)
    # Spawned: a fork of a process that has threads may hang, and Python warns of it.
    pools = (
        ThreadPoolExecutor(3),
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")),
    )
    for pool in pools:
        with pool:
            found = owenshap.Explainer(two_outputs, BACKGROUND)(rows, executor=pool, **settings)
        np.testing.assert_array_equal(found.values, alone.values)
        np.testing.assert_array_equal(found.lower, alone.lower)
        np.testing.assert_array_equal(found.model_rows, alone.model_rows)
    for memory in ("3KB", "50KB", "1GB"):
        found = owenshap.Explainer(two_outputs, BACKGROUND, memory=memory)(rows, **settings)
        np.testing.assert_array_equal(found.values, alone.values)
        np.testing.assert_array_equal(found.lower, alone.lower)


def test_seeds_repeat_and_differ():
    explainer = owenshap.Explainer(model, BACKGROUND)
    first, again, other = (
        explainer(ROWS, method="castro", budget=40, seed=seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.values, again.values)
    assert (first.values != other.values).any()


def test_values_sum_to_the_prediction_unless_asked_not_to():
    found = owenshap.Explainer(model, BACKGROUND)(ROWS, method="owen", budget=400)
    np.testing.assert_allclose(found.gap, 0, atol=1e-12)
    left = owenshap.Explainer(model, BACKGROUND)(ROWS, method="owen", budget=400, efficient=False)
    assert np.abs(left.gap).max() > 1e-3


def test_without_an_interval_it_says_why():
    found = owenshap.Explainer(model, BACKGROUND)(ROWS, method="castro", budget=5)
    assert np.isnan([found.standard_errors, found.lower, found.upper]).all()
    assert all("one replicate alone" in each for each in found.doubtful)


def test_progress_is_told_to_the_end():
    told = []
    owenshap.Explainer(model, BACKGROUND)(
        rows_with_nulls(), budget=100, progress=lambda done, of: told.append((done, of))
    )
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1]


# Bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "background or baseline must be given for a model .*; got neither"),
        (
            {"background": BACKGROUND, "baseline": 0.0},
            "background or baseline must be given; got both",
        ),
        ({"background": BACKGROUND[:0]}, "background must have at least one row; got none"),
        (
            {"baseline": 0.0, "background_weights": [1.0]},
            "background_weights must come with a background",
        ),
        (
            {"background": BACKGROUND, "background_weights": [1.0]},
            "background_weights must be 7 numbers from 0 on",
        ),
        (
            {"background": BACKGROUND, "background_weights": [0.0] * 7},
            "background_weights must be 7 numbers from 0 on",
        ),
        (
            {"background": BACKGROUND, "background_weights": [-1.0] * 7},
            "background_weights must be 7 numbers from 0 on",
        ),
        (
            {"background": BACKGROUND, "background_weights": [np.nan] * 7},
            "background_weights must be 7 numbers from 0 on",
        ),
        (
            {"background": BACKGROUND, "background_weights": ["a"] * 7},
            "background_weights must be 7 numbers from 0 on",
        ),
        (
            {"background": BACKGROUND, "feature_names": ["a"]},
            "feature_names must have 4 names; got 1",
        ),
        (
            {"background": BACKGROUND, "players": {"g": ["a"]}},
            "players must name columns of the data in group 'g'",
        ),
        ({"background": BACKGROUND, "memory": "lots"}, "memory must be a number of bytes"),
    ],
)
def test_a_wrong_setting_is_told_at_once(settings, message):
    with pytest.raises(InputError, match=message):
        owenshap.Explainer(model, **settings)


@pytest.mark.parametrize(
    ("rows", "settings", "message"),
    [
        (ROWS[:0], {}, "X must have at least one row; got none"),
        (
            ROWS[0],
            {},
            r"data must be a table of rows and features; .* For one row x give x\[None\]",
        ),
        (ROWS[:, :3], {}, r"X must have rows of shape \(4,\)"),
        (ROWS, {"method": "magic"}, "method must be one of"),
        (ROWS, {"budget": 1}, "budget must be at least 2"),
        (ROWS, {"budget": 3, "method": "castro"}, "budget must be at least 5"),
        (ROWS, {"seed": -1}, "seed must be at least 0"),
        (ROWS, {"seed": 0.5}, "seed must be a whole number"),
        (ROWS, {"confidence": 95}, "confidence must be between 0 and 1"),
        (ROWS, {"executor": 4}, "executor must have a method submit"),
        (ROWS, {"background_draws": "all"}, "background_draws must be a whole number"),
    ],
)
def test_a_wrong_argument_is_told(rows, settings, message):
    with pytest.raises(InputError, match=message):
        owenshap.Explainer(model, BACKGROUND)(rows, **settings)
    with pytest.raises(UnknownMethodError):
        owenshap.Explainer(model, BACKGROUND)(ROWS, method="magic")


@pytest.mark.parametrize(
    "baseline", [[0.0] * 3, np.zeros((2, 4)), np.zeros((12, 3)), "none", True], ids=str
)
def test_a_baseline_of_wrong_shape_is_told(baseline):
    with pytest.raises(InputError, match="baseline must"):
        owenshap.Explainer(model, baseline=baseline)(ROWS)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda batch: ["high"] * len(batch),
            "the model's predictions must be real numbers; got dtype <U4",
        ),
        (
            lambda batch: [[1.0]] * (len(batch) - 1) + [[1.0, 2.0]],
            "the model's predictions must be an array; got list",
        ),
        (
            lambda batch: 1.0,
            r"must have one row for each of the 12 rows of the batch; got shape \(\)",
        ),
        (
            lambda batch: batch[:-1, 0],
            r"must have one row for each of the 12 rows of the batch; got shape \(11,\)",
        ),
        (lambda batch: None, "must be real numbers; got None"),
        (
            lambda batch: 1 / 0,
            r"predict the rows to explain; got ZeroDivisionError\(division by zero\) on rows 0 to 11",
        ),
        (
            lambda batch: batch[:, 0] * np.nan,
            "the model's output must be finite; got .* for row 0 with nothing present",
        ),
    ],
)
def test_a_model_that_fails_is_told(function, message):
    with pytest.raises(ModelError, match=message):
        owenshap.Explainer(function, BACKGROUND)(ROWS)


def test_a_model_that_fails_on_a_coalition_names_it_and_keeps_the_finished_rows(monkeypatch):
    monkeypatch.setattr(row_games, "MOST_ROWS", 4)

    def fails(batch):
        if np.isin(batch[:, 0], ROWS[8]).any() and (batch[:, 1] == 0).any():
            raise ValueError("cannot divide")
        return model(batch)

    names = ["age", "size", "rate", "rank"]
    with pytest.raises(ModelError) as caught:
        owenshap.Explainer(fails, baseline=0.0, feature_names=names)(ROWS, method="exact")
    assert "the model must predict every batch; got ValueError(cannot divide) on" in str(
        caught.value
    )
    assert "row 8 with" in str(caught.value)
    finished = caught.value.explanation
    assert finished.shape == (8, 4)
    np.testing.assert_array_equal(
        finished.values, owenshap.Explainer(model, baseline=0.0)(ROWS[:8], method="exact").values
    )
    np.testing.assert_array_equal(finished.data, ROWS[:8])


@pytest.mark.parametrize("workers", [None, 2])
def test_an_infinite_output_names_row_and_coalition(monkeypatch, workers):
    monkeypatch.setattr(row_games, "MOST_ROWS", 3)
    names = ["age", "size", "rate", "rank"]

    def pole(batch):
        special = (
            (batch[:, 0] == ROWS[7, 0])
            & (batch[:, 2] == ROWS[7, 2])
            & (batch[:, 1] == 0)
            & (batch[:, 3] == 0)
        )
        return np.where(special, np.inf, batch[:, 0])

    explainer = owenshap.Explainer(pole, baseline=0.0, feature_names=names)
    executor = None if workers is None else ThreadPoolExecutor(workers)
    with pytest.raises(
        ModelError, match=r"be finite; got \[inf\] for row 7 with \{age, rate\} present"
    ) as caught:
        explainer(ROWS, method="exact", executor=executor)
    assert len(caught.value.explanation) == 6
    with pytest.raises(ModelError) as first:
        explainer(ROWS[7:], method="exact")
    assert first.value.explanation is None


def test_finished_rows_are_those_whose_games_are_done():
    rows = ROWS[:4].copy()
    rows[2, 0] = rows[2, 1] = 0  # fewer live players: a game of its own, played first

    def fails(batch):
        if len(batch) > 4 and (batch[:, 0] != 0).any():
            raise ValueError("no")
        return model(batch)

    with pytest.raises(ModelError) as caught:
        owenshap.Explainer(fails, baseline=0.0)(rows, method="exact")
    np.testing.assert_array_equal(caught.value.explanation.data, rows[2:3])


@pytest.mark.parametrize(
    "settings",
    [{"method": "exact"}, {"method": "castro", "tolerance": 0.05}, {"method": "castro"}],
    ids=str,
)
def test_an_interrupt_keeps_the_rows_that_are_done(monkeypatch, settings):
    monkeypatch.setattr(row_games, "MOST_ROWS", 4)
    explainer = owenshap.Explainer(model, baseline=0.0)
    whole = explainer(ROWS, **settings)

    def stopped(batch):
        if len(batch) < len(ROWS) and np.isin(batch[:, 0], ROWS[8]).any():
            raise KeyboardInterrupt
        return model(batch)

    with pytest.raises(KeyboardInterrupt) as caught:
        owenshap.Explainer(stopped, baseline=0.0)(ROWS, **settings)
    np.testing.assert_array_equal(caught.value.explanation.values, whole.values[:8])
    assert "8 of 12 rows are explained" in caught.value.__notes__[0]
    assert "explanation" in caught.value.__notes__[0]


def test_an_interrupt_before_any_row_is_done_says_so():
    def stopped(batch):
        if len(batch) > len(ROWS):
            raise KeyboardInterrupt
        return model(batch)

    with pytest.raises(KeyboardInterrupt) as caught:
        owenshap.Explainer(stopped, baseline=0.0)(ROWS, method="exact")
    assert caught.value.explanation is None
    assert "no row is explained" in caught.value.__notes__[0]


def test_a_model_that_cannot_go_to_another_process_is_told():
    explainer, rows = owenshap.Explainer(lambda batch: batch[:, 0], BACKGROUND), rows_with_nulls()
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    with pool, pytest.raises(InputError, match="picklable"):
        explainer(rows, executor=pool)


# Groups


def test_one_hot_blocks_are_the_categorical_columns_that_they_came_from():
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "city": rng.choice(["Rome", "Oslo", "Lima", "Bern"], 80),
            "size": rng.normal(size=80),
            "kind": pd.Categorical(rng.choice(["a", "b", "c"], 80)),
            "rate": rng.normal(size=80),
        }
    )
    target = frame["size"] * (frame["city"] == "Rome") + frame["rate"] * (frame["kind"] == "b")
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["city", "kind"]), remainder="passthrough"
    )
    pipeline = make_pipeline(encoder, RandomForestRegressor(10, random_state=0)).fit(frame, target)
    encoded = pipeline[0].transform(frame)
    names = [name.split("__")[1] for name in pipeline[0].get_feature_names_out()]
    blocks = {
        block: [name for name in names if name.startswith(f"{block}_")]
        for block in ("city", "kind")
    }
    raw = owenshap.Explainer(pipeline, frame[:20])(frame[40:50], method="exact")
    grouped = owenshap.Explainer(pipeline[1], encoded[:20], players=blocks, feature_names=names)(
        encoded[40:50], method="exact"
    )
    assert grouped.feature_names == ["city", "kind", "size", "rate"]
    order = [grouped.feature_names.index(name) for name in raw.feature_names]
    np.testing.assert_allclose(grouped.values[:, order], raw.values, atol=1e-12)
    np.testing.assert_allclose(grouped.base_values, raw.base_values, atol=1e-12)
    np.testing.assert_array_equal(grouped.evaluations, raw.evaluations)
