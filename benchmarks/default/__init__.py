"""One call without settings, beside shap's: `make bench-default`."""
