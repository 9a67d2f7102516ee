"""Deep trees: an explained row and a background row walk down together until they disagree.

At a node the pair goes on to a child where the child's box holds the explained row or the
background row. Where each row wants another child the pair parts: on the explained row's side the
node's player must be a member, on the other side it must not be one. A leaf that is reached with a
players that must be members and c that must not adds its value times

    (a−1)! c! / (a+c)! to each of the a players,   −a! (c−1)! / (a+c)! to each of the c.

All players of a parting get the same from the leaves below it, so these are summed from the leaves
up and given out once per parting. So do all pairs of a parting and one above it: what a leaf adds
to two players is its value times ∫ q^(a−2) (1−q)^c of two members, −∫ q^(a−1) (1−q)^(c−1) of one,
∫ q^a (1−q)^(c−2) of none. Another weight on levels takes the place of dq.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property

import numpy as np

from owenshap.support.arrays import CACHED, BoolArray, ByteArray, FloatArray, IntArray
from owenshap.trees.boxes import NONE, Block, Followed, parts_of
from owenshap.trees.products import VALUES, Asked

VISITS = CACHED  # of leaves at a time: enough to be quick, few enough for the cache
FEW_ROWS = 8  # for fewer, fewer visits are made at a time


class Way(IntEnum):
    """Where a row may go from a node, or two rows together."""

    NOWHERE = 0
    LEFT = 1
    RIGHT = 2
    BOTH = LEFT | RIGHT


BOTH = Way.BOTH.value
CODE = np.dtype(np.uint16)  # holds the ways of a row from some places: two bits each
# that a pair goes down in one step, as long as it does not part: all that a code has the places of
LEVELS = (4 * CODE.itemsize + 1).bit_length() - 1
ASKED = (1 << LEVELS) - 1  # places of these levels
PLACES = 2 * ASKED + 1  # and the level below


class Walk:
    """The part of a block that leads to some of its leaves.

    Inner nodes are numbered from 0, then leaves; what leads nowhere is one leaf more, worth 0.

    Parameters
    ----------
    block : Block
        The trees.
    wanted : bool (nodes,)
        The leaves that count.
    reached : float (nodes,)
        The share of pairs that come to each node, about.
    asked : Asked
        What leaves are asked for.
    """

    def __init__(self, block: Block, wanted: BoolArray, reached: FloatArray, asked: Asked) -> None:
        live = block.leading_to(wanted)
        self.block = block
        self.asked = asked
        self.inner = block.where(live & block.inner)
        self.leaves = block.where(wanted)
        number = np.full(len(block), len(self.inner) + len(self.leaves))
        number[self.inner] = np.arange(len(self.inner))
        number[self.leaves] = np.arange(len(self.leaves)) + len(self.inner)
        self.roots = number[block.roots[live[block.roots]]]
        self.below = self._below(number)
        # leaves that a pair comes to in a tree, about
        self.visits = max(1.0, float(reached[self.leaves].sum()) / max(1, len(self.roots)))
        # more than members, or others, that a leaf may have: the state of a pair is a · most + c
        self.most = int(block.players[self.leaves].max(initial=0)) + 1
        self.players = block.player[self.inner]
        self.outputs = block.ensemble.outputs[block.tree[self.inner]].T  # (V, inner nodes)
        leaf_values = block.ensemble.values[block.nodes[self.leaves]]
        nowhere = np.zeros((1, leaf_values.shape[1]))
        self.values = np.append(leaf_values, nowhere, axis=0).T.copy()  # (V, leaves + 1)

    def _below(self, number: IntArray) -> IntArray:
        """The nodes at the places below each inner node (inner nodes, PLACES).

        Place 0 is the node itself; the children of place p are at 2p + 1 and 2p + 2.
        """
        count = len(self.inner)
        children = np.full((count + 1, 2), NONE)
        children[:-1, 0] = number[self.block.left[self.inner]]
        children[:-1, 1] = number[self.block.right[self.inner]]
        below = np.full((count, PLACES), NONE)
        below[:, 0] = np.arange(count)
        for place in range(ASKED):  # what is no inner node has the last children, which are none
            below[:, 2 * place + 1 : 2 * place + 3] = children[np.minimum(below[:, place], count)]
        return below

    def ways(self, rows: Followed) -> IntArray:
        """Where each row may go from the places below each inner node (m, inner nodes).

        Two bits per place: a `Way`, never both; nowhere where the place is no inner node.
        """
        ways = np.zeros((len(self.inner) + 1, rows.rows), CODE)
        ways[:-1] = rows.boxes(self.block.right[self.inner])
        ways <<= 1
        ways[:-1] |= rows.boxes(self.block.left[self.inner])
        codes = ways[:-1].copy()
        for asked in range(1, ASKED):
            codes |= ways[np.minimum(self.below[:, asked], len(codes))] << (2 * asked)
        return np.ascontiguousarray(codes.T)

    @cached_property
    def factors(self) -> FloatArray:
        """The weights of a leaf by state (order + 1, states): where all players that are asked for
        are members, all but one, ..., none.
        """
        factors = np.zeros((self.asked.order + 1, self.most, self.most))
        if self.asked == VALUES:
            choices = np.ones((self.most, self.most))  # (a+c)! / (a! c!): Pascal's triangle
            for members in range(1, self.most):
                np.cumsum(choices[members - 1], out=choices[members])
            factors[0, 1:] = 1 / choices[1:] / np.arange(1, self.most)[:, None]
            factors[1] = factors[0].T
        else:
            moments = self.asked.moments(self.most)
            for others, members in enumerate(reversed(range(len(factors)))):
                factors[others, members:, others:] = moments[
                    : self.most - members, : self.most - others
                ]
        return factors.reshape(len(factors), -1)


def add_pair_values(
    walk: Walk, rows: IntArray, others: IntArray, weights: FloatArray | None, total: FloatArray
) -> None:
    """Add the values of rows to (targets, m), from all pairs of a row and a background row.

    Parameters
    ----------
    walk : Walk
        The leaves that count.
    rows, others : int (m, inner nodes), (b, inner nodes)
        The ways of the rows and of the background.
    weights : float (b,), optional
        Of the background's rows; each counts 1 if not given.
    total : float (targets, m)
        What is added to.
    """
    for some in parts_of(others, max(1, int(VISITS / walk.visits))):
        some_weights = None if weights is None else weights[some]
        # How many trees walk together must not depend on the rows: the order of additions follows.
        per_row = len(others[some]) * walk.visits
        trees = min(len(walk.roots), max(1, int(VISITS / (per_row * FEW_ROWS))))
        step = max(1, int(VISITS / (per_row * trees)))
        for together in parts_of(walk.roots, trees):
            roots = walk.roots[together]
            for part in parts_of(rows, step):
                shape = (len(roots), len(rows[part]), len(others[some]))
                root, row, other = (index.ravel() for index in np.indices(shape))
                steps = _walked(walk, roots[root], row, other, rows[part], others[some])
                _give_out(walk, steps, some_weights, total[:, part])


def add_own_values(walk: Walk, rows: IntArray, others: IntArray, total: FloatArray) -> None:
    """Add the values of rows to (targets, m), each from the pair with its own other row."""
    for part in parts_of(rows, max(1, int(VISITS / (len(walk.roots) * walk.visits)))):
        root, row = (index.ravel() for index in np.indices((len(walk.roots), len(rows[part]))))
        steps = _walked(walk, walk.roots[root], row, row, rows[part], others[part])
        _give_out(walk, steps, None, total[:, part])


@dataclass(frozen=True, eq=False)
class _Step:
    """What happened at one step: pairs that ended in a leaf, and pairs that parted.

    A stretch is the way of a pair from a parting to the next one, or to a leaf.
    """

    ended: IntArray  # stretches
    leaf: IntArray
    state: IntArray
    other: IntArray
    parted: IntArray  # stretches
    node: IntArray
    row: IntArray
    first: int  # the stretches that begin here, on the row's side, then on the other side


@cache
def _stops() -> tuple[ByteArray, BoolArray]:
    """For the ways of a pair: the place where it parts, ends or goes beyond; whether it parts."""
    ways = np.arange(1 << (2 * ASKED))
    place = np.zeros(len(ways), np.int64)
    for _ in range(LEVELS):
        way = (ways >> (2 * place)) & BOTH
        place = np.where(
            (way == Way.NOWHERE) | (way == BOTH) | (place >= ASKED), place, 2 * place + way
        )
    parts = (place < ASKED) & ((ways >> (2 * place)) & BOTH == BOTH)
    return place.astype(np.uint8), parts


def _walked(
    walk: Walk, node: IntArray, row: IntArray, other: IntArray, rows: IntArray, others: IntArray
) -> list[_Step]:
    """The steps of pairs that start at these inner nodes, all at a time."""
    inner = len(walk.inner)
    stride = walk.most
    below = walk.below.ravel()
    flat_rows = rows.ravel()
    flat_others = others.ravel()
    stops, parts = _stops()
    row_start = row * inner
    other_start = other * inner
    state: IntArray = np.zeros(len(node), np.intp)  # a · stride + c
    stretch: IntArray = np.arange(len(node))
    stretches = len(node)
    steps = []
    while len(node):
        way = flat_rows.take(row_start + node)
        both = flat_others.take(other_start + node)
        both |= way
        node *= PLACES
        stop = stops.take(both)
        parted = np.flatnonzero(parts.take(both))
        place = stop.take(parted).astype(np.intp)
        place += place
        row_way = (way.take(parted) >> place) & BOTH
        place += node.take(parted)
        node += stop
        node = below.take(node)
        at = node.take(parted)
        node[parted] = below.take(place + row_way)
        first = stretches
        middle = first + len(parted)
        stretches = middle + len(parted)
        parted_state = state.take(parted)
        parted_stretch = stretch.take(parted)
        parted_row = row_start.take(parted)
        other_side = (
            below.take(place + (BOTH - row_way)),
            parted_row,
            other_start.take(parted),
            parted_state + 1,
            np.arange(middle, stretches),
        )
        state[parted] = parted_state + stride
        stretch[parted] = np.arange(first, middle)
        row_side = (node, row_start, other_start, state, stretch)
        node, row_start, other_start, state, stretch = (
            np.concatenate(sides) for sides in zip(row_side, other_side, strict=True)
        )
        ended = np.flatnonzero(node >= inner)
        going = np.flatnonzero(node < inner)
        steps.append(
            _Step(
                stretch.take(ended),
                node.take(ended) - inner,
                state.take(ended),
                other_start.take(ended) // inner,
                parted_stretch,
                at,
                parted_row // inner,
                first,
            )
        )
        node, row_start, other_start, state, stretch = (
            each.take(going) for each in (node, row_start, other_start, state, stretch)
        )
    return steps


def _give_out(
    walk: Walk, steps: list[_Step], weights: FloatArray | None, total: FloatArray
) -> None:
    """From the last leaves up: add what those below each parting give to (targets, m)."""
    node = np.concatenate([step.node for step in steps])
    row = np.concatenate([step.row for step in steps])
    player = walk.players.take(node)
    targets = walk.asked.targets(walk.block.n_players)
    for outputs, values in zip(walk.outputs, walk.values, strict=True):
        start = (outputs * targets).take(node)
        amounts = _amounts(walk, steps, values, weights)
        if walk.asked.order == 1:
            place = (start + player) * total.shape[1] + row
            total += np.bincount(place, amounts[0], total.size).reshape(total.shape)
            continue
        for below, upper, amount in _with_those_above(steps, amounts):
            one = player.take(below)
            two = player.take(upper)
            place = np.minimum(one, two) * walk.block.n_players + np.maximum(one, two)
            np.add.at(total, (place + start.take(below), row.take(below)), amount)


def _amounts(
    walk: Walk, steps: list[_Step], values: FloatArray, weights: FloatArray | None
) -> FloatArray:
    """What each parting gives to its player (order, partings); of pairs, with one above that must
    be a member, and what it takes with one that must not be.
    """
    # below each stretch, by how many of the players are no members
    sums = np.empty((len(walk.factors), steps[-1].first + 2 * len(steps[-1].parted)))
    amounts: list[FloatArray] = []
    for step in reversed(steps):
        value = values.take(step.leaf)
        if weights is not None:
            value *= weights[step.other]
        for below, factor in zip(sums, walk.factors, strict=True):
            below[step.ended] = value * factor.take(step.state)
        middle = step.first + len(step.parted)
        of_row = sums[:, step.first : middle]
        of_other = sums[:, middle : middle + len(step.parted)]
        amounts.append(of_row[:-1] - of_other[1:])
        for below, both in zip(sums, of_row + of_other, strict=True):
            below[step.parted] = both
    return np.concatenate(amounts[::-1], axis=1)


def _with_those_above(
    steps: list[_Step], amounts: FloatArray
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Partings, for each the next one above, then the one above that, ..., and what both get."""
    above = [np.full(steps[0].first, NONE)]  # the parting that each stretch begins at
    is_row_side = [np.zeros(steps[0].first, np.bool_)]
    partings = 0
    for step in steps:
        new = np.arange(partings, partings + len(step.parted))
        above += [new, new]
        is_row_side += [np.ones(len(new), np.bool_), np.zeros(len(new), np.bool_)]
        partings += len(new)
    parted_from = np.concatenate(above)
    member = np.concatenate(is_row_side)
    stretch = np.concatenate([step.parted for step in steps])
    below = np.arange(partings)
    here = stretch
    while len(below):
        upper = parted_from.take(here)
        inside = np.flatnonzero(upper >= 0)
        below = below.take(inside)
        upper = upper.take(inside)
        with_member = member.take(here.take(inside))
        yield (
            below,
            upper,
            np.where(with_member, amounts[0].take(below), -amounts[1].take(below)),
        )
        here = stretch.take(upper)
