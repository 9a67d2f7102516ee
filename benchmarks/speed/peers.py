"""The same work by other libraries, those that are installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np
import torch


def contenders(
    model: torch.nn.Module, row: torch.Tensor, evaluations: int
) -> dict[str, Callable[[], object]]:
    """Shapley values of one row against the baseline 0 from about so many evaluations."""
    made: dict[str, Callable[[], object]] = {}
    players = row.shape[1]
    array, zeros = row.numpy(), np.zeros((1, players), np.float32)

    def predict(rows: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return model(torch.from_numpy(np.asarray(rows, np.float32))).numpy()

    if importlib.util.find_spec("shap"):
        import shap

        def permutation() -> object:
            explainer = shap.explainers.Permutation(
                predict, shap.maskers.Independent(zeros), seed=0
            )
            return explainer(
                array, max_evals=evaluations // (2 * players + 1) * (2 * players + 1), silent=True
            )

        def kernel() -> object:
            return shap.KernelExplainer(predict, zeros).shap_values(
                array, nsamples=evaluations, silent=True
            )

        made |= {"shap Permutation": permutation, "shap Kernel": kernel}
    if importlib.util.find_spec("captum"):
        from captum.attr import ShapleyValueSampling

        def sampling() -> object:
            attribution = ShapleyValueSampling(model)
            samples = evaluations // players
            return attribution.attribute(
                row, target=0, n_samples=samples, perturbations_per_eval=players
            )

        made["captum ShapleyValueSampling"] = sampling
    if importlib.util.find_spec("shapiq"):
        import shapiq

        def value(coalitions: np.ndarray) -> np.ndarray:
            return predict(coalitions * array)[:, 0]

        made |= {
            "shapiq Permutation": lambda: shapiq.PermutationSamplingSV(
                players, random_state=0
            ).approximate(evaluations, value),
            "shapiq Owen": lambda: shapiq.OwenSamplingSV(
                players, n_anchor_points=32, random_state=0
            ).approximate(evaluations, value),
        }
    return made
