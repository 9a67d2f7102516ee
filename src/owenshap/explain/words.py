"""Names and numbers as text that fits."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

MOST_LINES = 12  # of a list on a screen or a page; the others are counted
FEW_LINES = MOST_LINES // 2  # of what is printed in passing, and outputs side by side
NAMED = FEW_LINES // 2  # features or pairs that one sentence names
LONGEST_NAME = 32  # characters: longer ones leave no room for the bars
LONGEST_CELL = 18  # characters of a value, a category or an output, which stands beside names
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def shorten(text: str, longest: int = LONGEST_NAME) -> str:
    """The text in one line, with its middle left out where it is longer: both ends tell names
    apart.
    """
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def fitted(names: Sequence[str], longest: int = LONGEST_NAME) -> list[str]:
    """Names in one line each, no longer than that, and as different as they were: those that would
    look alike are shortened where they do not differ.
    """
    texts = [" ".join(name.split()) for name in names]
    groups = defaultdict(list)
    for text in dict.fromkeys(texts):
        groups[shorten(text, longest)].append(text)
    labels: dict[str, str] = {}
    for label, alike in groups.items():
        told_apart = [label] if len(alike) == 1 else _told_apart(alike, longest)
        labels |= dict(zip(alike, told_apart, strict=True))
    return [labels[text] for text in texts]


def _told_apart(texts: list[str], longest: int) -> list[str]:
    """Long texts with what differs in them, and as much of their beginning as fits."""
    start = _in_common(texts)
    end = _in_common([text[start:][::-1] for text in texts])
    whole = re.search(r"[\W_].*", texts[0][len(texts[0]) - end :])  # words are not cut
    end = len(whole[0]) if whole else 0
    labels = []
    for text in texts:
        differs = shorten(text[start : len(text) - end], max(longest // 2, longest - 8))
        tail = "…" if end else ""
        head = text[:start]
        room = longest - len(differs) - len(tail)
        if len(head) > room:
            head = f"{head[: max(room - 1, 0)].rstrip()}…"
        labels.append(f"{head}{differs}{tail}")
    if len(set(labels)) < len(labels):  # they differ in several places: by their order, then
        count = len(str(len(labels)))
        labels = [
            f"{label[: longest - count - 2]} #{number}" for number, label in enumerate(labels, 1)
        ]
    return labels


def _in_common(texts: list[str]) -> int:
    """How many characters all of them begin with."""
    pairs = zip(min(texts), max(texts), strict=False)
    return next(
        (place for place, (one, other) in enumerate(pairs) if one != other), len(min(texts))
    )


def counted(count: int, what: str) -> str:
    """'1 row', '2,000 rows'."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def ranged(counts: ArrayLike) -> str:
    """'8', or '8 to 1,200' where they differ."""
    low = int(np.min(counts))
    high = int(np.max(counts))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def percent(share: float) -> str:
    """0.95 as '95 %'."""
    return f"{100 * share:g} %"


def named_outputs(names: Sequence[str] | None, count: int) -> Sequence[str]:
    """The names of outputs, by number where they have none."""
    return names or [f"output {number}" for number in range(count)]


def called(output: str) -> str:
    """The name of an output in a sentence: a class that is called by a number is class 0."""
    numbered = output.lstrip("-").replace(".", "", 1).isdigit()
    return f"class {output}" if numbered or output in ("True", "False") else output


@dataclass(frozen=True)
class Digits:
    """How numbers of one column are written: with the same decimals, and the same power of ten
    where they need one.
    """

    decimals: int
    exponent: int

    @classmethod
    def of(cls, values: ArrayLike, significant: int = 3) -> Digits:
        """So many significant digits for the largest."""
        largest = float(np.max(np.abs(values), initial=0.0))
        if largest == 0 or not np.isfinite(largest):
            return cls(0, 0)
        power = int(np.floor(np.log10(largest)))
        exponent = power if power < -4 or power > 7 else 0
        return cls(max(0, significant - 1 - (power - exponent)), exponent)

    def at_least(self, other: Digits) -> Digits:
        """With the decimals of the other, where it has more and neither needs a power of ten."""
        return (
            self
            if self.exponent or other.exponent
            else Digits(max(self.decimals, other.decimals), 0)
        )

    def signed(self, value: float) -> str:
        """The number with its sign; the power of ten, `suffix`, is left to the caller."""
        if value == 0:
            return "0"
        return ("+" if value > 0 else "−") + self._plain(abs(value))

    def unsigned(self, value: float) -> str:
        """The number, with a sign only where it is below 0."""
        return ("−" if value < 0 else "") + self._plain(abs(value))

    def doubt(self, half_width: float | None) -> str:
        """'± …', empty for None; a number too small for the decimals is written with its own."""
        if half_width is None:
            return ""
        text = self._plain(half_width)
        if float(text.replace(",", "")) == 0:
            size = half_width / 10.0**self.exponent
            text = f"{size:.1g}".replace("-", "−")
            if size >= 1e-7:  # below, zeros cannot be counted at a glance
                text = np.format_float_positional(size, 1, fractional=False, trim="-")
        return f"± {text}"

    @property
    def suffix(self) -> str:
        """The common power of ten, or nothing."""
        return f" × 10{str(self.exponent).translate(SUPERSCRIPTS)}" if self.exponent else ""

    def _plain(self, size: float) -> str:
        return f"{size / 10.0**self.exponent:,.{self.decimals}f}"
