"""From a model and its data to explanations: many rows, evaluated together."""

from __future__ import annotations

from typing import Any, NoReturn

from numpy.typing import ArrayLike

from owenshap.estimators import Estimator
from owenshap.explain.exact_trees import ExactTrees
from owenshap.explain.explanation import Explanation
from owenshap.explain.formulas import by_formula
from owenshap.explain.from_shap import OF_EXPLAINER, known_arguments, missing
from owenshap.explain.inputs import Call, Inputs
from owenshap.explain.predicting import Predictor
from owenshap.explain.sampling import sampled
from owenshap.explain.subject import settled_model
from owenshap.games.outputs import Choice
from owenshap.games.players import Groups
from owenshap.support.checks import checked_names, parse_bytes, whole_number
from owenshap.support.executors import Executor
from owenshap.support.progress import Meter


class Explainer:
    """Explains the predictions of a model: what each feature, or group of features, added to them.

    Parameters
    ----------
    model
        A function of a batch of rows, a scikit-learn estimator or pipeline, a torch module, an ONNX
        file or session, or an xgboost, lightgbm or catboost model.
    background : rows, optional
        What absent features are replaced with: all of these rows, averaged over exactly (where
        'auto' takes stars to a tolerance it may draw some of them, and says so). One evaluation
        predicts all of them: some hundred are enough for most, and trees and linear models take any
        number. In the type that the model takes. Copied: later edits of the data change no
        explanation. Only models made of trees do without: absent features then follow the trees'
        own cover of the training data (path-dependent values).
    baseline : number, row or rows, optional
        In place of a background: one value for every feature, one row, or one row per explained
        row.
    background_weights : array, optional
        Of the background rows.
    players : mapping, optional
        Groups of columns that are one player each, as in {"address": ["city", "zip"]}. Other
        columns stay single players.
    output : label, str, int, position, callable or list, optional
        What is explained: a class by its label where the model has labels (`output=1` is the class
        1, wherever it stands), else an output by its number from 0 on; an output by its name, or by
        `owenshap.position(i)`; 'predicted' (each row's predicted class), 'probability' of all
        classes, 'logit', or a function of the predictions (m, k); a list picks several outputs. By
        default all outputs: log-odds of boosted and logistic classifiers (one output for two
        classes, raw scores of several), the log of regressors with a log link, else what the model
        predicts.
    predict : str, optional
        The model's method to call, where it has several.
    feature_names, output_names : list of str, optional
        Where the data or the model has no names of its own.
    fast : bool
        Whether a model that begins with a linear step (perceptrons, linear and logistic models,
        linear SVMs) is evaluated from the columns of that step, which gives the same values sooner.
        A linear model's values then come in closed form, as do those of kernel machines whose
        kernel is a product over features (Gaussian: support vectors, kernel ridge, Gaussian
        processes), and those of trees from the trees themselves.
    memory : str or int
        Bound on working arrays, beside the answer itself. A method whose fit needs more is an
        error; 'auto' takes another.
    batch_rows : int, optional
        The most rows that the model takes at once. By default as many as keep it busy.
    device : str, optional
        Where exact values of trees are looked up, as torch calls it: 'cuda'. Up to 2 GB of its
        memory are used beside the tables. Other models compute where they are.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> explainer = owenshap.Explainer(lambda rows: rows[:, 0] * rows[:, 1], baseline=0.0)
    >>> explainer(np.array([[2.0, 3.0]])).values
    array([[3., 3.]])
    """

    @known_arguments
    def __init__(
        self,
        model: Any,
        background: Any = None,
        *,
        baseline: Any = None,
        background_weights: ArrayLike | None = None,
        players: Groups | None = None,
        output: Choice = None,
        predict: str | None = None,
        feature_names: list[str] | None = None,
        output_names: list[str] | None = None,
        fast: bool = True,
        memory: str | int = "256MB",
        batch_rows: int | None = None,
        device: str | None = None,
    ) -> None:
        self._model, self._output = settled_model(model, predict, output)
        self._memory = parse_bytes(memory)
        self._fast = fast
        if output_names is not None:
            output_names = checked_names("output_names", output_names)
        if batch_rows is not None:
            batch_rows = whole_number("batch_rows", batch_rows, 1, "It counts rows")
        self._predictor = Predictor(self._model, self._output, output_names, fast, batch_rows)
        self._trees = ExactTrees(
            self._model, self._predictor.predictions, fast, self._memory, device
        )
        self._inputs = Inputs(
            self._model, background, baseline, background_weights, players, feature_names
        )
        if self._inputs.by_cover:
            self._trees.check_cover()

    def __repr__(self) -> str:
        kind = type(self._model.fitted).__name__
        if self._model.fitted is None:
            kind = type(self._model).__name__.removesuffix("Model").lower()
        inputs = self._inputs
        absent = "path-dependent"
        if inputs.background is not None:
            absent = f"background of {len(inputs.background.table):,} rows"
        elif inputs.baseline is not None:
            absent = "a baseline"
        output = "all outputs" if self._output is None else f"output {self._output!r}"
        return f"Explainer({kind}, {absent}, {output})"

    def __getattr__(self, name: str) -> NoReturn:
        raise missing(name, "an Explainer", OF_EXPLAINER)

    @known_arguments
    def __call__(
        self,
        X: Any,
        *,
        method: str | Estimator = "auto",
        budget: int | None = None,
        tolerance: float | str | None = None,
        top: int | None = None,
        seconds: float | None = None,
        total_budget: int | None = None,
        background_draws: int | None = None,
        seed: int = 0,
        confidence: float = 0.95,
        efficient: bool = True,
        executor: Executor | None = None,
        progress: bool | Meter | None = None,
        keep: bool = False,
        index: Any = "shapley",
    ) -> Explanation:
        """Explain the model's predictions of these rows.

        Parameters
        ----------
        X : rows
            In the type of the background, columns in any order.
        method : str or Estimator
            As for `owenshap.estimate`. 'trees' gives exact values of tree models from the trees
            themselves, without an evaluation; 'auto' takes it where what is explained is a sum over
            trees, and `because` says why where it is not.
        budget, seed, confidence, efficient, executor, progress
            As for `owenshap.estimate`; the budget is in evaluations of a coalition, per row. With a
            background of b rows an evaluation costs b predictions.
        tolerance : float or str, optional
            Stop a row as soon as all its values are within it, at once: in units of the output, or
            a share such as '1%' of the range of the output over the background and the row. Each
            row stops on its own.
        top : int, optional
            Stop a row as soon as it is settled which of its players have the `top` largest absolute
            values, but for ties, as for `owenshap.estimate`. A row with no more live players is
            settled at its first look.
        seconds : float, optional
            Stop after this time, of the whole call: rows go on in turn, so that each has about as
            many evaluations. Every row has a first estimate, however short the time.
        total_budget : int, optional
            The most evaluations of all rows together. They go where they are needed: after a first
            estimate of each row, to the rows whose values are least certain, in units of the
            tolerance where there is one. Rows then depend on each other, but only in how many
            replicates they have. Of budget, tolerance, top, seconds and total_budget, whichever
            comes first stops a row; `stopped_by` says which.
        background_draws : int, optional
            Draw so many background rows for each star or chain in place of all of them: cheaper,
            unbiased, and what it adds to the error is in the intervals. Not for method 'exact'.
            With a tolerance 'auto' draws by itself where that is enough.
        keep : bool
            Whether the evaluations are kept, so that `explanation.interactions()` can be read off
            them: about 8 bytes an evaluation and output. 'auto' then takes a method that evaluates
            pairs of coalitions. An executor must have threads.
        index : str or (nodes, weights)
            As for `owenshap.estimate`: 'shapley', 'banzhaf', 'beta(a, b)', or nodes and weights.

        Returns
        -------
        Explanation
        """
        call = Call.checked(
            method=method,
            budget=budget,
            tolerance=tolerance,
            top=top,
            seconds=seconds,
            total_budget=total_budget,
            background_draws=background_draws,
            seed=seed,
            confidence=confidence,
            efficient=efficient,
            memory=self._memory,
            executor=executor,
            progress=progress,
            keep=keep,
            index=index,
        )
        given = self._inputs.given(X)
        with call.shown(given.rows) as call:
            asks_trees = given.absent is None or call.asks_trees
            composites = None
            if asks_trees and self._output is None:
                composites = self._trees.composites(call, given.rows, given.absent)
            question, predicted = self._predictor.question(call, given, composites)
            exact = not_exact = None
            if asks_trees:
                exact, not_exact = self._trees.answer(call, question)
            if exact is not None:
                return exact
            if call.takes_formulas and not question.background.per_row:
                exact, more = by_formula(call, self._predictor, question, not_exact)
                if exact is not None:
                    return exact
                predicted += more
            return sampled(call, self._predictor, question, predicted, not_exact)
