"""Templates: jinja2 is named in this file alone. All text is escaped where it is put in."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import Any

from owenshap.support.extras import needed


def rendered(content: dict[str, Any], data: str) -> str:
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
