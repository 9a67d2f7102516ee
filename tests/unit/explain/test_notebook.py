import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from explanations import explanation_of

from owenshap import Explainer
from owenshap.explain.colours import NEGATIVE, NEUTRAL, POSITIVE
from owenshap.explain.notebook import html


def parsed(explanation):
    """The page as a tree: that it parses shows that all tags are closed and all text is escaped."""
    return ET.fromstring(html(explanation).replace("<br>", "<br/>"))


def rows_of(explanation):
    """The texts of the cells, line by line."""
    return [
        ["".join(cell.itertext()) for cell in row.iter("td")]
        for row in parsed(explanation).iter("tr")
    ]


def boxes(explanation):
    """(left, width, style) of what is drawn in each line, in percent of the bar's cell."""
    found = []
    for row in parsed(explanation).iter("tr"):
        styles = [div.get("style") for div in row.iter("div") if "absolute" in div.get("style")]
        found.append(
            [
                (*map(float, re.search(r"left:([\d.-]+)%;width:([\d.-]+)%", style).groups()), style)
                for style in styles
            ]
        )
    return found


def text_of(explanation):
    return "".join(parsed(explanation).itertext())


def test_one_row_shows_its_strongest_players_with_intervals():
    explanation = explanation_of(
        [0.25, -2.0], 0.125, names=["age", "income"], data=np.array([39.0, 1.0])
    )
    assert rows_of(explanation) == [
        ["income = 1", "", "−2.00 ± 0.12"],
        ["age = 39", "", "+0.25 ± 0.12"],
    ]
    assert "base value 0.500 → prediction −1.250" in text_of(explanation)


def test_it_says_how_it_came_about():
    assert "castro · 100 evaluations · 300 model rows · 95 % intervals · seed 7" in text_of(
        explanation_of([1.0, 2.0])
    )
    many = replace(explanation_of(np.ones((3, 2))), evaluations=np.array([50, 100, 1200]))
    assert "50 to 1,200 evaluations per row · 300 model rows per row" in text_of(many)
    bare = explanation_of([1.0], None, doubtful="it is biased & proud")
    assert "no intervals: it is biased & proud" in text_of(bare)
    assert "interval" not in text_of(explanation_of([1.0], 0.0))  # exact


def test_it_says_what_is_doubtful_and_draws_it_paler():
    said = "95 % intervals · doubtful: seen too seldom · seed 7"
    one = explanation_of([1.0, 2.0], doubtful="seen too seldom")
    assert said in text_of(one)
    assert html(one).count("opacity:.4'") == 2
    many = explanation_of(np.ones((40, 2)))
    assert "doubtful" not in text_of(many)
    many.doubtful[[3, 5]] = "seen too seldom"
    assert "95 % intervals · doubtful in 2 of 40 rows: seen too seldom" in text_of(many)
    assert "opacity:.4'" not in html(many)


def test_bars_are_as_long_as_the_values_and_whiskers_as_the_intervals():
    first, second = boxes(explanation_of([3.0, -1.0], 0.5))
    percent = 98 / (3.5 + 1.5)  # of the reach from −1.5 to 3.5, with a margin of 1 at both sides
    zero = 1 + 1.5 * percent
    (bar, whisker, _), (other, other_whisker, _) = first, second
    assert bar[:2] == pytest.approx((zero, 3 * percent), abs=0.02)
    assert whisker[:2] == pytest.approx((zero + 2.5 * percent, percent), abs=0.02)
    assert other[:2] == pytest.approx((zero - percent, percent), abs=0.02)
    assert other_whisker[:2] == pytest.approx((1, percent), abs=0.02)
    assert POSITIVE in bar[2]
    assert NEGATIVE in other[2]


def test_without_doubt_there_are_no_whiskers():
    assert [len(line) for line in boxes(explanation_of([3.0, -1.0], 0.0))] == [2, 2]  # bar and zero


def test_many_players_share_the_last_line():
    values = np.arange(1.0, 201.0)
    lines = rows_of(explanation_of(values))
    assert len(lines) == 12
    assert lines[-1][0] == "189 other features"
    assert lines[-1][2] == f"+{values[:189].sum():,.0f}"


def test_a_gap_has_a_line_where_it_can_be_seen():
    assert rows_of(explanation_of([1.0, 2.0], gap=0.5))[-1] == ["gap", "", "+0.50"]
    assert len(rows_of(explanation_of([1.0, 2.0], gap=1e-12))) == 2


def test_a_table_of_one_row_is_shown_as_that_row():
    rows = np.array([[1.0, -2.0], [3.0, 4.0]])
    found = Explainer(lambda batch: batch.sum(axis=1), baseline=0.0)(rows)
    assert str(found[:1]) == str(found[0])
    assert html(found[:1]) == html(found[0])
    assert "mean |value| over 2 rows" in str(found)
    assert str(found[:0]).startswith("Explanation of 0 rows")


def test_many_rows_show_mean_strength():
    values = np.random.default_rng(0).normal(size=(40, 2)) * [1, 10]
    explanation = explanation_of(values, 0.0)
    assert [line[0] for line in rows_of(explanation)] == ["f1", "f0"]
    assert rows_of(explanation)[0][2].startswith(f"{np.abs(values[:, 1]).mean():.2f} ± ")
    assert "mean |contribution| over 40 rows" in text_of(explanation)
    assert NEUTRAL in html(explanation)


def test_outputs_have_a_column_each_and_a_hint():
    values = np.random.default_rng(0).normal(size=(40, 20, 8))
    explanation = explanation_of(values, output_names=[f"<{letter}>" for letter in "abcdefgh"])
    head, *lines = rows_of(explanation)
    assert head == ["", "<a>", "<b>", "<c>", "<d>", "<e>", "<f>"]
    assert len(lines) == 12
    strength = np.abs(values).mean(axis=0)
    best = strength.max(axis=1).argmax()
    assert lines[0] == [f"f{best}", *(f"{value:.2f}" for value in strength[best, :6])]
    assert "2 outputs not shown" in text_of(explanation)
    assert "explanation[..., '<a>']" in text_of(explanation)
    one = explanation[0]
    assert rows_of(one)[-1][0] == "9 other features"
    assert "explanation[..., 0]" in text_of(replace(one, output_names=None))


@pytest.mark.parametrize(
    "key",
    [
        (0, "f1"),
        (slice(None), "f1"),
        (0, "f1", 0),
        (slice(None), "f1", slice(None)),
        (0, "f1", slice(None)),
    ],
)
def test_one_player_is_a_line(key):
    explanation = explanation_of(
        np.arange(72.0).reshape(12, 3, 2) if len(key) == 3 else np.arange(36.0).reshape(12, 3)
    )
    lines = rows_of(explanation[key])
    assert lines[-1][0].startswith("f1")
    assert "1 feature" in text_of(explanation[key])


def test_every_slice_of_an_explanation_has_a_page():
    explanation = explanation_of(np.arange(72.0).reshape(12, 3, 2), output_names=["a", "b"])
    for key in (
        (0,),
        (slice(0, 0),),
        (..., "a"),
        (0, slice(None), "b"),
        (slice(None), [0, 2]),
        (0, 0, 0),
    ):
        parsed(explanation[key])


def test_zeros_are_told():
    assert rows_of(explanation_of([0.0, 0.0], 0.0))[0] == ["f0 = 0", "", "0"]


def test_names_and_data_cannot_inject():
    evil = "<script>alert('x')</script>&\""
    names = [evil, "b"]
    explanation = explanation_of(
        [[1.0, 2.0]], names=names, data=np.array([[evil, "<img>"]], object), method=evil
    )
    for each in (explanation, explanation[0], replace(explanation, output_names=[evil])):
        page = html(each)
        assert "<script" not in page
        assert "<img" not in page
        parsed(each)


def test_it_has_no_colours_of_its_own_but_the_bars():
    page = html(explanation_of([1.0, -2.0]))
    assert "color:inherit" in page
    assert set(re.findall(r"#[0-9a-f]{6}", page)) == {POSITIVE, NEGATIVE}
    assert "<style" not in page


def test_notebooks_call_it():
    explanation = Explainer(lambda rows: rows[:, 0] * rows[:, 1], baseline=0.0)(
        np.array([[2.0, 3.0]])
    )
    assert explanation._repr_html_() == html(explanation)
    assert [line[2] for line in rows_of(explanation[0])] == ["+3.00", "+3.00"]


@pytest.mark.parametrize("name", ["method", "seed", "doubtful", "confidence"])
def test_nothing_that_is_shown_can_inject(name):
    evil = "<img src=x onerror=alert(1)>"
    explanation = explanation_of([[1.0, 2.0]], half=None)
    words = np.array([evil], object) if name == "doubtful" else evil
    page = html(replace(explanation, **{name: words}))
    assert "<img" not in page
