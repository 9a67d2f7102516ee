"""The rows of a call, what stands in for absent features, and who the players are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from owenshap.errors import InputError
from owenshap.games.masking import ABSENT, Absent, of_background, of_baseline
from owenshap.games.players import Groups, Players, checked_groups
from owenshap.models import Model
from owenshap.support.checks import checked_names
from owenshap.tables import Table, as_table, own_copy, row_ids


class Inputs:
    """What an explainer was given beside its model: background or baseline, groups and names.

    Parameters
    ----------
    model : Model
        That takes the rows.
    background, baseline, background_weights, players, feature_names
        As an `Explainer` has them.
    """

    def __init__(
        self,
        model: Model,
        background: Any,
        baseline: Any,
        background_weights: ArrayLike | None,
        players: Groups | None,
        feature_names: list[str] | None,
    ) -> None:
        if background is not None and baseline is not None:
            raise InputError("background or baseline", "be given", "both", ABSENT)
        if background_weights is not None and background is None:
            got = "none" if baseline is None else "a baseline"
            raise InputError("background_weights", "come with a background", got, "Leave them out")
        if feature_names is not None:
            feature_names = checked_names("feature_names", feature_names)
        self._model = model
        self.feature_names = feature_names
        self.groups = None if players is None else checked_groups(players)
        self.baseline = own_copy(baseline)
        self.background: Absent | None = None
        self._constant: tuple[Table, Absent] | None = None
        self._last_players: tuple[list[str], Players] | None = None
        if background is not None:
            given = of_background(background, background_weights, feature_names)
            self.background = Absent(model.prepare(given.table), given.weights)
            # a wrong group is an error now, not at the first explanation
            Players.of(given.table.names, self.groups)

    @property
    def by_cover(self) -> bool:
        """Whether nothing stands in for absent features: they follow the cover of the trees."""
        return self.background is None and self.baseline is None

    def rows(self, X: Any) -> tuple[Table, Absent | None]:
        """The explained rows and what replaces absent features, both as the model takes them."""
        rows = self._model.prepare(as_table(X, self.feature_names))
        background = self.background
        if background is not None and type(rows) is not type(background.table):
            rule = f"be of the background's type, {background.table.package}"
            raise InputError("X", rule, type(X).__name__, "Give both as the model takes them")
        if len(rows) == 0:
            raise InputError("X", "have at least one row", "none", "Give the rows to explain")
        if background is not None:
            wide = background.table.widened(rows)
            if wide is not background.table:
                background = Absent(wide, background.weights)
            return rows.like(wide, "X"), background
        return rows, None if self.baseline is None else self._absent(rows)

    @staticmethod
    def row_ids(X: Any) -> NDArray[Any] | None:
        """What the rows are called; None: they have numbers only."""
        return row_ids(X)

    def _absent(self, rows: Table) -> Absent:
        """What the baseline comes to beside these rows; that of a number is kept for the next rows
        of the same kind.
        """
        if not isinstance(self.baseline, (int, float)):
            return of_baseline(self.baseline, rows)
        if self._constant is None or not rows.alike(self._constant[0]):
            self._constant = (rows.take(np.arange(0)), of_baseline(self.baseline, rows))
        return self._constant[1]

    def players(self, rows: Table) -> Players:
        """The players of these rows; those of the last rows where features are called the same."""
        last = self._last_players
        if last is None or last[0] != rows.names:
            last = self._last_players = [*rows.names], Players.of(rows.names, self.groups)
        return Players([*last[1].names], last[1].player_of)  # names are the user's to change
