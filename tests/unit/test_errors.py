import pickle

import pytest
from naive import GRAMMAR, refuses

from owenshap import GameError, InputError, OwenshapError, UnknownMethodError


def test_an_error_is_one_sentence_and_what_to_do():
    error = InputError("budget", "be at least 9", 4, "Raise it")
    assert str(error) == "budget must be at least 9; got 4. Raise it."


def test_a_value_is_shown_as_python_writes_it_and_words_as_they_are():
    assert "got None." in str(InputError("a", "be b", None, "Do"))
    assert "got shape (3,)." in str(InputError("a", "be b", "shape (3,)", "Do"))


@pytest.mark.parametrize("kind", [InputError, GameError, UnknownMethodError, OwenshapError])
def test_errors_survive_the_way_back_from_another_process(kind):
    error = pickle.loads(pickle.dumps(kind("a", "be b", 1.5, "Do")))
    assert type(error) is kind
    assert str(error) == "a must be b; got 1.5. Do."
    assert error.estimate is None


def test_who_catches_what():
    assert issubclass(InputError, ValueError)
    assert issubclass(UnknownMethodError, InputError)
    assert issubclass(GameError, OwenshapError)
    assert not issubclass(GameError, ValueError)


@pytest.mark.parametrize(
    "message",
    [
        "budget is wrong",
        "budget must be 3; got 4",
        "budget must be 3. Raise it.",
        "a must be b; got c. Did you mean d?.",
    ],
)
def test_the_grammar_of_these_tests_can_fail(message):
    assert GRAMMAR.fullmatch(message) is None


def test_the_helper_of_these_tests_can_fail():
    with pytest.raises(AssertionError), refuses("budget"):
        raise InputError("seed", "be b", 1, "Do")
    with pytest.raises(AssertionError), refuses("seed", "another word"):
        raise InputError("seed", "be b", 1, "Do")
