"""What a prediction takes, and what 'auto' makes of it."""

import numpy as np
import pytest

import owenshap
from owenshap.explain import timing
from owenshap.explain.timing import RowTime, TimeTrial
from owenshap.run.cost import Cost, duration, quickest
from owenshap.run.plan import BY_CORRECTED, BY_STARS, make_plan
from owenshap.statistics.goal import USUAL, Until
from owenshap.surrogates.gaussian_process.settings import fit_seconds

ROWS = np.random.default_rng(5).normal(size=(3, 16))
WEIGHTS = np.linspace(-1, 2, 16)
LARGEST = 1 << 16  # rows of a batch


class Timed:
    """A model on a clock of its own: a call takes so long, and each of its rows."""

    def __init__(self, monkeypatch, row, call=0.0):
        self.row, self.call, self.now, self.rows = row, call, 0.0, 0
        self.batches = []
        monkeypatch.setattr(timing, "clock", lambda: self.now)
        monkeypatch.setattr(timing, "processor_clock", lambda: self.now)

    def __call__(self, batch):
        self.now += self.call + self.row * len(batch)
        self.rows += len(batch)
        self.batches.append(len(batch))
        return np.tanh((batch * WEIGHTS).sum(axis=1) / 4)


@pytest.mark.parametrize(
    ("row", "call", "budget", "expected"),
    [
        (0.3e-6, 0.0, None, "halved-owen"),
        (0.3e-6, 5e-3, None, "halved-owen"),  # a long call is no long evaluation
        (10e-3, 0.0, 400, "gaussian-process"),
        (10e-3, 0.0, 100, "gaussian-process"),
        (1.0, 0.0, 100, "gaussian-process"),
    ],
)
def test_auto_weighs_what_a_prediction_takes(monkeypatch, row, call, budget, expected):
    model = Timed(monkeypatch, row, call)
    found = owenshap.Explainer(model, baseline=0.0)(ROWS[:1], budget=budget)
    assert found.method == expected
    why = f"2^16 coalitions do not fit the budget of {budget}"
    if budget is None:
        why = "16 players are too many for all coalitions"
    assert found.because[0].startswith(f"{expected}: {why}")
    assert model.rows == found.model_rows.sum()
    by_name = owenshap.Explainer(model, baseline=0.0)(ROWS[:1], budget=budget, method=found.method)
    np.testing.assert_array_equal(by_name.values, found.values)


def test_a_background_makes_evaluations_longer(monkeypatch):
    model = Timed(monkeypatch, 20e-6)
    background = np.random.default_rng(6).normal(size=(50, 16))
    assert owenshap.Explainer(model, baseline=0.0)(ROWS[:1], budget=300).method == "halved-owen"
    assert owenshap.Explainer(model, background)(ROWS[:1], budget=300).method == "gaussian-process"


def test_a_tolerance_weighs_it_too(monkeypatch):
    for row, expected in ((1e-7, "halved-owen"), (10e-3, "gaussian-process")):
        found = owenshap.Explainer(Timed(monkeypatch, row), baseline=0.0)(ROWS[:1], tolerance=0.05)
        assert found.method == expected


def test_each_row_learns_alone(monkeypatch):
    together = owenshap.Explainer(Timed(monkeypatch, 10e-3), baseline=0.0)(ROWS, budget=200)
    alone = owenshap.Explainer(Timed(monkeypatch, 10e-3), baseline=0.0)(ROWS[1:2], budget=200)
    assert together.method == alone.method == "gaussian-process"
    np.testing.assert_array_equal(together.values[1], alone.values[0])


def test_an_explainer_keeps_what_it_found(monkeypatch):
    model = Timed(monkeypatch, 10e-3)
    explainer = owenshap.Explainer(model, baseline=0.0)
    first, model.row = explainer(ROWS[:1], budget=100), 1e-9
    assert explainer(ROWS[:1], budget=100).method == first.method == "gaussian-process"


def test_rows_of_another_number_of_players_say_their_own_reason():
    rows = ROWS.copy()
    rows[1, :10], rows[2] = 0, 0
    found = owenshap.Explainer(lambda batch: np.tanh(batch @ WEIGHTS), baseline=0.0)(rows)
    assert found.method == "exact and halved-owen"
    assert found.because[1] == "exact: all 2^6 coalitions are few enough"
    assert found.because[2] == "nothing to do: no player differs from what stands in for it"
    assert found[1].because == found.because[1]


WAYS = {"exact": (4096.0, 0.0), "stars": (9600.0, 0.0), "fit": (300.0, 0.5)}


@pytest.mark.parametrize(
    ("counted", "seconds", "way"),
    [
        (1e-3, 1e-3, "fit"),
        (1e-6, 1e-6, "exact"),
        (1e-3, 3e-5, "fit"),  # exact values in 0.12 s, a fit in 0.51
        (1e-3, 1e-5, "exact"),  # in 0.04 s, a twelfth
        (1e-6, 1e-3, "exact"),  # 4.1 s, a fit 0.8
        (1e-6, 1e-1, "fit"),  # 410 s, a fit 30
    ],
)
def test_a_clock_overrules_what_is_counted_only_where_it_is_sure(counted, seconds, way):
    assert quickest(WAYS, Cost(seconds, 1, counted)) == way


def test_of_a_usual_way_too():
    assert quickest(WAYS, Cost(1e-3, 1, 1e-3), usual="stars") == "fit"
    assert quickest(WAYS, Cost(1e-4, 1, 1e-3), usual="stars") == "stars"


def test_dear_evaluations_decide_alone():
    ways = {"growing": (360.0, 0.5), "corrected": (750.0, 0.1)}
    assert quickest(ways, Cost(1e-2, 1, 1e-4)) == "corrected"  # 3.6 + 0.5 s, and 7.6 s
    assert quickest(ways, Cost(2e-2, 1, 1e-4)) == "growing"  # 7.2 s, more than 10 × its fits
    assert quickest(ways, Cost(2e-2, 1, 1e-4), usual="corrected") == "corrected"


def test_a_reason_names_the_time_that_the_choice_was_made_by():
    slow = Cost(3e-4, 1, 3e-4)
    assert quickest(WAYS, slow) == "fit"
    assert slow.told(WAYS, "fit") == "an evaluation takes about 0.3 ms"
    # by the clock stars are sooner, but not by so much that no busy machine could turn it round
    quick = Cost(4e-5, 1, 3e-4)
    assert quickest(WAYS, quick) == "fit"
    assert quick.told(WAYS, "fit") == "an evaluation of this kind usually takes about 0.3 ms"


def test_rows_are_told_from_calls(monkeypatch):
    """A call of 1 ms and rows of 0.5 µs, as naive Bayes takes for a data frame."""
    model = Timed(monkeypatch, 5e-7, 1e-3)
    trial = TimeTrial(RowTime(), 3, lambda which: model(ROWS[which]), True, LARGEST)
    assert 5e-7 < trial.seconds(lambda _: True, 36_000) < 10e-7
    assert trial.predicted.sum() == model.rows < 36_000 / 6


def test_a_batch_hardly_larger_than_the_call_does_not_tell(monkeypatch):
    """Ten rows in 0.2 ms and sixteen in 0.2 ms: nearly all of it is the call's own time."""
    model = Timed(monkeypatch, 4e-7, 2e-4)
    trial = TimeTrial(
        RowTime(2e-5), 10, lambda which: model(ROWS[which % len(ROWS)]), True, LARGEST
    )
    assert trial.seconds(lambda _: True, 80_000) < 1e-6


def test_a_batch_that_was_kept_waiting_does_not_tell(monkeypatch):
    model = Timed(monkeypatch, 1e-6, 2e-4)
    late = []

    def predict(which):
        model.now += 0.05 if late and late.pop() else 0.0
        return model(ROWS[which])

    for each in ([True], [True, False], [True, True, False]):  # the first or second batch, or both
        late[:] = each
        trial = TimeTrial(RowTime(2e-4), 3, predict, True, LARGEST)
        assert trial.seconds(lambda _: True, 36_000) < 3e-6


@pytest.mark.parametrize("waits", [[20e-3, 20e-3, 45e-3], [20e-3, 20e-3, 0.0, 45e-3]])
def test_batches_that_only_waited_do_not_tell(monkeypatch, waits):
    """A busy machine kept the first calls waiting, one of 1 row and then batches: what they took by
    the clock is a hundred times what they computed.
    """
    model = Timed(monkeypatch, 1e-6, 1e-4)
    waited, calls = [0.0], []
    monkeypatch.setattr(timing, "clock", lambda: model.now + waited[0])

    def predict(which):
        waited[0] += waits[len(calls)] if len(calls) < len(waits) else 0.0
        calls.append(len(which))
        return model(ROWS[which])

    known = RowTime()
    trial = TimeTrial(known, 3, predict, True, LARGEST)
    known.note(1, timing.timed(predict, np.arange(1))[1])
    assert known.seconds == pytest.approx(0.02, rel=0.01)
    assert trial.seconds(lambda _: True, 36_000) < 3e-6
    assert sum(calls) < 36_000 / 6


def test_a_few_slow_first_calls_are_not_what_rows_take(monkeypatch):
    """Threads of a library that begin anew: 0.08 s for each of the first two calls."""
    model = Timed(monkeypatch, 1e-6)
    late = [True, True]

    def predict(which):
        model.now += 0.08 if late and late.pop() else 0.0
        return model(ROWS[which])

    assert TimeTrial(RowTime(), 3, predict, True, LARGEST).seconds(lambda _: True, 0) < 3e-6


def test_a_slow_row_is_timed_once(monkeypatch):
    calls = []
    model = Timed(monkeypatch, 0.3)

    def predict(which):
        calls.append(len(which))
        return model(ROWS[which])

    seconds = TimeTrial(RowTime(), 3, predict, True, LARGEST).seconds(lambda _: True, 0)
    assert seconds == pytest.approx(0.3, rel=0.1)
    assert calls == [1]


def test_a_model_elsewhere_is_not_asked_oftener(monkeypatch):
    model = Timed(monkeypatch, 1e-6)
    waited, calls = [0.0], []
    monkeypatch.setattr(timing, "clock", lambda: model.now + waited[0])

    def predict(which):
        waited[0] += 0.02 + 1e-3 * len(which)
        calls.append(len(which))
        return model(ROWS[which])

    seconds = TimeTrial(RowTime(), 3, predict, True, LARGEST).seconds(lambda _: True, 36_000)
    assert 1e-3 < seconds < 2e-3
    assert calls == [16, 16, 64]


def test_computing_counts_and_waiting_only_where_it_is_by_far_the_most(monkeypatch):
    for computing, elapsed, seconds in ((1.0, 5.0, 1.0), (0.01, 5.0, 5.0), (4.0, 2.0, 2.0)):
        times = {"clock": [0.0, elapsed], "processor_clock": [0.0, computing]}
        for name, each in times.items():
            monkeypatch.setattr(timing, name, iter(each).__next__)
        result, time = timing.timed(len, "abc")
        assert (result, time.took) == (3, seconds)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3.7e-4, "0.4 ms"), (4.2e-5, "40 µs"), (0.2, "0.2 s"), (0.033, "30 ms"), (96.0, "100 s")],
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


def test_no_reason_speaks_of_a_budget_that_nobody_gave():
    for n_players in (6, 12, 30, 400):
        for seconds in (0.0, 1e-6, 1e-3, 1.0):
            for until in (USUAL, Until("2%"), Until(0.1), Until(seconds=3.0), Until(top=2)):
                for memory in (256e6, 17e6):
                    cost = Cost(seconds, 1)
                    plan = make_plan(n_players, "auto", None, cost, until, memory)
                    assert "budget" not in plan.because


def test_what_was_not_found_out_is_a_bound_in_words(monkeypatch):
    cheap = owenshap.Explainer(Timed(monkeypatch, 1e-6), baseline=0.0)(ROWS[:1]).because[0]
    assert "an evaluation takes at most 1 µs" in cheap
    dear = owenshap.Explainer(Timed(monkeypatch, 1e-2), baseline=0.0)(ROWS[:1]).because[0]
    assert "an evaluation takes about 10 ms" in dear


def test_a_trial_is_no_longer_than_it_must_be(monkeypatch):
    known, asked = RowTime(), []
    trial = TimeTrial(known, 3, asked.append, True, LARGEST)
    known.note(3, timing.Timing(3.0, 3.0))
    assert trial.seconds(lambda seconds: seconds > 2, 10**6) == 1.0  # it does not matter
    assert not asked
    trial.seconds(lambda seconds: seconds > 1e-12, 10**6)
    assert list(map(len, asked))[:1] == [16]
    assert known.final
    # so little is ahead that a batch takes longer
    known = RowTime(1.0)
    asked.clear()
    model = Timed(monkeypatch, 1.0)
    predict = lambda which: (asked.append(which), model(ROWS[which]))  # noqa: E731
    trial = TimeTrial(known, 3, predict, True, LARGEST)
    assert trial.seconds(lambda _: True, 100) == 1.0
    assert [*map(len, asked)] == [1]


@pytest.mark.parametrize(
    ("row", "most", "trial"),
    [
        (1e-3, None, [16, 64]),  # 64 rows take more than 10 ms: they tell
        (1e-4, None, [16, 64, 256]),
        (2e-5, None, [16, 64, 256, 1024]),
        (2e-6, None, [16, 64, 256, 1024, 4096]),  # 8 ms, but four times as many are too many
        (2e-6, 100, [16, 64]),  # the model takes no more at once
    ],
)
def test_trial_batches_grow_to_one_of_10_ms_and_no_further(monkeypatch, row, most, trial):
    """They come after the row to explain and before the background's 100 rows."""
    model = Timed(monkeypatch, row)
    background = np.random.default_rng(6).normal(size=(100, 16))
    found = owenshap.Explainer(model, background, batch_rows=most)(ROWS[:1])
    assert model.batches[: len(trial) + 2] == [1, *trial, 100]
    assert model.rows == found.model_rows[0]
    besides = 1 + sum(trial) + 100
    assert found.model_rows[0] == found.evaluations[0] * 100 + besides
    assert sum(trial) < found.model_rows[0] / 2


def test_a_first_call_that_takes_long_for_itself_is_not_what_rows_take(monkeypatch):
    """0.3 s for the first call, as where a library is imported; 1 µs for a row."""
    model = Timed(monkeypatch, 1e-6)
    background = np.random.default_rng(6).normal(size=(100, 16))

    def predict(batch):
        model.now += 0.0 if model.rows else 0.3
        return model(batch)

    found = owenshap.Explainer(predict, background)(ROWS[:1], seconds=5.0, budget=300)
    assert found.evaluations[0] > 200


@pytest.mark.parametrize(("row", "said"), [(5e-3, True), (5e-6, False)])
def test_minutes_ahead_are_told_beforehand(monkeypatch, capsys, row, said):
    background = np.random.default_rng(6).normal(size=(100, 16))
    explainer = owenshap.Explainer(Timed(monkeypatch, row), background)
    explainer(ROWS[:1], progress=True)
    told = "19,200 predictions, about 1:36, are ahead; fewer background rows"
    assert (told in capsys.readouterr().err) == said


def test_a_constant_game_is_settled_at_the_first_look(monkeypatch):
    for row in (1e-7, 1e-5, 1e-2):
        model = Timed(monkeypatch, row)
        explainer = owenshap.Explainer(lambda batch: 0 * model(batch) + 3.0, baseline=0.0)  # noqa: B023
        found = explainer(ROWS[:1])
        assert not found.values.any()
        assert not found.upper.any()
        assert found.evaluations[0] <= 2 + 20 * 4 * 17  # a first look at stars


def test_a_limit_of_time_is_shared_by_the_clock_on_the_wall(monkeypatch):
    """Where others compute too, a second has fewer evaluations than the processor makes in one."""
    rows = np.random.default_rng(6).normal(size=(1, 16))
    model = Timed(monkeypatch, 20e-3)
    explainer = owenshap.Explainer(model, baseline=0.0)
    alone = explainer(rows, seconds=2.0, budget=60)
    assert "share of the time" not in alone.because[0]
    monkeypatch.setattr(timing, "clock", lambda: 6 * model.now)
    for each in (explainer, owenshap.Explainer(model, baseline=0.0)):  # its pace known, or not
        busy = each(rows, seconds=2.0, budget=60)
        assert "a row's share of the time is about 13 evaluations" in busy.because[0]
    elsewhere = Timed(monkeypatch, 20e-3)  # it waits for another machine: that is no load
    monkeypatch.setattr(timing, "processor_clock", lambda: 1e-3 * elsewhere.now)
    waiting = owenshap.Explainer(elsewhere, baseline=0.0)(rows, seconds=2.0, budget=60)
    assert "share of the time" not in waiting.because[0]


@pytest.mark.parametrize("n_players", [14, 20, 30, 60])
@pytest.mark.parametrize("seconds", [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("asked", [{"until": USUAL}, {"budget": 500}], ids=["tolerance", "budget"])
def test_auto_never_fits_for_longer_than_evaluating_would_take(n_players, seconds, asked):
    settings = {"budget": None} | asked
    plan = make_plan(n_players, "auto", cost=Cost(seconds, 1, seconds), **settings)
    by_stars = BY_STARS * (n_players + 1)
    if "budget" in asked:
        by_stars = BY_STARS / BY_CORRECTED * settings["budget"]
    least = fit_seconds(settings["budget"] // 2 if "budget" in asked else 3 * n_players, n_players)
    if by_stars * seconds < least:
        assert not plan.estimator.name.startswith("gaussian")
    if by_stars * seconds > 100 * least:
        assert plan.estimator.name != "halved-owen"
