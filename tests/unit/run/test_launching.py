"""Values that are on their way while the next ones are prepared: with stand-ins for a device, which
write down what they do.
"""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pytest

from owenshap import Explainer, GameError, estimate, estimating
from owenshap.errors import ModelError
from owenshap.estimators.castro import Castro
from owenshap.estimators.halved_owen import HalvedOwen
from owenshap.models import Model
from owenshap.support.executors import one_ahead
from owenshap.tables import tensor

RNG = np.random.default_rng(5)
FEATURES = 8
ROWS, BACKGROUND = RNG.normal(size=(3, FEATURES)), RNG.normal(size=(7, FEATURES))
WEIGHTS = RNG.normal(size=(FEATURES, 2))


def smooth(batch):
    return np.tanh(batch @ WEIGHTS) + (batch[:, :1] * batch[:, 1:2])


@dataclass
class Launched(Model):
    """A function as a model on a device: what is begun is there when it is awaited."""

    function: object = smooth
    launches: bool = True
    batch_elements: int = 1 << 21
    most_rows: int = 1 << 21
    log: list = field(default_factory=list)

    packages = ()

    @classmethod
    def of(cls, model, predict):
        return cls(model)

    def predict(self, batch):
        return self.function(batch)

    def begin(self, batch):
        if not self.launches:
            return super().begin(batch)
        number = sum(word == "begin" for word, _ in self.log)
        self.log.append(("begin", number))
        return partial(self._finish, self.function(batch), number)

    def _finish(self, predictions, number):
        self.log.append(("finish", number))
        return predictions


def both(call, **settings):
    """What a call returns for the same model, one that launches and one that does not; and what the
    first one did.
    """
    there = Launched(**settings)
    return call(there), call(replace(there, launches=False)), there.log


def open_batches(log):
    """Batches begun and not finished, after every step."""
    return np.cumsum([1 if word == "begin" else -1 for word, _ in log])


CASES = {
    "stars": {"method": "halved-owen", "budget": 30_000},
    "chains": {"method": Castro(), "budget": 30_000},
    "subsets": {"method": "exact"},
    "surrogate": {"method": "linear", "budget": 3000},
    "until": {"method": "halved-owen", "tolerance": 0.05},
    "drawn": {"method": "castro", "budget": 20_000, "background_draws": 2},
    "spread": {"method": "owen", "budget": 20_000, "efficient": True},
}
ABSENT = {
    "row": {"baseline": 0.0},
    "rows": {"baseline": BACKGROUND[:3]},
    "background": {"background": BACKGROUND},
    "weights": {"background": BACKGROUND, "background_weights": np.arange(1.0, 8)},
}


@pytest.mark.parametrize(
    "batch_elements", [1 << 21, 1000 * FEATURES, 5 * FEATURES], ids=["one batch", "some", "slices"]
)
@pytest.mark.parametrize("absent", ABSENT.values(), ids=ABSENT)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_launching_changes_no_bit(case, absent, batch_elements):
    if "background_draws" in case and "background" not in absent:
        pytest.skip("nothing to draw from")
    if batch_elements == 5 * FEATURES:
        case = case | {"budget": 300}
    found, plain, log = both(
        lambda model: Explainer(model, **absent)(ROWS, **case), batch_elements=batch_elements
    )
    for name in ("values", "standard_errors", "evaluations", "model_rows", "stopped_by"):
        np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))
    finished = [number for word, number in log if word == "finish"]
    assert finished == sorted(finished)
    assert len(finished) == len(log) / 2
    assert open_batches(log).max() <= 2 + (batch_elements != 1 << 21)


def test_the_next_batch_is_on_its_way_before_the_last_is_awaited():
    model = Launched()
    Explainer(model, baseline=0.0)(ROWS[:1], method="halved-owen", budget=60_000)
    assert open_batches(model.log).tolist()[2:-1] == [1] + [2, 1] * (len(model.log) // 2 - 2)
    assert len(model.log) > 2 * 6


def test_batches_of_one_call_are_launched_ahead_too():
    model = Launched(batch_elements=500 * FEATURES)
    Explainer(model, BACKGROUND)(ROWS[:1], method="halved-owen", budget=3000)
    assert (open_batches(model.log) == 2).sum() > len(model.log) / 2 - 10


def failing(at, error=None):
    """A function that fails, or returns a nan, at a call: the first is for the row itself, the
    second for the ends.
    """
    calls = []

    def function(batch):
        calls.append(len(batch))
        if len(calls) - 1 != at:
            return smooth(batch)
        if error is None:
            return np.where(np.arange(len(batch))[:, None] == 5, np.nan, smooth(batch))
        raise error

    return function


@pytest.mark.parametrize("at", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "error", [None, ZeroDivisionError("no such row")], ids=["not finite", "raises"]
)
def test_an_error_in_the_middle_is_told_in_the_same_words(at, error):
    told = []
    for launches in (True, False):
        model = Launched(failing(at, error), launches)
        with pytest.raises(ModelError) as caught:
            Explainer(model, baseline=0.0)(ROWS[:1], method="halved-owen", budget=60_000)
        told.append(
            (
                str(caught.value),
                caught.value.estimate.evaluations if caught.value.estimate else None,
            )
        )
    assert told[0] == told[1]
    assert (told[0][1] or 0) >= 800 * (at > 2)


@dataclass
class LaunchedGame:
    """A game of its own kind that launches, and may fail in either step."""

    n_players: int = 6
    launches: bool = True
    fails_to_begin: int = -1
    fails_to_finish: int = -1
    error: object = ZeroDivisionError
    finished: int = 0
    begun: int = 0

    def values(self, coalitions):
        self.begun += 1
        if self.begun in (self.fails_to_begin, self.fails_to_finish):
            raise self.error(f"call {self.begun}")
        return coalitions @ np.arange(1.0, 7) + coalitions[:, 0] * coalitions[:, 1]

    def begin(self, coalitions, background):
        assert background is None
        self.begun += 1
        if self.begun == self.fails_to_begin:
            raise self.error(f"call {self.begun}")
        return partial(self._finish, coalitions, self.begun)

    def _finish(self, coalitions, number):
        if number == self.fails_to_finish:
            raise self.error(f"call {number}")
        self.finished += 1
        return coalitions @ np.arange(1.0, 7) + coalitions[:, 0] * coalitions[:, 1]


@pytest.mark.parametrize("which", ["fails_to_begin", "fails_to_finish"])
@pytest.mark.parametrize("call", [2, 3, 6])
def test_what_was_finished_before_an_error_is_kept(which, call):
    kept = []
    for launches in (True, False):
        game = LaunchedGame(launches=launches, **{which: call})
        with pytest.raises(
            GameError, match=rf"ZeroDivisionError\(call {call}\) on \d+ coalitions, the first"
        ) as caught:
            estimate(game, "castro", budget=60_000)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        kept.append((str(caught.value), caught.value.estimate))
    assert kept[0][0] == kept[1][0]
    if call == 2:
        assert kept[0][1] is kept[1][1] is None
    else:
        assert kept[0][1].evaluations == kept[1][1].evaluations
        np.testing.assert_array_equal(kept[0][1].values, kept[1][1].values)


def test_the_earlier_of_two_errors_is_told():
    game = LaunchedGame(fails_to_finish=4, fails_to_begin=5)
    with pytest.raises(GameError, match="call 4") as caught:
        estimate(game, "castro", budget=60_000)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.__cause__.__context__ is None


@pytest.mark.parametrize("which", ["fails_to_begin", "fails_to_finish"])
def test_an_interrupt_is_obeyed_at_once(which):
    game = LaunchedGame(**{which: 5}, error=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        estimate(game, "castro", budget=60_000)
    # the ends were asked for in the plain way
    assert game.finished == (2 if which == "fails_to_begin" else 3)


def test_a_run_that_is_left_begins_no_more():
    game = LaunchedGame()
    snapshots = estimating(game, "castro", budget=60_000)
    next(snapshots)
    snapshots.close()
    assert game.begun == 1 + 2


def test_a_game_without_inner_coalitions_has_values():
    game = LaunchedGame(n_players=1)
    game.values = lambda coalitions: coalitions[:, 0] * 2.0
    assert estimate(game, "exact").values.tolist() == [2.0]


def test_in_order_and_one_ahead():
    log = []

    def begun(count):
        for number in range(count):
            log.append(f"begin {number}")
            yield lambda number=number: log.append(f"finish {number}") or number

    assert list(one_ahead(begun(3))) == [0, 1, 2]
    assert log == ["begin 0", "begin 1", "finish 0", "begin 2", "finish 1", "finish 2"]
    assert list(one_ahead(begun(0))) == []
    assert list(one_ahead(begun(1))) == [0]


# --- torch, with a stand-in for its device


class StandIn:
    """What `_copying` uses of torch, on the host; the copy is not there before it is awaited."""

    def __init__(self, torch, pins):
        self.torch, self.pins, self.log = torch, pins, []
        self.cuda, self.Tensor = self, torch.Tensor

    def empty(self, shape, dtype, pin_memory=False):
        if pin_memory and not self.pins:
            raise RuntimeError("out of memory")
        return self.torch.empty(shape, dtype=dtype)

    def current_stream(self, device):
        self.log.append(f"stream of {device}")
        return "stream"

    def Event(self):  # noqa: N802 (torch's name)
        return self

    def record(self, stream):
        self.log.append(f"record on {stream}")

    def synchronize(self):
        self.log.append("wait")


@pytest.mark.parametrize("pins", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "int64", "bool"])
def test_a_copy_from_the_device_is_begun_and_awaited(monkeypatch, pins, dtype):
    torch = pytest.importorskip("torch")
    stand_in = StandIn(torch, pins)
    monkeypatch.setattr(tensor, "_torch", lambda: stand_in)
    with torch.inference_mode():
        # not contiguous, and made where modules run
        raw = torch.arange(12).reshape(4, 3).T.to(getattr(torch, dtype))
    wait = tensor._copying(raw)
    assert stand_in.log == ["stream of cpu", "record on stream"]
    np.testing.assert_array_equal(wait(), raw.numpy(), strict=True)
    assert stand_in.log[2:] == ["wait"]


@pytest.mark.parametrize(
    ("size", "left", "waits"), [(10, True, False), (10, False, True), (1 << 20, True, True)]
)
def test_bits_are_sent_from_pinned_memory_where_there_is_some(monkeypatch, size, left, waits):
    torch = pytest.importorskip("torch")
    sent = []

    class Sent(torch.Tensor):
        def to(self, device, non_blocking=False):
            sent.append((device, non_blocking))
            return self

    class Pinning(StandIn):
        device = torch.device

        def empty(self, shape, dtype, pin_memory):
            return super().empty(shape, dtype, pin_memory).as_subclass(Sent)

    monkeypatch.setattr(tensor, "_torch", lambda: Pinning(torch, left))
    given = torch.arange(size, dtype=torch.float64).as_subclass(Sent)
    assert torch.equal(tensor.sent(given, "cuda:1"), given)
    assert sent == [("cuda:1", not waits)]
    assert tensor.sent(given, "cpu") is given


def test_a_module_on_the_host_launches_nothing_and_may_be_begun():
    torch = pytest.importorskip("torch")
    from owenshap.models.torch_module import TorchModel

    model = TorchModel.of(torch.nn.Linear(3, 2), None)
    batch = torch.ones(4, 3)
    assert not model.launches
    np.testing.assert_array_equal(model.begin(batch)(), model.predict(batch), strict=True)


@pytest.mark.device
@pytest.mark.parametrize("linear", [False, True])
def test_a_device_gives_the_same_values_ahead_and_one_by_one(linear):
    torch = pytest.importorskip("torch")
    from owenshap.models import as_model

    torch.manual_seed(0)
    layers = [torch.nn.Linear(FEATURES, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)]
    model = as_model(torch.nn.Sequential(*layers).double().cuda())
    assert model.launches
    for absent in ABSENT.values():
        found, plain = (
            Explainer(each, fast=linear, **absent)(ROWS, method=HalvedOwen(levels=4000)).values
            for each in (model, replace(model, launches=False))
        )
        np.testing.assert_array_equal(found, plain)
