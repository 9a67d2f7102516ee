import datetime
import subprocess
import sys
from dataclasses import replace
from itertools import combinations, pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from explanations import explanation_of
from matplotlib.colors import to_hex, to_rgb
from naive import random_table, refuses
from scipy import stats

import owenshap
from owenshap import MissingExtraError, plots
from owenshap.explain.cells import CATEGORIES, NUMBERS, TIMES, Column, text_of
from owenshap.explain.colours import NEGATIVE, NEUTRAL, POSITIVE
from owenshap.explain.summary import lines
from owenshap.explain.words import Digits, shorten
from owenshap.plots import canvas
from owenshap.plots.beeswarm import swarm
from owenshap.testing import airport

RED, BLUE = POSITIVE, NEGATIVE


@pytest.fixture(autouse=True)
def _close():
    """No figure outlives its test, and no test changes a setting of matplotlib."""
    before = dict(mpl.rcParams)
    yield
    plt.close("all")
    assert dict(mpl.rcParams) == before


def bars(ax):
    """(label, length, colour) of the bars, from the top."""
    named = {
        tick: label.get_text()
        for tick, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    }
    found = [
        (named[round(b.get_y() + b.get_height() / 2)], b.get_width(), to_hex(b.get_facecolor()))
        for b in ax.patches
    ]
    return found[::-1]


def whiskers(ax):
    """{height: (low, high)} of the intervals."""
    found = {}
    for container in ax.containers:
        if type(container).__name__ == "ErrorbarContainer":
            ((low, y), (high, _)) = container[2][0].get_segments()[0]
            found[round(y)] = (low, high)
    return found


def texts(ax):
    return [text.get_text() for text in ax.texts]


# --- bars of one row
# --------------------------------------------------------------------------------------------------


def test_bars_are_the_values_strongest_first_red_above_zero_and_blue_below():
    ax = plots.bar(
        explanation_of(
            [0.3, -2.0, 1.0], names=["age", "income", "city"], data=np.array([39.0, 1.5, 7.0])
        )
    )
    assert [(label, color) for label, _, color in bars(ax)] == [
        ("income = 1.5", BLUE),
        ("city = 7", RED),
        ("age = 39", RED),
    ]
    np.testing.assert_allclose([length for _, length, _ in bars(ax)], [-2.0, 1.0, 0.3])


def test_whiskers_are_the_intervals():
    explanation = explanation_of([0.3, -2.0, 1.0])
    explanation.upper[1] = -1.5  # an interval need not be about the middle
    found = whiskers(plots.bar(explanation))
    for height, player in ((2, 1), (1, 2), (0, 0)):
        np.testing.assert_allclose(
            found[height], [explanation.lower[player], explanation.upper[player]]
        )


@pytest.mark.parametrize("half", [None, 0.0])
def test_without_intervals_or_without_doubt_there_are_no_whiskers(half):
    ax = plots.bar(explanation_of([0.3, -2.0, 1.0], half))
    assert not whiskers(ax)
    assert "interval" not in ax.get_xlabel()
    assert "±" not in "".join(texts(ax))


def test_a_player_without_interval_has_no_whisker_among_others():
    explanation = explanation_of([0.3, -2.0, 1.0])
    explanation.lower[1] = explanation.upper[1] = np.nan
    assert sorted(whiskers(plots.bar(explanation))) == [0, 1]


def strengths(ax):
    """How far whiskers stand out from white paper, each colour once."""
    bars = [each for each in ax.containers if type(each).__name__ == "ErrorbarContainer"]
    return {round(1 - float(each[2][0].get_color()[0][0]), 2) for each in bars}


@pytest.mark.parametrize("plot", [plots.bar, plots.waterfall])
def test_doubtful_intervals_are_paler_and_said(plot):
    sure = plot(explanation_of([0.3, -2.0]))
    doubtful = plot(explanation_of([0.3, -2.0], doubtful="few replicates"))
    assert len(whiskers(doubtful)) == 2
    (strong,), (pale,) = strengths(sure), strengths(doubtful)
    assert pale < 0.5 * strong
    assert "doubtful" not in sure.get_xlabel()
    assert doubtful.get_xlabel().endswith("(95 % intervals, doubtful)")


def test_rows_without_an_interval_take_no_whiskers_from_the_others():
    values = np.random.default_rng(0).normal(size=(200, 3))
    whole = whiskers(plots.bar(explanation_of(values)))
    some = explanation_of(values)
    some.lower[[3, 7]] = some.upper[[3, 7]] = np.nan
    some.doubtful[[3, 7]] = "one replicate alone"
    ax = plots.bar(some)
    for row, ends in whiskers(ax).items():
        np.testing.assert_allclose(ends, whole[row])
    assert ax.get_xlabel().endswith("; doubtful in 2 of 200 rows)")
    assert strengths(ax) == strengths(plots.bar(explanation_of(values)))


def test_doubtful_rows_have_paler_lines_in_a_scatter():
    some = explanation_of(np.ones((40, 2)))
    some.doubtful[:10] = "few replicates"
    sure, doubtful = plots.scatter(some, 0).collections[:2]
    assert (len(sure.get_segments()), len(doubtful.get_segments())) == (30, 10)
    assert doubtful.get_alpha() < 0.5 * sure.get_alpha()


def test_doubtful_bands_are_paler():
    game = airport([1.0, 2.0, 4.0])
    run = [owenshap.estimate(game, "castro", budget=2 + 2 * count) for count in (3, 6, 30, 60)]
    assert [each.doubtful is None for each in run] == [False, False, True, True]
    bands = plots.convergence(run, players=[0]).collections
    assert [len(band.get_paths()) for band in bands] == [1, 1]
    whole, sure = (band.get_paths()[0].get_extents() for band in bands)
    assert whole.x0 == run[0].evaluations
    assert sure.x0 == run[2].evaluations
    assert bands[0].get_alpha() < 0.1


def test_the_numbers_are_written_beside_the_bars():
    assert texts(plots.bar(explanation_of([0.25, -2.0], 0.125)))[::-1] == [
        " ± 0.12",
        "−2.00",
        " ± 0.12",
        "+0.25",
    ]


def test_the_last_bar_sums_up_all_others_and_has_no_whisker():
    values = np.random.default_rng(0).normal(size=200)
    ax = plots.bar(explanation_of(values), max_display=10)
    order = np.argsort(-np.abs(values))
    assert len(bars(ax)) == 10
    label, length, color = bars(ax)[-1]
    assert label == "191 other features"
    assert length == pytest.approx(values[order[9:]].sum())
    assert color == (RED if length > 0 else BLUE)
    assert 0 not in whiskers(ax)
    assert len(whiskers(ax)) == 9


def test_as_many_players_as_lines_all_have_their_own():
    labels = [label for label, *_ in bars(plots.bar(explanation_of(np.arange(1.0, 13.0))))]
    assert len(labels) == 12
    assert not any("other" in label for label in labels)


def test_the_bar_of_all_others_is_cut_where_it_would_dwarf_the_rest():
    ax = plots.bar(explanation_of(np.ones(100)))
    assert ax.get_xlim()[1] < 1.3
    assert "/ /" in texts(ax)
    assert "+89.0" in texts(ax)  # its length is told all the same
    assert "/ /" not in texts(plots.bar(explanation_of(np.ones(5))))


def test_bars_are_inside_the_picture_and_start_at_its_edge_where_all_have_one_sign():
    ax = plots.bar(explanation_of([3.0, 1.0], 0.5))
    assert ax.get_xlim()[0] == 0
    assert ax.get_xlim()[1] > 3.5
    ax = plots.bar(explanation_of([-3.0, -1.0], 0.5))
    assert ax.get_xlim()[0] < -3.5
    assert ax.get_xlim()[1] == 0
    low, high = plots.bar(explanation_of([0.0, 0.0], None)).get_xlim()
    assert low < 0 < high


def test_pictures_grow_with_the_number_of_bars_up_to_max_display():
    heights = [
        plots.bar(explanation_of(np.arange(1.0, n + 1))).figure.get_figheight()
        for n in (2, 5, 12, 200)
    ]
    assert heights[0] < heights[1] < heights[2] == heights[3]


def test_the_output_is_named():
    explanation = explanation_of(np.ones((1, 2, 3)), output_names=["a", "b", "c"])
    assert plots.bar(explanation[0, :, "b"]).get_xlabel().startswith("contribution to b")


# --- bars of many rows
# ------------------------------------------------------------------------------------------------


def test_importance_is_the_mean_of_absolute_values():
    values = np.random.default_rng(1).normal(size=(40, 5)) * [1, 16, 2, 8, 4]
    found = bars(plots.bar(explanation_of(values)))
    assert [label for label, *_ in found] == ["f1", "f3", "f4", "f2", "f0"]
    np.testing.assert_allclose(
        [length for _, length, _ in found], np.sort(np.abs(values).mean(axis=0))[::-1]
    )
    assert {color for *_, color in found} == {NEUTRAL}


def test_without_error_of_estimation_the_interval_is_students_over_rows():
    values = np.random.default_rng(2).normal((3, 0), size=(40, 2))
    strength = np.abs(values[:, 0])
    expected = stats.t.interval(0.95, 39, strength.mean(), stats.sem(strength))
    np.testing.assert_allclose(whiskers(plots.bar(explanation_of(values, 0.0)))[1], expected)


def test_the_error_of_estimation_widens_the_interval_even_where_rows_are_alike():
    low, high = whiskers(plots.bar(explanation_of(np.full((40, 1), 2.0), 0.3)))[0]
    assert (low, high) == pytest.approx((1.7, 2.3))


def test_importance_is_never_below_zero():
    assert whiskers(plots.bar(explanation_of(np.full((40, 1), 0.1), 0.3)))[0] == pytest.approx(
        (0.0, 0.4)
    )


def test_importance_has_no_interval_from_unknown_errors():
    ax = plots.bar(explanation_of(np.random.default_rng(0).normal(size=(40, 3)), None))
    assert not whiskers(ax)
    assert "interval" not in ax.get_xlabel()


def test_importance_over_few_rows_has_intervals_of_the_estimation():
    """Their spread tells too little; the axis says what the intervals are of."""
    values = np.full((9, 2), 2.0) + np.arange(9)[:, None]
    ax = plots.bar(explanation_of(values, 0.3))
    assert whiskers(ax)[0] == pytest.approx((5.7, 6.3))
    assert "95 % intervals, of the estimation" in ax.get_xlabel()
    ax = plots.bar(explanation_of(np.tile(values, (2, 1)), 0.3))
    assert "also of the choice of rows" in ax.get_xlabel()


@pytest.mark.parametrize("shared", [0.0, 1.0])
@pytest.mark.parametrize("truth", [0.0, 0.5, 3.0])
def test_the_interval_of_importance_covers(shared, truth):
    """Errors that rows share, and errors of their own, about values that are zero, small or large.

    600 repetitions at a nominal 95 %: fewer than 93 % have a probability below 0.02 where the
    coverage is 95 %, and the interval is meant to be wider than that. The seed is fixed.
    """
    rng = np.random.default_rng(5)
    rows, error, covered = 30, 0.7, 0
    wanted = np.mean(np.abs(truth * rng.normal(1, 0.3, 1_000_000)))
    for _ in range(600):
        errors = error * (rng.normal(size=(1, 1)) if shared else rng.normal(size=(rows, 1)))
        found = truth * rng.normal(1, 0.3, (rows, 1)) + errors
        (line,) = lines(explanation_of(found, 1.96 * error), 12)
        covered += line.interval[0] - 1e-9 <= wanted <= line.interval[1]
    assert covered >= 0.93 * 600


# --- waterfall
#
#
# --------------------------------------------------------------------------------------------------------


def arrows(ax):
    """(start, end, colour) of the steps, from the top."""
    found = []
    for patch in ax.patches:
        corners = patch.get_xy()
        found.append((corners[0, 0], corners[2, 0], to_hex(patch.get_facecolor())))
    return found[::-1]


def test_the_way_leads_from_the_base_value_to_the_prediction():
    values = np.array([0.3, -2.0, 1.0])
    ax = plots.waterfall(explanation_of(values))
    steps = arrows(ax)
    np.testing.assert_allclose([end - start for start, end, _ in steps], [-2.0, 1.0, 0.3])
    assert [color for *_, color in steps] == [BLUE, RED, RED]
    for (start, *_), (_, end, _) in pairwise(steps):
        assert start == pytest.approx(end)
    assert steps[-1][0] == pytest.approx(0.5)
    assert steps[0][1] == pytest.approx(0.5 + values.sum())
    assert "base value = 0.5000" in texts(ax)
    assert "prediction = −0.2000" in texts(ax)


def test_a_whisker_is_the_interval_of_the_step_that_ends_there():
    ax = plots.waterfall(explanation_of([0.3, -2.0, 1.0], 0.25))
    found = whiskers(ax)
    for height, (_, end, _) in zip((2, 1, 0), arrows(ax), strict=True):
        np.testing.assert_allclose(found[height], [end - 0.25, end + 0.25])
        assert ax.get_xlim()[0] < found[height][0]
        assert found[height][1] < ax.get_xlim()[1]


def test_a_gap_that_can_be_seen_is_a_grey_line_of_its_own():
    explanation = explanation_of([0.3, -2.0, 1.0], gap=0.4)
    ax = plots.waterfall(explanation)
    start, end, color = arrows(ax)[-1]
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == "gap"
    assert (start, end) == pytest.approx((0.5, 0.9))
    assert len(set(to_rgb(color))) == 1
    assert arrows(ax)[0][1] == pytest.approx(explanation.predictions)


@pytest.mark.parametrize("gap", [0.0, 1e-16, 0.004])
def test_a_gap_that_cannot_be_seen_has_no_line(gap):
    assert len(arrows(plots.waterfall(explanation_of([0.3, -2.0, 1.0], gap=gap)))) == 3


def test_values_that_are_all_zero_leave_no_gap_but_the_rounding_of_a_large_prediction():
    explanation = explanation_of([0.0, 0.0], 0.0)
    explanation = replace(
        explanation, base_values=np.float64(1e9), predictions=np.float64(1e9 + 1e-7)
    )
    assert len(arrows(plots.waterfall(explanation))) == 2


def test_all_others_are_one_step():
    values = np.linspace(1, 2, 30)
    steps = arrows(plots.waterfall(explanation_of(values), max_display=5))
    assert len(steps) == 5
    assert steps[-1][1] - steps[-1][0] == pytest.approx(values[:26].sum())


# --- beeswarm
#
#
# ---------------------------------------------------------------------------------------------------------


def test_a_line_has_a_dot_for_every_row_at_its_value():
    values = np.random.default_rng(0).normal(size=(30, 3)) * [1, 3, 2]
    ax = plots.beeswarm(explanation_of(values))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["f1", "f2", "f0"]
    for line, player in zip(reversed(ax.collections), (1, 2, 0), strict=True):
        np.testing.assert_allclose(line.get_offsets()[:, 0], values[:, player])


def test_dots_are_blue_for_low_and_red_for_high_values_of_the_feature():
    data = np.linspace(0, 1, 101)[:, None]
    (dots,) = plots.beeswarm(explanation_of(-data, data=data)).collections
    shades = np.asarray(dots.get_array())
    assert shades[:6] == pytest.approx(0)  # below the 5th percentile
    assert shades[-6:] == pytest.approx(1)
    assert (np.diff(shades) >= 0).all()
    assert [to_hex(dots.get_cmap()(end)) for end in (0.0, 1.0)] == [BLUE, RED]


def test_categories_and_missing_values_are_grey():
    data = np.array([[1.0, "a"], [None, "b"], [3.0, "a"]], object)
    ax = plots.beeswarm(explanation_of([[3.0, 1], [2.0, 1], [4.0, 1]], data=data))
    counts = {
        (round(dots.get_offsets()[:, 1].mean()), dots.get_array() is None): len(dots.get_offsets())
        for dots in ax.collections
    }
    assert counts == {(1, False): 2, (1, True): 1, (0, True): 3}


def test_all_others_are_summed_row_by_row():
    values = np.random.default_rng(0).normal(size=(30, 200))
    ax = plots.beeswarm(explanation_of(values), max_display=4)
    order = np.argsort(-np.abs(values).mean(axis=0))
    np.testing.assert_allclose(
        ax.collections[0].get_offsets()[:, 0], values[:, order[3:]].sum(axis=1)
    )


def test_dots_of_one_value_stand_apart_within_their_line():
    heights = swarm(np.zeros(25), 1.0)
    assert len(set(heights.tolist())) == 25
    assert np.abs(heights).max() <= 0.4 + 1e-12
    assert swarm(np.array([0.0, 0.5, 1.0]), 1.0).tolist() == [0, 0, 0]


# --- scatter
#
#
# ----------------------------------------------------------------------------------------------------------


def dots_of(ax):
    return np.concatenate(
        [c.get_offsets() for c in ax.collections if type(c).__name__ == "PathCollection"]
    )


def test_the_value_of_a_feature_stands_against_its_contribution():
    values = np.random.default_rng(0).normal(size=(30, 3))
    explanation = explanation_of(values, 0.2)
    ax = plots.scatter(explanation, "f1")
    np.testing.assert_allclose(
        dots_of(ax), np.stack([explanation.data[:, 1], values[:, 1]], axis=1)
    )
    (lines,) = [c for c in ax.collections if type(c).__name__ == "LineCollection"]
    np.testing.assert_allclose(
        [s[:, 1] for s in lines.get_segments()],
        np.stack([values[:, 1] - 0.2, values[:, 1] + 0.2], axis=1),
    )
    assert ax.get_xlabel() == "f1"


def test_without_intervals_dots_have_no_lines():
    ax = plots.scatter(explanation_of(np.ones((5, 2)), None), 0)
    assert [type(c).__name__ for c in ax.collections] == ["PathCollection"]


def test_categories_stand_side_by_side_and_dots_stay_with_theirs():
    data = np.array(["b", "a", "c", "a"] * 10, object)[:, None]
    ax = plots.scatter(explanation_of(np.arange(40.0)[:, None], data=data), 0)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c"]
    np.testing.assert_array_equal(
        np.round(dots_of(ax)[:, 0]), ["abc".index(cell) for cell in data[:, 0]]
    )


def test_rare_categories_stand_together():
    column = Column.of(
        np.array([f"c{i:02}" for i in range(20) for _ in range(1 + (i > 15))], object), 5
    )
    assert column.categories == ["c16", "c17", "c18", "c19", "16 others"]
    assert column.places[:16].tolist() == [4.0] * 16


def test_dates_lie_along_the_axis():
    start = datetime.datetime(2024, 1, 1)
    data = np.array([start + datetime.timedelta(days=i) for i in range(50)], object)[:, None]
    ax = plots.scatter(explanation_of(np.arange(50.0)[:, None], data=data), 0)
    np.testing.assert_allclose(dots_of(ax)[:, 0], 19723 + np.arange(50))
    ax.figure.canvas.draw()
    assert any(
        "2024" in text
        for text in [
            *(t.get_text() for t in ax.get_xticklabels()),
            ax.xaxis.get_offset_text().get_text(),
        ]
    )


def test_missing_values_stand_left_of_all_others():
    data = np.array([1.0, np.nan, 3.0, np.nan])[:, None]
    ax = plots.scatter(explanation_of(np.ones((4, 1)), data=data), 0)
    places = dots_of(ax)[:, 0]
    assert places[1] == places[3] < 1.0
    assert "missing" in texts(ax)
    assert "missing" not in texts(plots.scatter(explanation_of(np.ones((4, 1))), 0))


def test_another_feature_colours_the_dots():
    values, other = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30.0)
    data = np.stack([values[:, 0], other], axis=1)
    ax = plots.scatter(explanation_of(values, None, data=data), 0, color="f1")
    shades = np.asarray(ax.collections[0].get_array())
    assert (np.diff(shades) >= 0).all()
    assert (shades[0], shades[-1]) == (0, 1)
    data = np.array([[1.0, "x"], [2.0, "y"], [3.0, "x"]], object)
    ax = plots.scatter(explanation_of(np.ones((3, 2)), None, data=data), 0, color="f1")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x", "y"]
    assert [len(c.get_offsets()) for c in ax.collections] == [2, 1]


def test_the_feature_must_be_there():
    explanation = explanation_of(np.ones((3, 2)))
    with refuses("index of features", "f1"):
        plots.scatter(explanation, "g1")
    with refuses("feature", "below 2"):
        plots.scatter(explanation, 2)
    with refuses("feature", "one feature"):
        plots.scatter(explanation, [0, 1])


# --- images
#
#
# -----------------------------------------------------------------------------------------------------------


def test_pixels_stand_at_their_places_on_a_scale_about_zero():
    values = np.array([0.0, 1.0, -3.0, 0.0, 0.5, 0.0])
    ax = plots.image(explanation_of(values), (2, 3))
    np.testing.assert_allclose(ax.images[-1].get_array(), values.reshape(2, 3))
    assert ax.images[-1].get_clim() == (-3.0, 3.0)
    colors = ax.images[-1].get_cmap()
    assert to_hex(colors(0.0)) == BLUE
    assert to_hex(colors(1.0)) == RED
    assert colors(0.5)[3] == 0  # at zero the paper shows


def test_all_pictures_have_one_scale():
    values = np.random.default_rng(0).normal(size=(3, 4, 2)) * np.array([1, 5, 2])[:, None, None]
    panels = plots.image(explanation_of(values, output_names=["a", "b"]), (2, 2))
    assert panels.shape == (3, 2)
    limit = np.abs(values).max()
    for row, output in np.ndindex(3, 2):
        picture = panels[row, output].images[-1]
        np.testing.assert_allclose(picture.get_array(), values[row, :, output].reshape(2, 2))
        assert picture.get_clim() == (-limit, limit)
    assert [panel.get_title() for panel in panels.flat] == ["a", "b", "", "", "", ""]


def test_panels_that_stay_empty_are_hidden():
    panels = plots.image(explanation_of(np.ones((5, 4))), (2, 2), ncols=3)
    assert panels.shape == (2, 3)
    assert [panel.axison for panel in panels.flat] == [True] * 5 + [False]


def test_every_pixel_of_a_patch_shows_the_patch():
    patches = owenshap.patches(4, 4, size=2)
    explanation = explanation_of([1.0, -2.0, 3.0, 0.5, 9.0], names=[*patches, "bias"])
    ax = plots.image(explanation, (4, 4), players=patches)
    np.testing.assert_allclose(
        ax.images[-1].get_array(), np.kron([[1.0, -2.0], [3.0, 0.5]], np.ones((2, 2)))
    )
    assert len(ax.images) == 1
    assert len(plots.image(explanation, (4, 4), players=patches, behind=np.eye(4)).images) == 2


def test_the_explained_pixels_are_faint_behind():
    explanation = explanation_of(np.ones(4), data=np.array([0.0, 128.0, 255.0, 0.0]))
    behind = plots.image(explanation, (2, 2)).images[0].get_array()
    np.testing.assert_allclose(behind[..., 3] / behind[..., 3].max(), [[0, 128 / 255], [1, 0]])
    assert behind[..., 3].max() < 0.5


def test_an_image_of_nothing_is_blank():
    assert plots.image(explanation_of(np.zeros(4)), (2, 2)).images[-1].get_clim() == (-1.0, 1.0)


def test_images_must_fit():
    explanation = explanation_of(np.ones((2, 4)))
    with refuses("shape", "4", "explanation[:, 1:]"):
        plots.image(explanation, (2, 3))
    with refuses("shape", "(28, 28)"):
        plots.image(explanation, 4)
    with refuses("players", "nobody"):
        plots.image(explanation, (2, 2), players={"nobody": [0]})
    with refuses("players", "positions"):
        plots.image(explanation, (2, 2), players={"f0": [4]})
    with refuses("behind", "2 images"):
        plots.image(explanation, (2, 2), behind=np.ones((2, 2)))
    with refuses("ax", "2 pictures"):
        plots.image(explanation, (2, 2), ax=plt.figure().subplots())
    with refuses("ncols", "at least 1"):
        plots.image(explanation, (2, 2), ncols=0)


# --- convergence
#
#
# ------------------------------------------------------------------------------------------------------


def test_lines_are_the_estimates_and_bands_their_intervals():
    run = list(owenshap.estimating(random_table(8), "castro", budget=4000))
    ax = plots.convergence(run, players=[3, 1])
    assert len(ax.lines) == 2
    for line, band, player in zip(ax.lines, ax.collections, (3, 1), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [each.evaluations for each in run])
        np.testing.assert_allclose(line.get_ydata(), [each.values[player] for each in run])
        corners = band.get_paths()[0].vertices
        for each in run:
            own = corners[corners[:, 0] == each.evaluations, 1]
            assert (own.min(), own.max()) == pytest.approx((each.lower[player], each.upper[player]))


def test_the_strongest_are_drawn_and_named_and_exact_values_are_dashed():
    game = random_table(8)
    exact = owenshap.estimate(game, "exact").values
    run = list(owenshap.estimating(game, "castro", budget=4000))
    ax = plots.convergence(iter(run), truth=exact, names=[f"n{i}" for i in range(8)])
    strongest = np.argsort(-np.abs(run[-1].values))[:6]
    assert sorted(texts(ax)) == sorted(f"n{i}" for i in strongest)
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    np.testing.assert_allclose([line.get_ydata()[0] for line in dashed], exact[strongest])
    assert "dashed: exact" in ax.get_ylabel()


def test_snapshots_without_interval_have_no_band():
    run = list(owenshap.estimating(random_table(8), owenshap.OwenPrinted(levels=6, per_level=2)))
    ax = plots.convergence(run)
    assert all(not len(path.vertices) for band in ax.collections for path in band.get_paths())
    assert "interval" not in ax.get_ylabel()


def test_one_output_of_many_is_drawn():
    run = list(owenshap.estimating(random_table(6, outputs=2), "castro", budget=2000))
    ax = plots.convergence(run, output=1, players=[2])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [each.values[2, 1] for each in run])
    with refuses("output", "2 outputs"):
        plots.convergence(run)


def test_a_run_must_be_one():
    run = list(owenshap.estimating(random_table(6), "castro", budget=2000))
    with refuses("estimates", "none"):
        plots.convergence([])
    with refuses("estimates", "float"):
        plots.convergence([1.0])
    with refuses("estimates", "one game"):
        plots.convergence([*run, owenshap.estimate(random_table(5))])
    with refuses("truth", "(6,)"):
        plots.convergence(run, truth=np.ones(5))
    with refuses("players", "0 to 5"):
        plots.convergence(run, players=[6])
    assert plots.convergence(run[-1]).lines  # one alone is a run too


def test_names_at_the_right_are_moved_apart_but_no_more_than_need_be():
    places = canvas.spread(np.array([0.1, 0.11, 0.12, 0.5, 0.9]), 0.05)
    np.testing.assert_allclose(places, [0.06, 0.11, 0.16, 0.5, 0.9])
    assert np.diff(canvas.spread(np.zeros(6), 0.05)).min() == pytest.approx(0.05)


# --- what all have in common
# ------------------------------------------------------------------------------------------

ONE_ROW = {"bar": plots.bar, "waterfall": plots.waterfall, "force": plots.force}
MANY_ROWS = {
    "bar": plots.bar,
    "beeswarm": plots.beeswarm,
    "scatter": lambda e, **k: plots.scatter(e, 0, **k),
}
HARD_NAMES = ["a$b$c", "100 % \\frac{", "long " * 30, "two\nlines", "φ − … ₁"]


SEVERAL = [
    *((draw, 0) for draw in ONE_ROW.values()),
    *((draw, slice(None)) for draw in MANY_ROWS.values()),
]


@pytest.mark.parametrize(("draw", "rows"), SEVERAL)
def test_several_outputs_stand_side_by_side(draw, rows):
    values = np.random.default_rng(0).normal(size=(12, 2, 4))
    named = explanation_of(values, output_names=["yes", "no", "0", "maybe"])[rows]
    axes = draw(named)
    assert [ax.get_title() for ax in axes] == ["yes", "no", "class 0", "maybe"]
    assert len({ax.figure for ax in axes}) == 1
    titles = [ax.get_title() for ax in draw(replace(named, output_names=None))]
    assert titles == ["output 0", "output 1", "output 2", "output 3"]


def test_more_outputs_than_a_list_has_lines_are_drawn():
    axes = plots.bar(explanation_of(np.random.default_rng(0).normal(size=(2, 3, 14))))
    assert [ax.get_title() for ax in axes] == [f"output {number}" for number in range(14)]
    assert {ax.get_subplotspec().get_gridspec().ncols for ax in axes} == {4}


@pytest.mark.parametrize(("draw", "rows"), SEVERAL)
def test_one_of_very_many_outputs_must_be_picked(draw, rows):
    """Where one picture of them all would take more memory than arrays usually do."""
    names = [f"o{number}" for number in range(1000)]
    many = explanation_of(np.ones((12, 2, 1000)), output_names=names)[rows]
    with refuses("explanation", "1000 outputs", "explanation[..., 'o0']"):
        draw(many)
    _, ax = plt.subplots()
    with refuses("explanation", "one output for ax", "2 outputs"):
        draw(many[..., [0, 1]], ax=ax)


@pytest.mark.parametrize("size", [None, (12, 8)])
@pytest.mark.parametrize(("draw", "rows"), SEVERAL)
def test_axes_of_a_grid_do_not_lie_on_one_another(draw, rows, size):
    """Names and numbers beside the axes need a layout, which plt.subplots does not have, and more
    room than a quarter of its default size; a size that someone chose stays.
    """
    values = np.random.default_rng(0).normal(size=(12, 3))
    names = ["a rather long name of a column", "another long name", "a third one"]
    figure, grid = plt.subplots(2, 2, figsize=size)
    for ax in grid.flat:
        draw(explanation_of(values, names=names)[rows], ax=ax)
    figure.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in grid.flat]
    for one, other in combinations(boxes, 2):
        assert not (
            one.x0 < other.x1 - 1
            and other.x0 < one.x1 - 1
            and one.y0 < other.y1 - 1
            and other.y0 < one.y1 - 1
        )
    if size:
        assert tuple(figure.get_size_inches()) == size
    for ax in grid.flat:  # the numbers along an axis are apart too
        ticks = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
        assert all(one.x1 < other.x0 for one, other in pairwise(sorted(ticks, key=lambda t: t.x0)))


@pytest.mark.parametrize(("draw", "rows"), SEVERAL)
def test_panels_of_a_subfigure_are_drawn_into(draw, rows):
    """The whole figure has the layout: matplotlib 3.8 and 3.9 give it as `figure.figure` alone."""
    figure = plt.figure()
    ax = figure.subfigures(1, 2)[0].subplots()
    assert draw(explanation_of(np.ones((12, 3)))[rows], ax=ax) is ax
    assert figure.get_layout_engine() is not None


@pytest.mark.parametrize("draw", [plots.bar, plots.beeswarm])
def test_long_names_that_differ_look_different(draw):
    names = [f"Total number of customer {what} in the last 12 months" for what in ("a", "b", "c")]
    ax = draw(explanation_of(np.random.default_rng(0).normal(size=(12, 3)), names=names))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(set(labels)) == 3
    assert max(map(len, labels)) <= 32
    ax = draw(explanation_of(np.ones((12, 3)), names=names), max_name=80)
    assert {label.get_text() for label in ax.get_yticklabels()} == {*names}
    with refuses("max_name", "at least 8"):
        draw(explanation_of(np.ones((12, 3))), max_name=3)


@pytest.mark.parametrize(
    "draw", [*ONE_ROW.values(), *MANY_ROWS.values(), lambda e: plots.image(e, (1, 2))]
)
def test_explanations_must_be_whole(draw):
    with refuses("explanation", "ndarray"):
        draw(np.ones((2, 2)))
    with refuses("explanation", "one feature"):
        draw(explanation_of(np.ones((3, 2)))[:, "f0"])
    with refuses("explanation", "at least one row"):
        draw(explanation_of(np.ones((3, 2)))[:0])


def test_rows_must_be_one_or_many():
    with refuses("explanation", "3 rows", "explanation[0]"):
        plots.waterfall(explanation_of(np.ones((3, 2))))
    for draw in (plots.beeswarm, MANY_ROWS["scatter"]):
        with refuses("explanation", "one row", "waterfall"):
            draw(explanation_of(np.ones(2)))


@pytest.mark.parametrize("draw", [plots.bar, plots.beeswarm])
def test_max_display_counts_lines(draw):
    with refuses("max_display", "at least 2"):
        draw(explanation_of(np.ones((12, 2))), max_display=1)


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize(
    "name", ["bar", "waterfall", "rows", "beeswarm", "scatter", "color", "image", "convergence"]
)
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e15])
def test_no_picture_warns_or_cuts_a_label(style, name, scale):
    rows = explanation_of(
        np.random.default_rng(0).normal(size=(12, 5)) * scale,
        0.1 * scale,
        names=HARD_NAMES,
        gap=scale,
    )
    rows = replace(rows, output_names=["$x$ output"])
    draw = {
        "bar": lambda: plots.bar(rows[0]),
        "waterfall": lambda: plots.waterfall(rows[0]),
        "rows": lambda: plots.bar(rows),
        "beeswarm": lambda: plots.beeswarm(rows),
        "scatter": lambda: plots.scatter(rows, 1),
        "color": lambda: plots.scatter(rows, 0, color=2),
        "image": lambda: plots.image(rows[0], (1, 5)),
        "convergence": lambda: plots.convergence(
            owenshap.estimating(random_table(5), "castro", budget=999), names=HARD_NAMES
        ),
    }[name]
    with plt.style.context(style):
        ax = draw()
        ax.figure.canvas.draw()  # missing letters are warned of here, and warnings are errors
        box = ax.figure.get_tightbbox().padded(-0.02)
        width, height = ax.figure.get_size_inches()
        assert box.x0 > -0.02
        assert box.y0 > -0.02
        assert box.x1 < width + 0.02
        assert box.y1 < height + 0.02


def test_dollars_are_no_formulas():
    ax = plots.bar(
        explanation_of([2.0, 1.0], names=["a$b$c", "$d"], data=np.array(["$1", "$2$"], object))
    )
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a$b$c = $1", "$d = $2$"]
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())


def test_text_takes_the_colour_of_the_style():
    for style, dark in (("default", False), ("dark_background", True)):
        with plt.style.context(style):
            ax = plots.waterfall(explanation_of([1.0, 2.0]))
            (text,) = [text for text in ax.texts if text.get_text().startswith("prediction")]
            assert (sum(to_rgb(text.get_color())) > 1.5) == dark


def test_transparent_paper_is_what_the_ink_was_made_for():
    with plt.style.context("default"):
        ax = plt.figure().subplots()
        ax.set_facecolor("none")
        assert canvas.paper(ax) == (1, 1, 1)
    with plt.style.context("dark_background"):
        ax = plt.figure().subplots()
        ax.set_facecolor("none")
        assert canvas.paper(ax) == (0, 0, 0)


@pytest.mark.parametrize("draw", [*MANY_ROWS.values()])
def test_axes_that_are_given_are_drawn_into(draw):
    ax = plt.figure(figsize=(5, 5)).subplots()
    assert draw(explanation_of(np.ones((12, 2))), ax=ax) is ax
    assert len(plt.get_fignums()) == 1
    assert tuple(ax.figure.get_size_inches()) == (5, 5)


def test_matplotlib_is_imported_when_something_is_drawn():
    code = (
        "import sys, owenshap.plots, owenshap.explain.notebook; assert 'matplotlib' not in "
        "sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_install_command_is_told(monkeypatch):
    class Absent:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name.partition(".")[0] == "matplotlib":
                raise ModuleNotFoundError(f"No module named {name!r}", name="matplotlib")

    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent, *sys.meta_path])
    with refuses("matplotlib", 'pip install "owenshap[plots]"', error=MissingExtraError):
        plots.bar(explanation_of(np.ones(2)))


# --- words and columns
# ------------------------------------------------------------------------------------------------


def test_long_names_lose_their_middle():
    assert shorten("short name") == "short name"
    assert shorten("a" * 20 + "b" * 20) == "a" * 16 + "…" + "b" * 15
    assert len(shorten("x" * 500)) == 32
    assert shorten("two\n lines") == "two lines"


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([1.234, -0.5], ["+1.23", "−0.50"]),
        ([12345.6, 0.4], ["+12,346", "+0"]),
        ([0.01234, 0.0], ["+0.0123", "0"]),
        ([3.2e-7, -1e-8], ["+3.20", "−0.10"]),
        ([4.5e12], ["+4.50"]),
        ([0.0], ["0"]),
    ],
)
def test_numbers_of_a_column_are_written_alike(values, written):
    digits = Digits.of(values)
    assert [digits.signed(value) for value in values] == written
    assert digits.suffix == {3.2e-7: " × 10⁻⁷", 4.5e12: " × 10¹²"}.get(values[0], "")


def test_doubt_is_never_written_as_zero():
    assert Digits.of([1.0]).doubt(0.1) == "± 0.10"
    assert Digits.of([1.0]).doubt(0.0003) == "± 0.0003"
    assert Digits.of([1.0]).doubt(None) == ""


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (39.0, "39"),
        (np.float64(-0.123456), "−0.1235"),
        (1234567.0, "1,234,567"),
        (4321, "4321"),
        (np.int64(3), "3"),
        (True, "True"),
        (None, "missing"),
        (np.nan, "missing"),
        (pd.NaT, "missing"),
        (pd.NA, "missing"),
        (pd.Timestamp(2024, 2, 1), "2024-02-01"),
        (datetime.date(2024, 2, 1), "2024-02-01"),
        ("x" * 40, "xxxxxxxxx…xxxxxxxx"),
        ("15.1, 0.35, 17.8", "15.1, 0.35, 17.8"),
        ("0.0599, 0.00428, 0.0974", "0.0599, …, 0.0974"),
        ("0.1234567, 0.7654321", "0.1234567….7654321"),
    ],
)
def test_cells_are_short_text(cell, text):
    assert text_of(cell) == text


@pytest.mark.parametrize(
    ("cells", "kind", "places"),
    [
        (np.array([1, 2, 3]), NUMBERS, [1, 2, 3]),
        (np.array([1.5, None, 2], object), NUMBERS, [1.5, np.nan, 2]),
        (np.array([None, None], object), NUMBERS, [np.nan, np.nan]),
        (np.array([True, False, True], object), CATEGORIES, [1, 0, 1]),
        (np.array(["b", None, "a"], object), CATEGORIES, [1, np.nan, 0]),
        (np.array([1, "a"], object), CATEGORIES, [0, 1]),
        (np.array([datetime.date(1970, 1, 3), pd.NaT], object), TIMES, [2, np.nan]),
        (
            np.array([pd.Timestamp("1970-01-02T12", tz="UTC"), pd.Timestamp("1970-01-02")], object),
            TIMES,
            [1.5, 1],
        ),
        (np.array([np.datetime64("1970-01-05")], object), TIMES, [4]),
    ],
)
def test_columns_are_numbers_times_or_categories(cells, kind, places):
    column = Column.of(cells, 9)
    assert column.kind == kind
    np.testing.assert_array_equal(column.places, places)


def test_shades_of_nearly_constant_features_still_tell_them_apart():
    few = np.zeros(100)
    few[3] = 1
    assert Column.of(few, 9).shades()[[0, 3]].tolist() == [0, 1]
    assert Column.of(np.ones(4), 9).shades().tolist() == [0.5] * 4
    assert np.isnan(Column.of(np.array([np.nan]), 9).shades()).all()


def test_the_axis_of_a_waterfall_names_the_unit():
    explanation = explanation_of([1.0, -2.0], unit="log-odds")
    assert plots.waterfall(explanation).get_xlabel().startswith("prediction, log-odds")


def pair_explainer():
    """Two features that matter only together, one that matters alone."""
    return owenshap.Explainer(
        lambda rows: 4 * rows[:, 0] * rows[:, 2] - rows[:, 1],
        baseline=0.0,
        feature_names=["rain", "wind", "sun"],
    )


def test_heat_map_has_every_pair_once_and_sums_to_the_prediction():
    found = pair_explainer().interactions(np.array([[1.0, 2.0, 0.5]]))
    ax = plots.pairs(found)
    names = [label.get_text() for label in ax.get_yticklabels()]
    drawn = np.asarray(ax.images[0].get_array())
    assert {*names} == {"rain", "wind", "sun"}
    place = {name: names.index(name) for name in names}
    pair = sorted((place["rain"], place["sun"]), reverse=True)
    assert drawn[tuple(pair)] == pytest.approx(2)
    assert drawn[tuple(pair[::-1])] == 0
    assert drawn.sum() == pytest.approx(2 - 2)
    assert [text.get_text() for text in ax.texts].count("0") == 4


def test_heat_map_of_many_rows_has_mean_sizes():
    rows = np.array([[1.0, 2.0, 0.5], [1.0, -2.0, -0.5]])
    ax = plots.pairs(pair_explainer().interactions(rows))
    drawn = np.asarray(ax.images[0].get_array())
    assert np.sort(drawn[drawn > 0]).tolist() == pytest.approx([2, 2])
    assert not any(text.get_text().startswith(("+", "−")) for text in ax.texts)


def test_heat_map_writes_what_may_be_zero_in_brackets():
    found = pair_explainer().interactions(np.array([[1.0, 2.0, 0.5]]))
    unsure = replace(found, lower=found.values - 10, upper=found.values + 10)
    written = [text.get_text() for text in plots.pairs(unsure).texts]
    assert "(+2.00)" in written


def test_network_draws_pairs_by_sign_and_size():
    found = pair_explainer().interactions(np.array([[1.0, 2.0, -0.5]]))
    ax = plots.network(found)
    (line,) = ax.lines
    assert to_hex(line.get_color()) == BLUE
    assert [text.get_text() for text in ax.texts] == ["rain", "wind", "sun"]
    unsure = replace(found, lower=found.values - 10, upper=found.values + 10)
    assert plots.network(unsure).lines[0].get_linestyle() == "--"


def test_scatter_finds_the_partner_that_interacts_most():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    explainer = pair_explainer()
    found = explainer(rows, keep=True)
    ax = plots.scatter(found, "rain", color=found.interactions())
    assert "sun" in [text.get_text() for each in ax.figure.axes for text in each.texts]
    other = owenshap.interactions(random_table(3))
    with refuses("color", "features"):
        plots.scatter(found, "rain", color=other)


def test_pictures_of_pairs_say_what_they_need():
    with refuses("interactions", "explainer.interactions"):
        plots.pairs(explanation_of([[1.0, 2.0]]))
    with refuses("interactions", "of_output"):
        plots.network(owenshap.interactions(random_table(3, outputs=2)))
