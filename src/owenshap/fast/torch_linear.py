"""What is linear first in torch: a Sequential, or any module, that begins with a Linear, on any
device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.fast.linear_first import Arrays, LinearFirst, Step
from owenshap.fast.torch_watched import watched
from owenshap.models import Model
from owenshap.support.arrays import ON_DEVICE, FloatArray
from owenshap.support.extras import needed
from owenshap.tables import Table
from owenshap.tables.tensor import TensorTable, sent, submodules

IN_PLACE = {"Sigmoid": "sigmoid_", "Tanh": "tanh_", "ReLU": "relu_"}
BY_ELEMENT = frozenset(
    [
        "LeakyReLU",
        "ELU",
        "SELU",
        "CELU",
        "GELU",
        "SiLU",
        "Mish",
        "Softplus",
        "Softsign",
        "Hardtanh",
        "Hardsigmoid",
        "Hardswish",
        "LogSigmoid",
        "ReLU6",
        "Tanhshrink",
    ]
)
# in evaluation mode, in which modules predict here
NOTHING = frozenset({"Identity", "Dropout", "AlphaDropout"})

# what calling a module calls, where somebody put it on the module itself
CALLED = frozenset({"forward", "_call_impl"})


@dataclass(frozen=True)
class TorchArrays(Arrays):
    """torch on the module's device, in the module's dtype."""

    device: Any
    flat: bool
    """Whether the module flattens rows itself, so that they may have any shape."""
    torch: Any = field(default_factory=lambda: needed("torch", extra="torch"), repr=False)

    @property
    def tile(self) -> int:
        return Model.batch_elements if self.device.type == "cpu" else ON_DEVICE

    @property
    def launches(self) -> bool:
        return bool(self.device.type == "cuda")

    @property
    def fixed(self) -> bool:
        """On the host: a device is kept busy by products as wide as they come."""
        return bool(self.device.type == "cpu")

    def of_table(self, table: Table) -> Any:
        if not isinstance(table, TensorTable) or not (self.flat or len(table.shape) == 1):
            return None
        return table.tensor.to(self.device, self.dtype)

    def put(self, array: NDArray[Any], exact: bool = False) -> Any:
        if not (array.flags.c_contiguous and array.flags.writeable):
            array = array.copy()
        if not exact and array.dtype == np.bool_:
            array = array.view(np.uint8)  # converted five times as fast
        tensor = self.torch.from_numpy(array)
        tensor = tensor if self.device.type == "cpu" else sent(tensor, self.device)
        return tensor if exact else tensor.to(self.dtype)

    def get(self, array: Any) -> FloatArray:
        host: FloatArray = array.cpu().double().numpy()
        return host

    def begin_reversed(self, array: Any) -> Callable[[], FloatArray]:
        reversed_axes = array.permute(*range(array.ndim)[::-1])
        return TensorTable.begin_host(
            reversed_axes.double().contiguous() if self.launches else reversed_axes
        )

    def empty(self, shape: tuple[int, ...]) -> Any:
        return self.torch.empty(shape, dtype=self.dtype, device=self.device)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return self.torch.zeros(shape, dtype=self.torch.float64, device=self.device)

    def joined(self, parts: Sequence[Any], axis: int) -> Any:
        return parts[0] if len(parts) == 1 else self.torch.cat(list(parts), axis)

    def padded(self, array: Any, columns: int) -> Any:
        extra = columns - array.shape[1]
        return self.torch.nn.functional.pad(array, (0, extra)) if extra else array.contiguous()

    def order(self, ranks: Any) -> Any:
        places = ranks.long()
        every = self.torch.arange(len(places), device=self.device).reshape(
            -1, *[1] * (places.ndim - 1)
        )
        return self.torch.empty_like(places).scatter_(0, places, every.expand_as(places))

    def scaled_sum(self, base: Any, array: Any, scale: Any, out: Any) -> None:
        self.torch.addcmul(base, array, scale, out=out)

    def summed(self, array: Any, axis: int) -> Any:
        return array.cumsum_(axis)

    def along(self, array: Any, index: Any) -> Any:
        if array.shape[3] > 1:
            return self.torch.take_along_dim(array, index[None, None].long(), 2)
        taken = array[..., 0].index_select(2, index.reshape(-1).long())
        return taken.reshape(*array.shape[:2], *index.shape)

    def along_last(self, array: Any, index: Any) -> Any:
        return self.torch.take_along_dim(array, index, 2)

    def exactly(self, array: Any) -> Any:
        return array.double()

    def exact_sum(self, array: Any) -> Any:
        if self.fixed:
            return super().exact_sum(array)
        # a copy takes less than sums along strides do more
        return array.contiguous().sum(-2, dtype=self.torch.float64)

    def affine(self, weights: Any, bias: Any) -> Step:
        return _affine(weights, bias, self.torch)

    def running(self) -> AbstractContextManager[Any]:
        return self.torch.inference_mode()


def linear_first_of(module: Any) -> LinearFirst | None:
    """A module's linear first step; None where it is not known to begin with one."""
    torch = needed("torch", extra="torch")
    if _hooked_everywhere(torch) or any(
        _changed(submodule, torch) for submodule in submodules(module)
    ):
        return None
    layers = [layer for layer in _layers(module, torch) if type(layer).__name__ not in NOTHING]
    flat = (
        bool(layers)
        and type(layers[0]) is torch.nn.Flatten
        and (layers[0].start_dim, layers[0].end_dim) == (1, -1)
    )
    layers = layers[flat:]
    if layers and type(layers[0]) is torch.nn.Linear:
        first = layers[0]
        steps = tuple([_step(layer, torch) for layer in layers[1:]])
        if any(step.kind == "other" for step in steps) and any(layer.training for layer in layers):
            return None  # what it does in evaluation mode is for the plain way to find out
    else:
        seen = watched(module)
        if seen is None:
            return None
        first, flat, rest = seen
        steps = (rest,)
    if first.weight.dtype not in (torch.float32, torch.float64):
        return None  # half precision: sums of columns lose more than the module does
    weights = first.weight.detach()
    bias = weights.new_zeros(len(weights)) if first.bias is None else first.bias.detach()
    return LinearFirst(weights, bias, steps, TorchArrays(weights.dtype, weights.device, flat))


def _layers(module: Any, torch: Any) -> list[Any]:
    """The layers that a module calls one after the other; itself where nobody can know."""
    if (
        isinstance(module, torch.nn.Sequential)
        and type(module).forward is torch.nn.Sequential.forward
    ):
        return [layer for child in module for layer in _layers(child, torch)]
    return [module]


def _changed(module: Any, torch: Any) -> bool:
    """Whether calling a module does more, or other things, than the forward of its type."""
    kind = type(module)
    if module._forward_hooks or module._forward_pre_hooks or not CALLED.isdisjoint(vars(module)):
        return True
    if (
        kind.__call__ is not torch.nn.Module.__call__
        or kind._call_impl is not torch.nn.Module._call_impl
    ):
        return True
    return kind.__module__.startswith(
        "torch.nn.modules"
    ) and not kind.forward.__module__.startswith("torch.nn.modules")


def _hooked_everywhere(torch: Any) -> bool:
    """Whether hooks are registered for all modules."""
    everywhere = torch.nn.modules.module
    return bool(everywhere._global_forward_hooks or everywhere._global_forward_pre_hooks)


def _step(layer: Any, torch: Any) -> Step:
    if type(layer) is torch.nn.Linear:
        return _affine(
            layer.weight.detach(), None if layer.bias is None else layer.bias.detach(), torch
        )
    name = type(layer).__name__
    ours = type(layer).__module__.startswith("torch.nn.modules")
    if ours and name in IN_PLACE:
        return Step(name.lower(), getattr(torch.Tensor, IN_PLACE[name]), by_panel=True)
    if ours and name in BY_ELEMENT:
        return Step(name.lower(), layer, by_panel=True)
    if ours and name in ("Softmax", "LogSoftmax") and layer.dim in (1, -1):
        apply = torch.softmax if name == "Softmax" else torch.log_softmax
        return Step(name.lower(), lambda hidden: apply(hidden, -2), by_panel=True)
    return Step("other", lambda hidden: layer(hidden.T.contiguous()).flatten(1).T)


def _affine(weights: Any, bias: Any, torch: Any) -> Step:
    column = None if bias is None else bias.unsqueeze(1)

    def apply(hidden: Any) -> Any:
        if column is None:  # panels one by one, which a product with a plain matrix joins
            return (weights if hidden.ndim == 2 else weights[None]) @ hidden
        if hidden.ndim == 2:
            return torch.addmm(column, weights, hidden)
        return torch.baddbmm(column, weights.expand(len(hidden), *weights.shape), hidden)

    # elsewhere than on the host a wide product keeps the whole device busy
    return Step("affine", apply, weights, bias, weights.device.type == "cpu")
