"""Players: the features of a model, one by one or in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from owenshap.arrays import BoolArray, IntArray
from owenshap.checks import whole_number
from owenshap.errors import InputError

Groups: TypeAlias = Mapping[str, Sequence[str | int]]


@dataclass(frozen=True, eq=False)
class Players:
    """Which player each feature belongs to."""

    names: list[str]
    player_of: IntArray = field(repr=False)
    """The player of each feature (features,)."""

    @classmethod
    def of(cls, features: list[str], groups: Groups | None) -> Players:
        """One player per feature but for those in groups, in the order of their first feature."""
        owner: list[str | None] = [None] * len(features)
        for name, columns in (groups or {}).items():
            for column in [columns] if isinstance(columns, (str, int)) else columns:
                place = _place(column, features, name)
                if owner[place] is not None:
                    got = f"{features[place]!r} in {owner[place]!r} and {name!r}"
                    raise InputError("players", "have each column in one group", got, "Take it out of one of the two")
                owner[place] = str(name)
        names = [feature if own is None else own for own, feature in zip(owner, features, strict=True)]
        single = {feature for own, feature in zip(owner, features, strict=True) if own is None}
        clash = next((str(name) for name in groups or {} if str(name) in single), None)
        if clash is not None:
            raise InputError("players", "have names of their own", f"group {clash!r} beside a column of that name", "Rename it")
        order = list(dict.fromkeys(names))
        return cls(order, np.array([order.index(name) for name in names]) if groups else np.arange(len(names)))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def grouped(self) -> bool:
        """Whether some player has more than one feature."""
        return len(self.names) < len(self.player_of)

    def any_of(self, features: BoolArray) -> BoolArray:
        """For each row whether it holds for any feature of each player, (rows, players)."""
        if not self.grouped:
            return features
        result = np.zeros((len(features), len(self)), np.bool_)
        for feature, player in enumerate(self.player_of):
            result[:, player] |= features[:, feature]
        return result


def patches(height: int, width: int, size: int) -> dict[str, list[int]]:
    """Groups that make players of the square patches of an image, by the positions of their pixels.

    Parameters
    ----------
    height, width : int
        Of the image in pixels; rows of data are images flattened row by row.
    size : int
        Of a patch; patches at the right and lower edge are smaller where it does not divide.

    Examples
    --------
    >>> import owenshap
    >>> owenshap.patches(4, 4, size=2)["patch 1,0"]
    [8, 9, 12, 13]
    """
    for what, value in (("height", height), ("width", width), ("size", size)):
        whole_number(what, value, 1, "Give pixels")
    pixels = np.arange(height * width).reshape(height, width)
    return {
        f"patch {top // size},{left // size}": pixels[top : top + size, left : left + size].reshape(-1).tolist()
        for top in range(0, height, size)
        for left in range(0, width, size)
    }


def _place(column: str | int, features: list[str], group: str) -> int:
    if isinstance(column, str) and column in features:
        return features.index(column)
    if isinstance(column, (int, np.integer)) and 0 <= column < len(features):
        return int(column)
    rule = f"name columns of the data in group {group!r}"
    some = ", ".join(features[:8]) + (", …" if len(features) > 8 else "")
    raise InputError("players", rule, column, f"The columns are {some}")
