"""Accuracy at equal evaluations, beside every public estimator."""
