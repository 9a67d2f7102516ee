"""What the tests of models that begin with a linear step share: designs, ways to be absent, and the
comparison of both ways.
"""

import numpy as np

from owenshap import Castro, Exact, Explainer, HalvedOwen, Owen, OwenPrinted

FEATURES = 6
DESIGNS = {
    "exact": (Exact(), None),
    "chains": (Castro(), 300),
    "antithetic chains": (Castro(antithetic=True), 300),
    "stars": (Owen(), 400),
    "halved stars": (HalvedOwen(), 400),
    "fixed levels": (HalvedOwen(levels=8, rule="gauss-legendre"), 400),
    "the paper's grid": (OwenPrinted(levels=5), None),
}
OUTPUTS = {
    "all": None,
    "one": 1,
    "predicted": "predicted",
    "logit": "logit",
    "function": lambda p: p[:, :2] ** 2,
}


BACKGROUND = np.random.default_rng(5).normal(size=(7, FEATURES))
ABSENT = {
    "background": {"background": BACKGROUND},
    "weights": {"background": BACKGROUND, "background_weights": np.arange(7.0)},
    "a row": {"baseline": BACKGROUND[0]},
    "a row each": {"baseline": BACKGROUND[:5]},
    "little memory": {"background": BACKGROUND, "memory": 6000},
}


def rows(count=5, seed=0):
    """Rows of which some have null players against the baseline 0."""
    x = np.random.default_rng(seed).normal(size=(count, FEATURES))
    x[1, 2] = x[2, [1, 4]] = 0
    return x


def agree(model, x, method, budget, tolerance=1e-6, draws=None, **settings):
    """The fast way's explanation, which is that of the plain way."""
    both = [Explainer(model, fast=each, **settings) for each in (True, False)]
    fast, plain = (each(x, method=method, budget=budget, background_draws=draws) for each in both)
    scale = np.abs(plain.values).max()
    assert scale > 0
    np.testing.assert_allclose(fast.values, plain.values, rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(
        fast.base_values, plain.base_values, rtol=tolerance, atol=tolerance * scale
    )
    np.testing.assert_array_equal(fast.evaluations, plain.evaluations)
    np.testing.assert_array_equal(fast.model_rows, plain.model_rows)
    assert (fast.standard_errors is None) == (plain.standard_errors is None)
    if plain.standard_errors is not None:
        np.testing.assert_allclose(
            fast.standard_errors, plain.standard_errors, rtol=0, atol=10 * tolerance * scale
        )
    return fast
