"""What the coverage benchmark keeps, and what makes it measure anew."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.coverage import __main__ as coverage
from benchmarks.coverage import measure

KEY = ("fixed", "skewed product, 8", "halved-owen", 30)


@pytest.fixture(scope="module")
def probe():
    return measure.probe(KEY)


def restored(tmp_path, parts=(), stored=()):
    kept = coverage.Kept(tmp_path, again=False)
    for part in parts:
        kept.keep(part)
    with ThreadPoolExecutor(1) as pool:
        return coverage.restored([coverage.Cell(KEY, 10)], kept, list(stored), pool)[0]


def part(first, probe):
    found = {"given": 1, "held by player": [1.0], "most replicates": 30}
    return {"key": KEY, "first": first, "runs": 2, "seconds": 1.0, "found": found, "probe": probe}


def test_a_probe_is_the_same_twice_and_differs_between_cells(probe):
    assert measure.probe(KEY) == probe
    assert measure.probe(("fixed", "skewed product, 8", "halved-owen", 100)) != probe


def test_parts_count_where_the_probe_agrees_and_they_follow_each_other(tmp_path, probe):
    cell = restored(tmp_path, [part(0, probe), part(2, probe), part(6, probe)])
    assert (cell.done, cell.sums["given"], cell.seconds) == (4, 2, 2.0)


def test_parts_of_code_that_gave_something_else_do_not_count(tmp_path, probe):
    assert restored(tmp_path, [part(0, "other"), part(0, probe)]).done == 2


def test_stored_sums_are_gone_on_with(tmp_path, probe):
    sums = {"given": 3, "held by player": [3.0], "most replicates": 30}
    stored = {"cell": list(KEY), "probe": probe, "runs": 2, "seconds": 5.0, "sums": sums}
    cell = restored(tmp_path, [part(2, probe)], [stored])
    assert (cell.done, cell.sums["given"], cell.asked) == (4, 4, 4)
    assert restored(tmp_path / "other", [], [stored | {"probe": "other"}]).done == 0


def test_a_stored_result_without_sums_stands_as_it_is(tmp_path, probe):
    stored = {"cell": list(KEY), "probe": probe, "runs": 8, "seconds": 5.0, "coverage": 0.95}
    cell = restored(tmp_path, [part(8, probe)], [stored])
    assert (cell.done, cell.asked, cell.stored["coverage"]) == (8, 10, 0.95)


def test_changed_cells_are_named(probe, capsys):
    same = {"cell": list(KEY), "probe": probe}
    with ThreadPoolExecutor(1) as pool:
        assert coverage.check({"cells": [same]}, pool) == 0
        assert coverage.check({"cells": [same, same | {"probe": "other"}]}, pool) == 1
    assert "changed: fixed skewed product, 8" in capsys.readouterr().out
