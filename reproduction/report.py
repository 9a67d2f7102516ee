"""RESULTS.md from the kept results: every number is read from a file or computed from one, the
paper's and the program's stand beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from reproduction import errata, judging
from reproduction.drawing import SHORT, in_order
from reproduction.fitted import FITTED
from reproduction.images import COSTLY
from reproduction.judging import mean, percent, ratio
from reproduction.steps import FULL, HERE, read
from reproduction.variants import VARIANTS

TABULAR, IMAGES = ("cc", "breast-cancer", "diabetes"), ("mnist", "digits")
PEERS = ("kernel-shap", "leverage-shap")
NONE = "–"


class Results:
    """The results in a folder, by name; None where a step was not run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.expected = json.loads((HERE / "expected.json").read_text())
        self._read: dict[str, Any] = {}

    def __call__(self, name: str) -> Any:
        if name not in self._read:
            path = self.folder / f"{name}.json"
            self._read[name] = read(path)["result"] if path.exists() else None
        return self._read[name]

    def there(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self.folder / f"{name}.json").exists()

    def whole(self, name: str) -> Any:
        """The whole file, with device and seconds."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def claims(self) -> list[judging.Claim]:
        """What the paper claims, judged."""
        return list(judging.claims(self, self.expected))


def write(folder: Path, path: Path) -> None:
    """Write the report of the results in a folder, and the errata beside it."""
    results = Results(folder)
    parts = (
        opening,
        claims,
        facts,
        networks,
        searches,
        table_one,
        times,
        figure_two,
        figure_three,
        choices,
        letter,
        deeper,
        field,
        against_time,
        tolerances,
        models,
        others,
        costs,
        sources,
        ages,
    )
    _write(path, results, parts)
    _write(path.with_name("ERRATA.md"), results, (errata.page,))


def _write(path: Path, results: Results, parts: Any) -> None:
    pictures = (
        results.folder.relative_to(path.parent).as_posix()
        if results.folder.is_relative_to(path.parent)
        else results.folder.as_posix()
    )
    text = "\n\n".join(section for part in parts if (section := "\n".join(part(results)).strip()))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("](@", f"]({pictures}/").replace("](./", "](") + "\n")


def beside(folder: Path, other: Path) -> Iterator[str]:
    """The claims of two folders beside each other, and how many verdicts agree."""
    ours, theirs = ({each.claim: each for each in Results(f).claims()} for f in (folder, other))
    same = 0
    for claim in [each for each in ours if each in theirs]:
        agree = ours[claim].verdict == theirs[claim].verdict
        same += agree
        yield f"{'same ' if agree else 'OTHER'}  {claim}"
        yield f"       here       {ours[claim].verdict}: {ours[claim].number}"
        yield f"       committed  {theirs[claim].verdict}: {theirs[claim].number}"
    for claim in [each for each in theirs if each not in ours]:
        yield f"only committed: {claim}"
    yield f"{same} of {len([each for each in ours if each in theirs])} verdicts are those of the committed results"


def opening(results: Results) -> Iterator[str]:
    """What this is."""
    source = results.expected["source"]
    paper, program = source["paper"], source["program"]
    yield "# The paper, reproduced and judged"
    yield ""
    yield f"*A Multilinear Sampling Algorithm to Estimate Shapley Values*, Okhrati & Lipani, ICPR 2020, [doi:{paper['doi']}](https://doi.org/{paper['doi']}), arXiv:{paper['arxiv']}."
    yield f"*Paper* is what is printed, *program* what the authors' notebooks hold ({program['repository']}, commit {program['commit'][:7]})."
    yield "Written by `python -m reproduction report` from the files in `results/`: every number, interval and verdict is computed from them."
    yield "Intervals are 95 %: by bootstrap over rows and repetitions, over networks first where there are several; of shares Wilson's; of times from the least to the most of the attempts."
    yield "The defects of the paper, with the mended rules: [ERRATA.md](ERRATA.md)."


def claims(results: Results) -> Iterator[str]:
    """The table that everything else is there for."""
    yield "## Claims\n"
    yield row("claim", "verdict", "number (95 % interval)", "figure")
    yield row("---", "---", "---", "---")
    for each in results.claims():
        figure = (
            f"[{each.figure.removesuffix('.png')}](@{each.figure})"
            if each.figure and (results.folder / each.figure).exists()
            else NONE
        )
        yield row(each.claim, f"**{each.verdict}**", each.number, figure)
    yield "\nA verdict is computed: 'holds' or 'does not hold' where the whole interval is on that side, else 'not settled'."


def facts(results: Results) -> Iterator[str]:
    """The data, the game, and what is counted."""
    yield "## Data and protocol\n"
    yield "- **CC**: 'Default of credit card clients' (Yeh & Lien 2009, UCI id 350). Of 30,000 rows those with MARRIAGE = 3 or EDUCATION 5 or 6 are dropped, which leaves"
    yield "  29,351, the paper's number. All columns are z-scored over all rows, before the split. The first 15 of 23 columns are kept (LIMIT_BAL … BILL_AMT4)."
    yield "- **MNIST**: 70,000 images, pixels / 255. The paper says 64 / 16 / 20 % for both sets; its program takes the standard 48,000 / 12,000 / 10,000, and so do we."
    yield "- **Players**: the features and a *bias player* x₀ = 1, which the first layer has instead of a bias: 16 on CC, 785 on MNIST. An absent player is 0, so that a black"
    yield "  pixel is a null player; all methods give it 0, and only the others cost anything."
    yield "- **Explained**: the probability of the predicted class, of 50 test rows drawn without replacement (program: with)."
    yield "- A **sample** is the paper's: one permutation, or one coalition with the marginal contributions of all n players. An **evaluation** is the value of one coalition for one row."
    yield "  A permutation costs n − 1 of them, a coalition n + 1, v(∅) and v(N) once for all (the program spends 2n on either)."
    yield "- **As printed** is Algorithms 1 and 2 with the divisor Q·M and ½ counted twice, and v(S ∪ j) − v(S ∖ j) for line 6; **program** divides by (Q + 1)·M and does not mirror ½."
    if results("cc-mlp-curves"):
        yield "- At 'equal samples' the Owen samplings have (Q + 1)·M coalitions for Q·M permutations: 4 for 2 at the first step of the figures."


def networks(results: Results) -> Iterator[str]:
    """Accuracies."""
    yield "## Networks\n"
    yield from header("data", "network", "test", "paper", "program", "PAY_0 > 1 alone")
    for name in (*TABULAR[:1], *IMAGES[:1], *TABULAR[1:], *IMAGES[1:]):
        expected = results.expected["networks"].get(name, {})
        for kind in ("mlp", "residual", "cnn"):
            found = results(f"{name}-{kind}-network")
            if found:
                known = expected if kind == "mlp" else {}
                both = [_known(known, who) for who in ("paper", "program")]
                rule = f"{found['rule']:.4f}" if "rule" in found else NONE
                yield row(name, found["architecture"], f"{found['test']:.4f}", *both, rule)
    yield "\nTest is the accuracy, for diabetes the share of the variance explained. The CC network that is explained is trained as the paper says on the first of the plain random"
    yield "splits; the others as the program does: training and validation rows together, 50 epochs (15 for the deeper ones), batches of 300. No bias in the first and last layer of an MLP."
    splits = results("cc-splits")
    if not splits:
        return
    claimed = results.expected["networks"]["cc"]["paper"]["test"]
    yield "\n![accuracies over splits](@cc-splits.png)\n"
    yield from header(
        "CC, 13-9, plain random splits",
        "splits",
        "test",
        "best",
        f"reach {claimed}",
        "above the one-feature rule",
        "epochs",
    )
    rule = np.asarray(splits["rule"])
    for way, label in (
        (
            "paper",
            "paper's training: 64 % of the rows, stops after 3 epochs without a lower validation loss",
        ),
        ("program", "program's: 80 % of the rows, 50 epochs"),
    ):
        found = splits["ways"][way]
        tests = np.asarray(found["test"])
        yield row(
            label,
            str(len(tests)),
            f"{tests.mean():.4f} ± {tests.std(ddof=1):.4f}",
            f"{tests.max():.4f}",
            str(int((tests >= claimed).sum())),
            str(int((tests > rule).sum())),
            f"{np.mean(found['epochs']):.0f}",
        )
    shared = float(np.corrcoef(splits["ways"]["paper"]["test"], rule)[0, 1])
    yield f"\nThe rule 'default if PAY_0 > 1' alone has {rule.mean():.4f} ± {rule.std(ddof=1):.4f}. Over the splits its accuracy and that of the paper's training correlate by {shared:.2f}: so much of the spread is the luck of the test rows, which both share."
    program = results.expected["networks"]["cc"]["program"]
    yield f"{program['validation']} is what the program's search shows for the validation rows; its own test accuracy is {program['test']}."


def _known(expected: dict[str, Any], who: str) -> str:
    if who not in expected:
        return NONE
    return f"{expected[who]['test']:.4f} ({expected[who]['architecture']})"


def searches(results: Results) -> Iterator[str]:
    """Winners of the random searches, and what a rank is worth."""
    names = [name for name in ("cc", "mnist") if results(f"{name}-search")]
    if not names:
        return
    yield "## Search over architectures\n"
    columns = (
        "data",
        "draws, distinct",
        "our winner",
        "validation",
        "test",
        "paper's winner: rank",
        "program's winner: rank",
    )
    yield from header(*columns)
    for name in names:
        found, expected = results(f"{name}-search"), results.expected["networks"][name]
        places = []
        for who in ("paper", "program"):
            architecture = expected[who]["architecture"]
            place = judging.ranks(found, architecture)
            places.append(
                f"{architecture}: {place.text('.0f')}" if place else f"{architecture}: not scored"
            )
        best = (
            np.asarray(found["accuracy"]).mean(axis=1).max()
            if "accuracy" in found
            else found["winner_validation"]
        )
        counts = f"{sum(found['drawn'])}, {len(found['architectures'])}"
        yield row(
            name, counts, found["winner"], f"{best:.4f}", f"{found['winner_test']:.4f}", *places
        )
    yield "\nEvery distinct architecture is trained 5 times, with weights and batches of its own (patience 3, at most 50 epochs); the score is the last validation accuracy, mean of 5."
    yield "The interval of a rank resamples the five trainings of all architectures: a search of this kind does not single one out."
    for name in names:
        yield f"\n![search on {name}](@{name}-search.png)"


def table_one(results: Results) -> Iterator[str]:
    """Table I and Fig. 1."""
    found = results("cc-mlp-table")
    if not found:
        return
    settings = results.whole("cc-mlp-table")["settings"]
    yield "## Table I and Fig. 1: error against exact values (CC)\n"
    yield f"{settings['rows']} test rows, {settings['repetitions']} repetitions, {found['samples']} samples (M = 2, Q = {found['samples'] // 2}), {found['players']} players. Absolute errors depend on the network: compare ratios to Castro."
    yield f"The gap is the mean |Σφ̂ − (v(N) − v(∅))|; {found['due']:.2f} is due on average.\n"
    yield from _comparison(results, found, "cc", known=True)
    fits = results("cc-mlp-fitted")
    if fits:
        both = [
            ratio(
                fits["errors"][f"{key}-corrected evaluations"],
                found["errors"][f"{key} evaluations"],
            )
            for key in ("owen", "halved-owen")
        ]
        yield f"\nThe gap falls to rounding where it is spread by its covariance with each value, learned from other replicates (the rows 'gap spread'); the error is then {both[0].text()} (Owen) and {both[1].text()} (Halved) of that of the same stratified rule without."
    yield f"For a fit a sample is a coalition, so that equal samples are {found['players'] - 1} times fewer evaluations. DASP, Integrated Gradients, DeepLIFT, LIME, LRP, Owen's central-limit form and"
    yield "Fatima et al., which the paper names, are no estimators of φ and have no row."
    several = results("cc-networks-table")
    if several:
        yield f"\n**Over {len(several['errors']['castro samples'])} networks**, each trained on a split of its own ({several['rows']} rows, {several['repetitions']} repetitions each): ratios to Castro that carry the variance of the model.\n"
        steps = several.get("steps", [])
        yield from header(
            "",
            "equal samples",
            "equal evaluations",
            "gap",
            *(f"{step} samples (Fig. 1, lines)" for step in steps),
            "each network, equal samples",
        )
        for key, variant in VARIANTS.items():
            cells = [
                "1"
                if key == "castro"
                else judging.ratio_of_networks(
                    *(several["errors"][f"{each} {kind}"] for each in (key, "castro"))
                ).text()
                for kind in ("samples", "evaluations", *map(str, steps))
            ]
            cells.insert(2, _gap(several, f"{key} evaluations"))
            upper, lower = (
                np.asarray(several["errors"][f"{each} samples"]) for each in (key, "castro")
            )
            each_one = upper.mean(axis=1) / lower.mean(axis=1)
            apart = NONE if key == "castro" else ", ".join(f"{each:.2f}" for each in each_one)
            yield row(variant.label, *cells, apart)
        yield "\n![networks](@cc-networks-table.png)"
    yield "\n![box plot](@cc-mlp-table.png)"
    yield "\n![box plot on the paper's axis](@cc-mlp-table-linear.png)"
    yield "\n![line plots](@cc-mlp-curves.png)"
    yield "\nHalved Owen as printed goes up and down: only an even Q has the level ½, which is then counted twice."


def _gap(found: dict[str, Any], key: str, share_of: str | None = None) -> str:
    """A mean gap where gaps were kept, or its share of what is due."""
    if "gaps" not in found:
        return NONE
    whole = float(np.mean(np.abs(found[share_of]))) if share_of else 1.0
    return _small(float(np.mean(found["gaps"][key])) / whole)


def _comparison(
    results: Results, found: dict[str, Any], name: str, known: bool = False
) -> Iterator[str]:
    """The rows of a table such as Table I."""
    both = ["paper", "program"] if known else []
    yield from header(
        "equal samples →",
        "MSE",
        "ratio",
        "gap",
        *both,
        "evaluations",
        "**equal evaluations →** MSE",
        "ratio",
        "gap",
        "evaluations",
    )
    for key, variant in VARIANTS.items():
        yield _line(
            results, found, key, variant.label, found, variant.paper if known else None, known
        )
    if known:
        for label, key, part in _budgeted(results, name):
            yield _line(results, part, key, label, found, None, known)


def _budgeted(results: Results, name: str) -> Iterator[tuple[str, str, Any]]:
    """Methods that are given a budget, ours and the peers': label, key, errors and evaluations."""
    ours = results(f"{name}-mlp-fitted")
    if ours:
        for key, fitted in FITTED.items():
            times = next(
                each for name_, each in ours["repetitions"].items() if name_.startswith(f"{key} ")
            )
            yield f"{fitted.label}, {times} repetitions", key, ours
    for peer in PEERS:
        found = results(f"{name}-{peer}")
        if found:
            renamed = {
                what: {f"{peer} {kind}": each for kind, each in found[what].items()}
                for what in ("errors", "gaps", "evaluations")
            }
            yield (
                f"{SHORT[peer]} ({found['version']}), {found['repetitions']} repetitions",
                peer,
                renamed,
            )


def _line(
    results: Results, part: Any, key: str, label: str, found: Any, paper: str | None, known: bool
) -> str:
    cells: list[str] = []
    for kind in ("samples", "evaluations"):
        name = f"{key} {kind}"
        if name not in part["errors"]:
            cells += [NONE] * 4
            continue
        error = np.asarray(part["errors"][name])
        beside_castro = (
            "1" if key == "castro" else ratio(error, found["errors"][f"castro {kind}"]).text(".2g")
        )
        gap = float(np.mean(part["gaps"][name]))
        cells += [
            f"{error.mean():.3g}",
            beside_castro,
            _small(gap),
            f"{part['evaluations'][name]:,.0f}",
        ]
    table = results.expected["table"].get(paper or "")
    both = [f"{table[who]['ratio']:.2f}" if table else NONE for who in ("paper", "program")]
    return row(label, *cells[:3], *(both if known else []), *cells[3:])


ROUNDING = 1e-6  # a gap below is none


def _small(number: float) -> str:
    return "0" if number < ROUNDING else f"{number:.1g}"


def times(results: Results) -> Iterator[str]:
    """Milliseconds, and where they go."""
    devices = {device: results.whole(f"cc-timing-{device}") for device in ("cpu", "cuda")}
    devices = {device: each for device, each in devices.items() if each}
    if not devices:
        return
    yield "## Time\n"
    yield "Milliseconds per row, all rows in one call of `owenshap.Explainer`, the best of five (processor time on the CPU); ratios are to Castro on the same device. Program: seconds of 50 repetitions / 50.\n"
    columns = [column for each in devices.values() for column in (each["device"], "ratio")]
    yield from header("", *columns, "paper (GPU)", "ratio", "program (GPU)", "ratio")
    for key, paper in (
        ("castro", "castro"),
        ("castro-antithetic", None),
        ("owen-program", "owen"),
        ("owen", None),
        ("halved-owen-program", "halved"),
        ("halved-owen", None),
        ("exact", None),
    ):
        cells = []
        for each in devices.values():
            taken = each["result"]["milliseconds"]
            beside = "1" if key == "castro" else ""
            if not beside and key in taken:
                beside = judging.time_ratio(each["result"], key, "castro").text()
            cells += [f"{taken[key]:.3g}", beside] if key in taken else [NONE] * 2
        yield row(
            SHORT.get(key, "exact, all 2¹⁶ coalitions"), *cells, *_known_times(results, paper)
        )
    if 0 < len({f"cc-timing-{device}" for device in devices} & _older(results)) < len(devices):
        yield "\nThe two devices were timed with different code: compare ratios down a column, not across."
    yield from _profiles(devices)
    building = results("cc-building")
    if building:
        copied, at_once = (min(building[way]) for way in ("copied", "at_once"))
        factors = [
            1000 * each["program"]["seconds_of_50"] / 50 / each["paper"]["ms"]
            for each in results.expected["table"].values()
        ]
        yield f"\nThe program builds Castro's inputs by copying the row once for each step of each permutation: that alone takes {copied:.0f} ms for a row here, {at_once:.1f} ms as one array operation."
        seconds = {
            key: 20 * each["program"]["seconds_of_50"]
            for key, each in results.expected["table"].items()
        }
        logs = " and ".join(
            f"{each['castro'] / each['owen']:.1f} ({each['what']})"
            for each in results.expected["seconds"]
        )
        yield f"Its coalitions are drawn as arrays. So {copied:.0f} of the {seconds['castro'] - seconds['owen']:.0f} ms by which its Castro is slower than its Owen would be copying, did its machine copy as fast as this one; what the others are, is not known."
        yield f"Its own logs of Fig. 2 have factors of {logs}, and not 3."
        yield f"Its times are {sorted(factors)[0]:.0f}, {sorted(factors)[1]:.0f} and {sorted(factors)[2]:.0f} times the paper's in the three rows. One more division by 50, the number of examples and of repetitions, would give that:"
        castro = results.expected["table"]["castro"]
        yield f"the notebook's {castro['program']['seconds_of_50']} s are 50 repetitions of one example, {seconds['castro']:.0f} ms each, and {seconds['castro']:.0f} / 50 is {seconds['castro'] / 50:.1f}. Copying the inputs alone takes {copied / castro['paper']['ms']:.0f} times the printed {castro['paper']['ms']} ms here."
    yield "\n![times](@cc-timing.png)"


LONGER = {
    "the network": "the columns of its first layer are gathered in the order of each permutation and added up, a coalition's are added to one sum",
    "the loop": "each permutation is a replicate of its own, whose values come back for the error bars, where the designs of Owen's rules are one replicate",
}
"""Why Castro takes longer, by where it does."""


def _profiles(devices: dict[str, Any]) -> Iterator[str]:
    """Where the time goes, by room of the code."""
    for each in devices.values():
        shares = each["result"].get("shares")
        if not shares:
            continue
        names = sorted({what for part in shares.values() for what in part})
        yield f"\nA profile on {each['device']}: shares of the time of one call.\n"
        yield from header("", *names)
        for key, part in shares.items():
            yield row(SHORT.get(key, "exact"), *(f"{part.get(what, 0):.0%}" for what in names))
        taken = each["result"]["milliseconds"]
        castro, owen = (
            {what: taken[key] * part for what, part in shares[key].items()}
            for key in ("castro", "owen-program")
        )
        most = max(castro, key=lambda what: castro[what] - owen.get(what, 0))
        network = castro["the network"] - owen["the network"]
        beside = f" and {network:.2g} the network" if most != "the network" else ""
        yield f"\nOf the {taken['castro'] - taken['owen-program']:.2g} ms by which Castro is slower than Owen here, {castro[most] - owen.get(most, 0):.2g} are {most}{beside}: {LONGER.get(most, most)}."


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
    yield "## Fig. 2: the paper's statistic, and the error\n"
    yield "The statistic at step t is the standard deviation of the estimates at 2, 4, …, 2t samples, averaged over players and rows. It keeps the noise of the first steps for ever,"
    yield "and is blind to bias. Beside it the error against exact values (CC) or near-exact ones (MNIST: the unbiased halved rule with very many coalitions).\n"
    yield from header(
        "data",
        "",
        "statistic at the end, to Castro",
        "steps below / above Castro",
        "squared error to Castro, second half",
        "steps below / above Castro",
        "gap at the end",
    )
    for name in names:
        found = results(f"{name}-mlp-curves")
        half = len(found["samples"]) // 2
        for key in VARIANTS:
            if key == "castro":
                continue
            spread, castro = (np.asarray(found["spread"][each]) for each in (key, "castro"))
            error, castro_error = (
                np.asarray(found["squared_error"][each]) for each in (key, "castro")
            )
            spreads = judging.Steps.of(found["samples"][1:], spread[1:], castro[1:])
            errors = judging.Steps.of(found["samples"], error, castro_error)
            late = ratio(error[half:].mean(axis=0), castro_error[half:].mean(axis=0))
            yield row(
                name,
                SHORT[key],
                ratio(spread[-1], castro[-1]).text(),
                f"{spreads.below} / {spreads.above}",
                late.text(),
                f"{errors.below} / {errors.above}",
                _small(float(np.mean(found["gap"][key]))) if "gap" in found else NONE,
            )
    yield from _networks_of_images(results("mnist-networks-images"))
    sizes = [
        f"{name} {np.shape(results(f'{name}-mlp-curves')['spread']['castro'])[1]}" for name in names
    ]
    yield f"\nA step counts as below or above where a band that holds at all steps at once says so, at 95 %. Castro's gap is rounding. Rows: {', '.join(sizes)}."
    if "cc" in names:
        yield "The picture of CC is [the one above](@cc-mlp-curves.png)."
    if "mnist" in names:
        yield "\n![mnist](@mnist-mlp-curves.png)"


def _networks_of_images(several: Any) -> Iterator[str]:
    """Fig. 2's errors and Fig. 3's count over networks."""
    if not several:
        return
    tests = np.asarray(several["test"])
    count, rows = np.shape(several["errors"]["castro 20"])
    yield f"\n**Over {count} networks of MNIST**, each from its own seed ({rows} rows each, test accuracy {tests.mean():.4f} ± {tests.std(ddof=1):.4f}): squared errors to Castro's at equal samples.\n"
    yield from header(
        "",
        *(f"{samples} samples" for samples in several["samples"]),
        *(f"gap at {samples}" for samples in several["samples"]),
    )
    for key in VARIANTS:
        if key != "castro":
            cells = []
            for samples in several["samples"]:
                upper, lower = (
                    np.asarray(several["errors"][f"{each} {samples}"]) for each in (key, "castro")
                )
                cells.append(judging.ratio_of_networks(upper, lower).text())
            cells += [
                _small(float(np.mean(several["missed"][f"{key} {samples}"])))
                if "missed" in several
                else NONE
                for samples in several["samples"]
            ]
            yield row(SHORT[key], *cells)
    better = np.asarray(several["overlap"]["halved-program"]) > np.asarray(
        several["overlap"]["castro-12"]
    )
    gap = np.asarray(several["gaps"], np.float64)
    found_more, missed = (
        judging.mean_of_networks(each.ravel(), len(each)) for each in (better.astype(float), gap)
    )
    yield f"\nAt Fig. 3's budget Halved Owen (program) finds more of the 20 strongest pixels than Castro for {percent(found_more)} of {better.shape[1]} digits of each network ({', '.join(f'{each:.0%}' for each in better.mean(axis=1))}), and misses v(N) − v(∅) by {missed.text()} ({', '.join(f'{each:.2f}' for each in gap.mean(axis=1))})."


def figure_three(results: Results) -> Iterator[str]:
    """Fig. 3."""
    found = results("mnist-mlp-saliency")
    if found:
        yield "## Fig. 3: saliency maps (MNIST)\n"
        yield from _saliency(found)
        errors = {
            key: np.asarray(each["relative_error"], np.float64) ** 2
            for key, each in found["scores"].items()
        }
        told = f"{ratio(errors['ours-corrected'], errors['ours']).text()} of the error of one stratified design"
        if "ours-replicates" in errors:
            told = f"{ratio(errors['ours-corrected'], errors['ours-replicates']).text()} of the squared error of these replicates without it, and {told}, which has no replicates to learn from"
        yield f"\nWith 14 coalitions there are seven replicates to learn the shares of the gap from. The sum is then exact, at {told}."
        if "took" in found:
            yield _chosen(found["took"], [found["costly"]]).replace(
                "'Halved, gap spread'", "'seven replicates with their gap spread'"
            )
        yield "The paper gives pictures only; no number of its own can stand here.\n\n![saliency maps](@mnist-mlp-saliency.png)"


LABELS = {
    "castro-12": "Castro, 12 permutations",
    "halved-printed": "Halved Owen as printed, M = 2, Q = 6 (16 coalitions)",
    "halved-program": "Halved Owen, program, M = 2, Q = 6 (14 coalitions)",
    "castro-same": "Castro, evaluations of the program's Halved Owen",
    "ours": "stratified Halved Owen (ours), the same evaluations",
    "ours-replicates": "the same in seven replicates (ours)",
    "ours-corrected": "seven replicates with their gap spread (ours)",
    "linear": "linear fit (ours), the same evaluations",
    "gaussian-process": "Gaussian process (ours), the same evaluations",
    "default": "the default (ours), the same evaluations",
    "near-exact": "the ground truth against as many coalitions of ours",
}


def _saliency(found: dict[str, Any]) -> Iterator[str]:
    yield f"Means over {found['more']} digits that are not shown, against Castro with {found['truth_samples']:,} permutations; pixels only, without the bias player. The gap is |Σφ̂ − (v(N) − v(∅))|,"
    yield f"all players; {np.mean(np.abs(found['due'])):.2f} is due on average.\n"
    yield from header(
        "",
        "digits",
        "evaluations",
        "relative error",
        "correlation",
        "overlap of the 20 strongest",
        "better than Castro 12 / tied",
        "gap, mean",
        "gap, most",
    )
    shown = len(found["shown"])
    castro = np.asarray(found["scores"]["castro-12"]["overlap"], np.float64)[shown:]
    for key, label in LABELS.items():
        if key not in found["scores"]:
            continue
        columns = {
            what: np.asarray(each, np.float64)[shown:]
            for what, each in found["scores"][key].items()
        }
        there = ~np.isnan(columns["overlap"])
        if not there.any():
            continue
        means = [
            mean(columns[what][there]).text()
            for what in ("relative_error", "correlation", "overlap")
        ]
        won = "–"
        gaps = [NONE, NONE]
        if key != "near-exact":
            more, same = (
                judging.share(each)
                for each in (
                    columns["overlap"][there] > castro[there],
                    columns["overlap"][there] == castro[there],
                )
            )
            won = f"{percent(more)} / {same.value:.0%}"
            missed = mean(columns["gap"][there])
            gaps = [
                "0" if missed.high < ROUNDING else missed.text(".2g"),
                _small(float(np.max(columns["gap"][there]))),
            ]
        spent = f"{np.mean(columns['evaluations'][there]):,.0f}" if key != "near-exact" else NONE
        yield row(
            label, str(int(there.sum())), spent, *means, won if key != "castro-12" else NONE, *gaps
        )


def choices(results: Results) -> Iterator[str]:
    """Which Q and M; the bias of the grids."""
    found, biases, votes = results("cc-choice"), results("cc-bias"), results("voting-bias")
    if not found or not biases:
        return
    yield "## Which Q and M, and how biased the grids are\n"
    yield "Squared error on CC with Q·M = 1000 coalitions, by the split into levels and coalitions per level; in brackets the share that is bias.\n"
    cells = [tuple(each) for each in found["cells"]]
    shown = [cell for cell in cells if cell[0] * cell[1] == 1000]
    yield from header("", *(f"Q = {q}, M = {m}" for q, m in shown))
    for key, errors in found["squared_error"].items():
        texts = []
        for cell in shown:
            place = cells.index(cell)
            part = found["squared_bias"][key][place] / errors[place]
            texts.append(
                f"{errors[place]:.2g}" + (f" ({min(1.0, part):.0%})" if part > 0.01 else "")
            )
        yield row(SHORT[key], *texts)
    beside = {
        key: [
            ratio(errors[cells.index((1000, 1))], errors[cells.index(cell)]).text()
            for cell in ((500, 2), (10, 100))
        ]
        for key, errors in ((each, np.asarray(rows)) for each, rows in found["by_row"].items())
    }
    yield "\nThe answer to the paper's question: **as many levels as the budget has coalitions, M = 1**, or nearly so. The variance depends on Q·M alone, and the bias of a grid falls with Q."
    told = "; ".join(f"{SHORT[key]} {each[0]} and {each[1]}" for key, each in beside.items())
    yield f"The error with M = 1 to that with the paper's M = 2, and to that with M = 100: {told}.\n\n![Q and M](@cc-choice.png)\n"
    yield "Root mean squared bias relative to φ, computed over all coalitions without sampling (the program's halved rule has the bias of its full one):\n"
    shown_levels = [q for q in (2, 5, 6, 10, 100, 1000) if q in biases["levels"]]
    tables = [("CC", biases), *([("a majority of 11", votes)] if votes else [])]
    yield from header(
        "rule",
        *(
            f"{label}, Q = {q}"
            for label, _ in tables
            for q in (shown_levels if label == "CC" else (5, 6, 10, 100))
        ),
    )
    for key in biases["squared_bias"]:
        texts = []
        for label, each in tables:
            for q in shown_levels if label == "CC" else (5, 6, 10, 100):
                texts.append(
                    f"{(each['squared_bias'][key][each['levels'].index(q)] / each['power']) ** 0.5:.2g}"
                )
        yield row(SHORT[key], *texts)
    if votes:
        yield "\nNeither divisor is the better one always: in a vote e_j vanishes at both ends, so that the printed Q·M is almost right and the program's (Q + 1)·M takes 1/(Q + 1) off."
    yield "\n![bias](@cc-bias.png)"
    if votes:
        yield "\n![bias on a vote](@voting-bias.png)"


def letter(results: Results) -> Iterator[str]:
    """Algorithm 1 to the letter."""
    found = results("cc-literal")
    if not found:
        return
    yield "## Line 6 to the letter\n"
    yield "ν(I ⊙ X + X⁽ʲ⁾) holds x_j twice where b_j = 1. Read so, and read as v(S ∪ j) − v(S), Algorithm 1 converges, but not to φ; the proof of Prop. III.1 replaces e_j by the letter's"
    yield "expectation, which is (1 − q) e_j(q) plus what a second x_j adds. Relative root mean squared distance from φ on CC:\n"
    yield from header("line 6 read as", *(f"Q = {q}" for q in found["levels"]), "limit")
    labels = {
        "meaning": "v(S ∪ j) − v(S ∖ j), as meant",
        "letter": "x_j twice, the letter",
        "sets": "v(S ∪ j) − v(S)",
    }
    for key, label in labels.items():
        cells = [
            percent(judging.relative(each, found["power"]))
            for each in np.asarray(found["squared_error"][key])
        ]
        limit = (
            "0"
            if key == "meaning"
            else percent(judging.relative(found["squared_off"][key], found["power"]))
        )
        yield row(label, *cells, limit)
    yield "\n![to the letter](@cc-literal.png)"


def deeper(results: Results) -> Iterator[str]:
    """Deeper networks."""
    parts = [
        ("cc-residual-table", "Residual MLP on CC (16 players, exact)"),
        ("mnist-cnn-patches-table", "CNN on MNIST, 16 patches of 7 × 7 pixels (exact)"),
    ]
    if not any(results(name) for name, _ in parts):
        return
    yield "## Deeper networks\n"
    yield "One network each, with Table I's rows and repetitions; ratios over three networks of either kind are under [other models](#beyond-the-paper-other-models).\n"
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
        yield "\nThe ground truth has fewer permutations than the MLP's, since a CNN needs every input built; how far it is from the truth is at most about what the last row says."
        yield "\n![CNN saliency maps](@mnist-cnn-saliency.png)"


def field(results: Results) -> Iterator[str]:
    """The whole field at equal evaluations."""
    names = [name for name in ("cc", "mnist") if results(f"{name}-field-ours")]
    if not names:
        return
    yield "## Beyond the paper: the field at equal evaluations\n"
    yield "Relative squared error ‖φ̂ − φ‖² / ‖φ‖², geometric means over rows; in brackets the ratio to the program's Halved Owen with its interval. Beside it, at the largest budget, the mean gap as a share of"
    yield "the mean |v(N) − v(∅)|, and the processor seconds of one estimate, the model's own time included."
    for name in names:
        ours, theirs = results(f"{name}-field-ours"), results(f"{name}-field-peers")
        settings = results.whole(f"{name}-field-ours")["settings"]
        unit = "" if name == "cc" else " n"
        networks_ = ours.get("networks", 1)
        of_networks = f"{networks_} networks" if networks_ > 1 else "one network"
        rows_said = f"{of_networks}, {settings['rows']} rows, {settings['repetitions']} repetitions"
        where = "CC, 16 players" if name == "cc" else "MNIST, pixels for players"
        yield f"\n**{where}** ({rows_said})\n"
        yield from header(
            "evaluations", *(f"{budget}{unit}" for budget in ours["budgets"]), "gap", "seconds"
        )
        halved = np.asarray(ours["errors"]["halved-owen-program"], np.float64)
        every: dict[str, Any] = {}
        for part in (ours, theirs or {"errors": {}, "seconds": {}}):
            for key in in_order(part["errors"]):
                errors = np.maximum(np.asarray(part["errors"][key], np.float64), 1e-30)
                every[key] = errors
                cells = []
                for budget in range(len(ours["budgets"])):
                    said = f"{np.exp(np.log(errors[budget]).mean()):.1e}"
                    if key != "halved-owen-program":
                        away = judging.times_as_much(errors[budget], halved[budget], networks_)
                        said += f" ({away.value:.2g}; {away.low:.2g}–{away.high:.2g})"
                    cells.append(said)
                taken = float(np.mean(np.asarray(part["seconds"][key])[-1]))
                gap = NONE
                if "gaps" in part:
                    due = np.abs(part["due"]).mean()
                    gap = _small(float(np.mean(np.asarray(part["gaps"][key])[-1]) / due))
                yield row(SHORT.get(key, key), *cells, gap, f"{taken:.2g}")
        yield f"\n{_ahead(every, [f'{each}{unit}' for each in ours['budgets']], networks_)}"
        if theirs:
            versions = results.whole(f"{name}-field-peers")["settings"]["versions"]
            yield f"\nThe last four are those of {' and '.join(f'{package} {each}' for package, each in versions.items())}, with the settings that their documents name as best."
        if "chosen" in ours:
            yield f"\n{_chosen(*(ours['chosen'][each] for each in ('quick', 'costly')))}"
        yield f"\n![the field on {name}](@{name}-field-ours.png)"
        if theirs is None:
            yield "\nThe peers were not run with these rows (`make reproduce-peers`)."


def _ahead(every: dict[str, Any], budgets: list[str], networks_: int) -> str:
    """Which method has the lowest error at every budget, and by how much the next is behind."""
    told = []
    for place, budget in enumerate(budgets):
        means = {key: float(np.log(each[place]).mean()) for key, each in every.items()}
        first, second = sorted((key for key in means if key != "default"), key=means.__getitem__)[
            :2
        ]
        behind = judging.times_as_much(every[second][place], every[first][place], networks_)
        told.append(
            f"{SHORT[first]} at {budget}, before {SHORT[second]} with {behind.text('.2g')} times its error"
        )
    return f"The lowest error has {'; '.join(told)}."


METHODS = {
    "halved-owen": "'Halved, gap spread'",
    "gaussian-process": "'Gaussian process'",
    "gaussian-process-corrected": "'Gaussian process, corrected'",
    "linear": "'linear fit'",
}
"""The default's choices as rows of a table."""


def _chosen(quick: list[str], costly: list[str]) -> str:
    """What the default takes, in words."""
    rows = [
        " or ".join(METHODS.get(each, each) for each in dict.fromkeys(some))
        for some in (quick, costly)
    ]
    return f"The default takes {rows[0]} here, where evaluations take hardly any time, and {rows[1]} where one takes {COSTLY} s."


def against_time(results: Results) -> Iterator[str]:
    """Error against time."""
    devices = [device for device in ("cpu", "cuda") if results(f"cc-time-{device}")]
    if not devices:
        return
    yield "## Beyond the paper: error against time (CC)\n"
    yield "The lowest squared error that a method has within so many milliseconds per row (processor time on the CPU), of several budgets, with its interval over rows; all rows in one call, fits included. The exact values of 16 players are one more method; theirs is rounding. The Gaussian process is timed once, the others are the best of three."
    for device in devices:
        found, whole = results(f"cc-time-{device}"), results.whole(f"cc-time-{device}")
        theirs = results("cc-time-peers") if device == "cpu" else None
        every = {**found["methods"], **(theirs or {"methods": {}})["methods"]}
        taken = found["methods"]["exact"]["milliseconds"][0]
        yield f"\n**{whole['device']}**: exact values take {taken:.3g} ms per row. The lowest error within that time: Castro {_error_within(every['castro'], taken)}; Halved Owen, gap spread, {_error_within(every['halved-owen-corrected'], taken)}.\n"
        yield from header("", *(f"{limit:g} ms" for limit in LIMITS), "gap")
        for key in in_order(every):
            cells = [_error_within(every[key], limit) for limit in LIMITS]
            cells = [
                "″" if place and each == cells[place - 1] != NONE else each
                for place, each in enumerate(cells)
            ]
            gap = _small(max(every[key]["gaps"])) if "gaps" in every[key] else NONE
            yield row(SHORT.get(key, key), *cells, gap)
        yield "\n–: no budget that was timed is done within so long; ″: none that is slower and better. The gap is the largest of the means over rows at the budgets timed."
        if theirs:
            versions = results.whole("cc-time-peers")["settings"]["versions"]
            yield f"The methods of {' and '.join(f'{package} {each}' for package, each in versions.items())} are timed once, row by row, on the network in numpy."
        yield f"\n![error against time on {device}](@cc-time-{device}.png)"


LIMITS = (0.1, 0.3, 1, 3, 10, 100, 1000)
"""Milliseconds per row that methods are compared at."""


def _error_within(each: Any, limit: float) -> str:
    """The lowest squared error of a method within a time."""
    errors = np.asarray(each["errors"], np.float64)
    errors = errors.reshape(len(errors), -1)  # (budgets, rows)
    inside = [rows for ms, rows in zip(each["milliseconds"], errors, strict=True) if ms <= limit]
    return mean(min(inside, key=np.mean)).text(".1e") if inside else NONE


def tolerances(results: Results) -> Iterator[str]:
    """Evaluations for a stated accuracy: the paper's future work."""
    names = [name for name in ("cc", "mnist") if results(f"{name}-tolerance")]
    if not names:
        return
    yield "## Beyond the paper: the least work for a stated accuracy\n"
    yield "The paper's future work as an experiment. Each method goes on until its own intervals, made to hold at every look, say that all values are within 5, 2 or 1 % of the range, at 95 %: of |v(N) − v(∅)|, or of how far apart values were seen to lie where that is more."
    yield "The other methods of the field give no intervals to stop by. Evaluations are geometric means over rows; then how often all values really were within the tolerance, the share of values inside their intervals, and the mean gap."
    for name in names:
        found = results(f"{name}-tolerance")
        where = "CC" if name == "cc" else "MNIST, pixels for players"
        networks_ = found.get("networks", 1)
        of_networks = f"{networks_} networks" if networks_ > 1 else "one network"
        yield f"\n**{where}**, {of_networks}, {found['rows']} rows\n"
        asked = found["tolerances"]
        yield from header(
            "",
            *(f"evaluations for {each}" for each in asked),
            "all within the tolerance",
            "values inside their intervals",
            "gap",
        )
        for key, each in found["methods"].items():
            spent, reached = (
                np.asarray(each["evaluations"], np.float64),
                np.asarray(each["reached"]) > 0,
            )
            cells = []
            for place in range(len(asked)):
                told = judging.times_as_much(spent[:, place], 1.0, networks_)
                missed = int((~reached[:, place]).sum())
                cells.append(told.text(",.0f") + (f", {missed} at the limit" if missed else ""))
            held = np.asarray(each["off"]) <= np.asarray(each["allowed"]) + 1e-12
            sure = judging.share(held[reached]) if reached.any() else None
            inside = judging.mean_of_networks(np.mean(each["inside"], axis=1), networks_)
            cells += [percent(sure) if sure else NONE, percent(inside, 1)]
            yield row(
                SHORT.get(key, key),
                *cells,
                _small(float(np.mean(each["gap"]))) if "gap" in each else NONE,
            )
        short = [
            SHORT.get(key, key)
            for key, each in found["methods"].items()
            if judging.mean_of_networks(np.mean(each["inside"], axis=1), networks_).high < 0.95
        ]
        if short:
            yield f"\nFewer values than 95 % are inside the intervals of: {', '.join(short)}."
        if "chosen" in found:
            yield "\n" + _chosen(*([each] for each in found["chosen"]))
        yield f"\n![evaluations for a stated accuracy, {name}](@{name}-tolerance.png)"


MODELS = {
    "cc-residual-ratios": "CC, residual MLPs",
    "cc23-mlp-ratios": "CC, all 23 columns, 13-9 MLPs: 24 players, exact over 2²⁴ coalitions",
    "cc23-trees-ratios": "CC, all 23 columns, boosted trees in log-odds, exact from the trees",
    "mnist-cnn-ratios": "MNIST, CNNs, 16 patches",
    "mnist-rescnn-ratios": "MNIST, residual CNNs, 16 patches",
    "text-transformer-ratios": "text of a planted grammar, transformers, 14 tokens",
}


def models(results: Results) -> Iterator[str]:
    """Deeper models: ratios to Castro."""
    there = {name: results(name) for name in MODELS if results(name)}
    if not there:
        return
    yield "## Beyond the paper: other models\n"
    yield "Squared error to Castro's at equal evaluations, 200 permutations' worth; exact values by enumeration where nothing else is said. Models"
    yield "have seeds of their own and, on CC, splits of their own; intervals are over models and rows. After the semicolon the mean gap as a share of the mean |v(N) − v(∅)|.\n"
    yield from _ratios({MODELS[name]: found for name, found in there.items()})
    yield "\n![other models](@models.png)"


def _ratios(there: dict[str, Any]) -> Iterator[str]:
    """A table of ratios to Castro over several models of each kind, with gaps."""
    yield from header("", *there)
    told = [np.atleast_2d(found["errors"]["castro evaluations"]).shape for found in there.values()]
    yield row("models, rows of each", *(f"{models_}, {rows}" for models_, rows in told))
    tests = (
        "–".join(f"{each:.3f}" for each in sorted({np.min(found["test"]), np.max(found["test"])}))
        for found in there.values()
    )
    yield row("on test rows", *tests)
    for key, variant in VARIANTS.items():
        cells = []
        for found in there.values():
            upper, lower = (
                np.atleast_2d(np.asarray(found["errors"][f"{each} evaluations"], np.float64))
                for each in (key, "castro")
            )
            beside = "1" if key == "castro" else judging.ratio_of_networks(upper, lower).text(".2g")
            cells.append(f"{beside}; {_gap(found, f'{key} evaluations', 'due')}")
        yield row(variant.label, *cells)


def others(results: Results) -> Iterator[str]:
    """The embedded data sets."""
    kinds = {
        f"{name}, {label}": results(f"{name}-{kind}-ratios")
        for name in (*TABULAR[1:], *IMAGES[1:])
        for kind, label in (
            ("mlp", "MLPs"),
            ("residual", "residual MLPs"),
            ("cnn", "CNNs, patches"),
        )
    }
    there = {label: found for label, found in kinds.items() if found}
    if not there:
        return
    yield "## Other data sets\n"
    yield "Squared error to Castro's at equal evaluations, as under [other models](#beyond-the-paper-other-models); each model has a seed and a split of its own. On test rows: the accuracy, for diabetes the share of the variance explained.\n"
    yield from _ratios(there)
    digits = results("digits-mlp-saliency")
    if digits:
        yield "\n**8 × 8 digits, MLP, pixel players**\n"
        yield from _saliency(digits)
    pictures = [
        path.name
        for name in (*TABULAR[1:], *IMAGES[1:])
        for path in sorted(results.folder.glob(f"{name}-*.png"))
    ]
    if pictures:
        linked = (f"[{each.removesuffix('.png')}](@{each})" for each in pictures)
        yield f"\nPictures: {' · '.join(linked)}"


def costs(results: Results) -> Iterator[str]:
    """What it cost."""
    whole_runs = {
        (what, device): results.whole(f"{what}-{device}")
        for what in ("run", "more")
        for device in ("cpu", "cuda")
    }
    done = {key: each for key, each in whole_runs.items() if each}
    searched = {name: results.whole(f"{name}-search") for name in ("cc", "mnist")}
    if not done and not any(searched.values()):
        return
    hours = results.expected["hours"]
    yield "## Cost\n"
    yield from header("", "here", "the authors' notebooks (GPU)")
    for (what, _), each in done.items():
        cores = (
            f"{each['core_seconds'] / 60:.1f} min of CPU cores, at most {each['threads']} at a time"
        )
        paper = what == "run"
        yield row(
            f"{'the paper' if paper else 'beyond the paper'}, without the searches, {each['device']}",
            f"{each['seconds'] / 60:.1f} min ({cores})",
            f"about {hours['all']} h with searches" if paper else NONE,
        )
    for name, whole in searched.items():
        if whole:
            yield row(
                f"search on {name}, {whole['device']}",
                f"{whole['seconds'] / 60:.1f} min",
                f"{hours[f'search {name}']:.1f} h",
            )


def sources(results: Results) -> Iterator[str]:
    """Where the program's numbers are."""
    source = results.expected["source"]
    program = source["program"]
    yield "## Where the program's numbers are\n"
    yield f"{program['repository']}, commit {program['commit']}; the cells by their execution counts.\n"
    yield row("number", "cell")
    yield row("---", "---")
    for what, cell in source["cells"].items():
        yield row(what, cell)


def _older(results: Results) -> set[str]:
    """Results of older code, as the last `check` found them."""
    return set(results.whole("code")["older"]) if results.there("code") else set()


def ages(results: Results) -> Iterator[str]:
    """Results of older code, as the last `check` found them; and those of a smaller size."""
    if not results.there("code"):
        return
    older = sorted(_older(results))
    yield "## Which code, and which size\n"
    if older:
        yield f"Of older code or other settings, as `python -m reproduction check --data DIR` says: {', '.join(f'`{each}`' for each in older)}. All others are of the present code."
    else:
        yield "All results were made with the present code and settings: a small run of each kind of step gives the same numbers (`python -m reproduction check --data DIR`)."
    smaller = list(_smaller(results))
    if smaller:
        yield f"\nSmaller than the full protocol: {'; '.join(smaller)}."
    missing = [each for each in WHOLE if not results.there(each)]
    if missing:
        yield f"\nNot run with this code yet: {', '.join(f'`{each}`' for each in missing)}."


WHOLE = (
    "cc-mlp-table",
    "cc-mlp-curves",
    "cc-leverage-shap",
    "cc-search",
    "cc-timing-cuda",
    "cc-field-ours",
    "cc-field-peers",
    "cc-time-cpu",
    "cc-time-cuda",
    "cc-time-peers",
    "cc-tolerance",
    *MODELS,
    "mnist-networks-images",
    "mnist-mlp-curves",
    "mnist-mlp-saliency",
    "mnist-cnn-patches-table",
    "mnist-cnn-saliency",
    "mnist-search",
    "mnist-field-ours",
    "mnist-field-peers",
    "mnist-tolerance",
    "run-cpu",
    "run-cuda",
    "more-cpu",
)
"""What a complete set of results has."""


def _smaller(results: Results) -> Iterator[str]:
    """Figures and tables that were run with less than the paper's protocol."""
    full = asdict(FULL)
    for path in sorted(results.folder.glob("*.json")):
        if not path.stem.endswith(("-mlp-table", "-curves", "-mlp-saliency", "-patches-table")):
            continue
        settings = results.whole(path.stem)["settings"]
        for key in ("rows", "repetitions", "truth_samples", "more_images", "near_exact"):
            if settings.get(key, full[key]) < full[key]:
                yield f"`{path.stem}`, {key.replace('_', ' ')} {settings[key]:,} of {full[key]:,}"


def header(*cells: str) -> Iterator[str]:
    """The head of a table, numbers to the right."""
    yield row(*cells)
    yield row("---", *["--:" for _ in cells[1:]])


def row(*cells: str) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"
