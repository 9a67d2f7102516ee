"""Exact Shapley values of a tree ensemble, from the trees themselves: no model is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from owenshap.errors import InputError
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.progress import pulse
from owenshap.trees.boxes import Block
from owenshap.trees.cells import Cells, plan
from owenshap.trees.device import OnDevice, room_on
from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.pairs import Walk, add_own_values, add_pair_values
from owenshap.trees.paths import Passes, add_cover_differences, add_path_values
from owenshap.trees.products import VALUES, Asked, Levels
from owenshap.trees.tables import Table, histograms, interventional, path_dependent
from owenshap.trees.work import (
    EXPECTED_ROWS,
    PER_SPLIT,
    pair_work,
    path_work,
    reached,
)

BLOCK_NODES = 1 << 15  # of a block of trees
ENTRY = 8  # bytes
WORKING = 64_000_000  # bytes that are needed beside tables that are kept
COPIES = 4  # of the pairs of a row that are there at a time
ROWS = 256  # looked up at a time, or
BITS = 1 << 23  # fewer where a block has so many nodes that its bits would not fit, but at least
FEWEST_ROWS = 8  # rows at a time
FEW_ROWS = 16  # so far: for more, it is sooner to fill tables of 2^7 entries than to do without
PASSES = 16  # times more room than bits that passes over deep trees need


def values(
    ensemble: TreeEnsemble,
    rows: object,
    background: object = None,
    weights: object = None,
    player_of: object = None,
    memory: int = 256_000_000,
) -> tuple[FloatArray, FloatArray]:
    """Exact Shapley values of rows (m, players, K) and their base values (K,).

    Parameters
    ----------
    ensemble : TreeEnsemble
        The model.
    rows : float (m, features)
        What is explained.
    background : float (b, features), optional
        Where absent players get their values from. Without it they follow the trees' own cover:
        path-dependent values.
    weights : float (b,), optional
        Of the background's rows; equal if not given.
    player_of : int (features,), optional
        The player of each column; each column is a player if not given.
    memory : int
        Bytes that working arrays may take.
    """
    game = TreeGame.of(ensemble, background, weights, player_of, memory)
    return game.values(rows), game.base


def baseline_values(
    ensemble: TreeEnsemble,
    rows: object,
    baselines: object,
    player_of: object = None,
    levels: Levels | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Exact values of rows (m, players, K) against a baseline each, and base values (m, K).

    Parameters
    ----------
    ensemble : TreeEnsemble
        The model.
    rows : float (m, features)
        What is explained.
    baselines : float (m, features)
        The row that stands for absent players, row by row.
    player_of : int (features,), optional
        The player of each column; each column is a player if not given.
    levels : callable, optional
        Another weight on levels than Shapley's, as for `TreeGame.values_under`.
    """
    game = TreeGame.of(ensemble, baselines, None, player_of)
    values = game.shaped(_against_own(game, rows, _asked(1, levels)))
    return values, ensemble.predict(game.background)


def baseline_interactions(
    ensemble: TreeEnsemble,
    rows: object,
    baselines: object,
    player_of: object = None,
    levels: Levels | None = None,
) -> tuple[FloatArray, FloatArray]:
    """What pairs of players add together (m, players, players, K), as `TreeGame.interactions`, and
    base values (m, K), against a baseline each; parameters as for `baseline_values`.
    """
    game = TreeGame.of(ensemble, baselines, None, player_of)
    values, base = baseline_values(ensemble, rows, baselines, player_of, levels)
    return game.with_diagonal(_against_own(game, rows, _asked(2, levels)), values), base


def _asked(order: int, levels: Levels | None) -> Asked:
    return Asked(order) if levels is None else Asked(order, levels)


def _against_own(game: TreeGame, rows: object, asked: Asked) -> FloatArray:
    """What rows get against their own row of the background (targets, m)."""
    matrix = game.ensemble.matrix(rows)
    others = game.background
    assert others is not None
    if len(others) != len(matrix):
        rule = f"have {len(matrix)} rows, as the rows have"
        raise InputError("baselines", rule, len(others), "Give one per row")
    targets = game.ensemble.n_outputs * asked.targets(game.n_players)
    total = np.zeros((targets, len(matrix)))
    for block in game.blocks:
        wanted = ~block.inner & (block.players >= asked.order)
        walk = Walk(block, wanted, reached(block, others), asked)
        for start in range(0, len(matrix), ROWS):
            part = slice(start, start + ROWS)
            if len(walk.leaves):
                ways = (walk.ways(matrix[part]), walk.ways(others[part]))
                add_own_values(walk, game.n_players, *ways, total[:, part])
    return total


@dataclass(frozen=True, eq=False)
class TreeGame:
    """An ensemble and what stands for absent players, with the tables made once for all rows.

    Of two outputs that always add up to the same, as probabilities do, the second alone is
    computed.
    """

    ensemble: TreeEnsemble
    background: FloatArray | None
    weights: FloatArray | None
    player_of: IntArray
    memory: int
    device: str | None = None
    sum_of_two: float | None = None

    @classmethod
    def of(
        cls,
        ensemble: TreeEnsemble,
        background: object = None,
        weights: object = None,
        player_of: object = None,
        memory: int = 256_000_000,
        device: str | None = None,
    ) -> TreeGame:
        """The game of checked arguments; a device of torch's is where rows are looked up."""
        players = (
            np.arange(ensemble.n_features) if player_of is None else np.asarray(player_of, np.int64)
        )
        if players.shape != (ensemble.n_features,):
            rule = f"name a player for each of {ensemble.n_features} columns"
            raise InputError(
                "player_of", rule, f"shape {players.shape}", "Give one number per column"
            )
        ensemble, sum_of_two = ensemble.second_of_two()
        if background is None:
            return cls(ensemble, None, None, players, memory, device, sum_of_two)
        matrix = ensemble.matrix(background)
        if not len(matrix):
            raise InputError(
                "background",
                "have at least one row",
                "none",
                "Leave it out for path-dependent values",
            )
        weights = _shares(weights, len(matrix))
        return cls(ensemble, matrix, weights, players, memory, device, sum_of_two)

    @property
    def n_players(self) -> int:
        return int(self.player_of.max(initial=-1)) + 1

    @cached_property
    def blocks(self) -> list[Block]:
        """The trees in blocks of about BLOCK_NODES nodes."""
        whole = self.ensemble
        if not whole.n_trees:
            return []
        number = whole.roots // BLOCK_NODES
        first = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
        edges = [*first.tolist(), whole.n_trees]
        return [Block(whole, slice(a, b), self.player_of) for a, b in pairwise(edges)]

    @cached_property
    def prepared(self) -> list[_Prepared]:
        """Each block's plan and what is kept of its tables."""
        return self._prepared_for(VALUES)

    def _prepared_for(self, asked: Asked) -> list[_Prepared]:
        """The same for what is asked; beside Shapley values, one weight on levels is kept."""
        if asked not in self._known:
            for each in [*self._known]:
                if each != VALUES and each.levels != asked.levels:
                    del self._known[each]
            kept = sum(each.kept for known in self._known.values() for each in known)
            room = self.memory - WORKING - kept
            prepared = []
            for block in self.blocks:
                prepared.append(_Prepared(self, block, room, asked))
                room -= prepared[-1].kept
            self._known[asked] = prepared
        return self._known[asked]

    @cached_property
    def _known(self) -> dict[Asked, list[_Prepared]]:
        return {}

    @cached_property
    def work(self) -> float:
        """Predicted nanoseconds for a row, its share of the tables included; not by a clock.

        It does not depend on how many rows there are, so that what is decided by it does not.
        """
        plans = [each.plan for each in self.prepared]
        return sum(plan.per_row + plan.once / EXPECTED_ROWS for plan in plans)

    def sampled_work(self, evaluations: int) -> float:
        """Predicted nanoseconds that the model's own walks through its trees take for a row."""
        assert self.background is not None
        return evaluations * len(self.background) * PER_SPLIT * self._splits

    @cached_property
    def _splits(self) -> float:
        """Splits that a row comes by in all trees, where it goes either way as often."""
        total = 0.0
        for block in self.blocks:
            depth = block.depth[~block.inner & (block.depth > 0)]
            total += float((depth * np.exp2(-depth.astype(np.float64))).sum())
        return total

    @cached_property
    def base(self) -> FloatArray:
        """What the model gives where all players are absent (K,)."""
        means = (each.mean for each in self.prepared)
        base: FloatArray = self.ensemble.base + sum(means, np.zeros(self.ensemble.n_outputs))
        return base if self.sum_of_two is None else np.append(self.sum_of_two - base, base)

    def values(self, rows: object) -> FloatArray:
        """Shapley values (m, players, K)."""
        if self.device is None:
            return self._on_host(rows, self.prepared, [])
        sent, device = self.on_device
        found = self._of_both(device.values(self.ensemble.checked(rows)))
        others = [each for each in self.prepared if each not in sent]
        walked = [each for each in sent if each.plan.deep.any()]
        return found + self._on_host(rows, others, walked) if others or walked else found

    def values_under(self, rows: object, levels: Levels) -> FloatArray:
        """Values (m, players, K) under another weight on levels than Shapley's.

        Parameters
        ----------
        rows : float (m, features)
            What is explained.
        levels : callable
            levels(degree) has nodes in [0, 1] and weights that integrate polynomials of this
            degree.
        """
        return self.shaped(self._differences(self.ensemble.checked(rows), Asked(1, levels)))

    def interactions(self, rows: object, levels: Levels | None = None) -> FloatArray:
        """What pairs of players add together (m, players, players, K).

        The index of a pair, I_ij = ∫ ∂²F/∂x_i∂x_j dμ(q), is shared by its two cells; the diagonal
        has the rest of each value, φ_i − ½ Σ_j I_ij, so that rows of cells sum to values.

        Parameters
        ----------
        rows : float (m, features)
            What is explained.
        levels : callable, optional
            The weight μ on levels, as for `values_under`; Shapley's if not given.
        """
        matrix = self.ensemble.checked(rows)
        values = self.values(matrix) if levels is None else self.values_under(matrix, levels)
        asked = _asked(2, levels)
        cells = np.empty((len(matrix), *[self.n_players] * 2, values.shape[-1]))
        at_once = max(1, WORKING // (COPIES * ENTRY * max(1, cells[:1].size)))
        for part in _parts(matrix, at_once):
            pairs = self._differences(matrix[part], asked)
            cells[part] = self.with_diagonal(pairs, values[part])
        return cells

    def _differences(self, rows: FloatArray, asked: Asked) -> FloatArray:
        """By target and row (targets, m)."""
        matrix = self.ensemble.matrix(rows)
        targets = self.ensemble.n_outputs * asked.targets(self.n_players)
        total = np.zeros((targets, len(matrix)))
        for each in self._prepared_for(asked):
            each.look_up(matrix, total)
            each.walk_down(matrix, total)
        return total

    def with_diagonal(self, pairs: FloatArray, values: FloatArray) -> FloatArray:
        """Cells (m, players, players, K) of pairs (targets, m) and values (m, players, K)."""
        count = self.n_players
        shaped = pairs.reshape(self.ensemble.n_outputs, count, count, -1).transpose(3, 1, 2, 0)
        halves = np.ascontiguousarray(self._of_both(shaped)) / 2
        cells = halves + halves.swapaxes(1, 2)
        own = np.arange(count)
        cells[:, own, own] = values - cells.sum(axis=2)
        return cells

    def _on_host(
        self, rows: object, blocks: list[_Prepared], walked: list[_Prepared]
    ) -> FloatArray:
        """Values of some blocks, and of others what their leaves without a table give."""
        matrix = self.ensemble.matrix(rows)
        total = np.zeros((self.ensemble.n_outputs * self.n_players, len(matrix)))
        for each in blocks:
            each.look_up(matrix, total)
        for each in [*blocks, *walked]:
            each.walk_down(matrix, total)
        return self.shaped(total)

    @cached_property
    def on_device(self) -> tuple[list[_Prepared], OnDevice]:
        """The blocks whose tables have room on the device, and these."""
        assert self.device is not None
        room = room_on(self.device)
        sent = []
        for each in self.prepared:
            if each.size <= room:
                sent.append(each)
                room -= each.size
        blocks = ((each.plan, each.in_turn()) for each in sent)
        return sent, OnDevice(self.ensemble, self.n_players, blocks, self.device)

    def shaped(self, total: FloatArray) -> FloatArray:
        """Values by target and row (K × players, m) as (m, players, K)."""
        shaped = total.reshape(self.ensemble.n_outputs, self.n_players, -1)
        return self._of_both(np.ascontiguousarray(shaped.transpose(2, 1, 0)))

    def _of_both(self, values: FloatArray) -> FloatArray:
        """Values of all outputs, from those that were computed."""
        return values if self.sum_of_two is None else np.concatenate([-values, values], axis=-1)


class _Prepared:
    """A block, how it is computed, and its tables as far as there is room to keep them."""

    def __init__(self, game: TreeGame, block: Block, room: int, asked: Asked) -> None:
        self.game = game
        self.block = block
        self.asked = asked
        background = game.background
        walking = (
            path_work(block, asked) if background is None else pair_work(block, background, asked)
        )
        self.plan = plan(block, walking, background is not None and asked == VALUES, asked)
        entries = sum(cells.bound(asked) for cells in self.plan.cells)
        self.size = entries * block.ensemble.values.shape[1] * ENTRY
        self.kept = self.size if self.size <= room else 0
        self.rows = max(FEWEST_ROWS, min(ROWS, BITS // len(block)))  # at a time
        self._means: dict[int, FloatArray] = {}
        self._tables: list[Table] | None = None
        self._rows_so_far = 0

    def look_up(self, matrix: FloatArray, total: FloatArray) -> None:
        """Add what this block's tables give to rows to (targets, m)."""
        if self.kept:
            self._look_up(self._tables_for(len(matrix)), matrix, total)
        else:
            for part in range(len(self.plan.cells)):
                self._look_up(self._made([part], len(matrix) <= FEW_ROWS), matrix, total)

    def in_turn(self) -> Iterator[Table]:
        """The tables, one after the other; none is kept."""
        for part in range(len(self.plan.cells)):
            yield from self._made([part], unfilled=False)

    def walk_down(self, matrix: FloatArray, total: FloatArray) -> None:
        """Add what this block's leaves without a table give to rows to (targets, m)."""
        if self.plan.deep.any():
            by_cover = self.game.background is None
            for rows in _parts(matrix, max(1, self.rows // PASSES) if by_cover else self.rows):
                total[:, rows] += self._deep_values(matrix[rows])

    def _tables_for(self, rows: int) -> list[Table]:
        """The tables that are kept; for a few rows they are not filled."""
        self._rows_so_far += rows
        few = self._rows_so_far <= FEW_ROWS
        tables = self._tables
        if tables is None or not (few or all(each.filled for each in tables)):
            tables = self._made(list(range(len(self.plan.cells))), few)
            self._tables = tables
        return tables

    def _made(self, parts: list[int], unfilled: bool) -> list[Table]:
        """The tables of some parts of the plan; their means are kept."""
        groups = [self.plan.cells[part] for part in parts]
        if self.game.background is None:
            made = [path_dependent(self.block, cells, self.shares, self.asked) for cells in groups]
        else:
            shares = self._pattern_shares(groups, self.game.background)
            made = [
                interventional(self.block, cells, each, unfilled, self.asked)
                for cells, each in zip(groups, shares, strict=True)
            ]
        self._means.update(zip(parts, (mean for _, mean in made), strict=True))
        return [table for table, _ in made]

    def _pattern_shares(self, groups: list[Cells], background: FloatArray) -> list[FloatArray]:
        weights = self.game.weights
        bits = (self.plan.bits(background[rows]) for rows in _parts(background, self.rows))
        counted = histograms(groups, bits, weights)
        return counted if weights is not None else [each / len(background) for each in counted]

    def _look_up(self, tables: list[Table], matrix: FloatArray, total: FloatArray) -> None:
        parts = list(_parts(matrix, self.rows))
        for rows in parts:
            bits = self.plan.bits(_padded(matrix[rows]))
            for table in tables:
                table.add(table.cells.patterns(bits), total[:, rows])
            pulse(fitted=1 / (len(parts) * len(self.game.blocks)))

    @property
    def mean(self) -> FloatArray:
        """What the block's trees give where all players are absent (K,)."""
        for part in range(len(self.plan.cells)):
            if part not in self._means:
                self._made([part], unfilled=True)
        means = [self._means[part] for part in range(len(self.plan.cells))]
        return sum(means, _unsplit(self.block) + self._deep_mean())

    @cached_property
    def shares(self) -> FloatArray:
        return cover_shares(self.block)

    def _deep_values(self, matrix: FloatArray) -> FloatArray:
        game = self.game
        targets = game.ensemble.n_outputs * self.asked.targets(game.n_players)
        deep = np.zeros((targets, len(matrix)))
        if game.background is None:
            answers = self.block.answers(matrix)
            if self.asked == VALUES:
                add_path_values(self.passes, answers, deep)
            else:
                add_cover_differences(
                    self.block,
                    self.plan.deep,
                    self.shares,
                    answers,
                    game.n_players,
                    self.asked,
                    deep,
                )
            return deep
        add_pair_values(
            self.walk,
            game.n_players,
            self.walk.ways(matrix),
            self.background_ways,
            game.weights,
            deep,
        )
        return deep if game.weights is not None else deep / len(game.background)

    def _deep_mean(self) -> FloatArray:
        block = self.block
        mean = np.zeros(block.ensemble.n_outputs)
        leaves = np.flatnonzero(self.plan.deep)
        if not len(leaves):
            return mean
        reached = (
            self._cover_of(leaves) if self.game.background is None else self._background_at(leaves)
        )
        values = block.ensemble.values[leaves + block.nodes.start]
        np.add.at(mean, block.ensemble.outputs[block.tree[leaves]], values * reached[:, None])
        return mean

    def _cover_of(self, leaves: IntArray) -> FloatArray:
        boxes = self.block.boxes(leaves)
        return np.where(boxes >= 0, self.shares[boxes], 1.0).prod(axis=1)

    def _background_at(self, leaves: IntArray) -> FloatArray:
        """The background's weight at each leaf."""
        background = self.game.background
        assert background is not None
        weights = self.game.weights
        weights = np.full(len(background), 1 / len(background)) if weights is None else weights
        reached = self.block.ensemble.leaves(background, self.block.trees) - self.block.nodes.start
        at = np.asarray(
            np.bincount(reached.ravel(), np.repeat(weights, reached.shape[1]), len(self.block)),
            np.float64,
        )
        return at[leaves]

    @cached_property
    def passes(self) -> Passes:
        return Passes(self.block, self.plan.deep, self.shares, self.game.n_players)

    @cached_property
    def walk(self) -> Walk:
        assert self.game.background is not None
        shares = reached(self.block, self.game.background)
        return Walk(self.block, self.plan.deep, shares, self.asked)

    @cached_property
    def background_ways(self) -> IntArray:
        assert self.game.background is not None
        return self.walk.ways(self.game.background)


def _parts(matrix: FloatArray, rows: int) -> list[slice]:
    return [slice(start, start + rows) for start in range(0, len(matrix), rows)]


def _padded(matrix: FloatArray) -> FloatArray:
    """At least two rows: numpy adds a single column in another order."""
    return matrix if len(matrix) > 1 else np.repeat(matrix, 2, axis=0)


def _shares(weights: object, count: int) -> FloatArray | None:
    """Weights that sum to one; None where they are equal."""
    if weights is None:
        return None
    given: FloatArray = np.asarray(weights, np.float64)
    if given.shape != (count,) or not (
        np.isfinite(given).all() and (given >= 0).all() and given.sum() > 0
    ):
        rule = f"be {count} numbers of at least 0 that are not all 0"
        raise InputError("weights", rule, f"{given!r}", "Give one weight per row of the background")
    return given / given.sum()


def cover_shares(block: Block) -> FloatArray:
    """For each edge the product of the cover shares of its player's splits down to it (nodes,)."""
    cover = block.ensemble.cover[block.nodes]
    inner = np.flatnonzero(block.inner)
    whole = np.zeros(len(block))
    whole[inner] = cover[block.left[inner]] + cover[block.right[inner]]
    shares = np.ones(len(block))
    for level in block.levels[1:]:
        above = whole[block.parent[level]]
        share = np.divide(cover[level], above, out=np.full(len(level), 0.5), where=above > 0)
        before = block.before[level]
        shares[level] = share * np.where(before >= 0, shares[before], 1.0)
    return shares


def _unsplit(block: Block) -> FloatArray:
    """Trees that are a single leaf are constants."""
    mean = np.zeros(block.ensemble.n_outputs)
    alone = block.roots[~block.inner[block.roots]]
    np.add.at(
        mean,
        block.ensemble.outputs[block.tree[alone]],
        block.ensemble.values[alone + block.nodes.start],
    )
    return mean
