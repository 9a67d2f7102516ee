"""Fig. 2 and Fig. 3 on images: hundreds of players, exact values out of reach, near-exact ones from
very many stars.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import owenshap
from reproduction.data import Dataset
from reproduction.games import ImageGame, LinearFirstGame, RowGame, estimate_all, evaluations
from reproduction.networks import Network
from reproduction.steps import Result, Run
from reproduction.tabular import DRAWS_SEED, ROWS_SEED, some_rows, spread_so_far
from reproduction.variants import CURVES, VARIANTS

STRONGEST = 20
STARS_AT_ONCE = 4000


def game_of(network: Network, row: Any, device: str) -> LinearFirstGame | ImageGame:
    """The game of a row: by columns of the first layer where that is linear."""
    return (ImageGame if network.architecture.startswith("cnn") else LinearFirstGame)(
        network, row, device
    )


def near_exact(game: RowGame, stars: int, rng: np.random.Generator) -> Any:
    """Values (n,) from so many stars of the unbiased halved rule."""
    passes = max(1, stars // STARS_AT_ONCE)
    estimator = owenshap.HalvedOwen(levels=max(2, stars // passes))
    return np.mean(
        [estimate_all(game, [estimator.draw(game.n_players, rng, 1)])[0] for _ in range(passes)],
        axis=0,
    )


def curves(dataset: Dataset, network: Network, run: Run) -> Result:
    """Fig. 2: the paper's statistic over 2, 4, …, 200 samples, and the error against near-exact
    values.
    """
    rng = np.random.default_rng(DRAWS_SEED)
    rows, power, players = some_rows(dataset, run.size.rows), 0.0, []
    squared = {name: np.zeros(len(run.size.samples)) for name in CURVES}
    spread = {name: np.zeros(len(run.size.samples)) for name in CURVES}
    made = {name: [VARIANTS[name].make(samples) for samples in run.size.samples] for name in CURVES}
    all_players = rows.shape[1]
    for row in rows:
        game = game_of(network, row, run.device)
        truth = near_exact(game, run.size.near_exact, rng)
        power += np.sum(truth**2) / all_players / len(rows)
        players.append(game.n_players)
        for name in CURVES:
            designs = [
                estimator.draw(game.n_players, rng, replicates)
                for estimator, replicates in made[name]
            ]
            found = estimate_all(game, designs)
            # Null players, whose pixel is black, are estimated exactly by all methods: they count
            # as 0, as in the paper.
            squared[name] += np.sum((found - truth) ** 2, axis=1) / all_players / len(rows)
            spread[name] += spread_so_far(found).sum(axis=1) / all_players / len(rows)
    return {
        "samples": run.size.samples,
        "squared_error": squared,
        "spread": spread,
        "power": power,
        "live_players": float(np.mean(players)),
        "players": all_players,
    }


SALIENCY_SEED = 4
MAPS: dict[str, Callable[[int, int], tuple[Any, int]]] = {
    "castro-12": lambda _n, _b: (owenshap.Castro(), 12),
    "halved-printed": lambda _n, _b: (owenshap.HalvedOwenPrinted(levels=6, per_level=2), 1),
    "castro-same": lambda n, b: (owenshap.Castro(), (b - 2) // (n - 1)),
    "ours": lambda n, b: (owenshap.HalvedOwen(levels=(b - 2) // (n + 1) // 2 * 2), 1),
}
"""What is drawn beside the ground truth: from players and the evaluations of Halved Owen to an
estimator and its replicates.
"""


def saliency(dataset: Dataset, network: Network, run: Run) -> Result:
    """Fig. 3: a digit of each class, and means over more digits."""
    rng = np.random.default_rng(SALIENCY_SEED)
    rows, labels = dataset.test
    order = rng.permutation(len(rows))
    shown = [
        int(order[np.flatnonzero(labels[order] == each)[0]]) for each in range(dataset.classes)
    ]
    more = [int(each) for each in order if each not in shown][: run.size.more_images]
    maps = {name: np.zeros((len(shown), rows.shape[1])) for name in ("truth", *MAPS)}
    scores: dict[str, list[dict[str, float]]] = {name: [] for name in (*MAPS, "near-exact")}
    spent: dict[str, list[int]] = {name: [] for name in MAPS}
    for place, index in enumerate([*shown, *more]):
        game = game_of(network, rows[index], run.device)
        truth = estimate_all(
            game, [owenshap.Castro().draw(game.n_players, rng, run.size.truth_samples)]
        )[0]
        budget = 2 + 14 * (game.n_players + 1)
        found = {}
        for name, make in MAPS.items():
            estimator, replicates = make(game.n_players, budget)
            design = estimator.draw(game.n_players, rng, replicates)
            found[name] = estimate_all(game, [design])[0]
            scores[name].append(agreement(found[name], truth))
            spent[name].append(evaluations(design))
        scores["near-exact"].append(agreement(truth, near_exact(game, run.size.truth_samples, rng)))
        if place < len(shown):
            for name, values in {"truth": truth, **found}.items():
                maps[name][place, game.live + rows.shape[1] - network.inputs] = values
    return {
        "shown": shown,
        "labels": [int(labels[each]) for each in shown],
        "more": len(more),
        "truth_samples": run.size.truth_samples,
        "scores_shown": {name: _columns(each[: len(shown)]) for name, each in scores.items()},
        "means_more": {name: _means(each[len(shown) :]) for name, each in scores.items()},
        "evaluations": {name: float(np.mean(each)) for name, each in spent.items()},
        "images": rows[shown],
        **{f"map {name}": each for name, each in maps.items()},
    }


def agreement(found: Any, truth: Any) -> dict[str, float]:
    """Relative error ‖φ̂ − φ‖ / ‖φ‖, correlation, and the share of the 20 strongest pixels that are
    the same.
    """
    strongest = min(STRONGEST, len(truth))
    same = set(np.argsort(-abs(found))[:strongest]) & set(np.argsort(-abs(truth))[:strongest])
    return {
        "relative_error": float(np.linalg.norm(found - truth) / np.linalg.norm(truth)),
        "correlation": float(np.corrcoef(found, truth)[0, 1]),
        "overlap": len(same) / strongest,
    }


def _columns(scores: list[dict[str, float]]) -> dict[str, list[float]]:
    return {key: [each[key] for each in scores] for key in scores[0]}


def _means(scores: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean(each)) for key, each in _columns(scores).items()} if scores else {}


def experiments(dataset: Dataset, network: Network, run: Run) -> None:
    """Both figures for one network."""
    name = f"{dataset.name}-{network.architecture.partition(' ')[0]}"
    about = {"network": network.digest, "seeds": [ROWS_SEED, DRAWS_SEED, SALIENCY_SEED]}
    settings = run.settings("rows", "every", "near_exact", **about)
    run.step(f"{name}-curves", settings, partial(curves, dataset, network, run))
    settings = run.settings("truth_samples", "more_images", **about)
    run.step(f"{name}-saliency", settings, partial(saliency, dataset, network, run))
