"""Whatever is wrong: one clear line, an exit code, and nothing overwritten."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pandas as pd
import pytest
from commands import NAMES, ROOT, command, process, table

import owenshap


def refused(*arguments, code=3):
    """A call that must be refused: what it says, in one line."""
    result = command("explain", *arguments)
    assert result.exit_code == code, result.output
    lines = result.output.strip().splitlines()
    assert len(lines) == 1, result.output
    assert lines[0].startswith("Error: ")
    return lines[0]


# tables


def test_mixed_types_are_named_with_their_cell(files, tmp_path):
    data = pd.read_csv(files / "data.csv").astype({"debt": object})
    data.loc[7, "debt"] = "much"
    data.to_csv(tmp_path / "mixed.csv", index=False)
    told = refused(
        files / "logistic.skops",
        tmp_path / "mixed.csv",
        *("--background", files / "training.csv", "--out", tmp_path / "out"),
    )
    assert "hold numbers in column 'debt'; got 'much' in row 7" in told


def test_missing_columns_are_named(files, tmp_path):
    data = pd.read_csv(files / "data.csv").rename(columns={"income": "incom"})
    data.to_csv(tmp_path / "data.csv", index=False)
    told = refused(files / "boosted.ubj", tmp_path / "data.csv", "--out", tmp_path / "out")
    assert "have the column 'income'" in told
    assert "Did you mean 'incom'" in told
    told = refused(
        files / "logistic.skops",
        files / "data.csv",
        *("--background", tmp_path / "data.csv", "--out", tmp_path / "out"),
    )
    assert told.startswith("Error: --background must have the column 'income'")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_no_rows(kind, files, tmp_path):
    empty = pd.read_csv(files / "data.csv")[:0]
    getattr(empty, f"to_{kind}")(tmp_path / f"none.{kind}", index=False)
    told = refused(files / "boosted.ubj", tmp_path / f"none.{kind}", "--out", tmp_path / "out")
    assert "at least one row" in told


def test_an_empty_file(files, tmp_path):
    (tmp_path / "empty.csv").touch()
    told = refused(files / "boosted.ubj", tmp_path / "empty.csv", "--out", tmp_path / "out")
    assert "Empty CSV file" in told


def test_a_name_that_is_there_twice(files, tmp_path):
    (tmp_path / "twice.csv").write_text("age,income,debt,age\n1,2,3,4\n")
    told = refused(files / "boosted.ubj", tmp_path / "twice.csv", "--out", tmp_path / "out")
    assert "each column once; got 'age' twice" in told


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_other_encodings(encoding, files, tmp_path):
    data = pd.read_csv(files / "data.csv").assign(customer="Zoë Müller")
    data.to_csv(tmp_path / "data.csv", index=False, encoding=encoding)
    asked = [files / "boosted.ubj", tmp_path / "data.csv", "--out", tmp_path / "out"]
    if encoding in ("cp1252", "latin-1"):
        assert "--encoding cp1252" in refused(*asked)
        asked += ["--encoding", encoding]
    result = command("explain", *asked)
    assert result.exit_code == 0, result.output
    written = pd.read_parquet(tmp_path / "out" / "explanation.parquet")
    assert {*written["customer"]} == {"Zoë Müller"}


def test_an_encoding_that_nobody_knows(files, tmp_path):
    told = refused(
        files / "boosted.ubj", files / "data.csv", "--encoding", "klingon", "--out", tmp_path / "o"
    )
    assert "klingon" in told


def test_semicolons_and_tabs_separate_too(files, tmp_path):
    data = pd.read_csv(files / "data.csv")
    for name, separator in (("a.csv", ";"), ("b.tsv", "\t")):
        data.to_csv(tmp_path / name, index=False, sep=separator)
        result = command(
            "explain", files / "boosted.ubj", tmp_path / name, "--out", tmp_path / name[0]
        )
        assert result.exit_code == 0, result.output


def test_commas_in_numbers_are_read_where_they_separate_nothing(files, tmp_path):
    data = pd.read_csv(files / "data.csv")
    values = []
    for place, decimal in enumerate(".,"):
        path = tmp_path / f"{place}.csv"
        data.to_csv(path, index=False, sep=";", decimal=decimal)
        out = tmp_path / f"out{place}"
        result = command("explain", files / "boosted.ubj", path, "--out", out)
        assert result.exit_code == 0, result.output
        values.append(owenshap.load(out / "explanation.npz").values)
    np.testing.assert_array_equal(*values)


def test_points_and_commas_in_one_file_are_told(files, tmp_path):
    data = pd.read_csv(files / "data.csv")
    data["debt"] = data["debt"].map(lambda each: str(each).replace(".", ","))
    data.to_csv(tmp_path / "both.csv", index=False, sep=";")
    told = refused(files / "boosted.ubj", tmp_path / "both.csv", "--out", tmp_path / "o")
    assert "have one sign for decimals" in told


def test_a_large_file_that_would_have_to_be_read_at_once_is_told(files, tmp_path, monkeypatch):
    monkeypatch.setattr("owenshap.command.table_files.USUAL_MEMORY", 100)
    pd.read_csv(files / "data.csv").to_csv(tmp_path / "a.csv", index=False, sep=";")
    told = refused(files / "boosted.ubj", tmp_path / "a.csv", "--out", tmp_path / "o")
    assert "save it as Parquet" in told


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_background_that_does_not_fit_into_memory_is_told(kind, files, tmp_path, monkeypatch):
    background = tmp_path / f"training.{kind}"
    training = pd.read_csv(files / "training.csv")
    training.to_csv(background, index=False) if kind == "csv" else training.to_parquet(background)
    monkeypatch.setattr("owenshap.command.table_files.USUAL_MEMORY", 100)
    told = refused(
        *(files / "boosted.ubj", files / "data.csv"),
        *("--background", background, "--out", tmp_path / "o"),
    )
    assert "--background must be a file that fits into memory" in told
    assert f"training.{kind} with" in told


@pytest.mark.slow
def test_ten_thousand_columns(tmp_path):
    import skops.io
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(6, 10_000)).round(2)).add_prefix("c")
    wide.to_csv(tmp_path / "wide.csv", index=False)
    skops.io.dump(Ridge().fit(wide, rng.normal(size=6)), tmp_path / "wide.skops")
    result = command(
        "explain", tmp_path / "wide.skops", tmp_path / "wide.csv", "--out", tmp_path / "out"
    )
    assert result.exit_code == 0, result.output
    assert owenshap.load(tmp_path / "out" / "explanation.npz").shape == (6, 10_000)
    told = refused(tmp_path / "wide.skops", tmp_path / "wide.csv", "--ids", "d")
    assert len(told) < 1000  # columns are not all listed


@pytest.mark.parametrize("rows", ["x", "5:3", "20", "-1", "", "sample:0", "1;2"])
def test_rows_that_are_none(rows, files, tmp_path):
    told = refused(
        files / "boosted.ubj", files / "data.csv", "--rows", rows, "--out", tmp_path / "o"
    )
    assert told.startswith("Error: --rows must be")


def test_a_table_of_another_kind(files, tmp_path):
    (tmp_path / "data.xlsx").write_bytes(b"PK")
    told = refused(files / "boosted.ubj", tmp_path / "data.xlsx", "--out", tmp_path / "out")
    assert "be a .csv or .parquet file" in told
    (tmp_path / "data.parquet").write_bytes(b"age,income\n1,2\n" * 100)
    refused(files / "boosted.ubj", tmp_path / "data.parquet", "--out", tmp_path / "out")
    told = refused(files / "boosted.ubj", tmp_path / "gone.csv", "--out", tmp_path / "out")
    assert "which is not there" in told


def test_groups_that_are_none(files, tmp_path):
    for text in ("money = [", 'money = "income"', "", 'money = ["incom"]', "[players.a]\nb = 1"):
        (tmp_path / "groups.toml").write_text(text)
        told = refused(
            files / "boosted.ubj",
            files / "data.csv",
            *("--players", tmp_path / "groups.toml", "--background", files / "training.csv"),
            *("--out", tmp_path / "out"),
        )
        assert "players must" in told


# models


def test_types_that_skops_does_not_know_must_be_trusted(files, tmp_path):
    import skops.io
    from sklearn.neural_network import MLPClassifier

    data = table(60)
    network = MLPClassifier((2,), max_iter=500, tol=1, random_state=0).fit(
        data[NAMES], data["late"]
    )
    skops.io.dump(network, tmp_path / "network.skops")
    asked = [tmp_path / "network.skops", files / "data.csv", "--rows", "0:2"]
    told = refused(*asked, "--out", tmp_path / "out")
    trusted = told.partition("repeat it with ")[2].removesuffix(".").split()
    assert trusted[0] == "--trust"
    result = command("explain", *asked, *trusted, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output


def test_a_zip_bomb_is_not_unpacked(files, tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * 2_000_000)
    told = refused(tmp_path / "bomb.skops", files / "data.csv", "--memory", "1MB")
    assert "unpack to at most 1,000,000 bytes" in told
    assert "--memory" in told


@pytest.mark.parametrize("name", ["model.onnx", "m.skops", "m.json", "m.ubj", "m.txt", "m.cbm"])
@pytest.mark.parametrize("content", [b"", b"hello\n", b"{}", b"\x80\x04K\x01.", bytes(1000)])
def test_files_that_are_no_models(name, content, files, tmp_path):
    (tmp_path / name).write_bytes(content)
    told = refused(tmp_path / name, files / "data.csv", "--out", tmp_path / "out")
    assert name in told


def test_a_pickle_by_another_name_is_told(files, tmp_path):
    (tmp_path / "model.bin").write_bytes(b"\x80\x04K\x01.")
    told = refused(tmp_path / "model.bin", files / "data.csv")
    assert "a pickle, which can run any program" in told


def test_models_that_are_not_there(files, tmp_path):
    assert "not there" in refused(tmp_path / "gone.onnx", files / "data.csv")
    assert "No module named 'gone'" in refused("gone:model", files / "data.csv")
    assert "a folder" in refused(tmp_path, files / "data.csv")


def test_a_model_that_raises(files, tmp_path, monkeypatch):
    monkeypatch.chdir(files)
    monkeypatch.syspath_prepend(str(files))
    ids = ["--ids", "customer", "--ids", "late", "--out", tmp_path / "out"]
    assert "not today" in refused("shop:fails", "data.csv", *ids, code=4)


def test_rows_that_fail_are_told_and_the_others_written(files, tmp_path, monkeypatch):
    (tmp_path / "picky.py").write_text(
        "def score(rows):\n"
        "    if (rows['age'] == 99).any():\n"
        "        raise ValueError('nobody is 99')\n"
        "    return rows['age'] * rows['debt']\n"
    )
    data = pd.read_csv(files / "data.csv")[NAMES]
    data.loc[3, "age"] = 99
    data.to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    background = ["--background", files / "training.csv"]
    result = command("explain", "picky:score", "data.csv", *background, "--out", "out")
    assert result.exit_code == 4, result.output
    assert "1 rows could not be explained, the first is row 3" in result.output
    assert len(owenshap.load(tmp_path / "out" / "explanation.npz")) == 19
    told = command("status", "out")
    assert "Row 3 failed" in told.output


# folders


def test_a_folder_with_other_things_is_left_alone(files, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").write_text("mine")
    asked = [files / "boosted.ubj", files / "data.csv", "--out", tmp_path / "out"]
    assert "be empty, or made by this command" in refused(*asked)
    assert (tmp_path / "out" / "report.html").read_text() == "mine"
    assert command("explain", *asked, "--force").exit_code == 0
    assert (tmp_path / "out" / "report.html").read_text() != "mine"


def test_another_run_is_not_written_over(files, tmp_path):
    asked = [files / "boosted.ubj", files / "data.csv", "--out", tmp_path / "out"]
    assert command("explain", *asked).exit_code == 0
    before = (tmp_path / "out" / "owenshap.json").read_bytes()
    told = refused(files / "light.txt", files / "data.csv", "--out", tmp_path / "out")
    assert "hold a run of the same" in told
    assert "--force" in told
    assert (tmp_path / "out" / "owenshap.json").read_bytes() == before
    assert command("explain", *asked).exit_code == 0  # the same may be asked again
    (tmp_path / "out" / "notes.txt").write_text("mine")
    forced = command("explain", files / "light.txt", *asked[1:], "--force")
    assert forced.exit_code == 0, forced.output
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_force_removes_no_folder_that_is_no_run(files, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("mine")
    told = refused(files / "boosted.ubj", files / "data.csv", "--out", tmp_path, "--force")
    assert "mine.txt" in told
    assert (tmp_path / "run" / "mine.txt").read_text() == "mine"


def test_folders_that_cannot_be_written(files, tmp_path):
    (tmp_path / "file").touch()
    told = refused(files / "boosted.ubj", files / "data.csv", "--out", tmp_path / "file")
    assert "--out must be a folder" in told
    told = refused(files / "boosted.ubj", files / "data.csv", "--out", "/proc/owenshap")
    assert "/proc/owenshap" in told


def test_a_report_is_not_written_over(files, tmp_path):
    asked = [files / "boosted.ubj", files / "data.csv", "--out", tmp_path / "out"]
    assert command("explain", *asked).exit_code == 0
    result = command("report", tmp_path / "out")
    assert result.exit_code == 3
    assert "be a new file" in result.output
    for source in ("out", "out/explanation.npz", "out/run"):
        page = tmp_path / f"{source.replace('/', '-')}.html"
        result = command("report", tmp_path / source, "--out", page)
        assert result.exit_code == 0, result.output
        assert b"SHA-256 of the model" in page.read_bytes()


@pytest.mark.parametrize(
    "manifest",
    ["", "[]", "{}", '{"format": 1}', '{"format": 1, "layout": {}, "rows": "x"}', "{" * 10_000],
)
def test_runs_that_are_broken(manifest, files, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text(manifest)
    (tmp_path / "owenshap.json").write_text(manifest)
    for arguments in (
        ["status", tmp_path],
        ["report", tmp_path / "run"],
        ["explain", files / "boosted.ubj", files / "data.csv", "--out", tmp_path],
        ["explain", files / "boosted.ubj", files / "data.csv", "--check", tmp_path],
    ):
        result = command(*arguments)
        assert result.exit_code == 3, result.output
        assert len(result.output.strip().splitlines()) == 1, result.output


@pytest.mark.slow
def test_ctrl_c_leaves_a_run_that_goes_on(files, tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\n\n\ndef score(rows):\n"
        "    time.sleep(2e-6 * len(rows))\n    return rows['age'] * rows['debt'] + rows['income'] ** 2\n"
    )
    arguments = ["slow:score", files / "data.csv", "--background", files / "training.csv"]
    arguments += ["--ids", "customer", "--ids", "late", "--method", "castro", "--budget", "2000"]
    arguments += ["--out", "out"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    started = subprocess.Popen(
        [sys.executable, "-m", "owenshap", "explain", *map(str, arguments)],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    journal = tmp_path / "out" / "run" / "journal.jsonl"
    deadline = time.monotonic() + 120
    while not journal.exists() and started.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    out, told = started.communicate(timeout=60)
    assert started.returncode == 130, told
    assert out == ""
    assert "rows are done and kept in out/run. The same command goes on from there." in told
    assert "Traceback" not in told
    before = owenshap.open_run(tmp_path / "out" / "run").progress
    assert 0 < before.done < before.rows
    status = process("status", "out", "--json", cwd=tmp_path)
    assert json.loads(status.stdout)["done"] == before.done
    finished = process("explain", *arguments, cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    after = owenshap.open_run(tmp_path / "out" / "run").progress
    assert after.done == 20
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.slow
def test_ctrl_c_before_the_seconds_are_over_keeps_what_rows_had_come_to(files, tmp_path):
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\n\n\ndef score(rows):\n"
        "    time.sleep(1e-5 * len(rows))\n"
        "    with open('calls', 'a') as file:\n        file.write('.')\n"
        "    return rows['age'] * rows['debt'] + rows['income'] ** 2\n"
    )
    arguments = ["slow:score", files / "data.csv", "--background", files / "training.csv"]
    arguments += ["--ids", "customer", "--ids", "late", "--method", "castro", "--seconds", "100"]
    started = subprocess.Popen(
        [sys.executable, "-m", "owenshap", "explain", *map(str, arguments), "--out", "out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    calls = tmp_path / "calls"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and started.poll() is None:
        if calls.exists() and calls.stat().st_size > 200:
            break
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    out, told = started.communicate(timeout=60)
    assert started.returncode == 130, told
    assert out == ""
    assert "20 of 20 rows, with the intervals that they had by then, are in out." in told
    assert "Traceback" not in told
    found = owenshap.load(tmp_path / "out" / "explanation.npz")
    assert found.shape == (20, 4)
    assert all(each.startswith("an interrupt") for each in found.stopped_by)
    table = pd.read_parquet(tmp_path / "out" / "explanation.parquet")
    assert table["customer"].tolist() == pd.read_csv(files / "data.csv")["customer"].tolist()
    assert (tmp_path / "out" / "report.html").exists()


# the command line


def test_wrong_options_are_told_by_the_command_line():
    assert command("explain").exit_code == 2
    assert command("explain", "a", "b", "--bugdet", "3").exit_code == 2
    assert command("frobnicate").exit_code == 2
    for option, value in (("budget", -3), ("seconds", 0), ("seed", -1)):
        result = command("explain", "a", "b", f"--{option}", value)
        assert result.exit_code == 2, option  # also where a model would need none of them
        assert f"Invalid value for '--{option}'" in result.output


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--method", "halfed-owen", "halved-owen"),
        ("--budget", "1", "budget"),
        ("--tolerance", "much", "tolerance"),
        ("--confidence", "2", "confidence"),
        ("--output", "green", "output must be"),
        ("--memory", "lots", "memory"),
        ("--check", "gone.npz", "not there"),
    ],
)
def test_settings_that_make_no_sense(option, value, words, files, tmp_path):
    told = refused(
        files / "vectors.skops", files / "data.csv", option, value, "--out", tmp_path / "out"
    )
    assert words in told
