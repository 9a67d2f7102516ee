"""
A report for people who do not write Python
===========================================

One page, in one file that needs nothing else: what mattered, how sure, and why each row got its
prediction. In a notebook it is shown in the cell.
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier

import owenshap

data = load_wine(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X, y)
explanation = owenshap.Explainer(model, background=X, output="class_1")(X)

page = Path(tempfile.mkdtemp()) / "report.html"
explanation.report(page, title="Which wine is it?")
print(f"{page.name}: {page.stat().st_size / 1000:.0f} kB")

# %%
# Its first picture is also a plot.

owenshap.plots.bar(explanation)
