"""Force, cohorts and comparison: what they show, and on what they insist."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from explanations import explanation_of
from matplotlib.colors import to_hex
from naive import refuses

import owenshap
from owenshap import plots
from owenshap.explain.colours import NEGATIVE, POSITIVE


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_the_pieces_of_force_meet_at_the_prediction():
    e = explanation_of([1.0, -0.5, 0.25, -0.05], half=0.02)
    ax = plots.force(e)
    spans = sorted(
        (bar.get_x(), bar.get_x() + bar.get_width(), to_hex(bar.get_facecolor()))
        for bar in ax.patches
    )
    reds = [span for span in spans if span[2] == POSITIVE]
    blues = [span for span in spans if span[2] == NEGATIVE]
    prediction = float(e.predictions)
    assert max(end for _, end, _ in reds) == pytest.approx(prediction)
    assert min(start for start, *_ in blues) == pytest.approx(prediction)
    assert sum(end - start for start, end, _ in reds) == pytest.approx(1.25)
    assert sum(end - start for start, end, _ in blues) == pytest.approx(0.55)
    assert "f0 = 0\n+1.00 ± 0.02" in texts(ax)
    assert "prediction = 1.200" in texts(ax)


@pytest.mark.parametrize("features", [1, 5, 30, 500])
def test_labels_of_force_do_not_lie_on_one_another(features):
    rng = np.random.default_rng(features)
    names = [f"a column with quite a long name, number {place}" for place in range(features)]
    ax = plots.force(explanation_of(rng.normal(size=features), names=names))
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts if "\n" in text.get_text()]
    assert len(boxes) == min(features, 8)
    for place, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:place])
        assert one.x0 > -1
        assert one.x1 < ax.figure.bbox.width + 1


def test_force_of_nothing_is_drawn():
    plots.force(explanation_of([0.0, 0.0], half=0.0)).figure.canvas.draw()


def groups(rows=40, outputs=None, kinds=2):
    shape = (rows, 4) if outputs is None else (rows, 4, outputs)
    e = explanation_of(np.random.default_rng(0).normal(size=shape))
    return owenshap.cohorts(e, [f"kind {place % kinds}" for place in range(rows)], name="kind")


def test_cohorts_have_a_bar_for_each_group_with_its_interval():
    made = groups()
    ax = plots.cohorts(made)
    tables = {name: owenshap.importance(part) for name, part in made.items()}
    assert len(ax.containers) >= 2
    for bars, table in zip(
        [c for c in ax.containers if hasattr(c, "patches")], tables.values(), strict=True
    ):
        lengths = sorted(bar.get_width() for bar in bars)
        np.testing.assert_allclose(lengths, sorted(table.values))
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["kind 0 (20 rows)", "kind 1 (20 rows)"]
    assert ax.get_legend().get_title().get_text() == "kind"
    assert "also of the choice of rows" in ax.get_xlabel()


def test_cohorts_insist_on_what_can_be_read():
    with refuses("groups", "be cohorts", "owenshap.cohorts"):
        plots.cohorts(explanation_of(np.ones((12, 2))))
    with refuses("groups", "at most 7", "8"):
        plots.cohorts(groups(kinds=8))
    with refuses("groups", "2 outputs", "explanation[..., 0]"):
        plots.cohorts(groups(outputs=2))


def changes(least="1%"):
    rng = np.random.default_rng(0)
    one = explanation_of(rng.normal(size=(40, 4)), half=0.01)
    other = explanation_of(one.values * [3, 1, 1, 0.2], half=0.01, data=one.data)
    return owenshap.compare(one, other, least=least)


def test_a_comparison_shows_changes_and_their_verdicts():
    compared = changes()
    ax = plots.comparison(compared)
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(
        [float(dot.get_xdata()[0]) for dot in dots], compared.change, atol=1e-12
    )
    shades = {
        str(verdict): to_hex(dot.get_color())
        for verdict, dot in zip(compared.verdicts, dots, strict=True)
    }
    assert shades["up"] == POSITIVE
    assert shades["down"] == NEGATIVE
    assert {text.strip() for text in texts(ax)} >= {"up", "down"}
    assert [label.get_text() for label in ax.get_yticklabels()] == compared.feature_names


def test_a_comparison_insists_on_one_output():
    with refuses("changes", "be a comparison"):
        plots.comparison(explanation_of(np.ones((12, 2))))
    e = explanation_of(np.ones((12, 2, 2)), output_names=["no", "yes"])
    with refuses("changes", "2 outputs", "'no'"):
        plots.comparison(owenshap.compare(e, e))


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("features", [1, 5, 500])
def test_all_are_drawn_on_light_and_dark(style, features):
    rng = np.random.default_rng(0)
    one = explanation_of(rng.normal(size=(12, features)), data=np.zeros((12, features)))
    other = explanation_of(
        rng.normal(size=(12, features)), half=None, data=np.zeros((12, features))
    )
    with plt.style.context(style):
        for ax in (
            plots.force(one[0]),
            plots.cohorts(owenshap.cohorts(one, ["$a$", "b"] * 6)),
            plots.comparison(owenshap.compare(one, one)),
            plots.comparison(owenshap.compare(one, other)),
            plots.comparison(owenshap.compare(one[0], one[1])),
        ):
            ax.figure.canvas.draw()
