"""An explainer that also tells what pairs of features add together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from owenshap.designs.indices import as_index
from owenshap.estimators import Estimator
from owenshap.explain.exact_trees import TreeValues
from owenshap.explain.explainer import Explainer
from owenshap.explain.explanation import OUTPUTS, PLAYERS, ROWS, Explanation
from owenshap.explain.interactions import PARTNERS, Interactions, shaped
from owenshap.explain.pairing import check_size, of_explanation
from owenshap.explain.question import Question
from owenshap.run.methods import TREES
from owenshap.run.semivalues import settled_method
from owenshap.run.task import Settings
from owenshap.support.executors import Executor
from owenshap.support.progress import Meter


class Interacting(Explainer):
    """An explainer, and the interactions of what it explains."""

    def interactions(
        self,
        X: Any,
        *,
        index: Any = "shapley",
        method: str | Estimator = "auto",
        budget: int | None = None,
        tolerance: float | str | None = None,
        seconds: float | None = None,
        seed: int = 0,
        confidence: float = 0.95,
        executor: Executor | None = None,
        progress: bool | Meter | None = None,
    ) -> Interactions:
        """What pairs of features add to the predictions of these rows together, and each one alone.

        One run gives values and interactions: `interactions.player_values` are what a call of the
        explainer gives with the same settings, and no evaluation is made beyond theirs.

        Parameters
        ----------
        X : rows
            In the type of the background, columns in any order.
        index : str or (nodes, weights)
            As for `owenshap.interactions`.
        method, budget, tolerance, seconds, seed, confidence, executor, progress
            As for a call of the explainer; a tolerance is that of the values. Methods are
            'trees', of models that are sums over trees, and those that evaluate pairs: 'exact',
            'gaussian-process', 'gaussian-process-corrected', 'linear'.

        Returns
        -------
        Interactions
        """
        exact = self._exact_pairs(X, method, budget, index, seed, confidence)
        if exact is not None:
            return exact
        explanation = self(
            X,
            method=method,
            budget=budget,
            tolerance=tolerance,
            seconds=seconds,
            seed=seed,
            confidence=confidence,
            executor=executor,
            progress=progress,
            keep=True,
        )
        return of_explanation(explanation, index)

    def with_interactions(
        self,
        X: Any,
        *,
        index: Any = "shapley",
        method: str | Estimator = "auto",
        budget: int | None = None,
        seed: int = 0,
        confidence: float = 0.95,
        **settings: Any,
    ) -> tuple[Explanation, Interactions]:
        """Values and interactions, both from one run.

        Parameters
        ----------
        X, index, method, budget, seed, confidence
            As for `interactions`.
        **settings
            Other keywords of a call of the explainer.

        Returns
        -------
        (Explanation, Interactions)
            Those of a call with keep=True, and of `interactions`; of trees those of a call.
        """
        exact = self._exact_pairs(X, method, budget, index, seed, confidence)
        explanation = self(
            X,
            index=index,
            method=method,
            budget=budget,
            seed=seed,
            confidence=confidence,
            keep=exact is None,
            **settings,
        )
        if exact is not None:
            return explanation, exact
        return replace(explanation, kept=None), of_explanation(explanation, index)

    def _exact_pairs(
        self,
        X: Any,
        method: str | Estimator,
        budget: int | None,
        index: Any,
        seed: int,
        confidence: float,
    ) -> Interactions | None:
        """Those of a sum over trees; None where it is sampled. An error where that cannot be."""
        chosen = as_index(index)
        if method not in ("auto", TREES):
            settled_method(method, 1, budget)
        given = self._inputs.given(X)
        check_size(len(given.players), len(given.rows), 1, self._memory)
        if not (self._trees.known or given.absent is None or method == TREES):
            return None
        question = self._predictor.plain_question(
            Settings.checked(seed, confidence, True, self._memory),
            chosen.name,
            given,
            self._predictor.predictions(given.rows),
        )
        exact, _ = self._trees.chosen(question, method, chosen.as_rule(), pairs=True)
        return None if exact is None else _of_trees(question, exact)


def _of_trees(question: Question, exact: TreeValues) -> Interactions:
    """The interactions of rows, from exact values of all pairs."""
    one = question.explained.shape[1] == 1
    cells = (exact.values + exact.values.swapaxes(1, 2)) / 2  # but for rounding the same
    return Interactions(
        values=shaped(cells, one),
        base_values=shaped(exact.base, one),
        predictions=shaped(question.explained, one),
        data=question.data(),
        feature_names=[*question.players.names],  # the user may change the list
        output_names=question.output_names,
        standard_errors=np.zeros_like(shaped(cells, one)),
        lower=shaped(cells, one).copy(),
        upper=shaped(cells, one).copy(),
        doubtful=shaped(np.full(exact.base.shape, "", object), one),
        evaluations=np.zeros(len(question.explained), np.int64),
        method=TREES,
        index=question.index,
        seed=question.settings.seed,
        confidence=question.settings.confidence,
        axes=(ROWS, PLAYERS, PARTNERS) if one else (ROWS, PLAYERS, PARTNERS, OUTPUTS),
        unit=question.unit,
    )
