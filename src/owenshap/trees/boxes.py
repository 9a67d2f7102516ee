"""Paths and boxes: where in a block of trees a row may go, player by player.

An *edge* is the step into a node, and is named by that node. On the way from the root down to it,
the splits of one player together leave the player an interval (or a set, or for a group of columns
a product of these): the edge's *box*. A row may take an edge, as far as the edge's player is
concerned, where its columns lie in that box.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from owenshap.support.arrays import CACHED, BoolArray, ByteArray, FloatArray, IntArray
from owenshap.trees.ensemble import TreeEnsemble

NONE = -1  # no node, player or set of categories has this number


@dataclass(frozen=True, eq=False)
class Block:
    """Some trees of an ensemble, their nodes numbered from zero.

    Parameters
    ----------
    ensemble : TreeEnsemble
        The whole model.
    trees : slice
        Which of its trees.
    player_of : int (n_features,)
        The player that each column belongs to.
    """

    ensemble: TreeEnsemble
    trees: slice
    player_of: IntArray

    @cached_property
    def nodes(self) -> slice:
        """The block's nodes in the ensemble."""
        roots = np.append(self.ensemble.roots, len(self.ensemble.left))
        return slice(int(roots[self.trees.start]), int(roots[self.trees.stop]))

    def __len__(self) -> int:
        return self.nodes.stop - self.nodes.start

    @cached_property
    def n_players(self) -> int:
        """Players of the game, of which a block may have but some."""
        return int(self.player_of.max(initial=-1)) + 1

    @cached_property
    def roots(self) -> IntArray:
        return self.ensemble.roots[self.trees] - self.nodes.start

    @cached_property
    def left(self) -> IntArray:
        return self._child(self.ensemble.left)

    @cached_property
    def right(self) -> IntArray:
        return self._child(self.ensemble.right)

    def _child(self, child: IntArray) -> IntArray:
        here = child[self.nodes]
        return np.where(here >= 0, here - self.nodes.start, NONE)

    @cached_property
    def inner(self) -> BoolArray:
        return self.left >= 0

    @cached_property
    def tree(self) -> IntArray:
        """The tree of each node, counted in the ensemble."""
        return self.ensemble.tree_of[self.nodes]

    @cached_property
    def player(self) -> IntArray:
        """The player whose value decides at a node; NONE at leaves."""
        feature = self.ensemble.feature[self.nodes]
        return np.where(self.inner, self.player_of[np.maximum(feature, 0)], NONE)

    @cached_property
    def levels(self) -> list[IntArray]:
        """The nodes at each depth, roots first."""
        levels = [self.roots]
        while len(levels[-1]):
            inner = levels[-1][self.inner[levels[-1]]]
            levels.append(np.concatenate([self.left[inner], self.right[inner]]))
        return levels[:-1]

    @cached_property
    def depth(self) -> IntArray:
        """How many edges lead to each node; NONE where none do."""
        depth = np.full(len(self), NONE)
        for each, level in enumerate(self.levels):
            depth[level] = each
        return depth

    def leading_to(self, wanted: BoolArray) -> BoolArray:
        """Which nodes have a wanted leaf below, or are one."""
        live = wanted.copy()
        for level in reversed(self.levels[1:]):
            live[self.parent[level[live[level]]]] = True
        return live

    @cached_property
    def parent(self) -> IntArray:
        parent = np.full(len(self), NONE)
        inner = np.flatnonzero(self.inner)
        parent[self.left[inner]] = inner
        parent[self.right[inner]] = inner
        return parent

    @cached_property
    def is_left(self) -> BoolArray:
        """Whether a node is its parent's left child."""
        is_left = np.zeros(len(self), np.bool_)
        is_left[self.left[self.inner]] = True
        return is_left

    @cached_property
    def edge_player(self) -> IntArray:
        """The player of each edge; NONE at roots."""
        return np.where(self.parent >= 0, self.player[self.parent], NONE)

    @cached_property
    def before(self) -> IntArray:
        """The last edge above each edge with the same player; NONE where there is none."""
        before = np.full(len(self), NONE)
        waiting = np.flatnonzero(self.parent >= 0)
        above = self.parent[waiting]
        while len(waiting):
            same = self.edge_player[above] == self.edge_player[waiting]
            before[waiting[same]] = above[same]
            on = ~same & (self.parent[above] >= 0)
            waiting = waiting[on]
            above = self.parent[above[on]]
        return before

    @cached_property
    def players(self) -> IntArray:
        """How many distinct players were asked on the way to each node."""
        return self._numbered[0]

    @cached_property
    def slot(self) -> IntArray:
        """The number of each edge's player among its path's, in the order of their first splits."""
        return self._numbered[1]

    @cached_property
    def _numbered(self) -> tuple[IntArray, IntArray]:
        players = np.zeros(len(self), np.int64)
        slot = np.full(len(self), NONE)
        for level in self.levels[1:]:
            known = self.before[level] >= 0
            above = players[self.parent[level]]
            slot[level] = np.where(known, slot[self.before[level]], above)
            players[level] = above + ~known
        return players, slot

    def boxes(self, nodes: IntArray) -> IntArray:
        """For each node and slot of its path the edge with the smallest box (m, slots); NONE
        beyond.
        """
        edges = np.full((len(nodes), int(self.players[nodes].max(initial=0))), NONE)
        row = np.arange(len(nodes))
        edge = nodes
        while True:
            inside = self.parent[edge] >= 0
            row = row[inside]
            edge = edge[inside]
            if not len(row):
                return edges
            slot = self.slot[edge]
            free = edges[row, slot] == NONE
            edges[row[free], slot[free]] = edge[free]
            edge = self.parent[edge]

    @cached_property
    def conditions(self) -> tuple[IntArray, IntArray]:
        """For each distinct question a node of the ensemble; and the question of each node here."""
        inner = np.flatnonzero(self.inner)
        if not len(inner):
            return inner, np.full(len(self), NONE)
        nodes = inner + self.nodes.start
        whole = self.ensemble
        keys = [whole.missing_left[nodes], whole.threshold[nodes], whole.feature[nodes]]
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

    def answers(self, matrix: FloatArray) -> ByteArray:
        """Whether each row goes left, per question (questions, m), as 0 and 1."""
        nodes, _ = self.conditions
        columns = np.ascontiguousarray(matrix.T)
        gaps = bool(np.isnan(columns).any())
        feature = self.ensemble.feature[nodes]
        answers = np.empty((len(nodes), len(matrix)), np.bool_)
        step = max(1, CACHED // max(1, len(matrix)))
        for start in range(0, len(nodes), step):
            part = slice(start, start + step)
            values = columns.take(feature[part], axis=0)
            answers[part] = self.ensemble.goes_left(nodes[part, None], values, gaps)
        return answers.view(np.uint8)

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
        return [np.flatnonzero(wanted & (turn == each)) for each in range(last + 1)]

    @cached_property
    def _turn(self) -> IntArray:
        """How many edges before each edge have the same player."""
        turn = np.zeros(len(self), np.int64)
        for level in self.levels[1:]:
            follows = level[self.before[level] >= 0]
            turn[follows] = turn[self.before[follows]] + 1
        return turn

    @cached_property
    def _turned(self) -> IntArray:
        """All bits set where a node is its parent's right child, none where it is the left."""
        return np.where(self.is_left, np.uint64(0), ~np.uint64(0))

    def taken(self, edges: IntArray, words: IntArray) -> IntArray:
        """Which rows take each edge at the node above (edges, words), by answers in words."""
        _, question = self.conditions
        taken = words.take(question.take(self.parent.take(edges)), axis=0)
        taken ^= self._turned.take(edges)[:, None]
        return taken

    def arrived(self, answers: ByteArray) -> IntArray:
        """Which rows come to each node (nodes, words), by their answers."""
        words = in_words(answers)
        arrived = np.zeros((len(self), words.shape[1]), np.uint64)
        arrived[self.roots] = all_of(answers.shape[1])
        for level in self.levels[1:]:
            arrived[level] = self.taken(level, words) & arrived.take(self.parent[level], axis=0)
        return arrived


def inside(block: Block, turns: list[IntArray], answers: ByteArray) -> ByteArray:
    """Whether each row lies in each edge's box (edges, m), 0 or 1, edges in the order of turns."""
    return out_of_words(inside_words(block, turns, in_words(answers)), answers.shape[1])


def inside_words(block: Block, turns: list[IntArray], words: IntArray) -> IntArray:
    """The same (edges, words) of answers in words; bits beyond the rows mean nothing."""
    place = np.full(len(block), NONE)
    total = sum(len(turn) for turn in turns)
    result = np.empty((total, words.shape[1]), np.uint64)
    start = 0
    for turn in turns:
        stop = start + len(turn)
        place[turn] = np.arange(start, stop)
        part = block.taken(turn, words)
        before = block.before.take(turn)
        if len(turn) and before[0] >= 0:
            part &= result.take(place.take(before), axis=0)
        result[start:stop] = part
        start = stop
    return result


def in_words(bits: ByteArray) -> IntArray:
    """Bytes that are 0 or 1 (n, m) as bits (n, words): many rows are computed at once."""
    word = 8 * np.dtype(np.uint64).itemsize
    words = -(-bits.shape[1] // word)
    whole = np.zeros((len(bits), words * word), np.uint8)
    whole[:, : bits.shape[1]] = bits
    return np.packbits(whole.reshape(-1)).view(np.uint64).reshape(len(bits), words)


def out_of_words(words: IntArray, count: int) -> ByteArray:
    """So many bytes that are 0 or 1 of each line of words."""
    return np.unpackbits(words.view(np.uint8), axis=1, count=count)


def all_of(count: int) -> IntArray:
    """The words (words,) of so many rows, all of whose bits are set."""
    return in_words(np.ones((1, count), np.uint8))[0]


def counted(words: IntArray) -> IntArray:
    """How many bits are set in each line of words."""
    return np.bitwise_count(words).sum(axis=1, dtype=np.int64)
