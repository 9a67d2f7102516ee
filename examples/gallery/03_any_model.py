"""
Any model: nearest neighbours
=============================

There is no structure to use here, so coalitions are sampled until every value is within 1 % of the
output's range. The whiskers are 95 % intervals.
"""

from sklearn.datasets import load_diabetes
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import owenshap

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = make_pipeline(StandardScaler(), KNeighborsRegressor(20)).fit(X, y)

explainer = owenshap.Explainer(model, background=X.iloc[:100])
explanation = explainer(X.iloc[[7]], method="halved-owen")
print(explanation.stopped_by[0])

# %%

owenshap.plots.waterfall(explanation[0])
