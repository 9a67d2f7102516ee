"""Every estimator that is found keeps every promise."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import owenshap
from owenshap.designs.levels import midpoint
from owenshap.estimators import by_name
from owenshap.testing import ESTIMATOR_CHECKS, random_unanimity_sum

DEFAULTS = [each() for each in by_name().values()]
VARIANTS = [
    owenshap.Castro(antithetic=True),
    owenshap.Owen(levels=1),
    owenshap.Owen(levels=3, per_level=2),
    owenshap.Owen(levels=5, rule="gauss-legendre"),
    # too few levels for the players: biased, and must say so
    owenshap.Owen(levels=2, rule="gauss-legendre"),
    owenshap.Owen(levels=6, rule="grid"),
    owenshap.Owen(rule=midpoint(4)),
    owenshap.HalvedOwen(levels=1),
    owenshap.HalvedOwen(levels=5),
    owenshap.HalvedOwen(levels=4, per_level=2),
    owenshap.HalvedOwen(levels=4, rule="gauss-legendre"),
    owenshap.HalvedOwen(levels=5, rule="gauss-legendre"),
    owenshap.HalvedOwen(levels=4, rule="midpoint"),
    *(
        kind(levels=levels, per_level=1, divisor=divisor)
        for kind in (owenshap.OwenPrinted, owenshap.HalvedOwenPrinted)
        for levels in (5, 6)
        for divisor in ("program", "paper")
    ),
]


@pytest.mark.parametrize("check", ESTIMATOR_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", [*DEFAULTS, *VARIANTS], ids=repr)
def test_promise(estimator, check):
    check(estimator)


def test_processes_change_no_bit():
    game = random_unanimity_sum(6, terms=24, order=6)
    # Spawned: a fork of a process that has threads may hang, and Python warns of it.
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        for estimator in (*DEFAULTS, owenshap.Castro(antithetic=True)):
            budget = 2 + 2 * estimator.replicate_cost(6) + 3000
            alone = owenshap.estimate(game, estimator, budget=budget)
            elsewhere = owenshap.estimate(game, estimator, budget=budget, executor=executor)
            np.testing.assert_array_equal(elsewhere.values, alone.values)
            np.testing.assert_array_equal(elsewhere.moments.squares, alone.moments.squares)
            assert elsewhere.evaluations == alone.evaluations
