"""Bars move in every kind of work, on a terminal and in a notebook."""

import io
import re
import sys
import time

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from terminals import on_a_terminal

import owenshap
from owenshap.support import progress
from owenshap.support.progress import Bar, heard, parts_of, pulse, rows_done, silent

ONE_LONG_CALL = """
import time
import numpy as np
import owenshap

def model(rows):
    if len(rows) > {rows}:
        time.sleep(2.5)
    return rows.sum(axis=1) ** 2 % 1.7

rows = np.random.default_rng(0).normal(size=({rows}, 12))
owenshap.Explainer(model, rows)(rows, method="halved-owen", budget=400)
"""

A_LONG_FIT = """
import numpy as np
import owenshap

rows = np.random.default_rng(0).normal(size=(3, 25))
model = lambda rows: np.tanh(rows[:, ::2].sum(axis=1) * rows[:, 1]) + rows[:, 3] * rows[:, 4]
owenshap.Explainer(model, rows)(rows, method="gaussian-process", budget=1200)
"""


def looks(written):
    """What stood in the line, and when: (seconds, text)."""
    return [(at, text) for at, text in written if text.strip("\r\x1b[2K")]


def longest_standstill(written):
    """Seconds in which nothing in the line changed."""
    shown = looks(written)
    changes = [
        at
        for (at, text), before in zip(shown, [("", ""), *shown], strict=False)
        if text != before[1]
    ]
    return max(np.diff(changes), default=np.inf)


@pytest.mark.slow
def test_a_bar_comes_soon_and_moves_while_one_call_of_the_model_takes_seconds():
    written = on_a_terminal(ONE_LONG_CALL.format(rows=3), timed=True)
    assert len(looks(written)) > 4
    assert longest_standstill(written) < 1.3  # a second, and what a busy machine adds
    assert any("of 3 rows" in text for _, text in written)


@pytest.mark.slow
def test_a_bar_moves_in_a_fit_and_says_what_is_left():
    written = on_a_terminal(A_LONG_FIT, timed=True)
    fitting = [text for _, text in written if "fitting" in text]
    assert longest_standstill(written) < 1.3
    assert any(re.search(r"\d:\d\d, \d:\d\d left", text) for text in fitting)


def test_a_callable_hears_of_every_second_also_in_a_fit():
    rows = np.random.default_rng(0).normal(size=(2, 12))

    def model(batch):
        time.sleep(0.002)
        return np.tanh(batch[:, ::2].sum(axis=1) * batch[:, 1]) + batch[:, 3] * batch[:, 4]

    began = time.monotonic()
    when = []
    owenshap.Explainer(model, rows)(
        rows,
        method="gaussian-process",
        budget=800,
        progress=lambda done, expected: when.append((time.monotonic() - began, done, expected)),
    )
    ended = time.monotonic() - began
    at = np.array([0.0, *(each for each, *_ in when), ended])
    assert np.diff(at).max() < max(0.5, 0.5 * ended)
    assert len(when) > 3
    done = [each for _, each, _ in when]
    assert done == sorted(done)
    assert when[-1][1] == when[-1][2]


def test_rows_and_accuracy_stand_beside_the_bar(monkeypatch):
    monkeypatch.setattr(progress, "FIRST", 0)
    monkeypatch.setattr(progress, "EVERY", 0)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    rows = np.random.default_rng(0).normal(size=(4, 12))
    model = lambda rows: np.tanh(rows[:, ::2].sum(axis=1) * rows[:, 1])  # noqa: E731
    owenshap.Explainer(model, rows)(rows, method="castro", tolerance="2%", progress=True)
    written = sys.stderr.getvalue()
    assert re.search(r"[123] of 4 rows", written)
    assert re.search(r"within [\d.]+% of the range, 2% asked", written)
    assert "left" in written


def test_a_bar_is_silent_where_nobody_looks(capfd):
    rows = np.random.default_rng(0).normal(size=(4, 12))
    owenshap.Explainer(lambda rows: rows.sum(axis=1) ** 2, rows)(rows, budget=200)
    assert capfd.readouterr() == ("", "")


def test_the_thread_of_a_bar_ends_with_it(monkeypatch):
    monkeypatch.setattr(progress, "FIRST", 0)
    monkeypatch.setattr(progress, "TICK", 0.01)
    stream = io.StringIO()
    bar = Bar("castro", stream)
    bar(1, 10)
    bar.close()
    written = stream.getvalue()
    time.sleep(0.1)
    assert stream.getvalue() == written
    assert written.endswith("\r\x1b[2K")


def test_parts_add_up_and_never_go_back():
    calls = []
    first, second = parts_of(lambda done, of: calls.append((done, of)), [100, 300], [1, 3])
    for done, of in [(1, 10), (5, 10), (5, 100), (100, 100)]:
        first(done, of)
    second(1, 3)
    second(3, 3)
    assert calls == [(0, 400), (10, 400), (50, 400), (50, 400), (100, 400), (200, 400), (400, 400)]
    assert parts_of(silent, [1, 2], [1, 1]) == [silent, silent]


def test_rows_of_parts_are_counted_together():
    bar = Bar("explaining", io.StringIO(), rows=4)
    first, second = parts_of(bar, [100, 300], [1, 3])
    first(10, 10)
    rows_done(second, 2)
    assert bar.rows_done == 3
    bar.close()


def test_pulses_reach_the_listener_of_the_innermost_steps_only():
    heard_of = []

    def steps():
        pulse(3)
        yield 1
        pulse(fitted=0.5)
        yield 2

    pulse(1)
    for _ in heard(steps(), lambda *what: heard_of.append(what)):
        pulse(100)
    assert heard_of == [(3, 0.0), (0, 0.5)]


@pytest.mark.slow
@pytest.mark.parametrize("installed", [True, False])
def test_a_notebook_has_a_bar(installed):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    hide = "" if installed else "import sys\nsys.modules['tqdm.auto'] = None\n"
    code = hide + ONE_LONG_CALL.format(rows=3) + "print('done')"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    messages = []
    client = nbclient.NotebookClient(notebook, timeout=60)
    plain = client.process_message
    client.process_message = lambda msg, *rest: (messages.append(msg), plain(msg, *rest))[1]
    client.execute()
    shown = str([each["content"] for each in messages]).replace("\\u2007", " ")
    assert "of 3 rows" in shown
    assert "Warning" not in shown
    assert "done" in shown


def test_trees_tell_how_many_rows_are_done():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 5))
    model = HistGradientBoostingRegressor(max_iter=20).fit(rows, rows[:, 0] * rows[:, 1])
    calls = []
    owenshap.Explainer(model, rows[:50])(rows, progress=lambda *call: calls.append(call))
    done = [each for each, _ in calls]
    assert done == sorted(done)
    assert {expected for _, expected in calls} == {3000}
    assert done[-1] == 3000
    assert done.count(3000) == 1
