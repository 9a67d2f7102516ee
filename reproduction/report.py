"""RESULTS.md from the kept results: every number is read from a file, the paper's and the program's
stand beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.drawing import SHORT
from reproduction.steps import HERE, read
from reproduction.variants import VARIANTS

TABULAR, IMAGES = ("cc", "breast-cancer", "diabetes"), ("mnist", "digits")
PEERS = ("kernel-shap", "leverage-shap")
FITTED = {"linear": "Linear fit", "gaussian-process": "Gaussian process, lengths pooled over rows"}
NONE = "–"


class Results:
    """The results in a folder, by name; None where a step was not run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.expected = json.loads((HERE / "expected.json").read_text())

    def __call__(self, name: str) -> Any:
        path = self.folder / f"{name}.json"
        return read(path)["result"] if path.exists() else None

    def whole(self, name: str) -> Any:
        """The whole file, with device and seconds."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None


def write(folder: Path, path: Path) -> None:
    """Write the report of the results in a folder."""
    results = Results(folder)
    parts = (
        opening,
        networks,
        searches,
        table_one,
        figure_two,
        figure_three,
        choices,
        deeper,
        others,
        claims,
        costs,
    )
    pictures = (
        folder.relative_to(path.parent).as_posix()
        if folder.is_relative_to(path.parent)
        else folder.as_posix()
    )
    text = "\n\n".join(section for part in parts if (section := "\n".join(part(results)).strip()))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("](@", f"]({pictures}/").replace("](./", "](") + "\n")


def opening(_: Results) -> Iterator[str]:
    """What this is."""
    yield "# The paper, reproduced"
    yield ""
    yield "*A Multilinear Sampling Algorithm to Estimate Shapley Values*, Okhrati & Lipani, ICPR 2020. Written by"
    yield "`python -m reproduction` from the files in `results/`; *paper* is what is printed, *program* what the authors' notebooks hold."
    yield "A 'sample' is the paper's: one permutation, or one coalition with the marginal contributions of all players."
    yield "An evaluation is the value of one coalition."


def networks(results: Results) -> Iterator[str]:
    """Accuracies of the reported networks."""
    yield "## Networks\n"
    yield from header("data", "network", "test", "paper", "program", "one-feature rule")
    for name in (*TABULAR[:1], *IMAGES[:1], *TABULAR[1:], *IMAGES[1:]):
        expected = results.expected["networks"].get(name, {})
        for kind in ("mlp", "residual", "cnn"):
            found = results(f"{name}-{kind}-network")
            if found:
                known = expected if kind == "mlp" else {}
                beside = [_known(known, who) for who in ("paper", "program")]
                rule = f"{found['rule']:.4f}" if "rule" in found else NONE
                yield row(name, found["architecture"], f"{found['test']:.4f}", *beside, rule)
    yield "\nTest is the accuracy, for diabetes the share of the variance explained. The final fit is the program's: training and validation"
    yield "rows, 50 epochs (15 for the deeper networks), batches of 300; no bias in the first and last layer of an MLP."
    yield "The deeper networks are there to be explained, and the CNN was chosen for its test accuracy: read it as a condition, not a result."
    splits = results("cc-splits")
    if splits:
        tests, rule = np.asarray(splits["test"]), np.asarray(splits["rule"])
        yield f"\n![accuracies over splits](@cc-splits.png)\n\n**The CC accuracy is the luck of the split.** Over {len(tests)} splits the same"
        yield f"network has {tests.mean():.4f} ± {tests.std(ddof=1):.4f} on the test rows, the rule 'default if PAY_0 > 1' {rule.mean():.4f};"
        yield f"{int((tests > rule).sum())} of {len(tests)} are above the rule and {int((tests >= 0.82).sum())} reach 0.82. The splits keep the shares of"
        yield "target and PAY_0 > 1, so that the rule scores the same on all. All other results are on the first split that reaches 0.82,"
        yield "a choice made with the test rows in sight: it takes a split on which the paper's network is above the rule, not an accuracy to expect."


def _known(expected: dict[str, Any], who: str) -> str:
    if who not in expected:
        return NONE
    return f"{expected[who]['test']:.4f} ({expected[who]['architecture']})"


def searches(results: Results) -> Iterator[str]:
    """Winners of the random searches."""
    names = [name for name in (*TABULAR, *IMAGES) if results(f"{name}-search")]
    if not names:
        return
    yield "## Search over architectures\n"
    yield from header(
        "data",
        "draws, distinct",
        "winner",
        "validation",
        "test",
        "paper's winner: validation, rank",
        "paper",
        "program",
    )
    for name in names:
        found, expected = results(f"{name}-search"), results.expected["networks"].get(name, {})
        scores = dict(zip(found["architectures"], found["validation"], strict=True))
        paper = expected.get("paper", {}).get("architecture")
        place = (
            f"{scores[paper]:.4f}, {1 + sum(each > scores[paper] for each in scores.values())}"
            if paper in scores
            else "not drawn"
            if paper
            else NONE
        )
        beside = [_known(expected, who) for who in ("paper", "program")]
        counts = f"{sum(found['drawn'])}, {len(scores)}"
        yield row(
            name,
            counts,
            found["winner"],
            f"{found['winner_validation']:.4f}",
            f"{found['winner_test']:.4f}",
            place,
            *beside,
        )
    yield "\nEvery distinct architecture is trained 5 times, all together as batched tensors (patience 3, at most 50 epochs); its score is the"
    yield "last validation accuracy, mean of 5. The files `results/*-search.json` list every architecture with its score."
    for name in names:
        found = results(f"{name}-search")
        scores, spread = np.asarray(found["validation"]), np.asarray(found["spread"])
        close = int((scores > scores.max() - np.median(spread)).sum())
        yield f"\n![search on {name}](@{name}-search.png)\n\n{name}: {close} architectures are within one standard deviation of a single training"
        yield f"({np.median(spread):.4f}) of the winner: the search does not single one out."


def table_one(results: Results) -> Iterator[str]:
    """Table I and Fig. 1."""
    found = results("cc-mlp-table")
    if not found:
        return
    whole = results.whole("cc-mlp-table")["settings"]
    yield "## Table I and Fig. 1: error against exact values (CC)\n"
    yield f"{whole['rows']} test rows, {whole['repetitions']} repetitions, {found['samples']} samples (M = 2, Q = {found['samples'] // 2}), 16 players."
    yield "Absolute errors depend on the trained network; the ratios to Castro are to be compared.\n"
    yield from _comparison(results, found, "cc", beside=True)
    yield f"\n{_goals(results, found)} An error of a ratio is about {_ratio_error(found):.0%}, from the rows."
    yield "\nWhere a surrogate is fitted (the rows from the linear fit on) a sample is a coalition, so that equal samples are 15 times fewer evaluations;"
    yield "but for LeverageSHAP the rows of a repetition share their coalitions. Of the methods that the paper names, KernelSHAP without regularisation is the only"
    yield "other one that converges to φ; DASP, Integrated Gradients, DeepLIFT, LIME, LRP, Owen's central-limit form and Fatima et al. are no"
    yield "estimators of φ and have no row."
    yield from _least_work(results, found)
    yield "\n![box plot](@cc-mlp-table.png)"
    yield "\n![line plots](@cc-mlp-curves.png)"
    yield from _times(results)


def _comparison(
    results: Results, found: dict[str, Any], name: str, beside: bool = False
) -> Iterator[str]:
    """The rows of a table such as Table I."""
    castro = float(np.mean(found["errors"]["castro samples"]))
    known = ["paper", "program"] if beside else []
    yield from header(
        "equal samples →",
        "MSE",
        "ratio",
        *known,
        "evaluations",
        "**equal evaluations →**",
        "ratio",
        "evaluations",
    )
    for variant, about in VARIANTS.items():
        yield _line(
            about.label,
            found["errors"],
            found["evaluations"],
            variant,
            castro,
            results,
            about.paper if beside else None,
            beside,
        )
    for label, key, errors, spent in _fits(results, name) if beside else ():
        yield _line(label, errors, spent, key, castro, results, None, beside)


def _fits(results: Results, name: str) -> Iterator[tuple[str, str, Any, Any]]:
    """Estimators that fit a surrogate, ours and the peers': label, key, errors, evaluations."""
    ours = results(f"{name}-mlp-fitted")
    if ours:
        for key, label in FITTED.items():
            yield (
                f"{label} (ours; {ours['repetitions'][key]} repetitions)",
                key,
                ours["errors"],
                ours["evaluations"],
            )
    for peer in PEERS:
        found = results(f"{name}-{peer}")
        if found:
            errors, spent = (
                {f"{peer} {kind}": each for kind, each in found[what].items()}
                for what in ("errors", "evaluations")
            )
            yield (
                f"{SHORT[peer]} ({found['version']}; {found['repetitions']} repetitions)",
                peer,
                errors,
                spent,
            )


def _line(
    label: str,
    errors: Any,
    spent: Any,
    key: str,
    castro: float,
    results: Results,
    paper: str | None,
    beside: bool,
) -> str:
    known = results.expected["table"].get(paper or "")
    both = [
        f"{known[who]['mse']:.3g} · {known[who]['ratio']:.2f}" if known else NONE
        for who in ("paper", "program")
    ]
    cells: list[str] = []
    for kind in ("samples", "evaluations"):
        if f"{key} {kind}" in errors:
            error = float(np.mean(errors[f"{key} {kind}"]))
            ratio = error / castro
            cells += [f"{error:.3g}", f"{ratio:.3g}", f"{spent[f'{key} {kind}']:,.0f}"]
        else:
            cells += [NONE] * 3
    return row(label, *cells[:2], *(both if beside else []), *cells[2:])


def _least_work(results: Results, found: dict[str, Any]) -> Iterator[str]:
    """What the Gaussian process reaches with a fifteenth of the evaluations."""
    ours, key = results("cc-mlp-fitted"), "gaussian-process samples"
    if ours and key in ours["errors"]:
        error, spent = float(np.mean(ours["errors"][key])), ours["evaluations"][key]
        castro, halved = (
            float(np.mean(found["errors"][f"{each} evaluations"]))
            for each in ("castro", "halved-owen-printed")
        )
        yield f"\nWith {spent:,} evaluations the Gaussian process has {error / castro:.2g} of the error that Castro, and {error / halved:.2g} of that which Halved Owen (program)"
        yield f"have with up to {found['evaluations']['castro samples']:,}. Its fit takes time of its own, so that it pays where a model is slow."
        yield "At Castro's evaluations it would be eight fits of 1,875 pairs for every row, too slow for a table."


def _goals(results: Results, found: dict[str, Any]) -> str:
    castro = float(np.mean(found["errors"]["castro samples"]))
    said = []
    for kind, keys in (
        ("owen", ("owen-printed", "owen-printed-paper")),
        ("halved", ("halved-owen-printed", "halved-owen-printed-paper")),
    ):
        low, high = results.expected["ratio_goals"][kind]
        ratios = [float(np.mean(found["errors"][f"{key} samples"])) / castro for key in keys]
        inside = all(low <= each <= high for each in ratios)
        label = "Owen" if kind == "owen" else "Halved Owen"
        said.append(
            f"{label} {' and '.join(f'{each:.2f}' for each in ratios)} "
            f"({'inside' if inside else 'outside'} {low}–{high})"
        )
    return (
        "Ratios of the paper's variants (program's and printed divisor): " + "; ".join(said) + "."
    )


def _ratio_error(found: dict[str, Any]) -> float:
    """Relative standard error of the ratio of Owen to Castro, over rows."""
    castro, owen = (
        np.asarray(found["errors"][f"{key} samples"]) for key in ("castro", "owen-printed")
    )
    ratio = owen.mean() / castro.mean()
    return float(np.std(owen - ratio * castro, ddof=1) / np.sqrt(len(castro)) / owen.mean())


def _times(results: Results) -> Iterator[str]:
    devices = {device: results.whole(f"cc-timing-{device}") for device in ("cpu", "cuda")}
    devices = {device: each for device, each in devices.items() if each}
    if not devices:
        return
    yield "\nMilliseconds per row, all rows in one call of `owenshap.Explainer` (program: seconds for 50 repetitions / 50); each ratio is to Castro on the same device.\n"
    columns = [column for each in devices.values() for column in (each["device"], "ratio")]
    both = (
        [each["result"]["milliseconds"] for each in devices.values()] if len(devices) == 2 else []
    )
    columns += ["cpu / GPU"] if both else []
    yield from header("", *columns, "paper (GPU)", "ratio", "program", "ratio")
    for key, paper in (
        ("castro", "castro"),
        ("castro-antithetic", None),
        ("owen-printed", "owen"),
        ("owen", None),
        ("halved-owen-printed", "halved"),
        ("halved-owen", None),
        ("exact", None),
    ):
        cells = []
        for each in devices.values():
            times = each["result"]["milliseconds"]
            cells += [f"{times[key]:.3g}", f"{times[key] / times['castro']:.2f}"]
        cells += [f"{both[0][key] / both[1][key]:.1f}"] if both else []
        cells += _known_times(results, paper)
        yield row(SHORT.get(key, "exact, all 2¹⁶ coalitions"), *cells)


def _known_times(results: Results, paper: str | None) -> list[str]:
    if paper is None:
        return [NONE] * 4
    table = results.expected["table"]
    printed, program = (
        table[paper]["paper"]["ms"],
        1000 * table[paper]["program"]["seconds_of_50"] / 50,
    )
    first, first_program = (
        table["castro"]["paper"]["ms"],
        1000 * table["castro"]["program"]["seconds_of_50"] / 50,
    )
    return [
        f"{printed:.3f}",
        f"{printed / first:.2f}",
        f"{program:.0f}",
        f"{program / first_program:.2f}",
    ]


def figure_two(results: Results) -> Iterator[str]:
    """Fig. 2 and the honest error."""
    names = [name for name in ("cc", "mnist") if results(f"{name}-mlp-curves")]
    if not names:
        return
    yield "## Fig. 2: the paper's variance analysis, and the error\n"
    yield "The paper's statistic at step t is the standard deviation of the estimates at 2, 4, …, 2t samples, averaged over players and rows."
    yield "It mixes estimates of very different quality, so that the noise of the first steps stays in it for ever: it falls like the mean of"
    yield "the past, not like the error of the estimate at t. And it is blind to bias: a constant would score 0. The error against exact values"
    yield "(CC) or near-exact ones (MNIST: the unbiased halved rule with very many stars) over the same steps stands beside it.\n"
    yield from header(
        "data",
        "",
        "statistic at the end",
        "to Castro",
        "root mean squared error at the end",
        "squared error to Castro",
    )
    for name in names:
        found = results(f"{name}-mlp-curves")
        for key, spread in found["spread"].items():
            error = f"{found['squared_error'][key][-1] ** 0.5:.2e}"
            to_castro = f"{spread[-1] / found['spread']['castro'][-1]:.2f}"
            yield row(
                name,
                SHORT[key],
                f"{spread[-1]:.2e}",
                to_castro,
                error,
                f"{_late_ratio(found, key, 'castro'):.2f}",
            )
    yield "\nThe last column is over the second half of the steps, where it is steady."
    for name in names:
        yield f"\n![{name}](@{name}-mlp-curves.png)\n\n{_order(results(f'{name}-mlp-curves'), name)}"


def _late_ratio(found: dict[str, Any], key: str, other: str) -> float:
    """Ratio of squared errors over the second half of the steps."""
    half = len(found["samples"]) // 2
    return float(
        np.mean(found["squared_error"][key][half:]) / np.mean(found["squared_error"][other][half:])
    )


def _order(found: dict[str, Any], name: str) -> str:
    """Whether Castro > Owen > Halved holds step by step, as in the paper's Fig. 2."""
    castro, owen, halved = (
        np.asarray(found["spread"][key])[1:]
        for key in ("castro", "owen-printed", "halved-owen-printed")
    )
    samples = np.asarray(found["samples"])[1:]
    text = (
        f"{name}: Castro > Owen in {np.mean(castro > owen):.0%} of the steps, Owen > Halved in "
        f"{np.mean(owen > halved):.0%}"
    )
    last = samples[halved >= owen]
    return (
        text
        + (f" (Halved is above Owen at steps up to {last.max()})." if len(last) else ".")
        + (
            " The paper: Castro > Owen > Halved"
            + (", except at the first few steps of MNIST." if name == "mnist" else ".")
        )
    )


def figure_three(results: Results) -> Iterator[str]:
    """Fig. 3."""
    found = results("mnist-mlp-saliency")
    if found:
        yield "## Fig. 3: saliency maps (MNIST)\n"
        yield from _saliency(found)
        yield "\nThe paper gives pictures only; no number of its own can stand here.\n\n![saliency maps](@mnist-mlp-saliency.png)"


def _saliency(found: dict[str, Any]) -> Iterator[str]:
    yield f"Means over {found['more']} digits that are not shown, against Castro with {found['truth_samples']:,} permutations.\n"
    yield from header(
        "", "evaluations", "relative error", "correlation", "overlap of the 20 strongest"
    )
    labels = {
        "castro-12": "Castro, 12 permutations",
        "halved-printed": "Halved Owen, M = 2, Q = 6 (14 coalitions)",
        "castro-same": "Castro, evaluations of Halved Owen",
        "ours": "stratified Halved Owen (ours), evaluations of Halved Owen",
        "near-exact": "the ground truth against as many stars of ours",
    }
    for key, label in labels.items():
        means = found["means_more"].get(key)
        if means:
            cost = f"{found['evaluations'][key]:,.0f}" if key in found["evaluations"] else NONE
            yield row(
                label,
                cost,
                *(f"{means[each]:.3f}" for each in ("relative_error", "correlation", "overlap")),
            )


def choices(results: Results) -> Iterator[str]:
    """Which Q and M; the bias of the grids."""
    found, biases = results("cc-choice"), results("cc-bias")
    if not found or not biases:
        return
    yield "## Which Q and M, and how biased the grids are (CC)\n"
    yield "Squared error with Q·M = 1000 coalitions, by the split into levels and coalitions per level; in brackets the share that is bias.\n"
    cells = [tuple(each) for each in found["cells"]]
    shown = [cell for cell in cells if cell[0] * cell[1] == 1000]
    yield from header("", *(f"Q = {q}, M = {m}" for q, m in shown))
    for key, errors in found["squared_error"].items():
        texts = []
        for cell in shown:
            place = cells.index(cell)
            share = found["squared_bias"][key][place] / errors[place]
            texts.append(
                f"{errors[place]:.2g}" + (f" ({min(1.0, share):.0%})" if share > 0.01 else "")
            )
        yield row(SHORT[key], *texts)
    yield "\nThe answer to the paper's question: **as many levels as the budget has coalitions, M = 1**. The variance depends on Q·M alone, the bias"
    yield "of a grid falls with Q; with stratified levels there is no bias, and the split hardly matters."
    yield "\n![Q and M](@cc-choice.png)\n"
    yield "Root mean squared bias relative to the root mean square of φ, computed without sampling:\n"
    shown_levels = [q for q in (2, 10, 100, 1000) if q in biases["levels"]]
    yield from header("rule", *(f"Q = {q}" for q in shown_levels))
    for key, squared in biases["squared_bias"].items():
        yield row(
            SHORT[key],
            *(
                f"{(squared[biases['levels'].index(q)] / biases['power']) ** 0.5:.2g}"
                for q in shown_levels
            ),
        )
    yield "\n(The program's halved rule has the bias of its full one.)\n\n![bias](@cc-bias.png)"


def deeper(results: Results) -> Iterator[str]:
    """Deeper networks."""
    parts = [
        ("cc-residual-table", "Residual MLP on CC (16 players, exact)"),
        ("mnist-cnn-patches-table", "CNN on MNIST, 16 patches of 7 × 7 pixels (exact)"),
    ]
    if not any(results(name) for name, _ in parts):
        return
    yield "## Deeper networks\n"
    for name, title in parts:
        found = results(name)
        if found:
            yield f"**{title}**\n"
            yield from _comparison(results, found, "")
            yield f"\n![{title}](@{name}.png)\n"
    pixels = results("mnist-cnn-saliency")
    if pixels:
        yield "**CNN on MNIST, pixel players**\n"
        yield from _saliency(pixels)
        yield "\nThe ground truth has fewer permutations than the MLP's, since a CNN needs every input built; how far it is from the truth is at most"
        yield "about what the last row says."
        yield "\n![CNN saliency maps](@mnist-cnn-saliency.png)"


def others(results: Results) -> Iterator[str]:
    """The embedded data sets."""
    tables = [
        (name, kind)
        for name in TABULAR[1:]
        for kind in ("mlp", "residual")
        if results(f"{name}-{kind}-table")
    ]
    tables += [("digits", "cnn-patches")] if results("digits-cnn-patches-table") else []
    if not tables:
        return
    yield "## Other data sets\n"
    yield "Ratios to Castro at equal samples; in brackets at equal evaluations.\n"
    yield from header("", *(f"{name}, {kind}" for name, kind in tables))
    for key, variant in VARIANTS.items():
        cells = []
        for name, kind in tables:
            errors = results(f"{name}-{kind}-table")["errors"]
            castro = float(np.mean(errors["castro samples"]))
            same, equal = (
                float(np.mean(errors[f"{key} {each}"])) / castro
                for each in ("samples", "evaluations")
            )
            cells.append(f"{same:.2g} ({equal:.2g})")
        yield row(variant.label, *cells)
    digits = results("digits-mlp-saliency")
    if digits:
        yield "\n**8 × 8 digits, MLP, pixel players**\n"
        yield from _saliency(digits)


def claims(results: Results) -> Iterator[str]:
    """What the paper says and what was found."""
    yield "## What the paper claims, and what was found\n"
    yield row("claim", "found")
    yield row("---", "---")
    found, curves = results("cc-mlp-table"), results("cc-mlp-curves")
    if found:
        castro = float(np.mean(found["errors"]["castro samples"]))
        ratio = {key: float(np.mean(each)) / castro for key, each in found["errors"].items()}
        lower = (
            max(
                ratio[f"{key} {kind}"]
                for key in ("owen-printed", "halved-owen-printed")
                for kind in ("samples", "evaluations")
            )
            < 1
        )
        yield row(
            "Owen and Halved Owen have a lower error than Castro",
            f"{'Holds' if lower else 'Does not hold'}: ratios {ratio['owen-printed samples']:.2f} "
            f"and {ratio['halved-owen-printed samples']:.2f} at equal samples, "
            f"{ratio['owen-printed evaluations']:.2f} and "
            f"{ratio['halved-owen-printed evaluations']:.2f} at equal evaluations",
        )
        reversed_, halved, ours = (
            ratio[f"{key} evaluations"]
            for key in ("castro-antithetic", "halved-owen-printed", "halved-owen")
        )
        yield row(
            "Halved Owen is the best of the three (only plain Castro is compared)",
            "Among the three, yes. But permutations together with their reverses, at Castro's "
            f"cost, reach {reversed_:.2f}, "
            f"against {halved:.2f} (Halved, program) and {ours:.2f} (Halved, stratified)"
            + (
                ": the gain is the antithetic pair's more than the levels'"
                if reversed_ < 1.15 * halved
                else ""
            ),
        )
    yield from _claims_on_times(results)
    if curves:
        first = min(
            range(1, len(curves["samples"])), key=lambda place: abs(curves["samples"][place] - 20)
        )
        error, spread = (
            np.asarray(curves[key]["halved-owen-printed"]) for key in ("squared_error", "spread")
        )
        yield row(
            "A decrease of the averaged standard deviations confirms convergence (Fig. 2)",
            "Does not follow: the statistic is blind to bias, and holds the noise of all steps "
            "before. From "
            f"{curves['samples'][first]} to {curves['samples'][-1]} samples the error of Halved "
            "Owen falls by a factor of "
            f"{(error[first] / error[-1]) ** 0.5:.1f}, the statistic by "
            f"{spread[first] / spread[-1]:.1f}",
        )
    digits = results("mnist-mlp-curves")
    if digits:
        printed, ours = (
            digits["spread"][key][-1] / digits["spread"]["castro"][-1]
            for key in ("halved-owen-printed", "halved-owen")
        )
        late = {
            key: _late_ratio(digits, key, "castro")
            for key in ("owen-printed", "halved-owen-printed", "halved-owen")
        }
        yield row(
            "On MNIST the Owen samplings have the lower variance, Halved the lowest (Fig. 2)",
            f"Of the statistic, yes ({printed:.2f} of Castro's at the end). Much of that is its "
            "first steps, where the program's grid of few levels is "
            "biased but steady, and has 4 coalitions for 2 permutations: with unbiased levels it "
            f"is {ours:.2f}. The squared errors over the second half of "
            f"the steps are {late['owen-printed']:.2f} (Owen), {late['halved-owen-printed']:.2f} "
            f"(Halved) and {late['halved-owen']:.2f} (Halved, stratified) of Castro's",
        )
    choice = results("cc-choice")
    if choice:
        cells, errors = (
            [tuple(each) for each in choice["cells"]],
            choice["squared_error"]["halved-owen-printed"],
        )
        few, many = (errors[cells.index(cell)] for cell in ((10, 1), (1000, 1)))
        wide = errors[cells.index((10, 100))]
        yield row(
            "The algorithms converge only when both Q and M increase",
            f"Too strict: with M = 1 the error of Halved Owen falls from {few:.1g} (Q = 10) to "
            f"{many:.1g} (Q = 1000), "
            f"below Q = 10, M = 100 ({wide:.1g}); Q alone is enough, M alone is not",
        )
    biases = results("cc-bias")
    if biases:
        at = biases["levels"].index(10)
        off = {
            key: (each[at] / biases["power"]) ** 0.5 for key, each in biases["squared_bias"].items()
        }
        yield row(
            "Algorithms 1 and 2 as printed (divided by Q·M, ½ counted twice)",
            f"Biased by {off['owen-printed-paper']:.0%} and "
            f"{off['halved-owen-printed-paper']:.0%} at Q = 10; the program's divisor leaves "
            f"{off['owen-printed']:.1%}",
        )
    splits = results("cc-splits")
    if splits:
        tests, rule = np.asarray(splits["test"]), np.asarray(splits["rule"])
        yield row(
            "The CC network has a test accuracy of 0.8247",
            f"Not reproduced: {tests.mean():.4f} on average over {len(tests)} splits, at most "
            f"{tests.max():.4f}; one feature alone has {rule.mean():.4f} "
            "(the program has 0.8247 on the validation rows and 0.8223 on the test rows)",
        )


def _claims_on_times(results: Results) -> Iterator[str]:
    said = []
    for device in ("cpu", "cuda"):
        whole = results.whole(f"cc-timing-{device}")
        if whole:
            times = whole["result"]["milliseconds"]
            said.append(f"{times['castro'] / times['owen-printed']:.2f} on {whole['device']}")
    if said:
        yield row(
            "Owen is about 3 times as fast as Castro",
            f"Castro's time over Owen's here: {', '.join(said)}. A star takes n + 1 evaluations "
            "and a chain n − 1, so that a factor is the "
            "implementation's: in the program its way of building Castro's inputs, here that the "
            "coalitions of a star share their centre's first layer",
        )


def costs(results: Results) -> Iterator[str]:
    """What it cost."""
    runs = [results.whole(f"run-{device}") for device in ("cpu", "cuda")]
    done = [each for each in runs if each]
    searched = {name: results.whole(f"{name}-search") for name in ("cc", "mnist")}
    if not done and not any(searched.values()):
        return
    hours = results.expected["hours"]
    yield "## Cost\n"
    yield from header("", "here", "the authors' notebooks (GPU)")
    for each in done:
        yield row(
            f"everything but the searches, {each['device']}",
            f"{each['seconds'] / 60:.1f} min ({', '.join(each['data'])}{_cores(each)})",
            f"about {hours['all']} h with searches",
        )
    for name, whole in searched.items():
        if whole:
            yield row(
                f"search on {name}, {whole['device']}",
                f"{whole['seconds'] / 60:.1f} min",
                f"{hours[f'search {name}']:.1f} h",
            )


def _cores(run: dict[str, Any]) -> str:
    """The work of the CPU, where it was counted."""
    if "core_seconds" not in run:
        return ""
    return f"; {run['core_seconds'] / 60:.1f} min of CPU cores, at most {run['threads']} at a time"


def header(*cells: str) -> Iterator[str]:
    """The head of a table, numbers to the right."""
    yield row(*cells)
    yield row("---", *["--:" for _ in cells[1:]])


def row(*cells: str) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"
