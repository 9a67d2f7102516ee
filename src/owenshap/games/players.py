"""Players: the features of a model, one by one or in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from owenshap.errors import InputError
from owenshap.support.arrays import BoolArray, IntArray
from owenshap.support.checks import whole_number

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
        if groups is None:
            return cls([*features], np.arange(len(features)))
        owner: dict[str, str] = {}
        place_of = {feature: place for place, feature in enumerate(features)}
        checked = checked_groups(groups)
        for name, columns in checked.items():
            for column in columns:
                feature = features[_place(column, place_of, name)]
                if feature in owner:
                    raise InputError(
                        "players",
                        "have each column in one group",
                        f"{feature!r} in {owner[feature]!r} and {name!r}",
                        "Take it out of one of the two",
                    )
                owner[feature] = name
        clash = next((name for name in checked if name in place_of and name not in owner), None)
        if clash is not None:
            raise InputError(
                "players",
                "have names of their own",
                f"group {clash!r} beside a column of that name",
                "Rename it",
            )
        names = [owner.get(feature, feature) for feature in features]
        order = {name: player for player, name in enumerate(dict.fromkeys(names))}
        return cls([*order], np.array([order[name] for name in names]))

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def grouped(self) -> bool:
        """Whether some player has more than one feature."""
        return len(self.names) < len(self.player_of)

    def any_of(self, features: BoolArray) -> BoolArray:
        """For each row whether it holds for any feature of each player, (rows, players)."""
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
        f"patch {top // size},{left // size}": pixels[top : top + size, left : left + size]
        .reshape(-1)
        .tolist()
        for top in range(0, height, size)
        for left in range(0, width, size)
    }


def checked_groups(groups: object) -> dict[str, list[Any]]:
    """The columns of each group, by its name as text: two groups have two names."""
    if not isinstance(groups, Mapping):
        raise InputError(
            "players",
            "map names to columns, as in {'address': ['city', 'zip']}",
            groups,
            "Leave it out for one player per column",
        )
    columns_of: dict[str, list[Any]] = {}
    for key, columns in groups.items():
        name = str(key)
        if name in columns_of:
            other = next(each for each in groups if str(each) == name)
            raise InputError(
                "players",
                "have names of their own",
                f"{other!r} and {key!r}",
                "Rename one of the two",
            )
        columns_of[name] = _listed(columns, name)
    return columns_of


def _listed(columns: Any, group: str) -> list[Any]:
    """The columns of a group, of which one may stand for itself."""
    if isinstance(columns, (str, int, np.integer)):
        return [columns]
    try:
        return list(columns)
    except TypeError:
        raise InputError("players", _rule(group), columns, "Give a list of columns") from None


def _place(column: Any, place_of: dict[str, int], group: str) -> int:
    """The place of a column by its name, or by its number where no other column is called so."""
    if isinstance(column, str) and column in place_of:
        return place_of[column]
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        number = int(column)
        named = place_of.get(str(number), number)
        if 0 <= number < len(place_of) and named != number:
            raise InputError(
                "players",
                _rule(group),
                f"{number}, the name of column {named} and the position of column {number}",
                f"Give the name as text: '{number}'",
            )
        if 0 <= named < len(place_of):
            return named
    some = ", ".join([*place_of][:8]) + (", …" if len(place_of) > 8 else "")
    raise InputError("players", _rule(group), column, f"The columns are {some}")


def _rule(group: str) -> str:
    return f"name columns of the data in group {group!r}"
