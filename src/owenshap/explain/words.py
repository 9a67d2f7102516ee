"""Names and numbers as text that fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

LONGEST_NAME = 32  # characters: longer ones leave no room for the bars
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
            text = f"{half_width / 10.0**self.exponent:.1g}".replace("-", "−")
        return f"± {text}"

    @property
    def suffix(self) -> str:
        """The common power of ten, or nothing."""
        return f" × 10{str(self.exponent).translate(SUPERSCRIPTS)}" if self.exponent else ""

    def _plain(self, size: float) -> str:
        return f"{size / 10.0**self.exponent:,.{self.decimals}f}"
