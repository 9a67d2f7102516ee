"""
Features that matter together
=============================

Which pairs of features add something that neither adds alone? From trees exactly; from other models
at no evaluation beyond those of the values.
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

import owenshap

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = GradientBoostingRegressor(random_state=0).fit(X, y)
explainer = owenshap.Explainer(model, background=X.iloc[:100])
interactions = explainer.interactions(X.iloc[:100])
print(interactions.pairs().head(3))

# %%

owenshap.plots.pairs(interactions)
