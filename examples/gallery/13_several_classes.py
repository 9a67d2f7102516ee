"""
Several classes at once
=======================

All outputs come from the same evaluations.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import owenshap

data = load_iris(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = SVC(probability=False, random_state=0).fit(X, y)

explanation = owenshap.Explainer(model, background=X)(X.iloc[::10])
print(explanation.shape, explanation.output_names, explanation.unit)

# %%

figure, axes = plt.subplots(3, 1, figsize=(6, 6), layout="constrained")
for name, ax in zip(explanation.output_names, axes, strict=True):
    owenshap.plots.bar(explanation[:, :, name], ax=ax)
    ax.set_title(name)
