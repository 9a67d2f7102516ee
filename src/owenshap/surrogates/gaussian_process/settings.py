"""The numbers of each part of the Gaussian process, and what each was set by.

Entries of benchmarks/decisions.md say what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LearningSettings:
    """Steps of the likelihood: benchmarks/decisions.md#stages-and-steps."""

    # (pairs, steps), one after the other; fewer steps or pairs in the first one have 1.1–1.2
    # × the error, steps with more pairs in the end gain nothing.
    stages: tuple[tuple[int, int], ...] = ((128, 22), (320, 6))
    # Pairs in all up to which the second stage is the last, for its time.
    few_pairs: int = 320
    # Pairs that the second stage then sees; 150 have 1.05 × the error.
    seen_of_few: int = 190


@dataclass(frozen=True)
class EvenSettings:
    """The even part of the game: benchmarks/decisions.md#lean-size-even-and-alike-parts."""

    # Of its log likelihood beside that of the odd part; 1 is no better.
    share: float = 0.5
    # In all; past them the even part says little and takes half as much time again.
    most_pairs: int = 160
    # For each player; past them lengths are known without it.
    most_pairs_each: int = 8


@dataclass(frozen=True)
class TripleSettings:
    """The search for products of three players: benchmarks/decisions.md#triples."""

    # For each player, from which on triples are looked for.
    pairs_each: int = 4
    # With more of them there are too many triples for memory.
    most_players: int = 100
    # Pairs that are searched, for the time of the factor.
    most_searched: int = 1600
    # In each round; 4 have 1.01 × the error.
    steps: int = 6
    # (rounds at most, pairs that their steps see, triples more than before for another round).
    few: tuple[int, int, int] = (2, 128, 2)
    # The same with many pairs a player, where sparse games are found whole. With few pairs it would
    # have 0.96 of the error at 2 × the time.
    many: tuple[int, int, int] = (6, 320, 1)
    # Pairs for each player that are many.
    many_each: int = 12
    # Of log likelihood per pair in a round, for another one; without it extra trees have 1.3
    # × the error.
    gain: float = 0.05


@dataclass(frozen=True)
class IndexSettings:
    """A function of one weighted sum: benchmarks/decisions.md#index-part and #link."""

    # At most; 45 leave a logistic game at 3 × the error.
    steps: int = 66
    # (steps, log likelihood per player): an index part that gained less by then ends there.
    hopeless: tuple[tuple[int, float], ...] = ((3, 0.1), (6, 0.5), (10, 0.7))
    # Steps that end it where they gain little.
    quiet_steps: int = 5
    # Log likelihood per player that these steps must gain; without it a logistic game has
    # 1.7–4.7 × the error.
    quiet: float = 0.05
    # For each player; with fewer, weights start from the linear fit.
    link_pairs_each: int = 2
    # That the link is fitted to, at most, for its time.
    link_pairs: int = 640
    # Log likelihood per player over a linear fit, below which there is no index part.
    link_gain: float = 1.0
    # Logarithm of the scale that an index part starts from, above that of the values; 0 has
    # twice the error.
    link_scale: float = 1.0
    # Of the mean square, the least scale that other parts start from beside a link; 1e-4 has
    # 1.1 × the error.
    least_left: float = 1e-6
    # From the learned parameters on, without a fold of the pairs; 4 have widths of 1.3 for 2.0 of
    # as many as it takes: benchmarks/decisions.md#errors-of-fits.
    steps_without_fold: int = 8


@dataclass(frozen=True)
class AlikeSettings:
    """A member with players all alike: benchmarks/decisions.md#lean-size-even-and-alike-parts."""

    # Of the mean square, the squared leave-one-out error of the other members from which on
    # it joins.
    poor: float = 0.03
    # That it is learned from; 128 are no better.
    pairs: int = 64
    # Of its three parameters.
    steps: int = 8


@dataclass(frozen=True)
class ErrorSettings:
    """Parameters by errors at left-out pairs: benchmarks/decisions.md#many-pairs."""

    # Pairs for each player past which errors tell; with fewer, six of eight games had 1.1–1.2
    # × the error.
    more_than_each: int = 12
    # Pairs in all, the other limit: the lower of the two counts.
    more_than: int = 500
    # Pairs for each player that are needed in any case.
    never_below_each: int = 8
    # That the steps see; 1,000 take three times as long for 0.9 of the error.
    pairs: int = 320
    # From the best parameters so far, and from the first guess.
    steps: int = 6


@dataclass(frozen=True)
class PooledSettings:
    """Outputs that start from what a few have learned: benchmarks/decisions.md#pooled-rows."""

    # That the others' steps see.
    pairs: int = 128
    # Of the others; the error is 1.0–1.3 × that of an output alone.
    steps: int = 10
    # With an index part; with 20 one output in 30 runs away.
    index_steps: int = 12
    # Times the pilots' squared leave-one-out error, past which an output learns by itself.
    unlike: float = 6.0


@dataclass(frozen=True)
class TaughtSettings:
    """Fits that start from what background rows taught: benchmarks/decisions.md#taught-rows."""

    # Of all parameters but those of an index part; 4 take as many fits more.
    steps: int = 8
    # With an index part; with 16 and 30 one row in ten is off by twice its tolerance.
    index_steps: int = 8


LEARNING, EVEN, TRIPLES = LearningSettings(), EvenSettings(), TripleSettings()
INDEX, ALIKE, ERRORS, POOLED = IndexSettings(), AlikeSettings(), ErrorSettings(), PooledSettings()
TAUGHT = TaughtSettings()
