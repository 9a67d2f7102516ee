"""Arrays in files: an old file stays until the new one is there in full, and a file cannot ask for
more than it may.
"""

import os
import stat
import subprocess
import sys
import threading
import tracemalloc
import zipfile

import numpy as np
import pytest

from owenshap.support.archive import packed_arrays, replacing, write_arrays

OLD = {"numbers": np.arange(5.0)}
POSIX = pytest.mark.skipif(os.name != "posix", reason="pipes, limits and signals of POSIX")


def read(path):
    with zipfile.ZipFile(path) as archive:
        return {name: packed.unpacked() for name, packed in packed_arrays(archive).items()}


def names_in(folder):
    return sorted(os.listdir(folder))


@pytest.fixture
def old(tmp_path):
    """A file that is there already."""
    write_arrays(tmp_path / "old.npz", OLD)
    return tmp_path / "old.npz"


def test_a_file_takes_the_place_of_another(old):
    for count in (10, 3):
        write_arrays(old, {"numbers": np.ones(count), "more": np.zeros((2, 0))})
        found = read(old)
        np.testing.assert_array_equal(found["numbers"], np.ones(count))
        assert found["more"].shape == (2, 0)
    assert names_in(old.parent) == ["old.npz"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("name", ["old.npz", "new.npz"])
def test_a_write_that_fails_half_way_changes_nothing(old, name, error):
    def write_half():
        with replacing(old.parent / name) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert names_in(old.parent) == ["old.npz"]
    np.testing.assert_array_equal(read(old)["numbers"], OLD["numbers"])


@POSIX
def test_a_disk_without_room_changes_nothing(old):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    noise = np.random.default_rng(0).normal(size=100_000)
    # no file of this process can grow past it
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_arrays(old, {"numbers": noise})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names_in(old.parent) == ["old.npz"]
    np.testing.assert_array_equal(read(old)["numbers"], OLD["numbers"])


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_arrays(tmp_path / "nowhere" / "e.npz", OLD)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(OSError, match=r"directory|Permission"):
        write_arrays(tmp_path, OLD)
    assert names_in(tmp_path) == []


@POSIX
def test_a_link_stays_a_link(old):
    link = old.parent / "link.npz"
    link.symlink_to(old)
    write_arrays(link, {"numbers": np.ones(2)})
    assert link.is_symlink()
    assert len(read(old)["numbers"]) == 2


@POSIX
def test_what_is_no_plain_file_is_written_to_and_not_replaced(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_arrays(pipe, OLD)
    reader.join(10)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    (tmp_path / "copy.npz").write_bytes(got[0])
    np.testing.assert_array_equal(read(tmp_path / "copy.npz")["numbers"], OLD["numbers"])


@POSIX
def test_who_may_read_it_stays_as_it_was(old):
    mask = os.umask(0o027)
    try:
        write_arrays(old.parent / "new.npz", OLD)
    finally:
        os.umask(mask)
    assert stat.S_IMODE((old.parent / "new.npz").stat().st_mode) == 0o640
    old.chmod(0o604)
    write_arrays(old, OLD)
    assert stat.S_IMODE(old.stat().st_mode) == 0o604


KILLING = """
import os, random, signal, sys, time
import numpy as np
import owenshap

rows = np.random.default_rng(0).normal(size=(2000, 20))
explainer = owenshap.Explainer(lambda batch: batch.sum(axis=1) ** 2, baseline=0.0)
explanations = [explainer(rows[:count], method="castro", budget=40) for count in (2000, 1500)]
path, tries, rng, landed = sys.argv[1], int(sys.argv[2]), random.Random(0), 0
explanations[0].save(path)
started = time.perf_counter()
explanations[0].save(path)
took = time.perf_counter() - started
for _ in range(tries):
    child = os.fork()
    if child == 0:
        while True:
            for explanation in explanations:
                explanation.save(path)
    time.sleep(rng.uniform(0, 2.5 * took))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = owenshap.load(path)  # an error where anything is lost
    whole = explanations[0 if len(found) == 2000 else 1]
    assert np.array_equal(found.values, whole.values)
    landed += whole is explanations[1]
print("new", landed, "beside", len(os.listdir(os.path.dirname(path))) - 1)
"""


@pytest.mark.slow
@POSIX
def test_a_killed_process_leaves_the_old_file_or_the_new_one(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", KILLING, str(tmp_path / "e.npz"), "200"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    new, beside = (int(count) for count in run.stdout.split()[1::2])
    assert 10 < new < 190  # it was killed before and after a file had taken the other's place
    assert beside > 100  # and most times while one was written


def refused(path, match):
    """The file is refused, and nothing near its size is unpacked."""
    tracemalloc.start()
    try:
        with pytest.raises(Exception, match=match):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_an_array_has_as_many_bytes_as_it_says(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("values.npy", npy("(5, 3)", 16_000_000))
    refused(tmp_path / "a.npz", "not as many bytes")


def test_a_directory_that_lies_about_a_size_is_no_way_in(tmp_path):
    """The directory says 120 bytes of numbers, the stream holds 16 MB."""
    header = len(npy("(5, 3)", 0))
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("values.npy", npy("(5, 3)", 16_000_000))
    content = (tmp_path / "a.npz").read_bytes()
    said = (header + 16_000_000).to_bytes(4, "little")
    assert content.count(said) == 2
    (tmp_path / "a.npz").write_bytes(content.replace(said, (header + 120).to_bytes(4, "little")))
    refused(tmp_path / "a.npz", "Bad CRC-32")


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packings_that_unpack_without_bounds_are_refused(packing, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", packing) as file:
        file.writestr("values.npy", npy("(2000000,)", 16_000_000))
    refused(tmp_path / "a.npz", "numpy does not write")


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", "no array of numbers"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n", "no array of numbers"),
        (
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 99999999999999999999), }\n",
            "not as many bytes",
        ),
        (
            "{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }\n",
            "data type '<f3' not understood",
        ),
        (
            "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }\n",
            "no array of numbers",
        ),
        ("__import__('os').abort()\n", "no array of numbers"),
        ("", "no array of numbers"),
    ],
)
def test_other_headers_are_refused(header, reason, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr(
            "values.npy",
            b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(8),
        )
    refused(tmp_path / "a.npz", reason)


def test_one_name_twice_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("values.npy", npy("(1,)", 8))
        file.writestr("values", npy("(1,)", 8))
    refused(tmp_path / "a.npz", "two arrays of one name")


def npy(shape, size):
    """An array of zeros as numpy writes it, with a shape that may not be its own."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(size)
