"""Paths and boxes: where in a block of trees a row may go, player by player.

An *edge* is the step into a node, and is named by that node. On the way from the root down to it,
the splits of one player together leave the player an interval (or a set, or for a group of columns
a product of these): the edge's *box*. A row may take an edge, as far as the edge's player is
concerned, where its columns lie in that box.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np

from owenshap.support.arrays import CACHED, BoolArray, ByteArray, FloatArray, IntArray
from owenshap.trees.ensemble import TreeEnsemble

WORD = 8 * np.dtype(np.uint64).itemsize  # bits


class Label(IntEnum):
    """What stands in the place of a number of something."""

    NONE = -1
    """No node, player or set of categories."""


NONE = Label.NONE.value


class Block:
    """Some trees of an ensemble, their nodes numbered from zero, depth by depth: at each depth the
    left children of the depth above, then the right ones. Nodes that no edge leads to are left out.

    Parameters
    ----------
    ensemble : TreeEnsemble
        The whole model.
    trees : slice
        Which of its trees.
    player_of : int (n_features,)
        The player that each column belongs to.

    Attributes
    ----------
    n_players : int
        Players of the game, of which a block may have but some.
    nodes, tree : int (nodes,)
        The block's nodes in the ensemble, and the tree of each.
    levels : list of slice
        The nodes at each depth, roots first.
    splits : list of (int array, slice, slice)
        The inner nodes at each depth, roots first, and their left and right children.
    roots, parent, left, right : int
        NONE where there is no such node.
    inner, is_left, worth : bool (nodes,)
        Whether a node has children; is its parent's left child; is a leaf that adds something.
    player, edge_player : int (nodes,)
        The player whose value decides at a node, NONE at leaves; and at its parent, NONE at roots.
    before : int (nodes,)
        The last edge above each edge with the same player; NONE where there is none.
    players, slot : int (nodes,)
        How many distinct players were asked on the way to each node; the number of its edge's
        player among them, in the order of their first splits.
    question : int (nodes,)
        The question of each node; NONE at leaves.
    asking : int (questions,)
        For each distinct question a node of the ensemble.
    """

    def __init__(self, ensemble: TreeEnsemble, trees: slice, player_of: IntArray) -> None:
        self.ensemble = ensemble
        self.n_players = int(player_of.max(initial=-1)) + 1
        depths = [ensemble.roots[trees]]
        self.roots = np.arange(len(depths[0]))
        self.levels = [slice(0, len(self.roots))]
        self.splits: list[tuple[IntArray, slice, slice]] = []
        while True:
            children = ensemble.left.take(depths[-1])
            inner = np.flatnonzero(children >= 0)
            if not len(inner):
                break
            others = ensemble.right.take(depths[-1].take(inner))
            depths.append(np.concatenate([children.take(inner), others]))
            above = self.levels[-1]
            left = slice(above.stop, above.stop + len(inner))
            right = slice(left.stop, left.stop + len(inner))
            self.splits.append((inner + above.start, left, right))
            self.levels.append(slice(left.start, right.stop))
        self.nodes = np.concatenate(depths)
        self.parent = np.full(len(self), NONE)
        self.left = np.full(len(self), NONE)
        self.right = np.full(len(self), NONE)
        for split, left, right in self.splits:
            self.left[split] = np.arange(left.start, left.stop)
            self.right[split] = np.arange(right.start, right.stop)
            self.parent[left] = split
            self.parent[right] = split
        self.inner = self.left >= 0
        self.is_left = self.left.take(self.parent) == np.arange(len(self))
        self.tree = ensemble.tree_of.take(self.nodes)
        self.worth = ~self.inner & ensemble.values[self.nodes].any(axis=1)
        feature = np.maximum(ensemble.feature.take(self.nodes), 0)
        self.player = np.where(self.inner, player_of.take(feature), NONE)
        self.edge_player = np.where(self.parent >= 0, self.player.take(self.parent), NONE)
        self.before = self._before()
        self.players, self.slot = self._numbered()
        self.asking, self.question = self._asked()

    def __len__(self) -> int:
        return len(self.nodes)

    def where(self, wanted: BoolArray) -> IntArray:
        """The nodes that are wanted, in the order of the ensemble."""
        return self._in_order[wanted.take(self._in_order)]

    @cached_property
    def _in_order(self) -> IntArray:
        first = self.nodes[0]  # the root of the first tree: all others lie behind
        number = np.full(self.nodes.max() - first + 1, NONE)
        number[self.nodes - first] = np.arange(len(self))
        return number[number >= 0]

    def leading_to(self, wanted: BoolArray) -> BoolArray:
        """Which nodes have a wanted leaf below, or are one."""
        live = wanted.copy()
        for level in reversed(self.levels[1:]):
            live[self.parent[level][live[level]]] = True
        return live

    def _before(self) -> IntArray:
        before = np.full(len(self), NONE)
        waiting = np.flatnonzero(self.parent >= 0)
        above = self.parent.take(waiting)
        while len(waiting):
            player = self.edge_player.take(above)
            same = player == self.edge_player.take(waiting)
            before[waiting[same]] = above[same]
            on = np.flatnonzero(~same & (player >= 0))
            waiting = waiting.take(on)
            above = self.parent.take(above.take(on))
        return before

    def _numbered(self) -> tuple[IntArray, IntArray]:
        players = np.zeros(len(self), np.int64)
        slot = np.full(len(self), NONE)
        new = self.before < 0
        for level in self.levels[1:]:
            above = players.take(self.parent[level])
            slot[level] = np.where(new[level], above, slot.take(self.before[level]))
            players[level] = above + new[level]
        return players, slot

    def boxes(self, nodes: IntArray) -> IntArray:
        """For each node and slot of its path the edge with the smallest box (m, slots); NONE
        beyond.
        """
        edges = np.full((len(nodes), int(self.players[nodes].max(initial=0))), NONE)
        flat = edges.reshape(-1)
        first = np.arange(len(nodes)) * edges.shape[1]
        edge = nodes
        while True:
            above = self.parent.take(edge)
            inside = np.flatnonzero(above >= 0)
            first = first.take(inside)
            edge = edge.take(inside)
            if not len(edge):
                return edges
            place = first + self.slot.take(edge)
            flat[place] = np.maximum(flat.take(place), edge)  # numbers grow with the depth
            edge = above.take(inside)

    def _asked(self) -> tuple[IntArray, IntArray]:
        inner = self.where(self.inner)
        if not len(inner):
            return inner, np.full(len(self), NONE)
        nodes = self.nodes.take(inner)
        whole = self.ensemble
        feature = whole.feature[nodes].astype(np.min_scalar_type(whole.n_features))  # sorts sooner
        keys = [whole.missing_left[nodes], whole.threshold[nodes], feature]
        keys += [
            each[nodes] for each in (whole.zero_is_missing, whole.category_set) if each is not None
        ]
        order = np.lexsort(keys)
        new = np.zeros(len(order), np.bool_)
        new[0] = True
        for key in keys:
            new[1:] |= key[order[1:]] != key[order[:-1]]
        question = np.full(len(self), NONE)
        question[inner[order]] = np.cumsum(new) - 1
        return nodes[order[new]], question

    def chain(self, edges: IntArray) -> list[IntArray]:
        """These edges and those before them, in turns: each turn follows on edges of earlier
        turns.
        """
        wanted = np.zeros(len(self), np.bool_)
        while len(edges):
            wanted[edges] = True
            edges = self.before[edges]
            edges = edges[(edges >= 0) & ~wanted[edges]]
        turn = self._turn
        last = int(turn[wanted].max(initial=-1))
        return [self.where(wanted & (turn == each)) for each in range(last + 1)]

    @cached_property
    def _turn(self) -> IntArray:
        """How many edges before each edge have the same player."""
        turn = np.full(len(self) + 1, NONE)  # the last one stands for no edge
        for level in self.levels:
            turn[level] = turn.take(self.before[level]) + 1
        return turn[:-1]

    def followed(self, matrix: FloatArray) -> Followed:
        """Where rows may go."""
        columns = np.ascontiguousarray(matrix.T)
        gaps = bool(np.isnan(columns).any())
        answers = np.empty((len(self.asking), len(matrix)), np.bool_)
        for part in parts_of(self.asking, max(1, CACHED // max(1, len(matrix)))):
            nodes = self.asking[part]
            values = columns.take(self.ensemble.feature[nodes], axis=0)
            answers[part] = self.ensemble.goes_left(nodes[:, None], values, gaps)
        return Followed(self, answers.view(np.uint8))


@dataclass(frozen=True, eq=False)
class Followed:
    """Where rows may go in a block, many rows in a word.

    Parameters
    ----------
    block : Block
        The trees.
    answers : byte (questions, m)
        Whether each row goes left.
    """

    block: Block
    answers: ByteArray

    @property
    def rows(self) -> int:
        return self.answers.shape[1]

    @cached_property
    def inside(self) -> IntArray:
        """Which rows lie in each edge's box (nodes + 1, words): all at roots, and behind the last
        edge, which stands for none. Bits beyond the rows mean nothing.
        """
        block = self.block
        some = self.answers if len(self.answers) else np.zeros((1, self.rows), np.uint8)
        above = np.append(block.question.take(block.parent), NONE)
        inside = in_words(some).take(above, axis=0)
        inside[:-1] ^= np.where(block.is_left, np.uint64(0), ~np.uint64(0))[:, None]
        inside[block.roots] = in_words(np.ones((1, self.rows), np.uint8))
        inside[-1] = ~np.uint64(0)
        for level in block.levels[1:]:
            inside[level] &= inside.take(block.before[level], axis=0)
        return inside

    def arrived(self) -> IntArray:
        """Which rows come to each node (nodes + 1, words)."""
        arrived = self.inside.copy()
        for level in self.block.levels[1:]:
            arrived[level] &= arrived.take(self.block.parent[level], axis=0)
        return arrived

    def boxes(self, edges: IntArray) -> ByteArray:
        """Whether each row lies in the boxes of these edges (edges, m), 0 or 1."""
        return out_of_words(self.inside.take(edges, axis=0), self.rows)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table, followed in a block so many at a time; up to so many in all are kept."""

    block: Block
    matrix: FloatArray
    at_once: int
    kept: int

    def __iter__(self) -> Iterator[tuple[slice, Followed]]:
        """Parts of the rows, and where these may go."""
        if len(self.matrix) <= self.kept:
            yield slice(0, len(self.matrix)), self._kept
            return
        for part in parts_of(self.matrix, self.at_once):
            yield part, self.block.followed(self.matrix[part])

    @cached_property
    def _kept(self) -> Followed:
        return self.block.followed(self.matrix)


def parts_of(matrix: FloatArray | IntArray, rows: int) -> list[slice]:
    """All rows, so many at a time."""
    return [slice(start, start + rows) for start in range(0, len(matrix), rows)]


def in_words(bits: ByteArray) -> IntArray:
    """Bytes that are 0 or 1 (n, m) as bits (n, words): many rows are computed at once."""
    words = -(-bits.shape[1] // WORD)
    whole = np.zeros((len(bits), words * WORD), np.uint8)
    whole[:, : bits.shape[1]] = bits
    return np.packbits(whole.reshape(-1)).view(np.uint64).reshape(len(bits), words)


def out_of_words(words: IntArray, count: int) -> ByteArray:
    """So many bytes that are 0 or 1 of each line of words."""
    bits = np.unpackbits(words.view(np.uint8).reshape(-1))
    return bits.reshape(-1, WORD * words.shape[1])[:, :count]


def counted(words: IntArray) -> IntArray:
    """How many bits are set in each line of words."""
    return np.bitwise_count(words) @ np.ones(words.shape[1], np.int64)
