"""Rows that hang, or end their process: marked, and the run goes on."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from run_checks import ROWS, SETTINGS, assert_same, explainer, finished
from run_models import Exits, Hangs, product

import owenshap
from owenshap.jobs.child import Child, EndedError, TimedOutError

FEW = ROWS[:12]
GOOD = np.setdiff1d(np.arange(12), [3])
BAD = ROWS["a"].iloc[[3]].tolist()


@pytest.mark.slow
def test_a_row_that_hangs_is_marked(tmp_path):
    with pytest.warns(UserWarning, match="1 of 12 rows"):
        run = finished(tmp_path, FEW, Hangs(BAD), timeout=0.5, part_rows=4)
    assert [each.row for each in run.errors] == [3]
    assert "timed out after 0.5 s" in run.errors[0].error
    assert_same(run.explanation(), explainer()(FEW.iloc[GOOD], **SETTINGS))
    mended = finished(tmp_path, FEW, retry=True, part_rows=4)
    assert_same(mended.explanation(), explainer()(FEW, **SETTINGS))


@pytest.mark.slow
def test_threads_have_a_process_each(tmp_path):
    with ThreadPoolExecutor(2) as executor, pytest.warns(UserWarning, match="1 of 12 rows"):
        run = finished(tmp_path, FEW, Hangs(BAD), timeout=0.5, part_rows=4, executor=executor)
    assert_same(run.explanation(), explainer()(FEW.iloc[GOOD], **SETTINGS))


@pytest.mark.slow
def test_a_first_row_that_hangs_is_no_reason_to_wait(tmp_path):
    model = Hangs(ROWS["a"].iloc[:1].tolist())
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        run = finished(tmp_path, ROWS[:4], model, timeout=0.5, part_rows=2)
    assert [each.row for each in run.errors] == [0]


@pytest.mark.slow
def test_a_row_that_ends_its_process_is_marked(tmp_path):
    with pytest.warns(UserWarning, match="1 of 12 rows"):
        run = finished(tmp_path, FEW, Exits(BAD, tmp_path, 1000), timeout=60, part_rows=4)
    assert "exit code -9" in run.errors[0].error
    assert_same(run.explanation(), explainer()(FEW.iloc[GOOD], **SETTINGS))


def test_a_child_does_one_thing_after_another_and_is_gone():
    child = Child()
    assert child.call(60, max, 3, 5) == 5
    process = child._process
    assert child.call(60, os.getpid) == process.pid != os.getpid()
    with pytest.raises(ZeroDivisionError):
        child.call(60, divmod, 1, 0)
    with pytest.raises(TimedOutError, match=r"after 0\.2 s"):
        child.call(0.2, time.sleep, 60)
    assert process.poll() == -9
    with pytest.raises(EndedError, match="exit code 7"):
        child.call(60, os._exit, 7)
    assert child.call(60, print, "not into the answers") is None
    child.close()
    assert child.close() is None


def test_what_cannot_travel_is_told(tmp_path):
    lock = __import__("threading").Lock()
    with pytest.raises(owenshap.InputError, match="picklable"):
        finished(tmp_path, model=lambda batch: product(batch) + (lock is None), timeout=9)
