"""One cell, in a process of its own: `python -m benchmarks.default.measure JOB --rows … --turns …`.

Both contenders make the whole call, from a model to values, in turn. Seconds are the processor's:
other work on the machine makes a contender wait, and waiting is not counted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import owenshap
from benchmarks.default.cases import CASES, OUT, Case

SOME = 10  # rows that tell how many fit the limit, where many are asked for
CHOOSING = 100  # the seed of calls that choose a setting: those that judge it have others
GIVEN_UP = 3  # a call is ended after so many limits
LOOKS = 20  # at a call before it is ended
TIGHTER = ("0.3%", "0.1%", "0.03%", "0.01%")
LOOSER = ("3%", "10%", "30%")
EVALUATIONS = (0.5, 1, 2)  # of what shap's default makes for a row
THEIRS = 500  # which are so many, or one permutation there and back
EXACT = 1e-10  # squared relative errors below are rounding, of float32 at that
READ_OFF = ("trees", "linear closed form", "kernel closed form")
ROUNDING = 1e-6  # of the range: truths and models are known to that
SHORT = 300  # characters of a message that is kept


class TooLongError(Exception):
    """A call was ended."""


@dataclass
class Times:
    """Seconds of one contender, turn by turn."""

    seconds: list[float] = field(default_factory=list)
    clock: list[float] = field(default_factory=list)
    failed: str | None = None
    """Why there is no result."""
    results: list[Any] = field(default_factory=list)

    @property
    def result(self) -> Any:
        """The last one."""
        return self.results[-1] if self.results else None

    @property
    def median(self) -> float:
        return float(np.median(self.seconds)) if self.seconds else float("nan")


@dataclass
class Contender:
    """Whole calls of one library."""

    call: Callable[[np.ndarray, int], Any]
    """Of rows and of a seed."""
    limit: float
    first: dict[str, Any] | None = None
    """The first call of the process: its seconds and method."""
    failed: str | None = None
    """Why its first call has no result."""

    def turn(self, rows: np.ndarray, times: Times, seed: int) -> None:
        """One call more, where those before did not fail and took no more than the limit."""
        if times.failed or sum(times.seconds) > self.limit:
            return
        began, clock = time.process_time(), time.perf_counter()
        try:
            with ended_after(GIVEN_UP * self.limit), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                times.results.append(self.call(rows, seed))
        except TooLongError:
            times.failed = f"ended after {GIVEN_UP * self.limit:.0f} s"
        except Exception as error:  # told in the table
            times.failed = f"{type(error).__name__}: {error}"[:SHORT]
        else:
            times.seconds.append(time.process_time() - began)
            times.clock.append(time.perf_counter() - clock)

    def fitting(self, rows: np.ndarray) -> int:
        """How many of the rows take no more than the limit, by one call or two with fewer."""
        assert self.first is not None
        one = self.first["seconds"]
        few = min(SOME, len(rows))
        if few == 1 or self.failed:
            return len(rows)
        times = Times()
        self.turn(rows[:1], times, seed=CHOOSING)  # without imports and compilation
        one = min([one, *times.seconds])
        known, took = 1, one
        if few * one <= self.limit:
            times = Times()
            self.turn(rows[:few], times, seed=CHOOSING)
            known, took = (few, times.seconds[0]) if times.seconds else (1, one)
        a_row = max((took - one) / (known - 1), took / known / 2) if known > 1 else one
        return int(np.clip(known + (self.limit - took) / max(a_row, 1e-9), known, len(rows)))


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """A call that takes more of the processor is ended, between two steps of Python.

    Looked at now and then by the clock: a timer of the processor would make its seconds coarse.
    """
    began = time.process_time()

    def look(*_: object) -> None:
        if time.process_time() - began > seconds:
            raise TooLongError

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, seconds / LOOKS, seconds / LOOKS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def ours(case: Case, **settings: Any) -> Callable[[np.ndarray, int], Any]:
    extra = {} if case.players is None else {"players": case.players}

    def call(rows: np.ndarray, seed: int) -> Any:
        explainer = owenshap.Explainer(case.model, case.background, **extra)
        return explainer(rows, seed=seed, **settings)

    return call


def shap(case: Case) -> Callable[[np.ndarray, int], Any]:
    import shap as peer

    model = case.question if case.peer is None else case.peer
    masker = case.background if case.masker is None else case.masker

    def call(rows: np.ndarray, seed: int) -> Any:
        np.random.seed(seed)  # noqa: NPY002 — shap draws from it
        return peer.Explainer(model, masker)(rows, **case.peer_call)

    return call


@dataclass
class Judge:
    """What is known of a case: the true values of its first rows."""

    values: np.ndarray
    noise: np.ndarray
    """Standard errors of the true values."""
    range: np.ndarray
    """(rows, outputs): the largest of a row's own difference and of the background's range."""
    difference: np.ndarray
    """v(N) − v(∅), (rows, outputs)."""

    @classmethod
    def of(cls, name: str, case: Case) -> Judge:
        rows = case.rows[: min(case.judged, case.most_rows)]
        values, noise = _cached(name, case.question, lambda: case.truth(case, rows), case, rows)
        predicted = _outputs(case.question(rows), values.shape[-1])
        absent = _outputs(case.question(case.background), values.shape[-1])
        difference = predicted - absent.mean(axis=0)
        spread = absent.max(axis=0) - absent.min(axis=0)
        return cls(values, noise, np.maximum(np.abs(difference), spread), difference)

    def error(self, values: np.ndarray) -> float:
        """Squared, over the squares of the true values; what the truth's own noise adds is off."""
        found = self._alike(values)
        true = self.values[: len(found)]
        noise = (self.noise[: len(found)] ** 2).sum()
        return float(max(((found - true) ** 2).sum() - noise, 0) / (true**2).sum())

    def mean_error(self, times: Times) -> float:
        """Over all turns."""
        return float(np.mean([self.error(each.values) for each in times.results]))

    def noise_share(self, rows: int) -> float:
        return float((self.noise[:rows] ** 2).sum() / (self.values[:rows] ** 2).sum())

    def gap(self, values: np.ndarray) -> float:
        """The most that a sum misses its prediction by, of the range."""
        found = self._alike(values)
        off = np.abs(found.sum(axis=1) - self.difference[: len(found)])
        return float((off / self.range[: len(found)]).max())

    def intervals(self, explanation: Any) -> dict[str, float | None]:
        bounds = explanation.lower, explanation.upper
        if any(each is None for each in bounds):
            return {"finite": 0.0, "coverage": None, "half_width": None}
        lower, upper = (self._alike(each) for each in bounds)
        finite = np.isfinite(lower) & np.isfinite(upper)
        found = {"finite": float(finite.mean()), "coverage": None, "half_width": None}
        if not finite.any():
            return found
        true = self.values[: len(lower)]
        within = self.range[: len(lower), None]
        slack = ROUNDING * within + 2 * self.noise[: len(lower)]
        held = (lower - slack <= true) & (true <= upper + slack)
        widths = ((upper - lower) / 2 / within)[finite]
        return {
            "finite": float(finite.mean()),
            "coverage": float(held[finite].mean()),
            "half_width": float(widths.mean()),
        }

    def _alike(self, values: np.ndarray) -> np.ndarray:
        """As the truth: its rows, (rows, players, outputs), the last of two classes where one does."""
        wide = np.asarray(values, float)
        wide = wide if wide.ndim == 3 else wide[..., None]
        outputs = self.values.shape[-1]
        if wide.shape[-1] == 1 and outputs == 2:
            wide = np.concatenate([-wide, wide], axis=-1)
        return wide[: len(self.values), :, -outputs:]


def _outputs(predicted: np.ndarray, outputs: int) -> np.ndarray:
    wide = np.asarray(predicted, float).reshape(len(predicted), -1)
    return wide[:, -outputs:]


def _cached(
    name: str,
    question: Callable[[np.ndarray], np.ndarray],
    compute: Callable[[], tuple[np.ndarray, np.ndarray]],
    case: Case,
    rows: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Kept in out/, under what the model says of these rows and of the background."""
    said = [np.asarray(question(each)).astype(np.float32) for each in (rows, case.background)]
    told = b"".join(np.asarray(each).tobytes() for each in (rows, case.background, *said))
    path = OUT / f"{name}-{hashlib.sha256(told).hexdigest()[:12]}.npz"
    if not path.exists():
        values, noise = compute()
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, values=values, noise=noise)
    kept = np.load(path)
    return kept["values"], kept["noise"]


def measure(name: str, count: int, turns: int, limit: float) -> dict[str, Any]:
    """One cell of a job."""
    case = CASES[name]()
    contenders = {"owenshap": Contender(ours(case), limit), "shap": Contender(shap(case), limit)}
    told = _told(contenders, case)  # first of all, as some things are said once a process
    judge = Judge.of(name, case)
    rows = case.rows[:count]
    rows = rows[: min(each.fitting(rows) for each in contenders.values())]
    cell = _race(contenders, rows, turns)
    found = _judged(cell, contenders, judge, rows, case) | {"rows_run": len(rows)}
    return {"cell": found, "warnings": told, "players": int(judge.values.shape[1])}


def _told(contenders: dict[str, Contender], case: Case) -> list[str]:
    """The first call of each, with its imports and compilation; what owenshap says meanwhile."""
    texts: list[str] = []
    for who, contender in contenders.items():
        began = time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = contender.call(case.rows[:1], 0)
            except Exception as error:  # told in the table
                contender.failed = f"{type(error).__name__}: {error}"[:SHORT]
                continue
        if who == "owenshap":
            texts = sorted({str(each.message)[:SHORT] for each in caught})
        method = getattr(result, "method", None)
        contender.first = {"seconds": time.process_time() - began, "method": method}
    return texts


def _race(contenders: dict[str, Contender], rows: np.ndarray, turns: int) -> dict[str, Times]:
    """Each turn times both, another first."""
    cell = {who: Times(failed=each.failed) for who, each in contenders.items()}
    names = list(cell)
    for turn in range(turns):
        for who in names[turn % 2 :] + names[: turn % 2]:
            contenders[who].turn(rows, cell[who], seed=turn)
    return cell


def _judged(
    cell: dict[str, Times],
    contenders: dict[str, Contender],
    judge: Judge,
    rows: np.ndarray,
    case: Case,
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for who, times in cell.items():
        found[who] = {"turns": len(times.seconds)}
        if times.failed or times.result is None:
            found[who]["failed"] = times.failed or "not run"
            continue
        found[who] |= {
            "seconds": times.median,
            "measured": times.seconds,
            "clock": times.clock,
            "first": contenders[who].first,
            "error": judge.mean_error(times),
            "gap": judge.gap(times.result.values),
        }
        if who == "owenshap":
            found[who] |= judge.intervals(times.result) | _words(times.result)
            found[who]["noise"] = judge.noise_share(len(rows))
    found["ratio"] = _ratio(found, judge, rows, case, contenders["owenshap"].limit)
    return found


def _words(explanation: Any) -> dict[str, Any]:
    """What the explanation says of itself."""
    said = {"method": explanation.method, "doubtful": _doubtful(explanation)}
    for name in ("because", "stopped_by"):
        texts = getattr(explanation, name)
        said[name] = None if texts is None else str(np.atleast_1d(texts)[0])[:SHORT]
    said["no_interval"] = getattr(explanation, "no_interval", None)
    said["evaluations"] = float(np.mean(explanation.evaluations))
    return said


def _doubtful(explanation: Any) -> float | None:
    """The share of rows marked so, where this is told: reasons, empty where there is none."""
    if not hasattr(explanation, "doubtful"):
        return None
    if explanation.doubtful is None:
        return 0.0
    return float(np.mean([bool(np.any(each)) for each in np.atleast_1d(explanation.doubtful)]))


def _ratio(
    found: dict[str, Any], judge: Judge, rows: np.ndarray, case: Case, limit: float
) -> dict[str, Any]:
    """Our time to shap's error over shap's time, and the setting that reaches it.

    Where the default is more accurate than shap's, what is looser is tried besides: a wider
    tolerance, or about as many evaluations as shap makes. Where it is less so, tighter tolerances.
    Settings are chosen by a call with a seed of its own, the quickest of the looser or the first of
    the tighter ones, and judged by other calls: one that then misses shap's error gives way to the
    next, at last to the default.
    """
    mine, theirs = found["owenshap"], found["shap"]
    if "failed" in theirs:
        return {"value": None, "why": "shap has no result"}
    wanted = max(theirs["error"], EXACT)
    reaches = "failed" not in mine and mine["error"] <= wanted
    default = {"value": mine.get("seconds", np.nan) / theirs["seconds"], "with": "default"}
    if reaches and mine["method"] in READ_OFF:
        return default  # nothing is sampled that could be fewer

    def timed(setting: dict[str, Any], seeds: Iterable[int]) -> float | None:
        """Seconds of calls with a setting, where these reach the error."""
        times = _tried(case, setting, rows, seeds, limit)
        return times.median if not times.failed and judge.mean_error(times) <= wanted else None

    chosen = []
    for number, setting in enumerate(_looser(judge) if reaches else _tighter()):
        seconds = timed(setting, [CHOOSING])
        if seconds is not None and not (reaches and seconds >= mine["seconds"]):
            chosen.append((seconds if reaches else number, number, setting))
    for *_, setting in sorted(chosen):
        seconds = timed(setting, range(max(1, theirs["turns"])))
        if seconds is not None:
            told = ", ".join(f"{name}={value}" for name, value in setting.items())
            judged = {"value": seconds / theirs["seconds"], "with": told}
            return min(judged, default, key=lambda each: each["value"]) if reaches else judged
    return default if reaches else {"value": None, "why": f"not with {TIGHTER[-1]}"}


def _tighter() -> Iterator[dict[str, Any]]:
    """Settings with which a call is more accurate than the default."""
    return ({"tolerance": each} for each in TIGHTER)


def _looser(judge: Judge) -> Iterator[dict[str, Any]]:
    """Settings with which a call takes less than the default does."""
    yield from ({"tolerance": each} for each in LOOSER)
    theirs = max(THEIRS, 2 * judge.values.shape[1] + 1)
    yield from ({"budget": round(share * theirs)} for share in EVALUATIONS)


def _tried(
    case: Case, setting: dict[str, Any], rows: np.ndarray, seeds: Iterable[int], limit: float
) -> Times:
    """Calls with a setting of our own."""
    contender, times = Contender(ours(case, **setting), limit), Times()
    for seed in seeds:
        contender.turn(rows, times, seed)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.default.measure")
    parser.add_argument("job", choices=CASES)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--turns", type=int, required=True)
    parser.add_argument("--limit", type=float, required=True)
    asked = parser.parse_args()
    with threadpool_limits(1):
        found = measure(asked.job, asked.rows, asked.turns, asked.limit)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
