import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import Watched, same_examples, smooth
from terminals import on_a_terminal

from owenshap import estimate
from owenshap.support.progress import Bar, clock, meter, silent

ERASE = "\r\x1b[2K"

SLOW = """
import time
import owenshap

def fn(coalitions):
    time.sleep(0.06)
    return coalitions.sum(axis=1) ** 2.0

{before}
owenshap.estimate(owenshap.FunctionGame(fn, 10), "halved-owen", budget=40_000{settings})
"""


@pytest.fixture(scope="module")
def shown():
    return on_a_terminal(SLOW.format(before="", settings=""))


def test_a_terminal_shows_a_bar_with_the_time_left(shown):
    assert "━" in shown
    assert "halved-owen" in shown
    assert re.search(r"\d+%  [\d,]+ of [\d,]+ evaluations  \d:\d\d, \d+:\d\d left", shown)


def test_the_bar_moves(shown):
    shares = [int(share) for share in re.findall(r"(\d+)%", shown)]
    assert len(shares) > 2
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def test_the_bar_leaves_no_trace(shown):
    assert shown.endswith(ERASE)
    assert "\n" not in shown
    assert all(look == "" or look.startswith("halved-owen") for look in shown.split(ERASE))


def test_the_bar_fits_into_the_line(shown):
    # A line that is wrapped cannot be erased: every look would leave one behind.
    assert max(len(look) for look in shown.split(ERASE)) <= 80


def test_a_narrow_terminal_gets_a_narrow_bar():
    shown = on_a_terminal(SLOW.format(before="", settings=""), columns=50)
    assert "left" in shown
    assert max(len(look) for look in shown.split(ERASE)) <= 50


def test_silence_on_a_terminal_when_asked_for():
    assert on_a_terminal(SLOW.format(before="", settings=", progress=False")) == ""


def test_a_game_that_breaks_leaves_no_bar_behind():
    before = "calls = iter(range(9))\nok = fn\ndef fn(c):\n    next(calls)\n    return ok(c)\n"
    program = SLOW.format(before=before + "try:", settings="").replace(
        "\nowenshap.est", "\n    owenshap.est"
    )
    shown = on_a_terminal(program + "except owenshap.GameError: pass\n")
    assert "left" in shown
    assert shown.endswith(ERASE)


def test_nothing_is_written_where_stderr_is_no_terminal(capfd):
    estimate(smooth(), "castro", budget=5000)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_a_bar_can_be_asked_for_anywhere(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("owenshap.support.progress.EVERY", 0)
    monkeypatch.setattr("owenshap.support.progress.FIRST", 0)
    estimate(smooth(), "castro", budget=5000, progress=True)
    assert "left" in stream.getvalue()
    assert stream.getvalue().endswith(ERASE)


def test_a_program_without_stderr_is_silent(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert estimate(smooth(), "castro", budget=500).replicates > 1


@same_examples
@given(
    st.sampled_from(["auto", "exact", "castro", "owen", "halved-owen"]),
    st.integers(1, 8),
    st.integers(300, 3000),
    st.booleans(),
)
def test_a_callable_hears_how_far_it_is(method, n_players, budget, efficient):
    heard = []
    game = Watched(smooth(n_players))
    result = estimate(
        game,
        method,
        budget=budget,
        efficient=efficient,
        progress=lambda done, expected: heard.append((done, expected, game.evaluations)),
    )
    done = [each[0] for each in heard]
    assert len({expected for _, expected, _ in heard}) == 1
    expected = heard[0][1]
    assert done == sorted(done)
    assert done.count(expected) == 1
    assert done[-1] == expected
    assert result.evaluations <= expected <= budget
    assert all(said <= asked for said, _, asked in heard[:-1])


def test_a_bar_shows_nothing_of_a_short_run():
    stream = io.StringIO()
    bar = Bar("castro", stream)
    bar(10, 20)
    bar(20, 20)
    assert stream.getvalue() == ""


def test_which_meter(monkeypatch):
    assert meter(False, "castro") is silent
    assert meter(None, "castro") is silent
    assert isinstance(meter(True, "castro"), Bar)
    assert meter(print, "castro") is print
    assert silent(1, 2) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0:00"),
        (0.4, "0:00"),
        (7.2, "0:07"),
        (59.6, "1:00"),
        (60, "1:00"),
        (750, "12:30"),
        (3599.7, "1:00:00"),
        (3900, "1:05:00"),
        (360_000, "100:00:00"),
    ],
)
def test_clock(seconds, words):
    assert clock(seconds) == words
