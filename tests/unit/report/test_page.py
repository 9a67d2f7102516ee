"""What the page says, and what it holds."""

import base64
import json
from html.parser import HTMLParser

import numpy as np
import pytest
from explanations import HOSTILE, explanation_of

import owenshap
from owenshap import report
from owenshap.report.material import Importance, gathered


class Parts(HTMLParser):
    """Elements by tag, the text outside of scripts and styles, and what scripts hold."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.scripts, self._inside = [], "", [], None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = tag if tag in ("script", "style") else None
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside is None:
            self.text += " " + data

    @property
    def data(self):
        return json.loads(self.scripts[0])


def page_of(explanation, **settings):
    return Parts(report.page(explanation, **settings).html)


def rows_and_players(rows=40, players=6, **changes):
    values = np.random.default_rng(0).normal(size=(rows, players)) * [
        2.0**-i for i in range(players)
    ]
    return explanation_of(values, **changes)


def test_the_first_part_says_what_mattered_and_how_sure_that_is():
    text = " ".join(page_of(rows_and_players(half=0.02)).text.split())
    assert (
        "40 predictions of the model were explained by 6 features with the method castro." in text
    )
    assert "f0 , f1 and f2 mattered most: together they are" in text
    assert "With 95 % confidence a typical contribution is known to within ± 0.02" in text


def test_it_loads_nothing_and_holds_its_own_policy():
    page = page_of(rows_and_players())
    assert not [tag for tag, _ in page.tags if tag in ("link", "img", "iframe", "object")]
    assert not [each for _, each in page.tags if "src" in each or "style" in each]
    [policy] = [each["content"] for tag, each in page.tags if "http-equiv" in each]
    assert policy.startswith("default-src 'none'")
    assert "http:" not in page.scripts[1].replace("http://www.w3.org/2000/svg", "")


def test_hostile_names_and_values_stay_text():
    data = np.array([[name] * len(HOSTILE) for name in HOSTILE], object)
    values = np.random.default_rng(0).normal(size=(len(HOSTILE), len(HOSTILE), 2))
    explanation = explanation_of(
        values, names=list(HOSTILE), data=data, output_names=HOSTILE[:2], doubtful=HOSTILE[2]
    )
    page = page_of(explanation, title=HOSTILE[0], audit={HOSTILE[1]: HOSTILE[3]})
    plain = page_of(rows_and_players())
    assert {tag for tag, _ in page.tags} - {tag for tag, _ in plain.tags} <= {
        "select",
        "label",
        "option",
    }
    assert len(page.scripts) == 2
    assert not [name for _, each in page.tags for name in each if name.startswith("on")]
    assert page.data["features"][:6] == HOSTILE[:6]
    assert HOSTILE[0] in page.text
    assert HOSTILE[1] in page.text


def test_json_cannot_end_its_element():
    html = report.page(explanation_of(np.ones((2, 1)), names=["</script><!--&\u2028"])).html
    inside = html.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    assert json.loads(inside)["features"] == ["</script><!--& ".strip()]
    assert not set(inside) & set("<>&\u2028\u2029")


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e12])
def test_contributions_and_intervals_come_back(scale):
    explanation = rows_and_players(half=0.1)
    half = np.full(explanation.shape, 0.1 * scale)
    values = explanation.values * scale
    explanation = explanation_of(values, half=half)
    data = page_of(explanation).data
    for packed, dtype, truth in ((data["values"], "<i2", values), (data["halves"], "<u2", half)):
        parts = np.frombuffer(base64.b64decode(packed[0]["parts"]), dtype).reshape(values.shape)
        steps = np.frombuffer(base64.b64decode(packed[0]["scale"]), "<f8")
        found = parts * steps[:, None]
        assert np.abs(found - truth).max() < 1e-4 * np.abs(truth).max()
    assert (found >= half * (1 - 1e-12)).all()


@pytest.mark.parametrize(
    ("rows", "players"), [(1, 5), (1, 500), (3, 1), (1200, 5), (300, 500), (40, 5000)]
)
def test_it_works_small_and_large(rows, players):
    values = np.random.default_rng(0).normal(size=(rows, players))
    html = report.page(explanation_of(values)).html
    assert len(html.encode()) < 2_000_000
    data = Parts(html).data
    assert len(data["features"]) == players
    assert len(data["numbers"]) <= min(rows, 1000)


def test_a_sample_is_said_and_holds_the_rows_that_stand_out():
    values = np.random.default_rng(0).normal(size=(3000, 3))
    values[77] = 50.0
    half = np.full(values.shape, 0.1)
    half[2222] = 3.0
    page = page_of(explanation_of(values, half=half), rows=100)
    assert "Importance is over all 3,000 rows. Below are 100 of them" in page.text
    assert len(page.data["numbers"]) == 100
    assert page.data["unusual"][0] == 77
    assert page.data["uncertain"][0] == 2222
    assert {77, 2222} <= set(page.data["numbers"])


def test_a_page_is_a_cell_and_a_file(tmp_path):
    explanation = rows_and_players()
    page = explanation.report(tmp_path / "report.html", title="Here")
    assert (tmp_path / "report.html").read_text() == page.html
    assert report.write(explanation, tmp_path / "again.html", title="Here").read_text() == page.html
    [(tag, frame)] = Parts(page._repr_html_()).tags
    assert tag == "iframe"
    assert frame["srcdoc"] == page.html
    assert frame["sandbox"] == "allow-scripts"


def test_bad_input_is_named(tmp_path):
    with pytest.raises(owenshap.InputError, match="explained must be an Explanation or a Run"):
        report.page([1, 2])
    with pytest.raises(owenshap.InputError, match="at least one row"):
        report.page(rows_and_players()[:0])
    with pytest.raises(owenshap.InputError, match="rows must"):
        report.page(rows_and_players(), rows=0)
    with pytest.raises(owenshap.InputError, match="path must be a file that can be written"):
        report.write(rows_and_players(), tmp_path / "nowhere" / "report.html")


def test_what_is_not_settled_is_shown_as_such():
    values = np.array([[4.0, 2.0, 1.9, 0.01, 0.0]] * 20)
    half = np.array([[0.1, 0.1, 0.1, 0.1, 0.0]] * 20)
    html = report.page(explanation_of(values, half=half)).html
    text = " ".join(Parts(html).text.split())
    assert "the first place is settled, the order below is not" in text
    assert "2 of 5 features cannot be told from zero" in text
    bars = html.split('<ol class="bars importance">')[1].split("</ol>")[0].split("</li>")[:-1]
    notes = [bar.split('class="note">')[1].split("<")[0] for bar in bars]
    unsure = "cannot be told from zero"
    assert notes == ["place 1", "place 2–3", "place 2–3", unsure, "no contribution"]
    assert ['<li class="unsure">' in bar for bar in bars] == [False, False, False, True, True]


def test_the_strongest_are_named_where_it_may_be_either():
    values = np.array([[2.0, 1.95, 0.5]] * 20)
    text = " ".join(page_of(explanation_of(values, half=0.1)).text.split())
    assert "f0 or f1 may be the strongest" in text
    text = " ".join(page_of(explanation_of(values * 0.01, half=0.1)).text.split())
    assert (
        "Nothing that can be told from zero: the largest contributions are of f0 , f1 and f2"
        in text
    )


def test_exact_values_and_those_without_intervals_are_told_apart():
    exact = " ".join(page_of(rows_and_players(half=0.0)).text.split())
    assert "Every contribution is exact, and whiskers only show what other rows" in exact
    none = " ".join(page_of(rows_and_players(half=None, doubtful="a biased rule")).text.split())
    assert "How sure this is cannot be told: there are no intervals (a biased rule)." in none
    assert "cannot be told from zero" not in none


def test_doubtful_intervals_are_pale_and_say_why():
    page = page_of(rows_and_players(doubtful="4 replicates tell little"))
    text = " ".join(page.text.split())
    assert "These intervals may mislead in 40 of 40 rows: 4 replicates tell little." in text
    assert "bars importance doubtful" in [each.get("class") for _, each in page.tags]
    sure = page_of(rows_and_players())
    assert "bars importance doubtful" not in [each.get("class") for _, each in sure.tags]


def test_a_constant_model_and_a_feature_alone():
    text = page_of(explanation_of(np.zeros((12, 3)), half=0.0)).text
    assert "Nothing mattered: every contribution is 0." in text
    assert "alone mattered" in page_of(explanation_of(np.ones((12, 1)), half=0.0)).text


@pytest.mark.parametrize("rows", [9, 400])  # too few to tell what other rows would give, and not
def test_importance_is_that_of_the_library(rows):
    explanation = rows_and_players(rows=rows, half=0.3)
    found = Importance.of(gathered(explanation, None).totals, 0, 0.95)
    theirs = owenshap.importance(explanation)
    np.testing.assert_allclose(found.mean[found.order], theirs.values)
    np.testing.assert_allclose((found.mean + found.half)[found.order], theirs.upper)
    np.testing.assert_allclose(found.estimation, 0.3)  # does not shrink with the number of rows


def test_features_that_are_exact_do_not_make_the_others_so():
    half = np.array([[0.0, 0.0, 0.25]] * 20)
    text = page_of(explanation_of(np.ones((20, 3)), half=half)).text
    assert "known to within ±\N{NO-BREAK SPACE}0.25" in text


@pytest.mark.parametrize(
    ("scale", "written"), [(1.0, "0.00002"), (1e-9, "0.00002\N{NO-BREAK SPACE}× 10⁻⁹")]
)
def test_small_doubts_are_written_so_that_they_can_be_read(scale, written):
    html = report.page(explanation_of(np.full((5, 1), scale), half=2e-5 * scale)).html
    assert written in html.replace(" ×", "\N{NO-BREAK SPACE}×")


def test_chunks_change_nothing(monkeypatch):
    explanation = rows_and_players(rows=100)
    whole = report.page(explanation, rows=30).html
    monkeypatch.setattr("owenshap.report.material.ROWS_AT_A_TIME", 7)
    apart = report.page(explanation, rows=30).html
    assert Parts(apart).data == Parts(whole).data


def test_reasons_that_differ_by_numbers_count_together():
    ended = np.array([f"budget: {i} replicates took {i}" for i in range(40)], object)
    text = page_of(rows_and_players(stopped_by=ended)).text
    assert "40 rows, as in: budget: 0 replicates took 0" in text


def test_a_reason_is_told_whole():
    reason = "gaussian-process: " + "so many words, " * 30 + "that is why"
    because = np.full(40, reason, object)
    text = page_of(rows_and_players(because=because, stopped_by=because)).text
    assert text.count(reason) == 3  # in the cost, as what ended rows, and in the record


def test_data_of_any_kind_comes_back():
    data = np.empty((20, 5), object)
    data[:, 0] = 123_456_789 + np.arange(20)  # more digits than 32 bits hold
    data[:, 1] = [f"city {i % 3}" for i in range(20)]
    data[:, 2] = np.datetime64("2024-02-29")
    data[:, 3] = [None] * 10 + [0.25] * 10
    data[:, 4] = [1e300, -np.inf] * 10
    columns = page_of(explanation_of(np.ones((20, 5)), data=data)).data["columns"]
    assert [each["kind"] for each in columns] == [
        "numbers",
        "categories",
        "times",
        "numbers",
        "numbers",
    ]
    assert [each["bits"] for each in columns] == [64, 8, 64, 32, 64]
    assert columns[1]["names"] == ["city 0", "city 1", "city 2"]
    whole = np.frombuffer(base64.b64decode(columns[0]["cells"]), "<f8")
    assert whole.tolist() == data[:, 0].tolist()


def test_of_many_outputs_the_strongest_are_shown():
    values = (
        np.random.default_rng(0).normal(size=(30, 4, 40)) * np.r_[np.ones(28), np.full(12, 5.0)]
    )
    page = page_of(explanation_of(values, output_names=[f"class {i}" for i in range(40)]))
    assert page.data["outputs"] == [f"class {i}" for i in range(28, 40)]
    unnamed = page_of(explanation_of(values))
    assert unnamed.data["outputs"][0] == "output 28"


def test_names_and_cells_that_cannot_be_seen_are_named():
    data = np.array([["", " x "]] * 12, object)
    page = page_of(explanation_of(np.ones((12, 2)), names=["", " "], data=data))
    assert page.data["features"] == ["(no name)", "(no name)"]
    assert [each["names"] for each in page.data["columns"]] == [["(empty)"], ["x"]]


def test_rows_are_called_by_what_they_are_known_by():
    def names(ids):
        ids = None if ids is None else np.array(ids, object)
        return page_of(explanation_of(np.ones((3, 2)), row_ids=ids)).data["names"]

    assert names(None) == names([0, 1, 2]) == ["row 0", "row 1", "row 2"]
    assert names([91, 7, "x"]) == ["row 91", "row 7", "row x"]
    assert names(["a", "b", "a"]) == ["row 0 (a)", "row 1 (b)", "row 2 (a)"]
    one = page_of(explanation_of(np.ones((3, 2)), row_ids=np.array([5, 6, 7]))[1])
    assert one.data["names"] == ["row 6"]


def test_values_of_another_index_are_not_called_shapley_values():
    text = " ".join(page_of(rows_and_players(index="banzhaf")).text.split())
    assert "explained by 6 features, as banzhaf values, with the method castro" in text
    assert "Shapley value" not in text
    assert "contributions do not sum to the prediction" in text


def looked_at(*courses):
    """Rows whose accuracy went like this: (evaluations, half-width in tolerances), …"""
    most = max(map(len, courses))
    array = np.full((len(courses), most, 2), np.nan)
    for row, course in enumerate(courses):
        array[row, : len(course)] = course
    return rows_and_players(len(courses), half=0.02, convergence=array)


def curves(page):
    """The lines of the picture, as places in percent."""
    shown = {each["class"]: each["points"] for tag, each in page.tags if tag == "polyline"}
    return {
        name: np.array([[*map(float, point.split(","))] for point in points.split()])
        for name, points in shown.items()
    }


def test_it_draws_how_the_accuracy_went():
    fast, slow = [(100, 0.8)], [(100, 8.0), (400, 4.0), (1600, 2.0), (6400, 0.9)]
    page = page_of(looked_at(fast, fast, slow))
    assert (
        "Of the 3 rows that were looked at, half were within the tolerance after 100 evaluations, "
        "and all after 6,400." in " ".join(page.text.split())
    )
    goal = next(float(each["y1"]) for _, each in page.tags if each.get("class") == "goal")
    lines = curves(page)
    assert (lines["usual"][:, 1] > goal).all()  # down is narrower
    worst = lines["worst"]
    assert (np.diff(worst[:, 1]) >= 0).all()
    assert (worst[:-1, 1] < goal).all()
    assert worst[-1, 1] > goal
    assert worst[[0, -1], 0].tolist() == [0, 100]


def test_it_says_which_rows_did_not_reach_the_tolerance():
    slow = [(100, 8.0), (400, 4.0)]
    text = " ".join(page_of(looked_at([(100, 1.0)], [(100, 0.4)], slow)).text.split())
    assert "half were within the tolerance after 100 evaluations, 1 did not reach it" in text
    text = " ".join(page_of(looked_at(slow, slow)).text.split())
    assert "2 did not reach the tolerance" in text


def test_a_look_that_was_within_and_then_was_not_does_not_count():
    back = [(100, 0.9), (200, 1.5), (400, 0.8)]
    text = " ".join(page_of(looked_at(back, back)).text.split())
    assert "All of the 2 rows that were looked at were within the tolerance after 400" in text


def test_one_look_is_told_and_not_drawn():
    page = page_of(looked_at([(100, 0.8)], [(100, 0.9)]))
    assert "within the tolerance after 100 evaluations" in " ".join(page.text.split())
    assert not curves(page)


def test_without_looks_it_says_what_more_would_give():
    text = " ".join(page_of(rows_and_players(half=0.02)).text.split())
    assert "Nobody looked at the accuracy on the way" in text
    assert "ended with a widest interval of ± 0.02 after 100 evaluations. Half of that" in text
    assert "about 400" in text
    assert "nothing left to converge" in page_of(rows_and_players(half=0.0)).text
