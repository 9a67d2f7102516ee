"""A class is chosen by its label wherever the model has labels, and by its position where that is
asked for.
"""

import pickle
import warnings

import numpy as np
import pytest
from naive import refuses

import owenshap
from owenshap.games import outputs

pytest.importorskip("sklearn")
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

ROWS, CLASS = make_classification(
    90, 4, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=2
)


@pytest.fixture(autouse=True)
def not_yet_told(monkeypatch):
    """Each test is as the first of its process, and says itself what warns."""
    monkeypatch.setattr(outputs, "_warned", True)


def fitted(labels, model=None):
    return (model or LogisticRegression()).fit(ROWS, np.array(labels)[CLASS])


def explained(model, output, **settings):
    return owenshap.Explainer(model, ROWS[:5], output=output, **settings)(ROWS[5:8], method="exact")


def place_of(model, output, **settings):
    """The output whose scores are explained."""
    found, every = explained(model, output, **settings), scores_of(model)
    (place,) = (
        place for place in range(every.shape[1]) if np.allclose(found.predictions, every[:, place])
    )
    return place


def scores_of(model):
    """Scores of all classes, which are known by the probabilities that they become."""
    scores = explained(model, None).predictions
    if scores.ndim == 1:
        scores = np.stack([-scores, scores], axis=1)
    powers = np.exp(scores / (2 if scores.shape[1] == 2 else 1))
    np.testing.assert_allclose(
        powers / powers.sum(axis=1, keepdims=True), model.predict_proba(ROWS[5:8]), rtol=1e-5
    )
    return scores


MODELS = [
    LogisticRegression,
    lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    lambda: GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2),
]


@pytest.mark.parametrize("make", MODELS, ids=["estimator", "pipeline", "search"])
@pytest.mark.parametrize(
    ("labels", "output", "place"),
    [
        ([1, 2, 3], 1, 0),
        ([1, 2, 3], 3, 2),
        ([1, 2, 3], np.int8(2), 1),
        ([1, 2, 3], "2", 1),
        ([1.0, 2.0, 3.0], 1, 0),
        ([2, 1, 0], 1, 1),
        ([-1, 0, 1], -1, 0),
        (["low", "mid", "predicted"], "mid", 1),
        (["low", "mid", "predicted"], np.str_("predicted"), 2),
        (["1", "2", "3"], "1", 0),
        ([1, 2, 3], owenshap.position(1), 1),
        (["1", "2", "3"], owenshap.position(-1), 2),
    ],
    ids=str,
)
def test_a_label_names_its_class(make, labels, output, place):
    assert place_of(fitted(labels, make()), output) == place


def test_the_models_own_labels_are_taken():
    model = fitted([1, 2, 3])
    assert [place_of(model, each) for each in model.classes_] == [0, 1, 2]
    assert explained(model, model.classes_[0]).output_names == ["1"]


def test_truth_values_are_labels():
    model = LogisticRegression().fit(ROWS, CLASS == 0)
    assert [place_of(model, each) for each in (False, True, np.True_, 0, 1)] == [0, 1, 1, 0, 1]


def test_labels_of_different_types_are_not_mixed_up():
    namings = outputs.Names(labels=[1, "1", "b"], of_model=["1", "1", "b"])
    assert [namings.place(each) for each in (1, "1", "b", 2)] == [0, 1, 2, None]


def test_the_users_names_still_name():
    model, names = fitted([1, 2, 3]), ["b", "c", "a"]
    assert [place_of(model, each, output_names=names) for each in ("a", "b", 3)] == [2, 0, 2]
    assert explained(model, 3, output_names=names).output_names == ["a"]
    assert place_of(fitted(["a", "b", "c"]), "a", output_names=names) == 2


def test_a_name_of_two_outputs_is_refused():
    with refuses(
        "output", "name one output", "'a', the name of outputs 0, 2", "owenshap.position(0)"
    ):
        explained(fitted([1, 2, 3]), "a", output_names=["a", "b", "a"])


@pytest.mark.parametrize(
    ("labels", "output", "words"),
    [
        ([1, 2, 3], 0, ["one of 1, 2, 3, 'predicted'", "got 0", "owenshap.position(0)"]),
        (
            ["1", "2", "3"],
            1,
            ["one of '1', '2', '3', 'predicted'", "got 1", "owenshap.position(1)"],
        ),
        ([1, 2, 3], "4", ["one of 1, 2, 3", "got '4'. None explains"]),
        ([1, 2, 3], [1, 4], ["one of 1, 2, 3", "got 4"]),
        ([1, 2, 3], [1, "predicted"], ["one of 1, 2, 3", "stand alone"]),
        ([1, 2, 3], [1, 1], ["name each output once"]),
        ([1, 2, 3], [], ["one of 1, 2, 3", "got []"]),
    ],
    ids=str,
)
def test_what_is_no_label_is_refused_with_the_labels_as_they_are_typed(labels, output, words):
    with refuses("output", *words):
        explained(fitted(labels), output)


@pytest.mark.parametrize("place", [3, -4])
def test_a_position_is_one_of_an_output(place):
    with refuses("position", "from -3 to 2", str(place)):
        explained(fitted([1, 2, 3]), owenshap.position(place))


def test_a_position_is_a_whole_number():
    with refuses("position", "whole number"):
        owenshap.position("1")
    assert pickle.loads(pickle.dumps(owenshap.position(1))) == owenshap.position(1)


def test_without_labels_a_number_is_a_position():
    model = fitted([1, 2, 3])
    assert [place_of_function(model, each) for each in (0, 1, -1, owenshap.position(2))] == [
        0,
        1,
        2,
        2,
    ]


def place_of_function(model, output):
    found, every = explained(model.predict_proba, output), model.predict_proba(ROWS[5:8])
    return int(np.abs(every - found.predictions[:, None]).sum(axis=0).argmin())


def test_one_score_is_that_of_the_second_class():
    model = RidgeClassifier().fit(ROWS, np.array([3, 5])[(CLASS > 0).astype(int)])
    np.testing.assert_allclose(explained(model, 5).predictions, model.decision_function(ROWS[5:8]))
    with refuses("output", "one of 5, 'predicted'", "got 3"):
        explained(model, 3)


def test_scores_of_pairs_have_no_labels_even_where_there_are_as_many():
    model = fitted([1, 2, 3], make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")))
    found = explained(model, 0)
    np.testing.assert_allclose(found.predictions, model.decision_function(ROWS[5:8])[:, 0])
    assert found.output_names is None


def test_a_label_that_was_a_position_is_told_once(monkeypatch):
    model = fitted([1, 2, 3])
    monkeypatch.setattr(outputs, "_warned", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for same in (3, "1", owenshap.position(1)):  # none of them was a position, or is none now
            explained(model, same)
        explained(fitted([0, 1, 2]), 1)
    with pytest.warns(
        UserWarning,
        match=r"output=1 is the class with the label 1.*owenshap\.position\(1\).*class 2",
    ) as told:
        explained(model, 1)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explained(model, 2)


def test_labels_of_boosted_trees():
    lightgbm = pytest.importorskip("lightgbm")
    model = fitted([1, 2, 3], lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1))
    assert [place_of(model, each) for each in (1, 2, 3)] == [0, 1, 2]


def test_labels_of_catboost():
    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 3, "verbose": False, "allow_writing_files": False, "thread_count": 1}
    model = fitted([1, 2, 3], catboost.CatBoostClassifier(**settings))
    assert [place_of(model, each) for each in (1, 2, 3)] == [0, 1, 2]


def test_labels_of_xgboost():
    xgboost = pytest.importorskip("xgboost")
    model = fitted([0, 1, 2], xgboost.XGBClassifier(n_estimators=3, n_jobs=1))
    assert [place_of(model, each) for each in (0, 1, 2)] == [0, 1, 2]


def test_labels_of_onnx():
    skl2onnx = pytest.importorskip("skl2onnx")
    model = fitted([1, 2, 3])
    converted = skl2onnx.to_onnx(model, ROWS[:1].astype(np.float32), options={"zipmap": True})
    for place, label in enumerate(model.classes_):
        found = owenshap.Explainer(converted, ROWS[:5], output=label)(ROWS[5:8])
        np.testing.assert_allclose(
            found.predictions, model.predict_proba(ROWS[5:8])[:, place], atol=1e-5
        )


@pytest.mark.parametrize("labels", [[1, 2, 3], ["a", "b", "c"], [False, True, True]], ids=str)
def test_several_outputs_are_chosen_by_their_labels(labels):
    first, last = labels[0], labels[-1]
    model = fitted(labels)
    both = explained(model, [last, first])
    assert both.output_names == [str(last), str(first)]
    for place, label in enumerate([last, first]):
        np.testing.assert_allclose(
            both.values[..., place], explained(model, label).values, atol=1e-12
        )
