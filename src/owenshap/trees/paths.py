"""Path-dependent values of deep trees, without tables: one pass down and one up, at each level q.

Absent players follow the trees' cover: player j of a leaf has the factor q · bit_j + (1 − q) ·
share_j, a leaf is the product of its players' factors times its value, and φ_j of it is ∫ (bit_j −
share_j) · (the product without j's factor) dq. On the way down each node gets the product of the
factors so far. On the way up, what all leaves below an edge give to the edge's player needs their
sum only; the part that an earlier edge of the same player claims is taken back there.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from owenshap.support.arrays import CACHED, BoolArray, FloatArray, IntArray
from owenshap.trees.boxes import Block, Followed, parts_of
from owenshap.trees.leaves import LEAST_SHARE, levels
from owenshap.trees.products import Asked, cover_differences_at


def cover_shares(block: Block) -> FloatArray:
    """For each edge the product of the cover shares of its player's splits down to it (nodes,)."""
    cover = block.ensemble.cover[block.nodes]
    whole = np.zeros(len(block))
    for inner, left, right in block.splits:
        whole[inner] = cover[left] + cover[right]
    shares = np.ones(len(block))
    for level in block.levels[1:]:
        above = whole[block.parent[level]]
        share = np.divide(cover[level], above, out=np.full(len(above), 0.5), where=above > 0)
        before = block.before[level]
        shares[level] = share * np.where(before >= 0, shares[before], 1.0)
    return shares


class Passes:
    """The part of a block that leads to some of its leaves, for passes down and up.

    Its nodes lie depth by depth, at each depth the inner ones first. The place behind the last one
    stands for others and for none.

    Parameters
    ----------
    block : Block
        The trees.
    wanted : bool (nodes,)
        The leaves that count.
    shares : float (nodes,)
        The product of the cover shares of each edge's player down to it.
    """

    def __init__(self, block: Block, wanted: BoolArray, shares: FloatArray) -> None:
        live = block.leading_to(wanted)
        kept = [np.flatnonzero(live[level]) + level.start for level in block.levels]
        leaves_last = [each[np.argsort(~block.inner[each], kind="stable")] for each in kept]
        edges = np.cumsum([0, *(len(each) for each in kept)]).tolist()
        self.block = block
        self.order = np.concatenate(leaves_last)
        self.depths = [slice(start, stop) for start, stop in pairwise(edges)]
        place = np.full(len(block) + 1, len(self.order))
        place[self.order] = np.arange(len(self.order))
        self.parent = place[block.parent[self.order]]
        self.left = place[block.left[self.order]]
        self.right = place[block.right[self.order]]
        self.inner = block.inner[self.order]
        values = block.ensemble.values[block.nodes[self.order]]
        self.values = np.where(self.inner[:, None], 0.0, values).T  # of leaves (V, places)
        most = int(block.players[wanted].max(initial=0))
        self.factors = [
            self._factors(np.maximum(shares, LEAST_SHARE), level, weight)
            for level, weight in zip(*levels(most), strict=True)
        ]

    def adding(self, output: int) -> csr_array:
        """The matrix that adds what edges give to the targets, made anew for each output: those of
        many would fill the memory.
        """
        edges = np.arange(self.depths[0].stop, len(self.order))
        nodes = self.order[edges]
        whole = self.block.ensemble
        outputs = whole.outputs[self.block.tree[nodes], output]
        target = outputs * self.block.n_players + self.block.edge_player[nodes]
        shape = (whole.n_outputs * self.block.n_players, len(self.order))
        return csr_array((np.ones(len(edges)), (target, edges)), shape=shape)

    def cases(self, rows: Followed) -> IntArray:
        """Where each edge and row finds its factors (places, m), of three per edge: the row left
        the player's box before, leaves it here, or stays.
        """
        case = rows.boxes(self.order) + rows.boxes(self.block.before[self.order])
        return np.add(case, 3 * np.arange(len(self.order))[:, None], dtype=np.intp)

    def _factors(
        self, shares: FloatArray, level: float, weight: float
    ) -> tuple[FloatArray, FloatArray]:
        """At a level, by edge and case: the step of products, and the part that the player gets."""
        before = self.block.before[self.order]
        first = before < 0
        out = (1 - level) * shares
        within = level + out
        ratio = (1 - shares) / within
        out_before = np.where(first, 1.0, out[before])
        within_before = np.where(first, 1.0, within[before])
        ratio_before = np.where(first, 0.0, ratio[before])
        out, within, ratio = (each[self.order] for each in (out, within, ratio))
        steps = np.stack([out / out_before, out / within_before, within / within_before], axis=1)
        gains = np.stack(
            [np.zeros(len(out)), -1 / (1 - level) - ratio_before, ratio - ratio_before], axis=1
        )
        return steps.ravel(), weight * gains.ravel()


def add_path_values(passes: Passes, rows: Followed, total: FloatArray) -> None:
    """Add the values of rows to (targets, m)."""
    case = passes.cases(rows)
    gained = np.zeros((len(passes.values), *case.shape))
    for steps, gains in passes.factors:
        product = steps.take(case)
        product[passes.depths[0]] = 1  # roots take no step
        for depth in passes.depths[1:]:
            product[depth] *= product[passes.parent[depth]]
        of_edge = gains.take(case)
        for gain, values in zip(gained, passes.values, strict=True):
            gain += of_edge * _sums_below(passes, product, values)[:-1]  # noqa: PLW2901
    for output, gain in enumerate(gained):
        total += passes.adding(output) @ gain


def _sums_below(passes: Passes, product: FloatArray, values: FloatArray) -> FloatArray:
    """Sums over the leaves below each place of products times values; zero in one more place."""
    sums = np.zeros((len(product) + 1, product.shape[1]))
    np.multiply(product, values[:, None], out=sums[:-1])
    for depth in reversed(passes.depths):
        inner = slice(depth.start, depth.start + int(passes.inner[depth].sum()))
        sums[inner] = sums[passes.left[inner]] + sums[passes.right[inner]]
    return sums


def add_cover_differences(
    block: Block,
    wanted: BoolArray,
    shares: FloatArray,
    rows: Followed,
    asked: Asked,
    total: FloatArray,
) -> None:
    """Add what rows get from some leaves to (targets, m), leaf by leaf: for pairs, and for any
    weight on levels.

    Parameters
    ----------
    block : Block
        The trees.
    wanted : bool (nodes,)
        The leaves that count.
    shares : float (nodes,)
        The product of the cover shares of each edge's player down to it.
    rows : Followed
        What is explained.
    asked : Asked
        What leaves are asked for.
    total : float (targets, m)
        What is added to.
    """
    whole = block.ensemble
    targets = asked.targets(block.n_players)
    leaves = block.where(wanted & (block.players >= asked.order))
    boxes = block.boxes(leaves)
    for players in np.unique(block.players[leaves]).tolist():
        group = np.flatnonzero(block.players[leaves] == players)
        for part in parts_of(group, max(1, CACHED // (asked.count(players) * rows.rows))):
            some = leaves[group[part]]
            edges = boxes[group[part], :players]
            bits = rows.boxes(edges.ravel()).reshape(*edges.shape, -1).astype(np.float64)
            differences = cover_differences_at(bits, shares[edges], asked)
            places = asked.places(block.edge_player[edges], block.n_players)
            for output, values in enumerate(whole.values[block.nodes[some]].T):
                target = whole.outputs[block.tree[some], output][:, None] * targets + places
                np.add.at(total, target, values[:, None, None] * differences)
