"""The jobs that are measured, in a module that workers can import."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import make_regression
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR

import owenshap

FEATURES = 20
OUT = Path(os.environ.get("OWENSHAP_OUT", "out/runs"))


def rows_of(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, FEATURES))


def rows_file(count: int) -> Path:
    """So many rows as a Parquet file, made once."""
    file = OUT / f"rows-{count}.parquet"
    if not file.exists():
        OUT.mkdir(parents=True, exist_ok=True)
        names = [f"x{i}" for i in range(FEATURES)]
        with pq.ParquetWriter(file, pa.schema([(name, pa.float64()) for name in names])) as writer:
            for start in range(0, count, 100_000):
                rows = rows_of(min(100_000, count - start), start)
                writer.write_table(pa.table(dict(zip(names, rows.T, strict=True))))
    return file


def fitted(model: Any) -> Any:
    X, y = make_regression(5000, FEATURES, n_informative=12, random_state=0)
    return model.fit(X, y / np.abs(y).max())


def trees() -> owenshap.Explainer:
    """Boosted trees, exact."""
    model = fitted(HistGradientBoostingRegressor(max_iter=100, random_state=0))
    return owenshap.Explainer(model, rows_of(100, 0))


def network() -> owenshap.Explainer:
    """A small network."""
    model = MLPRegressor(hidden_layer_sizes=(32,), max_iter=20, random_state=0)
    return owenshap.Explainer(fitted(model), rows_of(10, 0))


NETWORK = {"method": "halved-owen", "budget": 300}


def support_vectors() -> owenshap.Explainer:
    """Support vectors with a polynomial kernel, which nothing but their predictions explains."""
    X, y = make_regression(500, FEATURES, n_informative=12, random_state=0)
    return owenshap.Explainer(SVR(kernel="poly").fit(X, y / np.abs(y).max()), baseline=0.0)


class Loop:
    """A model that Python itself computes: nothing but the model takes time."""

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        return np.array([sum(cell * cell for cell in row) for row in batch.tolist()])


def loop() -> owenshap.Explainer:
    return owenshap.Explainer(Loop(), baseline=0.0)


def run_loop(rows: np.ndarray, out: Path, settings: dict[str, Any]) -> None:
    loop().run(rows, out, **settings)


LOOP = {"method": "halved-owen", "budget": 500}


def peak(who: int = resource.RUSAGE_SELF) -> float:
    """Megabytes of the largest process."""
    return resource.getrusage(who).ru_maxrss / 1000
