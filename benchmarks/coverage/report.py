"""The results as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

CONFIDENCE = 0.95


def table(results: dict) -> str:
    """results.md."""
    by_section: dict[str, list[dict]] = {}
    for each in results["cells"]:
        by_section.setdefault(each["cell"][0], []).append(each)
    lines = ["# Intervals and stopping", "", "Made by `make bench-coverage`; a cell of the tables is one game and method.", ""]
    lines += _goals(by_section, results.get("looks", {}))
    for section, make in SECTIONS.items():
        if section in by_section:
            lines += ["", *make(by_section[section])]
    lines += ["", f"{results['date']}, {results['cores']} cores, source {results['source']}.", ""]
    return "\n".join(lines)


def _goals(sections: dict[str, list[dict]], looks: dict) -> Iterator[str]:
    yield "| | goal | measured | met? |"
    yield "|---|---|---|---|"
    fixed = [each for each in sections.get("fixed", []) if each.get("given")]
    if fixed:
        shares = [each["coverage"] for each in fixed]
        inside = sum(0.94 <= each <= 0.98 for each in shares)
        yield _goal(
            "coverage per value, fixed budget",
            "94–98 % on every game",
            f"{min(shares):.1%} to {max(shares):.1%}; {inside} of {len(shares)} cells within",
            inside == len(shares),
        )
    stopped = [each for each in sections.get("stopping", []) if each["runs"]]
    if stopped:
        worst = min(stopped, key=lambda each: each["coverage"])
        limit = min(CONFIDENCE - 2 * math.sqrt(0.0475 / each["runs"]) for each in stopped)
        good = all(each["coverage"] >= CONFIDENCE - 2 * math.sqrt(0.0475 / each["runs"]) for each in stopped)
        words = f"{worst['coverage']:.1%} at least ({worst['cell'][1]}, {worst['cell'][2]}, {worst['cell'][3]:.0%})"
        yield _goal("simultaneous coverage at the stop", f"≥ 95 % (≥ {limit:.1%} with binomial error)", words, good)
        gains = list(_gains(stopped))
        if gains:
            mean = math.exp(sum(map(math.log, gains)) / len(gains))
            yield _goal("evaluations against antithetic permutations", "≥ 5 × fewer", f"{mean:.2f} × fewer", mean >= 5)
        ours = [each for each in stopped if each["cell"][2] == "halved-owen" and each["oracle replicates"] >= 30]
        ratios = [each["evaluations"] / each["oracle evaluations"] for each in ours]
        if ratios:
            yield _goal(
                "evaluations against the oracle", "≤ 2 ×", f"{min(ratios):.2f} to {max(ratios):.2f} ×", max(ratios) <= 2
            )
    predicted = [each for each in sections.get("predicted", []) if each["runs"]]
    if predicted:
        least, most = min(each["median"] for each in predicted), max(each["median"] for each in predicted)
        inside = sum(each["within 1.5"] for each in predicted) / len(predicted)
        words = f"medians {least:.2f} to {most:.2f}; {inside:.0%} of runs within"
        yield _goal("the budget that is named", "within 1.5 × of the truth", words, least >= 1 / 1.5 and most <= 1.5)
    ranked = [each for each in sections.get("ranking", []) if each["settled"]]
    if ranked:
        share = min(each["right"] / each["settled"] for each in ranked)
        yield _goal("top 3, right when settled", "≥ 95 %", f"{share:.1%} at least", share >= 0.95)
    if looks:
        most = max(each["share"] for each in looks.values())
        yield _goal("cost of looks at 10 µs an evaluation", "≤ 5 %", f"{most:.1%} at most", most <= 0.05)


def _gains(stopped: list[dict]) -> Iterator[float]:
    """How many times fewer evaluations than antithetic permutations, for each game and tolerance."""
    theirs = {(each["cell"][1], each["cell"][3]): each for each in stopped if each["cell"][2] == "antithetic permutations"}
    for each in stopped:
        other = theirs.get((each["cell"][1], each["cell"][3]))
        if each["cell"][2] == "gaussian-process-corrected" and other:
            yield other["evaluations"] / each["evaluations"]


def _goal(what: str, goal: str, measured: str, met: bool) -> str:
    return f"| {what} | {goal} | {measured} | {'yes' if met else '**no**'} |"


def _fixed(cells: list[dict]) -> Iterator[str]:
    yield "## Per value, fixed budget: mean over players, worst player"
    yield ""
    yield "| game | method | replicates | runs | coverage | worst player |"
    yield "|---|---|--:|--:|--:|--:|"
    for each in cells:
        _, name, method, *_ = each["cell"]
        if each.get("given"):
            yield (
                f"| {name} | {method} | {each['replicates']} | {each['given']} | "
                f"{each['coverage']:.1%} | {each['worst player']:.1%} |"
            )


def _stopping(cells: list[dict]) -> Iterator[str]:
    yield "## At a tolerance: all values at once, at the moment of stopping"
    yield ""
    yield "| game | method | tolerance | all held | within the tolerance | evaluations | replicates | oracle's | ratio |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"
    for each in cells:
        _, name, method, share, _ = each["cell"]
        if not each["runs"]:
            yield f"| {name} | {method} | {share:.0%} | too long | | | | {each['oracle replicates']:.0f} | |"
            continue
        ratio = each["evaluations"] / each["oracle evaluations"]
        yield (
            f"| {name} | {method} | {share:.0%} | {each['coverage']:.1%} | {each['within']:.1%} | {each['evaluations']:,.0f} | "
            f"{each['replicates']:.0f} | {each['oracle replicates']:.0f} | {ratio:.2f} |".replace("nan", "")
        )


def _predicted(cells: list[dict]) -> Iterator[str]:
    yield "## The budget that is named after a quarter of it, as a multiple of what it takes"
    yield ""
    yield "| game | tolerance | median | runs within 1.5 × |"
    yield "|---|--:|--:|--:|"
    for each in cells:
        if each["runs"]:
            yield f"| {each['cell'][1]} | {each['cell'][2]:.0%} | {each['median']:.2f} | {each['within 1.5']:.0%} |"


def _ranking(cells: list[dict]) -> Iterator[str]:
    yield "## Top 3"
    yield ""
    yield "| game | runs | settled | right | evaluations |"
    yield "|---|--:|--:|--:|--:|"
    for each in cells:
        yield f"| {each['cell'][1]} | {each['runs']} | {each['settled']} | {each['right']} | {each['evaluations']:,.0f} |"


SECTIONS = {"fixed": _fixed, "stopping": _stopping, "predicted": _predicted, "ranking": _ranking}
