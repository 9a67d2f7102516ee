"""
A pipeline with categories
==========================

A pipeline is explained in the names of its inputs, however many columns its encoder makes of them.
Values and categories reach the model as they came.
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import owenshap

rng = np.random.default_rng(0)
count = 800
X = pd.DataFrame(
    {
        "income": rng.lognormal(8, 0.5, count).round(),
        "age": rng.integers(18, 80, count),
        "city": pd.Categorical(rng.choice(["Bern", "Lyon", "Graz"], count)),
        "housing": pd.Categorical(rng.choice(["rents", "owns"], count)),
    }
)
repaid = (X["income"] / 3000 + (X["housing"] == "owns") + rng.normal(size=count)) > 1.5
y = np.where(repaid, "repaid", "defaulted")

encode = make_column_transformer(
    (OneHotEncoder(), ["city", "housing"]), (StandardScaler(), ["income", "age"])
)
model = make_pipeline(encode, GradientBoostingClassifier(random_state=0)).fit(X, y)

explanation = owenshap.Explainer(model, background=X)(X.iloc[:300])
print(explanation.feature_names, explanation.because[0])

# %%
# Categories stand side by side.

owenshap.plots.scatter(explanation, "housing", color="income")
