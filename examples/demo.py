"""Explain one diagnosis of a small neural network with the default call; print a table and draw a
picture.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import owenshap

SHOWN = 10  # features with the largest contributions


def main(picture: Path) -> None:
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = make_pipeline(StandardScaler(), MLPClassifier((16,), max_iter=2000, random_state=0))
    model.fit(X_train, y_train)
    right = model.score(X_test, y_test)
    print(f"A network with one hidden layer: {right:.1%} of {len(X_test)} diagnoses are right.")

    explainer = owenshap.Explainer(model, background=X_train, output="malignant")
    patient = X_test.iloc[[91]]
    explanation = explainer(patient)[0]

    print(
        "\nWhy does it give this patient's tumour a probability of "
        f"{explanation.predictions:.2f} to be malignant?\n"
    )
    print(f"{'':26}{'contribution':>13}  {'95 % interval':^18}")
    order = abs(explanation.values).argsort()[::-1]
    for i in order[:SHOWN]:
        interval = f"[{explanation.lower[i]:+.3f}, {explanation.upper[i]:+.3f}]"
        name = explanation.feature_names[i]
        print(f"{name:26}{explanation.values[i]:+13.3f}  {interval:^18}")
    rest = explanation.values[order[SHOWN:]].sum()
    print(f"{f'{len(order) - SHOWN} other features':26}{rest:+13.3f}")
    print(f"{'base value':26}{explanation.base_values:13.3f}")
    print(f"{'sum':26}{explanation.base_values + explanation.values.sum():13.3f}")
    print(f"\nStopped by {explanation.stopped_by}.")

    closer = explainer(patient, tolerance="0.2%", seed=1)[0]
    holds = (explanation.lower <= closer.values) & (closer.values <= explanation.upper)
    print(f"Again, to 0.2 %: {holds.sum()} of {len(holds)} intervals hold those values.")

    mpl.use("Agg")
    axes = owenshap.plots.waterfall(explanation)
    picture.parent.mkdir(parents=True, exist_ok=True)
    axes.figure.savefig(picture, dpi=110, bbox_inches="tight")
    print(f"Picture: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, default=Path("out/demo.png"))
    main(parser.parse_known_args()[0].picture)
