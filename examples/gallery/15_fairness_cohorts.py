"""
Groups of people side by side
=============================

Does the model lean on other features for one group than for another?
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

import owenshap

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = RandomForestRegressor(100, max_depth=6, random_state=0).fit(X, y)
explanation = owenshap.Explainer(model, background=X)(X)

by_sex = owenshap.cohorts(explanation, X["sex"].map({1: "women", 2: "men"}), name="sex")
print(by_sex)

# %%

owenshap.plots.cohorts(by_sex)
