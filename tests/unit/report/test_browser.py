"""The page in Debian's Chromium: it needs nothing, answers at once, and shows names as text."""

import shutil
import time

import numpy as np
import pytest
from explanations import HOSTILE, explanation_of

from owenshap import report

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium"),
    # of playwright, where the loop of a browser that has gone is collected
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
READY = "html[data-ready]"


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A page that was opened from disk, with all that went wrong and all that was asked for."""

    def __init__(self, browser, path, **context):
        self.wrong, self.requests = [], []
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.wrong.append("a dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(f"file://{path}")
        if context.get("java_script_enabled", True):
            self.page.wait_for_selector(READY, state="attached", timeout=20_000)

    def __enter__(self):
        return self.page

    def __exit__(self, *raised):
        self.context.close()
        if raised[0] is None:
            assert self.wrong == []
            assert [url for url in self.requests if not url.startswith("file:")] == []
            assert len(set(self.requests)) == 1


def rows_of(rows, players, outputs=None, half=0.02, **changes):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(rows, players))
    values = np.tanh(data) * 0.9 ** np.arange(players)
    if outputs:
        values = values[..., None] * np.linspace(1, -2, outputs)
    return explanation_of(values, half=half, data=data, **changes)


@pytest.fixture(scope="module")
def thousand(tmp_path_factory):
    path = tmp_path_factory.mktemp("thousand") / "report.html"
    return report.write(rows_of(1000, 30), path, title="A thousand rows")


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    names = ["age", "income", "city", "x"]
    rng = np.random.default_rng(0)
    data = rng.normal(size=(50, 4)).astype(object)
    data[:, 2] = rng.choice(["Oslo", "Rome", "東京"], 50)
    data[:5, 1] = None
    explanation = explanation_of(
        rng.normal(size=(50, 4, 3)), data=data, names=names, output_names=["cat", "dog", "cow"]
    )
    return report.write(explanation, tmp_path_factory.mktemp("classes") / "report.html")


@pytest.mark.parametrize(("rows", "players", "most"), [(1000, 30, 2e6), (1_000_000, 5, 4e6)])
def test_pages_are_small_ready_and_quick(browser, tmp_path, rows, players, most):
    path = report.write(rows_of(rows, players), tmp_path / "report.html")
    assert path.stat().st_size < most
    with Opened(browser, path) as page:
        assert (
            _seconds(page, lambda: (page.reload(), page.wait_for_selector(READY, state="attached")))
            < 1
        )
        for selector in ("#rows tbody tr:nth-child(9) button", "[data-key=width]", "#theme"):
            assert _seconds(page, lambda: page.evaluate(CLICKED, selector)) < 0.2  # noqa: B023
        assert _seconds(page, lambda: page.fill("#search", "f1 = 0.5")) < 0.2


CLICKED = """selector => new Promise(done => {
    document.querySelector(selector).click();
    requestAnimationFrame(() => setTimeout(done));
})"""


def _seconds(page, act):
    """Processor time of the page's thread: other processes of a busy machine are not in it."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent():
        found = session.send("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in found if each["name"] == "TaskDuration")

    start = spent()
    act()
    return spent() - start


def test_rows_are_chosen_searched_and_sorted(browser, thousand):
    with Opened(browser, thousand) as page:
        page.click("#rows tbody tr:nth-child(3) button")
        assert page.inner_text("#row-title") == "Why row 2 got its prediction"
        assert page.evaluate("document.activeElement.id") == "row-title"
        assert page.inner_text("#waterfall li:first-child").startswith("Base value")
        assert "The prediction is" in page.inner_text("#reasons")
        assert page.locator("#waterfall .whisker").count() == 3 * 11
        page.fill("#search", "row 77")
        assert page.inner_text("#rows tbody tr:first-child td") == "row 77"
        assert page.inner_text("#found").endswith("of 1,000 rows")
        page.fill("#search", "nobody has this")
        assert page.inner_text("#found") == "0 of 1,000 rows"
        page.fill("#search", "")
        page.click("[data-key=prediction]")
        assert page.get_attribute("th[aria-sort]", "aria-sort") == "descending"
        numbers = page.locator("#rows tbody td:nth-child(2)").all_inner_texts()
        found = [float(each.replace("−", "-")) for each in numbers]
        assert found == sorted(found, reverse=True)
        page.click("#after")
        assert page.inner_text("#page").startswith("Page 2")


def test_the_keyboard_is_enough(browser, thousand):
    with Opened(browser, thousand) as page:
        page.focus("#rows tbody tr:nth-child(2) button")
        page.keyboard.press("Enter")
        assert page.inner_text("#row-title") == "Why row 1 got its prediction"
        page.focus("#row-after")
        page.keyboard.press("Space")
        assert page.inner_text("#row-title") == "Why row 2 got its prediction"


def test_a_dot_leads_to_its_row(browser, thousand):
    with Opened(browser, thousand) as page:
        before = page.inner_text("#row-title")
        page.locator("#swarm svg").first.scroll_into_view_if_needed()
        box = page.locator("#swarm svg").first.bounding_box()
        page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
        assert "f0" in page.inner_text(".tip")
        page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
        assert page.inner_text("#row-title") != before


def test_outputs_features_and_themes_are_switched(browser, classes):
    with Opened(browser, classes) as page:
        assert page.locator(".of-output:visible").count() == 1
        first = page.inner_text(".of-output:visible"), page.inner_text("#waterfall")
        page.select_option("#output", label="cow")
        assert page.inner_text(".of-output:visible .output-name") == "cow"
        second = page.inner_text(".of-output:visible"), page.inner_text("#waterfall")
        assert first[0] != second[0]
        assert first[1] != second[1]
        page.select_option("#feature", label="city")
        assert "東京" in page.inner_text("#dependence")
        page.select_option("#feature", label="income")
        assert "missing" in page.inner_text("#dependence")
        paper = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(paper)
        page.click("#theme")
        assert page.evaluate(paper) != light
        assert page.get_attribute("#theme", "aria-pressed") == "true"


def test_names_stay_text_everywhere(browser, tmp_path):
    data = np.array([HOSTILE] * len(HOSTILE), object)
    values = np.random.default_rng(0).normal(size=(len(HOSTILE), len(HOSTILE), 2))
    explanation = explanation_of(
        values, names=list(HOSTILE), data=data, output_names=HOSTILE[:2], doubtful=HOSTILE[3]
    )
    path = tmp_path / "report.html"
    report.write(explanation, path, title=HOSTILE[0], audit={HOSTILE[1]: HOSTILE[2]})
    with Opened(browser, path) as page:
        assert page.title() == HOSTILE[0]
        for place in range(len(HOSTILE)):
            page.select_option("#feature", index=place)
            page.locator("#rows tbody button").nth(place).click()
        page.select_option("#output", index=1)
        page.fill("#search", "<img")
        page.hover("#swarm svg >> nth=0")
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 2
        assert page.locator("[onmouseover], [onerror]").count() == 0
        shown = page.inner_text("#waterfall")
        for name in HOSTILE[:5]:
            assert name in shown
        assert "{{7*7}}" in page.inner_text("main")


def test_the_first_part_needs_no_script(browser, thousand):
    with Opened(browser, thousand, java_script_enabled=False) as page:
        text = page.inner_text("body")
        assert "f0, f1 and f2 mattered most" in text
        assert "needs JavaScript" in text
        assert page.locator(".importance .bar").first.is_visible()
        assert not page.locator("#swarm").is_visible()


@pytest.mark.parametrize("width", [390, 820, 1400])
def test_it_fits_any_width(browser, classes, width):
    with Opened(browser, classes, viewport={"width": width, "height": 900}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["classes", "one row"])
def test_axe_finds_nothing_serious(browser, classes, tmp_path, theme, kind):
    from axe_playwright_python.sync_playwright import Axe

    path = classes
    if kind == "one row":
        path = report.write(rows_of(1, 12)[0], tmp_path / "report.html")
    with Opened(browser, path, color_scheme=theme) as page:
        found = Axe().run(page).response["violations"]
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []


def test_a_notebook_shows_it_in_a_frame(browser, tmp_path):
    path = tmp_path / "cell.html"
    path.write_text(f"<!DOCTYPE html><p>before</p>{rows_of(12, 3).report()._repr_html_()}")
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"file://{path}")
    frame = page.frame_locator("iframe")
    frame.locator("#rows tbody tr:nth-child(2) button").click(timeout=20_000)
    assert frame.locator("#row-title").inner_text() == "Why row 1 got its prediction"
    context.close()


def test_it_prints_on_light_paper(browser, classes):
    with Opened(browser, classes, color_scheme="dark") as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        )
        assert not page.locator("#theme").is_visible()
        start = time.perf_counter()
        assert page.pdf()[:4] == b"%PDF"
        assert time.perf_counter() - start < 30
