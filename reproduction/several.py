"""Table I over several networks, each on a split of its own, and Fig. 2 and 3 over several of MNIST:
ratios that carry the luck of the model.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reproduction import images, splits
from reproduction.data import Dataset, credit_cards
from reproduction.games import estimate_all, table, total
from reproduction.networks import Network
from reproduction.pool import spread_on
from reproduction.steps import Result, Run
from reproduction.tabular import (
    DRAWS,
    DRAWS_SEED,
    ROWS_SEED,
    about,
    all_rows_of_each,
    exact,
    some_rows,
)
from reproduction.variants import VARIANTS

STEPS = (20, 200)  # samples, of the line plots
FEWER_ROWS, FEWER_REPETITIONS = 2, 5  # times fewer than in Table I, for each of the networks


def one(network: Network, rows: Any, run: Run, repetitions: int) -> Result:
    """Squared errors and gaps (rows,) of every variant, at equal samples, at equal evaluations and
    at two steps of the line plot.
    """
    values = table(network, rows, run.device)
    truth = exact(values)
    samples, n_players = run.size.table_samples, len(truth)
    budget = 2 + samples * (n_players - 1)
    sampled = {}
    for key, variant in VARIANTS.items():
        sampled[f"{key} samples"] = variant.make(samples)
        sampled[f"{key} evaluations"] = variant.make(variant.within(n_players, budget))
        for step in STEPS:
            sampled[f"{key} {step}"] = variant.make(step)
    rngs = [np.random.default_rng(DRAWS_SEED) for _ in sampled]  # variants of a rule share draws
    found = all_rows_of_each(values, list(sampled.values()), repetitions, rngs)
    errors = np.mean((found - truth) ** 2, axis=(1, 2))
    gaps = np.abs(found.sum(axis=2) - truth.sum(axis=0)).mean(axis=1)
    return {
        "errors": dict(zip(sampled, errors, strict=True)),
        "gaps": dict(zip(sampled, gaps, strict=True)),
    }


def experiment(folder: Path | None, run: Run) -> None:
    """CC, networks trained the paper's way."""
    networks = splits.read(splits.weights_path(run, "paper"))[0][: run.size.networks]
    rows, repetitions = (
        max(2, run.size.rows // FEWER_ROWS),
        max(1, run.size.repetitions // FEWER_REPETITIONS),
    )

    def piece(seed: int) -> Result:
        dataset = credit_cards(folder, seed)
        return one(networks[seed], some_rows(dataset, rows), run, repetitions)

    def join(parts: dict[str, Result]) -> Result:
        every = list(parts.values())
        return {
            **{
                what: {key: np.stack([part[what][key] for part in every]) for key in every[0][what]}
                for what in ("errors", "gaps")
            },
            "steps": list(STEPS),
            "rows": rows,
            "repetitions": repetitions,
        }

    known = about(networks[0], networks=[each.digest for each in networks], steps=list(STEPS))
    settings = run.settings("table_samples", rows=rows, repetitions=repetitions, **known)
    pieces = {f"split {seed}": partial(piece, seed) for seed in range(len(networks))}
    run.whole("cc-networks-table", settings, pieces, join)


IMAGE_ROWS, IMAGE_DIGITS = 20, 40  # of each network, in the full protocol
FEWER_STARS = 4  # times fewer behind near-exact values than for one network


def one_of_images(seed: int, architecture: str, dataset: Dataset, run: Run) -> Result:
    """A network of this seed: squared errors (rows,) of every variant at two sizes, and overlaps
    (digits,) of the strongest pixels and gaps at Fig. 3's.
    """
    from reproduction.training import fit, score

    network = fit(architecture, dataset, seed=seed, device=run.device)
    n_rows, n_digits = (max(2, each * run.size.rows // 50) for each in (IMAGE_ROWS, IMAGE_DIGITS))
    stars = max(100, run.size.near_exact // FEWER_STARS)
    work = partial(_of_digit, network, stars, run.device, seed)
    digits = some_rows(dataset, n_digits)
    places = range(n_digits)
    wanted = [place < n_rows for place in places]
    found = list(spread_on(run.device, work, places, digits, wanted))
    return {
        "errors": {
            key: np.array([each["errors"][key] for each in found[:n_rows]])
            for key in found[0]["errors"]
        },
        "missed": {
            key: np.array([each["missed"][key] for each in found[:n_rows]])
            for key in found[0]["missed"]
        },
        "overlap": {
            key: np.array([each["overlap"][key] for each in found]) for key in found[0]["overlap"]
        },
        "gaps": np.array([each["gap"] for each in found]),
        "test": score(network, dataset.test, run.device),
    }


def _of_digit(
    network: Network, stars: int, device: str, seed: int, place: int, row: Any, with_errors: bool
) -> dict[str, Any]:
    """One digit of it: squared errors of every variant, and how far their sums are off, where they
    are wanted; overlaps and the gap at Fig. 3's size.
    """
    rng = np.random.default_rng((DRAWS_SEED, seed, place))
    game = images.game_of(network, row, device)
    truth = images.near_exact(game, stars, rng)
    due = total(game)
    errors, missed = {}, {}
    for key, variant in VARIANTS.items() if with_errors else ():
        for samples in STEPS:
            estimator, replicates = variant.make(samples)
            found = estimate_all(game, [estimator.draw(game.n_players, rng, replicates)])
            errors[f"{key} {samples}"] = float(np.sum((found - truth) ** 2))
            missed[f"{key} {samples}"] = abs(float(found.sum()) - due)
    pixels = game.live > 0  # the bias player is no pixel
    overlap, gap = {}, 0.0
    for key in ("castro-12", "halved-printed", "halved-program"):
        estimator, replicates = images.MAPS[key](game.n_players, 0)
        found = estimate_all(game, [estimator.draw(game.n_players, rng, replicates)])[0]
        overlap[key] = images.agreement(found[pixels], truth[pixels])["overlap"]
        gap = abs(float(found.sum()) - due)  # of the last, the program's
    return {"errors": errors, "missed": missed, "overlap": overlap, "gap": gap}


def of_images(dataset: Dataset, architecture: str, run: Run) -> None:
    """Fig. 2's errors and Fig. 3's count over networks from several seeds; none of them is kept."""

    def join(parts: dict[str, Result]) -> Result:
        every = list(parts.values())

        def stacked(what: str) -> dict[str, Any]:
            return {
                key: np.stack([np.asarray(part[what][key]) for part in every])
                for key in every[0][what]
            }

        return {
            "errors": stacked("errors"),
            "missed": stacked("missed"),
            "overlap": stacked("overlap"),
            "gaps": np.stack([np.asarray(part["gaps"]) for part in every]),
            "test": [part["test"] for part in every],
            "samples": list(STEPS),
        }

    known = {"seeds": [ROWS_SEED, DRAWS_SEED], "draws": DRAWS, "variants": list(VARIANTS)}
    known |= {"kept": "gaps", "architecture": architecture, "samples": STEPS}
    settings = run.settings("rows", "near_exact", "networks", **known)
    pieces = {
        f"seed {seed}": partial(one_of_images, seed, architecture, dataset, run)
        for seed in range(run.size.networks)
    }
    run.whole(f"{dataset.name}-networks-images", settings, pieces, join)
