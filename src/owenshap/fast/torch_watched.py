"""Modules with a forward of their own that begin with a Linear: found by watching a call, used by
standing in for that layer.

Watching is a mode of the calling thread, so that nothing is patched and other threads see nothing
of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from owenshap.fast.linear_first import Step
from owenshap.support.extras import needed

FLATTENING = frozenset({"flatten", "view", "reshape"})
# shape, dtype and device are read by __get__
ASKING = frozenset({"size", "dim", "ndimension", "numel", "__len__", "__get__"})


class _RowsUsedError(Exception):
    """The rows went elsewhere than into one linear layer."""


def watched(module: Any) -> tuple[Any, bool, Step] | None:
    """Of a module in evaluation mode whose rows go into one Linear and nowhere else: that layer,
    whether rows are flattened before, and what follows; None where they go elsewhere.
    """
    torch = needed("torch", extra="torch")
    every = list(module.modules())
    layer: Any = next(
        (
            submodule
            for submodule in every
            if next(submodule.parameters(recurse=False), None) is not None
        ),
        None,
    )
    if type(layer) is not torch.nn.Linear or any(
        submodule.training or type(submodule).__module__.startswith("torch._dynamo")  # compiled
        for submodule in every
    ):
        return None
    try:
        with torch.inference_mode():
            made, flat = _called(
                module, layer.weight, layer.weight.new_zeros(2, layer.out_features)
            )
            return layer, flat, _rest(module, layer, made.reshape(2, -1).shape[1])
    except Exception:  # whatever it does not like about such rows: the plain way is there
        return None


def _rest(module: Any, layer: Any, outputs: int) -> Step:
    """What follows the layer: the module's own forward, in which the layer gives the h that is
    asked about.
    """

    def apply(hidden: Any) -> Any:
        count = hidden.shape[1]
        try:
            made, _ = _called(module, layer.weight, hidden.T.contiguous())
        # it may look at the rows after all, for some h: the plain way is taken for what is not
        # finite
        except Exception:
            return hidden.new_full((outputs, count), float("nan"))
        return made.reshape(count, -1).T

    return Step("other", apply)


def _called(module: Any, weight: Any, hidden: Any) -> tuple[Any, bool]:
    """What the module makes of rows whose first h is this, (m, width); and whether it flattens
    them.
    """
    # never looked at: they take no memory
    rows = weight.new_zeros(()).expand(len(hidden), weight.shape[1])
    standing = _standing()(weight, hidden, rows)
    with standing:
        made = module(rows)
    if not standing.done:
        raise _RowsUsedError("no linear layer")
    return made, standing.flat


@lru_cache(maxsize=1)
def _standing() -> Any:
    torch = needed("torch", extra="torch")

    class Standing(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        """Gives h in place of the first layer, and allows rows to go nowhere else."""

        def __init__(self, weight: Any, hidden: Any, rows: Any) -> None:
            super().__init__()
            self._weight = weight
            self._hidden = hidden
            self._rows = [rows]
            self.done = self.flat = False

        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            named = kwargs or {}
            if not any(leaf is rows for leaf in _leaves([args, named]) for rows in self._rows):
                return function(*args, **named)
            name = getattr(function, "__name__", "")
            if (
                function is torch.nn.functional.linear
                and len(args) > 1
                and args[1] is self._weight
                and not self.done
            ):
                self.done = True
                return self._hidden
            answer = function(*args, **named) if name in ASKING | FLATTENING else self._rows[0]
            if name in FLATTENING and answer.shape == self._rows[0].shape:
                self.flat = True
                self._rows.append(answer)
            elif torch.is_tensor(answer):
                raise _RowsUsedError(name)
            return answer

    return Standing


def _leaves(given: Any) -> Iterator[Any]:
    """What lies in lists, tuples and mappings, however deep."""
    if isinstance(given, (list, tuple)):
        for item in given:
            yield from _leaves(item)
    elif isinstance(given, dict):
        yield from _leaves(list(given.values()))
    else:
        yield given
