"""Tables held as torch tensors, on any device; the one file that names torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.support.arrays import WORKING, BoolArray, IntArray
from owenshap.support.bits import pack
from owenshap.support.checks import check_unmasked
from owenshap.support.extras import needed
from owenshap.tables.base import (
    Composer,
    Table,
    as_table,
    checked_columns,
    distinct_names,
    shown_cells,
)

MOST_PINNED = WORKING // 16  # bytes of a tensor: torch keeps such memory for good


@dataclass(frozen=True, eq=False)
class TensorTable(Table):
    """Rows as a tensor (rows, features); the model gets them in the shape that the user's had, on
    the same device.
    """

    tensor: Any = field(repr=False)
    names: list[str]
    shape: tuple[int, ...]
    """Of one row as the model takes it."""

    package = "torch"
    named = False

    @classmethod
    def of(cls, data: Any, names: list[str] | None) -> Self:
        torch = _torch()
        if not isinstance(data, torch.Tensor):
            raise InputError(
                "data",
                "be a tensor",
                type(data).__name__,
                "Give one row per example, one column per feature",
            )
        if data.layout != torch.strided or data.is_quantized or data.dtype.is_complex:
            raise InputError(
                "data",
                "be a dense tensor of real numbers",
                f"{data.layout} of {data.dtype}",
                "Convert it: to_dense, dequantize or real",
            )
        if data.ndim < 2 or 0 in data.shape[1:]:
            raise InputError(
                "data",
                "be a table of rows and features",
                f"shape {tuple(data.shape)}",
                "For one row x give x[None]",
            )
        flat = data.detach().flatten(1)
        return cls(flat, distinct_names(names, flat.shape[1]), tuple(data.shape[1:]))

    @classmethod
    def of_table(cls, table: Table) -> Self:
        """Rows of numbers of another type as tensors, in the dtype they have there."""
        if isinstance(table, cls):
            return table
        array = np.asarray(table.batch())
        if array.dtype.kind not in "biuf":
            # what is a number for the table may be none for numpy, as pandas' own integers
            array = table.cells()
        if array.dtype.kind not in "biuf":
            raise InputError(
                "data",
                "hold numbers for a torch module",
                f"dtype {array.dtype}",
                "Encode it as the model was trained, or explain a function that does",
            )
        return cls.of(_tensor(array), table.names)

    def __len__(self) -> int:
        # a tensor's own length takes ten times as long, and it is asked for often
        return int(self.tensor.shape[0])

    def take(self, rows: IntArray) -> Self:
        return replace(self, tensor=self.tensor.index_select(0, _tensor(rows, self.tensor.device)))

    def copied(self, start: int, stop: int) -> Self:
        return type(self)(self.tensor[start:stop].clone(), self.names, self.shape)

    def like(self, background: Self, what: str) -> Self:
        if self.shape != background.shape:
            missing = [name for name in background.names if name not in self.names][:5]
            raise InputError(
                what,
                f"have rows of shape {background.shape} as the background has",
                f"{self.shape}" + (f" without {', '.join(missing)}" if missing else ""),
                "Give the columns that the model takes",
            )
        checked_columns(self.names, background.names, what)
        tensor = self.tensor
        if self.names != background.names:
            place = {name: at for at, name in enumerate(self.names)}
            tensor = tensor[:, [place[name] for name in background.names]]
        cast = tensor.to(background.tensor.device, background.tensor.dtype)
        if not _same(cast.to(tensor.device, tensor.dtype), tensor).all():
            raise InputError(
                what,
                f"have the background's dtype {background.tensor.dtype}",
                f"{tensor.dtype}, which loses digits there",
                "Convert one of the two",
            )
        return replace(self, tensor=cast, names=background.names)

    def alike(self, other: Table) -> bool:
        return (
            isinstance(other, TensorTable)
            and (self.shape, self.tensor.dtype) == (other.shape, other.tensor.dtype)
            and bool(self.tensor.device == other.tensor.device)
            and self.names == other.names
        )

    def placed(self, device: Any, dtype: Any, what: str = "data") -> Self:
        """The rows on this device in this dtype, rounded where it is a shorter one; None keeps what
        they have.
        """
        if dtype is not None and dtype.is_floating_point:
            _check_integers(self.tensor, what)
        tensor = self.tensor.to(device=device, dtype=dtype)
        if (
            dtype not in (None, self.tensor.dtype)
            and not (tensor.isinf() <= self.tensor.isinf().to(tensor.device)).all()
        ):
            largest = self.tensor[self.tensor.isfinite()].abs().max().item()
            raise InputError(
                what,
                f"fit into {dtype}",
                f"{largest:g}",
                "Scale it, or give the model a longer dtype",
            )
        return self if tensor is self.tensor else replace(self, tensor=tensor)

    def beside(self, data: Any, what: str) -> Self:
        check_unmasked(what, data)
        shape = _shape(data, what)
        if len(shape) == len(self.shape):
            data = data[None] if isinstance(data, _torch().Tensor) else np.asarray(data)[None]
        elif len(shape) != 1 + len(self.shape):
            raise InputError(
                what,
                f"have rows of shape {self.shape} as the other rows have",
                f"shape {shape}",
                "Give a number for each feature",
            )
        table = as_table(data)
        rows = self.of_table(table)
        if not table.named and rows.n_features == self.n_features:
            rows = replace(rows, names=self.names)  # data without names of its own goes by position
        dtype = self.tensor.dtype
        return (rows.placed(None, dtype, what) if dtype.is_floating_point else rows).like(
            self, what
        )

    def differs(self, background: Self) -> BoolArray:
        if len(background) == 1:
            return _other(self.tensor, background.tensor)
        first = background.tensor[0]
        varies = _apart(background.tensor, first).any(dim=0)
        return np.asarray((varies | _apart(self.tensor, first)).cpu())

    def differs_by_row(self, other: Self) -> BoolArray:
        return _other(self.tensor, other.tensor)

    def composer(self, background: Self, player_of: IntArray | None) -> Composer:
        torch = _torch()
        own = self.tensor
        other = background.tensor
        device = self.tensor.device
        place_in_byte = torch.arange(8, dtype=torch.uint8, device=device)
        owner = None
        if player_of is not None and (player_of != np.arange(len(player_of))).any():
            owner = _tensor(player_of, device)

        def compose(rows: IntArray, coalitions: BoolArray, drawn: IntArray) -> Any:
            packed = _tensor(pack(coalitions), device)  # only bits and indices travel
            bits = (packed[:, :, None] >> place_in_byte).bitwise_and_(1).view(torch.bool)
            present = bits.flatten(1)[:, : coalitions.shape[1]]
            present = present if owner is None else present.index_select(1, owner)
            explained = own.index_select(0, _tensor(rows, device))
            batch = torch.where(present[:, None], explained[:, None], other[_tensor(drawn, device)])
            return batch.reshape(-1, *self.shape)

        return compose

    def constant(self, value: float) -> Self:
        torch = _torch()
        dtype = self.tensor.dtype
        # what an integer cannot hold is told by `like`
        exact = dtype if dtype.is_floating_point else torch.float64
        row = torch.full((1, self.n_features), value, dtype=torch.float64, device="cpu")
        return replace(self, tensor=row).placed(self.tensor.device, exact, "baseline")

    def batch(self) -> Any:
        return self.tensor if len(self.shape) == 1 else self.tensor.reshape(-1, *self.shape)

    def cells(self) -> NDArray[Any]:
        return shown_cells(self.host(self.tensor))

    @staticmethod
    def host(raw: Any) -> NDArray[Any]:
        """A tensor on any device, with or without a gradient, as a numpy array; floats of any
        length as float64.
        """
        if not isinstance(raw, _torch().Tensor):
            raise TypeError(
                f"{type(raw).__name__} is no tensor; explain a function that makes one of it"
            )
        tensor = raw.detach().cpu()
        if _in_numpy(tensor):
            array: NDArray[Any] = tensor.numpy()
            return array.astype(np.float64, copy=False)
        return np.asarray(tensor.double() if tensor.dtype.is_floating_point else tensor)

    @staticmethod
    def begin_host(raw: Any) -> Callable[[], NDArray[Any]]:
        """The same begun: what waits for the array, while the device may go on with what comes
        after it.
        """
        if not isinstance(raw, _torch().Tensor) or not raw.is_cuda:
            array = TensorTable.host(raw)
            return lambda: array
        return _copying(raw.detach())

    @staticmethod
    def own_copy(data: Any) -> Any:
        return data.detach().clone() if isinstance(data, _torch().Tensor) else data

    @property
    def row_bytes(self) -> int:
        return self.tensor.element_size() * self.n_features


@lru_cache
def is_module(kind: type[Any]) -> bool:
    """Whether it is a type of torch modules; nothing is imported for what is none."""
    return any(each.__module__ == "torch.nn.modules.module" for each in kind.__mro__)


def submodules(module: Any) -> list[Any]:
    """A module and all below it, each once; its own `modules` makes a name for each and takes twice
    as long.
    """
    modules = [module]
    known = {id(module)}
    for parent in modules:
        for child in parent._modules.values():
            if child is not None and id(child) not in known:
                known.add(id(child))
                modules.append(child)
    return modules


def _torch() -> Any:
    return needed("torch", extra="torch")


def _copying(tensor: Any) -> Callable[[], NDArray[Any]]:
    """A tensor on a CUDA device on its way to the host; what waits for the copy, and for nothing
    queued after it.
    """
    cuda = _torch().cuda
    there = _empty_pinned(tensor)
    there = _torch().empty(tensor.shape, dtype=tensor.dtype) if there is None else there
    there.copy_(tensor, non_blocking=True)
    copied = cuda.Event()
    copied.record(cuda.current_stream(tensor.device))

    def wait() -> NDArray[Any]:
        copied.synchronize()
        return TensorTable.host(there)

    return wait


def _tensor(array: NDArray[Any], device: Any = "cpu") -> Any:
    """A copy of the array: torch shares memory only with arrays that may be written to."""
    native = (
        np.float64
        if array.dtype.kind == "f" and array.itemsize > 8
        else array.dtype.newbyteorder("=")
    )
    return sent(_torch().tensor(np.ascontiguousarray(array, native)), device)


def sent(tensor: Any, device: Any) -> Any:
    """A tensor of the host on its way to a device; from memory that is not pinned a copy waits for
    all that is queued there.
    """
    if device == "cpu" or _torch().device(device).type != "cuda":
        return tensor.to(device)
    pinned = _empty_pinned(tensor)
    if pinned is None:
        return tensor.to(device)
    # waking torch's threads takes longer than such a copy
    np.copyto(pinned.numpy(), tensor.numpy())
    return pinned.to(device, non_blocking=True)


def _empty_pinned(like: Any) -> Any:
    """Pinned memory for such a tensor; None where it is large, or no such memory is left."""
    if like.nbytes > MOST_PINNED:
        return None
    try:
        return _torch().empty(like.shape, dtype=like.dtype, pin_memory=True)
    except RuntimeError:
        return None


def _shape(data: Any, what: str) -> tuple[int, ...]:
    try:
        return tuple(np.shape(data))
    except ValueError:
        raise InputError(
            what, "be a table", "rows of different lengths", "Give a number for each feature"
        ) from None


def _check_integers(tensor: Any, what: str) -> None:
    """An error where the longest floats would not hold integers; shorter ones have fewer digits."""
    whole = not tensor.dtype.is_floating_point
    if whole and not _same(tensor.double().to(tensor.dtype), tensor).all():
        raise InputError(
            what,
            "hold integers that float64 has",
            f"{tensor.dtype} beyond 2**53",
            "Give the model's own dtype, rounded as it was for training",
        )


def _other(tensor: Any, other: Any) -> BoolArray:
    """Where they differ, on the host."""
    if _in_numpy(tensor) and _in_numpy(other):  # of a few numbers numpy is done sooner
        cells = tensor.numpy()
        others = other.numpy()
        apart = (cells != others) | (np.signbit(cells) != np.signbit(others))
        return apart & ((cells == cells) | (others == others))  # noqa: PLR0124
    return np.asarray(_apart(tensor, other).cpu())


def _apart(tensor: Any, other: Any) -> Any:
    """Where a model can tell them apart: zeros have signs, missing equals missing."""
    apart = tensor != other
    if tensor.dtype.is_floating_point:
        apart |= tensor.signbit() != other.signbit()
    return apart.logical_and_((tensor == tensor) | (other == other))  # noqa: PLR0124


def _in_numpy(tensor: Any) -> bool:
    """Whether numpy can look at these floats where they are."""
    lengthy = tensor.dtype.is_floating_point and tensor.dtype.itemsize >= 4  # numpy has no bfloat16
    return bool(lengthy and tensor.device.type == "cpu" and not tensor.is_neg())


def _same(tensor: Any, other: Any) -> Any:
    # only a missing value differs from itself
    missing = (tensor != tensor) & (other != other)  # noqa: PLR0124
    return (tensor == other) | missing
