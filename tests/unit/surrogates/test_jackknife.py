"""Standard errors of fits: values without each fold of the pairs, in closed form or fitted again."""

import numpy as np
import pytest

import owenshap
from owenshap.designs.pairs import draw_pairs
from owenshap.estimators.base import with_complements
from owenshap.run.plan import make_plan
from owenshap.run.session import FixedSession
from owenshap.run.task import Settings
from owenshap.statistics.accumulators import Accumulator
from owenshap.surrogates.base import FOLDS, fold_of, jackknife, pairs_of
from owenshap.surrogates.cross_validated import UNEXPLAINED, CrossValidated, EqualShares
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate
from owenshap.surrogates.linear import LinearSurrogate, _weights
from owenshap.testing import additive, product, random_unanimity_sum, weighted_voting

SURROGATES = [
    LinearSurrogate(),
    GaussianProcessSurrogate(),
    CrossValidated(GaussianProcessSurrogate()),
]
each_surrogate = pytest.mark.parametrize(
    "surrogate", SURROGATES, ids=lambda surrogate: surrogate.name
)


def pairs_for(n_players, count, seed=0):
    return with_complements(draw_pairs(n_players, count, np.random.default_rng(seed)))


def bent(coalitions, seed=0):
    """A smooth game of two outputs."""
    weights = np.random.default_rng(seed).normal(size=(coalitions.shape[1], 2))
    return np.tanh(coalitions @ weights / 2 + 0.3)


def test_every_pair_but_the_first_is_in_one_fold_and_sizes_are_in_all():
    fold = fold_of(1 + 3 * FOLDS)
    assert fold[0] == -1
    assert np.bincount(fold[1:]).tolist() == [3] * FOLDS
    assert sorted(fold[1 : 1 + FOLDS]) == list(range(FOLDS))
    assert fold_of(1).tolist() == [-1]


def test_the_jackknife_is_what_folds_move_averaged_with_all_players():
    without = np.zeros((FOLDS, 4, 1))
    without[0, 0] = 3.0
    squares = np.array([[9 * (FOLDS - 1) / FOLDS], [0.0], [0.0], [0.0]])
    expected = np.sqrt((squares + squares.mean()) / 2)
    for seen in (0, 3, 7):  # of 7 pairs
        found = jackknife(np.zeros((4, 1)), without, seen)
        np.testing.assert_allclose(found, np.sqrt(1 - seen / 7) * expected)


def test_what_is_exact_but_for_rounding_is_not_surer_than_that():
    # Triples alone: the process finds them all, and jitter is what is left.
    game, coalitions = random_unanimity_sum(10, 20, 3, seed=1), pairs_for(10, 200)
    fitted = GaussianProcessSurrogate().fit(coalitions, game.values(coalitions)[:, None])
    away = np.abs(fitted.shapley_values[:, 0] - game.shapley_values)
    assert away.max() < 1e-6
    floor = 1e-8 * np.sqrt(np.mean(np.square(fitted.pairs.odd)))
    assert (fitted.standard_errors >= floor).all()
    assert np.mean(away < 2 * fitted.standard_errors[:, 0]) > 0.85


def test_a_process_without_a_fold_is_that_of_the_other_pairs_with_the_same_parameters():
    coalitions = pairs_for(9, 60)
    values = bent(coalitions) + random_unanimity_sum(9, 30, 4).values(coalitions)[:, None]
    fitted, pairs = GaussianProcessSurrogate().fit(coalitions, values), pairs_of(coalitions, values)
    for number in (0, FOLDS - 1):
        kept = fold_of(len(pairs.odd)) != number
        for k, members in fitted.mixtures.items():
            expected = np.zeros(9)
            for member in members:
                likelihood = Likelihood(pairs.signs[kept]).with_triples(member.learned.triples)
                factor = likelihood.factor(member.learned.vector)
                weights = factor.solve(pairs.odd[kept, k])
                expected += member.share * (likelihood.shapley(member.learned.vector).T @ weights)
            # the jitter is a share of the mean variance, of these pairs or of all
            found = fitted.without_folds[number, :, k]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
            assert np.abs(found - fitted.shapley_values[:, k]).max() > 1e-3


@pytest.mark.parametrize("count", [20, 60])  # fewer pairs than players, and more
def test_least_squares_without_a_fold_are_those_of_the_other_pairs(count):
    n_players, coalitions = 30, pairs_for(30, count)
    values = bent(coalitions)
    fitted, pairs = LinearSurrogate().fit(coalitions, values), pairs_of(coalitions, values)
    kept = fold_of(len(pairs.odd))[1:] != 1
    weights = np.sqrt(_weights(pairs))[kept, None]
    signs, shares = pairs.signs[1:][kept], pairs.total / n_players
    away = pairs.odd[1:][kept] - signs.sum(axis=1, keepdims=True) / 2 * shares
    moved = (signs - signs.mean(axis=1, keepdims=True)) / 2
    moves = np.linalg.lstsq(weights * moved, weights * away, rcond=1e-10)[0]
    np.testing.assert_allclose(fitted.without_folds[1], shares + moves, atol=1e-8)


@each_surrogate
@pytest.mark.parametrize(("n_players", "count"), [(1, 0), (2, 0), (4, 2), (12, 8), (12, 30)])
def test_every_fold_is_efficient_and_every_error_finite(surrogate, n_players, count):
    coalitions = pairs_for(n_players, count)
    values = 2.0 + 5 * bent(coalitions)
    fitted = surrogate.fit(coalitions, values)
    assert fitted.without_folds.shape == (FOLDS, n_players, 2)
    total = values[0] - values[1]
    np.testing.assert_allclose(
        fitted.without_folds.sum(axis=1), np.tile(total, (FOLDS, 1)), rtol=1e-12, atol=1e-12
    )
    assert fitted.standard_errors.shape == (n_players, 2)
    assert np.isfinite(fitted.standard_errors).all()


@each_surrogate
def test_other_outputs_and_the_order_of_pairs_change_no_bit_of_an_error(surrogate):
    coalitions = pairs_for(10, 25)
    values = np.column_stack([bent(coalitions), random_unanimity_sum(10, 30, 5).values(coalitions)])
    together = surrogate.fit(coalitions, values).standard_errors
    order = np.random.default_rng(0).permutation(len(coalitions))
    again = surrogate.fit(coalitions[order], values[order]).standard_errors
    np.testing.assert_array_equal(together, again)
    for k in range(3):
        alone = surrogate.fit(coalitions, values[:, [k]]).standard_errors
        np.testing.assert_array_equal(together[:, k], alone[:, 0])


def test_an_additive_game_leaves_least_squares_nothing_to_be_unsure_of():
    game, coalitions = additive(np.linspace(-1, 3, 12)), pairs_for(12, 40)
    fitted = LinearSurrogate().fit(coalitions, game.values(coalitions)[:, None])
    assert (fitted.standard_errors < 1e-9).all()


def test_a_process_that_knows_its_pairs_by_heart_is_fitted_again_for_its_errors():
    # With 4.5 pairs a player the weights of an index part separate these votes, and predict no others.
    votes = np.random.default_rng(3).integers(1, 30, 20)
    game = weighted_voting(votes.tolist(), int(votes.sum()) // 2 + 1)
    coalitions = pairs_for(20, 90, seed=0)
    fitted = CrossValidated(GaussianProcessSurrogate()).fit(
        coalitions, game.values(coalitions)[:, None]
    )
    assert fitted.by_heart.tolist() == [True]
    assert "knows its pairs by heart: errors are" in fitted.notes[0]
    kept = fitted.candidates[0].standard_errors
    away = np.abs(fitted.shapley_values[:, 0] - game.shapley_values)
    assert np.mean(away < 2 * kept[:, 0]) < 0.2
    assert np.mean(away < 2 * fitted.standard_errors[:, 0]) > 0.8
    np.testing.assert_array_equal(fitted.without_folds, fitted.again.values)


def test_an_index_part_moves_without_each_fold_for_its_errors():
    """exp of a weighted sum: an index part bent a little wrong errs without each fold as with it.

    Six draws; with the parameters kept about two thirds of the values are held at 95 %.
    """
    steps = np.random.default_rng(78).normal(0, 0.5, 18)
    game = product(np.exp(-steps / 2), np.exp(steps / 2))
    held = {"kept": [], "again": []}
    for seed in range(6):
        coalitions = pairs_for(18, 45, seed=seed)
        values = game.values(coalitions)[:, None]
        fitted = CrossValidated(GaussianProcessSurrogate()).fit(coalitions, values)
        away = np.abs(fitted.shapley_values[:, 0] - game.shapley_values)
        errors = {"kept": fitted.candidates[0].standard_errors, "again": fitted.standard_errors}
        for name, each in errors.items():
            held[name].append(np.mean(away < 1.96 * each[:, 0]))
    assert np.mean(held["kept"]) < 0.85
    assert np.mean(held["again"]) > 0.95


def test_a_process_that_leaves_much_of_the_game_is_less_sure():
    game, coalitions = random_unanimity_sum(12, 40, 6, seed=2), pairs_for(12, 30)
    fitted = CrossValidated(GaussianProcessSurrogate()).fit(
        coalitions, game.values(coalitions)[:, None]
    )
    assert (fitted.chosen.tolist(), fitted.by_heart.tolist()) == ([0], [False])
    own, _, sizes = (np.square(each.leave_one_out[1:]).sum() for each in fitted.candidates)
    kept = fitted.candidates[0].standard_errors
    np.testing.assert_allclose(
        fitted.standard_errors, np.sqrt(1 + UNEXPLAINED * own / sizes) * kept
    )


@pytest.mark.parametrize("surrogate", [LinearSurrogate(), GaussianProcessSurrogate()])
def test_what_is_left_out_with_a_fold_is_what_the_others_do_not_tell(surrogate):
    coalitions = pairs_for(9, 40)
    values = random_unanimity_sum(9, 30, 4).values(coalitions)[:, None]
    fitted, pairs = surrogate.fit(coalitions, values), pairs_of(coalitions, values)
    left_out = fitted.leave_fold_out
    assert left_out.shape == (41, 1)
    assert left_out[0] == 0
    if surrogate.name == "linear":
        away = fold_of(41) == 2
        predicted = pairs.signs[away] @ fitted.without_folds[2] / 2
        np.testing.assert_allclose(left_out[away], pairs.odd[away] - predicted, atol=1e-12)
    more = np.square(left_out).sum() / np.square(fitted.leave_one_out).sum()
    assert 1.0 < more < 3.0


def test_equal_shares_are_as_unsure_as_least_squares_are_away_from_them():
    game = weighted_voting(np.random.default_rng(1).integers(1, 30, 40).tolist(), 300)
    coalitions = pairs_for(40, 75, seed=1)
    fitted = CrossValidated(GaussianProcessSurrogate()).fit(
        coalitions, game.values(coalitions)[:, None]
    )
    assert isinstance(fitted.candidates[fitted.chosen[0]], EqualShares)
    away = fitted.candidates[1].shapley_values - 1 / 40
    expected = np.full((40, 1), np.sqrt(np.mean(np.square(away))))
    np.testing.assert_allclose(fitted.standard_errors, expected)
    assert (np.abs(game.shapley_values - 1 / 40) < 3 * expected[:, 0]).all()


@pytest.mark.parametrize("method", ["gaussian-process", "linear"])
def test_an_estimate_has_the_errors_of_its_fit(method):
    game = random_unanimity_sum(10, 30, 4, seed=3)
    found = owenshap.estimate(game, method, budget=120, seed=1, progress=False)
    assert found.fit_errors.shape == (10, 1)
    assert (found.fit_errors > 0).all()
    away = np.abs(found.values - game.shapley_values)
    assert np.mean(away < 2 * found.fit_errors[:, 0]) > 0.7
    resumed = FixedSession.restore(game, found.state)
    np.testing.assert_array_equal(resumed.fit_errors, found.fit_errors)
    sampled = owenshap.estimate(game, "castro", budget=120, seed=1, progress=False)
    assert sampled.fit_errors is None


def test_several_fits_are_independent():
    game = random_unanimity_sum(10, 30, 4, seed=3)
    estimator = owenshap.Linear(pairs=40)
    two = owenshap.estimate(game, estimator, budget=2 + 160, seed=0, progress=False)
    assert two.replicates == 2
    design = estimator.draw(10, np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0,))), 2)
    values = game.values(design.coalitions(np.arange(len(design))))[:, None]
    errors = estimator.reduced(design, values).fit_errors
    assert errors.shape == (2, 10, 1)
    expected = np.sqrt(np.square(errors).sum(axis=0)) / 2
    np.testing.assert_allclose(two.fit_errors, expected)


def test_rows_that_part_and_meet_again_keep_their_errors():
    game = owenshap.FunctionGame(bent, n_players=9)
    plan = make_plan(9, "gaussian-process", 60)
    together = FixedSession(game, plan, Settings(0, 0.95))
    together._replicates = Accumulator(at_once=0)  # as in a run that is looked at
    together.advance()
    apart = [together.of_rows(game, np.array([k])) for k in range(2)]
    for k, each in enumerate(apart):
        np.testing.assert_array_equal(each.fit_errors, together.fit_errors[:, [k]])
    joined = FixedSession.joined(apart, game)
    np.testing.assert_array_equal(joined.fit_errors, together.fit_errors)
