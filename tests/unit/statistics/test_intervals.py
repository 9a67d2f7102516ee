from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from owenshap import FunctionGame, HalvedOwen, estimate
from owenshap.estimators.gaussian_process_corrected import GaussianProcessCorrected
from owenshap.statistics.intervals import (
    ASTRAY,
    FEW_REPLICATES,
    common_half_width,
    doubts,
    half_widths,
    rare_half_width,
    simultaneous_half_widths,
    stopped_half_widths,
    watched_errors,
)
from owenshap.statistics.moments import Moments
from owenshap.support.draws import Draws
from owenshap.testing import additive, product, stacked, unanimity


def symmetric(count, cells=(4, 2)):
    """Replicates without skewness."""
    drawn = np.random.default_rng(0).normal(size=(count // 2, *cells))
    return np.concatenate([drawn, -drawn])


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("count", [10, 1000])
def test_half_widths_are_students_where_nothing_is_skewed(count, confidence):
    replicates = symmetric(count)
    half = half_widths(Moments.of(replicates), confidence)
    lower, upper = stats.t.interval(
        confidence, count - 1, replicates.mean(axis=0), stats.sem(replicates, axis=0)
    )
    np.testing.assert_allclose(half, (upper - lower) / 2, rtol=1e-9)


def test_skewed_replicates_have_wider_intervals_and_many_replicates_do_not():
    rng = np.random.default_rng(1)
    for count, least, most in ((20, 1.1, 3.0), (20_000, 1.0, 1.002)):
        moments = Moments.of(rng.exponential(size=(count, 6, 1)))
        student = stats.t.ppf(0.975, count - 1) * moments.standard_errors
        ratio = (half_widths(moments, 0.95) / student).mean()
        assert least < ratio < most


@pytest.mark.parametrize("count", [2, 3, 5, 10])
def test_intervals_are_finite_from_two_replicates_on(count):
    moments = Moments.of(np.random.default_rng(0).exponential(size=(count, 5, 2)))
    for widths in ALL_WIDTHS:
        assert np.isfinite(widths(moments, 0.95)).all()
        assert (widths(moments, 0.95) > 0).all()
    told = doubts(moments, np.zeros(2))
    assert (told != "").all() == (count < FEW_REPLICATES)


def test_a_value_whose_replicates_agree_has_room_for_what_is_rare():
    replicates = np.random.default_rng(2).uniform(0, 2, size=(50, 3, 1))
    replicates[:, 1] = 0.7
    moments = Moments.of(replicates)
    half = half_widths(moments, 0.95)
    largest = np.ptp(replicates, axis=0).max()
    assert half[1, 0] == pytest.approx(largest * 3 / 50, rel=0.01)
    assert rare_half_width(moments, 0.05)[0] == pytest.approx(half[1, 0])


ALL_WIDTHS = (half_widths, stopped_half_widths, simultaneous_half_widths)


@pytest.mark.parametrize("widths", ALL_WIDTHS)
def test_no_interval_is_narrower_than_what_replicates_that_agree_could_have_missed(widths):
    # An event of 1 in 20/3 replicates, as large as 5 % of the range: of 3 where the values are 0, 1
    # and 2.
    agree = Moments.of(np.ones((20, 3, 2)) * np.arange(3.0)[:, None])
    np.testing.assert_allclose(widths(agree, 0.95), 0.05 * 3 * -np.log(0.05) / 20)
    np.testing.assert_allclose(widths(agree, 0.99), 0.05 * 3 * -np.log(0.01) / 20)
    by_total = widths(agree, 0.95, total=np.array([-12.0, 1.0]))
    np.testing.assert_allclose(by_total, 0.05 * np.array([[12.0, 3.0]] * 3) * -np.log(0.05) / 20)
    np.testing.assert_allclose(
        widths(agree, 0.95, draws=Draws("pairs", 6, 2.0)), widths(agree, 0.95) / 3
    )


@pytest.mark.parametrize("widths", ALL_WIDTHS)
def test_only_where_nothing_at_all_varies_an_interval_has_no_width(widths):
    assert (widths(Moments.of(np.zeros((20, 3, 2))), 0.95) == 0).all()
    quiet = np.zeros((40, 3, 1))
    # whose values are 0: how far replicates lie apart is a range too
    quiet[::2, 0], quiet[1::2, 0] = 1, -1
    assert (widths(Moments.of(quiet), 0.95) > 0).all()


@pytest.mark.parametrize("method", ["castro", "owen", "halved-owen", "gaussian-process-corrected"])
def test_sampled_intervals_have_a_width_and_exact_ones_none(method):
    game = additive(np.linspace(-1, 2, 12))
    with_budget = estimate(game, method, budget=1000, progress=False)
    with_tolerance = estimate(game, method, tolerance=0.2, progress=False)
    for found in (with_budget, with_tolerance):
        half = -np.log(0.05) * 0.05 * np.abs(game.shapley_values).sum() / found.replicates
        draws = found.plan.estimator.draws(12)
        assert (found.half_widths >= 0.999 * half * draws.leverage / draws.count).all()
    assert (estimate(game, "exact").half_widths == 0).all()


def test_a_pair_moves_values_by_its_weights():
    # The root mean square of (n − 1)/2s over the sizes 1, 2 and 1 of the smaller coalitions.
    draws = GaussianProcessCorrected(pairs=5).draws(4)
    assert (draws.called, draws.count) == ("pairs", 5)
    assert draws.leverage == pytest.approx(np.sqrt((2.25 + 0.5625 + 2.25) / 3))


def test_the_chances_of_all_values_add_up_to_the_error_rate():
    errors = np.array([1.0, 0.9, 0.8, 0.5, 0.1, 0.01])
    half = common_half_width(errors, 30, 0.05)
    assert 2 * stats.t.sf(half / errors, 29).sum() == pytest.approx(0.05, rel=2e-2)
    assert stats.t.ppf(0.975, 29) < half < stats.t.ppf(1 - 0.025 / 6, 29)
    assert common_half_width(np.zeros(3), 30, 0.05) == 0


def test_simultaneous_intervals_are_as_wide_for_all_but_the_quiet():
    replicates = symmetric(400, (5, 1)) * np.array([1.0, 0.95, 0.9, 0.01, 0.001])[:, None]
    half = simultaneous_half_widths(Moments.of(replicates), 0.95)[:, 0]
    assert half[0] == half[1] == half[2]
    # room for an event that one of the five may not have shown: −ln(0.01) of a range in 400
    assert half[3] < 0.6 * half[0]
    assert (half > stopped_half_widths(Moments.of(replicates), 0.95)[:, 0]).all()


def test_scales_are_the_units_of_the_outputs():
    replicates = symmetric(400, (5, 1))
    both = Moments.of(np.concatenate([replicates, 1000 * replicates], axis=2))
    half = simultaneous_half_widths(both, 0.95, np.array([1.0, 1000.0]))
    np.testing.assert_allclose(half[:, 1], 1000 * half[:, 0])


def test_looking_costs_less_as_replicates_become_many():
    ratios = []
    for count in (20, 200, 20_000):
        moments = Moments.of(symmetric(count))
        ratios.append((watched_errors(moments, 0.95) / moments.standard_errors).mean())
    assert ratios[0] > ratios[1] > ratios[2] > 1
    assert ratios[2] < 1.01


def told(replicates, strain=0.0):
    moments = Moments.of(replicates)
    return doubts(moments, np.full(moments.mean.shape[1], strain)).tolist()


def test_replicates_that_are_normal_or_exponential_leave_no_doubt():
    rng = np.random.default_rng(3)
    for count in (10, 30, 100):
        for _ in range(50):
            assert told(rng.normal(size=(count, 6, 1))) == [""]
            assert told(rng.exponential(size=(30, 6, 1))) == [""]


def test_one_replicate_that_carries_the_spread_leaves_doubt():
    replicates = symmetric(60, (6, 2)) * 1e-3
    replicates[7, :3, 0] = 5.0
    assert ["single replicates carry" in each for each in told(replicates)] == [True, False]


def test_the_heavier_the_tails_the_more_the_spread_of_all_values_counts():
    # Events of 1 in 40 that three of four players have shown: the fourth looks a hundred times more
    # certain than it is.
    replicates = symmetric(40, (4, 2)) * 0.01
    for player in range(3):
        replicates[5 + player, player, 0] += 1
    moments = Moments.of(replicates)
    excess = moments.excess[:, 0].mean()
    squares = np.square(moments.standard_errors[:, 0])
    expected = squares[3] + (squares.mean() - squares[3]) * excess / (40 + excess)
    _, skewed = moments.squared_skewness
    hall = skewed[0] / 2 * (1.96**4 + 2 * 1.96**2 - 3) / (18 * 40)
    half = half_widths(moments, 0.95)
    student = stats.t.ppf(0.975, 39)
    np.testing.assert_allclose(half[3, 0], student * np.sqrt(expected) * (1 + hall), rtol=1e-3)
    np.testing.assert_allclose(half[:, 1], student * moments.standard_errors[:, 1], rtol=0.01)


def test_one_noisy_player_does_not_cost_the_others_their_intervals():
    replicates = symmetric(100, (30, 1))
    replicates[:, 0, 0] = np.random.default_rng(0).random(100) < 0.04
    moments = Moments.of(replicates)
    assert told(replicates) == [""]
    student = stats.t.ppf(0.975, 99) * moments.standard_errors
    wider = (half_widths(moments, 0.95) / student)[:, 0]
    assert wider[0] > 1.05 > 1.01 > wider[1:].max()  # its own is what gets wider


def test_a_sum_that_is_off_is_no_accident_and_no_interval_is_narrower():
    replicates = symmetric(100, (6, 1))
    assert told(replicates, 0.99 * ASTRAY) == [""]
    assert "off by more than 4 standard errors" in told(replicates, 1.01 * ASTRAY)[0]
    made = estimate(additive(np.arange(6.0)), "owen", budget=1000)
    plain = made.half_widths
    sums = replace(made.sums, mean=made.sums.mean + 7.0)
    np.testing.assert_allclose(replace(made, sums=sums).half_widths, 7.0)
    seen = (made.ends.grand - made.ends.empty, made.plan.estimator.draws(6))
    np.testing.assert_array_equal(plain, half_widths(made.moments, 0.95, *seen)[:, 0])


def test_where_nothing_was_seen_the_interval_is_as_wide_as_the_gap():
    # A pass hardly ever sees all of 30 players: 10 passes agree on 0, and the values must sum to 1.
    game = unanimity(40, range(30))
    found = estimate(game, HalvedOwen(levels=2), budget=2 + 82 * 10, progress=False)
    np.testing.assert_allclose(found.values, 1 / 40)  # nothing tells whom it belongs to
    assert (found.half_widths == 1).all()
    assert "sum of the values" in found.doubtful
    _, upper = found.simultaneous()
    np.testing.assert_allclose(upper, 1 + 1 / 40)


def test_of_two_outputs_each_has_its_own_doubt():
    game = stacked(unanimity(40, range(30)), additive(np.arange(40.0)))
    found = estimate(game, HalvedOwen(levels=2), budget=2 + 82 * 10, progress=False)
    assert found.doubts.tolist() == [estimate_of_one(game, 0), ""]
    assert found.doubtful == f"output 0: {found.doubts[0]}"


def estimate_of_one(game, output):
    def alone(coalitions):
        return game.values(coalitions)[:, output]

    one = FunctionGame(alone, game.n_players)
    return estimate(one, HalvedOwen(levels=2), budget=2 + 82 * 10, progress=False).doubtful


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_error_rates_of_loud_and_quiet_values_add_up(confidence):
    replicates = np.random.default_rng(0).normal(size=(200_000, 6, 1))
    replicates[:, 1:] *= 0.1
    moments = Moments.of(replicates)
    rate = 1 - confidence
    errors = watched_errors(moments, confidence)
    half = simultaneous_half_widths(moments, confidence)
    loud = 2 * stats.t.sf(half[0] / errors[0], 199_999)
    quiet = 2 * stats.t.sf(half[1:] / errors[1:], 199_999)
    np.testing.assert_allclose(loud, rate * confidence, rtol=0.03)
    np.testing.assert_allclose(quiet.sum() + quiet[0], rate * rate, rtol=1e-6)


def test_quiet_players_have_room_for_what_each_of_them_may_not_have_shown():
    # 30 players of whom one varies much: an event that one of them did not show is not one that
    # none of them did.
    replicates = np.random.default_rng(0).normal(size=(200, 30, 1)) * 1e-6
    replicates[:, 0] *= 1e6
    moments = Moments.of(replicates)
    half = simultaneous_half_widths(moments, 0.95)
    common = half.max()
    assert half[0] == common
    np.testing.assert_allclose(half[1:], min(common, rare_half_width(moments, 0.05 / 30)[0]))


def test_heavy_tails_and_needles_are_often_doubtful_and_models_are_not():
    # Few coalitions carry the value of a product whose factors multiply to a log-normal.
    steps = np.random.default_rng(5).normal(0, 0.8, 24)
    heavy = product(np.exp(-steps / 2), np.exp(steps / 2))
    runs = [estimate(heavy, "halved-owen", budget=2048, seed=seed) for seed in range(40)]
    assert sum(run.doubtful is not None for run in runs) > 10
    calm = product(np.ones(30), np.linspace(1.0, 1.05, 30))
    runs = [estimate(calm, "halved-owen", budget=2048, seed=seed) for seed in range(20)]
    assert not any(run.doubtful for run in runs)


def test_errors_of_a_fit_give_normal_intervals():
    fitted = estimate(additive(np.arange(4.0)), "castro", budget=200, progress=False)
    errors = np.array([[0.1], [0.2], [0.3], [0.4]])
    found = replace(fitted, fit_errors=errors)
    np.testing.assert_array_equal(found.standard_errors, errors[:, 0])
    np.testing.assert_allclose(found.half_widths, stats.norm.ppf(0.975) * errors[:, 0])
    np.testing.assert_allclose(found.upper - found.values, found.half_widths)
    lower, upper = found.simultaneous()
    np.testing.assert_allclose(upper - lower, 2 * stats.norm.ppf(1 - 0.025 / 4) * errors[:, 0])
    assert found.doubtful is None
