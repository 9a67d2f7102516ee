"""RESULTS.md from the kept results."""
from pathlib import Path
def write(folder: Path, path: Path) -> None:
    path.write_text("later\n")
