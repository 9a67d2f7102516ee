"""Every plot, in light and dark, with few and many players, long names and odd numbers: written to
out/gallery/.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import owenshap
from owenshap import plots

OUT = Path("out/gallery")
LONG = "the mean monthly amount outstanding on all accounts of the household, {} of 200"


def made_up(players: int, rows: int = 1, scale: float = 1.0, seed: int = 0) -> owenshap.Explanation:
    """An explanation without a model, to try numbers of any size."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(rows, players))
    weights = rng.normal(size=players) * np.exp(-np.arange(players) / (4 + players / 8)) * scale
    game = owenshap.Explainer(
        lambda x: np.tanh(x @ weights / scale / 2) * scale * 2 + x @ weights, baseline=0.0
    )
    return game(data, method="owen", budget=max(600, 12 * players), progress=False)


def diabetes() -> owenshap.Explanation:
    """Ten features, a background of 100 rows, intervals."""
    frame, target = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = GradientBoostingRegressor(random_state=0).fit(frame, target)
    return owenshap.Explainer(model, background=frame[:50])(
        frame[:300], method="halved-owen", budget=250, progress=False
    )


def cancer() -> owenshap.Explanation:
    """Thirty features and two classes."""
    frame, target = load_breast_cancer(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(60, random_state=0).fit(frame, target)
    explainer = owenshap.Explainer(
        model, background=frame[:20], output_names=["malignant", "benign"]
    )
    return explainer(frame[:40], method="castro", budget=400, progress=False)


def mixed() -> owenshap.Explanation:
    """Numbers with holes, categories and dates."""
    rng = np.random.default_rng(0)
    rows = 300
    days = rng.integers(0, 900, rows)
    frame = pd.DataFrame(
        {
            "income ($)": np.where(rng.random(rows) < 0.1, np.nan, rng.lognormal(10, 0.5, rows)),
            "city": rng.choice(
                ["Göttingen", "Lyon", "Kraków", "Porto", "Bath"],
                rows,
                p=[0.4, 0.25, 0.2, 0.1, 0.05],
            ),
            "member": rng.random(rows) < 0.5,
            "since": [
                datetime.datetime(2021, 1, 1) + datetime.timedelta(days=int(day)) for day in days
            ],
            "street": [f"street {number}" for number in rng.integers(0, 40, rows)],
        }
    )

    def model(table: pd.DataFrame) -> np.ndarray[Any, Any]:
        income = table["income ($)"].fillna(15_000).to_numpy() / 20_000
        years = (table["since"] - pd.Timestamp(2021, 1, 1)).dt.days.to_numpy() / 365
        return (
            np.log1p(income) * (1 + (table["city"] == "Lyon"))
            + np.sin(3 * years) * table["member"].to_numpy()
        )

    return owenshap.Explainer(model, background=frame[:30])(
        frame, method="castro", budget=100, progress=False
    )


def digits() -> tuple[owenshap.Explanation, owenshap.Explanation, np.ndarray[Any, Any]]:
    """Small images of digits: pixels as players, and patches."""
    images, target = load_digits(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(images, target)
    names = [f"is a {digit}" for digit in range(10)]
    pixels = owenshap.Explainer(model, baseline=0.0, output_names=names)(
        images[:3], budget=1500, progress=False
    )
    explainer = owenshap.Explainer(
        model, baseline=0.0, players=owenshap.patches(8, 8, 2), output="predicted"
    )
    return pixels, explainer(images[:7], budget=1500, progress=False), images[:7]


def run() -> tuple[list[owenshap.Estimate], np.ndarray[Any, Any]]:
    """The snapshots of a run, and the exact values."""
    weights = np.array([5.0, -3.0, 2.2, 2.0, 1.0, 0.4, -0.2, 0.1, 0.0, 0.0])
    game = owenshap.FunctionGame(
        lambda coalitions: np.sin(coalitions @ weights / 3) + coalitions @ weights / 6, n_players=10
    )
    return list(
        owenshap.estimating(game, "owen", budget=30_000, progress=False)
    ), owenshap.estimate(game, "exact").values


def pictures() -> dict[str, Callable[[], Any]]:
    """All pictures by the names of their files."""
    one, many, classes, table = diabetes()[3], diabetes(), cancer(), mixed()
    pixels, patches, images = digits()
    snapshots, exact = run()
    wide = made_up(200, rows=60)
    named = replace(wide, feature_names=[LONG.format(i) for i in range(200)])
    few = made_up(5, rows=40)
    bare = replace(few, lower=None, upper=None, standard_errors=None)
    negative = -np.abs(few[0].values)
    below = replace(few[0], values=negative, lower=negative - 0.1, upper=negative + 0.1)
    raised = replace(
        few[2], base_values=few[2].base_values + 1e6, predictions=few[2].predictions + 1e6
    )
    nothing = replace(
        few[0],
        values=np.zeros(5),
        lower=np.zeros(5),
        upper=np.zeros(5),
        predictions=few[0].base_values,
    )
    result: dict[str, Callable[[], Any]] = {}
    for name, row in {
        "real": one,
        "5": few[0],
        "200": wide[0],
        "200-long": named[0],
        "no-interval": bare[1],
        "below": below,
        "zeros": nothing,
        "huge": made_up(9, scale=3e12)[0],
        "tiny": made_up(9, scale=2e-9)[0],
        "class": classes[0, :, "benign"],
        "mixed": table[0],
        "raised": raised,
    }.items():
        result[f"bar-row-{name}"] = lambda row=row: plots.bar(row)
        result[f"waterfall-{name}"] = lambda row=row: plots.waterfall(row)
    for name, rows in {
        "real": many,
        "5": few,
        "200-long": named,
        "no-interval": bare,
        "class": classes[..., "benign"],
    }.items():
        result[f"bar-rows-{name}"] = lambda rows=rows: plots.bar(rows)
        result[f"beeswarm-{name}"] = lambda rows=rows: plots.beeswarm(rows)
    result["beeswarm-mixed"] = lambda: plots.beeswarm(table)
    result["scatter-real"] = lambda: plots.scatter(many, "bmi")
    result["scatter-color"] = lambda: plots.scatter(many, "s5", color="bmi")
    for feature in ("income ($)", "city", "member", "since", "street"):
        result[f"scatter-{feature.split()[0]}"] = lambda feature=feature: plots.scatter(
            table, feature, color="city"
        )
    result["scatter-by-date"] = lambda: plots.scatter(table, "city", color="since")
    result["image-one"] = lambda: plots.image(pixels[0, :, 0], (8, 8))
    result["image-outputs"] = lambda: plots.image(pixels, (8, 8))
    result["image-patches"] = lambda: plots.image(
        patches, (8, 8), players=owenshap.patches(8, 8, 2), behind=images
    )
    result["convergence"] = lambda: plots.convergence(snapshots, truth=exact)
    result["convergence-named"] = lambda: plots.convergence(
        snapshots[4:], players=[0, 6, 7, 8, 9], names=[LONG.format(i) for i in range(10)]
    )
    return result


def page(explanations: dict[str, owenshap.Explanation]) -> str:
    """What notebooks show, on light and on dark."""
    parts = [f"<h4>{name}</h4>{each._repr_html_()}" for name, each in explanations.items()]
    style = "font-family:sans-serif;padding:16px;width:760px;"
    body = "".join(parts)
    both = ("background:white;color:black", "background:#111;color:#ddd")
    light, dark = (f'<div style="{style}{colors}">{body}</div>' for colors in both)
    return f'<!doctype html><meta charset="utf-8"><div style="display:flex">{light}{dark}</div>'


def main() -> None:
    """Draw all of them in both styles."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name, draw in pictures().items():
        for style in ("default", "dark_background"):
            with plt.style.context(style):
                draw()
                plt.savefig(
                    OUT / f"{name}-{'light' if style == 'default' else 'dark'}.png", dpi=100
                )
                plt.close("all")
    table, classes = mixed(), cancer()
    hostile = replace(
        made_up(5)[0], feature_names=["<script>alert(1)</script>", "a & b", '"quoted"', "x", LONG]
    )
    shown = {
        "one row": table[0],
        "rows": table,
        "outputs": classes[0],
        "rows and outputs": classes,
        "one player": table[:, "city"],
    }
    shown |= {
        "hostile": hostile,
        "200 players": made_up(200)[0],
        "zeros": replace(made_up(3)[0], values=np.zeros(3)),
    }
    (OUT / "notebook.html").write_text(page(shown), encoding="utf-8")
    print(f"{len(list(OUT.glob('*.png')))} pictures and notebook.html in {OUT}/")


if __name__ == "__main__":
    main()
