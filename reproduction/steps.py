"""Steps: each computes one result, keeps it as a small file with the code it was made with, and is
skipped where that file is there already.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from reproduction import probes
from reproduction.pool import processor_seconds

HERE = Path(__file__).resolve().parent
WEIGHTS = HERE / "weights"
LARGE = 100  # numbers: longer arrays go into an npz file beside the json file
PARTS = "parts"  # folder of what a long step has done so far
TRUST = 30.0
"""Seconds of expected work that the pace of the committed results counts for."""
Result = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How much of the paper's protocol is run."""

    rows: int = 50
    repetitions: int = 50
    every: int = 1
    """Of the steps 2, 4, … 200 every so many are taken."""
    table_samples: int = 2000
    truth_samples: int = 5000
    """Permutations behind the ground truth of Fig. 3."""
    near_exact: int = 20_000
    """Stars behind near-exact values of images."""
    more_images: int = 100
    draws: int = 1000
    splits: int = 20
    networks: int = 5
    """Networks, each with a split of its own, that a table's ratios are taken over."""

    @property
    def samples(self) -> list[int]:
        """Equivalent samples of the line plots."""
        return list(range(2 * self.every, 201, 2 * self.every))


FULL = Size()
QUICK = Size(
    rows=10,
    repetitions=5,
    every=10,
    table_samples=2000,
    truth_samples=500,
    near_exact=2000,
    more_images=5,
    draws=20,
    splits=3,
    networks=2,
)
TINY = Size(
    rows=3,
    repetitions=2,
    every=25,
    table_samples=100,
    truth_samples=100,
    near_exact=200,
    more_images=2,
    draws=6,
    splits=2,
    networks=2,
)


@dataclass
class Clock:
    """How far a whole run is: steps done and to come, and the seconds that they are known to
    take.
    """

    expected: dict[str, float]
    """Seconds of every step to come, from the committed results."""
    began: float = field(default_factory=time.perf_counter)
    done: set[str] = field(default_factory=set)

    def without(self, name: str) -> None:
        """Leave out a step that is there already."""
        self.expected.pop(name, None)

    def after(self, name: str) -> str:
        """How much is left once this step is done."""
        self.done.add(name)
        known = sum(self.expected.get(each, 0.0) for each in self.done)
        left = sum(self.expected.values()) - known
        spent = time.perf_counter() - self.began
        if known <= 0 or left <= 0:
            return ""
        # the first steps say little of how much slower or quicker this machine is
        pace = (spent + TRUST) / (known + TRUST)
        done = len(self.done & self.expected.keys())
        return f"; {done} of {len(self.expected)}, about {left * pace / 60:.0f} min left"


class OutOfTimeError(Exception):
    """The time that a run was given is over; what was done is kept."""


@dataclass(frozen=True)
class Run:
    """Where results go, how large they are, and on which device."""

    out: Path
    size: Size = FULL
    device: str = "cpu"
    say: Callable[[str], None] = print
    weights: Path = WEIGHTS
    """Where weights are read from, and fitted into where they are missing."""
    clock: Clock | None = None
    until: float | None = None
    """By `time.perf_counter`: no step is begun later."""
    fits: dict[str, float] = field(default_factory=dict)
    """Seconds of the networks that were fitted on the way."""

    def step(
        self,
        name: str,
        settings: Mapping[str, Any],
        compute: Callable[[], Result],
        code: str = "estimators",
    ) -> Result:
        """The result of a step: read where it was computed with the same settings and the same
        code, else computed and kept.

        code : {'estimators', 'fits', 'times', 'training', 'other'}
            Which probe tells whether the code is still the one that made the result.
        """
        digest = settings_digest(settings)
        path = self.out / f"{name}.json"
        if path.exists():
            kept = json.loads(path.read_text())
            if kept["hash"] == digest and kept.get("probe") == probes.now(kept):
                self.say(f"{name}: there already")
                if self.clock:
                    self.clock.without(name)
                return read(path)["result"]
        began, began_working = time.perf_counter(), processor_seconds()
        if self.until is not None and began > self.until:
            raise OutOfTimeError(name)
        result = compute()
        seconds, core_seconds = (
            round(time.perf_counter() - began, 2),
            round(processor_seconds() - began_working, 2),
        )
        paths = result.get("paths")
        write(
            path,
            {
                "step": name,
                "settings": settings,
                "hash": digest,
                "code": code,
                "probe": probes.of_paths(paths) if paths else probes.of(code),
                "device": device_name(self.device),
                "seconds": seconds,
                "core_seconds": core_seconds,
            },
            result,
        )
        left = self.clock.after(name) if self.clock and not name.startswith(PARTS) else ""
        self.say(f"{name}: {seconds:.1f} s, {core_seconds:.1f} s of CPU cores{left}")
        return read(path)["result"]

    def parts(
        self,
        name: str,
        settings: Mapping[str, Any],
        pieces: Mapping[str, Callable[[], Result]],
        code: str = "estimators",
    ) -> dict[str, Result]:
        """The pieces of a long step, each a step of its own: an interrupted run loses no more than
        one.
        """
        return {
            piece: self.step(f"{PARTS}/{name}/{piece}", {**settings, "piece": piece}, make, code)
            for piece, make in pieces.items()
        }

    def whole(
        self,
        name: str,
        settings: Mapping[str, Any],
        pieces: Mapping[str, Callable[[], Result]],
        join: Callable[[dict[str, Result]], Result],
        code: str = "estimators",
    ) -> Result:
        """A step made of parts, which are forgotten once it is done."""
        found = self.step(
            name, settings, lambda: join(self.parts(name, settings, pieces, code)), code
        )
        forget(self.out / PARTS / name)
        return found

    def settings(self, *names: str, **more: Any) -> dict[str, Any]:
        """These fields of the size, and more, as settings of a step."""
        size = asdict(self.size)
        return {**{name: size[name] for name in names}, **more}


@dataclass(frozen=True)
class Checking(Run):
    """Computes nothing: notes which kept results were made with other settings."""

    other: list[str] = field(default_factory=list)

    def step(self, name: str, settings: Mapping[str, Any], *_: Any, **__: Any) -> Result:
        """What is kept, whatever it was made with; nothing where nothing is."""
        path = self.out / f"{name}.json"
        if not path.exists():
            return {}
        kept = read(path)
        if kept["hash"] != settings_digest(settings):
            self.other.append(name)
        return kept["result"]

    def whole(self, name: str, settings: Mapping[str, Any], *_: Any, **__: Any) -> Result:
        """The same."""
        return self.step(name, settings)


def settings_digest(settings: Mapping[str, Any]) -> str:
    """A short hash of the settings of a step."""
    return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def write(path: Path, about: Mapping[str, Any], result: Result) -> None:
    """Keep a result: numbers and short arrays as json, long arrays, also those in a dictionary, as
    float32 in an npz file of the same name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    long: dict[str, Any] = {}
    short = _without_long(result, "", long)
    if long:
        with path.with_suffix(".npz").open("wb") as file:
            np.savez_compressed(file, **{key: np.float32(each) for key, each in long.items()})
    part = path.with_suffix(".part")
    part.write_text(json.dumps({**about, "arrays": sorted(long), "result": short}, indent=1) + "\n")
    part.replace(path)


def _without_long(value: Any, name: str, long: dict[str, Any]) -> Any:
    """The value as json takes it; long arrays go to `long` by their path."""
    if not isinstance(value, Mapping):
        return plain(value)
    kept = {}
    for key, each in value.items():
        path = f"{name}|{key}" if name else str(key)
        if isinstance(each, np.ndarray) and each.size > LARGE:
            long[path] = each
        else:
            kept[str(key)] = _without_long(each, path, long)
    return kept


def read(path: Path) -> Result:
    """What `write` kept."""
    kept = json.loads(path.read_text())
    if kept["arrays"]:
        with np.load(path.with_suffix(".npz")) as file:
            for key in kept["arrays"]:
                *way, last = key.split("|")
                place = kept["result"]
                for each in way:
                    place = place[each]
                place[last] = file[key]
    return kept


def forget(folder: Path) -> None:
    """Remove parts that are no longer needed, and folders that are empty then."""
    for path in folder.glob("*"):
        path.unlink()
    for each in (folder, folder.parent):
        if each.exists() and not any(each.iterdir()):
            each.rmdir()


def plain(value: Any) -> Any:
    """The value as json takes it, numbers to 7 digits."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.7g}")
    return value.item() if isinstance(value, np.generic) else value


def device_name(device: str) -> str:
    """What the device calls itself."""
    if device != "cuda":
        return "cpu"
    import torch

    return str(torch.cuda.get_device_name())
