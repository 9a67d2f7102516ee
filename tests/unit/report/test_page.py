"""What the page says, and what it holds."""

import base64
import json
from html.parser import HTMLParser

import numpy as np
import pytest
from explanations import HOSTILE, explanation_of

import owenshap
from owenshap import report


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


@pytest.mark.parametrize(("rows", "players"), [(1, 5), (1, 500), (3, 1), (1200, 5), (300, 500)])
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
