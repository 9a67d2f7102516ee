"""Steps: each computes one result, keeps it as a small file, and is skipped where that file is
there already.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
WEIGHTS = HERE / "weights"
LARGE = 2000  # numbers: longer arrays go into an npz file beside the json file
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
    truth_samples=1000,
    near_exact=2000,
    more_images=10,
    draws=20,
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
)


@dataclass(frozen=True)
class Run:
    """Where results go, how large they are, and on which device."""

    out: Path
    size: Size = FULL
    device: str = "cpu"
    say: Callable[[str], None] = print

    def step(self, name: str, settings: Mapping[str, Any], compute: Callable[[], Result]) -> Result:
        """The result of a step: read where it was computed with the same settings, else computed
        and kept.
        """
        digest = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
        path = self.out / f"{name}.json"
        if path.exists() and json.loads(path.read_text())["hash"] == digest:
            self.say(f"{name}: there already")
            return read(path)["result"]
        began, began_working = time.perf_counter(), time.process_time()
        result = compute()
        seconds, core_seconds = (
            round(time.perf_counter() - began, 2),
            round(time.process_time() - began_working, 2),
        )
        spent = {"seconds": seconds, "core_seconds": core_seconds}
        write(
            path,
            {
                "step": name,
                "settings": settings,
                "hash": digest,
                "device": device_name(self.device),
                **spent,
            },
            result,
        )
        self.say(f"{name}: {seconds:.1f} s, {core_seconds:.1f} s of CPU cores")
        return read(path)["result"]

    def settings(self, *names: str, **more: Any) -> dict[str, Any]:
        """These fields of the size, and more, as settings of a step."""
        size = asdict(self.size)
        return {**{name: size[name] for name in names}, **more}


def write(path: Path, about: Mapping[str, Any], result: Result) -> None:
    """Keep a result: numbers and short arrays as json, long arrays as float32 in an npz file of the
    same name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    long = {
        key: each
        for key, each in result.items()
        if isinstance(each, np.ndarray) and each.size > LARGE
    }
    if long:
        with path.with_suffix(".npz").open("wb") as file:
            np.savez_compressed(file, **{key: np.float32(each) for key, each in long.items()})
    short = {key: plain(each) for key, each in result.items() if key not in long}
    part = path.with_suffix(".part")
    part.write_text(json.dumps({**about, "arrays": sorted(long), "result": short}, indent=1) + "\n")
    part.replace(path)


def read(path: Path) -> Result:
    """What `write` kept."""
    kept = json.loads(path.read_text())
    if kept["arrays"]:
        with np.load(path.with_suffix(".npz")) as file:
            kept["result"].update({key: file[key] for key in kept["arrays"]})
    return kept


def forget(folder: Path, pattern: str) -> None:
    """Remove parts that are no longer needed, and their folder when it is empty."""
    for path in folder.glob(pattern):
        path.unlink()
    if folder.exists() and not any(folder.iterdir()):
        folder.rmdir()


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


def threads() -> int:
    """How many rows are worked on at once: as many as cores, or what OMP_NUM_THREADS says."""
    return int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)


def device_name(device: str) -> str:
    """What the device calls itself."""
    if device != "cuda":
        return "cpu"
    import torch

    return str(torch.cuda.get_device_name())
