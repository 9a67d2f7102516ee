"""The log of decisions has a contents that is complete, and everything that points into it points
at an entry.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOG = ROOT / "benchmarks" / "decisions.md"
FOLDERS = ("benchmarks", "docs", "examples", "reproduction", "src")
HEADINGS = re.findall(r"^##+ (.+)$", LOG.read_text(), re.MULTILINE)
ENTRIES = re.findall(r"^### (.+)$", LOG.read_text(), re.MULTILINE)


def anchor(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_the_contents_name_every_entry_in_order():
    assert re.findall(r"\]\(#([^)]+)\)", LOG.read_text()) == [anchor(each) for each in ENTRIES]


def test_references_point_at_entries():
    files = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".md", ".py"}
    ]
    texts = [path.read_text() for path in [*files, ROOT / "README.md"] if path != LOG]
    asked = {each for text in texts for each in re.findall(r"decisions\.md#([\w-]+)", text)}
    assert asked
    assert asked - {anchor(each) for each in HEADINGS} == set()
