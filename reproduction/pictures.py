"""Small PNG files: the pictures of the reproduction and of the benchmarks are kept in the
repository.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

LARGEST = 150_000  # bytes of a picture in the repository
PALETTES = (256, 128, 64, 32)  # numbers of colours, tried in turn until the file is small enough


def save(figure: Any, path: Path, dpi: int) -> None:
    """Write a matplotlib figure as a PNG with a palette, which takes a third of the bytes of true
    colours.
    """
    from PIL import Image

    drawn = BytesIO()
    figure.savefig(drawn, dpi=dpi, format="png")
    path.write_bytes(compact(Image.open(drawn), dpi))


def compact(picture: Any, dpi: int) -> bytes:
    """The PNG of a picture in as many colours as fit into `LARGEST` bytes, or in the fewest of
    `PALETTES`.
    """
    for colours in PALETTES:
        written = BytesIO()
        _reduced(picture, colours).save(written, format="png", optimize=True, dpi=(dpi, dpi))
        if written.tell() <= LARGEST:
            break
    return written.getvalue()


def _reduced(picture: Any, colours: int) -> Any:
    """Maximum coverage, then k-means: of Pillow's ways the one that moves no colour far; dots would
    blur text.
    """
    from PIL import Image

    return picture.convert("RGB").quantize(
        colours,
        method=Image.Quantize.MAXCOVERAGE,
        kmeans=5,
        dither=Image.Dither.NONE,
    )
