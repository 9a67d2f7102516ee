"""Fig. 2 and Fig. 3 on images: hundreds of players, exact values out of reach, near-exact ones from
very many stars.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import owenshap
from owenshap.run.cost import Cost
from owenshap.run.plan import make_plan
from owenshap.statistics.stopping import Until
from reproduction.data import Dataset
from reproduction.games import (
    ImageGame,
    LinearFirstGame,
    RowGame,
    estimate_all,
    evaluations,
    total,
)
from reproduction.networks import Network
from reproduction.pool import spread, spread_on
from reproduction.steps import Result, Run, Size
from reproduction.tabular import DRAWS_SEED, KEPT, about, some_rows, spread_so_far
from reproduction.variants import VARIANTS

STRONGEST = 20
IN_A_PART = 30  # digits or rows: a round or two on many cores
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


def curves(dataset: Dataset, network: Network, run: Run) -> None:
    """Fig. 2: the paper's statistic over 2, 4, …, 200 samples, and the error against near-exact
    values; a part for every row.
    """
    name = f"{dataset.name}-{network.architecture.partition(' ')[0]}-curves"
    rows = some_rows(dataset, run.size.rows)

    def piece(start: int) -> Result:
        places = range(start, min(start + IN_A_PART, len(rows)))
        work = partial(_curves_of_row, network, run.size, run.device)
        found = spread_on(run.device, work, places, rows[start:])
        return {f"row {place}": each for place, each in zip(places, found, strict=True)}

    def join(parts: dict[str, Result]) -> Result:
        every = [each for part in parts.values() for each in part.values()]
        return {
            "samples": run.size.samples,
            **{
                what: {
                    key: np.stack([np.asarray(part[what][key]) for part in every], axis=1)
                    for key in VARIANTS
                }
                for what in ("squared_error", "spread")
            },
            "gap": {key: np.array([part["gap"][key] for part in every]) for key in VARIANTS},
            "power": float(np.mean([part["power"] for part in every])),
            "live_players": float(np.mean([part["players"] for part in every])),
            "players": rows.shape[1],
        }

    settings = run.settings("rows", "every", "near_exact", **about(network, kept=KEPT))
    pieces = {f"from {k}": partial(piece, k) for k in range(0, len(rows), IN_A_PART)}
    run.whole(name, settings, pieces, join)


def _curves_of_row(network: Network, size: Size, device: str, place: int, row: Any) -> Result:
    """Squared error and statistic of every variant by step, for one row."""
    rng = np.random.default_rng((DRAWS_SEED, place))
    game = game_of(network, row, device)
    truth = near_exact(game, size.near_exact, rng)
    due = total(game)
    squared, spread_of, gap = {}, {}, {}
    for key, variant in VARIANTS.items():
        designs = [
            estimator.draw(game.n_players, rng, replicates)
            for estimator, replicates in map(variant.make, size.samples)
        ]
        found = estimate_all(game, designs)
        # Null players, whose pixel is black, are estimated exactly by all methods: they count as 0,
        # as in the paper.
        squared[key] = np.sum((found - truth) ** 2, axis=1) / len(row)
        spread_of[key] = spread_so_far(found).sum(axis=1) / len(row)
        gap[key] = abs(float(found[-1].sum()) - due)
    return {
        "squared_error": squared,
        "spread": spread_of,
        "gap": gap,
        "power": float(np.sum(truth**2) / len(row)),
        "players": game.n_players,
    }


SALIENCY_SEED = 4
MAPS: dict[str, Callable[[int, int], tuple[Any, int]]] = {
    "castro-12": lambda _n, _b: (owenshap.Castro(), 12),
    "halved-printed": lambda _n, _b: (
        owenshap.HalvedOwenPrinted(levels=6, per_level=2, divisor="paper"),
        1,
    ),
    "halved-program": lambda _n, _b: (
        owenshap.HalvedOwenPrinted(levels=6, per_level=2, divisor="program"),
        1,
    ),
    "castro-same": lambda n, b: (owenshap.Castro(), (b - 2) // (n - 1)),
    "ours": lambda n, b: (owenshap.HalvedOwen(levels=(b - 2) // (n + 1) // 2 * 2), 1),
    "ours-replicates": lambda n, b: (owenshap.HalvedOwen(levels=2), (b - 2) // (n + 1) // 2),
}
"""What is drawn beside the ground truth: from players and the evaluations of Halved Owen to an
estimator and its replicates.
"""
BY_BUDGET = {
    "ours-corrected": "halved-owen",
    "linear": "linear",
    "gaussian-process": "gaussian-process",
    "default": "auto",
}
"""Methods that are given the evaluations of the program's Halved Owen."""
PROCESS_IMAGES = 50
"""Digits of those not shown that the process explains: a fit takes a second."""
COSTLY = 0.1
"""Seconds of an evaluation of a model whose evaluations are what counts."""


def saliency(dataset: Dataset, network: Network, run: Run) -> None:
    """Fig. 3: a digit of each class, and the scores of more digits."""
    rows, labels = dataset.test
    order = np.random.default_rng(SALIENCY_SEED).permutation(len(rows))
    shown = [
        int(order[np.flatnonzero(labels[order] == each)[0]]) for each in range(dataset.classes)
    ]
    more = [int(each) for each in order if each not in shown][: run.size.more_images]
    every = [*shown, *more]
    kind = network.architecture.partition(" ")[0]

    def piece(start: int) -> Result:
        places = range(start, min(start + IN_A_PART, len(every)))
        digits = [rows[every[place]] for place in places]
        process = [place < len(shown) + PROCESS_IMAGES for place in places]
        begun = spread(partial(by_budget, network), digits, process)  # beside what is drawn
        rngs = [np.random.default_rng((SALIENCY_SEED, place)) for place in places]
        work = partial(drawn, network, run.size.truth_samples, run.device)
        found = list(spread_on(run.device, work, digits, rngs, process))
        fitted = list(begun)
        parts = [digit.scored(fits) for digit, (fits, _) in zip(found, fitted, strict=True)]
        columns: Result = {
            "scores": {
                key: {
                    what: [part[0].get(key, {}).get(what) for part in parts]
                    for what in ("relative_error", "correlation", "overlap", "gap", "evaluations")
                }
                for key in (*MAPS, *BY_BUDGET, "near-exact")
            },
            "due": [part[2] for part in parts],
            "took": [took for _, took in fitted],
        }
        maps = {
            f"map {key}": np.stack([part[1][key] for part in parts])
            for key in ("truth", *MAPS, *BY_BUDGET)
            if start < len(shown)
        }
        return {**columns, **maps}

    def join(parts: dict[str, Result]) -> Result:
        pieces = list(parts.values())
        joined = {
            key: {
                what: [each for part in pieces for each in part["scores"][key][what]]
                for what in pieces[0]["scores"][key]
            }
            for key in pieces[0]["scores"]
        }
        scores = {
            key: {what: np.array(each, np.float64) for what, each in columns.items()}
            for key, columns in joined.items()
        }
        maps = {
            key: np.concatenate([part[key] for part in pieces if key in part])[: len(shown)]
            for key in pieces[0]
            if key.startswith("map ")
        }
        return {
            "shown": shown,
            "labels": [int(labels[each]) for each in shown],
            "more": len(more),
            "truth_samples": run.size.truth_samples,
            "scores": scores,
            "due": [each for part in pieces for each in part["due"]],
            "took": [each for part in pieces for each in part["took"]],
            "costly": chosen(150, halved_budget(150), COSTLY),
            "images": rows[shown],
            **maps,
        }

    settings = run.settings(
        "truth_samples",
        "more_images",
        network=network.digest,
        seeds=[SALIENCY_SEED],
        maps=[*MAPS, *BY_BUDGET],
        process_images=PROCESS_IMAGES,
    )
    pieces = {f"from {k}": partial(piece, k) for k in range(0, len(every), IN_A_PART)}
    run.whole(f"{dataset.name}-{kind}-saliency", settings, pieces, join, code="default")


def chosen(n_players: int, budget: int, seconds: float, until: Until | None = None) -> str:
    """The method that the default takes where an evaluation takes so many seconds."""
    return make_plan(n_players, "auto", budget, Cost(seconds, 1), until).estimator.name


Found = dict[str, tuple[Any, int]]
"""Values by name of the method, and the evaluations that they took."""


def halved_budget(n_players: int) -> int:
    """Evaluations of the program's Halved Owen at Fig. 3's size."""
    return 2 + 14 * (n_players + 1)


def by_budget(network: Network, row: Any, process: bool) -> tuple[Found, str]:
    """What methods come to that are given a budget, on a CPU, where they are fitted; and what the
    default took.
    """
    game = game_of(network, row, "cpu")
    function = owenshap.FunctionGame(game.values, game.n_players)
    found, took = {}, ""
    for name, method in BY_BUDGET.items():
        if name == "gaussian-process" and not process:
            continue
        budget = halved_budget(game.n_players)
        estimate = owenshap.estimate(function, method, budget=budget, progress=False)
        found[name] = estimate.values, estimate.evaluations
        if name == "default":
            took = estimate.method
    return found, took


@dataclass(frozen=True)
class Digit:
    """Maps of one digit from drawn coalitions, and its ground truth."""

    places: Any
    """Of its players in the row; the bias player is the first there, and no pixel."""
    width: int
    due: float
    """v(N) − v(∅)."""
    truth: Any
    found: Found
    other: Any
    """A second ground truth, where one was asked for."""

    def scored(self, fits: Found) -> tuple[dict[str, dict[str, float]], dict[str, Any], float]:
        """Scores and maps of all methods against the ground truth, and v(N) − v(∅)."""
        pixels = self.places > 0
        every = {**self.found, **fits}
        scores = {
            name: {
                **agreement(values[pixels], self.truth[pixels]),
                "gap": abs(float(values.sum()) - self.due),
                "evaluations": float(spent),
            }
            for name, (values, spent) in every.items()
        }
        if self.other is not None:
            scores["near-exact"] = agreement(self.truth[pixels], self.other[pixels])
        maps = {}
        for name, values in {
            "truth": self.truth,
            **{key: each[0] for key, each in every.items()},
        }.items():
            maps[name] = np.zeros(self.width, np.float32)
            maps[name][self.places] = values
        return scores, maps, self.due


def drawn(
    network: Network, samples: int, device: str, row: Any, rng: np.random.Generator, second: bool
) -> Digit:
    """A digit by the rules that draw, and by Castro with very many permutations; a second ground
    truth tells how far the first is off.
    """
    game = game_of(network, row, device)
    draw = owenshap.Castro().draw(game.n_players, rng, samples)
    truth = estimate_all(game, [draw])[0]
    found = {}
    for name, make in MAPS.items():
        estimator, replicates = make(game.n_players, halved_budget(game.n_players))
        design = estimator.draw(game.n_players, rng, replicates)
        found[name] = estimate_all(game, [design])[0], evaluations(design)
    other = near_exact(game, samples, rng) if second else None
    places = game.live + len(row) - network.inputs
    return Digit(places, len(row), total(game), truth, found, other)


def agreement(found: Any, truth: Any) -> dict[str, float]:
    """Relative error ‖φ̂ − φ‖ / ‖φ‖, correlation, and the share of the 20 strongest that are the
    same.
    """
    strongest = min(STRONGEST, len(truth))
    same = set(np.argsort(-abs(found))[:strongest]) & set(np.argsort(-abs(truth))[:strongest])
    return {
        "relative_error": float(np.linalg.norm(found - truth) / np.linalg.norm(truth)),
        "correlation": float(np.corrcoef(found, truth)[0, 1]),
        "overlap": len(same) / strongest,
    }


def experiments(dataset: Dataset, network: Network, run: Run) -> None:
    """Both figures for one network."""
    curves(dataset, network, run)
    saliency(dataset, network, run)
