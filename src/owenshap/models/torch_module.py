"""torch: modules on any device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import Any, Self

from owenshap.errors import InputError
from owenshap.models.base import IN_A_CACHE, Model
from owenshap.support.arrays import ON_DEVICE
from owenshap.support.extras import needed
from owenshap.tables import Table
from owenshap.tables.tensor import TensorTable, is_module, submodules

# batch elements where launching a kernel costs more than the rows in it; layers take more
ON_A_DEVICE = ON_DEVICE // 4


@dataclass(frozen=True)
class TorchModel(Model):
    """A module, in evaluation mode while it predicts and as it was found afterwards.

    Rows go to its device in the dtype of its parameters, half precision included, but for tensors
    of integers: these stay what they are, as an embedding takes them. A module without parameters
    gets rows as they are, where they are. Predictions come back as float64.
    """

    module: Any
    method: str = "__call__"
    batch_elements: int = IN_A_CACHE
    most_rows: int = Model.most_rows
    launches: bool = False

    packages = ("torch",)

    @classmethod
    def distance(cls, model: object) -> int | None:
        kind: Any = type(model)
        return super().distance(model) if is_module(kind) else None

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        if predict is not None and not callable(getattr(model, predict, None)):
            raise InputError(
                "model",
                "have the method that predict names",
                f"{type(model).__name__} without {predict}",
                "Leave out predict to call the module itself",
            )
        device, _ = _home(model)
        if device is None or device.type == "cpu":
            return cls(model, predict or "__call__")
        return cls(model, predict or "__call__", ON_A_DEVICE, ON_A_DEVICE, device.type == "cuda")

    def prepare(self, table: Table) -> Table:
        tensors = TensorTable.of_table(table)
        device, dtype = _home(self.module)
        meant_as_integers = (
            isinstance(table, TensorTable) and not tensors.tensor.dtype.is_floating_point
        )
        return tensors.placed(device, None if meant_as_integers else dtype)

    def predict(self, batch: Any) -> Any:
        return TensorTable.host(self._raw(batch))

    def begin(self, batch: Any) -> Callable[[], Any]:
        return TensorTable.begin_host(self._raw(batch))

    def _raw(self, batch: Any) -> Any:
        """What the module returns, where it is; floats as float64."""
        torch = needed("torch", extra="torch")
        with _evaluating(self.module), torch.inference_mode():
            raw = getattr(self.module, self.method)(batch)
            if torch.is_tensor(raw) and raw.is_cuda and raw.dtype.is_floating_point:
                raw = raw.double()  # there: waking the host's threads for it takes milliseconds
        return raw


def _home(module: Any) -> tuple[Any, Any]:
    """The module's device, and the dtype of the first of its numbers that are not whole; None where
    it has none.
    """
    first = None
    for tensor in chain(module.parameters(), module.buffers()):
        first = tensor if first is None else first
        if tensor.dtype.is_floating_point:
            return first.device, tensor.dtype
    return None if first is None else first.device, None


_lock = Lock()
_held: Counter[int] = Counter()
"""By id of a submodule that was found in training mode: how many threads hold it in evaluation
mode.
"""


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """Evaluation mode inside; afterwards every submodule has the flag it was found with.

    The flags are set and `eval` is not called, which a module may override with more than can be
    undone. Threads that predict with the same module at once share the switch: the last of them to
    leave turns it back.
    """
    with _lock:  # a frozen script has no flag: it is in evaluation mode for good
        switched = [
            submodule
            for submodule in submodules(module)
            if id(submodule) in _held or getattr(submodule, "training", False)
        ]
        for submodule in switched:
            submodule.training = False
            _held[id(submodule)] += 1
    try:
        yield
    finally:
        with _lock:
            for submodule in switched:
                _held[id(submodule)] -= 1
                if not _held[id(submodule)]:
                    del _held[id(submodule)]
                    submodule.training = True
