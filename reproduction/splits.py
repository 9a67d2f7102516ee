"""How much of a test accuracy on CC is the luck of the split: the same network fitted on twenty of
them.
"""

from __future__ import annotations

from pathlib import Path

from reproduction.data import credit_cards
from reproduction.steps import Result, Run
from reproduction.training import fit_together, one_feature_rule, score

SPLITS = 20


def experiment(architecture: str, folder: Path | None, run: Run) -> None:
    """Test accuracies over splits, and the one-feature rule's on the same rows."""
    splits = min(SPLITS, 2 * run.size.repetitions) if run.size.repetitions > 5 else 2

    def compute() -> Result:
        datasets = [credit_cards(folder, seed) for seed in range(splits)]
        fitted = fit_together(architecture, datasets, device=run.device)
        tests = [
            score(network, dataset.test) for network, dataset in zip(fitted, datasets, strict=True)
        ]
        rules = [one_feature_rule(dataset) for dataset in datasets]
        return {"architecture": architecture, "test": tests, "rule": rules}

    run.step("cc-splits", {"splits": splits, "architecture": architecture}, compute)
