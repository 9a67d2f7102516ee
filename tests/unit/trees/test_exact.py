"""Values against rational arithmetic, by every way of computing them."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import chain, random_ensemble, random_rows, values
from slow import exact_values, leaf_by_leaf

from owenshap.errors import InputError
from owenshap.support.arrays import CALL_NUMBERS
from owenshap.trees import cells
from owenshap.trees.exact import TreeGame, baseline_values
from owenshap.trees.prepared import Prepared
from owenshap.trees.work import PER_SPLIT, WalkWork

CLOSE = 1e-12  # of the largest value


def agree(found: Any, true: Any, scale: float = 1.0) -> None:
    assert np.abs(found - true).max() <= CLOSE * max(scale, np.abs(true).max())


@pytest.fixture(params=["tables", "no tables", "mixed"])
def way(request: Any, monkeypatch: Any) -> str:
    """Which leaves have tables: all, none, or those with few players."""
    most = {"tables": 30, "no tables": 0, "mixed": 2}[request.param]

    def walking(block: Any, *_: Any) -> WalkWork:
        free = np.zeros(len(block))
        return WalkWork(np.where(block.players > most, free, 1e30), free, free)

    monkeypatch.setattr("owenshap.trees.prepared.pair_work", walking)
    monkeypatch.setattr("owenshap.trees.prepared.path_work", walking)
    return str(request.param)


SHAPES = [
    {},
    {"trees": 1, "depth": 8, "features": 5, "leafy": 0.3},
    {"trees": 4, "depth": 3, "features": 3, "outputs": 3},
    {"trees": 3, "depth": 3, "features": 3, "outputs": 2, "vector": True},
    {"trees": 3, "depth": 4, "features": 4, "categorical": True},
    {"trees": 3, "depth": 3, "features": 1},
    {"trees": 5, "depth": 1, "features": 2, "leafy": 0.5},
    {"trees": 2, "depth": 0},
    {"trees": 0},
]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 1])
def test_with_a_background(shape: dict[str, Any], seed: int) -> None:
    ensemble = random_ensemble(seed, **shape)
    rows = random_rows(seed + 10, 3, ensemble.n_features)
    background = random_rows(seed + 20, 5, ensemble.n_features)
    weights = np.array([1.0, 0.0, 2.5, 1.0, 0.5]) if seed else None
    found, base = values(ensemble, rows, background, weights)
    for row, each in zip(rows, found, strict=True):
        agree(each, exact_values(ensemble, row, background, weights))
    agree(base, np.average(ensemble.predict(background), axis=0, weights=weights))
    agree(found.sum(axis=1) + base, ensemble.predict(rows))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 1])
def test_by_cover(shape: dict[str, Any], seed: int) -> None:
    ensemble = random_ensemble(seed, **shape)
    rows = random_rows(seed + 10, 3, ensemble.n_features)
    found, base = values(ensemble, rows)
    for row, each in zip(rows, found, strict=True):
        agree(each, exact_values(ensemble, row))
    agree(found.sum(axis=1) + base, ensemble.predict(rows))


@pytest.mark.usefixtures("way")
def test_groups_of_columns() -> None:
    ensemble = random_ensemble(3, trees=3, depth=5, features=6)
    rows = random_rows(4, 3, 6)
    background = random_rows(5, 6, 6)
    players = [0, 1, 0, 2, 1, 0]
    found, _ = values(ensemble, rows, background, player_of=players)
    by_cover, _ = values(ensemble, rows, player_of=players)
    for row, each, other in zip(rows, found, by_cover, strict=True):
        agree(each, exact_values(ensemble, row, background, player_of=players))
        agree(other, exact_values(ensemble, row, player_of=players))


@pytest.mark.usefixtures("way")
def test_a_question_asked_twice() -> None:
    """As symmetric trees may: some leaves cannot be reached, by any mixture of rows."""
    ensemble = random_ensemble(25, trees=2, depth=4, features=3, leafy=0.0)
    ensemble = replace(
        ensemble,
        threshold=np.zeros(len(ensemble.left)),
        missing_left=np.ones(len(ensemble.left), np.bool_),
    )
    rows = random_rows(26, 4, 3)
    background = random_rows(27, 6, 3)
    found, base = values(ensemble, rows, background)
    for row, each in zip(rows, found, strict=True):
        agree(each, exact_values(ensemble, row, background))
    agree(found.sum(axis=1) + base, ensemble.predict(rows))


@pytest.mark.usefixtures("way")
def test_nodes_that_no_path_leads_to() -> None:
    """Pruned trees of xgboost keep them."""
    ensemble = random_ensemble(28, trees=1, depth=4, features=3)
    spare = {
        "left": -1,
        "right": -1,
        "feature": -1,
        "threshold": 0.0,
        "missing_left": False,
        "cover": 5.0,
    }
    more = {name: np.append(getattr(ensemble, name), [value] * 3) for name, value in spare.items()}
    longer = replace(ensemble, **more, values=np.append(ensemble.values, np.ones((3, 1)), axis=0))
    rows = random_rows(29, 4, 3)
    for background in (None, random_rows(30, 6, 3)):
        for one, other in zip(
            values(ensemble, rows, background), values(longer, rows, background), strict=True
        ):
            agree(one, other)


def test_many_columns_of_which_few_count() -> None:
    ensemble = random_ensemble(31, trees=5, depth=4, features=2000)
    rows = random_rows(32, 3, 2000)
    background = random_rows(33, 5, 2000)
    found, base = values(ensemble, rows, background)
    assert found.shape == (3, 2000, 1)
    agree(found.sum(axis=1) + base, ensemble.predict(rows))
    assert not found[:, np.setdiff1d(np.arange(2000), ensemble.feature)].any()


def test_a_baseline_for_each_row() -> None:
    ensemble = random_ensemble(14, trees=30, depth=4, features=5, outputs=2)
    rows = random_rows(15, 300, 5)
    baselines = random_rows(16, 300, 5)
    found, base = baseline_values(ensemble, rows, baselines)
    agree(base, ensemble.predict(baselines))
    agree(found.sum(axis=1) + base, ensemble.predict(rows))
    for row in (0, 1, 299):
        one = slice(row, row + 1)
        agree(found[row], exact_values(ensemble, rows[row], baselines[one]))
        agree(found[one], values(ensemble, rows[one], baselines[one])[0])
        assert np.array_equal(found[one], baseline_values(ensemble, rows[one], baselines[one])[0])
    with pytest.raises(InputError, match="baselines"):
        baseline_values(ensemble, rows, baselines[:5])


@pytest.mark.usefixtures("way")
def test_a_large_background_walks_in_parts(monkeypatch: Any) -> None:
    ensemble = random_ensemble(17, trees=2, depth=5, features=4)
    rows = random_rows(18, 4, 4)
    background = random_rows(19, 50, 4)
    weights = np.arange(50.0)
    whole, _ = values(ensemble, rows, background, weights)
    monkeypatch.setattr("owenshap.trees.pairs.VISITS", 16)
    agree(values(ensemble, rows, background, weights)[0], whole)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("way", ["no tables", "mixed"], indirect=True)
@pytest.mark.parametrize("depth", [20, 100])
def test_chains(depth: int) -> None:
    ensemble = chain(0, depth, 8)
    rows = random_rows(1, 2, 8)
    background = random_rows(2, 4, 8)
    found, _ = values(ensemble, rows, background)
    by_cover, _ = values(ensemble, rows)
    for row, each, other in zip(rows, found, by_cover, strict=True):
        agree(each, exact_values(ensemble, row, background))
        agree(other, exact_values(ensemble, row))


@pytest.mark.parametrize("players", [30, 100])
def test_chains_of_many_players(players: int) -> None:
    """Far beyond tables and the definition; values by cover must add up."""
    ensemble = chain(3, players, players)
    rows = random_rows(4, 2, players)
    background = random_rows(5, 3, players)
    found, _ = values(ensemble, rows, background)
    for row, each in zip(rows, found, strict=True):
        agree(each, leaf_by_leaf(ensemble, row, background))
    by_cover, base = values(ensemble, rows)
    agree(by_cover.sum(axis=1) + base, ensemble.predict(rows))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("features", [5, 12])
def test_trees_of_depth_12(features: int) -> None:
    ensemble = random_ensemble(34, trees=2, depth=12, features=features, leafy=0.15)
    assert (ensemble.left < 0).sum() > 100
    rows = random_rows(35, 2, features)
    background = random_rows(36, 3, features)
    found, _ = values(ensemble, rows, background)
    for row, each in zip(rows, found, strict=True):
        agree(each, leaf_by_leaf(ensemble, row, background))


def test_two_slow_formulas_agree() -> None:
    ensemble = random_ensemble(11, trees=2, depth=5, features=5)
    rows = random_rows(12, 2, 5)
    background = random_rows(13, 4, 5)
    for row in rows:
        agree(leaf_by_leaf(ensemble, row, background), exact_values(ensemble, row, background))


@pytest.mark.parametrize("background", [None, random_rows(7, 9, 5)])
@pytest.mark.usefixtures("way")
def test_rows_do_not_know_each_other(background: Any) -> None:
    ensemble = random_ensemble(6, trees=20, depth=5, features=5, outputs=2)
    rows = random_rows(8, 300, 5)
    game = TreeGame.of(ensemble, background)
    together = game.values(rows)
    for part in (slice(0, 1), slice(1, 3), slice(3, 10), slice(250, 300)):
        assert np.array_equal(game.values(rows[part]), together[part])
    assert np.array_equal(game.values(rows[::-1]), together[::-1])
    without_room = TreeGame.of(ensemble, background, memory=0)
    assert np.array_equal(without_room.values(rows), together)
    assert np.array_equal(without_room.base, game.base)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    depth=st.integers(1, 7),
    features=st.integers(1, 9),
    categorical=st.booleans(),
)
def test_tables_and_walks_agree(seed: int, depth: int, features: int, categorical: bool) -> None:
    ensemble = random_ensemble(
        seed, trees=6, depth=depth, features=features, categorical=categorical, outputs=2
    )
    rows = random_rows(seed + 1, 6, features)
    background = random_rows(seed + 2, 8, features)
    for absent in (background, None):
        by_tables = values(ensemble, rows, absent)
        with pytest.MonkeyPatch.context() as patch:
            walks_only(patch)
            by_walks = values(ensemble, rows, absent)
        agree(by_tables[0], by_walks[0])
        agree(by_tables[1], by_walks[1])


def walks_only(patch: Any) -> None:
    def free(block: Any, *_: Any) -> WalkWork:
        none = np.where(block.players > 0, 0.0, np.inf)
        return WalkWork(none, none, none)

    patch.setattr("owenshap.trees.prepared.pair_work", free)
    patch.setattr("owenshap.trees.prepared.path_work", free)


def test_memory_is_bounded() -> None:
    """Tables are made in parts, and as many kept as there is room for."""
    ensemble = random_ensemble(20, trees=25, depth=12, features=12, leafy=0.1)
    rows = random_rows(21, 20, 12)
    game = TreeGame.of(ensemble, random_rows(22, 300, 12), memory=100_000_000)
    tables = sum(each.size for each in game.prepared)
    tracemalloc.start()
    game.values(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert tables > 36_000_000
    assert peak < 100_000_000


def test_work_is_predicted_within_reason() -> None:
    """Deep trees cost more per row than stumps; sampling costs what its walks come by."""
    background = random_rows(23, 50, 6)
    stumps = TreeGame.of(random_ensemble(24, trees=50, depth=1, features=6, leafy=0), background)
    deep = TreeGame.of(random_ensemble(24, trees=50, depth=12, features=6, leafy=0.1), background)
    assert 0 < stumps.work < deep.work
    assert stumps.sampled_work(10) == 10 * 50 * 50 * PER_SPLIT
    assert stumps.sampled_work(10) < deep.sampled_work(10)


def test_pairs_that_part_often_are_more_work_than_sampling() -> None:
    """In a full tree a pair comes to 1.5 times as many leaves with each level."""
    background = random_rows(24, 20, 40)
    shallow, deep = (
        TreeGame.of(random_ensemble(25, 1, depth, 40, leafy=0), background) for depth in (4, 14)
    )
    assert shallow.work < shallow.sampled_work(100)
    assert deep.work > deep.sampled_work(100)


@pytest.mark.parametrize("vector", [False, True])
def test_splits_with_two_leaves(vector: bool) -> None:
    """Their player may be new on the path, or asked before; both kinds have tables of their own."""
    shape = {"trees": 6, "depth": 5, "features": 4, "outputs": 2, "vector": vector}
    ensemble = random_ensemble(37, **shape, leafy=0.1)
    rows = random_rows(38, 5, 4)
    background = random_rows(39, 6, 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("owenshap.trees.work.PER_OWN_ENTRY", 0.0)
        game = TreeGame.of(ensemble, background, np.arange(1.0, 7.0))
        found = game.values(rows)
    kinds = {each.own for prepared in game.prepared for each in prepared.plan.cells}
    assert {1, 2} <= kinds
    for row, each in zip(rows, found, strict=True):
        agree(each, exact_values(ensemble, row, background, np.arange(1.0, 7.0)))
    agree(found.sum(axis=1) + game.base, ensemble.predict(rows))


def test_cells_are_cheaper_than_leaves() -> None:
    """A symmetric tree asks few questions: one cell holds all of its leaves."""
    ensemble = random_ensemble(9, trees=1, depth=3, features=3, leafy=0.0)
    game = TreeGame.of(ensemble, random_rows(1, 5, 3))
    prepared = game.prepared[0].plan
    assert sum(len(each.sources) for each in prepared.cells) < sum(
        len(each.leaves) for each in prepared.cells
    )
    assert max(each.bits for each in prepared.cells) <= cells.MOST_BITS


def test_bad_input_is_named() -> None:
    ensemble = random_ensemble(0)
    rows = random_rows(0, 2, 4)
    with pytest.raises(InputError, match="4 columns"):
        values(ensemble, rows[:, :3], rows)
    with pytest.raises(InputError, match="at least one row"):
        values(ensemble, rows, rows[:0])
    with pytest.raises(InputError, match="weights"):
        values(ensemble, rows, rows, weights=[1.0])
    with pytest.raises(InputError, match="player_of"):
        values(ensemble, rows, rows, player_of=[0, 1])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    depth=st.integers(1, 9),
    features=st.integers(1, 12),
    vector=st.booleans(),
    size=st.integers(1, 400),
    weighted=st.booleans(),
)
def test_with_and_without_tables_rows_have_the_same_bits(
    seed: int, depth: int, features: int, vector: bool, size: int, weighted: bool
) -> None:
    shape = {"depth": depth, "features": features, "vector": vector}
    ensemble = random_ensemble(seed, trees=4, outputs=2, leafy=0.1, **shape)
    rows = random_rows(seed + 1, 6, features)
    background = random_rows(seed + 2, size, features)
    weights = 1 + np.arange(size) % 5 if weighted else None
    found = []
    for without in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Prepared, "_sooner_without", lambda *_, answer=without: answer)
            found.append(TreeGame.of(ensemble, background, weights).values(rows))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("rows", [1, 400])
def test_weights_that_are_whole_numbers_count_as_rows(rows: int) -> None:
    ensemble = random_ensemble(3, trees=3, depth=9, features=9, leafy=0.1)
    explained = random_rows(4, rows, 9)
    background = random_rows(5, 100, 9)
    counts = np.array([0, 2, 3, 5] * 25)
    weighted = TreeGame.of(ensemble, background, counts * 0.1)
    repeated = TreeGame.of(ensemble, np.repeat(background, counts, axis=0))
    np.testing.assert_array_equal(weighted.values(explained), repeated.values(explained))
    assert not weighted.prepared[0].plan.deep.any()
    assert bool(weighted.prepared[0]._tables) == (rows == 400)


def test_other_weights_are_no_rows() -> None:
    ensemble = random_ensemble(3)
    background = random_rows(5, 5, ensemble.n_features)
    for weights in (np.sqrt(np.arange(1.0, 6)), [1e-300, 1, 1, 1, 1], [1, 1, 1, 1, 1e6]):
        assert not TreeGame.of(ensemble, background, weights).prepared[0].counted.whole


def test_few_rows_do_without_tables() -> None:
    """One after the other, too, until tables are less work."""
    ensemble = random_ensemble(3, trees=3, depth=9, features=9, leafy=0.1)
    rows = random_rows(4, 400, 9)
    background = random_rows(5, 100, 9)
    at_once = TreeGame.of(ensemble, background)
    whole = at_once.values(rows)
    assert all(each._tables for each in at_once.prepared)
    in_parts = TreeGame.of(ensemble, background)
    np.testing.assert_array_equal(in_parts.values(rows[:7]), whole[:7])
    np.testing.assert_array_equal(in_parts.values(rows[7:8]), whole[7:8])
    assert not any(each._tables for each in in_parts.prepared)
    np.testing.assert_array_equal(in_parts.values(rows[8:]), whole[8:])
    assert all(each._tables for each in in_parts.prepared)
    np.testing.assert_array_equal(in_parts.base, at_once.base)


def test_rows_that_meet_no_background_row_where_leaves_add_something() -> None:
    ensemble = random_ensemble(50, trees=1, depth=3, leafy=0.0)
    rows = random_rows(51, 1, ensemble.n_features)
    (reached,) = ensemble.leaves(ensemble.matrix(rows)).ravel()
    other = np.flatnonzero((ensemble.left < 0) & (np.arange(len(ensemble.left)) != reached))[:1]
    only = np.zeros_like(ensemble.values)
    only[other] = 1.0
    found, base = values(replace(ensemble, values=only), rows, rows)
    assert not found.any()
    np.testing.assert_array_equal(base, ensemble.base)


@pytest.mark.parametrize(("busy", "made"), [(CALL_NUMBERS, False), (0, True)])
def test_small_tables_are_not_made_for_a_few_rows(busy: int, made: bool) -> None:
    """Calls of numpy take longer than what they compute."""
    ensemble = random_ensemble(40, trees=20, depth=4, features=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("owenshap.trees.prepared.CALL_NUMBERS", busy)
        game = TreeGame.of(ensemble, random_rows(41, 100, 5))
        game.values(random_rows(42, 10, 5))
    assert bool(game.prepared[0]._tables) == made


@pytest.mark.parametrize("with_background", [True, False])
def test_of_two_outputs_with_one_sum_the_second_is_computed(with_background: bool) -> None:
    both = random_ensemble(6, trees=3, depth=5, features=4, outputs=2, vector=True)
    total = np.array([0.25, 0.5, 0.125])[both.tree_of]
    leaves = both.left < 0
    first = np.where(leaves, total - both.values[:, 1], 0.0)
    pair = replace(both, values=np.column_stack([first, both.values[:, 1]]))
    rows = random_rows(7, 5, 4)
    background = random_rows(8, 6, 4) if with_background else None
    game = TreeGame.of(pair, background)
    assert game.ensemble.n_outputs == 1
    found = game.values(rows)
    for row, each in zip(rows, found, strict=True):
        agree(each, exact_values(pair, row, background))
    agree(found.sum(axis=1) + game.base, pair.predict(rows))
    if background is not None:
        alone, base = baseline_values(pair, rows, rows[::-1])
        agree(alone.sum(axis=1) + base, pair.predict(rows))
    assert TreeGame.of(both, background).ensemble is both
