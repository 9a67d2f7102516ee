"""
Boosted trees, exactly
======================

Nothing is sampled: the values are read off the trees, with every row of the background.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import owenshap

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(X, y)

explanation = owenshap.Explainer(model, background=X)(X)
print(explanation.because[0])
print("model evaluations:", explanation.evaluations.sum())

# %%
# A dot for each patient: how far the feature moved the log-odds, coloured by its value.

owenshap.plots.beeswarm(explanation)
