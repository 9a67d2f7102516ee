"""Runs that are killed, starved and damaged, with real processes: no finished row is lost or
doubled, and in the end every bit is that of the undisturbed run.
"""

import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from run_checks import assert_same, explainer
from run_models import Hungry, Raises, Slow, product, rows_of

import owenshap

pytestmark = pytest.mark.slow
ROWS = rows_of(600)
SETTINGS = {"method": "halved-owen", "budget": 100, "progress": False, "part_rows": 5}
FORKED = multiprocessing.get_context("forkserver")


@pytest.fixture(scope="module", autouse=True)
def imported():
    FORKED.set_forkserver_preload(
        ["run_models", "run_checks", "pyarrow.parquet", "owenshap.jobs.explainer"]
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    run = explainer().run(ROWS, tmp_path_factory.mktemp("runs") / "undisturbed", **SETTINGS)
    return run.explanation()


def run_here(out, model=product, **settings):
    return explainer(model).run(ROWS, out, **{**SETTINGS, **settings})


def run_alone(out, model, workers, limit, settings):
    """What a process of its own does, in a session of its own with its workers."""
    os.setsid()
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if workers:
        with ProcessPoolExecutor(workers) as executor:
            run_here(out, model, executor=executor, **settings)
    else:
        run_here(out, model, **settings)


def begun(out, model=product, workers=0, limit=0, **settings):
    process = FORKED.Process(target=run_alone, args=(out, model, workers, limit, settings))
    process.start()
    return process


def killed(process):
    """End a process at once; one that has come to its end already stays as it is."""
    process.kill()
    process.join()


def end_session(process):
    """End workers that outlived it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


def done(out):
    """Rows that are finished; 0 before there is a run."""
    return owenshap.open_run(out).progress.done if (out / "manifest.json").exists() else 0


def assert_right(run, undisturbed):
    """All rows, each once, with their bits."""
    assert run.scan().to_table(columns=["row"]).column(0).to_pylist() == [*range(len(ROWS))]
    assert_same(run.explanation(), undisturbed)


@pytest.mark.parametrize(("workers", "kills"), [(0, 20), (2, 5)])
def test_killed_at_random_moments(tmp_path, undisturbed, workers, kills):
    out, moments = tmp_path / "run", random.Random(workers)
    before = 0
    for _ in range(kills):
        process = begun(out, workers=workers)
        wait_for((out / "manifest.json").exists)
        time.sleep(moments.uniform(0, 0.4))
        alive = process.is_alive()
        killed(process)
        end_session(process)
        assert alive or done(out) == len(ROWS)
        assert done(out) >= before
        before = done(out)
    assert_right(run_here(out), undisturbed)


def test_interactions_survive_kills(tmp_path):
    """Two files a part: a kill between them leaves a part that is made again."""
    settings = {"method": "exact", "budget": None, "interactions": True}
    wanted = run_here(tmp_path / "undisturbed", **settings)
    out, moments = tmp_path / "run", random.Random(5)
    for _ in range(5):
        before = done(out)
        process = begun(out, **settings)
        wait_for(lambda before=before: done(out) > before)
        time.sleep(moments.uniform(0, 0.05))
        killed(process)
        assert before < done(out) < len(ROWS), "it was not interrupted"
    run = run_here(out, **settings)
    assert_right(run, wanted.explanation())
    found, undisturbed = run.interactions(), wanted.interactions()
    for name in ("values", "lower", "upper", "standard_errors"):
        assert getattr(found, name).tobytes() == getattr(undisturbed, name).tobytes()
    lines = run.scan(interactions=True).to_table(columns=["row"]).column(0).to_numpy()
    assert np.bincount(lines).tolist() == [15] * len(ROWS)


def test_killed_while_the_first_files_are_written(tmp_path, undisturbed):
    moments = random.Random(1)
    for attempt in range(5):
        out = tmp_path / str(attempt)
        process = begun(out)
        wait_for(out.exists)
        time.sleep(moments.uniform(0, 0.02))
        killed(process)
    assert_right(run_here(out), undisturbed)


def test_workers_that_outlive_a_killed_run_do_not_hold_its_lock(tmp_path, undisturbed):
    out = tmp_path / "run"
    process = begun(out, workers=2)
    wait_for(lambda: done(out) > 0)
    killed(process)
    assert_right(run_here(out), undisturbed)
    end_session(process)


def test_a_second_process_is_refused_and_sees_how_far_the_first_is(tmp_path, undisturbed):
    out = tmp_path / "run"
    process = begun(out, Slow(0.01))
    wait_for(lambda: done(out) > 50)
    progress = owenshap.open_run(out).progress
    assert progress.running
    assert progress.rows_per_second > 0
    assert progress.seconds_left > 0
    with pytest.raises(owenshap.InputError, match=f"process {process.pid} .* works on"):
        run_here(out)
    process.join(120)
    assert process.exitcode == 0
    assert_right(owenshap.open_run(out), undisturbed)


@pytest.mark.parametrize("limit", [3_000, 12_000])
def test_files_that_may_not_grow(tmp_path, undisturbed, limit):
    """No part fits into the smaller limit; the journal grows past the larger."""
    out = tmp_path / "run"
    process = begun(out, limit=limit)
    process.join(120)
    assert process.exitcode == 1
    assert done(out) < len(ROWS)
    assert (done(out) > 0) == (limit > 3_000)
    assert not [*out.rglob("*.tmp")]
    assert_right(run_here(out), undisturbed)


def mounted(folder, options):
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return (
        shutil.which("mount")
        and not subprocess.run(command, capture_output=True, check=False).returncode
    )


def test_a_full_disk(tmp_path, undisturbed):
    disk = tmp_path / "disk"
    disk.mkdir()
    if not mounted(disk, "size=1m"):
        pytest.skip("a small tmpfs may not be mounted here; the limits above stand for it")
    try:
        with pytest.raises(owenshap.InputError, match=r"No space left.*call it again"):
            run_here(disk / "run")
        assert 0 < done(disk / "run") < len(ROWS)
        assert mounted(disk, "remount,size=50m")
        assert_right(run_here(disk / "run"), undisturbed)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_damaged_parts_are_made_again(tmp_path, undisturbed):
    out, places = tmp_path / "run", random.Random(2)
    run_here(out)
    parts = sorted((out / "parts").iterdir())
    for file in places.sample(parts, 10):
        content = bytearray(file.read_bytes())
        content[places.randrange(len(content))] ^= 1 << places.randrange(8)
        file.write_bytes(content)
    for file in places.sample(parts, 10):
        os.truncate(file, places.randrange(file.stat().st_size))
    assert_right(run_here(out), undisturbed)


def test_one_row_in_a_thousand_raises(tmp_path):
    rows = rows_of(3000)
    bad = [17, 1500, 2999]
    made = explainer(Raises(rows["a"].iloc[bad].tolist()))
    settings = {**SETTINGS, "budget": 30, "part_rows": 1024}
    shared = rows["a"].isin(rows["a"].iloc[bad]).to_numpy().nonzero()[0].tolist()
    with ProcessPoolExecutor(2) as executor, pytest.warns(UserWarning, match="of 3,000 rows"):
        run = made.run(rows, tmp_path / "run", executor=executor, **settings)
    assert [each.row for each in run.errors] == shared
    good = np.setdiff1d(np.arange(3000), shared)
    wanted = explainer()(rows.iloc[good], method="halved-owen", budget=30, progress=False)
    assert_same(run.explanation(), wanted)


def limited():
    """Less memory than the model takes for some rows."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + (1 << 30), resource.RLIM_INFINITY))


def test_a_worker_that_runs_out_of_memory(tmp_path, undisturbed):
    out, model = tmp_path / "run", Hungry(ROWS["a"].iloc[[400]].tolist(), 1 << 33)
    context = {"mp_context": FORKED, "initializer": limited}
    with (
        ProcessPoolExecutor(2, **context) as executor,
        pytest.raises(owenshap.GameError, match=r"MemoryError.*What is done is kept"),
    ):
        run_here(out, model, executor=executor)
    assert owenshap.open_run(out).errors == []
    assert_right(run_here(out), undisturbed)


def test_a_clock_that_jumps(tmp_path, undisturbed, monkeypatch):
    clock, out = random.Random(3), tmp_path / "run"
    monkeypatch.setattr(time, "time", lambda: clock.uniform(0, 4e9))

    def stop(done, expected):
        for file in (out / "parts").iterdir():
            os.utime(file, (moment := clock.uniform(0, 4e9), moment))
        if done == 300:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_here(out, progress=stop)
    assert owenshap.open_run(out).progress.rows_per_second > 0
    assert_right(run_here(out), undisturbed)


def test_workers_of_a_cluster_are_killed(tmp_path, undisturbed):
    """One by one, and then all at once; the nannies of the cluster start new ones."""
    distributed = pytest.importorskip("distributed")
    settings = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    out = tmp_path / "run"
    with (
        distributed.LocalCluster(n_workers=2, **settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        stop, kills = threading.Event(), []

        def kill():
            for count, rows in ((1, 40), (1, 120), (2, 200)):
                wait_for(lambda rows=rows: done(out) > rows or stop.is_set())
                processes = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
                for process in processes[:count]:
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                        kills.append(process)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            run = run_here(out, executor=client)
        finally:
            stop.set()
            killer.join()
    assert len(kills) >= 3
    assert_right(run, undisturbed)
