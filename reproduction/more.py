"""Beyond the paper: the whole field at equal evaluations, error against time, the evaluations that a
stated accuracy takes, and deeper models.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import owenshap
from owenshap.statistics.stopping import Until
from reproduction import probes, several, splits
from reproduction.data import Dataset, credit_cards, load
from reproduction.deeper import patch_members
from reproduction.games import LinearFirstGame, RowGame, TableRow, estimates, table, total
from reproduction.images import COSTLY, chosen, game_of, near_exact
from reproduction.networks import Network
from reproduction.pool import spread, spread_on
from reproduction.reported import EPOCHS, REPORTED
from reproduction.steps import Result, Run
from reproduction.tabular import DRAWS_SEED, ROWS_SEED, exact, some_rows
from reproduction.timing import clock_of
from reproduction.variants import VARIANTS

OURS: dict[str, Any] = {
    "owen-corrected": "owen",
    "halved-owen-corrected": "halved-owen",
    "linear": "linear",
    "gaussian-process": "gaussian-process",
    "default": "auto",
}
SAMPLED = (
    "castro",
    "castro-antithetic",
    "owen-printed",
    "owen-program",
    "halved-owen-printed",
    "halved-owen-program",
)
THEIRS = {
    "kernel-shap": "shap Kernel",
    "leverage-shap": "shapiq LeverageSHAP",
    "odd-shap": "shapiq OddSHAP",
    "regression-msr": "shapiq RegressionMSR",
}
FIELD_ROWS = {"cc": 30, "mnist": 20}
FIELD_REPETITIONS = {"cc": 2, "mnist": 2}
CC_BUDGETS = (80, 320, 1000, 3200)
MNIST_BUDGETS = (6, 12, 24)
"""Times the players."""


class ValuesRow:
    """A row game of any function of coalitions: stars and chains are built and valued."""

    def __init__(self, values: Callable[[Any], Any], n_players: int) -> None:
        self.values, self.n_players = values, n_players

    def star_contributions(self, centres: Any) -> Any:
        flips = np.eye(self.n_players, dtype=bool)
        base = self.values(centres)[:, None]
        moved = self.values((centres[:, None] ^ flips).reshape(-1, self.n_players))
        moved = moved.reshape(len(centres), self.n_players)
        return np.where(centres, base - moved, moved - base)

    def chain_contributions(self, ranks: Any) -> Any:
        joined = ranks[:, None] < np.arange(self.n_players + 1)[None, :, None]
        found = self.values(joined.reshape(-1, self.n_players))
        steps = np.diff(found.reshape(len(ranks), self.n_players + 1), axis=1)
        return np.take_along_axis(steps, ranks.astype(np.int64), axis=1)


# --- the field at equal evaluations
# --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contest:
    """Rows that methods are compared on, and the network that each is explained of."""

    name: str
    networks: Sequence[Network]
    rows: Any
    """(rows, players), as many of each network, network after network."""

    def network(self, place: int) -> Network:
        """The network of a row."""
        return self.networks[place * len(self.networks) // len(self.rows)]

    @property
    def known(self) -> Result:
        """What its results depend on, as settings of a step."""
        return {
            "networks": [each.digest for each in self.networks],
            "rows": len(self.rows),
            "seed": ROWS_SEED,
        }


def contest(name: str, folder: Path | None, network: Network, run: Run) -> Contest:
    """On CC rows of several networks, each on a split of its own; on MNIST of one network."""
    if name != "cc":
        return Contest(name, [network], some_rows(load(name, folder), FIELD_ROWS[name]))
    networks = splits.read(splits.weights_path(run, "paper"))[0][: run.size.networks]
    each = FIELD_ROWS[name] // len(networks)
    rows = [some_rows(credit_cards(folder, seed), each) for seed in range(len(networks))]
    return Contest(name, networks, np.concatenate(rows))


def field_truth(games: Contest, run: Run) -> list[Any]:
    """Exact or near-exact values of every row, as a step: the peers' environment has no torch, and
    reads them.
    """
    places = range(len(games.rows))
    networks = [games.network(place) for place in places]

    def truths() -> Result:
        if games.name == "cc":
            found = [
                exact(table(network, row[None]))[:, 0]
                for network, row in zip(networks, games.rows, strict=True)
            ]
        else:
            work = partial(_near_exact_of_row, run.size.near_exact, run.device)
            found = list(spread_on(run.device, work, networks, places, games.rows))
        return {f"row {place}": each for place, each in enumerate(found)}

    kept = run.step(f"{games.name}-field-truth", run.settings("near_exact", **games.known), truths)
    return [np.asarray(kept[f"row {place}"], np.float64) for place in places]


def _near_exact_of_row(stars: int, device: str, network: Network, place: int, row: Any) -> Any:
    rng = np.random.default_rng((DRAWS_SEED, place))
    return near_exact(game_of(network, row, device), stars, rng)


@dataclass(frozen=True)
class FieldRows:
    """From the place of a row to its game, its values and its budgets."""

    contest: Contest
    truths: list[Any]

    def __call__(self, place: int) -> tuple[RowGame, Any, tuple[int, ...]]:
        truth, row = self.truths[place], self.contest.rows[place]
        network = self.contest.network(place)
        if self.contest.name == "cc":  # all coalitions are valued beforehand
            values = table(network, row[None])
            return TableRow(np.ascontiguousarray(values[:, 0])), truth, CC_BUDGETS
        without_torch = find_spec("torch") is None
        game: RowGame = numpy_row(network, row) if without_torch else game_of(network, row, "cpu")
        return game, truth, tuple(times * game.n_players for times in MNIST_BUDGETS)


def numpy_row(network: Network, row: Any) -> ValuesRow:
    """The game of a row of an MLP without torch; black pixels are left out."""
    live = np.flatnonzero(row)
    output = int(network(row[None]).argmax())

    def values(coalitions: Any) -> Any:
        inputs = np.zeros((len(coalitions), len(row)))
        inputs[:, live] = np.asarray(coalitions) * row[live]
        return network(inputs)[:, output]

    return ValuesRow(values, len(live))


def contend(
    method: Callable[[RowGame, int, int], Any], made: Callable[[int], Any], dataset: str
) -> Result:
    """Squared errors (budgets, rows), relative to the power of φ, the mean over repetitions; gaps;
    and processor seconds (budgets, rows) of one estimate. What is due by row, v(N) − v(∅).
    """
    work = partial(_contend_row, method, made, FIELD_REPETITIONS[dataset])
    found = list(spread(work, range(FIELD_ROWS[dataset])))
    errors, gaps, seconds, due = (np.array(each).T for each in zip(*found, strict=True))
    return {"errors": errors, "gaps": gaps, "seconds": seconds, "due": due}


def _contend_row(
    method: Callable[[RowGame, int, int], Any],
    made: Callable[[int], Any],
    repetitions: int,
    place: int,
) -> tuple[list[float], list[float], list[float], float]:
    """The same of one row, by budget."""
    game, truth, budgets = made(place)
    power, due = np.sum(truth**2), total(game)
    errors, gaps, seconds = [], [], []
    for budget in budgets:
        began = time.process_time()
        found = [method(game, budget, 1000 * place + seed) for seed in range(repetitions)]
        seconds.append((time.process_time() - began) / len(found))
        errors.append(float(np.mean([np.sum((each - truth) ** 2) for each in found]) / power))
        gaps.append(float(np.mean([abs(each.sum() - due) for each in found])))
    return errors, gaps, seconds, due


def by_variant(key: str, game: RowGame, budget: int, seed: int) -> Any:
    """A variant of the tables with as many samples as fit the budget."""
    variant = VARIANTS[key]
    count = variant.within(game.n_players, budget)
    rng = np.random.default_rng(seed)
    return estimates(game, *variant.make(count), 1, rng)[0]


def by_name(method: Any, game: RowGame, budget: int, seed: int) -> Any:
    """A method of ours with a budget."""
    function = owenshap.FunctionGame(game.values, game.n_players)
    return owenshap.estimate(function, method, budget=budget, seed=seed, progress=False).values


def by_peer(name: str, game: RowGame, budget: int, seed: int) -> Any:
    """A peer at the settings that its documents name as best."""
    from benchmarks.accuracy.peers import peers

    return peers()[name](game.values, game.n_players, budget, seed)


def field(games: Contest, run: Run) -> None:
    """Ours; in the environment that has them, the peers."""
    made = FieldRows(games, field_truth(games, run))
    name = games.name
    known = {
        **games.known,
        "draws_seed": DRAWS_SEED,
        "repetitions": FIELD_REPETITIONS[name],
        "budgets": list(CC_BUDGETS if name == "cc" else MNIST_BUDGETS),
        "kept": "gaps",
    }
    if find_spec("shapiq") is not None:  # the peers' environment
        theirs = {key: partial(by_peer, each) for key, each in THEIRS.items()}
        versions = {each: version(each) for each in ("shap", "shapiq")}
        settings = {**known, "versions": versions}
        _field_step(f"{name}-field-peers", theirs, made, settings, run, "other")
        return
    run.say(f"{name}-field-peers: shapiq is not installed here; make reproduce-peers runs it")
    methods: dict[str, Callable[[RowGame, int, int], Any]] = {
        **{key: partial(by_variant, key) for key in SAMPLED},
        **{key: partial(by_name, method) for key, method in OURS.items()},
    }

    def chosen_here() -> Result:
        """What the default takes on the first row, at every budget."""
        game, _, budgets = made(0)
        choices = {
            "quick": [chosen(game.n_players, each, 0.0) for each in budgets],
            "costly": [chosen(game.n_players, each, COSTLY) for each in budgets],
        }
        return {"chosen": choices}

    _field_step(f"{name}-field-ours", methods, made, known, run, "default", chosen_here)


def _field_step(
    name: str,
    methods: dict[str, Callable[[RowGame, int, int], Any]],
    made: Callable[[int], Any],
    settings: Result,
    run: Run,
    code: str,
    more: Callable[[], Result] = dict,
) -> None:
    pieces = {
        key: partial(contend, method, made, name.partition("-")[0])
        for key, method in methods.items()
    }

    def join(parts: dict[str, Result]) -> Result:
        return {
            "budgets": settings["budgets"],
            "networks": len(settings["networks"]),
            **{
                what: {key: part[what] for key, part in parts.items()}
                for what in ("errors", "gaps", "seconds")
            },
            "due": next(iter(parts.values()))["due"],
            **more(),
        }

    run.whole(name, {**settings, "methods": list(methods)}, pieces, join, code)


# --- error against time
# --------------------------------------------------------------------------------------


def printed(made: Callable[..., Any], n_players: int, budget: int) -> Any:
    """A rule of the paper with the program's divisor, as many levels as fit a budget."""
    coalitions = (budget - 2) // (n_players + 1)
    return made(levels=coalitions // 2 - 1, per_level=2, divisor="program")


TIMED: dict[str, tuple[Any, tuple[int, ...]]] = {
    "castro": (owenshap.Castro(), (100, 300, 1000, 3000, 10_000, 30_000)),
    "castro-antithetic": (owenshap.Castro(antithetic=True), (100, 300, 1000, 3000, 10_000, 30_000)),
    "owen-program": (
        partial(printed, owenshap.OwenPrinted),
        (100, 300, 1000, 3000, 10_000, 30_000),
    ),
    "halved-owen-program": (
        partial(printed, owenshap.HalvedOwenPrinted),
        (100, 300, 1000, 3000, 10_000, 30_000),
    ),
    "owen-corrected": ("owen", (300, 1000, 3000, 10_000, 30_000)),
    "halved-owen-corrected": ("halved-owen", (300, 1000, 3000, 10_000, 30_000)),
    "linear": ("linear", (100, 300, 1000, 3000, 10_000)),
    "gaussian-process": ("gaussian-process", (100, 300, 1000)),
    "default": ("auto", (100, 300, 1000, 3000, 10_000)),
    "exact": ("exact", (65_536,)),
}
TIMED_ATTEMPTS = 3
SLOW = ("gaussian-process",)
"""Timed once: a fit for every row takes long."""


def against_time(dataset: Dataset, network: Network, run: Run) -> None:
    """Squared error and milliseconds per row of every method at several budgets, fits included."""
    rows = some_rows(dataset, run.size.rows).astype("float32")
    truth = exact(table(network, rows.astype(np.float64))).T

    def piece(method: Any, budgets: tuple[int, ...], attempts: int) -> Result:
        explainer = owenshap.Explainer(network.module(run.device), baseline=0.0, output="predicted")
        errors, gaps, taken = [], [], []
        clock = clock_of(run.device)
        for budget in budgets:
            settings: Result = {"method": method, "budget": budget}
            if method == "exact" or isinstance(method, partial):  # of a size of their own
                made = method if method == "exact" else method(rows.shape[1], budget)
                settings = {"method": made}
            few = rows if attempts > 1 else rows[:1]
            explainer(few, progress=False, **settings)  # what is made once
            times = []
            squared, missed = [], []
            for seed in range(attempts):
                began = clock()
                found = explainer(rows, seed=seed, progress=False, **settings)
                times.append(clock() - began)
                squared.append(np.mean((found.values - truth) ** 2, axis=1))
                missed.append(np.abs(found.values.sum(axis=1) - truth.sum(axis=1)))
            taken.append(1000 * min(times) / len(rows))
            errors.append(np.mean(squared, axis=0))
            gaps.append(float(np.mean(missed)))
        walked = probes.walked(partial(explainer, few, progress=False, **settings))
        return {
            "milliseconds": taken,
            "errors": np.array(errors),  # (budgets, rows)
            "gaps": gaps,
            "paths": walked,
        }

    pieces = {
        key: partial(piece, method, budgets, 1 if key in SLOW else TIMED_ATTEMPTS)
        for key, (method, budgets) in TIMED.items()
    }

    def join(parts: dict[str, Result]) -> Result:
        budgets = {key: list(each[1]) for key, each in TIMED.items()}
        paths = probes.all_of([part.pop("paths", {}) for part in parts.values()])
        return {"budgets": budgets, "methods": parts, "paths": paths}

    settings = run.settings("rows", network=network.digest, device=run.device, methods=list(pieces))
    settings |= {"slow": list(SLOW), "kept": "errors of every row, gaps"}
    run.whole(f"{dataset.name}-time-{run.device}", settings, pieces, join, code="times")


PEERS_BUDGETS = (100, 300, 1000, 3000)


def peers_against_time(dataset: Dataset, network: Network, run: Run) -> None:
    """The same of the peers, in the environment that has them: row by row on the network in numpy,
    timed once.
    """
    rows = some_rows(dataset, run.size.rows)
    games = [numpy_row(network, row) for row in rows]
    truth = exact(table(network, rows)).T

    def piece(method: Callable[[RowGame, int, int], Any]) -> Result:
        errors, gaps, taken = [], [], []
        for budget in PEERS_BUDGETS:
            began = time.process_time()
            found = np.stack([method(game, budget, seed) for seed, game in enumerate(games)])
            taken.append(1000 * (time.process_time() - began) / len(rows))
            errors.append(np.mean((found - truth) ** 2, axis=1))
            gaps.append(float(np.abs(found.sum(axis=1) - truth.sum(axis=1)).mean()))
        return {"milliseconds": taken, "errors": np.array(errors), "gaps": gaps}

    pieces = {key: partial(piece, partial(by_peer, each)) for key, each in THEIRS.items()}
    versions = {each: version(each) for each in ("shap", "shapiq")}
    known = {"network": network.digest, "budgets": PEERS_BUDGETS, "versions": versions}
    settings = run.settings("rows", methods=list(THEIRS), **known)
    run.whole(
        f"{dataset.name}-time-peers", settings, pieces, lambda parts: {"methods": parts}, "other"
    )


# --- evaluations for a stated accuracy
# --------------------------------------------------------------------------------------


TOLERANCES = ("5%", "2%", "1%")
ASKED: dict[str, Any] = {
    "castro": owenshap.Castro(),
    "castro-antithetic": owenshap.Castro(antithetic=True),
    "owen-corrected": "owen",
    "halved-owen-corrected": "halved-owen",
    "gaussian-process": "gaussian-process",
    "gaussian-process-corrected": "gaussian-process-corrected",
    "default": "auto",
}
MOST_EVALUATIONS = 2_000_000


def asked(games: Contest, run: Run) -> None:
    """How many evaluations each method takes until its intervals say 5, 2, 1 % of the range, and
    how often all values were within it.
    """
    rows = games.rows
    truths = field_truth(games, run)

    def piece(method: Any) -> Result:
        asked_for = [
            (place, tolerance) for tolerance in reversed(TOLERANCES) for place in range(len(rows))
        ]  # the longest first
        found = spread(
            partial(one_asked, games.name, method),
            [games.network(place) for place, _ in asked_for],
            [place for place, _ in asked_for],
            [rows[place] for place, _ in asked_for],
            [truths[place] for place, _ in asked_for],
            [tolerance for _, tolerance in asked_for],
        )
        every = dict(zip(asked_for, found, strict=True))
        return {
            what: np.array(
                [[every[place, each][what] for each in TOLERANCES] for place in range(len(rows))]
            )
            for what in every[asked_for[0]]
        }

    def join(parts: dict[str, Result]) -> Result:
        n_players = len(truths[0])
        until = Until(tolerance=TOLERANCES[-1])
        choices = [chosen(n_players, MOST_EVALUATIONS, seconds, until) for seconds in (0.0, COSTLY)]
        found = {"tolerances": list(TOLERANCES), "rows": len(rows), "chosen": choices}
        return {**found, "networks": len(games.networks), "methods": parts}

    settings = {
        **games.known,
        "methods": list(ASKED),
        "most": MOST_EVALUATIONS,
        "kept": "what was allowed, gaps, what the default takes",
    }
    pieces = {key: partial(piece, method) for key, method in ASKED.items()}
    run.whole(f"{games.name}-tolerance", settings, pieces, join, code="default")


def one_asked(
    name: str, method: Any, network: Network, seed: int, row: Any, truth: Any, tolerance: str
) -> dict[str, float]:
    """What one row took until its intervals said so, and how far it really was off."""
    if name == "cc":
        game: Any = owenshap.TableGame(table(network, row[None])[:, 0])
    else:
        drawn = game_of(network, row, "cpu")
        game = owenshap.FunctionGame(drawn.values, drawn.n_players)
    found = owenshap.estimate(
        game, method, tolerance=tolerance, budget=MOST_EVALUATIONS, seed=seed, progress=False
    )
    held = (found.lower <= truth) & (truth <= found.upper)
    return {
        "evaluations": float(found.evaluations),
        "off": float(np.abs(found.values - truth).max()),
        "gap": float(np.abs(found.gap)),
        "allowed": float(np.max(found.tolerances)),
        "inside": float(np.mean(held)),
        "reached": float(str(found.stopped_by).startswith("tolerance")),
    }


# --- deeper models
# --------------------------------------------------------------------------------------


def compare_games(games: list[RowGame], truths: list[Any], samples: int, times: int) -> Result:
    """Squared errors and gaps (rows,) of every variant at equal samples and at equal evaluations;
    and what is due, v(N) − v(∅).
    """
    errors: dict[str, list[float]] = {}
    gaps: dict[str, list[float]] = {}
    for place, (game, truth) in enumerate(zip(games, truths, strict=True)):
        budget = 2 + samples * (game.n_players - 1)
        for key, variant in VARIANTS.items():
            for kind, count in (
                ("samples", samples),
                ("evaluations", variant.within(game.n_players, budget)),
            ):
                rng = np.random.default_rng((DRAWS_SEED, place))
                found = estimates(game, *variant.make(count), times, rng)
                missed = np.abs(found.sum(axis=1) - truth.sum())
                errors.setdefault(f"{key} {kind}", []).append(float(np.mean((found - truth) ** 2)))
                gaps.setdefault(f"{key} {kind}", []).append(float(np.mean(missed)))
    return {
        "errors": {key: np.asarray(each) for key, each in errors.items()},
        "gaps": {key: np.asarray(each) for key, each in gaps.items()},
        "due": np.array([each.sum() for each in truths]),
    }


SAMPLES, TIMES = 200, 20  # of every variant, and how often each is estimated
DEEP_NETWORKS = 3  # of every model, from seeds of their own and, on CC, on splits of their own
WIDE_ROWS = 6  # of each: 2²⁴ coalitions
TREE_ROWS = 20  # of each: exact values of trees take no time
RESIDUAL_CNN, DEEP_EPOCHS = "rescnn 16", 3


def boosted(folder: Path | None, run: Run) -> None:
    """All 23 columns of CC with boosted trees in log-odds: exact values from the trees."""

    def one(seed: int) -> Result:
        from xgboost import XGBClassifier

        dataset = credit_cards(folder, seed, features=23)
        rows, labels = dataset.fitting
        model = XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.1, random_state=seed)
        model.fit(rows[:, 1:], labels)
        some = some_rows(dataset, TREE_ROWS)[:, 1:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # log-odds are what is meant
            explainer = owenshap.Explainer(model, np.zeros((1, 23)))
        truths = list(explainer(some, method="trees", progress=False).values)

        def of_row(row: Any) -> ValuesRow:
            def values(coalitions: Any) -> Any:
                inputs = np.where(coalitions, row, 0.0)
                return model.predict(inputs, output_margin=True).astype(np.float64)

            return ValuesRow(values, 23)

        games: list[Any] = [of_row(row) for row in some]
        accuracy = float(np.mean(model.predict(dataset.test[0][:, 1:]) == dataset.test[1]))
        return {**compare_games(games, truths, SAMPLES, TIMES), "test": accuracy}

    _several_step("cc23-trees-ratios", one, {"rows": TREE_ROWS}, run)


def wide_networks(folder: Path | None, run: Run) -> None:
    """All 23 columns of CC with the paper's network: 24 players, exact over 2²⁴ coalitions."""
    from reproduction.training import fit, score

    def one(seed: int) -> Result:
        dataset = credit_cards(folder, seed, features=23)
        network = fit("mlp 13-9", dataset, seed=seed, epochs=20, device=run.device)
        some = some_rows(dataset, WIDE_ROWS)
        games = [LinearFirstGame(network, row, run.device) for row in some]
        truths = [all_values(game) for game in games]
        found = compare_games(list(games), truths, SAMPLES, TIMES)
        return {**found, "test": score(network, dataset.test, run.device)}

    _several_step("cc23-mlp-ratios", one, {"rows": WIDE_ROWS}, run)


def all_values(game: RowGame) -> Any:
    """Exact values (n,) of a row game, over all its coalitions."""
    function = owenshap.FunctionGame(game.values, game.n_players)
    return owenshap.estimate(function, "exact", progress=False).values


def residual_mlps(folder: Path | None, run: Run) -> None:
    """Residual MLPs on CC, each on a split of its own; 16 players, exact by enumeration."""
    architecture = REPORTED["cc"][1]
    _deep("cc-residual-ratios", partial(credit_cards, folder), architecture, None, run)


def cnns(folder: Path | None, run: Run) -> None:
    """CNNs on MNIST, 16 patches for players, exact by enumeration: that of the table, and one with
    residual blocks.
    """
    dataset, members = load("mnist", folder), patch_members(28)
    kinds = {"mnist-cnn-ratios": REPORTED["mnist"][1], "mnist-rescnn-ratios": RESIDUAL_CNN}
    for name, architecture in kinds.items():
        _deep(name, lambda _: dataset, architecture, members, run)


def embedded(name: str, run: Run) -> None:
    """The networks of a data set that comes with scikit-learn, each on a split of its own; of
    images with patches for players.
    """
    side = load(name).side
    for architecture in REPORTED[name] if side is None else REPORTED[name][1:]:
        step = f"{name}-{architecture.partition(' ')[0]}-ratios"
        members = None if side is None else patch_members(side)
        _deep(step, lambda seed: load(name, seed=seed), architecture, members, run)


def _deep(
    name: str,
    dataset_of: Callable[[int], Dataset],
    architecture: str,
    members: Any,
    run: Run,
) -> None:
    """Networks of several seeds, from the values of all coalitions of each row."""
    from reproduction.training import fit, score

    epochs = EPOCHS.get(architecture.partition(" ")[0], DEEP_EPOCHS)
    n_rows = max(2, run.size.rows // 5)

    def one(seed: int) -> Result:
        dataset = dataset_of(seed)
        network = fit(architecture, dataset, seed=seed, epochs=epochs, device=run.device)
        values = table(network, some_rows(dataset, n_rows), run.device, members)
        return {**of_tables(values), "test": score(network, dataset.test, run.device)}

    settings = {"rows": n_rows, "epochs": epochs, "architecture": architecture}
    _several_step(name, one, settings, run)


def of_tables(values: Any) -> Result:
    """Squared errors of every variant, from the values (2ⁿ, rows) of all coalitions."""
    games = [TableRow(np.ascontiguousarray(each)) for each in values.T]
    return compare_games(list(games), list(exact(values).T), SAMPLES, TIMES)


def transformers(_: Path | None, run: Run) -> None:
    """Small transformers on text of a planted grammar, tokens for players, exact at 14 tokens."""
    from reproduction import text

    def one(seed: int) -> Result:
        model, accuracy = text.trained(seed, run.device)
        sentences = text.sentences(max(2, run.size.rows // 5), np.random.default_rng(ROWS_SEED))[0]
        return {**of_tables(text.table(model, sentences, run.device)), "test": accuracy}

    _several_step("text-transformer-ratios", one, {"rows": max(2, run.size.rows // 5)}, run)


def _several_step(
    name: str, one: Callable[[int], Result], settings: dict[str, Any], run: Run
) -> None:
    """A table of ratios over networks of several seeds, errors (networks, rows)."""

    def join(parts: dict[str, Result]) -> Result:
        every = list(parts.values())
        return {
            **{
                what: {
                    key: np.stack([np.asarray(part[what][key]) for part in every])
                    for key in every[0][what]
                }
                for what in ("errors", "gaps")
            },
            "due": np.stack([np.asarray(part["due"]) for part in every]),
            "test": [part["test"] for part in every],
            "samples": SAMPLES,
        }

    known = {
        "samples": SAMPLES,
        "times": TIMES,
        "seed": ROWS_SEED,
        "variants": list(VARIANTS),
        **settings,
        "networks": DEEP_NETWORKS,
        "kept": "gaps",
    }
    pieces = {f"seed {seed}": partial(one, seed) for seed in range(DEEP_NETWORKS)}
    run.whole(name, known, pieces, join)


Part = Callable[[Path | None, Run, Callable[[Dataset], Network]], None]
"""From the folder of the data, a run, and the network of a data set."""


def of_both(part: Callable[[Contest, Run], None]) -> Part:
    """A part that is run on CC and on MNIST."""

    def both(folder: Path | None, run: Run, network: Callable[[Dataset], Network]) -> None:
        for name in ("cc", "mnist"):
            part(contest(name, folder, network(load(name, folder)), run), run)

    return both


def timed(folder: Path | None, run: Run, network: Callable[[Dataset], Network]) -> None:
    """Error against time on CC; in the environment that has them, of the peers."""
    dataset = load("cc", folder)
    here = against_time if find_spec("shapiq") is None else peers_against_time
    here(dataset, network(dataset), run)


def models(folder: Path | None, run: Run, network: Callable[[Dataset], Network]) -> None:
    """Deeper models, boosted trees where xgboost is, and several networks of MNIST."""
    for part in (transformers, wide_networks, residual_mlps, cnns):
        part(folder, run)
    digits = load("mnist", folder)
    several.of_images(digits, network(digits).architecture, run)
    if find_spec("xgboost") is not None:
        boosted(folder, run)
    else:
        run.say("cc23-trees-ratios: xgboost is not installed here; run it where it is")


PARTS: dict[str, Part] = {
    "field": of_both(field),
    "time": timed,
    "tolerance": of_both(asked),
    "models": models,
}


def experiments(
    which: list[str], folder: Path | None, run: Run, network: Callable[[Dataset], Network]
) -> None:
    """The parts asked for, or all."""
    for name in which or PARTS:
        PARTS[name](folder, run, network)
