"""Pictures in the repository are small, and as they were drawn."""

from pathlib import Path

import numpy as np
import pytest

from reproduction.pictures import LARGEST, save

ROOT = Path(__file__).parents[3]
KEPT_IN = ("benchmarks", "docs", "examples", "reproduction")
ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp")
PICTURES = sorted(
    path for folder in KEPT_IN for path in (ROOT / folder).rglob("*") if path.suffix in ENDINGS
)


def test_every_picture_in_the_repository_is_small():
    assert PICTURES
    assert [path.name for path in PICTURES if path.stat().st_size > LARGEST] == []


def test_a_saved_figure_has_few_colours_that_are_close_to_those_drawn(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot
    from PIL import Image

    figure, axis = pyplot.subplots(figsize=(3, 2))
    axis.imshow(np.random.default_rng(0).random((20, 30)), cmap="RdBu_r", aspect="auto")
    axis.set_title("many colours")
    figure.savefig(tmp_path / "drawn.png", dpi=100)
    save(figure, tmp_path / "saved.png", dpi=100)
    pyplot.close(figure)
    saved = Image.open(tmp_path / "saved.png")
    drawn = np.asarray(Image.open(tmp_path / "drawn.png").convert("RGB"), dtype=float)
    assert saved.mode == "P"
    assert saved.info["dpi"] == pytest.approx((100, 100), rel=1e-3)
    assert abs(np.asarray(saved.convert("RGB")) - drawn).max() <= 16  # of 255
    assert (tmp_path / "saved.png").stat().st_size < (tmp_path / "drawn.png").stat().st_size


def test_a_busy_picture_has_fewer_colours_until_it_is_small_enough(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from PIL import Image

    from reproduction import pictures

    noise = np.random.default_rng(0).integers(0, 255, (60, 60, 3), dtype=np.uint8)
    large = pictures.compact(Image.fromarray(noise), dpi=100)
    monkeypatch.setattr(pictures, "LARGEST", len(large) - 1)
    assert len(pictures.compact(Image.fromarray(noise), dpi=100)) < len(large)
