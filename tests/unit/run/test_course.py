"""How the accuracy of a row went: looks that are kept, thinned, and never another row's."""

import numpy as np
import pytest

import owenshap
from owenshap.statistics.stopping import KEPT_APART, with_look
from owenshap.testing import airport

RNG = np.random.default_rng(3)
BACKGROUND, ROWS = (
    RNG.normal(size=(10, 12)),
    RNG.normal(size=(6, 12)) * [[1], [3], [1], [9], [1], [2]],
)


def model(rows):
    return np.exp(rows / 3).prod(axis=1)


def explained(rows=ROWS, **settings):
    return owenshap.Explainer(model, BACKGROUND)(
        rows, method="castro", **{"tolerance": "2%", "seed": 1, **settings}
    )


def test_looks_are_thinned_and_the_last_is_kept():
    course = ()
    for evaluations in range(100, 100_000, 100):
        course = with_look(course, evaluations, 1 / evaluations)
    evaluations = np.array(course)[:-1, 0]
    assert len(course) < 25
    assert (evaluations[1:] >= KEPT_APART * evaluations[:-1]).all()
    assert course[0] == (100, 0.01)
    assert course[-1] == (99_900, 1 / 99_900)


def test_what_is_not_known_is_no_look():
    assert with_look((), 100, np.nan) == with_look((), 100, np.inf) == ()


def test_each_row_ends_where_its_evaluations_do_within_the_tolerance():
    found = explained()
    assert found.convergence.shape[1] > 2
    assert len({*found.evaluations.tolist()}) > 2  # rows part ways
    for row, course in enumerate(found.convergence):
        known = course[~np.isnan(course[:, 0])]
        assert known[-1, 0] == found.evaluations[row]
        assert known[-1, 1] <= 1 < known[:-1, 1].min(initial=2)
        assert (np.diff(known[:, 0]) > 0).all()


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_a_row_has_its_own_course_whoever_goes_along(row):
    together = explained().convergence[row]
    alone = explained(ROWS[row : row + 1]).convergence[0]
    known = together[~np.isnan(together[:, 0])]
    np.testing.assert_allclose(known[:, 0], alone[:, 0])
    np.testing.assert_allclose(known[-1], alone[-1], rtol=1e-6)


def test_without_a_tolerance_there_is_none():
    assert explained(tolerance=None, budget=300).convergence is None
    assert explained(tolerance=None, total_budget=6000).convergence is None


def test_it_goes_through_a_run_on_disk_and_into_one_explanation(tmp_path):
    found = explained()
    run = owenshap.Explainer(model, BACKGROUND).run(
        ROWS, tmp_path / "run", method="castro", tolerance="2%", seed=1
    )
    np.testing.assert_array_equal(run.explanation().convergence, found.convergence)
    joined = owenshap.concat([found[:2], found[2:]]).convergence
    np.testing.assert_array_equal(joined, found.convergence)


def test_an_estimate_that_is_resumed_begins_anew_in_units_of_its_own_tolerance():
    game = airport([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    first = owenshap.estimate(game, "castro", tolerance=2.0)
    further = owenshap.estimate(game, tolerance=0.7, resume=first)
    assert first.course[-1][0] == first.evaluations
    assert further.course[0][0] >= first.evaluations
    assert further.course[-1][0] == further.evaluations
