"""What every estimator promises, a check for each promise.

The statistical checks have fixed seeds: they pass or fail once and for all. With fresh seeds each
of them would stop a correct estimator about once in a million times.
"""

from __future__ import annotations

from collections.abc import Callable

from owenshap.estimators import Estimator
from owenshap.testing.axiom_checks import (
    check_constant,
    check_efficiency,
    check_exactness,
    check_few_players,
    check_linearity,
    check_null_player,
    check_sums,
    check_symmetry,
)
from owenshap.testing.run_checks import (
    check_budget,
    check_declarations,
    check_evaluations,
    check_executors,
    check_global_state,
    check_memory,
    check_outputs,
    check_parts,
    check_replicates,
    check_seeds,
)
from owenshap.testing.statistical_checks import (
    check_coverage,
    check_independence,
    check_shrinking,
    check_spread,
    check_unbiasedness,
)
from owenshap.testing.trials import pass_all


def check_estimator(estimator: Estimator) -> None:
    """Check that an estimator keeps every promise of the package.

    Exactness where theory promises it, the axioms, sums that add up, no bias, the coverage of
    intervals, evaluations counted, budgets kept, the same bits under any memory and executor, no
    global random state, and replicates that are independent of each other.

    Parameters
    ----------
    estimator : Estimator
        With its settings. Takes seconds where a replicate takes less than a few thousand
        evaluations.

    Raises
    ------
    AssertionError
        Naming the check that failed, and by how much.

    See Also
    --------
    ESTIMATOR_CHECKS : the checks one by one, each a function of an estimator.

    Examples
    --------
    >>> import owenshap
    >>> from owenshap.testing import check_estimator
    >>> check_estimator(owenshap.Exact())
    """
    pass_all(ESTIMATOR_CHECKS, estimator, str(estimator))


ESTIMATOR_CHECKS: tuple[Callable[[Estimator], None], ...] = (
    check_declarations,
    check_replicates,
    check_global_state,
    check_evaluations,
    check_budget,
    check_parts,
    check_seeds,
    check_memory,
    check_executors,
    check_constant,
    check_outputs,
    check_exactness,
    check_independence,
    check_spread,
    check_shrinking,
    check_unbiasedness,
    check_few_players,
    check_linearity,
    check_null_player,
    check_efficiency,
    check_sums,
    check_symmetry,
    check_coverage,
)
"""The checks of `check_estimator`, each a function of an estimator that raises AssertionError.

In an order in which each may rely on those before it: z-scores, say, on replicates that are
independent.
"""
