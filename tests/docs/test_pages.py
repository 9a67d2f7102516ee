"""Every example of the README and the docs runs, and prints what the page says it prints."""

import contextlib
import io
import json
import re
import runpy
from pathlib import Path

import pytest

import owenshap

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> list[tuple[str, str | None]]:
    """The python blocks of a page, each with the text block that follows it directly."""
    text = page.read_text()
    blocks = list(BLOCK.finditer(text))
    found = []
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] != "python":
            continue
        follows = (
            after is not None
            and after[1] == "text"
            and not text[block.end() : after.start()].strip()
        )
        found.append((block[2], after[2] if follows else None))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    for code, expected in examples(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), namespace)
        if expected is not None:
            assert printed.getvalue().split() == expected.split(), f"{page.name}:\n{code}"


def test_the_demo_explains_and_draws(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    holds = re.search(r"(\d+) of 30 intervals hold those values", capsys.readouterr().out)
    assert holds is not None
    assert int(holds[1]) >= 27
    assert (tmp_path / "out" / "demo.png").stat().st_size > 10_000


def test_a_page_that_lies_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(2)\n```\n```text\n3\n```\n")
    assert examples(page) == [("print(2)\n", "3\n")]


def test_the_readme_has_an_example_with_output():
    assert any(expected for _, expected in examples(ROOT / "README.md"))


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs" / "api.md").read_text()
    documented = set(re.findall(r"^\.\. auto\w+:: (?:owenshap\.)?([\w.]+)$", page, re.MULTILINE))
    assert documented >= set(owenshap.__all__)


def test_every_page_is_in_the_sites_contents():
    contents = (ROOT / "docs" / "index.md").read_text()
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages <= set(re.findall(r"^([\w-]+)$", contents, re.MULTILINE))


def test_the_table_of_the_readme_is_that_of_the_benchmark():
    jobs = json.loads((ROOT / "benchmarks" / "default" / "results.json").read_text())["jobs"]
    named = {
        "xgboost": "xgboost",
        "k-nearest neighbours": "nearest_neighbours",
        "support vectors": "support_vectors",
        "network": "mlp_pipeline",
        "naive Bayes": "naive_bayes",
    }
    text = (ROOT / "README.md").read_text()
    rows = [line.split(" | ") for line in re.findall(r"^\| (.*\d.*) \|$", text, re.MULTILINE)]
    assert [row[0].split(",")[0] for row in rows] == [*named]
    tens = {name: job["cells"]["10"] for name, job in jobs.items() if "10" in job["cells"]}
    slower = {
        name: cell["shap"]["error"] / cell["owenshap"]["error"]
        for name, cell in tens.items()
        if cell["owenshap"]["seconds"] > cell["shap"]["seconds"]
    }
    assert f"sooner in {len(slower)} of [{len(tens)} jobs]" in text
    assert f"at least {int(min(slower.values()))} times our error" in text
    assert f"the other {len(tens) - len(slower)} our default" in text
    least = min(slower[name] for name in ("mlp_pipeline", "naive_bayes"))
    assert f"at least {int(least)} times ours" in text
    for name, *theirs_and_ours in rows:
        cell = jobs[named[name.split(",")[0]]]["cells"]["10"]
        for who, (seconds, error, _) in zip(
            ("shap", "owenshap"), (theirs_and_ours[:3], theirs_and_ours[3:]), strict=True
        ):
            assert float(seconds) == pytest.approx(cell[who]["seconds"], rel=0.05)
            measured = cell[who]["error"]
            noise = cell[who].get("noise", 0.0)
            assert error == (
                "exact"
                if measured < 1e-10
                else f"≤ {noise:.0e}".replace("-0", "-")
                if measured < noise
                else f"{measured:.1e}".replace("-0", "-")
            )


def rows_of_the_table() -> list[str]:
    """The first code of the second column, in each row of the page for users of shap."""
    page = (ROOT / "docs" / "from-shap.md").read_text()
    lines = re.findall(r"^\| .* \| (.*) \| .*\|$", page.partition("## Every call")[2], re.MULTILINE)
    return [code[1] for line in lines if (code := re.match(r"`([^`]+)`", line))]


def test_every_row_for_users_of_shap_runs():
    import matplotlib.pyplot as plt
    import numpy as np
    import torch
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    import owenshap

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :10]
    logistic = LogisticRegression(max_iter=5000).fit(X, y)
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    e = owenshap.Explainer(model, X, output=0)(X.iloc[:12])
    names = {
        "owenshap": owenshap,
        "np": np,
        "model": model,
        "X": X,
        "rows": X.iloc[:2],
        "e": e,
        "before": e,
        "after": e,
        "logistic": logistic,
        "probability": lambda rows: logistic.predict_proba(rows)[:, 1],
        "net": torch.nn.Linear(10, 1),
        "Z": torch.tensor(X.to_numpy(), dtype=torch.float32),
    }
    found = rows_of_the_table()
    assert len(found) > 40
    for code in found:
        eval(code, dict(names))
    plt.close("all")
