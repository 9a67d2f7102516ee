"""What an estimate costs beyond the model: owenshap and the peers against the bare network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import shap
import shapiq

import owenshap
from benchmarks.core.networks import CREDIT_CARDS, Counted, Masked, Network, ready_rows
from benchmarks.core.timing import Times, race, ratio

EVALUATIONS = 34_000
TURNS, TURNS_WITH_PEERS = 60, 9
Explain = Callable[[Counted], np.ndarray]


@dataclass(frozen=True)
class Contender:
    """A way to the Shapley values of the game."""

    name: str
    takes: str
    """'rows' where it masks rows itself and calls the network, 'coalitions' where it calls the
    game.
    """
    explain: Explain
    tolerance: float
    """How far its values may be from the exact ones, so that no wrong answer is timed."""


def measure(game: Masked | None = None) -> dict[str, object]:
    """Both races, sampling and exact."""
    game = game or Masked(Network(CREDIT_CARDS))
    exact = owenshap.estimate(game, "exact").values
    return {
        "sampling": _measure(game, exact, _ours_sampling(game), _peers_sampling(game)),
        "exact": _measure(game, exact, _ours_exact(game), _peers_exact(game)),
    }


def _measure(
    game: Masked, exact: np.ndarray, ours: list[Contender], peers: list[Contender]
) -> dict[str, object]:
    calls = {each.name: _checked_calls(each, game, exact) for each in [*ours, *peers]}
    rows = ready_rows(game, max(sum(each) for each in calls.values()))
    alone = [_against_bare(each, game, rows, calls[each.name], TURNS) for each in ours]
    beside = {each.name: _runner(each, game) for each in [*ours, *peers]}
    count = sum(calls[ours[0].name])
    times = race({"bare": lambda: game.network(rows[:count]), **beside}, TURNS_WITH_PEERS)
    bare = times.pop("bare")
    return {
        "against_bare": alone,
        "bare_beside_peers": {"rows": count, **bare.summary()},
        "beside_peers": [
            _beside(name, each, calls[name], bare, count, times[ours[0].name])
            for name, each in times.items()
        ],
    }


def _checked_calls(contender: Contender, game: Masked, exact: np.ndarray) -> list[int]:
    """The sizes of all calls of the model, of a run whose answer is checked."""
    counted = _counted(contender, game)
    error = np.abs(contender.explain(counted) - exact).max()
    if error > contender.tolerance:
        raise RuntimeError(
            f"{contender.name} is off by {error:.2g}, more than {contender.tolerance:.2g}: "
            "nothing to time"
        )
    return counted.calls


def _counted(contender: Contender, game: Masked) -> Counted:
    return Counted(game.network if contender.takes == "rows" else game.values)


def _runner(contender: Contender, game: Masked) -> Callable[[], object]:
    return lambda: contender.explain(_counted(contender, game))


def _against_bare(
    contender: Contender, game: Masked, rows: np.ndarray, calls: list[int], turns: int
) -> dict[str, object]:
    """Whole time against the game's function on as many ready coalitions and the bare network on as
    many ready rows, in one call and in the calls that owenshap makes."""
    count, edges = sum(calls), list(accumulate(calls, initial=0))
    parts = [rows[start:stop] for start, stop in pairwise(edges)]
    coalitions, everything = [part != 0 for part in parts], rows[:count] != 0
    contenders = {
        "whole": _runner(contender, game),
        "game_one_call": lambda: game.values(everything),
        "bare_one_call": lambda: game.network(rows[:count]),
        "bare_same_calls": lambda: [game.network(part) for part in parts],
        "game_same_calls": lambda: [game.values(part) for part in coalitions],
    }
    times = race(contenders, turns)
    whole, bare = (times[name].summary()["best"] for name in ("whole", "bare_same_calls"))
    return {
        "name": contender.name,
        "evaluations": count,
        "calls": len(calls),
        "turns": turns,
        "nanoseconds_per_evaluation_bare": bare / count * 1e9,
        "nanoseconds_per_evaluation_overhead": (whole - bare) / count * 1e9,
        "ratios": {
            name: ratio(times["whole"], times[name]) for name in contenders if name != "whole"
        },
        "seconds": {name: each.summary() for name, each in times.items()},
    }


def _beside(
    name: str, times: Times, calls: list[int], bare: Times, bare_rows: int, ours: Times
) -> dict[str, object]:
    evaluations = sum(calls)
    # contenders differ by a few evaluations: compare time per evaluation
    scale = bare_rows / evaluations
    to_bare = {key: value * scale for key, value in ratio(times, bare).items()}
    return {
        "name": name,
        "evaluations": evaluations,
        "calls": len(calls),
        "turns": len(times.seconds),
        "seconds": times.summary(),
        "ratio_to_bare": to_bare,
        "ratio_to_owenshap": {key: value * scale for key, value in ratio(times, ours).items()},
    }


def _ours(
    name: str, game: Masked, tolerance: float, *args: object, **settings: object
) -> Contender:
    def explain(counted: Counted) -> np.ndarray:
        function_game = owenshap.FunctionGame(counted, game.n_players)
        return owenshap.estimate(function_game, *args, progress=False, **settings).values

    return Contender(name, "coalitions", explain, tolerance)


def _ours_sampling(game: Masked) -> list[Contender]:
    table = owenshap.HalvedOwen(levels=1000, per_level=2)
    return [
        _ours("owenshap halved-owen", game, 5e-3, "halved-owen", budget=EVALUATIONS),
        _ours("owenshap halved-owen, one pass of Q = 1000, M = 2", game, 5e-3, table),
        _ours("owenshap owen", game, 5e-3, "owen", budget=EVALUATIONS),
        _ours("owenshap castro", game, 5e-3, "castro", budget=EVALUATIONS),
    ]


def _ours_exact(game: Masked) -> list[Contender]:
    return [_ours("owenshap exact", game, 1e-12, "exact")]


def _peers_sampling(game: Masked) -> list[Contender]:
    """The peers as their users call them; where a setting makes one faster it is set."""
    n_players, baseline, row = game.n_players, np.zeros((1, game.n_players)), game.row[None]

    def shap_permutation(counted: Counted) -> np.ndarray:
        explainer = shap.PermutationExplainer(counted, baseline, seed=0)
        return explainer(row, max_evals=EVALUATIONS, silent=True).values[0]

    def shap_kernel(counted: Counted) -> np.ndarray:
        # By default it keeps 10 of the 16 values; l1_reg=False gives all of them.
        explainer = shap.KernelExplainer(counted, baseline)
        return explainer.shap_values(row, nsamples=EVALUATIONS, l1_reg=False, silent=True)[0]

    def shapiq_owen(counted: Counted) -> np.ndarray:
        sampler = shapiq.OwenSamplingSV(n_players, random_state=0)
        return sampler.approximate(EVALUATIONS, _for_shapiq(counted)).values[1:]

    def shapiq_permutation(counted: Counted) -> np.ndarray:
        sampler = shapiq.PermutationSamplingSV(n_players, random_state=0)
        return sampler.approximate(
            EVALUATIONS, _for_shapiq(counted), batch_size=EVALUATIONS // n_players
        ).values[1:]

    return [
        Contender("shap PermutationExplainer", "rows", shap_permutation, 5e-3),
        Contender("shap KernelExplainer", "rows", shap_kernel, 5e-3),
        Contender("shapiq OwenSamplingSV", "coalitions", shapiq_owen, 2e-2),
        Contender("shapiq PermutationSamplingSV", "coalitions", shapiq_permutation, 5e-3),
    ]


def _peers_exact(game: Masked) -> list[Contender]:
    n_players, baseline, row = game.n_players, np.zeros((1, game.n_players)), game.row[None]

    def shap_exact(counted: Counted) -> np.ndarray:
        return shap.ExactExplainer(counted, baseline)(
            row, max_evals=1 << n_players, silent=True
        ).values[0]

    def shapiq_exact(counted: Counted) -> np.ndarray:
        return shapiq.ExactComputer(_for_shapiq(counted), n_players=n_players)("SV", 1).values[1:]

    return [
        Contender("shap ExactExplainer", "rows", shap_exact, 1e-9),
        Contender("shapiq ExactComputer", "coalitions", shapiq_exact, 1e-9),
    ]


def _for_shapiq(game: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """shapiq's samplers hand a single coalition over as a vector."""
    return lambda coalitions: game(np.atleast_2d(coalitions))
