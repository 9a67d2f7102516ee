"""
Patches of an image
===================

Patches of pixels are players; red speaks for the digit, blue against it.
"""

from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import owenshap

digits = load_digits()
X = digits.data / 16
model = MLPClassifier((32,), max_iter=500, random_state=0).fit(X, digits.target)

patches = owenshap.patches(8, 8, size=2)
explainer = owenshap.Explainer(model, baseline=0.0, players=patches, output="predicted")
explanation = explainer(X[10:15])
print(explanation.method)

# %%

owenshap.plots.image(explanation, shape=(8, 8), players=patches)
