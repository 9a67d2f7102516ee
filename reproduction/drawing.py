"""Pictures from the kept results: nothing is computed here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.judging import counts, ratio_of_networks, relative
from reproduction.pictures import save
from reproduction.steps import HERE, read

COLOURS = {
    "castro": "#b5562f",
    "castro-antithetic": "#d9a441",
    "owen-printed": "#1f4e79",
    "owen-program": "#4a90c2",
    "owen": "#a3c9e2",
    "halved-owen-printed": "#145a32",
    "halved-owen-program": "#3fa364",
    "halved-owen": "#a9d8b8",
    "owen-corrected": "#7b8ea3",
    "halved-owen-corrected": "#5f7d6b",
    "kernel-shap": "#8e7cc3",
    "leverage-shap": "#5b4b8a",
    "linear": "#c27ba0",
    "gaussian-process": "#741b47",
    "gaussian-process-corrected": "#a64d79",
    "default": "#000000",
    "exact": "#666666",
    "odd-shap": "#6fa8dc",
    "regression-msr": "#45818e",
    "midpoint": "#999999",
    "gauss-legendre": "#333333",
}
SHORT = {
    "castro": "Castro",
    "castro-antithetic": "Castro, antithetic",
    "owen-printed": "Owen, as printed",
    "owen-program": "Owen, program",
    "owen": "Owen, stratified",
    "halved-owen-printed": "Halved, as printed",
    "halved-owen-program": "Halved, program",
    "halved-owen": "Halved, stratified",
    "owen-corrected": "Owen, gap spread",
    "halved-owen-corrected": "Halved, gap spread",
    "kernel-shap": "KernelSHAP",
    "leverage-shap": "LeverageSHAP",
    "linear": "linear fit",
    "gaussian-process": "Gaussian process",
    "gaussian-process-corrected": "Gaussian process, corrected",
    "default": "the default",
    "exact": "exact",
    "odd-shap": "OddSHAP",
    "regression-msr": "RegressionMSR",
    "midpoint": "midpoints",
    "gauss-legendre": "Gauss–Legendre",
}
DASHES = {"owen": "--", "halved-owen": "--", "castro-antithetic": "--", "owen-program": "-."}
DASHES |= {"halved-owen-program": "-."}
DATA = {
    "cc": "credit cards",
    "mnist": "MNIST",
    "breast-cancer": "breast cancer",
    "diabetes": "diabetes",
    "digits": "8 × 8 digits",
    "voting": "a majority of 11",
}
NETWORKS = {
    "mlp": "MLP",
    "residual": "residual MLP",
    "cnn": "CNN, pixel players",
    "cnn-patches": "CNN, 16 patches for players",
}


def draw_all(folder: Path) -> None:
    """A picture beside every result that has one."""
    import matplotlib as mpl

    mpl.use("Agg")
    pictures: dict[str, Callable[[dict[str, Any], Path, str], Any]] = {
        "-networks-table.json": networks_plot,
        "-table.json": box_plot,
        "-curves.json": line_plots,
        "-saliency.json": saliency_maps,
        "-choice.json": choice_maps,
        "-bias.json": bias_plot,
        "-search.json": search_plot,
        "-splits.json": splits_plot,
        "-literal.json": literal_plot,
        "-timing-cpu.json": times_plot,
        "-time-cpu.json": partial(against_time, peers=True),
        "-time-cuda.json": against_time,
        "-tolerance.json": tolerance_plot,
    }
    done = set()
    for ending, draw in pictures.items():
        for path in sorted(folder.glob(f"*{ending}")):
            if path not in done:
                name = path.name.removesuffix(ending)
                figure = draw(read(path)["result"], folder, name)
                _keep(figure, path.with_name(path.name.replace("-timing-cpu.json", "-timing.json")))
            done.add(path)
    for name in ("cc", "mnist"):
        if (folder / f"{name}-field-ours.json").exists():
            _keep(field_plot(folder, name), folder / f"{name}-field-ours.json")
    if (figure := models_plot(folder)) is not None:
        _keep(figure, folder / "models.json")
    for path in sorted(folder.glob("cc-mlp-table.json")):
        figure = box_plot(read(path)["result"], folder, "cc-mlp", linear=True)
        _keep(figure, path.with_name("cc-mlp-table-linear.json"))


def _keep(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    save(figure, path.with_suffix(".png"), dpi=110)
    pyplot.close(figure)


def in_order(names: Iterable[str]) -> list[str]:
    """Methods in the order of COLOURS, each once; files keep no order."""
    there = set(names)
    return [each for each in COLOURS if each in there]


def spoken(name: str) -> str:
    """The data set and the network of a step's name, in words."""
    data = next(each for each in DATA if name.startswith(each))
    network = name.removeprefix(data).removeprefix("-")
    return f"{DATA[data]}, {NETWORKS[network]}" if network else DATA[data]


def box_plot(result: dict[str, Any], folder: Path, name: str, linear: bool = False) -> Any:
    """Fig. 1, left: the error of every row, at equal samples and at equal evaluations; on a linear
    axis as the paper has it, with its three methods and the printed rules.
    """
    from matplotlib import pyplot
    from matplotlib.ticker import NullFormatter

    beside = _beside(folder, name) if name.endswith("-mlp") and not linear else {}
    errors = {
        key: np.atleast_2d(np.asarray(each)).mean(axis=0)
        for key, each in {**result["errors"], **beside}.items()
    }
    names = in_order(key.partition(" ")[0] for key in errors)
    if linear:
        names = [
            each for each in names if each == "castro" or each.endswith(("printed", "program"))
        ]
    every = np.log10(np.maximum(np.concatenate(list(errors.values())), 1e-18))
    decades = 10.0 ** np.floor(every.min()), 10.0 ** np.ceil(every.max())
    figure, axes = pyplot.subplots(
        1,
        2,
        figsize=(12, 4.8 if not linear else 3.2),
        sharey=True,
        sharex=True,
        layout="constrained",
    )
    for axis, kind in zip(axes, ("samples", "evaluations"), strict=True):
        scale = 1e6 if linear else 1.0
        boxes = axis.boxplot(
            [scale * np.maximum(errors.get(f"{each} {kind}", []), 1e-18) for each in names],
            orientation="horizontal",
            patch_artist=True,
            widths=0.6,
            flierprops={"markersize": 3},
            medianprops={"color": "black"},
        )
        for box, each in zip(boxes["boxes"], names, strict=True):
            box.set_facecolor(COLOURS[each])
        if linear:
            axis.set_xlim(left=0)
        else:
            axis.set_xscale("log")
            axis.set_xlim(decades)
            axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_yticks(range(1, len(names) + 1), [SHORT[each] for each in names])
        unit = ", 10⁻⁶" if linear else ""
        axis.set_xlabel(
            f"squared error{unit}, mean over players and repetitions; a box is over rows"
        )
        axis.grid(axis="x", alpha=0.3)
        budget = int(result["evaluations"]["castro samples"])
        of_fits = "; of a fit: coalitions" if "linear samples" in errors and not linear else ""
        samples_said = f"{result['samples']:,} samples each{of_fits}"
        axis.set_title(
            samples_said if kind == "samples" else f"at most {budget:,} evaluations each"
        )
    axes[0].invert_yaxis()
    axis_said = ", on the paper's linear axis" if linear else ""
    figure.suptitle(f"{spoken(name)}: error against exact values{axis_said}")
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
    """Fig. 1, right, and Fig. 2: the error and the paper's statistic against samples, the printed
    divisor beside the program's; bands are 95 % intervals over rows.
    """
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(13, 5.2), layout="constrained")
    samples = np.asarray(result["samples"])
    for each in in_order(result["squared_error"]):
        style = {"color": COLOURS[each], "linestyle": DASHES.get(each, "-"), "linewidth": 1.6}
        for axis, what, first in ((axes[0], "squared_error", 0), (axes[1], "spread", 1)):
            curve = np.asarray(result[what][each], np.float64)[first:]
            low, high = _band(curve)
            axis.plot(samples[first:], curve.mean(axis=1), label=SHORT[each], **style)
            axis.fill_between(samples[first:], low, high, color=COLOURS[each], alpha=0.13, lw=0)
    axes[0].set_title("error of the estimate")
    axes[0].set_ylabel("squared error, mean over players and rows")
    axes[1].set_title("the paper's statistic, over the estimates of all steps so far")
    axes[1].set_ylabel("standard deviation, mean over players and rows")
    for axis in axes:
        axis.set_yscale("log")
        axis.set_xlabel("equivalent samples")
        axis.grid(alpha=0.3)
    axes[1].legend(fontsize=8, ncols=2)
    figure.suptitle(f"{spoken(name)}; bands: 95 % over rows")
    return figure


def _band(curve: Any) -> Any:
    """The 95 % interval of the mean over rows of a curve (steps, rows)."""
    drawn = counts(curve.shape[1]) @ curve.T / curve.shape[1]
    return np.quantile(drawn, [0.025, 0.975], axis=0)


def networks_plot(result: dict[str, Any], _: Path, name: str) -> Any:
    """The ratios to Castro of every network, and of all with their interval."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(12, 3.6), sharey=True, layout="constrained")
    names = in_order(key.partition(" ")[0] for key in result["errors"])
    names.remove("castro")
    for axis, kind in zip(axes, ("samples", "evaluations"), strict=True):
        for place, each in enumerate(names):
            upper, lower = (
                np.asarray(result["errors"][f"{key} {kind}"]) for key in (each, "castro")
            )
            every = upper.mean(axis=1) / lower.mean(axis=1)
            whole = ratio_of_networks(upper, lower)
            axis.plot(
                [whole.low, whole.high], [place, place], color=COLOURS[each], lw=7, alpha=0.35
            )
            axis.plot(every, np.full(len(every), place), "o", color=COLOURS[each], markersize=5)
        axis.axvline(1, color="#999999", linewidth=1)
        axis.set_title(f"equal {kind}")
        axis.set_xlabel("squared error to Castro's; a dot for each network, a bar for all (95 %)")
        axis.set_yticks(range(len(names)), [SHORT[each] for each in names])
        axis.grid(axis="x", alpha=0.3)
    axes[0].invert_yaxis()
    figure.suptitle(f"{spoken(name)}: networks on splits of their own")
    return figure


def literal_plot(result: dict[str, Any], _: Path, name: str) -> Any:
    """Distance from φ of the three readings of line 6 against Q, and where they go."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    labels = {
        "meaning": ("v(S ∪ j) − v(S ∖ j), as meant", "#145a32"),
        "letter": ("x_j twice, the letter", "#b5562f"),
        "sets": ("v(S ∪ j) − v(S)", "#d9a441"),
    }
    for key, (label, colour) in labels.items():
        found = [
            relative(each, result["power"]) for each in np.asarray(result["squared_error"][key])
        ]
        axis.plot(result["levels"], [each.value for each in found], "o-", color=colour, label=label)
        axis.fill_between(
            result["levels"],
            [each.low for each in found],
            [each.high for each in found],
            color=colour,
            alpha=0.15,
            lw=0,
        )
        if key != "meaning":
            limit = relative(result["squared_off"][key], result["power"])
            axis.axhline(
                limit.value, color=colour, linestyle=":", label=f"its limit, {limit.value:.0%} off"
            )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("levels Q, M = 2")
    axis.set_ylabel("root mean squared distance from φ, relative")
    axis.set_title(f"{spoken(name)}: line 6 of Algorithm 1 in three readings")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return figure


def times_plot(_: dict[str, Any], folder: Path, name: str) -> Any:
    """Milliseconds per row on each device."""
    from matplotlib import pyplot

    devices = {
        label: read(folder / f"{name}-timing-{device}.json")["result"]["milliseconds"]
        for device, label in (("cpu", "CPU"), ("cuda", "GPU"))
        if (folder / f"{name}-timing-{device}.json").exists()
    }
    names = list(next(iter(devices.values())))
    figure, axis = pyplot.subplots(figsize=(8, 3.8), layout="constrained")
    height = 0.8 / len(devices)
    for number, (label, times) in enumerate(devices.items()):
        places = np.arange(len(names)) + height * (number - (len(devices) - 1) / 2)
        widths = [times.get(each, np.nan) for each in names]
        bars = axis.barh(places, widths, height, label=label, color=("#7f8c8d", "#2471a3")[number])
        axis.bar_label(
            bars,
            ["" if np.isnan(each) else f"{each:.2g}" for each in widths],
            padding=3,
            fontsize=8,
        )
    axis.set_yticks(range(len(names)), [SHORT.get(each, each) for each in names])
    axis.invert_yaxis()
    axis.margins(x=0.12)
    axis.set_xlim(left=0)
    axis.set_xlabel("milliseconds per row, Table I's samples; of the CPU processor time")
    axis.set_title(f"{spoken(name)}: time per row")
    axis.legend(fontsize=8)
    axis.grid(axis="x", alpha=0.3)
    return figure


def _geometric(axis: Any, places: Any, numbers: Any, key: str, dashes: str = "-") -> None:
    """A line of geometric means over rows, from numbers (places, rows), with its band; the default,
    which is one of the others, as open circles on it.
    """
    logs = np.log(np.maximum(np.asarray(numbers, np.float64), 1e-30))
    drawn = counts(logs.shape[1]) @ logs.T / logs.shape[1]
    low, high = np.exp(np.quantile(drawn, [0.025, 0.975], axis=0))
    middle = np.exp(logs.mean(axis=1))
    if key == "default":
        hollow = {"mfc": "none", "ms": 9, "linestyle": "none", "zorder": 3}
        axis.plot(places, middle, "o", color=COLOURS[key], label=SHORT[key], **hollow)
        return
    axis.plot(places, middle, "o", linestyle=dashes, color=COLOURS[key], label=SHORT[key], ms=4)
    axis.fill_between(places, low, high, color=COLOURS[key], alpha=0.12, linewidth=0)


def field_plot(folder: Path, name: str) -> Any:
    """Relative squared error of the whole field at equal evaluations."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for who, dashes in (("ours", "-"), ("peers", "--")):
        path = folder / f"{name}-field-{who}.json"
        if not path.exists():
            continue
        found = read(path)["result"]
        for key in in_order(found["errors"]):
            _geometric(axis, found["budgets"], found["errors"][key], key, dashes)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(found["budgets"], [f"{each:,}" for each in found["budgets"]])
    axis.minorticks_off()
    axis.set_xlabel("evaluations" if name == "cc" else "evaluations, times the live pixels")
    axis.set_ylabel("relative squared error, geometric mean over rows")
    axis.set_title(f"{spoken(name)}: the field at equal evaluations; bands: 95 % over rows")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7, ncols=2)
    return figure


def against_time(result: dict[str, Any], folder: Path, name: str, peers: bool = False) -> Any:
    """Squared error against milliseconds per row."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 5), layout="constrained")
    methods = dict(result["methods"])
    if peers and (path := folder / f"{name}-time-peers.json").exists():
        methods |= read(path)["result"]["methods"]
    for key in in_order(methods):
        each = methods[key]
        if key == "exact":
            label = f"exact, {each['milliseconds'][0]:.2g} ms"
            axis.axvline(each["milliseconds"][0], color=COLOURS[key], linestyle=":", label=label)
            continue
        taken = each["milliseconds"]
        errors = np.asarray(each["errors"], np.float64).reshape(len(taken), -1)
        axis.plot(taken, errors.mean(axis=1), "o-", color=COLOURS[key], label=SHORT[key], ms=4)
        low, high = _band(errors)
        axis.fill_between(taken, low, high, color=COLOURS[key], alpha=0.12, linewidth=0)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("milliseconds per row, fits included")
    axis.set_ylabel("squared error")
    axis.set_title(f"{spoken(name)}: error against time; bands: 95 % over rows")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return figure


def tolerance_plot(result: dict[str, Any], _: Path, name: str) -> Any:
    """Evaluations until a stated accuracy."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 4.4), layout="constrained")
    asked = [float(each.rstrip("%")) for each in result["tolerances"]]
    for key, each in result["methods"].items():
        _geometric(axis, asked, np.transpose(each["evaluations"]), key)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(asked, result["tolerances"])
    axis.minorticks_off()
    axis.invert_xaxis()
    axis.set_xlabel("all values within, in shares of the range, at 95 %")
    axis.set_ylabel("evaluations, geometric mean over rows")
    axis.set_title(f"{spoken(name)}: evaluations for a stated accuracy; bands: 95 % over rows")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return figure


def models_plot(folder: Path) -> Any:
    """Ratios to Castro at equal evaluations, model by model."""
    from matplotlib import pyplot

    titles = {
        "cc-residual": "CC, 16 players, residual MLP",
        "cc23-mlp": "CC, 24 players, MLP",
        "cc23-trees": "CC, 23 players, boosted trees",
        "mnist-cnn": "MNIST, 16 patches, CNN",
        "mnist-rescnn": "MNIST, 16 patches, residual CNN",
        "text-transformer": "text, 14 tokens, transformer",
    }
    paths = [path for each in titles if (path := folder / f"{each}-ratios.json").exists()]
    if not paths:
        return None
    across = min(3, len(paths))
    down = -(-len(paths) // across)
    figure, axes = pyplot.subplots(
        down,
        across,
        figsize=(3.6 * across + 2, 3.3 * down + 0.4),
        sharey=True,
        layout="constrained",
        squeeze=False,
    )
    for axis in axes.flat[len(paths) :]:
        axis.set_axis_off()
    for axis, path in zip(axes.flat, paths, strict=False):
        errors = read(path)["result"]["errors"]
        names = in_order(key.partition(" ")[0] for key in errors)
        names.remove("castro")
        for place, each in enumerate(names):
            upper, lower = (
                np.atleast_2d(np.asarray(errors[f"{key} evaluations"])) for key in (each, "castro")
            )
            whole = ratio_of_networks(upper, lower)
            axis.plot(
                [whole.low, whole.high], [place, place], color=COLOURS[each], lw=7, alpha=0.35
            )
            axis.plot(
                upper.mean(axis=1) / lower.mean(axis=1),
                [place] * len(upper),
                "o",
                color=COLOURS[each],
            )
        axis.axvline(1, color="#999999", linewidth=1)
        axis.set_yticks(range(len(names)), [SHORT[each] for each in names])
        axis.set_title(titles[path.name.removesuffix("-ratios.json")], fontsize=10)
        axis.grid(axis="x", alpha=0.3)
    axes[0, 0].invert_yaxis()
    figure.suptitle("squared error to Castro's at equal evaluations; dots: models, bars: 95 %")
    return figure


def saliency_maps(result: dict[str, Any], _: Path, name: str) -> Any:
    """Fig. 3: blue negative, red positive, each map symmetric about zero."""
    from matplotlib import pyplot

    images = np.asarray(result["images"])[:, -_square(np.asarray(result["images"]).shape[1]) :]
    side = round(images.shape[1] ** 0.5)
    columns = {"truth": f"Castro, {result['truth_samples']:,}", "castro-12": "Castro, 12"}
    columns |= {
        "halved-printed": "Halved, M = 2, Q = 6,\nas printed",
        "halved-program": "the same,\nprogram's divisor",
        "castro-same": "Castro,\nas many evaluations",
        "ours-corrected": "Halved, gap spread,\nas many evaluations",
        "gaussian-process": "Gaussian process,\nas many evaluations",
        "default": "the default,\nas many evaluations",
    }
    columns = {key: title for key, title in columns.items() if f"map {key}" in result}
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
                scores = {score: each[row] for score, each in result["scores"][key].items()}
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
    every = np.asarray(result["accuracy"])
    scores, spread = every.mean(axis=1), every.std(axis=1, ddof=1) / every.shape[1] ** 0.5
    for layers, colour in enumerate(("#999999", "#d9a441", "#2471a3", "#1e7d43")):
        which = [place for place, each in enumerate(widths) if len(each) == layers]
        first = [widths[place][0] if layers else 0 for place in which]
        axis.errorbar(
            first,
            scores[which],
            spread[which],
            fmt="o",
            color=colour,
            label=f"{layers} hidden layers",
            markersize=4,
            alpha=0.5,
            elinewidth=0.7,
        )
    winners = [*_known_winners(name), (result["winner"].removeprefix("mlp "), "ours")]
    labelled = 0
    for named, how in sorted(winners, key=lambda each: int(each[0].partition("-")[0])):
        if named in result["architectures"]:
            place = result["architectures"].index(named)
            where = widths[place][0] if widths[place] else 0, scores[place]
            axis.plot(*where, "o", markersize=9, markerfacecolor="none", color="black")
            # in the order of the points, so that no label and no line covers another
            axis.annotate(
                f"{named} ({how})",
                where,
                xytext=(0.3 + 0.24 * labelled, 0.06),
                textcoords="axes fraction",
                fontsize=9,
                bbox={"boxstyle": "round", "fc": "white", "ec": "#cccccc"},
                arrowprops={"arrowstyle": "-", "color": "#444444", "lw": 0.8},
            )
            labelled += 1
    lowest = np.quantile(scores, 0.1)
    axis.set_ylim(lowest, scores.max() + 0.1 * (scores.max() - lowest))
    axis.set_xlabel("width of the first hidden layer")
    axis.set_ylabel(f"validation accuracy, mean of {result['trainings']} trainings")
    axis.set_title(
        f"{spoken(name)}: {len(scores)} architectures, bars: one standard error; the lowest "
        "tenth lies below",
        fontsize=10,
    )
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return figure


def _known_winners(name: str) -> list[tuple[str, str]]:
    """The architectures of the paper and of its program."""
    known = json.loads((HERE / "expected.json").read_text())["networks"].get(name, {})
    found: dict[str, list[str]] = {}
    for who in ("paper", "program"):
        if who in known:
            found.setdefault(known[who]["architecture"], []).append(who)
    return [(architecture, ", ".join(who)) for architecture, who in found.items()]


def splits_plot(result: dict[str, Any], _: Path, name: str) -> Any:
    """Test accuracies over splits."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    for way, colour, marker in (("paper", "#2471a3", "o"), ("program", "#3fa364", "s")):
        tests = np.asarray(result["ways"][way]["test"])
        label = f"{way}'s training, {tests.mean():.4f} ± {tests.std(ddof=1):.4f}"
        axis.plot(np.arange(len(tests)), tests, marker, color=colour, label=label)
    axis.plot(np.arange(len(tests)), result["rule"], "-", color="#b5562f", label="PAY_0 > 1 alone")
    axis.axhline(0.8247, color="#999999", linestyle=":", label="the paper, 0.8247")
    axis.set_xticks(np.arange(len(tests)))
    axis.set_xlabel("seed of the split")
    axis.set_ylabel("test accuracy")
    axis.legend(fontsize=8, ncols=2, loc="upper center")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.3 * (high - low))
    axis.set_title(f"{spoken(name)}: {result['architecture']} on plain random splits")
    axis.grid(alpha=0.3)
    return figure
