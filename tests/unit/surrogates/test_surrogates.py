from dataclasses import replace

import numpy as np
import pytest
from naive import refuses
from scipy.special import expit

import owenshap
from owenshap.designs.levels import gauss_legendre
from owenshap.designs.pairs import (
    all_pairs,
    draw_independent_pairs,
    draw_pairs,
    even_pairs,
    more_pairs,
)
from owenshap.estimators.exact import Exact
from owenshap.support.bits import from_codes
from owenshap.surrogates.gaussian_process import kernel
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.parameters import OTHERS
from owenshap.surrogates.gaussian_process.settings import ERRORS, fit_seconds
from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate
from owenshap.surrogates.linear import LinearSurrogate
from owenshap.testing import additive, random_unanimity_sum, weighted_voting

SURROGATES = [LinearSurrogate(), GaussianProcessSurrogate()]
each_surrogate = pytest.mark.parametrize(
    "surrogate", SURROGATES, ids=lambda surrogate: surrogate.name
)


def all_coalitions(n_players):
    return from_codes(np.arange(1 << n_players), n_players)


def enumerated(values):
    """Exact Shapley values (n, k) of a table of values (2^n, k)."""
    n_players = len(values).bit_length() - 1
    return Exact().replicates(Exact().draw(n_players, np.random.default_rng(0), 1), values)[0]


def some_pairs(n_players, count, seed=0):
    drawn = draw_pairs(n_players, count, np.random.default_rng(seed))
    ends = np.array([[True] * n_players, [False] * n_players])
    return np.concatenate([ends, drawn, ~drawn])


def bent(coalitions, seed=0):
    """A smooth game of some outputs."""
    weights = np.random.default_rng(seed).normal(size=(coalitions.shape[1], 2))
    return np.tanh(coalitions @ weights / 2 + 0.3)


def some_vector(n_players, seed=0, index=False):
    rng = np.random.default_rng(seed)
    plain = np.concatenate([rng.normal(-1, 0.6, n_players), [0.2, -0.3, -3, 0.6, 0.4, 0.1]])
    return np.concatenate([rng.normal(0, 0.7, n_players), [0.3], plain]) if index else plain


@each_surrogate
@pytest.mark.parametrize("n_players", [1, 2, 3, 7, 10])
def test_shapley_values_are_those_of_the_surrogate_by_enumeration(surrogate, n_players):
    coalitions = some_pairs(n_players, min(20, all_pairs(n_players)))
    fitted = surrogate.fit(coalitions, bent(coalitions))
    table = fitted.values(all_coalitions(n_players))
    scale = np.abs(table).max()
    np.testing.assert_allclose(fitted.shapley_values, enumerated(table), rtol=0, atol=1e-9 * scale)


with_and_without_index = pytest.mark.parametrize("index", [False, True], ids=["plain", "index"])


@with_and_without_index
@pytest.mark.parametrize("n_players", [6, 9])
def test_the_kernel_has_its_shapley_values_in_closed_form(n_players, index):
    signs = np.where(some_pairs(n_players, 15)[: 16 + 1], 1.0, -1.0)
    likelihood, vector = Likelihood(signs), some_vector(n_players, index=index)
    everywhere = np.where(all_coalitions(n_players), 1.0, -1.0)
    kernel = likelihood.cross(vector, everywhere)
    np.testing.assert_allclose(likelihood.shapley(vector), enumerated(kernel).T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(kernel, -kernel[::-1], atol=1e-14)  # odd


@with_and_without_index
def test_the_variance_of_shapley_values_is_that_of_the_kernel(index):
    n_players = 6
    everywhere = np.where(all_coalitions(n_players), 1.0, -1.0)
    likelihood, vector = Likelihood(everywhere), some_vector(n_players, index=index)
    covariance = enumerated(enumerated(likelihood.cross(vector, everywhere)).T)
    np.testing.assert_allclose(
        likelihood.shapley_priors(vector), np.diagonal(covariance), atol=1e-10
    )


@with_and_without_index
@pytest.mark.parametrize("left_out", [False, True], ids=["likelihood", "left-out"])
@pytest.mark.parametrize("lean", [0.0, 0.6])
def test_the_gradient_is_that_of_finite_differences(lean, left_out, index):
    signs = np.where(some_pairs(7, 14)[np.r_[0, 2:16]], 1.0, -1.0)
    likelihood, vector = Likelihood(signs), some_vector(7, index=index)
    vector[-OTHERS + 3] = lean
    values = np.random.default_rng(1).normal(size=len(signs))
    _, gradient = likelihood.loss(vector, values, left_out)
    for i, step in enumerate(1e-6 * np.eye(len(vector))):
        if lean == 0 and i == len(vector) - 3:
            continue  # at its bound
        up, down = (
            likelihood.loss(moved, values, left_out)[0] for moved in (vector + step, vector - step)
        )
        assert gradient[i] == pytest.approx((up - down) / 2e-6, abs=1e-6)


@with_and_without_index
def test_many_pairs_have_the_same_kernel_as_few(index, monkeypatch):
    signs = np.where(some_pairs(9, 200)[: 1 + 200], 1.0, -1.0)[np.r_[0, 2:201]]
    vector, values = some_vector(9, index=index), np.random.default_rng(1).normal(size=200)
    few = Likelihood(signs).factor(vector)
    monkeypatch.setattr("owenshap.surrogates.gaussian_process.kernel.FILLED_AT_ONCE", 100)
    monkeypatch.setattr("owenshap.surrogates.gaussian_process.kernel.CACHED", 6000)
    many = Likelihood(signs).factor(vector)
    np.testing.assert_allclose(many.solve(values), few.solve(values), rtol=1e-8)
    inverse = few.inverse()
    np.testing.assert_allclose(many.inverted().diagonal(), np.diagonal(inverse), rtol=1e-10)


def test_with_many_pairs_the_errors_at_left_out_ones_count(monkeypatch):
    # a step, nothing like the prior
    game = weighted_voting(np.random.default_rng(70).integers(1, 20, 16).tolist(), 80)
    drawn = [some_pairs(16, 300, seed) for seed in range(3)]

    def errors():
        fits = [
            GaussianProcessSurrogate().fit(coalitions, game.values(coalitions)[:, None])
            for coalitions in drawn
        ]
        return [np.square(fit.shapley_values[:, 0] - game.shapley_values).sum() for fit in fits]

    with_them = errors()
    never = replace(ERRORS, more_than_each=1000)
    monkeypatch.setattr("owenshap.surrogates.gaussian_process.settings.ERRORS", never)
    # Single draws can go the other way.
    assert np.mean(np.log(with_them)) < np.mean(np.log(errors())) - np.log(1.5)


def test_errors_tell_of_many_players_from_few_pairs_for_each(monkeypatch):
    games = [random_unanimity_sum(120, 360, 8, seed=seed) for seed in range(3)]
    coalitions = some_pairs(120, 600)

    def errors():
        fits = [
            GaussianProcessSurrogate().fit(coalitions, game.values(coalitions)[:, None])
            for game in games
        ]
        return [
            np.square(fit.shapley_values[:, 0] - game.shapley_values).sum()
            for fit, game in zip(fits, games, strict=True)
        ]

    with_them = errors()
    monkeypatch.setattr(
        "owenshap.surrogates.gaussian_process.settings._seen", lambda _, pairs: pairs
    )
    assert np.mean(np.log(with_them)) < np.mean(np.log(errors())) - np.log(1.1)


def test_errors_are_summed_over_groups_of_pairs_where_players_are_many(monkeypatch):
    n_players, drawn, found = 130, some_pairs(130, 960), []

    def network(seed):
        rng = np.random.default_rng(seed)
        first = rng.normal(size=(n_players, 40)) * np.exp(rng.normal(size=(n_players, 1)))
        last = rng.normal(size=40)
        return lambda sets: expit(3 * ((expit(sets @ first * 3 / np.sqrt(n_players)) - 0.5) @ last))

    def error(game, exact):
        fit = GaussianProcessSurrogate().fit(drawn, game(drawn)[:, None])
        return np.log(np.square(fit.shapley_values[:, 0] - exact).sum())

    for seed in range(3):
        game = network(seed)
        exact = owenshap.estimate(
            owenshap.FunctionGame(game, n_players), "halved-owen", budget=200_000, progress=False
        ).values
        with_them = error(game, exact)
        with monkeypatch.context() as patch:
            patch.setattr(
                "owenshap.surrogates.gaussian_process.surrogate.error_groups", lambda *_: 1
            )
            found.append(error(game, exact) - with_them)
    assert np.mean(found) > np.log(1.04)


@each_surrogate
def test_values_sum_to_the_total_exactly(surrogate):
    for count in (0, 1, 5, 40):
        coalitions = some_pairs(12, count)
        values = bent(coalitions)
        total = surrogate.fit(coalitions, values).shapley_values.sum(axis=0)
        np.testing.assert_allclose(total, values[0] - values[1], rtol=0, atol=1e-14 * 12)


@each_surrogate
def test_ends_are_met(surrogate):
    coalitions = some_pairs(9, 30)
    values = bent(coalitions)
    np.testing.assert_allclose(
        surrogate.fit(coalitions, values).values(coalitions[:2]), values[:2], atol=1e-6
    )


def test_the_process_is_linear_in_the_values_given_its_parameters():
    coalitions = some_pairs(8, 25)
    signs = np.where(coalitions[np.r_[0, 2:27]], 1.0, -1.0)
    likelihood, vector = Likelihood(signs), some_vector(8)
    operator = likelihood.factor(vector).solve(likelihood.shapley(vector)).T
    first, second = np.random.default_rng(0).normal(size=(2, len(signs)))
    np.testing.assert_allclose(
        operator @ (2 * first - 3 * second),
        2 * (operator @ first) - 3 * (operator @ second),
        atol=1e-9,
    )


@each_surrogate
def test_leaving_one_out_is_what_a_fit_without_it_says(surrogate):
    if surrogate.name == "gaussian-process":
        signs = np.where(some_pairs(6, 12)[np.r_[0, 2:14]], 1.0, -1.0)
        vector, values = some_vector(6), np.random.default_rng(0).normal(size=13)
        factor = Likelihood(signs).factor(vector)
        left_out = factor.solve(values) / np.diagonal(factor.inverse())
        kept = np.arange(13) != 5
        without = Likelihood(signs[kept])
        predicted = without.cross(vector, signs[5:6]) @ without.factor(vector).solve(values[kept])
        assert left_out[5] == pytest.approx(values[5] - predicted[0], abs=1e-6)
        return
    # With size 1 complete and none else, all weights are alike, also where one pair is missing.
    coalitions = some_pairs(6, 6)
    values = bent(coalitions)
    left_out = surrogate.fit(coalitions, values).leave_one_out
    assert left_out.shape == (7, 2)
    assert (left_out[0] == 0).all()
    assert np.isfinite(left_out).all()


@each_surrogate
def test_order_of_coalitions_and_other_outputs_change_no_bit(surrogate):
    coalitions = some_pairs(10, 30)
    values = bent(coalitions)
    together = surrogate.fit(coalitions, values).shapley_values
    order = np.random.default_rng(0).permutation(len(coalitions))
    np.testing.assert_array_equal(
        surrogate.fit(coalitions[order], values[order]).shapley_values, together
    )
    for k in range(2):
        np.testing.assert_array_equal(
            surrogate.fit(coalitions, values[:, [k]]).shapley_values[:, 0], together[:, k]
        )


@each_surrogate
def test_additive_games_are_found(surrogate):
    weights = np.array([3.0, -2.0, 0.0, 0.5, 1.0, 7.0, 0.0, 0.1])
    coalitions = some_pairs(8, 20)
    found_values = surrogate.fit(
        coalitions, additive(weights).values(coalitions)[:, None]
    ).shapley_values[:, 0]
    np.testing.assert_allclose(
        found_values, weights, atol=1e-3 if surrogate.name != "linear" else 1e-12
    )


@each_surrogate
def test_constant_games_and_games_of_one_player(surrogate):
    coalitions = some_pairs(9, 30)
    alone = np.where(coalitions[:, 4], 5.0, 2.0)
    values = np.column_stack(
        [np.full(len(coalitions), 3.7), alone, 1e9 + 0 * alone, 1e-9 * alone, 1e12 * alone]
    )
    shapley = surrogate.fit(coalitions, values).shapley_values
    np.testing.assert_allclose(shapley[:, [0, 2]], 0, atol=1e-9)
    only = np.where(np.arange(9) == 4, 3.0, 0.0)
    for k, scale in ((1, 1.0), (3, 1e-9), (4, 1e12)):
        np.testing.assert_allclose(shapley[:, k] / scale, only, atol=1e-3)


@each_surrogate
def test_duplicates_are_averaged(surrogate):
    coalitions = some_pairs(7, 15)
    values = bent(coalitions)
    twice, noise = (
        np.concatenate([coalitions, coalitions]),
        np.random.default_rng(0).normal(size=values.shape),
    )
    noisy = np.concatenate([values + noise, values - noise])
    expected = surrogate.fit(coalitions, values).shapley_values
    np.testing.assert_allclose(surrogate.fit(twice, noisy).shapley_values, expected, atol=1e-4)


def test_noise_is_smoothed():
    game = random_unanimity_sum(10, 10, 2, seed=3)
    coalitions = some_pairs(10, 200)
    values = game.values(coalitions)
    noisy = values + np.random.default_rng(0).normal(0, 0.5, len(values)) * (
        coalitions.sum(axis=1) % 10 > 0
    )
    fitted = GaussianProcessSurrogate().fit(coalitions, noisy[:, None]).shapley_values[:, 0]
    assert (
        np.square(fitted - game.shapley_values).sum() < 0.1 * np.square(game.shapley_values).sum()
    )


@each_surrogate
def test_halved_stars_will_do(surrogate):
    design = owenshap.HalvedOwen(levels=8).draw(7, np.random.default_rng(0), 1)
    coalitions = design.coalitions(np.arange(len(design)))
    coalitions = np.concatenate([coalitions, [[True] * 7, [False] * 7]])
    fitted = surrogate.fit(coalitions, bent(coalitions))
    exact = enumerated(bent(all_coalitions(7)))
    assert np.square(fitted.shapley_values - exact).sum() < 0.02 * np.square(exact).sum()


@each_surrogate
def test_coalitions_without_complement_do_not_count(surrogate):
    coalitions = some_pairs(7, 10)
    complete = set(map(bytes, coalitions))
    others = [
        each
        for each in draw_pairs(7, all_pairs(7), np.random.default_rng(0))
        if bytes(each) not in complete
    ]
    more = np.concatenate([coalitions, others])
    np.testing.assert_array_equal(
        surrogate.fit(more, bent(more)).shapley_values,
        surrogate.fit(coalitions, bent(coalitions)).shapley_values,
    )


@each_surrogate
def test_bad_input_is_named(surrogate):
    coalitions = some_pairs(5, 6)
    values = bent(coalitions)
    with refuses("coalitions", "empty", "grand"):
        surrogate.fit(coalitions[2:], values[2:])
    with refuses("coalitions", "boolean"):
        surrogate.fit(coalitions.astype(float), values)
    with refuses("values", "shape"):
        surrogate.fit(coalitions, values[:-1])
    with refuses("values", "finite", "nan"):
        surrogate.fit(
            coalitions, np.where(coalitions.sum(axis=1, keepdims=True) == 2, np.nan, values)
        )


def test_pooled_rows_of_a_network_are_nearly_as_good_as_alone():
    """Most pilots have an index part there, and many rows are better off without what few steps
    make of it.
    """
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(40, 14))
    weights = [
        rng.normal(size=shape) * 4 / shape[0] ** 0.5 for shape in ((14, 16), (16, 8), (8, 1))
    ]

    def model(x):
        for each in weights:
            x = 1 / (1 + np.exp(-(x @ each)))
        return x[:, 0]

    explainer = owenshap.Explainer(model, baseline=np.zeros(14))
    exact = explainer(rows, method="exact", progress=False).values

    def error(method):
        return np.square(
            explainer(rows, method=method, budget=140, progress=False).values - exact
        ).sum()

    assert error(owenshap.GaussianProcess(pooled=True)) < 1.4 * error("gaussian-process")


def test_pooled_outputs_are_nearly_as_good_as_alone():
    weights = np.random.default_rng(0).normal(size=(12, 30))
    coalitions, everywhere = some_pairs(12, 60), all_coalitions(12)
    exact = enumerated(np.tanh(everywhere @ weights / 2))
    errors = [
        np.square(
            GaussianProcessSurrogate(pooled=pooled)
            .fit(coalitions, np.tanh(coalitions @ weights / 2))
            .shapley_values
            - exact
        )
        for pooled in (False, True)
    ]
    of_outputs = [each.sum(axis=0) / np.square(exact).sum(axis=0) for each in errors]
    assert np.log(of_outputs[1] / of_outputs[0]).mean() < np.log(2.5)
    assert of_outputs[1].max() < 2e-3


@pytest.mark.parametrize("n_players", range(1, 8))
def test_pairs_are_different_pairs(n_players):
    rng = np.random.default_rng(0)
    for count in range(all_pairs(n_players) + 1):
        drawn = draw_pairs(n_players, count, rng)
        codes = drawn @ (1 << np.arange(n_players))
        pairs = np.minimum(codes, (1 << n_players) - 1 - codes)
        assert len(set(pairs.tolist())) == count
        assert (pairs > 0).all()


def test_a_link_is_found_behind_a_weighted_sum():
    n_players = 12
    weights = np.random.default_rng(0).normal(0, 1.5, (n_players, 3))
    coalitions, everywhere = some_pairs(n_players, 60), all_coalitions(n_players)
    exact = enumerated(np.tanh(everywhere @ weights + 0.4))
    fitted = GaussianProcessSurrogate().fit(coalitions, np.tanh(coalitions @ weights + 0.4))
    assert (
        np.square(fitted.shapley_values - exact).sum(axis=0) < 1e-3 * np.square(exact).sum(axis=0)
    ).all()
    again = fitted.values(everywhere)
    np.testing.assert_allclose(enumerated(again), fitted.shapley_values, rtol=1e-9, atol=1e-9)


def test_players_who_cannot_be_told_apart_share_evenly():
    # A majority decides, but for noise: learned lengths mean nothing, and leaving pairs out says
    # so.
    n_players = 15
    coalitions = some_pairs(n_players, 60)
    noise = np.random.default_rng(0).choice([0.0, 1.0], len(coalitions)) * (
        np.abs(coalitions.sum(axis=1) - 7.5) < 3
    )
    values = np.where(
        noise > 0, 1.0 * (coalitions.sum(axis=1) < 8), 1.0 * (coalitions.sum(axis=1) >= 8)
    )
    fitted = GaussianProcessSurrogate().fit(coalitions, values[:, None])
    shares = fitted.shapley_values[:, 0] * n_players
    assert np.abs(shares - 1).mean() < 0.6
    again = GaussianProcessSurrogate().fit(coalitions, values[:, None], fitted.start)
    assert np.isfinite(again.shapley_values).all()


def test_chosen_pairs_leave_less_variance_than_random_ones():
    n_players, count = 14, 60
    vector = np.concatenate(
        [np.full(n_players, np.log(4 / n_players)), [0, -2, np.log(1e-3), 0, -12, 0]]
    )
    chosen, random = (
        draw_pairs(n_players, count, np.random.default_rng(0)),
        even_pairs(n_players, count, np.random.default_rng(0)),
    )
    variances = []
    for drawn in (chosen, random):
        likelihood = Likelihood(
            np.where(np.concatenate([np.ones((1, n_players), bool), drawn]), 1.0, -1.0)
        )
        operator = likelihood.shapley(vector)
        told = np.einsum("ai,ai->i", operator, likelihood.factor(vector).solve(operator))
        variances.append((likelihood.shapley_priors(vector) - told).sum())
    assert variances[0] < 0.75 * variances[1]


def test_no_player_is_preferred_by_the_choice_of_pairs():
    # 60 designs of 30 pairs, 8 players: counts of members in the larger coalitions, which players
    # share evenly.
    rng, counts = np.random.default_rng(0), []
    for _ in range(60):
        drawn = draw_pairs(8, 30, rng)
        counts.append(
            (drawn ^ (2 * drawn.sum(axis=1) < 8)[:, None])[2 * drawn.sum(axis=1) != 8].sum(axis=0)
        )
    means, error = np.mean(counts, axis=0), np.std(counts, axis=0, ddof=1) / np.sqrt(60)
    assert (np.abs(means - means.mean()) < 4.5 * error).all()  # goes wrong once in 15,000 times


def test_pairs_past_the_chosen_ones_are_others():
    drawn = draw_pairs(12, 700, np.random.default_rng(0))
    codes = drawn @ (1 << np.arange(12))
    assert len(set(np.minimum(codes, (1 << 12) - 1 - codes).tolist())) == 700


def test_sizes_of_random_pairs_are_even():
    sizes = even_pairs(20, 190, np.random.default_rng(0)).sum(axis=1)
    assert np.bincount(sizes)[1:11].tolist() == [20] * 9 + [10]
    independent = draw_independent_pairs(20, 19_000, np.random.default_rng(0)).sum(axis=1)
    # Each of 19 sizes is expected 1,000 times, standard deviation 31: 5 of them go wrong once in
    # 90,000 times.
    assert np.abs(np.bincount(independent, minlength=20)[1:] - 1000).max() < 160


@pytest.mark.parametrize("spread", [0.5, 2.0])
@pytest.mark.parametrize("total", [1.0, 10.0, 60.0])
def test_fewer_levels_integrate_long_products_to_rounding(total, spread, monkeypatch):
    n_players, rng = 120, np.random.default_rng(0)
    vector = np.append(rng.normal(0, spread, n_players), [0.0, -12, -12, 0.7, -12, 0])
    vector[:n_players] += np.log(total / np.exp(vector[:n_players]).sum())
    vector[:n_players] = np.minimum(vector[:n_players], 3.0)
    likelihood = Likelihood(np.where(some_pairs(n_players, 30)[:31], 1.0, -1.0))
    found = likelihood.shapley(vector), likelihood.shapley_priors(vector)
    monkeypatch.setattr(kernel, "_levels", lambda lengths: gauss_legendre((len(lengths) + 1) // 2))
    wanted = likelihood.shapley(vector), likelihood.shapley_priors(vector)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.abs(other).max())


def test_what_a_fit_takes_grows_with_pairs_players_and_outputs():
    assert fit_seconds(300, 30, 7) == pytest.approx(7 * fit_seconds(300, 30))
    for n_players in (8, 30, 1000):
        seconds = [fit_seconds(pairs, n_players) for pairs in (30, 120, 480, 1000, 4000)]
        assert seconds == sorted(seconds)
    assert fit_seconds(400, 1000) > fit_seconds(400, 200)


@pytest.mark.parametrize(
    ("n_players", "first", "count"), [(6, 12, 31), (14, 50, 200), (110, 8, 60)]
)
def test_more_pairs_come_after_those_that_are_given(n_players, first, count):
    rng = np.random.default_rng(0)
    given = more_pairs(np.zeros((0, n_players), np.bool_), first, rng)
    more = more_pairs(given, count, rng)
    assert given.shape == (first, n_players)
    assert more.shape == (count, n_players)
    np.testing.assert_array_equal(more[:first], given)
    both = np.concatenate([more, ~more])
    assert len(np.unique(both, axis=0)) == 2 * count
    # any beginning has pairs of all kinds of sizes
    sizes = np.minimum(given.sum(axis=1), n_players - given.sum(axis=1))
    assert sizes.min() <= n_players // 4 < sizes.max()
