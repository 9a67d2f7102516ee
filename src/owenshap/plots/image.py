"""Images: which pixels or patches spoke for a prediction, and which against."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from owenshap.errors import InputError
from owenshap.explain.explanation import OUTPUTS, ROWS, Explanation
from owenshap.explain.matching import check_explanation
from owenshap.explain.words import named_outputs, shorten
from owenshap.games.players import Groups
from owenshap.plots import canvas, wording
from owenshap.support.arrays import FloatArray
from owenshap.support.checks import whole_number


def image(
    explanation: Explanation,
    shape: tuple[int, int],
    *,
    players: Groups | None = None,
    behind: ArrayLike | None = None,
    ncols: int | None = None,
    ax: canvas.Axes | None = None,
) -> Any:
    """Contributions at the places of their pixels: red for, blue against, nothing at zero.

    One scale for all pictures, the same to both sides of zero.

    Parameters
    ----------
    explanation : Explanation
        Of one row or many, of one output or all: a picture for each row and output.
    shape : (int, int)
        Height and width. Players are the pixels, row by row: take others away first, as in
        explanation[:, 1:].
    players : mapping, optional
        Where players are groups of pixels: the groups that the explainer had, as from
        `owenshap.patches`. Every pixel of a patch shows the contribution of the patch as a whole.
        Players that are not among them are left out.
    behind : array, optional
        Images (height, width) or (rows, height, width) to show faintly behind. By default the
        explained pixels.
    ncols : int, optional
        Pictures side by side. By default the outputs, or up to 5 rows.
    ax : Axes, optional
        To draw into, where there is one picture.

    Returns
    -------
    Axes, or an array of them where there is more than one picture

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> from owenshap import plots
    >>> explainer = owenshap.Explainer(lambda rows: rows[:, 5] - rows[:, 6], baseline=0.0)
    >>> ax = plots.image(explainer(np.ones((1, 16)))[0], shape=(4, 4))
    >>> ax.images[-1].get_clim()
    (-1.0, 1.0)
    """
    check_explanation(explanation)
    pixels = _checked_shape(shape)
    maps = _maps(explanation, pixels, players)
    images = _behind(explanation, pixels, players, behind)
    rows, outputs = maps.shape[:2]
    columns = (outputs if outputs > 1 else min(rows, 5)) if ncols is None else ncols
    panels = _panels(rows * outputs, columns, pixels, ax, titled=1 < outputs != columns)
    names = named_outputs(explanation.output_names, outputs)
    limit = float(np.nanmax(np.abs(maps), initial=0.0)) or 1.0
    for panel, (row, output) in zip(panels.flat, np.ndindex(rows, outputs), strict=False):
        canvas.picture(panel, maps[row, output], None if images is None else images[row], limit)
        # names of columns stand on top of them alone
        if outputs > 1 and (row == 0 or panels.shape[1] != outputs):
            panel.set_title(shorten(names[output], 20), fontsize="medium", parse_math=False)
    for panel in panels.flat[rows * outputs :]:
        panel.set_axis_off()
    canvas.zero_bar(
        panels, "contribution to the output" if outputs > 1 else wording.contribution(explanation)
    )
    return panels.flat[0] if panels.size == 1 else panels


def _checked_shape(shape: Any) -> tuple[int, int]:
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise InputError(
            "shape", "be the height and width of the images", shape, "As in shape=(28, 28)"
        )
    height, width = (whole_number("shape", side, 1, "Give pixels") for side in shape)
    return height, width


def _maps(explanation: Explanation, shape: tuple[int, int], players: Groups | None) -> FloatArray:
    """Contributions (rows, outputs, height, width); nan for pixels that no player has."""
    values = explanation.values if ROWS in explanation.axes else explanation.values[None]
    values = np.moveaxis(values, 2, 1) if OUTPUTS in explanation.axes else values[:, None]
    if players is None:
        if values.shape[2] != math.prod(shape):
            raise InputError(
                "shape",
                f"have as many pixels as there are players, {values.shape[2]:,}",
                f"{shape[0]} × {shape[1]}",
                "Give players= where they are patches; take away those that are no pixels, as in "
                "explanation[:, 1:]",
            )
        return values.reshape(*values.shape[:2], *shape)
    maps = np.full((*values.shape[:2], math.prod(shape)), np.nan)
    for name, pixels in players.items():
        if name not in explanation.feature_names:
            raise InputError(
                "players",
                "be among those explained",
                name,
                "Give the groups that the explainer had",
            )
        where = np.asarray(pixels)
        if (
            where.dtype.kind not in "iu"
            or where.min(initial=0) < 0
            or where.max(initial=0) >= maps.shape[2]
        ):
            raise InputError(
                "players",
                f"hold positions of pixels below {maps.shape[2]:,}, height times width",
                f"{name!r} with others",
                "Give the shape that the patches were made for",
            )
        maps[..., where] = values[..., explanation.feature_names.index(name)][..., None]
    return maps.reshape(*values.shape[:2], *shape)


def _behind(
    explanation: Explanation,
    shape: tuple[int, int],
    players: Groups | None,
    behind: ArrayLike | None,
) -> FloatArray | None:
    """Images (rows, height, width) from 0 for their lowest to 1 for their highest pixel; None where
    there are none.
    """
    if behind is None and (players is not None or explanation.data.dtype.kind not in "iuf"):
        return None
    rows = len(explanation) if ROWS in explanation.axes else 1
    images = np.asarray(explanation.data if behind is None else behind, np.float64)
    if images.size != rows * math.prod(shape):
        raise InputError(
            "behind",
            f"be {rows:,} images of {shape[0]} × {shape[1]} pixels",
            f"shape {images.shape}",
            "Give one for each explained row",
        )
    images = images.reshape(rows, *shape)
    low = np.nanmin(images)
    return (images - low) / ((np.nanmax(images) - low) or 1.0)


def _panels(
    count: int, columns: int, shape: tuple[int, int], ax: canvas.Axes | None, *, titled: bool
) -> NDArray[Any]:
    if ax is not None:
        if count > 1:
            raise InputError(
                "ax",
                f"be None for {count} pictures",
                "axes for one",
                "Pick a row and an output, or leave it out",
            )
        return np.array([[ax]])
    columns = min(whole_number("ncols", columns, 1, "It counts pictures side by side"), count)
    size = 3.6 if count == 1 else 1.7  # inches, alone and among others
    lines = math.ceil(count / columns)
    height = lines * (size * shape[0] / shape[1] + (0.27 if titled else 0.08)) + 0.05
    lowest = 2.6  # inches that the name of the scale needs
    return canvas.new_grid(lines, columns, columns * size + 1.15, max(height, lowest))
