"""What the pages say of the time that trees take is what the benchmark measured."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
JOBS = json.loads((ROOT / "benchmarks" / "trees" / "results.json").read_text())["jobs"]
DEFAULT = json.loads((ROOT / "benchmarks" / "default" / "results.json").read_text())["jobs"]
MEASURED = {
    "200 trees of depth 6, 1,000 rows, background of 100 | shap's": ("depth_6", 0),
    "| woodelf's": ("depth_6", 1),
    "| xgboost's own path-dependent values": ("depth_6", 2),
    "100 trees of depth 3 | shap's": ("depth_3", 0),
    "50 trees of depth 10 | the fastest peer's": ("depth_10", 0),
    "forest of 100 full regression trees, 100 rows | shap's": ("forest", 0),
    "the first job with a background of 10,000 | its own with 100": ("large_background", 0),
}


def short(number):
    digits = 3 if number < 0.1 else 2 if number < 1 else 1
    return f"{number:.{digits}f}"


def measured(job, goal):
    return np.array(JOBS[job]["goals"][goal]["measured"])


@pytest.mark.parametrize("row", MEASURED)
def test_the_table_of_jobs(row):
    ratios = measured(*MEASURED[row])
    spread = f"({short(ratios.min())} – {short(ratios.max())})"
    text = (ROOT / "docs" / "from-shap.md").read_text()
    assert f"{row} | {short(np.median(ratios))} {spread} |" in text


@pytest.mark.parametrize("count", ["1", "10"])
def test_the_rows_of_breast_cancer(count):
    text = (ROOT / "docs" / "from-shap.md").read_text()
    for names in (
        ["xgboost", "lightgbm", "catboost"],
        ["histogram_boosting", "forest", "extra_trees"],
    ):
        line = rf"\| {count} rows?.*: {', '.join(names)} \| shap's \| (.*) \|".replace("_", " ")
        said = re.search(line, text)
        assert said is not None
        ratios = [DEFAULT[name]["cells"][count]["ratio"]["value"] for name in names]
        assert said[1] == ", ".join(f"{ratio:.2f}" for ratio in ratios)


def test_the_readme_says_no_more_than_was_measured():
    said = re.search(
        r"takes a (\d+)th of\s+(the time that )?shap", (ROOT / "README.md").read_text()
    )
    assert said is not None
    assert int(said[1]) <= round(1 / np.median(measured("depth_6", 0)))
