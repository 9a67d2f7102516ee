"""Exact Shapley values of a tree ensemble, from the trees themselves: no model is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from owenshap.errors import InputError
from owenshap.support.arrays import USUAL_MEMORY, WORKING, FloatArray, IntArray
from owenshap.trees.boxes import Block, parts_of
from owenshap.trees.device import OnDevice, room_on
from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.pairs import Walk, add_own_values
from owenshap.trees.prepared import BLOCK_NODES, ROWS, Prepared
from owenshap.trees.products import VALUES, Asked, Levels, shapley_levels
from owenshap.trees.work import EXPECTED_ROWS, PER_SPLIT, reached


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
    _known: dict[Asked, list[Prepared]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        ensemble: TreeEnsemble,
        background: object = None,
        weights: object = None,
        player_of: object = None,
        memory: int = USUAL_MEMORY,
        device: str | None = None,
    ) -> TreeGame:
        """The game of checked arguments; a device of torch's is where rows are looked up."""
        players = (
            np.arange(ensemble.n_features) if player_of is None else np.asarray(player_of, np.int64)
        )
        if players.shape != (ensemble.n_features,):
            raise InputError(
                "player_of",
                f"name a player for each of {ensemble.n_features} columns",
                f"shape {players.shape}",
                "Give one number per column",
            )
        ensemble, sum_of_two = ensemble.second_of_two()
        matrix = None if background is None else ensemble.matrix(background)
        if matrix is not None and not len(matrix):
            raise InputError(
                "background",
                "have at least one row",
                "none",
                "Leave it out for path-dependent values",
            )
        shares = None if matrix is None or weights is None else _shares(weights, len(matrix))
        return cls(ensemble, matrix, shares, players, memory, device, sum_of_two)

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
    def prepared(self) -> list[Prepared]:
        """Each block's plan and what is kept of its tables."""
        return self._prepared_for(VALUES)

    def _prepared_for(self, asked: Asked) -> list[Prepared]:
        """The same for what is asked; beside Shapley values, one weight on levels is kept."""
        if asked not in self._known:
            for each in [*self._known]:
                if each != VALUES and each.levels != asked.levels:
                    del self._known[each]
            kept = sum(each.kept for known in self._known.values() for each in known)
            room = self.memory - WORKING - kept
            prepared = []
            for block in self.blocks:
                prepared.append(Prepared(block, self.background, self.weights, room, asked))
                room -= prepared[-1].kept
            self._known[asked] = prepared
        return self._known[asked]

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
        splits = 0.0  # that a row comes by in all trees, where it goes either way as often
        for block in self.blocks:
            sizes = [level.stop - level.start for level in block.levels]
            for depth, (size, below) in enumerate(pairwise([*sizes, 0])):
                splits += depth * (size - below / 2) / 2**depth
        return evaluations * len(self.background) * PER_SPLIT * splits

    @cached_property
    def base(self) -> FloatArray:
        """What the model gives where all players are absent (K,)."""
        means = (each.mean for each in self.prepared)
        base: FloatArray = self.ensemble.base + sum(means, np.zeros(self.ensemble.n_outputs))
        return base if self.sum_of_two is None else np.append(self.sum_of_two - base, base)

    def values(self, rows: object, levels: Levels | None = None) -> FloatArray:
        """Shapley values (m, players, K), or those under another weight on levels.

        Parameters
        ----------
        rows : float (m, features)
            What is explained.
        levels : callable, optional
            levels(degree) has nodes in [0, 1] and weights that integrate polynomials of this
            degree.
        """
        if self.device is None or levels is not None:
            return self.shaped(self._differences(rows, Asked(1, levels or shapley_levels)))
        sent, device = self.on_device
        values = self._of_both(device.values(self.ensemble.checked(rows)))
        if all(each in sent and not each.plan.deep.any() for each in self.prepared):
            return values
        return values + self.shaped(self._differences(rows, VALUES, sent))

    def interactions(self, rows: object, levels: Levels | None = None) -> FloatArray:
        """What pairs of players add together (m, players, players, K).

        The index of a pair, I_ij = ∫ ∂²F/∂x_i∂x_j dμ(q), is shared by its two cells; the diagonal
        has the rest of each value, φ_i − ½ Σ_j I_ij, so that rows of cells sum to values.

        Parameters
        ----------
        rows : float (m, features)
            What is explained.
        levels : callable, optional
            The weight μ on levels, as for `values`; Shapley's if not given.
        """
        matrix = self.ensemble.checked(rows)
        values = self.values(matrix, levels)
        asked = Asked(2, levels or shapley_levels)
        cells = np.empty((len(matrix), *[self.n_players] * 2, values.shape[-1]))
        at_once = max(1, WORKING // (4 * cells.itemsize * max(1, cells[:1].size)))  # four copies
        for part in parts_of(matrix, at_once):
            pairs = self._differences(matrix[part], asked)
            cells[part] = self.with_diagonal(pairs, values[part])
        return cells

    def _differences(
        self, rows: object, asked: Asked, elsewhere: Sequence[Prepared] = ()
    ) -> FloatArray:
        """By target and row (targets, m); of some blocks without what their tables give."""
        matrix = self.ensemble.matrix(rows)
        targets = self.ensemble.n_outputs * asked.targets(self.n_players)
        total = np.zeros((targets, len(matrix)))
        prepared = self._prepared_for(asked)
        explained = [each.explained(matrix) for each in prepared]
        for each, followed in zip(prepared, explained, strict=True):
            if each not in elsewhere:
                each.look_up(followed, total)
        for each, followed in zip(prepared, explained, strict=True):
            each.walk_down(followed, total)
        return total

    def with_diagonal(self, pairs: FloatArray, values: FloatArray) -> FloatArray:
        """Cells (m, players, players, K) of pairs (targets, m) and values (m, players, K)."""
        count = self.n_players
        shaped = pairs.reshape(self.ensemble.n_outputs, count, count, -1).transpose(3, 1, 2, 0)
        halves = np.ascontiguousarray(self._of_both(shaped)) / 2
        cells = halves + halves.swapaxes(1, 2)
        diagonal = np.arange(count)
        cells[:, diagonal, diagonal] = values - cells.sum(axis=2)
        return cells

    @cached_property
    def on_device(self) -> tuple[list[Prepared], OnDevice]:
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


def _shares(weights: object, count: int) -> FloatArray:
    """Weights that sum to one."""
    given: FloatArray = np.asarray(weights, np.float64)
    if given.shape != (count,) or not (
        np.isfinite(given).all() and (given >= 0).all() and given.sum() > 0
    ):
        raise InputError(
            "weights",
            f"be {count} numbers of at least 0 that are not all 0",
            f"{given!r}",
            "Give one weight per row of the background",
        )
    return given / given.sum()


def baseline_values(
    ensemble: TreeEnsemble,
    rows: object,
    baselines: object,
    player_of: object = None,
    levels: Levels | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Exact values of rows (m, players, K) against a baseline each, and base values (m, K): by
    pairs of rows, there are no tables.

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
        Another weight on levels than Shapley's, as for `TreeGame.values`.
    """
    game = TreeGame.of(ensemble, baselines, None, player_of)
    values = game.shaped(_against_own(game, rows, Asked(1, levels or shapley_levels)))
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
    pairs = _against_own(game, rows, Asked(2, levels or shapley_levels))
    return game.with_diagonal(pairs, values), base


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
        for part in parts_of(matrix, ROWS) if len(walk.leaves) else []:
            own, other = (walk.ways(block.followed(each[part])) for each in (matrix, others))
            add_own_values(walk, own, other, total[:, part])
    return total
