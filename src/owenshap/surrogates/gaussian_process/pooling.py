"""Outputs that start from what a few of them have learned."""

from __future__ import annotations

import numpy as np

from owenshap.support.arrays import FloatArray
from owenshap.surrogates.base import UNUSUAL
from owenshap.surrogates.gaussian_process.learning import Learner
from owenshap.surrogates.gaussian_process.members import Learned, left_out_error, mixture
from owenshap.surrogates.gaussian_process.parameters import OTHERS, has_index
from owenshap.surrogates.gaussian_process.settings import LEARNING


class Choices:
    """Parameters of pilots, for other outputs to go on from, with or without an index part as suits
    most of them.
    """

    def __init__(
        self, learner: Learner, learned: dict[int, list[Learned]], targets: dict[int, FloatArray]
    ) -> None:
        self._learner = learner
        n_players = learner.full.signs.shape[1]
        mixed = [
            mixture(learner.means(each, targets[k]), n_players, 1.0) for k, each in learned.items()
        ]
        pilots = [members for members in mixed if members]
        best = [max(members, key=lambda member: member.share) for members in pilots]
        self._index = (
            sum(has_index(member.learned.vector, n_players) for member in best) > len(best) / 2
        )
        self._limit = (
            UNUSUAL * float(np.mean([left_out_error(member) for member in best])) if best else 0.0
        )
        self._which, likelihood = learner.part(LEARNING.nearby[0][0])
        vectors = [member.learned.vector[-(n_players + OTHERS) :] for member in best]
        factors = [(vector, likelihood.factor(vector)) for vector in vectors]
        self._factors = [(vector, factor) for vector, factor in factors if factor is not None]

    def learned(self, target: FloatArray, even: FloatArray | None) -> list[Learned]:
        """Parameters some steps on from those under which these values are the most likely; its own
        where they do not suit.
        """
        if self._factors:
            part = target[self._which]
            best = min(
                self._factors,
                key=lambda each: float(part @ each[1].solve(part)) + each[1].log_determinant,
            )[0]
            learned = [Learned(self._learner.nearby(best, target))]
            if self._index:  # beside the other: what few steps make of it may be worse
                bent = self._learner.index_guess(best, target)
                if bent is not None:
                    learned.append(Learned(self._learner.nearby(bent, target)))
            members = mixture(self._learner.means(learned, target), len(best) - OTHERS, 1.0)
            if (
                members
                and left_out_error(max(members, key=lambda member: member.share)) <= self._limit
            ):
                return learned
        return self._learner.learn(target, even)
