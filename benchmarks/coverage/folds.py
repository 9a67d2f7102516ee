"""What spreading the gap does to the error of halved stars: `python -m benchmarks.coverage.folds`.

Squared error of the corrected mean over that of the raw one, and coverage of a plain Student's t
interval at 95 %, over many runs of few replicates.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import stdtrit

from owenshap import HalvedOwen, TableGame, estimate
from owenshap.statistics.accumulators import Accumulator
from owenshap.statistics.moments import Moments
from owenshap.support.arrays import BoolArray, FloatArray
from owenshap.support.bits import from_codes
from owenshap.testing import product, random_unanimity_sum, weighted_voting

REPLICATES = (4, 5, 8, 10, 12, 15, 30, 60)
RUNS = 300
PLAYERS = 12


def games() -> dict[str, TableGame]:
    """Games of 12 players with all their values looked up."""
    codes = from_codes(np.arange(1 << PLAYERS), PLAYERS)
    rng = np.random.default_rng(0)
    models = _models(rng)
    row, absent = rng.normal(size=PLAYERS), rng.normal(size=(10, PLAYERS))
    found = {name: TableGame(_valued(model, codes, row, absent)) for name, model in models.items()}
    rates = rng.uniform(0.5, 1.5, (2, PLAYERS))
    known = {
        "random unanimity": random_unanimity_sum(PLAYERS, 60, PLAYERS, seed=0),
        "votes": weighted_voting(rng.integers(1, 9, PLAYERS).tolist(), 28),
        "product": product(rates[0], rates[1]),
    }
    return found | {name: TableGame(game.values(codes)) for name, game in known.items()}


def _models(rng: np.random.Generator) -> dict[str, Callable[[FloatArray], FloatArray]]:
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.neural_network import MLPRegressor
    from sklearn.svm import SVC

    rows = rng.normal(size=(400, PLAYERS))
    target = rows[:, 0] * rows[:, 1] + np.sin(2 * rows[:, 2]) + rows[:, 3:6].sum(axis=1)
    net = MLPRegressor(
        hidden_layer_sizes=(32, 32), max_iter=300, tol=0, n_iter_no_change=300, random_state=0
    )
    return {
        "network": net.fit(rows, target).predict,
        "boosted trees": GradientBoostingRegressor(random_state=0).fit(rows, target).predict,
        "support vectors": SVC(gamma=0.2).fit(rows, target > 0).decision_function,
    }


def _valued(
    model: Callable[[FloatArray], FloatArray], codes: BoolArray, row: FloatArray, absent: FloatArray
) -> FloatArray:
    return np.mean([model(np.where(codes, row, other)) for other in absent], axis=0)


def measured(game: TableGame, count: int, runs: int = RUNS) -> tuple[float, float, float]:
    """Squared error of the corrected over that of the raw mean, its standard error, and coverage.

    Runs are outputs side by side of one accumulator: what it does to one it does to each.
    """
    truth = estimate(game, "exact", progress=False).values[:, None]
    method = HalvedOwen(levels=2)
    design = method.draw(PLAYERS, np.random.default_rng(count), count * runs)
    values = game.values(design.coalitions(np.arange(len(design)))).reshape(-1, 1)
    replicates = method.replicates(design, values).reshape(count, runs, PLAYERS).swapaxes(1, 2)
    held = Accumulator(total=np.full(runs, truth.sum()))
    held.add(np.ascontiguousarray(replicates))
    corrected = held.summary.moments
    assert corrected is not None
    assert corrected.raw is not None
    before, after = _squared(corrected.raw, truth), _squared(corrected, truth)
    ratio = float(after.mean() / before.mean())
    error = float((after - ratio * before).std() / before.mean() / np.sqrt(runs))
    half = -stdtrit(count - 1, 0.025) * corrected.standard_errors
    covered = np.abs(corrected.mean - truth) <= half + 1e-12
    return ratio, error, float(covered.mean())


def _squared(moments: Moments, truth: FloatArray) -> FloatArray:
    errors: FloatArray = np.square(moments.mean - truth).sum(axis=0)
    return errors


def main() -> None:
    """Print the table."""
    print("| game |" + "".join(f" {count} |" for count in REPLICATES))
    print("|---|" + "--:|" * len(REPLICATES))
    for name, game in games().items():
        cells = [measured(game, count) for count in REPLICATES]
        print(f"| {name} |" + "".join(f" {r:.2f} ({c:.0%}) |" for r, _, c in cells), flush=True)


if __name__ == "__main__":
    main()
