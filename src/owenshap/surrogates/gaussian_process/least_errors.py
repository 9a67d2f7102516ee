"""Parameters by errors at left-out pairs, which tell more than the likelihood of many pairs."""

from __future__ import annotations

import numpy as np

from owenshap.support.arrays import FloatArray, IntArray
from owenshap.surrogates.gaussian_process.cost import error_groups, errors_tell
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.learning import (
    Learner,
    first_guess,
    is_alike,
    lowest_from,
)
from owenshap.surrogates.gaussian_process.members import Learned, Member, mixture, together
from owenshap.surrogates.gaussian_process.parameters import bounds, has_index, penalty
from owenshap.surrogates.gaussian_process.settings import ERRORS, LEARNING


def with_least_errors(
    learner: Learner, members: list[Member], target: FloatArray, scale: float
) -> list[Member]:
    """These members, and with them those of parameters by errors at left-out pairs: from the best
    of them, and from anew; these alone where pairs are too few.
    """
    n_players = learner.signs.shape[1]
    plain = [member for member in members if not is_alike(member.learned.vector)]
    if not plain or not errors_tell(*learner.signs.shape):
        return members
    starts = [max(plain, key=lambda member: member.share).learned]
    if not has_index(starts[0].vector, n_players):
        starts.append(Learned(first_guess(learner.signs, target)))
    groups = [members]
    for start in starts:
        learned = Learned(_least_errors(learner, start, target), start.triples)
        groups.append(mixture(learner.means([learned], target), n_players, scale))
    return together([group for group in groups if group], n_players)


def _least_errors(learner: Learner, start: Learned, target: FloatArray) -> FloatArray:
    """Parameters some steps on, by errors at left-out pairs: summed over groups of pairs where
    players are many, since one group says little of so many lengths.
    """
    vector = start.vector
    n_players = learner.signs.shape[1]
    groups = [
        (target[which], likelihood.with_triples(start.triples))
        for which, likelihood in _groups(learner, learner.seen(ERRORS.pairs, target))
    ]

    def loss(vector: FloatArray) -> tuple[float, FloatArray]:
        prior, slope = penalty(vector, n_players)  # counts once
        total = (1 - len(groups)) * prior
        gradient = (1 - len(groups)) * slope
        for values, likelihood in groups:
            error, along = likelihood.loss(vector, values, left_out=True)
            total = total + error
            gradient = gradient + along
        return total, gradient

    limits = bounds(n_players, has_index(vector, n_players))
    return lowest_from(loss, vector, limits, LEARNING.steps_on)


def _groups(learner: Learner, size: int) -> list[tuple[IntArray, Likelihood]]:
    """Groups of so many pairs, the grand coalition's in each."""
    which, first = learner.part(size)
    groups = [(which, first)]
    for number in range(1, error_groups(*learner.signs.shape)):
        others = learner.order[1 + number * (size - 1) :][: size - 1]
        which = np.append(0, np.sort(others))
        groups.append((which, first.of_others(learner.signs[which])))
    return groups
