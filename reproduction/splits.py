"""How much of a test accuracy on CC is the luck of the split: the same network fitted on twenty of them."""

from __future__ import annotations

from pathlib import Path

from reproduction.data import credit_cards
from reproduction.steps import Result, Run
from reproduction.training import fit, one_feature_rule, score

SPLITS = 20


def experiment(architecture: str, folder: Path | None, run: Run) -> None:
    """Test accuracies over splits, and the one-feature rule's on the same rows."""
    splits = min(SPLITS, 2 * run.size.repetitions) if run.size.repetitions > 5 else 2

    def compute() -> Result:
        tests, rules = [], []
        for seed in range(splits):
            dataset = credit_cards(folder, seed)
            tests.append(score(fit(architecture, dataset), dataset.test))
            rules.append(one_feature_rule(dataset))
        return {"architecture": architecture, "test": tests, "rule": rules}

    run.step("cc-splits", {"splits": splits, "architecture": architecture}, compute)
