"""The results as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

MEGABYTE = 1e6


@dataclass(frozen=True)
class Row:
    """What was measured; rows without a limit are for comparison."""

    what: str
    goal: str
    measured: str
    spread: str
    best: str
    met: bool | None

    def markdown(self) -> str:
        met = {True: "yes", False: "**no**", None: ""}[self.met]
        return (
            f"| {self.what} | {self.goal} | {self.measured} | {self.spread} | {self.best} | {met} |"
        )


def table(results: dict) -> str:
    """results.md."""
    rows = [
        row
        for section, make in SECTIONS.items()
        if section in results
        for row in make(results[section])
    ]
    lines = [
        "# Core: speed and memory",
        "",
        "Made by `make bench-core`; [how it is measured](../README.md), [what was "
        "tried](../decisions.md#blocks).",
        "Ratios are medians over turns, with their quartiles; 'best' is the ratio of the best "
        "turns, which other work on the",
        "machine disturbs least. Numbers from a machine that is busy with other work (last "
        "table) are not final.",
        "",
        "| what | goal | measured | quartiles | best | met? |",
        "|---|--:|--:|--:|--:|---|",
        *(row.markdown() for row in rows),
        "",
        "![Time per evaluation against the number of players](complexity.png)",
        "",
        "| section | date | source | seconds | load before, after | processors busy with other "
        "work |",
        "|---|---|---|--:|--:|--:|",
        *(_watch_line(section, results[section]) for section in SECTIONS if section in results),
        "",
        "; ".join(f"{name} {value}" for name, value in results["machine"].items()) + ".",
    ]
    return "\n".join(lines) + "\n"


def _overhead(section: dict) -> Iterator[Row]:
    sampling, exact = section["sampling"], section["exact"]
    for each in sampling["against_bare"]:
        goal = 1.3 if "halved" in each["name"] else None
        yield from _against_bare(each, goal)
    for each in exact["against_bare"]:
        yield from _against_bare(each, 1.5)
    for part in (sampling, exact):
        for each in part["beside_peers"]:
            yield from _beside(each)


def _against_bare(each: dict, goal: float | None) -> Iterator[Row]:
    name, ratios = f"{each['name']}, {each['evaluations']:,} evaluations", each["ratios"]
    yield _ratio_row(
        f"{name} / the function on ready coalitions, one call", ratios["game_one_call"], goal
    )
    yield _ratio_row(
        f"{name} / the function, same {each['calls']} calls", ratios["game_same_calls"], None
    )
    yield _ratio_row(
        f"{name} / its network on ready inputs, one call", ratios["bare_one_call"], None
    )
    yield _ratio_row(
        f"{name} / its network, same {each['calls']} calls", ratios["bare_same_calls"], None
    )
    overhead, bare = (
        each["nanoseconds_per_evaluation_overhead"],
        each["nanoseconds_per_evaluation_bare"],
    )
    yield Row(
        f"{each['name']}: overhead of an evaluation",
        "",
        "",
        "",
        f"{overhead:.0f} ns beside {bare:.0f} ns",
        None,
    )


def _beside(each: dict) -> Iterator[Row]:
    if not each["name"].startswith("owenshap"):
        name = f"peer {each['name']}, {each['evaluations']:,} evaluations"
        yield _ratio_row(f"{name} / bare network", each["ratio_to_bare"], None)
        yield _ratio_row(f"{name} / owenshap", each["ratio_to_owenshap"], None)


def _ratio_row(what: str, ratio: dict, at_most: float | None) -> Row:
    met = None if at_most is None else ratio["median"] <= at_most
    goal = "" if at_most is None else f"≤ {at_most} ×"
    return Row(
        what, goal, f"{ratio['median']:.2f} ×", _quartiles(ratio), f"{ratio['of_best']:.2f} ×", met
    )


def _memory(section: dict) -> Iterator[Row]:
    for each in section["measurements"]:
        what = (
            f"extra memory, 785 players, {each['stars']:,} stars, {each['setting']}, by "
            f"{each['meter']}"
        )
        extra = each["extra_bytes"] / MEGABYTE
        yield Row(what, "≤ 256 MB", f"{extra:.0f} MB", "", "", extra <= 256)


def _complexity(section: dict) -> Iterator[Row]:
    points, slopes = section["points"], section["slopes"]
    for name in ("owen", "halved-owen"):
        ratios = [point["to_castro"][name]["median"] for point in points]
        best = [
            point["nanoseconds"][name]["best"] / point["nanoseconds"]["castro"]["best"]
            for point in points
        ]
        what = f"{name} / castro, time per evaluation, 8 to 1,000 players"
        same = min(ratios) >= 1 / 1.5 and max(ratios) <= 1.5
        yield Row(what, "the same (within 1.5 ×)", _range(ratios), "", _range(best), same)
    slope = ", ".join(f"{name} {value:.2f}" for name, value in slopes.items())
    yield Row(
        "time per evaluation from 64 players on grows as n to the power of",
        "the same",
        "",
        "",
        slope,
        None,
    )


def _range(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f} ×"


def _processes(section: dict) -> Iterator[Row]:
    labels = {
        "speedup": f"2 processes against 1, {section['microseconds_per_evaluation']:.0f} µs an evaluation",
        "speedup_against_here": "2 processes against none",
        "limit": "2 processes against 1 without owenshap: this machine's limit",
    }
    for name, what in labels.items():
        ratio = section[name]
        goal, met = ("≥ 1.7 ×", ratio["median"] >= 1.7) if name == "speedup" else ("", None)
        yield Row(
            what,
            goal,
            f"{ratio['median']:.2f} ×",
            _quartiles(ratio),
            f"{ratio['of_best']:.2f} ×",
            met,
        )


def _quartiles(ratio: dict) -> str:
    return f"{ratio['quartile_1']:.2f} to {ratio['quartile_3']:.2f}"


def _watch_line(name: str, section: dict) -> str:
    watch = section["watch"]
    others = watch["processors_used_by_others"]
    busy = "unknown" if others is None else f"{others:.2f}"
    load = f"{watch['load_before']:.2f}, {watch['load_after']:.2f}"
    return (
        f"| {name} | {section['date']} | {section['source']} | {watch['seconds']:.0f} | {load} | "
        f"{busy} |"
    )


SECTIONS: dict[str, Callable[[dict], Iterator[Row]]] = {
    "overhead": _overhead,
    "memory": _memory,
    "complexity": _complexity,
    "processes": _processes,
}
