"""Runs on disk in one process: what comes out, going on, and what is refused."""

import io
import json
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from run_checks import ROWS, SETTINGS, assert_same, explainer, finished
from run_models import OutOfMemory, Raises, background, product, two_outputs

import owenshap
from owenshap.explain.explanation import AXES_OF, Explanation
from owenshap.support.progress import Bar


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"method": "exact", "budget": None},
        {"method": "auto", "budget": None},
        {"tolerance": "20%", "budget": 2000},
        {"method": "owen-printed", "budget": 13000},
        {"background_draws": 1},
        {"budget": 200},
        {"method": "castro", "budget": 6},
        {"index": "banzhaf"},
        {"index": "Beta(4,1)", "method": "exact", "budget": None},
        {"index": ([0.25, 0.5], [0.5, 0.5]), "method": "auto", "budget": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("model", [product, two_outputs])
def test_a_run_gives_what_a_call_gives(tmp_path, model, settings):
    asked = {**SETTINGS, **settings}
    run = finished(tmp_path, model=model, **settings)
    assert_same(run.explanation(), explainer(model)(ROWS, **asked))


def test_trees_give_what_a_call_gives(tmp_path):
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(max_iter=5).fit(ROWS, product(ROWS))
    run = finished(tmp_path, model=model, method="auto", budget=None)
    assert_same(run.explanation(), explainer(model)(ROWS, progress=False))
    assert run.scan().to_table(columns=["lower:a"]).column(0).null_count == 100


def wide(batch):
    return np.tanh(batch.sum(axis=1)) + np.abs(batch[:, 0] * batch[:, 1])


@pytest.mark.parametrize("part_rows", [2, 6])
def test_processes_give_what_a_call_gives_under_any_index(tmp_path, part_rows):
    rows = np.random.default_rng(0).normal(size=(6, 12))
    made = owenshap.Explainer(wide, rows[:3])
    asked = {"index": "beta(4, 1)", "budget": 100, "progress": False}
    run = made.run(rows, tmp_path / "run", part_rows=part_rows, **asked)
    assert_same(run.explanation(), made(rows, **asked))
    assert run.manifest["settings"]["index"] == "beta(4, 1)"


def test_every_field_of_an_explanation_comes_back():
    """A new field of Explanation is either an array, which runs keep, or is told to `jobs`."""
    told = {
        "feature_names",
        "output_names",
        "method",
        "seed",
        "confidence",
        "axes",
        "unit",
        "index",
    }
    of_calls = {"kept"}  # a run keeps no evaluations
    assert {each.name for each in fields(Explanation)} == {*AXES_OF} | told | of_calls


@pytest.mark.parametrize("part_rows", [1, 7, 99, 100, 1000])
def test_parts_of_any_size_give_the_same_bits(tmp_path, part_rows):
    assert_same(
        finished(tmp_path, part_rows=part_rows).explanation(), explainer()(ROWS, **SETTINGS)
    )


def batches_matter(batch):
    return batch[:, 0] * batch[:, 1] + 1e-9 * len(batch)


def test_a_model_that_depends_on_its_batch_has_the_same_bits_for_larger_parts(tmp_path):
    """Of a multiple of 4,096 rows; others have other bits, which shows that it is seen."""
    rows = np.random.default_rng(0).normal(size=(9000, 2))
    made = owenshap.Explainer(batches_matter, baseline=0.0)

    def predictions(part_rows):
        settings = {"method": "exact", "progress": False, "part_rows": part_rows}
        run = made.run(rows, tmp_path / str(part_rows), **settings)
        return run.explanation().predictions.tobytes()

    assert predictions(4096) == predictions(8192) == predictions(3 * 4096)
    assert predictions(4096) != predictions(3000)


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_workers_give_the_same_bits(tmp_path, pool):
    with pool(2) as executor:
        run = finished(tmp_path, executor=executor, part_rows=7)
    assert_same(run.explanation(), explainer()(ROWS, **SETTINGS))
    assert sorted(each.name for each in run.path.iterdir()) == [
        "journal.jsonl",
        "lock",
        "manifest.json",
        "parts",
    ]


def kinds_of_rows(tmp_path):
    with_ids = ROWS.assign(id=[f"row {i}" for i in range(100)], day=np.arange(100))
    with_ids.to_parquet(tmp_path / "rows.parquet", row_group_size=13)
    with_ids.to_csv(tmp_path / "rows.csv", index=False)
    for kind in ("parquet", "csv"):
        folder = tmp_path / f"{kind} files"
        folder.mkdir()
        for place, start in enumerate((0, 40, 41, 90)):
            part = with_ids.iloc[start : [40, 41, 90, 100][place]]
            if kind == "csv":
                part.to_csv(folder / f"{place}.csv", index=False)
            else:
                part.to_parquet(folder / f"{place}.parquet", row_group_size=7)
    return {
        "pandas": with_ids,
        "parquet": tmp_path / "rows.parquet",
        "csv": str(tmp_path / "rows.csv"),
        "folder": tmp_path / "parquet files",
        "csv folder": tmp_path / "csv files",
    }


@pytest.mark.parametrize("kind", ["pandas", "parquet", "csv", "folder", "csv folder"])
def test_rows_come_from_frames_and_files_with_their_ids(tmp_path, kind):
    rows = kinds_of_rows(tmp_path)[kind]
    run = finished(tmp_path, rows, ids=["id", "day"])
    assert_same(run.explanation(), explainer()(ROWS, **SETTINGS))
    table = run.scan().to_table(columns=["row", "id", "day"])
    assert table.column("id").to_pylist() == [f"row {i}" for i in range(100)]
    assert table.column("day").to_pylist() == table.column("row").to_pylist() == [*range(100)]


def total(batch):
    return batch.sum(axis=1) ** 2 if isinstance(batch, np.ndarray) else batch.sum_horizontal() ** 2


def test_rows_are_what_the_model_takes(tmp_path):
    """Arrays and polars frames in memory, and files where the background is one of them."""
    numbers = ROWS.to_numpy()
    ROWS.to_parquet(tmp_path / "rows.parquet")
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    wanted = owenshap.Explainer(total, numbers[:3])(numbers, **SETTINGS)
    for place, rows in enumerate([numbers, tmp_path / "rows.parquet", tmp_path / "rows.csv"]):
        run = owenshap.Explainer(total, numbers[:3]).run(rows, tmp_path / str(place), **SETTINGS)
        assert_same(run.explanation(), wanted)
    frame = pl.DataFrame(ROWS)
    by_polars = owenshap.Explainer(total, frame[:3])
    wanted = by_polars(frame, **SETTINGS)
    for place, rows in enumerate([frame, tmp_path / "rows.parquet"]):
        run = by_polars.run(rows, tmp_path / f"polars {place}", **SETTINGS)
        assert_same(run.explanation(), wanted)
    run = by_polars.run(
        frame.with_columns(id=pl.lit("x")), tmp_path / "ids", ids=["id"], **SETTINGS
    )
    assert run.scan().to_table(columns=["id"]).column(0).to_pylist() == ["x"] * 100


def test_tensors_and_number_baselines(tmp_path):
    import torch

    network = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
    rows = torch.tensor(ROWS.to_numpy(np.float32))
    ROWS.to_parquet(tmp_path / "rows.parquet")
    made = owenshap.Explainer(network, rows[:4])
    for place, given in enumerate([rows, tmp_path / "rows.parquet"]):
        run = made.run(given, tmp_path / str(place), **SETTINGS)
        assert_same(run.explanation(), made(rows, **SETTINGS))
    by_number = owenshap.Explainer(product, baseline=0.0)
    run = by_number.run(tmp_path / "rows.parquet", tmp_path / "number", **SETTINGS)
    assert_same(run.explanation(), by_number(ROWS, **SETTINGS))


def test_mixed_data_and_groups_come_back(tmp_path):
    frame = ROWS.assign(
        colour=pd.Categorical(np.where(ROWS["a"] > 0, "red", "blue")),
        day=pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(100), "D"),
        count=np.arange(100),
        flag=ROWS["b"] > 0,
    )
    made = owenshap.Explainer(
        lambda batch: batch["a"] * (batch["colour"] == "red") + batch["count"] * batch["flag"],
        frame[:4],
        players={"both": ["a", "colour"]},
    )
    run = made.run(frame, tmp_path / "run", **SETTINGS)
    found, wanted = run.explanation(), made(frame, **SETTINGS)
    assert_same(found, wanted, but=("data",))
    assert found.data.tolist() == wanted.data.tolist()


def test_chosen_rows_come_in_their_order(tmp_path):
    run = finished(tmp_path)
    wanted = explainer()(ROWS, **SETTINGS)
    for chosen in ([5, 2, 99], [-1], slice(28, 33), np.array([3, 3, 1]), 64):
        rows = np.atleast_1d(np.arange(100)[chosen])
        assert_same(run.explanation(chosen), wanted[rows], but=("method",))
    for wrong in ([100], [0.5], [-101], [[1]]):
        with pytest.raises(owenshap.InputError, match="rows must be numbers of 100 rows"):
            run.explanation(wrong)


def test_the_manifest_says_what_the_run_is(tmp_path):
    run = finished(tmp_path, seed=3)
    manifest = json.loads((run.path / "manifest.json").read_text())
    assert manifest["settings"]["seed"] == 3
    assert manifest["version"] == {"owenshap": owenshap.__version__}
    assert manifest["plan"].startswith("halved-owen: ")
    assert manifest["rows"] == 100
    assert {"numpy", "python", "pyarrow"} <= {*manifest["made_with"]}
    assert run.progress.evaluations == explainer()(ROWS, **SETTINGS, seed=3).evaluations.sum()


def test_a_finished_run_is_not_made_again(tmp_path):
    finished(tmp_path)
    seen = []

    def counted(batch):
        seen.append(len(batch))
        return product(batch)

    again = finished(tmp_path, model=counted)
    assert sum(seen) <= 2  # the background, to know the model by
    assert_same(again.explanation(), explainer()(ROWS, **SETTINGS))


class Interrupt(KeyboardInterrupt):
    pass


def interrupted_after(parts):
    def stop(done, expected):
        if done >= 30 * parts:
            raise Interrupt

    return stop


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_an_interrupted_run_goes_on(tmp_path, parts):
    with pytest.raises(Interrupt):
        finished(tmp_path, progress=interrupted_after(parts))
    half = owenshap.open_run(tmp_path / "run")
    assert half.progress.done == 30 * parts
    assert not half.progress.running
    assert half.progress.seconds_left > 0
    assert_same(half.explanation(slice(30)), explainer()(ROWS[:30], **SETTINGS))
    with pytest.raises(owenshap.InputError, match="rows must be finished"):
        half.explanation([99])
    run = finished(tmp_path)
    assert run.progress.done == 100
    assert run.progress.seconds_left == 0
    assert_same(run.explanation(), explainer()(ROWS, **SETTINGS))


def test_what_auto_takes_is_settled_once(tmp_path, monkeypatch):
    """By a clock, before the first part; whoever goes on asks no clock."""
    rows = np.random.default_rng(0).normal(size=(4, 14))
    asked = {"part_rows": 1, "progress": False}

    def made():
        return owenshap.Explainer(lambda batch: batch[:, 0] * batch[:, 1], baseline=0.0)

    monkeypatch.setattr(owenshap.Explainer, "pace_of", lambda *_: {"model": 1.0})
    run = made().run(rows, tmp_path / "run", **asked)
    assert run.manifest["plan"].startswith("gaussian-process")
    for part in (1, 3):
        (run.path / "parts" / f"part-{part:07}.parquet").unlink()
    monkeypatch.delattr(owenshap.Explainer, "pace_of")
    again = made().run(rows, tmp_path / "run", **asked).explanation()
    assert {each.partition(":")[0] for each in again.because} == {again.method}
    assert again.method.startswith("gaussian-process")
    by_clock = made().run(rows, tmp_path / "another", **asked)
    assert by_clock.manifest["plan"].startswith("halved-owen")


def test_a_callable_sees_progress_and_another_process_can(tmp_path):
    seen = []

    def look(done, expected):
        progress = owenshap.open_run(tmp_path / "run").progress
        seen.append((done, expected, progress.done, progress.running))

    finished(tmp_path, progress=look)
    assert seen == [(each, 100, each, True) for each in (30, 60, 90, 100)]
    assert "rows/s" in str(owenshap.open_run(tmp_path / "run"))


class Recorded(Bar):
    """A bar that keeps what it is told."""

    def __init__(self):
        super().__init__("explaining", io.StringIO())
        self.shares = []

    def __call__(self, done, expected):
        self.shares.append(done / expected)
        super().__call__(done, expected)


@pytest.mark.parametrize("part_rows", [30, 100])
def test_a_bar_moves_inside_a_part(tmp_path, part_rows):
    bar = Recorded()
    finished(tmp_path, progress=bar, part_rows=part_rows)
    ends = [*np.arange(part_rows, 100, part_rows) / 100, 1]
    for start, end in zip([0, *ends], ends, strict=False):
        inside = [share for share in bar.shares if start < share < end - 1e-4]
        assert len(inside) >= 3, (start, end, bar.shares)
    assert (np.diff(bar.shares) >= 0).all()
    assert bar.shares[-1] == 1


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"budget": 100}, "budget 500 there and 100 here"),
        ({"seed": 1}, "seed 0 there and 1 here"),
        ({"index": "banzhaf"}, "index 'shapley' there and 'banzhaf' here"),
        ({"index": ([0.2, 0.8], [0.5, 0.5])}, "index not the same"),
        ({"method": "castro"}, "method 'halved-owen' there and 'castro' here"),
        ({"method": owenshap.HalvedOwen(levels=20)}, "method not the same"),
        ({"part_rows": 10}, "part_rows 30 there and 10 here"),
        ({"rows": ROWS.iloc[::-1]}, "the data's cells not the same"),
        ({"rows": ROWS[:50]}, "the data's rows 100 there and 50 here"),
        ({"model": lambda batch: product(batch) + 1e-3}, "the model's predictions not the same"),
    ],
    ids=lambda given: ", ".join(given) if isinstance(given, dict) else given,
)
def test_what_differs_is_refused_and_named(tmp_path, changed, what):
    finished(tmp_path)
    before = (tmp_path / "run" / "journal.jsonl").read_bytes()
    with pytest.raises(owenshap.InputError, match=what):
        finished(tmp_path, **changed)
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"background": background() + 1}, "the explainer's background not the same"),
        ({"background_weights": [1, 2]}, "the explainer's background not the same"),
        ({"players": {"p": ["a", "b"]}}, "the explainer's players not the same"),
        ({"output": lambda found: found * 2}, "the explainer's output"),
        ({"output_names": ["x"]}, "the explainer's output_names"),
    ],
    ids=lambda given: ", ".join(given) if isinstance(given, dict) else given,
)
def test_another_explainer_is_refused(tmp_path, changed, what):
    finished(tmp_path)
    other = owenshap.Explainer(product, **{"background": background(), **changed})
    with pytest.raises(owenshap.InputError, match=what):
        other.run(ROWS, tmp_path / "run", **SETTINGS)


def test_a_model_that_rounds_otherwise_is_the_same(tmp_path):
    """Loaded again, or on another machine."""
    with pytest.raises(Interrupt):
        finished(tmp_path, progress=interrupted_after(1))
    run = finished(tmp_path, model=lambda batch: product(batch) * (1 + 1e-12))
    assert run.progress.done == 100


BAD = ROWS["a"].iloc[[3, 40, 41, 42, 99]].tolist()


def test_rows_that_raise_are_marked_and_the_others_explained(tmp_path):
    with pytest.warns(UserWarning, match="5 of 100 rows could not be explained"):
        run = finished(tmp_path, ROWS.assign(id=[*"ab"] * 50), Raises(BAD), ids=["id"])
    assert [each.row for each in run.errors] == [3, 40, 41, 42, 99]
    assert [each.ids["id"] for each in run.errors] == [*"babab"]
    assert all("such a row cannot be" in each.error for each in run.errors)
    kept = np.setdiff1d(np.arange(100), [3, 40, 41, 42, 99])
    assert_same(run.explanation(), explainer()(ROWS.iloc[kept], **SETTINGS))
    with pytest.raises(owenshap.InputError, match="such a row cannot be"):
        run.explanation([2, 3])
    failed = run.scan().to_table(filter=~pa.compute.field("error").is_null()).to_pandas()
    assert failed.filter(regex="^(value|lower|data)").isna().all().all()


def test_failed_rows_are_tried_again_only_where_asked(tmp_path):
    with pytest.warns(UserWarning, match="5 of 100"):
        finished(tmp_path, model=Raises(BAD))
    with pytest.warns(UserWarning, match="5 of 100"):
        finished(tmp_path)  # the model is mended, but nobody asks
    with pytest.warns(UserWarning, match="1 of 100"):
        finished(tmp_path, model=Raises(BAD[:1]), retry=True)
    run = finished(tmp_path, retry=True)
    assert run.errors == []
    assert_same(run.explanation(), explainer()(ROWS, **SETTINGS))


def test_a_first_row_that_raises_is_no_reason_to_give_up(tmp_path):
    with pytest.warns(UserWarning, match="2 of 100"):
        run = finished(tmp_path, model=Raises(ROWS["a"].iloc[:2].tolist()))
    assert_same(run.explanation(slice(2, None)), explainer()(ROWS.iloc[2:], **SETTINGS))
    with pytest.raises(owenshap.ModelError, match="such a row"):
        explainer(Raises(ROWS["a"].tolist())).run(ROWS, tmp_path / "all", **SETTINGS)
    assert not (tmp_path / "all" / "manifest.json").exists()


def test_a_setting_that_does_for_some_rows_only_ends_the_run(tmp_path):
    """No row is to blame for it: the first has 4 live players, the second 5."""
    with pytest.raises(owenshap.InputError, match="budget must be at least 12014"):
        finished(tmp_path, method="owen-printed", budget=11000)


def test_a_worker_without_memory_is_no_fault_of_a_row(tmp_path):
    mark = [ROWS["a"].iloc[80]]
    with ProcessPoolExecutor(2) as executor:
        run = finished(tmp_path, model=OutOfMemory(mark, tmp_path, 2), executor=executor)
    assert run.errors == []
    assert_same(run.explanation(), explainer()(ROWS, **SETTINGS))
    with ThreadPoolExecutor(2) as executor, pytest.raises(owenshap.GameError, match="MemoryError"):
        explainer(OutOfMemory(mark, tmp_path, 9)).run(
            ROWS, tmp_path / "again", executor=executor, part_rows=30, **SETTINGS
        )
    run = explainer().run(ROWS, tmp_path / "again", **SETTINGS)
    assert_same(run.explanation(), explainer()(ROWS, **SETTINGS))


def test_a_model_that_cannot_travel_is_told(tmp_path):
    lock = __import__("threading").Lock()
    with (
        ProcessPoolExecutor(1) as executor,
        pytest.raises(owenshap.InputError, match="picklable"),
    ):
        finished(tmp_path, model=lambda batch: product(batch) + (lock is None), executor=executor)


def damaged(file, how):
    content = bytearray(file.read_bytes())
    if how == "flipped":
        content[len(content) // 2] ^= 1
    file.write_bytes(content[: len(content) // 2] if how == "cut" else content)


@pytest.mark.parametrize("how", ["flipped", "cut", "lost"])
@pytest.mark.parametrize("what", ["part", "journal"])
def test_damage_is_found_and_mended(tmp_path, what, how):
    run = finished(tmp_path)
    file = run.path / ("parts/part-0000002.parquet" if what == "part" else "journal.jsonl")
    if how == "lost":
        file.unlink()
    else:
        damaged(file, how)
    if what == "part":
        with pytest.raises(owenshap.InputError, match="changed or lost"):
            owenshap.open_run(run.path).explanation([61])
    assert_same(finished(tmp_path).explanation(), explainer()(ROWS, **SETTINGS))
    assert owenshap.open_run(run.path).progress.done == 100


def test_what_a_kill_leaves_behind_is_taken_away(tmp_path):
    run = finished(tmp_path)
    (run.path / "parts" / ".owenshap-0.tmp").write_bytes(b"half a part")
    with open(run.path / "journal.jsonl", "ab") as journal:
        journal.write(b'{"part": 7, "ro')
    assert_same(finished(tmp_path).explanation(), explainer()(ROWS, **SETTINGS))
    assert not [*run.path.rglob("*.tmp")]
    assert (run.path / "journal.jsonl").read_bytes().endswith(b"\n")


def test_a_second_run_in_the_folder_is_refused(tmp_path):
    def again(done, expected):
        with pytest.raises(owenshap.InputError, match="works on"):
            finished(tmp_path)

    run = finished(tmp_path, progress=again)
    assert not run.progress.running


def test_folders_that_are_not_for_runs_are_left_alone(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("precious")
    with pytest.raises(owenshap.InputError, match=r"empty, or the folder of a run.*thesis.tex"):
        finished(tmp_path)
    assert [each.name for each in (tmp_path / "run").iterdir()] == ["thesis.tex"]
    (tmp_path / "file").write_text("")
    with pytest.raises(owenshap.InputError, match="out must be a folder"):
        explainer().run(ROWS, tmp_path / "file", **SETTINGS)
    with pytest.raises(owenshap.InputError, match="path must be the folder of a run"):
        owenshap.open_run(tmp_path / "nowhere")
    with pytest.raises(owenshap.InputError, match="path must be the folder of a run"):
        owenshap.open_run(tmp_path)


def test_an_unwritable_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(owenshap.InputError, match="out must be a folder that can be written"):
        explainer().run(ROWS, tmp_path / "file" / "below", **SETTINGS)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_right_to_write_is_told(tmp_path):
    (tmp_path / "run").mkdir(mode=0o500)
    with pytest.raises(owenshap.InputError, match="out must be a folder that can be written"):
        finished(tmp_path)


def test_a_run_of_a_newer_version_is_refused(tmp_path):
    run = finished(tmp_path)
    manifest = run.path / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 2}))
    for ask in (lambda: finished(tmp_path), lambda: owenshap.open_run(run.path)):
        with pytest.raises(owenshap.InputError, match=r"format 2\. Update owenshap"):
            ask()
    manifest.write_text(manifest.read_text()[:50])
    for ask in (lambda: finished(tmp_path), lambda: owenshap.open_run(run.path)):
        with pytest.raises(owenshap.InputError, match="hold a manifest that can be read"):
            ask()


def bad_files(folder):
    folder.mkdir()
    good = ROWS[:10]
    good.to_csv(folder / "good.csv", index=False)
    text = (folder / "good.csv").read_text()
    (folder / "empty.csv").write_text("")
    (folder / "ragged.csv").write_text(text + "1,2,3\n")
    (folder / "words.csv").write_text(text + "1,2,three,4,5\n")
    good.drop(columns="c").to_csv(folder / "fewer.csv", index=False)
    good.assign(f=1).to_csv(folder / "more.csv", index=False)
    (folder / "empty.parquet").write_bytes(b"")
    good.to_parquet(folder / "cut.parquet")
    damaged(folder / "cut.parquet", "cut")
    good[:0].to_parquet(folder / "no rows.parquet")
    (folder / "rows.xlsx").write_bytes(b"PK")
    (folder / "nothing").mkdir()
    for name, files in {
        "columns": ["good.csv", "fewer.csv"],
        "kinds": ["good.csv", "cut.parquet"],
    }.items():
        (folder / name).mkdir()
        for place, file in enumerate(files):
            (folder / name / f"{place}{file}").write_bytes((folder / file).read_bytes())
    return folder


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("empty.csv", "X must be CSV files that can be read; got .*empty.csv"),
        ("ragged.csv", "X must be CSV files that can be read; got .*ragged.csv .*columns"),
        ("words.csv", "X must be CSV files that can be read; got .*words.csv .*three"),
        ("fewer.csv", "have the background's columns; got no c"),
        ("more.csv", "have the background's columns; got also f"),
        ("empty.parquet", "X must be Parquet files that can be read; got .*empty.parquet"),
        ("cut.parquet", "X must be Parquet files that can be read; got .*cut.parquet"),
        ("no rows.parquet", "X must have at least one row"),
        ("rows.xlsx", "X must be Parquet or CSV files"),
        ("nothing", "X must be a folder with files of rows"),
        ("nowhere.csv", "X must be rows, or the path of rows; got .*nowhere.csv"),
        ("columns", "X must be files with the columns of 0good.csv; got 1fewer.csv without 'c'"),
        ("kinds", "X must be Parquet or CSV files"),
    ],
)
def test_bad_files_are_told_and_nothing_is_begun(tmp_path, file, what):
    with pytest.raises(owenshap.InputError, match=what):
        finished(tmp_path, bad_files(tmp_path / "files") / file)
    assert not (tmp_path / "run" / "manifest.json").exists()
    assert finished(tmp_path).progress.done == 100


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"ids": ["z"]}, "ids must be columns of X; got z"),
        ({"ids": "id"}, "ids must be a list of names"),
        ({"part_rows": 0}, "part_rows must be at least 1"),
        ({"timeout": 0}, "timeout must be seconds above 0"),
        ({"executor": 3}, "executor must have a method submit"),
        ({"method": "castor"}, "method must be one of"),
        ({"budget": 1}, "budget must be at least 2"),
        ({"index": "core"}, "index must be 'shapley', 'banzhaf'"),
        ({"rows": ROWS[:0]}, "X must have at least one row"),
        ({"rows": ROWS.assign(row=1), "ids": ["row"]}, "not be called as a column of results"),
    ],
    ids=str,
)
def test_bad_settings_are_told_and_nothing_is_begun(tmp_path, settings, what):
    with pytest.raises(owenshap.InputError, match=what):
        finished(tmp_path, **settings)
    assert not (tmp_path / "run" / "manifest.json").exists()


def test_ids_need_names(tmp_path):
    with pytest.raises(owenshap.InputError, match="ids must be None for rows without names"):
        owenshap.Explainer(total, baseline=0.0).run(ROWS.to_numpy(), tmp_path / "run", ids=["a"])


def test_a_run_takes_what_a_call_takes():
    import inspect

    call = inspect.signature(owenshap.Explainer.__call__).parameters
    run = inspect.signature(owenshap.Explainer.run).parameters
    alone = {"seconds", "total_budget"}  # of all rows together, which a run never has at once
    alone |= {"keep"}  # for explanations in memory
    assert {*call} - {*run} == alone
    assert all(run[name].default == call[name].default for name in {*call} & {*run})
    assert all(
        each.kind is each.KEYWORD_ONLY
        for name, each in run.items()
        if name not in ("self", "X", "out")
    )


def test_parts_follow_the_time_of_a_row_and_the_workers():
    from owenshap.jobs.manifest import _part_rows

    assert _part_rows(1e-6, 10**6, 3, 1) == 65536
    assert _part_rows(1e-6, 10**6, 3, 2) == 65536
    assert _part_rows(1e-6, 10**5, 3, 4) == 4096
    assert _part_rows(1e-3, 10**6, 3, 1) == 8192
    assert _part_rows(0.5, 10**6, 3, 1) == 16
    assert _part_rows(1e3, 10**6, 3, 1) == 1


def test_large_frames_are_read_a_piece_at_a_time(tmp_path):
    """Row groups without a wanted row are not read."""
    from owenshap.jobs.sources import FileSource

    pq.write_table(
        pa.table({"a": np.arange(1000.0)}), tmp_path / "rows.parquet", row_group_size=100
    )
    source = FileSource(tmp_path / "rows.parquet", [], np.zeros((1, 1)))
    chunks = [*source.chunks([40, 500, 980], 40)]
    assert [each.first for each in chunks] == [40, 500, 980]
    assert [each.rows[:, 0].tolist() for each in chunks] == [
        [*range(40, 80)],
        [*range(500, 540)],
        [*range(980, 1000)],
    ]


SEATS = np.random.default_rng(2).integers(1, 10, 12)


def votes_or_not(batch):
    """A vote where a cell is 1, which few pairs cannot tell; else smooth."""
    votes = (batch @ SEATS > SEATS.sum() / 2) + 3 * (batch.sum(axis=1) > 6)
    return np.where(batch.max(axis=1) == 1, votes, np.tanh(batch @ np.linspace(-0.4, 0.6, 12)))


@pytest.mark.parametrize(
    ("method", "budget"), [("gaussian-process", 60), ("gaussian-process-corrected", 108)]
)
def test_what_is_said_of_a_row_depends_on_no_other(tmp_path, method, budget):
    rows = np.full((5, 12), 0.5)
    rows[[1, 2]] = 1.0
    made = owenshap.Explainer(votes_or_not, baseline=0.0)
    asked = {"method": method, "budget": budget, "progress": False}
    said = [made(rows, **asked).because.tolist()]
    for part_rows in (1, 2, 5):
        run = made.run(rows, tmp_path / str(part_rows), part_rows=part_rows, **asked)
        said.append(run.explanation().because.tolist())
    assert said == [said[0]] * 4
    assert ["values are those of equal" in each for each in said[0]] == [False, True, True] + [
        False
    ] * 2
    assert "outputs" not in said[0][1]


def test_a_column_that_is_no_feature_is_told_before_anything_is_made(tmp_path):
    table = ROWS.assign(customer=range(100))
    table.to_csv(tmp_path / "rows.csv", index=False)
    told = r"got also customer. Name columns that are no features: ids=\['customer'\]"
    for rows in (table, tmp_path / "rows.csv"):
        with pytest.raises(owenshap.InputError, match=told):
            explainer().run(rows, tmp_path / "run", **SETTINGS)
    with pytest.raises(owenshap.InputError, match=r"which is not there. Mind its spelling"):
        explainer().run(tmp_path / "rows.scv", tmp_path / "run", **SETTINGS)
    assert not (tmp_path / "run").exists()
