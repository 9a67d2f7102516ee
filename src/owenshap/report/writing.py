"""The page as a file, and as a cell of a notebook.

jinja2 is named in this file alone. All text is escaped where it is put in.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

from owenshap.errors import InputError
from owenshap.explain.explanation import Explanation
from owenshap.explain.interactions import Interactions
from owenshap.jobs.run import Run
from owenshap.report.material import MOST_BYTES, Material, gathered
from owenshap.report.packing import packed
from owenshap.report.pairs import told_pairs
from owenshap.report.telling import told
from owenshap.support.archive import replacing
from owenshap.support.checks import whole_number
from owenshap.support.extras import needed


@dataclass(frozen=True)
class Page:
    """A page, as text; the last value of a notebook's cell is shown there."""

    html: str = field(repr=False)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write it to a file, whole or not at all."""
        target = Path(path)
        try:
            with replacing(target) as file:
                file.write(self.html.encode())
        except OSError as error:
            raise InputError(
                "path",
                "be a file that can be written",
                f"{target} ({error.strerror or error})",
                "Give another place",
            ) from error
        return target

    def _repr_html_(self) -> str:
        """In a frame of its own: neither the notebook nor the page can change the other."""
        style = "width:100%;height:760px;border:1px solid #8884;border-radius:6px"
        return (
            f'<iframe sandbox="allow-scripts" title="Explanation" style="{style}" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )


def write(
    explained: Explanation | Run,
    path: str | PathLike[str],
    *,
    title: str | None = None,
    audit: Mapping[str, str] | None = None,
    rows: int | None = None,
    interactions: Interactions | Run | None = None,
) -> Path:
    """Write an explanation or a run as one HTML file that needs nothing else.

    Parameters
    ----------
    explained : Explanation or Run
        What to show. A run is read part by part, finished or not.
    path : path
        The file.
    title : str, optional
        The heading.
    audit : mapping of str to str, optional
        More lines for the last block, as "model": "sha256 …".
    rows : int, optional
        The most rows that the page holds: 1,000 by default, fewer where they would take more than
        1.6 MB. Importance is over all rows; of more rows than these a drawn sample is shown, with
        the least certain and the most unusual ones.
    interactions : Interactions or Run, optional
        Of the same features, for a section on the pairs that add most together. A run that was made
        with interactions=True has it anyway.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import numpy as np, owenshap, pathlib, tempfile
    >>> explainer = owenshap.Explainer(lambda rows: rows[:, 0] * rows[:, 1], baseline=0.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     explanation = explainer(np.array([[2.0, 3.0], [1.0, 4.0]]))
    ...     file = owenshap.report.write(explanation, pathlib.Path(folder) / "report.html")
    ...     "What mattered most" in file.read_text()
    True
    """
    made = page(explained, title=title, audit=audit, rows=rows, interactions=interactions)
    return made.save(path)


def page(
    explained: Explanation | Run,
    *,
    title: str | None = None,
    audit: Mapping[str, str] | None = None,
    rows: int | None = None,
    interactions: Interactions | Run | None = None,
) -> Page:
    """The page that `write` writes, for a notebook.

    Parameters
    ----------
    explained, title, audit, rows, interactions
        As for `write`.

    Returns
    -------
    Page
        Shown in a notebook, as text in `html`, written by `save`.
    """
    if rows is not None:
        rows = whole_number("rows", rows, 1, "It counts the rows that the page holds")
    material, data = _fitting(gathered(explained, rows))
    if interactions is None and isinstance(explained, Run) and explained.has_interactions:
        interactions = explained
    pairs = told_pairs(interactions, material.shown.feature_names)
    return Page(_rendered(told(material, title, dict(audit or {}), pairs), data))


def _fitting(material: Material) -> tuple[Material, str]:
    """The material with as many rows as fit into a page, and these as JSON."""
    data = packed(material)
    while len(data.encode()) > MOST_BYTES and len(material.numbers) > 1:
        share = 0.98 * MOST_BYTES / len(data.encode())
        material = material.fewer(max(1, int(share * len(material.numbers))))
        data = packed(material)
    return material, data


def _rendered(content: dict[str, Any], data: str) -> str:
    """The page, from what it tells and its rows as JSON that is safe inside a script element."""
    jinja2 = needed("jinja2", extra="report")
    markup = needed("markupsafe", extra="report").Markup
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    style = _text("style.css")
    script = _text("script.js")
    # Nothing is fetched and no other script runs, whatever a name holds.
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )
    return environment.from_string(_text("page.html")).render(
        **content,
        policy=policy,
        style=markup(style),
        script=markup(script),
        data=markup(data),
    )


def _text(name: str) -> str:
    return (resources.files("owenshap.report") / "templates" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
