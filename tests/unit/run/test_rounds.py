"""Rows that share a budget or a time: who gets how much, what is never exceeded, and what each row
still is.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import owenshap
from owenshap.errors import InputError
from owenshap.estimators import by_name
from owenshap.explain import row_games
from owenshap.run.plan import settled_for

WEIGHTS = np.linspace(-1, 2, 20)
SCALES = np.array([0.1, 3.0, 0.1, 1.0, 3.0, 0.1])
ROWS = np.random.default_rng(0).normal(size=(6, 20)) * SCALES[:, None]
EASY, HARD = SCALES < 1, SCALES > 1


class Counting:
    """A model that knows how many rows it predicted; its arithmetic does not depend on the
    batch.
    """

    def __init__(self, seconds=0.0):
        self.rows, self.seconds = 0, seconds

    def __call__(self, batch):
        self.rows += len(batch)
        time.sleep(self.seconds * len(batch))
        return np.tanh((batch * WEIGHTS).sum(axis=1) / 6)


def explained(rows=ROWS, model=None, **settings):
    return owenshap.Explainer(Counting() if model is None else model, baseline=0.0)(
        rows, **settings
    )


METHODS = [
    name for name, each in by_name().items() if each.random and each().open_ended(20).unbiased(20)
]


@pytest.mark.parametrize(
    "settings", [{}, {"tolerance": 0.01}, {"top": 2}, {"efficient": True}, {"tolerance": "2%"}]
)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("share", [500, 2006])
def test_a_total_is_never_exceeded_and_used_up(method, settings, share):
    replicate = settled_for(method, 20, share).replicate_cost(20)
    total = 6 * max(share, 2 + replicate) + 1
    model = Counting()
    answer = explained(model=model, method=method, total_budget=total, **settings)
    assert answer.evaluations.sum() <= total
    if settings.get("tolerance") != "2%":  # whose range takes a prediction of the baseline
        assert model.rows == answer.model_rows.sum()
    out_of_it = np.array(
        [f"total budget of {total:,} evaluations for all rows" in why for why in answer.stopped_by]
    )
    assert out_of_it.any() or len(settings) > 0
    if out_of_it.any():  # less was left than one replicate of any of them takes
        assert total - answer.evaluations.sum() < replicate


def test_the_hard_rows_get_more_and_are_better_for_it():
    """Largest error over the rows, mean over draws: rows differ 30-fold in spread, and half of them
    are easy.
    """
    exact = owenshap.Explainer(Counting(), baseline=0.0)(
        ROWS, method="halved-owen", budget=400_000, seed=99
    ).values
    total, shared, equal = 12_000, [], []
    for seed in range(8):
        answer = explained(method="halved-owen", total_budget=total, seed=seed)
        assert answer.evaluations[HARD].min() > 2 * answer.evaluations[EASY].max()
        shared.append(np.abs(answer.values - exact).max())
        apart = explained(method="halved-owen", budget=total // 6, seed=seed)
        equal.append(np.abs(apart.values - exact).max())
    assert np.mean(shared) < 0.85 * np.mean(equal)


def test_a_row_is_what_as_many_replicates_alone_give():
    answer = explained(method="castro", total_budget=60_000, tolerance=0.02)
    for row in range(6):
        alone = explained(
            ROWS[row : row + 1],
            method="castro",
            tolerance=0.02,
            budget=int(answer.evaluations[row]),
        )
        assert alone.evaluations[0] == answer.evaluations[row]
        np.testing.assert_array_equal(answer.values[row], alone.values[0])
        np.testing.assert_array_equal(answer.lower[row], alone.lower[0])


def test_rows_stop_at_their_tolerance_and_leave_the_rest_to_others():
    answer = explained(method="castro", total_budget=60_000, tolerance=0.02)
    assert all(why.startswith("tolerance of 0.02") for why in answer.stopped_by[EASY])
    assert answer.evaluations[EASY].max() < 1000
    short = explained(method="castro", total_budget=20_000, tolerance=0.02).stopped_by[HARD]
    assert any("would reach it" in why for why in short)


@pytest.mark.parametrize(
    "settings", [{"total_budget": 9000}, {"total_budget": 30_000, "tolerance": 0.03}]
)
def test_neither_workers_nor_memory_nor_the_order_of_rows_matter(settings, monkeypatch):
    settings = {"method": "halved-owen"} | settings  # 'auto' would ask a clock
    answer = explained(**settings)
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(explained(executor=pool, **settings).values, answer.values)
    monkeypatch.setattr(row_games, "MOST_ROWS", 2)
    np.testing.assert_array_equal(explained(**settings).values, answer.values)
    turned = explained(ROWS[::-1], **settings)
    np.testing.assert_array_equal(turned.values[::-1], answer.values)
    np.testing.assert_array_equal(turned.evaluations[::-1], answer.evaluations)


def test_rows_of_other_numbers_of_players_share_too():
    rows = ROWS.copy()
    rows[0, :14], rows[1, :5], rows[2] = 0, 0, 0
    model = Counting()
    answer = explained(rows, model, total_budget=9000)
    assert answer.evaluations.sum() <= 9000
    assert model.rows == answer.model_rows.sum()
    assert answer.evaluations[2] == 1
    assert answer.because[0] == "exact: all 2^6 coalitions are few enough"


def test_exact_values_must_fit_the_share():
    rows = ROWS[:, :10]
    model = owenshap.Explainer(
        lambda batch: np.tanh((batch * WEIGHTS[:10]).sum(axis=1)), baseline=0.0
    )
    assert model(rows, total_budget=6 * 1024).method == "exact"
    less = model(rows, total_budget=6 * 600)
    assert less.method == "halved-owen"
    assert less.evaluations.sum() <= 6 * 600
    assert "equal share of 600" in less.because[0]


def test_a_budget_bounds_each_row_beside_the_total():
    answer = explained(method="halved-owen", total_budget=12_000, budget=2500)
    assert answer.evaluations.max() <= 2500
    assert answer.evaluations.sum() <= 12_000


def test_a_linear_model_costs_no_total():
    model = LinearRegression().fit(ROWS, ROWS @ WEIGHTS)
    assert (
        owenshap.Explainer(model, background=ROWS)(ROWS, total_budget=12).evaluations.tolist()
        == [2] * 6
    )


def test_progress_is_told_to_the_end():
    told = []
    explained(total_budget=9000, progress=lambda done, expected: told.append((done, expected)))
    assert all(done <= expected for done, expected in told)
    assert told[-1][0] == told[-1][1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"total_budget": 100},
            "total_budget must be at least 264 for a first estimate of each of the 6 rows; got 100",
        ),
        ({"total_budget": 1}, "total_budget must be at least 2"),
        ({"total_budget": 2.5}, "total_budget must be a whole number"),
        ({"total_budget": 5000, "method": "exact"}, "total_budget must be at least 6,291,456"),
        ({"seconds": 0}, "seconds must be a positive number"),
    ],
)
def test_what_cannot_be_is_told(settings, message):
    with pytest.raises(InputError) as error:
        explained(**settings)
    assert message in str(error.value)


def test_seconds_are_for_the_whole_call_and_shared_fairly():
    model = Counting(seconds=1e-4)
    began = time.monotonic()
    answer = explained(model=model, seconds=1.0)
    assert time.monotonic() - began < 4  # a block may be under way; and machines are busy
    assert all(why.startswith("1 seconds for all rows: ") for why in answer.stopped_by)
    assert answer.evaluations.max() <= 2.1 * answer.evaluations.min()
    assert model.rows == answer.model_rows.sum()


def test_every_row_has_an_estimate_however_short_the_time():
    answer = explained(seconds=1e-6)
    assert (answer.evaluations > 2).all()
    assert np.abs(answer.values).sum(axis=1).min() > 0


def test_time_takes_no_exact_values_that_it_has_not():
    rows, model = ROWS[:, :10], Counting(seconds=1e-3)
    explainer = owenshap.Explainer(
        lambda batch: model(np.pad(batch, ((0, 0), (0, 10)))), baseline=0.0
    )
    answer = explainer(rows, seconds=0.5)  # all coalitions would take 6 seconds
    assert answer.method == "halved-owen"
    assert answer.evaluations.max() < 1024
    assert explainer(rows[:1], seconds=100.0).method == "exact"


def test_a_tolerance_may_come_before_the_time():
    answer = explained(seconds=300.0, tolerance=0.2, method="halved-owen")
    assert all(why.startswith("tolerance of 0.2") for why in answer.stopped_by)


@pytest.mark.parametrize("settings", [{"seconds": 300.0}, {"total_budget": 10**6}], ids=str)
def test_an_interrupt_keeps_what_rows_have_come_to(settings):
    class Stopped(Counting):
        def __call__(self, batch):
            if self.rows > 20_000:
                raise KeyboardInterrupt
            return super().__call__(batch)

    with pytest.raises(KeyboardInterrupt) as caught:
        explained(model=Stopped(), method="castro", tolerance=1e-9, **settings)
    kept = caught.value.explanation
    assert "6 of 6 rows are explained" in caught.value.__notes__[0]
    assert all(why.startswith("an interrupt: ") for why in kept.stopped_by)
    assert kept.evaluations.sum() <= 21_000
    assert (kept.lower < kept.upper).all()
