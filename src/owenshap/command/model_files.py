"""Models from files, by the ending of their name; none is run as a program by being read.

A pickle is: it is read only where somebody says that it may be.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from owenshap.command.faults import one_line
from owenshap.errors import InputError, OwenshapError, cut
from owenshap.support.arrays import WORKING

ENDINGS = ".onnx, .skops, .json or .ubj (xgboost), .txt (lightgbm) or .cbm (catboost)"
PICKLES = (".pkl", ".pickle", ".joblib")
PICKLE = "a pickle, which can run any program as soon as it is read"
FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
TRIAL_SECONDS = 60  # in which a small file is read on a busy machine, or 64 MB of a large one
TRIALS = {
    "lightgbm": """
import lightgbm, numpy, sys
booster = lightgbm.Booster(model_file=sys.argv[1])
booster.dump_model()
booster.predict(numpy.zeros((1, booster.num_feature())))
""",
    "xgboost": """
import numpy, sys, xgboost
booster = xgboost.Booster(model_file=sys.argv[1])
booster.save_raw("json")
booster.predict(xgboost.DMatrix(numpy.zeros((1, booster.num_features()))), validate_features=False)
""",
    "catboost": """
import catboost, os, sys, tempfile
model = catboost.CatBoost()
model.load_model(sys.argv[1])
words = {*model.get_cat_feature_indices(), *model.get_text_feature_indices()}
model.predict([["a" if each in words else 0.0 for each in range(len(model.feature_names_))]])
with tempfile.TemporaryDirectory() as folder:
    model.save_model(os.path.join(folder, "model.json"), format="json")
""",
}
"""What is tried in a process of its own: broken bytes make these libraries end their process."""


@dataclass(frozen=True)
class Trust:
    """What a model file may do beyond what is known to be harmless."""

    types: tuple[str, ...]
    """Of a skops file, which are then loaded."""
    pickle: bool
    memory: int
    """Bytes that it may unpack to."""


@dataclass(frozen=True)
class LoadedModel:
    """A model, and what it says of the columns that it takes."""

    model: Any = field(repr=False)
    """As an Explainer takes it."""
    kind: str
    """In words."""
    path: Path | None
    """The file; None for what a module has."""
    names: list[str] | None = None
    """Of the columns, in the order of the model; None where it does not know them."""
    width: int | None = None
    """How many there are, where that is known."""
    categories: dict[str, list[Any]] = field(default_factory=dict)
    """What columns of text may hold, in the order in which the model has learned it."""
    blank: str | None = None
    """How the model's library writes what is no letter in a name: a pattern of `re`."""


def load_model(given: str, trust: Trust) -> LoadedModel:
    """The model of a file, or what a module has under a name, as in 'package.module:function'."""
    path = Path(given)
    if path.is_file():
        return _of_file(path, trust)
    if FUNCTION.fullmatch(given) and not path.exists():
        return _of_module(given)
    raise InputError(
        "MODEL",
        "be a model file or a function",
        f"{given}, which is {'a folder' if path.is_dir() else 'not there'}",
        f"Give a file ({ENDINGS}), or a function as in package.module:function",
    )


def _of_file(path: Path, trust: Trust) -> LoadedModel:
    ending = path.suffix.lower()
    if ending in PICKLES:
        return _of_pickle(path, trust)
    if ending not in LOADERS:
        raise InputError(
            "MODEL",
            f"be a file that ends in {ENDINGS}",
            f"{path} ({PICKLE})" if _is_pickle(path) else str(path),
            "Save it as one",
        )
    package, load = LOADERS[ending]
    _library(package)
    with _readable(path, package):
        if package in TRIALS:
            _check_survives(TRIALS[package], path, path.stat().st_mtime_ns)
        return load(path, trust)


def _of_onnx(path: Path, trust: Trust) -> LoadedModel:  # noqa: ARG001
    from owenshap.models.onnx import OnnxModel

    inputs = OnnxModel.of(str(path), None).session.get_inputs()
    if len(inputs) > 1:
        names = [each.name for each in inputs]
        return LoadedModel(str(path), "ONNX model", path, names, len(names), blank=r"\W")
    shape = inputs[0].shape
    width = shape[1] if len(shape) == 2 and isinstance(shape[1], int) else None
    return LoadedModel(str(path), "ONNX model", path, None, width)


def _of_skops(path: Path, trust: Trust) -> LoadedModel:
    io = _library("skops.io")
    _check_unpacked(path, trust.memory)
    unknown = set(io.get_untrusted_types(file=path)) - set(trust.types)
    if unknown:
        types = sorted(unknown)
        raise InputError(
            "MODEL",
            "hold types that skops knows",
            ", ".join(types),
            "Where you trust the file, repeat it with "
            + " ".join(f"--trust {type_}" for type_ in types),
        )
    return _of_estimator(io.load(path, trusted=list(trust.types)), path)


def _of_estimator(model: Any, path: Path | None, kind: str | None = None) -> LoadedModel:
    names = getattr(model, "feature_names_in_", None)
    width = getattr(model, "n_features_in_", None)
    kind = kind or f"{type(model).__module__.partition('.')[0]} {type(model).__name__}"
    return LoadedModel(model, kind, path, None if names is None else [*map(str, names)], width)


def _of_xgboost(path: Path, trust: Trust) -> LoadedModel:  # noqa: ARG001
    booster = _library("xgboost").Booster(model_file=str(path))
    categories = {}
    if "c" in (booster.feature_types or ()):
        known = booster.get_categories(export_to_arrow=True).to_arrow()
        categories = {name: each.to_pylist() for name, each in known if each is not None}
    return LoadedModel(
        booster,
        "xgboost Booster",
        path,
        booster.feature_names,
        booster.num_features(),
        categories,
    )


def _of_lightgbm(path: Path, trust: Trust) -> LoadedModel:  # noqa: ARG001
    booster = _library("lightgbm").Booster(model_file=str(path))
    names = booster.feature_name()
    width = booster.num_feature()
    nameless = names == [f"Column_{place}" for place in range(width)]
    # its own list of lists has no names: in the order of the columns that are categorical
    infos = booster.dump_model(num_iteration=1)["feature_infos"]
    listed = [name for name in names if infos.get(name, {}).get("values")]
    known = booster.pandas_categorical or []
    categories = dict(zip(listed, known, strict=True)) if len(listed) == len(known) else {}
    return LoadedModel(
        booster,
        "lightgbm Booster",
        path,
        None if nameless else names,
        width,
        categories,
        r"\s",
    )


def _of_catboost(path: Path, trust: Trust) -> LoadedModel:  # noqa: ARG001
    model = _library("catboost").CatBoost()
    model.load_model(str(path))
    names = [*model.feature_names_]
    nameless = names == [str(place) for place in range(len(names))]
    return LoadedModel(model, "catboost model", path, None if nameless else names, len(names))


def _of_pickle(path: Path, trust: Trust) -> LoadedModel:
    if not trust.pickle:
        raise InputError(
            "MODEL",
            "be safe to read",
            f"{path}, {PICKLE}",
            "Save it by skops or as ONNX, or give --trust-pickle where you made the file",
        )
    with _readable(path, "pickle"):
        if path.suffix.lower() == ".joblib":
            return _of_estimator(_library("joblib").load(path), path)
        import pickle

        with open(path, "rb") as file:
            return _of_estimator(pickle.load(file), path)


def _of_module(given: str) -> LoadedModel:
    """What a module has under a name: modules of the folder where the command was called, too."""
    name, _, inside = given.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        model = importlib.import_module(name)
        for each in inside.split("."):
            model = getattr(model, each)
    except Exception as error:
        raise InputError(
            "MODEL",
            "be something that can be imported",
            f"{given} ({type(error).__name__}: {error})",
            "Call the command where Python finds the module",
        ) from error
    return _of_estimator(model, None, given)


LOADERS: dict[str, tuple[str, Callable[[Path, Trust], LoadedModel]]] = {
    ".onnx": ("onnxruntime", _of_onnx),
    ".skops": ("skops", _of_skops),
    ".json": ("xgboost", _of_xgboost),
    ".ubj": ("xgboost", _of_xgboost),
    ".txt": ("lightgbm", _of_lightgbm),
    ".cbm": ("catboost", _of_catboost),
}
"""By the ending of a file: the package that reads it, and how."""


def _library(package: str) -> Any:
    """The package that wrote a model: nobody installs them all for a command."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        name = error.name
        raise InputError(
            name, "be installed to read this model", "none", f"Run pip install {name}"
        ) from error


def _check_unpacked(path: Path, memory: int) -> None:
    """An error where a zip holds more than it may: no member unpacks to more than it says."""
    with zipfile.ZipFile(path) as archive:
        size = sum(each.file_size for each in archive.infolist())
    if size > memory:
        raise InputError(
            "MODEL",
            f"unpack to at most {memory:,} bytes",
            f"{path} with {size:,}",
            "Where you trust it, --memory",
        )


@cache
def _check_survives(program: str, path: Path, changed: int) -> None:  # noqa: ARG001 (of the cache)
    """An error where a process that reads the file ends; tried once for a file as it is."""
    asked = [sys.executable, "-P", "-c", program, str(path)]
    seconds = TRIAL_SECONDS * (1 + path.stat().st_size / WORKING)
    try:
        tried = subprocess.run(
            asked, capture_output=True, text=True, check=False, timeout=seconds, errors="replace"
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"it was not read within {seconds:,.0f} s") from None
    if tried.returncode < 0:
        raise ValueError("reading it ends the process")
    if tried.returncode:
        raise ValueError((tried.stderr.strip().splitlines() or ["no reason given"])[-1])


def _is_pickle(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


@contextmanager
def _readable(path: Path, package: str) -> Iterator[None]:
    """An error of ours where a library cannot read a file: broken bytes make it raise anything."""
    try:
        yield
    except OwenshapError:
        raise
    except Exception as error:
        said = cut(one_line(f"{type(error).__name__}: {error}"))
        raise InputError(
            "MODEL", f"be a file that {package} reads", f"{path} ({said})", "Save the model again"
        ) from error
