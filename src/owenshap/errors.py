"""Every exception of the package, in one grammar: '<what> must <rule>; got <value>. <what to
do>.'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from owenshap.explain.explanation import Explanation
    from owenshap.run.result import Estimate


MOST_SHOWN = 300  # characters of what was given, or may be: more are not read
MOST_TOLD = 10 * MOST_SHOWN  # characters of a whole message: libraries may quote whole files


def cut(text: str, longest: int = MOST_SHOWN) -> str:
    """The text, or its beginning where it is longer."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def shown(value: object) -> str:
    """What was given as it is typed, shortened; its type where it cannot be, as 10**5000."""
    try:
        return cut(repr(value))
    except Exception:
        return f"{type(value).__name__}, which cannot be shown"


class OwenshapError(Exception):
    """Something that the caller can mend.

    Parameters
    ----------
    what, rule, got, advice : str
        The parts of the sentence '<what> must <rule>; got <got>. <advice>.'
    """

    def __init__(self, what: str, rule: str, got: object, advice: str) -> None:
        super().__init__(what, rule, got if isinstance(got, str) else shown(got), advice)
        # what was computed before it happened, where there is any
        self.estimate: Estimate | None = None
        self.explanation: Explanation | None = None  # the same of rows: those that were finished

    def __str__(self) -> str:
        what, rule, got, advice = self.args
        return f"{what} must {rule}; got {got}. {advice}."


class InputError(OwenshapError, ValueError):
    """An argument is not what it must be."""


class UnknownMethodError(InputError):
    """No method has that name."""


class UnknownArgumentError(InputError, TypeError):
    """A function was given an argument that it does not have."""


class UnreadableModelError(InputError):
    """A tree model cannot be read, and the reason; it can still be sampled."""


class GameError(OwenshapError):
    """The game raised, or returned something that is no value. `estimate` holds what was computed
    before.
    """


class ModelError(GameError):
    """The model raised, or returned something that is no prediction. `explanation` holds the rows
    finished before.
    """


class MissingExtraError(OwenshapError, ImportError):
    """A package is needed that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            package, "be installed", "no such package", f'Run pip install "owenshap[{extra}]"'
        )

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        what, _, _, advice = self.args
        return MissingExtraError, (what, advice.partition("[")[2].partition("]")[0])
