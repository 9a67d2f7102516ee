"""Interactions of runs: those of a call, from the evaluations of values, and as sure on the disk."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from run_checks import ROWS, assert_same, explainer, finished
from run_models import Raises, product, two_outputs

import owenshap

SETTINGS = {"method": "auto", "budget": None, "interactions": True}
BAD = ROWS["a"].iloc[[3, 40, 41]].tolist()


def assert_same_pairs(one, other):
    """Bit for bit."""
    for each in fields(owenshap.Interactions):
        first, second = getattr(one, each.name), getattr(other, each.name)
        if isinstance(first, np.ndarray) and first.dtype.kind == "f":
            assert first.shape == second.shape, each.name
            assert first.tobytes() == second.tobytes(), each.name
        elif isinstance(first, np.ndarray):
            assert first.tolist() == second.tolist(), each.name
        else:
            assert first == second, each.name


@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
@pytest.mark.parametrize("model", [product, two_outputs])
def test_a_run_has_the_interactions_of_a_call(tmp_path, model, index):
    run = finished(tmp_path, model=model, index=index, **SETTINGS)
    wanted = explainer(model).interactions(ROWS, index=index, progress=False)
    assert_same_pairs(run.interactions(), wanted)
    for chosen in ([5, 2, 99], [-1], slice(28, 33)):
        assert_same_pairs(run.interactions(chosen), wanted[np.arange(100)[chosen]])
    values = explainer(model)(ROWS, index=index, progress=False)
    assert_same(run.explanation(), values, but=("because",))
    assert run.progress.evaluations == values.evaluations.sum()


def test_trees_and_processes_do_too(tmp_path):
    from sklearn.ensemble import HistGradientBoostingRegressor

    trees = HistGradientBoostingRegressor(max_iter=5).fit(ROWS, product(ROWS))
    run = finished(tmp_path, model=trees, **SETTINGS)
    assert_same_pairs(run.interactions(), explainer(trees).interactions(ROWS))
    assert run.progress.evaluations == 0
    table = run.scan(interactions=True).to_table()
    assert table.column("lower").null_count == len(table) == 100 * 15
    rows = np.random.default_rng(0).normal(size=(6, 12))
    made = owenshap.Explainer(smooth, rows[:3])
    asked = {"budget": 100, "progress": False}
    run = made.run(rows, tmp_path / "process", interactions=True, part_rows=4, **asked)
    assert_same_pairs(run.interactions(), made.interactions(rows, **asked))
    assert run.progress.evaluations == made(rows, **asked, index="banzhaf").evaluations.sum()
    assert (run.interactions().upper > run.interactions().lower).any()


def smooth(batch):
    return np.tanh(batch.sum(axis=1)) + batch[:, 0] * batch[:, 1]


@pytest.mark.parametrize("part_rows", [1, 7, 1000])
def test_parts_and_workers_change_nothing(tmp_path, part_rows):
    wanted = explainer().interactions(ROWS)
    with ProcessPoolExecutor(2) as executor:
        run = finished(tmp_path, executor=executor, part_rows=part_rows, **SETTINGS)
    assert_same_pairs(run.interactions(), wanted)
    parts = [*run.interaction_parts()]
    assert len(parts) == -(-100 // part_rows)
    assert np.concatenate([each.values for each in parts]).tobytes() == wanted.values.tobytes()


def test_a_line_has_the_whole_of_a_pair(tmp_path):
    run = finished(tmp_path, model=two_outputs, **SETTINGS)
    frame = run.scan(interactions=True).to_table().to_pandas()
    frame = frame[frame["row"] == 2].set_index(["first", "second", "output"])["value"]
    matrix = run.interactions([2]).values[0]
    assert frame["a", "b", "0"] == 2 * matrix[0, 1, 0]
    assert frame["c", "c", "0"] == matrix[2, 2, 0]
    assert len(frame) == 2 * 15
    prediction = run.explanation([2]).predictions - run.explanation([2]).base_values
    np.testing.assert_allclose(frame.groupby("output", observed=True).sum(), prediction[0])


def test_failed_rows_have_none_until_they_are_tried_again(tmp_path):
    with pytest.warns(UserWarning, match="3 of 100"):
        run = finished(tmp_path, model=Raises(BAD), **SETTINGS)
    kept = np.setdiff1d(np.arange(100), [3, 40, 41])
    assert_same_pairs(run.interactions(), explainer().interactions(ROWS.iloc[kept]))
    with pytest.raises(owenshap.InputError, match="such a row cannot be"):
        run.interactions([3])
    again = finished(tmp_path, retry=True, **SETTINGS)
    assert_same_pairs(again.interactions(), explainer().interactions(ROWS))


def stop(done, expected):
    if done >= 60:
        raise KeyboardInterrupt


def test_an_interrupted_run_goes_on(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        finished(tmp_path, progress=stop, **SETTINGS)
    half = owenshap.open_run(tmp_path / "run")
    assert len(half.interactions()) == 60
    with pytest.raises(owenshap.InputError, match="rows must be finished"):
        half.interactions([99])
    run = finished(tmp_path, **SETTINGS)
    assert_same_pairs(run.interactions(), explainer().interactions(ROWS))


@pytest.mark.parametrize("how", ["flipped", "lost", "never renamed"])
def test_damage_is_found_and_mended(tmp_path, how):
    run = finished(tmp_path, **SETTINGS)
    file = run.path / "interactions" / "part-0000002.parquet"
    if how == "flipped":
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    else:
        file.rename(file.with_name(".owenshap-0.tmp"))
        if how == "lost":
            file.with_name(".owenshap-0.tmp").unlink()
    with pytest.raises(owenshap.InputError, match="changed or lost"):
        run.interactions([61])
    assert_same_pairs(finished(tmp_path, **SETTINGS).interactions(), explainer().interactions(ROWS))
    assert not [*run.path.rglob("*.tmp")]


def test_what_cannot_be_is_told(tmp_path):
    run = finished(tmp_path)
    for ask in (run.interactions, lambda: run.scan(interactions=True)):
        with pytest.raises(owenshap.InputError, match="run must have interactions; got values"):
            ask()
    with pytest.raises(owenshap.InputError, match="interactions False there and True here"):
        finished(tmp_path, interactions=True, method="exact")
    with pytest.raises(owenshap.InputError, match="coalitions with their complements"):
        explainer().run(ROWS, tmp_path / "stars", interactions=True, method="castro", budget=100)
    assert not (tmp_path / "stars" / "manifest.json").exists()


def test_parts_stay_small_however_many_the_players():
    from owenshap.jobs.layout import pair_rows

    def rows(n_players, outputs=None):
        return pair_rows(SimpleNamespace(players=["x"] * n_players, outputs=outputs), 4096)

    assert [rows(n) for n in (5, 20, 100, 1000, 2000)] == [4096, 4096, 128, 2, 1]
    assert rows(100, ["y"] * 10) == 16
