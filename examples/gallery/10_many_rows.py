"""
A whole table, on disk
======================

A run streams rows in and values out, part by part. Started again, it goes on where it was.
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

import owenshap

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = HistGradientBoostingRegressor(max_iter=40, random_state=0).fit(X, y)
explainer = owenshap.Explainer(model, background=X)

folder = Path(tempfile.mkdtemp()) / "run"
explainer.run(X, out=folder)
run = owenshap.open_run(folder)
print(run.progress)

# %%
# Any rows of it are an explanation again.

owenshap.plots.beeswarm(run.explanation(rows=range(200)))
