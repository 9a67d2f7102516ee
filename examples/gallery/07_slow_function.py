"""
A slow function and few calls
=============================

Where a call takes long, a Gaussian process learns from the calls that were made: the lowest error
for a given number of evaluations.
"""

import numpy as np

import owenshap

rng = np.random.default_rng(0)
weights = rng.normal(size=16)


def simulation(rows):
    """Stands for something that takes minutes a row."""
    return np.tanh(rows @ weights) + rows[:, 0] * rows[:, 3]


explainer = owenshap.Explainer(simulation, baseline=0.0)
row = rng.normal(size=(1, 16))
exact = explainer(row, method="exact").values
for method in ("castro", "halved-owen", "gaussian-process"):
    explanation = explainer(row, method=method, budget=250)
    error = np.sqrt(((explanation.values - exact) ** 2).sum() / (exact**2).sum())
    print(f"{method:18} {explanation.evaluations[0]} evaluations, error {error:.2%}")

# %%

owenshap.plots.bar(explanation[0])
