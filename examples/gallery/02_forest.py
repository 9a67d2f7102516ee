"""
A forest's probabilities
========================

A forest's probability is a mean over its trees, so it is exact too, class by class.
"""

from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

import owenshap

data = load_wine(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = RandomForestClassifier(100, random_state=0).fit(X, y)

explanation = owenshap.Explainer(model, background=X)(X.iloc[:60])
print(explanation.unit, explanation.output_names, explanation.shape)

# %%
# The class of the first wine, feature by feature, from the mean over all wines to this one.

owenshap.plots.waterfall(explanation[0, :, "class_0"])
