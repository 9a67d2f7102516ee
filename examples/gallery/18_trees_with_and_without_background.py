"""
With and without a background
=============================

Two columns that say the same: with a background the model's own use of them is explained; without
one, absent columns follow the trees' training data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

import owenshap

rng = np.random.default_rng(0)
height = rng.normal(size=1000)
X = np.c_[height, height + 0.05 * rng.normal(size=1000), rng.normal(size=1000)]
y = 2 * X[:, 0] + X[:, 2]
names = ["height", "arm length", "age"]
model = GradientBoostingRegressor(max_depth=3, random_state=0).fit(X, y)

figure, axes = plt.subplots(2, 1, figsize=(6, 4), layout="constrained")
for title, background, ax in (("with a background", X, axes[0]), ("without", None, axes[1])):
    explainer = owenshap.Explainer(model, background, feature_names=names)
    owenshap.plots.bar(explainer(X[:200]), ax=ax)
    ax.set_title(title)
