"""Explain one diagnosis of a small neural network, by Halved Owen sampling and exactly; print a
table and draw a picture.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import owenshap

PICTURE = Path("out/demo.png")


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    # Each measurement has three columns, 'mean radius', 'radius error' and 'worst radius': one
    # player.
    measurements = [name.removeprefix("mean ") for name in X.columns if name.startswith("mean ")]
    players = {name: [column for column in X.columns if name in column] for name in measurements}
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = make_pipeline(
        StandardScaler(), MLPClassifier((16,), max_iter=2000, random_state=0)
    ).fit(X_train, y_train)
    print(
        f"A network with one hidden layer, {model.score(X_test, y_test):.1%} of {len(X_test)} "
        "test diagnoses right."
    )

    patient = X_test.iloc[[91]]
    explainer = owenshap.Explainer(
        model,
        background=X_train,
        players=players,
        output="malignant",
        output_names=["malignant", "benign"],
    )
    estimated = explainer(patient, method="halved-owen", budget=700)[0]
    exact = explainer(patient, method="exact")[0]

    print(
        f"\nWhat made it say that this patient's tumour is malignant with probability {exact.predictions:.3f}?"
    )
    print(
        f"Halved Owen sampling, {estimated.evaluations} evaluations, beside all {exact.evaluations}:\n"
    )
    print(f"{'':20}{'contribution':>13}  {'95 % interval':^19}{'exact':>9}")
    for i in abs(estimated.values).argsort()[::-1]:
        interval = f"[{estimated.lower[i]:+.4f}, {estimated.upper[i]:+.4f}]"
        print(
            f"{estimated.feature_names[i]:20}{estimated.values[i]:+13.4f}  "
            f"{interval:^19}{exact.values[i]:+9.4f}"
        )
    print(f"{'sum':20}{estimated.values.sum():+13.4f}  {'':19}{exact.values.sum():+9.4f}")
    inside = ((estimated.lower <= exact.values) & (exact.values <= estimated.upper)).sum()
    print(f"\n{inside} of {len(exact.values)} intervals hold the exact value.")

    mpl.use("Agg")
    axes = owenshap.plots.waterfall(estimated)
    PICTURE.parent.mkdir(exist_ok=True)
    axes.figure.savefig(PICTURE, dpi=150, bbox_inches="tight")
    print(f"Picture: {PICTURE}")


if __name__ == "__main__":
    main()
