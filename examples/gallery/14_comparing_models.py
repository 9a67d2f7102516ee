"""
Two models compared
===================

Last month's model and this month's on the same rows: which features matter more or less than
before, beyond the intervals and beyond what you call a change.
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge

import owenshap

X, y = load_diabetes(return_X_y=True, as_frame=True)
before = owenshap.Explainer(Ridge(0.1).fit(X, y), background=X)(X)
after = owenshap.Explainer(GradientBoostingRegressor(random_state=0).fit(X, y), background=X)(X)

changes = owenshap.compare(before, after, least="2%")
print(changes)

# %%

owenshap.plots.comparison(changes)
