"""What all plots share of matplotlib, which is named in this file alone and imported when something
is drawn.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.colours import MIDDLE, NEGATIVE, POSITIVE
from owenshap.explain.explanation import OUTPUTS, Explanation
from owenshap.explain.words import MOST_LINES, Digits, called, fitted, named_outputs
from owenshap.support.arrays import USUAL_MEMORY
from owenshap.support.extras import needed

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.colors

    Axes: TypeAlias = matplotlib.axes.Axes
    Colormap: TypeAlias = matplotlib.colors.Colormap

FAINT = 0.3  # of the strength of lines: bands about them, and doubtful intervals of others

#: Figures of the default size that were made larger, and the size they were given.
_GROWN: WeakKeyDictionary[Any, tuple[float, ...]] = WeakKeyDictionary()


def height_of(lines: float = MOST_LINES) -> float:
    """Inches of a picture of so many lines of text: matplotlib's default axes have room for a long
    list, and what is around them frames a short one, too.
    """
    usual = needed("matplotlib", extra="plots").rcParams
    axes = usual["figure.subplot.top"] - usual["figure.subplot.bottom"]
    return float(usual_size()[1] * (1 - axes + axes * lines / MOST_LINES))


def usual_size() -> tuple[float, ...]:
    """Width and height of matplotlib's default figure, in inches."""
    return tuple(needed("matplotlib", extra="plots").rcParams["figure.figsize"])


def new_axes(ax: Axes | None, height: float, width: float | None = None) -> Axes:
    """The axes to draw into: those given, or those of a new figure of that size in inches."""
    width = usual_size()[0] if width is None else width
    if ax is None:
        return new_grid(1, 1, width, height)[0, 0]
    _make_room(ax)
    _grow(ax, height, width)
    return ax


def _make_room(ax: Axes) -> None:
    """Names and numbers stand beside axes: without a layout they would lie on those next to
    them.
    """
    figure = ax.figure.figure  # that of a subfigure is the whole one
    if figure.get_layout_engine() is None:
        with contextlib.suppress(RuntimeError):  # it has a colour bar that no other layout takes
            figure.set_layout_engine("constrained")


def _grow(ax: Axes, height: float, width: float) -> None:
    """In a grid whose size nobody chose, a panel gets the size that its plot has alone: a quarter
    of matplotlib's default figure is too small for names, numbers and bars.
    """
    figure = ax.figure.figure
    place = ax.get_subplotspec()
    if place is None:
        return
    size = tuple(figure.get_size_inches())
    rows, columns = place.get_gridspec().get_geometry()
    if rows * columns == 1 or size != _GROWN.get(figure, usual_size()):
        return
    figure.set_size_inches(max(size[0], columns * width), max(size[1], rows * height))
    _GROWN[figure] = tuple(figure.get_size_inches())


def drawn(
    explanation: Explanation,
    ax: Axes | None,
    draw: Callable[[Explanation, Axes | None], Axes],
    height: float,
) -> Any:
    """The picture of one output; of several an array of axes, side by side, with their names above
    them, each picture that high.
    """
    if OUTPUTS not in explanation.axes:
        return draw(explanation, ax)
    count = explanation.shape[-1]
    panel_size = 0.86 * usual_size()[0], height + 0.25
    most = _most_panels(*panel_size)
    if ax is not None or count > most:
        raise InputError(
            "explanation",
            f"be of at most {most} outputs" if ax is None else "be of one output for ax",
            f"{count} outputs",
            f"Pick one, as in explanation[..., {first_output(explanation.output_names)}], or some",
        )
    columns = math.isqrt(count - 1) + 1  # as many as lines, or one more
    lines = -(-count // columns)
    grid = new_grid(lines, columns, panel_size[0] * columns, panel_size[1] * lines)
    titles = fitted([called(name) for name in named_outputs(explanation.output_names, count)])
    for place, title in enumerate(titles):
        panel = draw(explanation[..., place], grid.flat[place])
        panel.set_title(title, fontsize="medium", fontweight="bold", parse_math=False)
    for panel in grid.flat[count:]:
        panel.set_visible(False)
    return grid.flat[:count]


def first_output(names: list[str] | None) -> str:
    """How the first output is picked: by its name where it has one."""
    return repr(names[0]) if names else "0"


def _most_panels(width: float, height: float) -> int:
    """Pictures of that size in inches that one figure can have: its pixels, four bytes each, take
    memory.
    """
    dots = needed("matplotlib", extra="plots").rcParamsDefault["figure.dpi"]
    return int(USUAL_MEMORY / (4 * width * height * dots**2))


def new_grid(rows: int, columns: int, width: float, height: float) -> Any:
    """An array of axes (rows, columns) of a new figure."""
    pyplot = needed("matplotlib.pyplot", extra="plots")
    return pyplot.subplots(
        rows, columns, figsize=(width, height), layout="constrained", squeeze=False
    )[1]


def ink() -> tuple[float, float, float]:
    """The colour of text in the style in force."""
    color = needed("matplotlib", extra="plots").rcParams["text.color"]
    return needed("matplotlib.colors", extra="plots").to_rgb(color)


def paper(ax: Axes) -> tuple[float, float, float]:
    """The colour behind the axes; behind transparent ones, what the ink was made for."""
    *color, opacity = ax.get_facecolor()
    if opacity:
        return (color[0], color[1], color[2])
    return (1.0, 1.0, 1.0) if sum(ink()) < 1.5 else (0.0, 0.0, 0.0)


def muted(ax: Axes, share: float = 0.55) -> tuple[float, ...]:
    """A colour between ink and paper."""
    return tuple(share * np.array(ink()) + (1 - share) * np.array(paper(ax)))


def sign_color(value: float) -> str:
    """Red above zero, blue below."""
    return NEGATIVE if value < 0 else POSITIVE


def low_to_high() -> Colormap:
    """Colours of a feature's value, from low to high."""
    colors = needed("matplotlib.colors", extra="plots")
    return colors.LinearSegmentedColormap.from_list("low to high", [NEGATIVE, MIDDLE, POSITIVE])


def about_zero() -> Colormap:
    """Colours of contributions about zero: blue below, red above, and nothing at zero, so that any
    paper shows through.
    """
    colors = needed("matplotlib.colors", extra="plots")
    table = [
        (*colors.to_rgb(sign_color(strength)), abs(strength) ** 0.65)  # weak ones still show
        for strength in np.linspace(-1, 1, 257)
    ]
    return colors.ListedColormap(np.array(table), "about zero")


def picture(ax: Axes, values: Any, behind: Any, limit: float) -> None:
    """A map of values between ∓limit over a faint image (height, width) from 0 to 1, in the colour
    of ink.
    """
    if behind is not None:
        faint = np.empty((*behind.shape, 4))
        faint[..., :3] = muted(ax, 0.6)
        faint[..., 3] = 0.22 * behind
        ax.imshow(faint, interpolation="nearest")
    ax.imshow(values, cmap=about_zero(), vmin=-limit, vmax=limit, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(color=muted(ax, 0.25), linewidth=0.8)


def zero_bar(panels: Any, label: str, *, signed: bool = True) -> None:
    """The scale of all pictures beside them, with zero in its middle, or at its end."""
    first = panels.flat[0]
    bar = first.figure.colorbar(
        first.images[-1], ax=list(panels.flat), aspect=28, pad=0.02, fraction=0.05, shrink=0.9
    )
    bar.outline.set_visible(False)
    if not signed:
        bar.ax.set_ylim(bottom=0)
    number_axis(bar.ax.yaxis, label)
    bar.ax.yaxis.label.set_color(muted(first, 0.75))
    bar.ax.tick_params(color=muted(first, 0.4), labelcolor=muted(first, 0.75), width=0.8)


def date_axis(axis: Any) -> None:
    """Days since 1970 as dates."""
    dates = needed("matplotlib.dates", extra="plots")
    locator = dates.AutoDateLocator(minticks=3, maxticks=8)
    axis.set_major_locator(locator)
    axis.set_major_formatter(dates.ConciseDateFormatter(locator))


def arrow(ax: Axes, start: float, end: float, y: float, head: float, **style: Any) -> None:
    """A bar from start to end whose end is pointed; `head` is the longest point."""
    point = np.copysign(min(head, abs(end - start)), end - start)
    half = 0.36
    corners = [
        (start, y - half),
        (end - point, y - half),
        (end, y),
        (end - point, y + half),
        (start, y + half),
    ]
    ax.add_patch(
        needed("matplotlib.patches", extra="plots").Polygon(
            corners, closed=True, linewidth=0, **style
        )
    )


def whisker(ax: Axes, low: float, high: float, y: float, *, doubtful: bool = False) -> None:
    """An interval, drawn across the end of a bar; paler where it is doubtful."""
    ax.errorbar(
        (low + high) / 2,
        y,
        xerr=(high - low) / 2,
        fmt="none",
        ecolor=muted(ax, FAINT if doubtful else 0.9),
        elinewidth=1.1,
        capsize=2.6,
        capthick=1.1,
    )


def break_mark(ax: Axes, y: float, *, right: bool) -> None:
    """The sign that a bar goes on beyond the picture."""
    ax.text(
        0.985 if right else 0.015,
        y,
        "/ /",
        color=paper(ax),
        fontweight="bold",
        ha="right" if right else "left",
        va="center",
        transform=ax.get_yaxis_transform(),
    )


def name_rows(ax: Axes, labels: list[str]) -> None:
    """Labels of the rows at the left, the first on top, with room above and below."""
    # A dollar sign in a name is a dollar sign, not the start of a formula.
    ax.set_yticks(np.arange(len(labels))[::-1], labels, parse_math=False)
    ax.set_ylim(-0.62, len(labels) - 0.38)
    ax.tick_params(axis="y", length=0, pad=6)


def side_text(ax: Axes, y: float, text: str, doubt: str, color: Any) -> None:
    """A number at the right of a row, with its doubt behind it, where no bar can reach it."""
    number = ax.text(1.015, y, text, color=color, va="center", transform=ax.get_yaxis_transform())
    if doubt:
        ax.annotate(
            f" {doubt}",
            (1, 0),
            xycoords=number,
            va="bottom",
            color=muted(ax, 0.6),
            annotation_clip=False,
        )


def tidy(ax: Axes, *, grid: Literal["x", "y"] = "x", zero: str | None = None) -> None:
    """No frame but a thin axis; a light grid behind; a line at zero across the given axis."""
    ax.spines[["top", "right", "left"] if grid == "x" else ["top", "right"]].set_visible(False)
    ax.spines[:].set(color=muted(ax, 0.4), linewidth=0.8)
    ax.grid(False)
    ax.grid(True, axis=grid, color=muted(ax, 0.11), linewidth=0.8, linestyle="-")
    ax.set_axisbelow(True)
    ax.tick_params(axis="both", which="both", color=muted(ax, 0.4), width=0.8)
    ax.tick_params(axis="x", labelcolor=muted(ax, 0.75))
    if zero:
        (ax.axvline if zero == "x" else ax.axhline)(
            0, color=muted(ax, 0.45), linewidth=0.9, zorder=0.9
        )


def number_axis(axis: Any, label: str) -> None:
    """Few ticks; a power of ten stands in the label, where nothing lies upon it. The limits must
    have been set.
    """
    ticker = needed("matplotlib.ticker", extra="plots")
    axis.set_major_locator(ticker.MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    digits = Digits.of(axis.get_view_interval())
    if digits.exponent:
        axis.set_major_formatter(
            ticker.FuncFormatter(lambda x, _: f"{x / 10.0**digits.exponent:g}".replace("-", "−"))
        )
    axis.set_label_text(label + ("," + digits.suffix if digits.exponent else ""), parse_math=False)


def count_axis(axis: Any, *, logarithmic: bool) -> None:
    """Counts as people write them."""
    ticker = needed("matplotlib.ticker", extra="plots")
    if logarithmic:
        axis.axes.set_xscale("log")
        axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_locator(
        ticker.LogLocator(subs=(1, 2, 5))
        if logarithmic
        else ticker.MaxNLocator(nbins=6, integer=True)
    )
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))


def end_labels(ax: Axes, heights: Any, labels: list[str], colors: list[str]) -> None:
    """Names of lines at their right ends, moved apart where they would lie upon one another."""
    low, high = ax.get_ylim()
    places = (np.asarray(heights) - low) / (high - low)
    order = np.argsort(places)
    apart = spread(places[order], 0.055)  # a line of text, in heights of the picture
    for line, place in zip(order, apart, strict=True):
        ax.text(
            1.01,
            place,
            labels[line],
            color=colors[line],
            va="center",
            transform=ax.transAxes,
            parse_math=False,
        )


def spread(places: Any, closest: float) -> Any:
    """Rising places, moved as little as need be to be so far apart (each cluster about its own
    mean).
    """
    clusters: list[tuple[float, int]] = []
    for place in places:
        clusters.append((float(place), 1))
        while len(clusters) > 1 and _too_near(clusters[-2], clusters[-1], closest):
            (first, m), (second, n) = clusters[-2:]
            clusters[-2:] = [((first * m + second * n) / (m + n), m + n)]
    return np.concatenate(
        [mean + closest * (np.arange(count) - (count - 1) / 2) for mean, count in clusters]
    )


def _too_near(below: tuple[float, int], above: tuple[float, int], closest: float) -> bool:
    return above[0] - below[0] < closest * (above[1] + below[1]) / 2


def limits(low: float, high: float, margin: float = 0.04) -> tuple[float, float]:
    """Ends of an axis that holds both with some room; never empty."""
    room = margin * (high - low) if low < high else abs(low) or 1.0
    return low - room, high + room


def legend(ax: Axes, title: str, **style: Any) -> None:
    """Names of colours beside the axes, as they are written: a dollar sign starts no formula."""
    box = ax.legend(
        title=title,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        alignment="left",
        **style,
    )
    for text in (box.get_title(), *box.get_texts()):
        text.set_parse_math(False)


def color_bar(ax: Axes, ends: tuple[str, str], label: str) -> None:
    """A thin scale from low to high beside the axes."""
    shades = needed("matplotlib.cm", extra="plots").ScalarMappable(cmap=low_to_high())
    shades.set_clim(0, 1)
    bar = ax.figure.colorbar(shades, ax=ax, aspect=42, pad=0.02, fraction=0.04)
    bar.set_ticks([0, 1], labels=list(ends), parse_math=False)
    bar.ax.tick_params(length=0, labelcolor=muted(ax, 0.75))
    # Beside the scale, between the names of its ends: a label proper would stand outside of them.
    bar.ax.text(
        1.9,
        0.5,
        label,
        rotation=90,
        va="center",
        color=muted(ax, 0.75),
        transform=bar.ax.transAxes,
        parse_math=False,
    )
    bar.outline.set_visible(False)
