"""What a learning run draws, and that its corrections stay unbiased however it draws."""

import numpy as np
import pytest
from scipy.special import ndtri

from owenshap.estimators import _forward
from owenshap.estimators._forward import Forward, design_of
from owenshap.estimators.gaussian_process_corrected import _spread as spread
from owenshap.intervals import replicates_for_an_interval
from owenshap.moments import Moments
from owenshap.pairs import draw_independent_pairs
from owenshap.surrogates.linear import LinearSurrogate
from owenshap.testing import unanimity

PLAYERS = 6


def chances(sizes, errors, n_players=PLAYERS):
    return _forward._chances_of_sizes(np.array(sizes), np.array(errors, float), n_players)


def test_sizes_are_drawn_more_often_where_errors_are_larger_and_none_is_left_out():
    drawn = chances([3, 4, 5] * 20, [[5.0], [0.1], [0.1]] * 20)
    assert drawn.sum() == pytest.approx(1)
    np.testing.assert_allclose(drawn, drawn[::-1])  # a coalition and its complement are one
    assert drawn[2] == drawn.max()
    assert drawn.min() >= _forward.EVENLY / (PLAYERS - 1)


def test_outputs_count_alike_whatever_their_scale():
    errors = np.random.default_rng(0).normal(size=(30, 2))
    np.testing.assert_allclose(chances([3, 4, 5] * 10, errors), chances([3, 4, 5] * 10, errors * [1.0, 1e6]))


def test_sizes_are_drawn_evenly_where_there_are_no_errors():
    assert chances([3, 4], [[0.0], [0.0]]) is None


def scores(learner, game, replicates=20_000):
    """How many standard errors the mean of a learner's replicates is off, by player."""
    design = learner.draw(PLAYERS, np.random.default_rng(1), replicates)
    values = game.values(design.coalitions(np.arange(len(design))))[:, None]
    made = learner.replicates(design, values)[..., 0]
    np.testing.assert_allclose(made.sum(axis=1), 1)
    return (made.mean(axis=0) - game.shapley_values) / (made.std(axis=0) / np.sqrt(replicates))


def learned(game):
    """A learner that has fitted a line to a game that is none, so that it errs, more at some sizes than at others."""
    learner = Forward(LinearSurrogate(), PLAYERS, 1)
    design = design_of(draw_independent_pairs(PLAYERS, 60, np.random.default_rng(0)))
    learner.replicates(design, game.values(design.coalitions(np.arange(len(design))))[:, None])
    assert learner.relearn(60, np.inf, 1e9)
    return learner


def test_corrections_are_unbiased_however_sizes_are_drawn():
    # A false alarm of 1e-6 over the 6 players, were the seed not fixed.
    game = unanimity(PLAYERS, range(4))
    learner = learned(game)
    assert np.ptp(learner._chances) > 0.04  # else there is nothing to see, as the next test does
    assert np.abs(scores(learner, game)).max() < -ndtri(1e-6 / 12)


def test_corrections_without_the_weights_of_their_sizes_are_biased():
    # What the test above is worth.
    game = unanimity(PLAYERS, range(4))
    learner = learned(game)
    design = learner.draw(PLAYERS, np.random.default_rng(1), 20_000)
    learner._chances = None
    made = learner.replicates(design, game.values(design.coalitions(np.arange(len(design))))[:, None])[..., 0]
    off = (made.mean(axis=0) - game.shapley_values) / (made.std(axis=0) / np.sqrt(len(made)))
    assert np.abs(off).max() > -ndtri(1e-6 / 12)


def test_stretches_at_odds_with_each_other_count_as_one_batch_each():
    """Batches of one process that agree with each other, but not with those of others, have all missed something rare."""
    rng = np.random.default_rng(0)
    weights = np.repeat([0.0, 6.0, 9.0, 13.0, 19.0, 28.0, 42.0], [6, 3, 4, 6, 9, 14, 6])
    off = rng.normal(0, 1, (7, 3, 2))[np.unique(weights, return_inverse=True)[1]]
    batches = 5 + off * [1.0, 0.0] + rng.normal(0, 1e-3, (48, 3, 2))
    moments = Moments.of(spread(batches, weights))
    shares = weights / weights.sum()
    np.testing.assert_allclose(moments.mean, (shares[:, None, None] * batches).sum(axis=0), rtol=1e-12)
    # Alike but for that, the other output is as sure as its batches say, and has an interval.
    np.testing.assert_array_equal(replicates_for_an_interval(moments, uneven=True) > 48, [True, False])
    as_many = np.sqrt(np.square([shares[weights == each].sum() for each in np.unique(weights)]).sum())
    assert moments.standard_errors[:, 0].mean() > 0.4 * as_many
    assert moments.standard_errors[:, 1].max() < 1e-3
