"""What users of shap type here by habit, and what to type instead."""

from __future__ import annotations

from collections.abc import Mapping

from owenshap.support.checks import named_arguments

BUDGET = "Use budget=, the coalitions valued for each row, or tolerance='1%', which finds it"
BACKGROUND = "Use background=, the rows themselves, or baseline=0.0 for one value"
ADDS_UP = "Leave it out: values always add up to the prediction"

ARGUMENTS: Mapping[str, str] = {
    "masker": BACKGROUND,
    "maskers": BACKGROUND,
    "data": BACKGROUND,
    "link": "Use output='logit' of the Explainer for log-odds",
    "model_output": "Use output='probability', or leave it out for log-odds of boosted models",
    "algorithm": "Use method= where rows are explained; 'auto' is the default",
    "feature_perturbation": "Give a background for interventional values, none for path-dependent",
    "max_evals": BUDGET,
    "nsamples": BUDGET,
    "npermutations": f"Use method='castro' for permutations. {BUDGET}",
    "nsamples_per_feature": BUDGET,
    "l1_reg": "Leave it out: no feature is dropped",
    "batch_size": "Use batch_rows= of the Explainer",
    "silent": "Use progress=False",
    "check_additivity": ADDS_UP,
    "outputs": "Use output=[…] of the Explainer",
    "ranked_outputs": "Use output='predicted' of the Explainer",
    "main_effects": "Use explainer.interactions(X), whose diagonal they are",
    "interactions": "Use explainer.interactions(X)",
    "error_bounds": "Leave it out: every value has an interval",
    "random_state": "Use seed= where rows are explained",
    "npoints": BUDGET,
    "tree_limit": "Leave it out: all trees of the model are explained",
    "approximate": "Leave it out: trees are explained exactly",
}
"""What replaces each argument of shap's explainers."""
known_arguments = named_arguments(ARGUMENTS)
"""Functions that answer an argument of shap's with the one that they have."""

NAMES: Mapping[str, str] = {
    "TreeExplainer": "owenshap.Explainer(model, X) explains trees exactly",
    "KernelExplainer": "owenshap.Explainer(model, X) explains any model",
    "PermutationExplainer": "owenshap.Explainer(model, X), with method='castro' in its call",
    "SamplingExplainer": "owenshap.Explainer(model, X), with method='castro' in its call",
    "ExactExplainer": "owenshap.Explainer(model, X), with method='exact' in its call",
    "PartitionExplainer": "owenshap.Explainer(model, X, players={'group': [columns]})",
    "LinearExplainer": "owenshap.Explainer(model, X) explains linear models in closed form",
    "AdditiveExplainer": "owenshap.Explainer(model, X)",
    "DeepExplainer": "owenshap.Explainer(module, X) takes torch modules and ONNX files",
    "GradientExplainer": "owenshap.Explainer(module, X) takes torch modules and ONNX files",
    "maskers": "owenshap.Explainer(model, background=X) or baseline=0.0",
    "links": "owenshap.Explainer(model, X, output='logit')",
    "sample": "X.sample(100), or give all rows as the background",
    "kmeans": "owenshap.Explainer(model, X, background_weights=...) takes weighted rows",
    "summary_plot": "owenshap.plots.beeswarm(explanation)",
    "force_plot": "owenshap.plots.force(explanation[0])",
    "dependence_plot": "owenshap.plots.scatter(explanation, 'age')",
    "bar_plot": "owenshap.plots.bar(explanation)",
    "waterfall_plot": "owenshap.plots.waterfall(explanation[0])",
    "image_plot": "owenshap.plots.image(explanation, shape)",
    "decision_plot": "shap.plots.decision with explanation.to_shap()",
    "initjs": "nothing: plots need no scripts",
}
"""What replaces each name of shap's."""

PLOTS: Mapping[str, str] = {
    "violin": "owenshap.plots.beeswarm(explanation)",
    "heatmap": "shap.plots.heatmap(explanation.to_shap()); of pairs, owenshap.plots.pairs",
    "decision": "shap.plots.decision with explanation.to_shap()",
    "embedding": "shap.plots.embedding with explanation.to_shap()",
    "group_difference": "owenshap.plots.comparison(owenshap.compare(e, f, paired=False))",
    "monitoring": "owenshap.compare(before, after)",
    "partial_dependence": "scikit-learn's PartialDependenceDisplay",
    "text": "shap.plots.text, for text models",
} | {name: what for name, what in NAMES.items() if name.endswith("_plot")}
"""The same of its plots."""

OF_EXPLAINER: Mapping[str, str] = {
    "shap_values": "explainer(X).values, or .shap_values of the explanation",
    "expected_value": "explainer(X).base_values, or .expected_value of the explanation",
    "shap_interaction_values": "explainer.interactions(X)",
    "explain_row": "explainer(X)[0]",
}
"""The same of an explainer's attributes."""


def missing(name: str, where: str, instead: Mapping[str, str]) -> AttributeError:
    """The error for what is not there, with what is there in its place."""
    hint = f"; in its place: {instead[name]}" if name in instead else ""
    return AttributeError(f"{where} has no attribute '{name}'{hint}")
