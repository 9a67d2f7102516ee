"""What the benchmark of interactions takes for exact is exact, and its table says what was measured."""

import json

import numpy as np

from benchmarks.accuracy.trees import LeafGame
from benchmarks.interactions import __main__ as bench
from benchmarks.interactions import choosing
from benchmarks.interactions.games import STRATA, _of_leaves, enumerated, unanimity_sum


def test_leaves_have_the_interactions_of_all_coalitions():
    rng = np.random.default_rng(0)
    involved = rng.integers(1, 64, 12).astype(np.uint64)
    members = involved & rng.integers(0, 64, 12).astype(np.uint64)
    game = LeafGame(members, involved, rng.normal(size=12), 0.3)
    assert np.allclose(_of_leaves(game, 6), enumerated(game, 6).pairs)


def test_unanimity_sums_have_the_interactions_of_all_coalitions():
    game = unanimity_sum(9, 27, 8, seed=1)
    assert np.allclose(game.pairs, enumerated(game.fn, 9).pairs)


def test_the_table_is_that_of_the_results():
    results = json.loads(bench.RESULTS.read_text())
    assert bench.TABLE.read_text() == bench.report(results)
    assert {*results["games"]} <= {name for names in STRATA.values() for name in names}
    assert all(one["peers"] for cells in results["games"].values() for one in cells.values())


def test_a_cell_is_behind_only_with_the_whole_interval():
    def one(ours, peer):
        return {"errors": ours, "peers": {"peer": {"error": float(np.mean(peer)), "errors": peer}}}

    assert bench.behind(one([2.0, 2.1, 1.9, 2.0], [1.0, 1.0, 1.1, 1.0]))
    assert not bench.behind(one([2.0, 0.1, 1.9, 0.2], [1.0, 1.0, 1.0, 1.0]))
    assert not bench.behind(one([1.0, 1.0, 1.0, 1.1], [2.0, 2.0, 2.1, 2.0]))


def test_no_game_of_the_table_was_chosen_by():
    chosen_by = {name for stratum in choosing.MODELS for name in choosing.names(stratum)}
    assert not chosen_by & {name for names in STRATA.values() for name in names}
    votes = next(choosing.games("rough", "votes-13"))
    assert votes.n_players == 13
    assert np.allclose(votes.pairs, votes.pairs.T)
