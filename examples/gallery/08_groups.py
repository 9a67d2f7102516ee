"""
Groups of columns as one player
===============================

Columns that belong together are explained together: ten measurements, each as a mean, an error and
a worst case.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import owenshap

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = RandomForestClassifier(100, max_depth=6, random_state=0).fit(X, y)

measurements = [name.removeprefix("mean ") for name in X.columns[:10]]
groups = {name: [f"mean {name}", f"{name} error", f"worst {name}"] for name in measurements}
explanation = owenshap.Explainer(model, background=X, players=groups, output="malignant")(X)
print(explanation.shape)

# %%

owenshap.plots.bar(explanation)
