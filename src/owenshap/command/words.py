"""What the command prints: a summary for people, and the same for machines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from owenshap.command.check import Change
from owenshap.command.faults import Exit
from owenshap.designs.indices import SHAPLEY
from owenshap.explain.explanation import OUTPUTS, Explanation
from owenshap.explain.importance import importance, is_doubtful, told_doubts
from owenshap.explain.summary import lines, told_unit
from owenshap.explain.words import (
    LONGEST_CELL,
    MOST_LINES,
    NAMED,
    Digits,
    counted,
    named_outputs,
    percent,
    shorten,
)
from owenshap.report.pairs import Summary


@dataclass(frozen=True)
class Done:
    """What was explained, and what was made of it."""

    explanation: Explanation
    rows: int
    """In all; the explanation may be of some of them."""
    failed: int
    model: str
    data: str
    evaluations: int
    pairs: list[Summary]
    """What pairs of features come to, for each output; none where it was not asked for."""
    files: list[Path]
    audit: dict[str, str]
    notes: list[str]
    changes: list[Change] | None
    """Since an earlier explanation, where there is one."""

    @property
    def exit_code(self) -> Exit:
        """What the command ends with."""
        if self.failed:
            return Exit.MODEL
        return Exit.CHANGED if any(each.changed for each in self.changes or ()) else Exit.DONE


def summary(done: Done) -> str:
    """Some lines: what was explained, what mattered most, how sure that is."""
    explanation = done.explanation
    explained = done.rows - done.failed
    what = f"{counted(explained, 'row')} of {done.data}"
    unit = told_unit(explanation)
    of = f" in {unit}" if unit else ""
    head = [f"Explained {what}, {done.model}{of}."]
    if len(explanation) < explained:
        head.append(f"What follows is of {len(explanation):,} of them, evenly spread.")
    names = explanation.output_names
    if OUTPUTS in explanation.axes:
        shown = enumerate(named_outputs(names, explanation.shape[-1]))
        body = [_one_line(explanation[..., place], name) for place, name in shown]
        body = first_lines(body, "more outputs")
    else:
        body = _bars(explanation)
    if names and len(names) == 1:
        head[0] = head[0].removesuffix(".") + f": {names[0]}."
    of_pairs = [_strongest(each) for each in done.pairs[:MOST_LINES]]
    return "\n".join([*head, "", *body, "", *of_pairs, _how_sure(done)])


def first_lines(lines: list[str], others: str) -> list[str]:
    """As many of these lines as one reads, and how many others there are."""
    hidden = len(lines) - MOST_LINES
    return lines[:MOST_LINES] + ([f"and {hidden:,} {others}"] if hidden > 0 else [])


def _strongest(summarised: Summary) -> str:
    """The pairs that add most together, in a line."""
    pairs = summarised.pairs.strongest_pairs(NAMED)
    of = "" if summarised.output is None else f" for {shorten(summarised.output)}"
    if not pairs:
        return f"No two features add anything together{of}."
    values = [float(summarised.pairs.matrix[pair]) for pair in pairs]
    digits = Digits.of(values)
    shown = digits.signed if summarised.pairs.signed else digits.unsigned
    parts = [
        f"{shorten(summarised.pairs.names[first])} and {shorten(summarised.pairs.names[second])} "
        f"{shown(value)}{digits.suffix}"
        for (first, second), value in zip(pairs, values, strict=True)
    ]
    return f"Together{of}: {', '.join(parts)}."


def _bars(explanation: Explanation) -> list[str]:
    """The strongest features with bars, as wide as their mean |contribution|."""
    shown = lines(explanation, MOST_LINES)
    digits = Digits.of([each.value for each in shown])
    longest = max((each.value for each in shown if each.players == 1), default=0.0)
    width = max(len(each.label) for each in shown)
    over = f"over {counted(len(explanation), 'row')}"
    known = any(each.half_width is not None for each in shown)
    sure = f", ± its {percent(explanation.confidence)} interval" if known else ""
    rows = [f"{'':{width}}  mean |contribution| {over}{sure}"]
    for each in shown:
        value, doubt = each.written(digits, signed=False)
        length = round(LONGEST_CELL * min(1.0, each.value / longest)) if longest else 0
        bar = "━" * length if each.players == 1 else ""
        rows.append(f"{each.label:{width}}  {bar:{LONGEST_CELL}} {value} {doubt}".rstrip())
    return rows


def _one_line(explanation: Explanation, name: str) -> str:
    shown = [line for line in lines(explanation, NAMED + 1) if line.players == 1][:NAMED]
    digits = Digits.of([each.value for each in shown])
    parts = [f"{each.label} {' '.join(each.written(digits, signed=False))}" for each in shown]
    return f"{shorten(name)}: {', '.join(part.strip() for part in parts)}"


def _how_sure(done: Done) -> str:
    """How sure values are, and what they cost."""
    explanation = done.explanation
    half = explanation.half_widths
    if not np.isfinite(half).any():
        sure = "Values have no intervals."
    elif not np.nanmax(half):
        sure = "Values are exact: all that is unsure is what other rows would have given."
    else:
        usual = float(np.nanmedian(half))
        widest = float(np.nanmax(half))
        level = f"{percent(explanation.confidence)} intervals"
        sure = f"{level} of single values: ± {usual:.2g} as a rule, ± {widest:.2g} at most."
    doubts = told_doubts(explanation)
    cost = f"{explanation.method}, {done.evaluations:,} evaluations, seed {explanation.seed}"
    if explanation.index != SHAPLEY.name:
        cost += f". Index: {explanation.index}, whose values need not sum to the prediction"
    doubts = f" {doubts[:1].upper()}{doubts[1:].removesuffix('.')}." if doubts else ""
    return f"{sure}{doubts}\nMethod: {cost}."


def as_data(done: Done) -> dict[str, Any]:
    """The summary as plain data, largest importance first."""
    explanation = done.explanation
    many = OUTPUTS in explanation.axes
    names = explanation.output_names
    outputs = []
    for place in range(explanation.shape[-1] if many else 1):
        one = explanation[..., place] if many else explanation
        table = importance(one)
        cells = zip(table.values, table.lower, table.upper, strict=True)
        outputs.append(
            {
                "output": names[place] if names else None,
                "base_value": _number(one.base_values.mean()),
                "importance": [
                    {
                        "feature": name,
                        "importance": _number(value),
                        "lower": _number(lower),
                        "upper": _number(upper),
                    }
                    for name, (value, lower, upper) in zip(table.feature_names, cells, strict=True)
                ],
            }
        )
    return {
        "rows": done.rows,
        "failed": done.failed,
        "summarised_rows": len(explanation),
        "model": done.model,
        "data": done.data,
        "unit": explanation.unit,
        "method": explanation.method,
        "index": explanation.index,
        "seed": explanation.seed,
        "confidence": explanation.confidence,
        "evaluations": done.evaluations,
        "doubtful_rows": int(is_doubtful(explanation).reshape(len(explanation), -1).any(1).sum()),
        "outputs": outputs,
        **_pairs(done.pairs),
    }


def _pairs(summaries: list[Summary]) -> dict[str, Any]:
    """The strongest pairs as plain data, with what they add together: its mean size over rows."""
    if not summaries:
        return {}
    return {
        "interactions": [
            {
                "output": each.output,
                "first": each.pairs.names[first],
                "second": each.pairs.names[second],
                "together": _number(each.pairs.matrix[first, second]),
            }
            for each in summaries
            for first, second in each.pairs.strongest_pairs(MOST_LINES)
        ]
    }


def _number(value: Any) -> float | None:
    """JSON has no NaN."""
    return float(value) if np.isfinite(value) else None
