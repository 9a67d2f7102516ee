"""The results as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.coverage.games import CASES
from benchmarks.coverage.measure import ANTITHETIC, AUTO, EACH

CONFIDENCE = 0.95


def table(results: dict) -> str:
    """results.md."""
    by_section: dict[str, list[dict]] = {}
    for each in results["cells"]:
        by_section.setdefault(each["cell"][0], []).append(each)
    lines = [
        "# Intervals and stopping",
        "",
        "Made by `make bench-coverage`; a cell of the tables is one game and method.",
        "",
    ]
    lines += [*_goals(by_section, results.get("looks", {})), "", *_runs(results["cells"])]
    for section, make in SECTIONS.items():
        if section in by_section:
            lines += ["", *make(by_section)]
    stale = sum(each.get("stale", False) for each in results["cells"])
    if stale:
        lines += [
            "",
            f"{stale} of {len(results['cells'])} cells were measured with code whose runs differ "
            "from today's.",
        ]
    lines += ["", f"{results['date']}, {results['cores']} cores.", ""]
    return "\n".join(lines)


def _runs(cells: list[dict]) -> Iterator[str]:
    """How many runs there are."""
    full = [
        each
        for each in cells
        if CASES[each["cell"][1]].in_full and each["cell"][0] in ("fixed", "stopping", "ranking")
    ]
    complete = sum(each["runs"] >= each["of"] for each in cells)
    names = [_marked(name) for name, case in CASES.items() if case.in_full]
    least = min((each["runs"] for each in full), default=0)
    yield f"{complete} of {len(cells)} cells have all their runs. Games in full, with {least:,} runs or more of every method:"
    others = [
        each for each in cells if not CASES[each["cell"][1]].in_full and each["runs"] < each["of"]
    ]
    fewest = min((each["runs"] for each in others), default=0)
    less = f", {fewest} at least in the {len(others)} cells that are not complete" if others else ""
    yield f"{'; '.join(names)}. In the others, methods that fit surrogates have a tenth of the runs{less}."
    yield "A star: added when the constants of stopping were set. Those of a fixed budget were set with all games in view."


def _goals(sections: dict[str, list[dict]], looks: dict) -> Iterator[str]:
    yield "| | goal | measured | met? |"
    yield "|---|---|---|---|"
    yield from every_run_goals(
        [each for each in sections.get("fixed", []) if "coverage 95%" in each]
    )
    stopped = sections.get("stopping", [])
    if stopped:
        worst = min(stopped, key=lambda each: each["held"])
        good = [each["held"] >= CONFIDENCE - _error(each) for each in stopped]
        words = (
            f"{sum(good)} of {len(good)} cells; {worst['held']:.1%} at least ({_named(worst)}, "
            f"{worst['runs']} runs)"
        )
        yield _goal(
            "simultaneous coverage at the stop", "≥ 95 % within 2 binomial errors", words, all(good)
        )
        for method in dict.fromkeys(each["cell"][2] for each in stopped):
            own = [each["missed in silence"] for each in stopped if each["cell"][2] == method]
            mean = 1 - float(np.mean(own))
            what = f"within the tolerance when it says so, {method}, mean of games"
            yield _goal(what, "≥ 95 %", f"{mean:.1%}", mean >= CONFIDENCE)
        worst = min(stopped, key=lambda each: 1 - each["missed in silence"])
        words = f"{1 - worst['missed in silence']:.1%} at least ({_named(worst)})"
        yield _goal(
            "the same, every game",
            "≥ 95 %",
            words,
            worst["missed in silence"] <= 0.05 + _error(worst),
        )
        yield from _against_others(stopped)
    predicted = list(_multiples(sections))
    if predicted:
        medians = [float(np.median(each)) for _, each in predicted]
        inside = np.mean([np.mean((each > 1 / 1.5) & (each < 1.5)) for _, each in predicted])
        words = f"medians {min(medians):.2f} to {max(medians):.2f}; {inside:.0%} of runs within"
        met = min(medians) >= 1 / 1.5 and max(medians) <= 1.5
        yield _goal("the budget that is named", "within 1.5 × of the truth", words, met)
    ranked = [each for each in sections.get("ranking", []) if each["settled"]]
    if ranked:
        share = sum(each["right"] for each in ranked) / sum(each["settled"] for each in ranked)
        wrong = [each for each in ranked if each["right"] < each["settled"]]
        words = f"{share:.2%} of all settled runs"
        for each in wrong:
            words += f"; {_marked(each['cell'][1])}: {each['right']} of {each['settled']}, in {each['runs']} runs"
        yield _goal("top 3, right when settled", "≥ 95 %", words, share >= 0.95)
    if looks:
        most = max(each["share"] for each in looks.values())
        yield _goal(
            "cost of looks at 10 µs an evaluation", "≤ 5 %", f"{most:.1%} at most", most <= 0.05
        )


def _error(cell: dict) -> float:
    """Two binomial errors of a share of 95 %."""
    return 2 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / cell.get("given", cell["runs"]))


def _named(cell: dict) -> str:
    _, name, method, share = cell["cell"]
    return f"{name}, {method}, {share:.0%}"


def _against_others(stopped: list[dict]) -> Iterator[str]:
    for held_out, which in ((None, ""), (True, ", held-out games")):
        gains = [
            gain
            for name, gain in _gains(stopped)
            if held_out is None or CASES[name].held_out == held_out
        ]
        if gains:
            mean = math.exp(sum(map(math.log, gains)) / len(gains))
            words = f"{mean:.2f} × fewer ({len(gains)} cells, {min(gains):.2f} to {max(gains):.1f})"
            yield _goal(
                f"evaluations of auto against antithetic permutations{which}",
                "≥ 5 × fewer",
                words,
                mean >= 5,
            )
    ours = [
        each
        for each in stopped
        if each["cell"][2] == "halved-owen" and each.get("oracle replicates", 0) >= 30
    ]
    ratios = [each["evaluations"] / each["oracle evaluations"] for each in ours]
    if ratios:
        words = f"{min(ratios):.2f} to {max(ratios):.2f} ×"
        yield _goal(
            "evaluations of halved-owen against the oracle", "≤ 2 ×", words, max(ratios) <= 2
        )


def _gains(stopped: list[dict]) -> Iterator[tuple[str, float]]:
    """How many times fewer evaluations than antithetic permutations, for each game and tolerance
    that both reach.
    """
    reached = [each for each in stopped if each["reached"] > 0.99]
    theirs = {
        (each["cell"][1], each["cell"][3]): each
        for each in reached
        if each["cell"][2] == ANTITHETIC
    }
    for each in reached:
        other = theirs.get((each["cell"][1], each["cell"][3]))
        if each["cell"][2] == AUTO and other:
            yield each["cell"][1], other["evaluations"] / each["evaluations"]


def _multiples(sections: dict[str, list[dict]]) -> Iterator[tuple[dict, np.ndarray]]:
    """The budgets that are named, as multiples of what the tolerance takes in the mean."""
    taken = {
        each["cell"][1::2]: each
        for each in sections.get("stopping", [])
        if each["cell"][2] == "halved-owen"
    }
    for each in sections.get("predicted", []):
        full = taken.get(each["cell"][1:3])
        if full and each["each named"]:
            yield each, np.array(each["each named"]) / full["evaluations"]


def _goal(what: str, goal: str, measured: str, met: bool) -> str:
    return f"| {what} | {goal} | {measured} | {'yes' if met else '**no**'} |"


def every_run_goals(cells: list[dict]) -> Iterator[str]:
    """Of cells with a fixed budget: coverage, width and doubts, every run counted."""
    for method in dict.fromkeys(each["cell"][2] for each in cells):
        own = [each for each in cells if each["cell"][2] == method]
        mean = float(np.mean([each["coverage 95%"] for each in own]))
        yield _goal(f"coverage, {method}, mean", "≥ 93 %", f"{mean:.1%}", mean >= 0.93)
    if not cells:
        return
    worst = min(cells, key=lambda each: each["coverage 95%"])
    words = f"{worst['coverage 95%']:.1%} ({', '.join(map(str, worst['cell'][1:]))})"
    yield _goal("coverage, every game", "≥ 85 %", words, worst["coverage 95%"] >= 0.85)
    middle, high = np.percentile([each["width"] for each in cells], [50, 90])
    words = f"{middle:.2f} · {high:.2f}"
    met = middle <= 1.3 and high <= 3
    yield _goal("width / ideal, median · 90th percentile of cells", "≤ 1.3 · 3", words, met)
    doubtful = float(np.mean([each["share doubtful"] for each in cells]))
    yield _goal("runs marked doubtful", "≤ 10 %", f"{doubtful:.1%}", doubtful <= 0.1)


def every_run_table(cells: list[dict]) -> Iterator[str]:
    """A line for each cell with a fixed budget."""
    yield "| game | method | replicates | runs | 90 % | 95 % | 99 % | worst player | width / ideal | doubtful |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for each in cells:
        _, name, method, replicates = each["cell"]
        method = (
            f"{method}, {EACH[replicates]} (n + 1) evaluations" if replicates in EACH else method
        )
        levels = " | ".join(f"{each[f'coverage {level}%']:.1%}" for level in (90, 95, 99))
        yield (
            f"| {_marked(name)} | {method} | {each['most replicates']} | {each['runs']} | {levels} "
            f"| {each['worst player']:.1%} | {each['width']:.2f} | {each['share doubtful']:.0%} |"
        )


def _fixed(sections: dict[str, list[dict]]) -> Iterator[str]:
    yield "## Per value, fixed budget, every run counted"
    yield ""
    yield "Coverage is the mean over players whose replicates differ. Width: median over players of the mean half-width at"
    yield "95 % over 1.96 × the root mean square error."
    yield ""
    yield from every_run_table([each for each in sections["fixed"] if "coverage 95%" in each])


def _marked(name: str) -> str:
    return f"{name} *" if name in CASES and CASES[name].held_out else name


def _stopping(sections: dict[str, list[dict]]) -> Iterator[str]:
    yield "## At a tolerance: all values at once, at the moment of stopping"
    yield ""
    yield "| game | method | tolerance | runs | reached | all held | within | evaluations | replicates | oracle's | ratio |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for each in sections["stopping"]:
        _, name, method, share = each["cell"]
        oracle = " | "
        if "oracle replicates" in each:
            oracle = (
                f"{each['oracle replicates']:.0f} | "
                f"{each['evaluations'] / each['oracle evaluations']:.2f}"
            )
        yield (
            f"| {_marked(name)} | {method} | {share:.0%} | {each['runs']} | {each['reached']:.0%} "
            f"| {each['held']:.1%} | "
            f"{each['within']:.1%} | {each['evaluations']:,.0f} | {each['replicates']:.0f} | "
            f"{oracle} |"
        )


def _predicted(sections: dict[str, list[dict]]) -> Iterator[str]:
    yield "## The budget that is named early, as a multiple of what it takes"
    yield ""
    yield "| game | tolerance | runs | median | runs within 1.5 × |"
    yield "|---|--:|--:|--:|--:|"
    for each, multiples in _multiples(sections):
        inside = np.mean((multiples > 1 / 1.5) & (multiples < 1.5))
        name, share = each["cell"][1:3]
        yield f"| {_marked(name)} | {share:.0%} | {each['runs']} | {np.median(multiples):.2f} | {inside:.0%} |"


def _ranking(sections: dict[str, list[dict]]) -> Iterator[str]:
    yield "## Top 3"
    yield ""
    yield "| game | runs | settled | right | evaluations |"
    yield "|---|--:|--:|--:|--:|"
    for each in sections["ranking"]:
        evaluations = each["evaluations"] / each["runs"]
        yield f"| {_marked(each['cell'][1])} | {each['runs']} | {each['settled']} | {each['right']} | {evaluations:,.0f} |"


SECTIONS = {"fixed": _fixed, "stopping": _stopping, "predicted": _predicted, "ranking": _ranking}
