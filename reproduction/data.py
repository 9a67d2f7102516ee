"""Data sets: read from a folder, downloaded where there is internet, or embedded in scikit-learn.

Every reader asserts what it found, so that nobody reproduces a paper on other data without
noticing.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import os
import urllib.request
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

CC_ROWS, CC_KEPT, CC_FEATURES = 30_000, 29_351, 15
# Of the int64 table, 23 features and the target, little-endian: downloads differ in form.
CC_TABLE_SHA256 = "9dc981540a6e93a868c943fd1b08dea87a123132108396c6bc5c7b0590f125a4"
CC_NAMES = ["LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"]
CC_NAMES += [f"PAY_{month}" for month in (0, 2, 3, 4, 5, 6)]
CC_NAMES += [f"{what}{month}" for what in ("BILL_AMT", "PAY_AMT") for month in range(1, 7)]
"""All 23 columns; the paper takes the first 15."""
CC_FILE = "credit_cards_dataset.csv.xz"
MNIST_SHA256 = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
CC_DESCRIPTION = "https://www.openml.org/api/v1/json/data/42477"
MNIST_SITE = "https://ossci-datasets.s3.amazonaws.com/mnist/"
SIDE_BY_SIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
SPLIT_SEED = 0

ADVICE = """\
The data are not here and could not be downloaded. Fetch, on a machine with internet:
  cc     'Default of credit card clients', UCI id 350, as credit_cards_dataset.csv or .csv.xz (header, then ID, 23
         features, target), or OpenML 42477, whose arff file {description} names, as credit_cards_dataset.arff
  mnist  the four idx files {names} from {site}
and put them into {folder}, or name their folder with --data DIR or OWENSHAP_DATA.
Without them: --dataset breast-cancer, diabetes or digits runs the same experiments on embedded data."""


class DataError(Exception):
    """Data that are missing, or not the data they should be."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with the bias player in front, split; images have a side."""

    name: str
    training: tuple[Any, Any] = field(repr=False)
    validation: tuple[Any, Any] = field(repr=False)
    test: tuple[Any, Any] = field(repr=False)
    player_names: list[str] = field(repr=False)
    classes: int
    """0 for a regression."""
    side: int | None = None
    scaling: tuple[Any, Any] | None = field(default=None, repr=False)
    """Mean and standard deviation of each feature before it was scaled."""

    @property
    def fitting(self) -> tuple[Any, Any]:
        """Training and validation rows together: what the program's final fit sees."""
        (rows, labels), (more, others) = self.training, self.validation
        return np.concatenate([rows, more]), np.concatenate([labels, others])


def load(name: str, folder: Path | None = None, **settings: int) -> Dataset:
    """The data set by name; all but MNIST may have a `seed` of the split."""
    return READERS[name](folder, **settings)


def find_folder(given: Path | None, files: list[str]) -> Path | None:
    """The first folder with one of these files: the one given, OWENSHAP_DATA, ../shared/data, the
    cache.
    """
    named = (
        [given] if given else [Path(each) for each in [os.environ.get("OWENSHAP_DATA", "")] if each]
    )
    for folder in [*named, *([] if named else [SIDE_BY_SIDE, cache()])]:
        if any((folder / name).exists() for name in files):
            return folder
    if named:
        raise DataError(f"{named[0]} holds none of {', '.join(files)}.\n{_advice(named[0])}")
    return None


def cache() -> Path:
    """Where downloads go."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "owenshap"


def credit_cards(
    folder: Path | None = None,
    seed: int = SPLIT_SEED,
    *,
    balanced: bool = False,
    features: int = CC_FEATURES,
) -> Dataset:
    """CC: the paper's filter, scaling before the split, its first 15 features and the bias player.

    balanced splits within the four cells of target × (PAY_0 > 1), so that the one-feature rule
    scores the same on every part.
    """
    table = credit_table(folder)
    education, marriage = table[:, 2], table[:, 3]
    kept = table[(marriage != 3) & (education != 5) & (education != 6)]
    if len(kept) != CC_KEPT:
        raise DataError(f"the paper's filter must leave {CC_KEPT} rows; got {len(kept)}")
    cells = 2 * kept[:, -1] + (kept[:, CC_NAMES.index("PAY_0")] > 1) if balanced else None
    columns = kept[:, :features].astype(np.float64)
    names = CC_NAMES[:features]
    name = "cc" if features == CC_FEATURES else f"cc{features}"
    return _tabular(name, columns, kept[:, -1], names, classes=2, cells=cells, seed=seed)


def credit_table(folder: Path | None = None) -> Any:
    """All rows as int64, features and target without ID; checked."""
    names = [CC_FILE, "credit_cards_dataset.csv", "credit_cards_dataset.arff"]
    found = find_folder(folder, names)
    if found is None:
        path = download_credit_cards(CC_DESCRIPTION, cache())
    else:
        path = next(found / name for name in names if (found / name).exists())
    return _credit_table(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)  # twenty splits read it
def _credit_table(path: Path, _changed: int) -> Any:
    table = checked_credit_cards(_unpacked(path), path)
    table.flags.writeable = False
    return table


def parse_credit_cards(text: str) -> Any:
    """The table in a csv file or OpenML's arff file; numbers such as 5e+05 are whole."""
    lines = (line.strip() for line in text.splitlines())
    cells = [line.split(",") for line in lines if line and (line[0].isdigit() or line[0] == "-")]
    numbers = np.array(cells, dtype=np.float64)
    table = numbers.astype(np.int64)
    if (table != numbers).any():
        raise ValueError("not all numbers are whole")
    return table[:, -24:]


def checked_credit_cards(raw: bytes, origin: object) -> Any:
    """The table in a file, if it is the one."""
    try:
        table = parse_credit_cards(raw.decode())
    # what is left of a page of text, lines of unequal length
    except (ValueError, IndexError) as error:
        raise DataError(
            f"{origin} must hold the 30,000 rows of UCI id 350; got no table of whole numbers "
            f"({error})"
        ) from error
    digest = hashlib.sha256(np.ascontiguousarray(table, dtype="<i8").tobytes()).hexdigest()
    if table.shape != (CC_ROWS, 24) or digest != CC_TABLE_SHA256:
        raise DataError(
            f"{origin} must hold the 30,000 rows of UCI id 350; got {table.shape} with hash "
            f"{digest[:12]}…"
        )
    return table


def mnist(folder: Path | None = None) -> Dataset:
    """MNIST: pixels / 255 and the bias player; the standard split, 48,000 / 12,000 / 10,000."""
    found = find_folder(folder, list(MNIST_SHA256))
    if found in (None, cache()):  # a download that was interrupted goes on
        found = download_mnist(MNIST_SITE, cache())
    images, labels, test_images, test_labels = (read_idx(found / name) for name in MNIST_SHA256)
    shapes = [each.shape for each in (images, labels, test_images, test_labels)]
    if shapes != [(60_000, 28, 28), (60_000,), (10_000, 28, 28), (10_000,)]:
        raise DataError(f"MNIST must have 60,000 and 10,000 images of 28 × 28; got {shapes}")
    order = np.random.default_rng(SPLIT_SEED).permutation(60_000)
    parts = [(images[which], labels[which]) for which in (order[:48_000], order[48_000:])]
    split = [_images(*part, scale=255) for part in (*parts, (test_images, test_labels))]
    return Dataset("mnist", *split, _pixel_names(28), 10, side=28)


def read_idx(path: Path) -> Any:
    """The array in a packed idx file."""
    if not path.exists():
        raise DataError(f"{path} is missing.\n{_advice(path.parent)}")
    raw = _unpacked(path)
    if raw[:3] != b"\x00\x00\x08":
        raise DataError(f"{path} must be an idx file of bytes; got {raw[:4]!r}")
    shape = np.frombuffer(raw, ">i4", count=raw[3], offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def breast_cancer(_: Path | None = None, seed: int = SPLIT_SEED) -> Dataset:
    """A classification: 569 rows, the first 15 features."""
    from sklearn.datasets import load_breast_cancer

    loaded = load_breast_cancer()
    names = [str(name) for name in loaded.feature_names[:CC_FEATURES]]
    columns = loaded.data[:, :CC_FEATURES]
    return _tabular("breast-cancer", columns, loaded.target, names, classes=2, seed=seed)


def diabetes(_: Path | None = None, seed: int = SPLIT_SEED) -> Dataset:
    """A regression: 442 rows, 10 features, the target scaled as the features are."""
    from sklearn.datasets import load_diabetes

    loaded = load_diabetes()
    target = (loaded.target - loaded.target.mean()) / loaded.target.std()
    names = list(loaded.feature_names)
    return _tabular("diabetes", loaded.data, target, names, classes=0, seed=seed)


def digits(_: Path | None = None, seed: int = SPLIT_SEED) -> Dataset:
    """An image set: 1,797 digits of 8 × 8 pixels."""
    from sklearn.datasets import load_digits

    loaded = load_digits()
    rows, labels = _images(loaded.images, loaded.target, scale=16)
    return Dataset("digits", *_split(rows, labels, seed=seed), _pixel_names(8), 10, side=8)


READERS: dict[str, Callable[..., Dataset]] = {
    "cc": credit_cards,
    "mnist": mnist,
    "breast-cancer": breast_cancer,
    "diabetes": diabetes,
    "digits": digits,
}
EMBEDDED = ("breast-cancer", "diabetes", "digits")


def download_credit_cards(description: str, folder: Path) -> Path:
    """The credit card table from OpenML, whose description names its file; checked by the hash of
    the table.
    """
    try:
        url = json.loads(_fetch(description, folder))["data_set_description"]["url"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{description} must describe a data set of OpenML; got no url.\n{_advice(folder)}"
        ) from error
    raw = _fetch(url, folder)
    checked_credit_cards(raw, url)
    return _keep(raw, folder / "credit_cards_dataset.arff")


def download_mnist(site: str, folder: Path) -> Path:
    """Those of the four idx files that are not there, each checked by its hash."""
    for name, sha256 in MNIST_SHA256.items():
        if (folder / name).exists():
            continue
        raw = _fetch(site + name, folder)
        digest = hashlib.sha256(raw).hexdigest()
        if digest != sha256:
            raise DataError(
                f"{site + name} must have the hash {sha256[:12]}…; got {digest[:12]}…. It was not "
                "kept"
            )
        _keep(raw, folder / name)
    return folder


def _fetch(url: str, folder: Path) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return bytes(answer.read())
    except (OSError, HTTPException) as error:  # no way there, not there, or broken off
        raise DataError(f"{url}: {error or type(error).__name__}\n{_advice(folder)}") from error


def _unpacked(path: Path) -> bytes:
    """What a file holds, packed or not."""
    unpack = {".xz": lzma.decompress, ".gz": gzip.decompress}.get(path.suffix, bytes)
    try:
        return unpack(path.read_bytes())
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DataError(
            f"{path} must be a whole file; got {type(error).__name__}: {error}. Fetch it again"
        ) from error


def _keep(raw: bytes, path: Path) -> Path:
    """Write in one move, so that an interrupted download leaves no half file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(raw)
    part.replace(path)
    return path


def _advice(folder: Path) -> str:
    return ADVICE.format(
        folder=folder, names=", ".join(MNIST_SHA256), site=MNIST_SITE, description=CC_DESCRIPTION
    )


def _tabular(
    name: str,
    features: Any,
    target: Any,
    names: list[str],
    classes: int,
    cells: Any = None,
    seed: int = SPLIT_SEED,
) -> Dataset:
    # over all rows, as the paper does, before the split
    scaling = features.mean(axis=0), features.std(axis=0)
    scaled = (features - scaling[0]) / scaling[1]
    rows = np.column_stack([np.ones(len(scaled)), scaled])
    return Dataset(
        name, *_split(rows, target, cells, seed), ["bias", *names], classes, scaling=scaling
    )


def _split(
    rows: Any, target: Any, cells: Any = None, seed: int = SPLIT_SEED
) -> list[tuple[Any, Any]]:
    """64 % training, 16 % validation, 20 % test; of each cell, where there are cells."""
    place = np.empty(len(rows))
    rng = np.random.default_rng(seed)
    for cell in np.unique(cells) if cells is not None else [None]:
        which = np.arange(len(rows)) if cell is None else np.flatnonzero(cells == cell)
        place[rng.permutation(which)] = (np.arange(len(which)) + 0.5) / len(which)
    order = np.argsort(place, kind="stable")
    edges = [round(0.64 * len(rows)), round(0.8 * len(rows))]
    return [(rows[which], target[which]) for which in np.split(order, edges)]


def _images(images: Any, labels: Any, scale: float) -> tuple[Any, Any]:
    pixels = images.reshape(len(images), -1).astype(np.float32) / np.float32(scale)
    return np.column_stack([np.ones(len(pixels), np.float32), pixels]), labels.astype(np.int64)


def _pixel_names(side: int) -> list[str]:
    return ["bias", *(f"pixel {row},{column}" for row in range(side) for column in range(side))]
