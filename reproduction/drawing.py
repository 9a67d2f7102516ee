"""Pictures from the kept results: nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.pictures import save
from reproduction.steps import read

COLOURS = {
    "castro": "#b5562f",
    "castro-antithetic": "#d9a441",
    "owen-printed": "#7fb3d5",
    "owen-printed-paper": "#a9cce3",
    "owen": "#2471a3",
    "halved-owen-printed": "#82c596",
    "halved-owen-printed-paper": "#b5dfc0",
    "halved-owen": "#1e7d43",
    "kernel-shap": "#8e7cc3",
    "leverage-shap": "#5b4b8a",
    "linear": "#c27ba0",
    "gaussian-process": "#741b47",
    "midpoint": "#999999",
    "gauss-legendre": "#333333",
}
SHORT = {
    "castro": "Castro",
    "castro-antithetic": "Castro, antithetic",
    "owen-printed": "Owen (program)",
    "owen-printed-paper": "Owen (as printed)",
    "owen": "Owen, stratified",
    "halved-owen-printed": "Halved Owen (program)",
    "halved-owen-printed-paper": "Halved (as printed)",
    "halved-owen": "Halved Owen, stratified",
    "kernel-shap": "KernelSHAP",
    "leverage-shap": "LeverageSHAP",
    "linear": "linear fit",
    "gaussian-process": "Gaussian process",
    "midpoint": "midpoints",
    "gauss-legendre": "Gauss–Legendre",
}
DATA = {
    "cc": "credit cards",
    "mnist": "MNIST",
    "breast-cancer": "breast cancer",
    "diabetes": "diabetes",
    "digits": "8 × 8 digits",
}
NETWORKS = {
    "mlp": "MLP",
    "residual": "residual MLP",
    "cnn": "CNN, pixel players",
    "cnn-patches": "CNN, 16 patches for players",
}
SOLID = (
    "castro",
    "owen-printed",
    "halved-owen-printed",
    "owen-printed-paper",
    "halved-owen-printed-paper",
)


def draw_all(folder: Path) -> None:
    """A picture beside every result that has one."""
    import matplotlib as mpl

    mpl.use("Agg")
    pictures: dict[str, Callable[[dict[str, Any], Path, str], Any]] = {
        "-table.json": box_plot,
        "-curves.json": line_plots,
        "-saliency.json": saliency_maps,
        "-choice.json": choice_maps,
        "-bias.json": bias_plot,
        "-search.json": search_plot,
        "-splits.json": splits_plot,
    }
    for ending, draw in pictures.items():
        for path in sorted(folder.glob(f"*{ending}")):
            figure = draw(read(path)["result"], folder, path.name.removesuffix(ending))
            save(figure, path.with_suffix(".png"), dpi=110)
            from matplotlib import pyplot

            pyplot.close(figure)


def spoken(name: str) -> str:
    """The data set and the network of a step's name, in words."""
    data = next(each for each in DATA if name.startswith(each))
    network = name.removeprefix(data).removeprefix("-")
    return f"{DATA[data]}, {NETWORKS[network]}" if network else DATA[data]


def box_plot(result: dict[str, Any], folder: Path, name: str) -> Any:
    """Fig. 1, left: the error of every row, at equal samples and at equal evaluations."""
    from matplotlib import pyplot
    from matplotlib.ticker import NullFormatter

    errors = {**result["errors"], **(_beside(folder, name) if name.endswith("-mlp") else {})}
    names = [key.partition(" ")[0] for key in errors if key.endswith(" samples")]
    every = np.log10(
        np.maximum(np.concatenate([np.asarray(each) for each in errors.values()]), 1e-18)
    )
    decades = 10.0 ** np.floor(every.min()), 10.0 ** np.ceil(every.max())
    figure, axes = pyplot.subplots(
        1, 2, figsize=(12, 4.8), sharey=True, sharex=True, layout="constrained"
    )
    for axis, kind in zip(axes, ("samples", "evaluations"), strict=True):
        boxes = axis.boxplot(
            [np.maximum(errors.get(f"{each} {kind}", []), 1e-18) for each in names],
            orientation="horizontal",
            patch_artist=True,
            widths=0.6,
            flierprops={"markersize": 3},
            medianprops={"color": "black"},
        )
        for box, each in zip(boxes["boxes"], names, strict=True):
            box.set_facecolor(COLOURS[each])
        axis.set_xscale("log")
        axis.set_xlim(decades)
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_yticks(range(1, len(names) + 1), [SHORT[each] for each in names])
        axis.set_xlabel("squared error, mean over players and repetitions; each box is over rows")
        axis.grid(axis="x", alpha=0.3)
        budget = int(result["evaluations"]["castro samples"])
        of_fits = "; of a fit: coalitions" if "linear samples" in errors else ""
        samples_said = f"{result['samples']:,} samples each{of_fits}"
        axis.set_title(
            samples_said if kind == "samples" else f"at most {budget:,} evaluations each"
        )
    axes[0].invert_yaxis()
    figure.suptitle(f"{spoken(name)}: error against exact values")
    return figure


def _beside(folder: Path, name: str) -> dict[str, Any]:
    """Errors of estimators that fit a surrogate, ours and the peers', where they were run."""
    errors: dict[str, Any] = {}
    if (path := folder / f"{name}-fitted.json").exists():
        errors.update(read(path)["result"]["errors"])
    for peer in ("kernel-shap", "leverage-shap"):
        if (path := folder / f"{name.removesuffix('-mlp')}-{peer}.json").exists():
            errors.update(
                {f"{peer} {kind}": each for kind, each in read(path)["result"]["errors"].items()}
            )
    return errors


def line_plots(result: dict[str, Any], _: Path, name: str) -> Any:
    """Fig. 1, right, and Fig. 2: the error and the paper's statistic against samples."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    for each, squared in result["squared_error"].items():
        style = {
            "color": COLOURS[each],
            "label": SHORT[each],
            "linestyle": "-" if each in SOLID else "--",
            "linewidth": 1.6,
        }
        axes[0].plot(result["samples"], squared, **style)
        axes[1].plot(result["samples"][1:], result["spread"][each][1:], **style)
    axes[0].set_yscale("log")
    axes[0].set_title("error of the estimate")
    axes[0].set_ylabel("squared error, mean over players and rows")
    axes[1].set_title("the paper's statistic, over the estimates of all steps so far")
    axes[1].set_ylabel("standard deviation, mean over players and rows")
    axes[1].set_ylim(bottom=0)
    for axis in axes:
        axis.set_xlabel("equivalent samples")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.suptitle(spoken(name))
    return figure


def saliency_maps(result: dict[str, Any], _: Path, name: str) -> Any:
    """Fig. 3: blue negative, red positive, each map symmetric about zero."""
    from matplotlib import pyplot

    images = np.asarray(result["images"])[:, -_square(np.asarray(result["images"]).shape[1]) :]
    side = round(images.shape[1] ** 0.5)
    columns = {"truth": f"Castro, {result['truth_samples']:,}", "castro-12": "Castro, 12"}
    columns |= {
        "halved-printed": "Halved Owen,\nM = 2, Q = 6",
        "castro-same": "Castro,\nas many evaluations",
        "ours": "stratified Halved,\nas many evaluations",
    }
    figure, axes = pyplot.subplots(
        len(images),
        len(columns) + 1,
        figsize=(1.35 * (len(columns) + 1), 1.62 * len(images) + 0.9),
        layout="constrained",
    )
    for row, image in enumerate(images):
        axes[row, 0].imshow(image.reshape(side, side), cmap="gray_r")
        if row == 0:
            axes[row, 0].set_title("image", fontsize=8)
        for column, (key, title) in enumerate(columns.items(), start=1):
            values = np.asarray(result[f"map {key}"])[row][-side * side :].reshape(side, side)
            limit = np.abs(values).max()
            axes[row, column].imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit)
            if row == 0:
                axes[row, column].set_title(title, fontsize=8)
            if key != "truth":
                scores = {score: each[row] for score, each in result["scores_shown"][key].items()}
                text = (
                    f"{scores['relative_error']:.2f} · {scores['correlation']:.2f} · "
                    f"{scores['overlap']:.0%}"
                )
                axes[row, column].set_xlabel(text, fontsize=7, labelpad=2)
    for axis in axes.flat:
        axis.set_xticks([])
        axis.set_yticks([])
    scores_said = "below: relative error · correlation · overlap of the 20 strongest pixels"
    colours_said = (
        "red raises the predicted class's probability, blue lowers it; white is 0, each map to "
        "its own largest value"
    )
    figure.suptitle(f"{spoken(name)}\n{scores_said}\n{colours_said}", fontsize=9)
    return figure


def _square(columns: int) -> int:
    return int(columns**0.5) ** 2


def choice_maps(result: dict[str, Any], _: Path, name: str) -> Any:
    """The error over Q and M; cells of equal Q·M lie on diagonals."""
    from matplotlib import pyplot
    from matplotlib.colors import LogNorm

    levels, per_level = (sorted({cell[place] for cell in result["cells"]}) for place in (0, 1))
    every = np.concatenate(list(result["squared_error"].values()))
    figure, axes = pyplot.subplots(
        1, len(result["squared_error"]), figsize=(15, 4.6), layout="constrained", sharey=True
    )
    for axis, (each, errors) in zip(axes, result["squared_error"].items(), strict=True):
        grid = np.full((len(per_level), len(levels)), np.nan)
        for (q, m), error, bias in zip(
            result["cells"], errors, result["squared_bias"][each], strict=True
        ):
            place = per_level.index(m), levels.index(q)
            grid[place] = error
            share = f"\n{min(1.0, bias / error):.0%}" if bias > 0.01 * error else ""
            dark = np.log(error / every.min()) > 0.6 * np.log(every.max() / every.min())
            colour = "white" if dark else "black"
            axis.text(
                place[1],
                place[0],
                f"{error:.0e}{share}",
                ha="center",
                va="center",
                fontsize=6.5,
                color=colour,
            )
        shown = axis.imshow(
            grid,
            norm=LogNorm(every.min(), every.max()),
            cmap="YlOrBr",
            origin="lower",
            aspect="auto",
        )
        axis.set_xticks(range(len(levels)), levels)
        axis.set_yticks(range(len(per_level)), per_level)
        axis.set_xlabel("levels Q")
        axis.set_title(SHORT[each])
    axes[0].set_ylabel("coalitions per level M")
    figure.colorbar(shown, ax=axes, label="squared error")
    figure.suptitle(
        f"{spoken(name)}: squared error; below it the share that is bias, where it is more than 1 %"
    )
    return figure


def bias_plot(result: dict[str, Any], _: Path, name: str) -> Any:
    """The bias of each rule against its number of levels."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(7, 4.6), layout="constrained")
    for each, squared in result["squared_bias"].items():
        relative = np.sqrt(np.asarray(squared) / result["power"])
        axis.plot(
            result["levels"],
            np.maximum(relative, 1e-16),
            "o-",
            color=COLOURS[each],
            label=SHORT[each],
            markersize=4,
        )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_ylim(bottom=1e-10)
    axis.set_xlabel("levels Q")
    axis.set_ylabel("root mean squared bias / root mean square of φ")
    axis.set_title(f"{spoken(name)}: bias without any sampling; stratified levels have none")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return figure


def search_plot(result: dict[str, Any], _: Path, name: str) -> Any:
    """Validation accuracy of every architecture, by depth and by width of the first layer."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(7, 4.6), layout="constrained")
    widths = [[int(each) for each in text.split("-") if each] for text in result["architectures"]]
    scores = np.asarray(result["validation"])
    for layers, colour in enumerate(("#999999", "#d9a441", "#2471a3", "#1e7d43")):
        which = [place for place, each in enumerate(widths) if len(each) == layers]
        first = [widths[place][0] if layers else 0 for place in which]
        axis.plot(
            first,
            scores[which],
            "o",
            color=colour,
            label=f"{layers} hidden layers",
            markersize=4,
            alpha=0.7,
        )
    best = int(scores.argmax())
    axis.annotate(
        result["winner"], (widths[best][0] if widths[best] else 0, scores[best]), fontsize=9
    )
    lowest = np.quantile(scores, 0.1)
    axis.set_ylim(lowest, scores.max() + 0.1 * (scores.max() - lowest))
    axis.set_xlabel("width of the first hidden layer")
    axis.set_ylabel(f"validation accuracy, mean of {result['trainings']} trainings")
    axis.set_title(
        f"{spoken(name)}: {sum(result['drawn'])} draws, {len(scores)} architectures; the lowest "
        "tenth lies below"
    )
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return figure


def splits_plot(result: dict[str, Any], _: Path, name: str) -> Any:
    """Test accuracies over splits."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(7, 3.2), layout="constrained")
    tests = np.asarray(result["test"])
    axis.plot(np.arange(len(tests)), tests, "o", color="#2471a3", label=result["architecture"])
    axis.plot(np.arange(len(tests)), result["rule"], "-", color="#b5562f", label="PAY_0 > 1")
    axis.axhline(0.8247, color="#999999", linestyle=":", label="the paper")
    axis.axhline(0.8223, color="#999999", linestyle="--", label="the program")
    axis.set_xticks(np.arange(len(tests)))
    axis.set_xlabel("seed of the split")
    axis.set_ylabel("test accuracy")
    axis.legend(fontsize=8, ncols=4, loc="upper center")
    axis.set_ylim(min(0.815, tests.min() - 0.001), 0.8275)
    axis.set_title(f"{spoken(name)}: the same network on {len(tests)} splits")
    axis.grid(alpha=0.3)
    return figure
