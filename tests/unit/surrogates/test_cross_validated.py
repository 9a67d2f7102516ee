"""A surrogate that predicts nothing gives way, and the estimate says so."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import owenshap
from owenshap.designs.pairs import draw_pairs
from owenshap.estimators.base import with_complements
from owenshap.estimators.exact import Exact
from owenshap.run.session import FixedSession
from owenshap.support.bits import from_codes
from owenshap.surrogates.base import FOLDS, pairs_of
from owenshap.surrogates.cross_validated import CrossValidated
from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate
from owenshap.surrogates.linear import FittedLinear, LinearSurrogate
from owenshap.testing import random_unanimity_sum, weighted_voting

PROCESS = CrossValidated(GaussianProcessSurrogate())


class Overconfident(LinearSurrogate):
    """Coefficients ten times too large, and no errors left out."""

    name = "overconfident"

    def fit(self, coalitions, values, start=None):
        fitted = super().fit(coalitions, values)
        shares = fitted.coefficients.mean(axis=0)
        return FittedLinear(
            shares + 10 * (fitted.coefficients - shares), fitted.pairs, 10 * fitted.residuals
        )


class Unfitted(LinearSurrogate):
    """Says nothing, and so has no errors."""

    name = "unfitted"

    def fit(self, coalitions, values, start=None):
        pairs = pairs_of(coalitions, values)
        return FittedLinear(
            np.zeros((coalitions.shape[1], len(pairs.total))),
            pairs,
            np.zeros_like(pairs.odd),
        )


def voting(seed):
    return weighted_voting(np.random.default_rng(seed).integers(1, 30, 40).tolist(), 300)


def pairs_for(n_players, count, seed=0):
    return with_complements(draw_pairs(n_players, count, np.random.default_rng(seed)))


def relative_error(found, exact):
    return np.square(found - exact).sum() / np.square(exact).sum()


@pytest.mark.parametrize("count", [20, 60])  # fitted again, or one left out
def test_what_predicts_badly_gives_way_to_least_squares(count):
    weights, coalitions = np.arange(1.0, 11), pairs_for(10, count)
    fitted = CrossValidated(Overconfident()).fit(
        coalitions, (coalitions @ weights + np.sin(coalitions.sum(axis=1)))[:, None]
    )
    assert fitted.chosen.tolist() == [1]
    (note,) = fitted.notes
    assert note.startswith(
        "overconfident predicts left-out pairs no better than least squares (error "
    )
    assert note.endswith(": the values are those of least squares")
    assert relative_error(fitted.shapley_values[:, 0], weights) < 1e-2


@pytest.mark.parametrize("count", [3, 20, 60])
def test_what_could_not_be_fitted_gives_way_and_constant_outputs_do_not(count):
    weights, coalitions = np.arange(1.0, 11), pairs_for(10, count)
    values = np.column_stack([coalitions @ weights, np.full(len(coalitions), 0.1)])
    fitted = CrossValidated(Unfitted()).fit(coalitions, values)
    assert fitted.chosen[0] > 0
    assert fitted.chosen[1] == 0
    assert fitted.notes[0].startswith("unfitted could not be fitted: the values are those of")
    assert fitted.notes[1] == ""
    assert fitted.shapley_values.sum(axis=0) == pytest.approx([55.0, 0.0])


def test_a_vote_that_few_pairs_cannot_tell_is_shared_equally():
    # Without the check the squared error is 6 times the squared norm of the values.
    game, coalitions = voting(1), pairs_for(40, 75, seed=1)
    fitted = PROCESS.fit(coalitions, game.values(coalitions)[:, None])
    assert "equal shares" in fitted.notes[0]
    np.testing.assert_allclose(fitted.shapley_values[:, 0], 1 / 40)
    assert relative_error(fitted.candidates[0].shapley_values[:, 0], game.shapley_values) > 2


@pytest.mark.parametrize("count", [5, 30, 100])
def test_a_good_fit_stays_and_says_nothing(count):
    coalitions = pairs_for(14, count)
    values = np.tanh(coalitions @ np.random.default_rng(0).normal(size=(14, 2)) / 2)
    fitted, alone = PROCESS.fit(coalitions, values), PROCESS.surrogate.fit(coalitions, values)
    assert fitted.notes is None
    np.testing.assert_array_equal(fitted.shapley_values, alone.shapley_values)
    np.testing.assert_array_equal(fitted.leave_one_out, alone.leave_one_out)
    assert fitted.start.keys() == alone.start.keys()


class Counting(GaussianProcessSurrogate):
    """Counts its fits."""

    fits = 0

    def fit(self, coalitions, values, start=None):
        Counting.fits += 1
        return super().fit(coalitions, values, start)


def test_only_what_is_in_doubt_is_fitted_again():
    coalitions, counts = pairs_for(40, 75, seed=1), []
    for values in (coalitions @ np.linspace(-0.2, 0.3, 40), voting(1).values(coalitions)):
        Counting.fits = 0
        CrossValidated(Counting()).fit(coalitions, values[:, None])
        counts.append(Counting.fits)
    assert counts == [2, 1 + FOLDS]


def test_with_many_pairs_only_levels_that_few_pairs_tell_are_fitted_again():
    """A link that weights find from many pairs moves little without a fold; so do weights that
    separate these votes by heart, and err by a fifth of the largest value.
    """
    votes = np.random.default_rng(3).integers(1, 30, 15)
    game = weighted_voting(votes.tolist(), int(votes.sum()) // 2 + 1)
    linked, voted = pairs_for(12, 120), pairs_for(15, 90, seed=3)
    sums = linked @ np.random.default_rng(3).normal(size=12)
    counts = []
    for coalitions, values in ((linked, np.tanh(sums - 0.5)), (voted, game.values(voted))):
        Counting.fits = 0
        fitted = CrossValidated(Counting()).fit(coalitions, values[:, None])
        assert fitted.candidates[0].flexible.tolist() == [True]
        counts.append(Counting.fits)
    assert counts == [1, 1 + FOLDS]
    away = np.abs(fitted.shapley_values[:, 0] - game.shapley_values)
    assert np.mean(away < 2 * fitted.candidates[0].standard_errors[:, 0]) < 0.5
    assert np.mean(away < 2 * fitted.standard_errors[:, 0]) > 0.9


def test_each_output_is_judged_by_itself():
    game, coalitions = voting(1), pairs_for(40, 75, seed=1)
    values = np.column_stack(
        [np.tanh(coalitions @ np.linspace(-0.2, 0.3, 40)), game.values(coalitions)]
    )
    both = PROCESS.fit(coalitions, values)
    assert both.chosen.tolist() == [0, 2]
    assert both.notes[0] == ""
    for k in range(2):
        alone = PROCESS.fit(coalitions, values[:, [k]])
        assert (alone.notes or ("",))[0] == both.notes[k]
        np.testing.assert_array_equal(alone.shapley_values[:, 0], both.shapley_values[:, k])


@pytest.mark.parametrize(
    "surrogate",
    [Overconfident(), Unfitted(), GaussianProcessSurrogate()],
    ids=lambda each: each.name,
)
@pytest.mark.parametrize("count", [4, 20])
def test_shapley_values_are_those_of_its_own_values(surrogate, count):
    """What corrects a surrogate relies on it, whatever was chosen."""
    coalitions = pairs_for(8, count)
    values = random_unanimity_sum(8, 20, 4, seed=0).values(coalitions)[:, None]
    fitted = CrossValidated(surrogate).fit(coalitions, values)
    table = fitted.values(from_codes(np.arange(256), 8))
    exact = Exact().replicates(Exact().draw(8, np.random.default_rng(0), 1), table)[0]
    np.testing.assert_allclose(fitted.shapley_values, exact, rtol=0, atol=1e-8)


def test_the_estimate_says_so():
    game = voting(2)
    found = owenshap.estimate(game, "gaussian-process", budget=152, seed=4, progress=False)
    assert "equal shares" in found.note
    assert found.note in repr(found)
    np.testing.assert_allclose(found.values, 1 / 40)
    with ThreadPoolExecutor(2) as executor:
        again = owenshap.estimate(game, plan=found.plan, seed=4, executor=executor, progress=False)
    assert again.note == found.note
    assert (
        owenshap.estimate(game, "gaussian-process", budget=152, seed=5, progress=False).note is None
    )


def test_a_process_on_halved_stars_beats_the_stars():
    """From the very same evaluations, on average over games."""
    gains = []
    for seed in range(8):
        game = random_unanimity_sum(50, 150, 6, seed=seed)
        stars = owenshap.HalvedOwen(levels=10)
        design = stars.draw(50, np.random.default_rng(seed), 1)
        coalitions = np.concatenate(
            [[[True] * 50, [False] * 50], design.coalitions(np.arange(len(design)))]
        )
        values = game.values(coalitions)[:, None]
        fitted = PROCESS.fit(coalitions, values).shapley_values[:, 0]
        plain = stars.replicates(design, values[2:])[0, :, 0]
        gains.append(
            relative_error(plain, game.shapley_values) / relative_error(fitted, game.shapley_values)
        )
    assert np.log(gains).mean() > np.log(1.1)


def test_checks_may_wait_until_they_matter(monkeypatch):
    fits = []
    fit = GaussianProcessSurrogate.fit

    def watched(self, coalitions, values, start=None):
        fits.append(len(values))
        return fit(self, coalitions, values, start)

    monkeypatch.setattr(GaussianProcessSurrogate, "fit", watched)
    game = weighted_voting(np.random.default_rng(3).integers(1, 30, 20).tolist(), 150)
    coalitions = pairs_for(20, 50)
    values = game.values(coalitions).reshape(len(coalitions), -1)
    waiting = CrossValidated(GaussianProcessSurrogate(), when_asked=True).fit(coalitions, values)
    assert len(fits) == 1
    confirmed, at_once = waiting.confirmed(), PROCESS.fit(coalitions, values)
    assert len(fits) > 2
    np.testing.assert_array_equal(confirmed.shapley_values, at_once.shapley_values)
    np.testing.assert_array_equal(confirmed.standard_errors, at_once.standard_errors)
    assert confirmed.notes == at_once.notes
    assert confirmed.confirmed() is confirmed


def test_checks_end_where_errors_are_too_large_anyway(monkeypatch):
    game = weighted_voting(np.random.default_rng(3).integers(1, 30, 20).tolist(), 150)
    coalitions = pairs_for(20, 50)
    values = game.values(coalitions).reshape(len(coalitions), -1)
    waiting = CrossValidated(GaussianProcessSurrogate(), when_asked=True).fit(coalitions, values)
    fits = []
    fit = GaussianProcessSurrogate.fit

    def watched(self, coalitions, values, start=None):
        fits.append(len(values))
        return fit(self, coalitions, values, start)

    monkeypatch.setattr(GaussianProcessSurrogate, "fit", watched)
    within = waiting.standard_errors.max(axis=0)
    ended = waiting.confirmed(within)
    assert len(fits) == 1
    assert (ended.standard_errors.max(axis=0) > within).all()
    whole = ended.confirmed()
    assert len(fits) == 1 + FOLDS
    np.testing.assert_array_equal(whole.standard_errors, waiting.confirmed().standard_errors)


def test_an_estimate_of_several_outputs_says_of_which():
    one = voting(2)

    def both(coalitions):
        smooth = np.tanh(coalitions @ np.linspace(-0.2, 0.3, 40))
        return np.column_stack([smooth, one.values(coalitions)])

    game = owenshap.FunctionGame(both, 40)
    found = owenshap.estimate(game, "gaussian-process", budget=152, seed=4, progress=False)
    assert found.note.startswith("in 1 of 2 outputs, the first is 1: gaussian-process predicts")
    assert found.notes[0] == ""
    assert FixedSession.restore(game, found.state).notes == found.notes
    older = found.state | {"note": "one text for all"}
    assert FixedSession.restore(game, older).notes == ("one text for all",) * 2
