"""
A torch network
===============

A module is explained as it is, on the device where it lies. Its first linear layer is used to
evaluate coalitions without composing rows.
"""

import torch
from sklearn.datasets import load_breast_cancer

import owenshap

data = load_breast_cancer()
X = torch.tensor((data.data - data.data.mean(0)) / data.data.std(0), dtype=torch.float32)
y = torch.tensor(data.target, dtype=torch.float32)

torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(30, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for _ in range(150):
    optimizer.zero_grad()
    loss = torch.nn.functional.binary_cross_entropy_with_logits(network(X)[:, 0], y)
    loss.backward()
    optimizer.step()

explainer = owenshap.Explainer(network, background=X[:100], feature_names=list(data.feature_names))
explanation = explainer(X[100:150])
print(
    explanation.method, "largest half-width:", abs(explanation.upper - explanation.lower).max() / 2
)

# %%

owenshap.plots.bar(explanation)
