"""
An ONNX file
============

A model from another language or team: all that is needed is its file.
"""

import tempfile
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_diabetes
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import owenshap

data = load_diabetes(scaled=False)
X = data.data.astype(np.float32)
model = make_pipeline(
    StandardScaler(), MLPRegressor(hidden_layer_sizes=(20,), max_iter=3000, random_state=0)
)
model.fit(X, data.target)
path = Path(tempfile.mkdtemp()) / "model.onnx"
path.write_bytes(to_onnx(model, X[:1]).SerializeToString())

explainer = owenshap.Explainer(str(path), background=X[:100], feature_names=data.feature_names)
explanation = explainer(X[:1])
print(explanation.because[0])

# %%

owenshap.plots.waterfall(explanation[0])
