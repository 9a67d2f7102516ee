"""What other games have taught: where the parameters of a process start, so that few steps are
enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from owenshap.support.arrays import FloatArray, IntArray
from owenshap.surrogates.gaussian_process.link import link_of
from owenshap.surrogates.gaussian_process.members import Mean
from owenshap.surrogates.gaussian_process.parameters import OTHERS, has_index

Numbers: TypeAlias = tuple[float, ...]
Lesson: TypeAlias = tuple[FloatArray, FloatArray, Sequence[Mean], IntArray]
"""Of a fit its pairs (N, n), their values (N,), the members of its mixture, and which players were
its own.
"""


class Taught(NamedTuple):
    """Parameters of some fits, as plain numbers: they are part of a plan.

    Lengths are those of all players; what is there beside them comes last.
    """

    plain: tuple[Numbers, ...] = ()
    """Without an index part, (n + 6,) each."""
    bent: tuple[Numbers, ...] = ()
    """With one: how many times the weights of the link its weights are, in the root mean square;
    the logarithm of its scale; and the others, (2 + n + 6,) each.
    """

    @classmethod
    def restored(cls, state: Sequence[Sequence[Sequence[float]]]) -> Taught:
        """From plain data."""
        return cls(*(tuple(map(tuple, part)) for part in state))

    def of(self, players: IntArray) -> Taught:
        """The same for a game of some of the players."""
        return Taught(
            tuple(_among(each, 0, players) for each in self.plain),
            tuple(_among(each, 2, players) for each in self.bent),
        )

    def starts(self) -> list[FloatArray]:
        """Parameters without an index part."""
        return [np.array(each) for each in self.plain]

    def index_starts(self, weights: FloatArray) -> list[FloatArray]:
        """Parameters with an index part along the weights (n,) of a link."""
        return [np.concatenate([each[0] * weights, each[1:]]) for each in map(np.array, self.bent)]


def taught_by(games: Iterable[Lesson], n_players: int) -> Taught:
    """What fits have learned of some of so many players."""
    plain = list[Numbers]()
    bent = list[Numbers]()
    for signs, values, members, players in games:
        vector = max(members, key=lambda member: member.share).learned.vector
        # beside an index part, others say at least whose lengths are long
        plain.append(_spread(vector[-len(players) - OTHERS :], 0, players, n_players))
        if has_index(vector, len(players)):
            link = link_of(signs, values / np.sqrt(np.mean(np.square(values))))
            size = np.linalg.norm(vector[: len(players)]) / np.linalg.norm(link.weights)
            # the weights' size in units of the link's, then the rest
            relative = np.append(size, vector[len(players) :])
            bent.append(_spread(relative, 2, players, n_players))
    return Taught(tuple(plain), tuple(bent))


def _spread(vector: FloatArray, first: int, players: IntArray, n_players: int) -> Numbers:
    """A vector whose lengths, from the first on, are those of all players: of those who did not
    play, the mean.
    """
    lengths = vector[first:-OTHERS]
    every = np.full(n_players, lengths.mean())
    every[players] = lengths
    return tuple(np.concatenate([vector[:first], every, vector[-OTHERS:]]).tolist())


def _among(numbers: Numbers, first: int, players: IntArray) -> Numbers:
    """The same with the lengths of these players alone."""
    lengths = np.array(numbers[first:-OTHERS])[players].tolist()
    return (*numbers[:first], *lengths, *numbers[-OTHERS:])
