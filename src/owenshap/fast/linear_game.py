"""The game of a model whose first step is linear: valued from columns, no input row is ever
built.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from owenshap.designs.design import Chains, Design, Stars, Subsets
from owenshap.fast import batched_stars
from owenshap.fast.chains import of_chains
from owenshap.fast.columns import Pairs, hidden_at
from owenshap.fast.doubling import of_subsets
from owenshap.fast.first_step import first_step
from owenshap.fast.linear_first import LinearFirst, settled
from owenshap.fast.stars import of_stars
from owenshap.games.model_game import ModelGame
from owenshap.support.arrays import BoolArray, FloatArray, IntArray

CACHES = ("pairs", "ready")  # made anew where they are used


@dataclass(frozen=True, eq=False)
class LinearModelGame(ModelGame):
    """The same game, valued from columns; what is not finite there is left to the plain way, which
    tells where it happens.
    """

    memory: int = field(kw_only=True)
    """Bytes of working arrays."""
    known: LinearFirst | None = field(default=None, repr=False)
    """The model's linear first step, where it was asked for already."""

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in super().__getstate__().items() if name not in CACHES
        } | {"known": None}

    def release(self) -> None:
        """Let go of what it keeps on the device; made anew where it is used again."""
        for name in CACHES:
            self.__dict__.pop(name, None)

    @property
    def launches(self) -> bool:
        """Not from columns: their values are awaited where they are asked for."""
        return False

    @property
    def linear(self) -> LinearFirst:
        """The first step of what is explained, and what follows it."""
        return self.pairs.linear

    @cached_property
    def pairs(self) -> Pairs:
        """Its rows with what stands in for their features, and their columns."""
        linear = self.known or first_step(self.model)
        assert linear is not None
        linear, output = settled(linear, self.output)
        return Pairs(linear, self.rows, self.absent, self.players, self.live, output, self.memory)

    @cached_property
    def ready(self) -> Ready | None:
        """What was valued ahead, together with other games."""
        return None

    def values(self, coalitions: BoolArray, /) -> FloatArray:
        """The values (m, rows × outputs) of these coalitions, over all background rows."""
        if (
            self.ready is not None
            and len(coalitions) == 2
            and coalitions[1].all()
            and not coalitions[0].any()
        ):
            return self.ready.ends
        arrays = self.linear.arrays
        step = max(1, self.pairs.tile // self.linear.widest)
        with arrays.running():
            present = arrays.put(np.ascontiguousarray(coalitions.T))
            if len(coalitions) <= step:
                values = self._values(present)
            else:
                starts = range(0, len(coalitions), step)
                values = np.concatenate([self._values(present[:, at : at + step]) for at in starts])
        return values if np.isfinite(values).all() else super().values(coalitions)

    def _values(self, present: Any) -> FloatArray:
        pairs = self.pairs
        count = present.shape[1]

        def of_pairs(rows: slice, drawn: Any) -> Any:
            columns, empty = pairs.columns(rows, drawn)
            return pairs.outputs_of(hidden_at(self.linear.arrays, present, columns, empty), rows)

        values = self.linear.arrays.get(pairs.over_pairs(of_pairs, self.linear.widest * count))
        return values.transpose(2, 1, 0).reshape(count, -1)

    def design_replicates(
        self, design: Design, empty: FloatArray, grand: FloatArray, /
    ) -> FloatArray:
        """The replicates (r, n, rows × outputs) of stars, of chains, or of all subsets."""
        if (
            self.ready is not None
            and isinstance(design, Stars)
            and np.array_equal(design.centres, self.ready.centres)
        ):
            return self.ready.replicates
        replicates = self.linear.arrays.get(self.device_replicates(design, empty, grand))
        return replicates.transpose(3, 2, 1, 0).reshape(replicates.shape[3], self.n_players, -1)

    @property
    def launches_replicates(self) -> bool:
        """Whether replicates are begun on a device and awaited afterwards."""
        return self.linear.arrays.launches and self.ready is None

    def begin_replicates(
        self, design: Design, empty: FloatArray, grand: FloatArray, /
    ) -> Callable[[], FloatArray]:
        """The same begun: what waits for them."""
        wait = self.linear.arrays.begin_reversed(self.device_replicates(design, empty, grand))

        def awaited() -> FloatArray:
            replicates = wait()
            return replicates.reshape(len(replicates), self.n_players, -1)

        return awaited

    def device_replicates(self, design: Design, empty: FloatArray, grand: FloatArray, /) -> Any:
        """The same as (outputs, rows, n, r), left on the model's device."""
        arrays = self.linear.arrays
        with arrays.running():
            if isinstance(design, Stars):
                ends = None if design.background is None else self._ends(empty, grand)
                return of_stars(self.pairs, _once_per_draw(design), ends)
            if isinstance(design, Chains):
                return of_chains(self.pairs, _once_per_draw(design), self._ends(empty, grand))
            assert design == Subsets.all_of(self.n_players)
            return of_subsets(self.pairs)

    def _ends(self, empty: FloatArray, grand: FloatArray) -> Any:
        """(ends, outputs, rows): by row as the game has them, by output as the arrays here have
        them.
        """
        return self.linear.arrays.put(
            np.stack([empty, grand]).reshape(2, len(self.rows), -1).swapaxes(1, 2), exact=True
        )

    def shapley_values(self) -> FloatArray | None:
        """The values (n, rows × outputs) in closed form where what is explained is linear; else
        None.
        """
        pairs = self.pairs
        if pairs.linear.steps or pairs.output.function is not None:
            return None

        def of_pairs(rows: slice, drawn: Any) -> Any:
            columns, _ = pairs.columns(rows, drawn)
            return pairs.chosen(columns[..., 0], rows)

        with self.linear.arrays.running():
            values = self.linear.arrays.get(
                pairs.over_pairs(of_pairs, self.linear.width * self.n_players)
            )
        return values.transpose(2, 1, 0).reshape(self.n_players, -1)


@dataclass(frozen=True, eq=False)
class Ready:
    """Values of a game that were asked for ahead."""

    centres: BoolArray
    replicates: FloatArray
    """Of the stars with these centres, (r, n, rows × outputs)."""
    ends: FloatArray
    """Of the empty and the grand coalition, (2, rows × outputs)."""


def value_ahead(work: Sequence[tuple[LinearModelGame, Stars]]) -> None:
    """Value the stars and the ends of games that `joins` together, for each to have ready when it
    is asked for them.
    """
    arrays = work[0][0].linear.arrays
    games = [game.pairs for game, _ in work]
    with arrays.running():
        ends = np.split(
            arrays.get(batched_stars.ends_of(games)),
            np.cumsum([len(pairs.rows) for pairs in games])[:-1],
            axis=2,
        )
        parts = batched_stars.joined([(game.pairs, design) for game, design in work])
        everything = arrays.get(arrays.joined([part.flatten() for part in parts], 0))
    flat = np.split(everything, np.cumsum([part.numel() for part in parts])[:-1])
    for (game, design), numbers, part, of_game in zip(work, flat, parts, ends, strict=True):
        replicates = (
            numbers.reshape(part.shape)
            .transpose(3, 2, 1, 0)
            .reshape(part.shape[3], game.n_players, -1)
        )
        both = of_game.transpose(0, 2, 1).reshape(2, -1)
        if np.isfinite(replicates).all() and np.isfinite(both).all():
            game.__dict__["ready"] = Ready(design.centres, replicates, both)


def _once_per_draw(design: Any) -> Any:
    """Stars or chains with one background row each: as many copies as rows were drawn, which share
    the weight.
    """
    background: IntArray | None = design.background
    if background is None:
        return design
    draws = background.shape[2]
    flat = background.reshape(len(background), -1)
    if isinstance(design, Chains):
        return Chains(np.repeat(design.ranks, draws, axis=1), flat)
    return Stars(
        np.repeat(design.centres, draws, axis=1), np.repeat(design.weights, draws) / draws, flat
    )
