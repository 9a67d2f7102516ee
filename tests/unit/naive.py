"""Slow and plain versions of what the package does, to compare with, and what many tests need."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from owenshap import FunctionGame, InputError, OwenshapError, TableGame

# Every run tries the same examples: a test that fails must fail for all.
same_examples = settings(derandomize=True, deadline=None, database=None, max_examples=60)

GRAMMAR = re.compile(
    r"(?P<what>[^;]+?) must (?P<rule>.+?); got (?P<got>.+)\. (?P<advice>.*[^.?!])\.", re.DOTALL
)


@contextmanager
def refuses(
    what: str, *words: str, error: type[OwenshapError] = InputError
) -> Iterator[pytest.ExceptionInfo[OwenshapError]]:
    """The block raises one of our errors about `what`, in our grammar, with these words in it."""
    with pytest.raises(error) as caught:
        yield caught
    message = str(caught.value)
    sentence = GRAMMAR.fullmatch(message)
    assert sentence, f"not '<what> must <rule>; got <value>. <what to do>.': {message}"
    assert sentence["what"] == what, message
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"


class Watched:
    """A game that remembers what it was asked."""

    def __init__(self, game, fails_after=math.inf, error=None):
        self.game, self.fails_after, self.error = game, fails_after, error
        self.asked = []

    @property
    def n_players(self):
        return self.game.n_players

    def values(self, coalitions):
        if self.evaluations >= self.fails_after:
            raise self.error
        self.asked.append(coalitions.copy())
        return self.game.values(coalitions)

    @property
    def evaluations(self):
        return sum(map(len, self.asked))

    @property
    def coalitions(self):
        return np.concatenate(self.asked)


def smooth(n_players=8):
    """A smooth game that is neither odd nor symmetric."""
    weights = np.linspace(-1, 2, n_players)
    return FunctionGame(lambda coalitions: np.tanh(coalitions @ weights / 2 - 0.3), n_players)


def random_table(n_players, seed=0, outputs=None):
    shape = (1 << n_players,) if outputs is None else (1 << n_players, outputs)
    return TableGame(np.random.default_rng(seed).normal(size=shape))


@st.composite
def tables(draw, most_players=5, players=None):
    """Values of all coalitions of a few players, whole so that sums are exact."""
    n_players = draw(st.integers(1, most_players)) if players is None else players
    values = draw(st.lists(st.integers(-50, 50), min_size=1 << n_players, max_size=1 << n_players))
    return np.array(values, float)


def members(code):
    return {player for player in range(code.bit_length()) if code >> player & 1}


def shapley_by_permutations(table):
    """The mean of what each player adds over all n! orders; table (2**n,)."""
    n_players = len(table).bit_length() - 1
    added = np.zeros(n_players)
    for order in permutations(range(n_players)):
        code = 0
        for player in order:
            added[player] += table[code | 1 << player] - table[code]
            code |= 1 << player
    return added / math.factorial(n_players)


def shapley_by_subsets(table):
    """Shapley's formula, one coalition and player at a time; table (2**n,)."""
    n_players = len(table).bit_length() - 1
    values = np.zeros(n_players)
    for code in range(1 << n_players):
        size = code.bit_count()
        for player in set(range(n_players)) - members(code):
            weight = (
                math.factorial(size)
                * math.factorial(n_players - size - 1)
                / math.factorial(n_players)
            )
            values[player] += weight * (table[code | 1 << player] - table[code])
    return values
