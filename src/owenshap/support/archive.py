"""Arrays in a zip as numpy writes them (npz): written whole or not at all, read within bounds."""

from __future__ import annotations

import io
import os
import re
import shutil
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x93NUMPY\x01\x00"  # an array as numpy writes it, version 1.0
HEADER = re.compile(
    rb"{'descr': '(?P<dtype>[<>|][biuf]\d+)', 'fortran_order': (?P<by_column>True|False), "
    rb"'shape': \((?P<shape>[\d, ]*)\), } *\n"
)
"""Read by its form, not evaluated: other dtypes than numbers, objects above all, do not match."""
SUFFIX = ".npy"
PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # zipfile unpacks only these two within bounds


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of the one at `path`, once all of it is on the disk.

    Whatever happens before that leaves the old file as it is.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:  # a pipe or a device, which nothing may take the place of
            yield file
        return
    if os.path.exists(target):
        open(target, "r+b").close()  # an error where it may not be written
    beside = os.path.join(os.path.dirname(target), f".owenshap-{uuid.uuid4().hex}.tmp")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.remove(beside)
        raise


def write_arrays(path: str | PathLike[str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """All arrays into one file."""
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Packed:
    """An array that is still packed: what it says of itself, which is all that is known of it."""

    archive: zipfile.ZipFile
    info: zipfile.ZipInfo
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    by_column: bool
    start: int
    """Where its numbers begin."""

    @property
    def nbytes(self) -> int:
        """Bytes of its numbers."""
        return self.info.file_size - self.start

    def unpacked(self) -> NDArray[Any]:
        """The array; zipfile checks its sum at the end."""
        unpacked = io.BytesIO()
        with self.archive.open(self.info) as file:
            file.read(self.start)
            shutil.copyfileobj(file, unpacked)  # a buffer at a time
        content = np.frombuffer(unpacked.getbuffer(), np.uint8)
        if len(content) < self.nbytes:
            raise ValueError(f"{self.info.filename} is shorter than it says")
        if self.dtype.kind == "b" and content.max(initial=0) > 1:
            raise ValueError(f"{self.info.filename} has truth values that are neither")
        array = content.view(self.dtype).reshape(self.shape, order="F" if self.by_column else "C")
        return array.astype(self.dtype.newbyteorder("="), copy=False)


def packed_arrays(archive: zipfile.ZipFile) -> dict[str, Packed]:
    """The arrays of an archive by name; nothing but their first lines is unpacked."""
    members = archive.infolist()
    arrays = {info.filename.removesuffix(SUFFIX): _packed(archive, info) for info in members}
    if len(arrays) < len(members):
        raise ValueError("two arrays of one name")
    return arrays


def _packed(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Packed:
    if info.compress_type not in PLAIN:
        raise ValueError(f"{info.filename} is packed in a way that numpy does not write")
    with archive.open(info) as file:
        start = file.read(len(MAGIC) + 2)
        length = int.from_bytes(start[len(MAGIC) :], "little")
        header = HEADER.fullmatch(file.read(length))
    if not start.startswith(MAGIC) or header is None:
        raise ValueError(f"{info.filename} is no array of numbers")
    dtype = np.dtype(header["dtype"].decode())
    shape = tuple(int(size) for size in header["shape"].replace(b",", b" ").split())
    packed = Packed(
        archive, info, dtype, shape, header["by_column"] == b"True", len(start) + length
    )
    if packed.nbytes != dtype.itemsize * np.prod(shape, dtype=object):
        raise ValueError(f"{info.filename} has not as many bytes as its shape {shape} needs")
    return packed
