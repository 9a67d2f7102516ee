import pickle
from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest
from naive import refuses
from scipy.special import beta as beta_function

from owenshap.designs.indices import as_index


def test_shapley_counts_sizes_as_permutations_do():
    for others in (0, 1, 5, 24):
        wanted = [
            Fraction(factorial(size) * factorial(others - size), factorial(others + 1))
            for size in range(others + 1)
        ]
        assert np.allclose(as_index("shapley").size_weights(others), np.array(wanted, float))


def test_banzhaf_counts_all_coalitions_alike():
    assert np.allclose(as_index("banzhaf").size_weights(6), 2.0**-6, rtol=1e-15)


@pytest.mark.parametrize(("a", "b"), [(16, 1), (1, 4), (0.5, 2), (3, 3)])
def test_beta_counts_sizes_as_its_paper_does(a, b):
    sizes = np.arange(21)
    # Kwon & Zou (2022): B(s + b, n − 1 − s + a) / B(a, b)
    wanted = beta_function(sizes + b, 20 - sizes + a) / beta_function(a, b)
    assert np.allclose(as_index(f"beta({a}, {b})").size_weights(20), wanted, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("given", ["shapley", "banzhaf", "beta(4, 1)", ([0.1, 0.8], [0.3, 0.7])])
def test_weights_of_all_coalitions_sum_to_one(given):
    for others in (0, 1, 2, 7, 30):
        counts = [comb(others, size) for size in range(others + 1)]
        assert as_index(given).size_weights(others) @ counts == pytest.approx(1, abs=1e-12)


def test_an_index_knows_whether_it_is_its_own_mirror_image():
    kinds = ["shapley", "banzhaf", "beta(2, 2)", ([0.25, 0.75], [0.5, 0.5])]
    assert all(as_index(given).symmetric for given in kinds)
    kinds = ["beta(2, 1)", ([0.25, 0.75], [0.4, 0.6])]
    assert not any(as_index(given).symmetric for given in kinds)
    assert [as_index(given).efficient for given in ("shapley", "beta(1, 1)", "banzhaf")] == [
        True,
        True,
        False,
    ]


def test_an_index_is_plain_data_and_can_be_pickled():
    for given in ("Banzhaf", " beta( 4,1 ) ", ([0.8, 0.1], [0.7, 0.3])):
        index = as_index(given)
        for again in (as_index(index.state()), pickle.loads(pickle.dumps(index))):
            assert np.array_equal(again.size_weights(9), index.size_weights(9))
    assert as_index("beta(4.0,1)").state() == "beta(4, 1)"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("shaply", "'shapley', 'banzhaf', 'beta(a, b)', or (nodes, weights); got shaply"),
        ("beta", "got beta"),
        ("beta(1)", "got beta(1)"),
        ("beta(one, 1)", "got beta(one, 1)"),
        ("beta(0, 1)", "a and b above 0"),
        ("beta(1e5, 1)", "at most about 1,000; got beta(100000, 1)"),
        ("beta(inf, 1)", "got beta(inf, 1)"),
        (0.5, "got 0.5"),
        (([0.5], [0.9]), "sum to 1; got [0.9]. Divide them by their sum"),
        (([0.2, 0.5], [1.5, -0.5]), "weights of at least 0"),
        (([0.5, 1.5], [0.5, 0.5]), "between 0 and 1"),
        (([0.5], [0.5, 0.5]), "as many nodes as weights"),
        (([], []), "as many nodes as weights"),
        ((["half"], [1]), "got (['half'], [1])"),
        (([np.nan], [1]), "between 0 and 1"),
        (([0.5], [np.nan]), "sum to 1"),
    ],
)
def test_what_is_no_index_is_refused(given, words):
    with refuses("index", words):
        as_index(given)
