"""How the replicates of a run are cut into blocks, and what a worker does with one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import lru_cache, partial
from itertools import accumulate, chain, pairwise, starmap
from typing import Any, NamedTuple, TypeVar

import numpy as np

from owenshap.designs.design import Design
from owenshap.estimators.base import Estimator, Notes
from owenshap.games.game import CompactGame, DrawingGame, LaunchingCompactGame
from owenshap.run.evaluate import Evaluated, Evaluator, in_bounds
from owenshap.run.task import Plan, Settings
from owenshap.statistics.accumulators import FOLDS
from owenshap.support.arrays import CACHED, CALL_NUMBERS, FloatArray
from owenshap.support.executors import Executor, in_order, made_ahead, one_ahead
from owenshap.surrogates.forward import Forward

Item = TypeVar("Item")
Result = TypeVar("Result")
# evaluations of a block: enough to drown its overhead (benchmarks/decisions.md#blocks)
LARGEST_BLOCK = 8192
# of a row: with more of them blocks have fewer evaluations, so that their values stay in the cache
USUAL_OUTPUTS = CACHED // LARGEST_BLOCK
# evaluations of blocks that one generator draws: making one takes as long as drawing some thousand
DRAWN_TOGETHER = 8 * LARGEST_BLOCK
FEWEST_TOGETHER = 2 * DRAWN_TOGETHER  # the same where others are drawn meanwhile: some draws


def blocks_smaller(evaluator: Evaluator) -> int:
    """How many times fewer evaluations a block has than it would have with few outputs.

    The outputs of a row decide, not those of all rows that are there: a row has the same blocks
    alone and together. A game that values whole designs cuts them itself.
    """
    can = evaluator.can
    return (
        1 if can.compact is not None else -(-evaluator.ends.outputs // (USUAL_OUTPUTS * can.rows))
    )


def rows_together(n_players: int, outputs: int, memory: int, whole: bool) -> int:
    """Rows of so many outputs that memory holds while they play one game: what is kept of them, and
    with `whole` the values of a block.
    """
    # sums and products of all folds, and as much again while they change
    kept = 4 * FOLDS * 8 * n_players * outputs
    values = 64 * LARGEST_BLOCK * outputs if whole else 1
    return max(1, memory // max(kept, values))


class Worked(NamedTuple):
    """What a part of a block comes to."""

    replicates: FloatArray
    """What it adds to the replicates of its block."""
    evaluations: int
    last: bool
    """Whether it ends its block."""
    notes: Notes = None
    """What did not go as planned."""
    fit_errors: FloatArray | None = None
    """Standard errors (r, n, k) that replicates which are fits have of their own."""


class Blocks(NamedTuple):
    """Blocks that follow each other and are drawn together, by one generator."""

    first: int
    """Number of the first."""
    sizes: list[int]
    """Replicates of each."""
    done: int
    """How many of them are done already; they are drawn again, and left out."""


class Drawn(NamedTuple):
    """The design of blocks that were drawn together."""

    design: Design
    sizes: list[int]
    """Replicates of each block."""

    def one_by_one(self) -> list[Drawn]:
        """Each block for itself."""
        if len(self.sizes) == 1:
            return [self]
        cuts = pairwise(accumulate(self.sizes, initial=0))
        return [Drawn(self.design.some(start, end), [end - start]) for start, end in cuts]


def worked(
    evaluator: Evaluator,
    plan: Plan,
    blocks: Iterable[Blocks],
    settings: Settings,
    executor: Executor | None,
) -> Iterator[Worked]:
    """What each part of the blocks of a plan comes to."""
    estimator = plan.estimator
    can = evaluator.can
    n_players = evaluator.game.n_players
    drawn = all_drawn(n_players, can.drawing, estimator, settings.seed, blocks)
    if can.compact is not None and estimator.by_design:
        most = min(CALL_NUMBERS, settings.memory // (32 * evaluator.ends.outputs))
        # a fixed budget is made in one go
        evaluations = plan.evaluations(n_players) if plan.until is None else 0
        if evaluations > FEWEST_TOGETHER:
            most = min(most, max(FEWEST_TOGETHER, evaluations // 4))
        several = executor is None and evaluations > most
        groups = _groups(drawn, most)
        return _groups_worked(evaluator, can.compact, estimator, groups, executor, several)
    adaptive = estimator.fits and estimator.adaptive(n_players, evaluator.ends.outputs)
    parts = _parts(drawn, largest_block(1, blocks_smaller(evaluator)))
    if executor is None and can.launching is not None and not adaptive:
        return _work_ahead(evaluator, estimator, parts)
    tasks = ((evaluator, estimator, part, last) for part, last in parts)
    return mapped(_work_adaptively if adaptive else _work, tasks, executor)


def mapped(
    function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], executor: Executor | None
) -> Iterator[Result]:
    """function(*task) for each task, in the order of the tasks: here, or by workers."""
    if executor is None:
        return starmap(function, tasks)
    return in_order(function, tasks, executor)


def all_drawn(
    n_players: int,
    drawing: DrawingGame | None,
    estimator: Estimator | Forward,
    seed: int,
    blocks: Iterable[Blocks],
) -> Iterator[Drawn]:
    """The designs of blocks as they are drawn, perhaps with background rows of a game; small ones
    that depend on nothing else are kept for the next run.
    """
    kept = None
    if isinstance(estimator, Estimator) and estimator.by_design and drawing is None:
        kept = estimator
    small = 0 if kept is None else DRAWN_TOGETHER // max(1, kept.replicate_cost(n_players))
    for first, sizes, done in blocks:
        replicates = sum(sizes)
        if kept is not None and replicates <= small:
            design = _kept_design(kept, n_players, seed, first, replicates)
        else:
            rng = block_generator(seed, first)
            design = estimator.draw(n_players, rng, replicates)
            if drawing is not None and design.units is not None:
                design = design.over(drawing.draw_background(rng, design.units))
        drawn = Drawn(design, sizes)
        if done:
            yield from drawn.one_by_one()[done:]
        else:
            yield drawn


def block_generator(seed: int, number: int) -> np.random.Generator:
    """The generator of blocks from this one on."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


@lru_cache(maxsize=64)
def _kept_design(
    estimator: Estimator, n_players: int, seed: int, number: int, replicates: int
) -> Design:
    """The same, kept: rows that are explained one by one have their blocks in common, some tens of
    kilobytes each.
    """
    return estimator.draw(n_players, block_generator(seed, number), replicates)


def _parts(drawn: Iterable[Drawn], most: int) -> Iterator[tuple[Design, bool]]:
    """The designs of single blocks cut into parts of about so many coalitions; with each, whether
    it ends its block.
    """
    for blocks in drawn:
        for block in blocks.one_by_one():
            parts = list(block.design.parts(most))
            for part in parts:
                yield part, part is parts[-1]


def _groups(drawn: Iterable[Drawn], most: int) -> Iterator[list[Drawn]]:
    """The designs of blocks that a game can value together, of so many coalitions where they are
    cut anywhere.
    """
    parts = ([each] if len(each.design) <= most else each.one_by_one() for each in drawn)
    return _together(chain.from_iterable(parts), lambda each: len(each.design), most)


def _together(
    items: Iterable[Item], size: Callable[[Item], int], most: int
) -> Iterator[list[Item]]:
    """Items that follow each other, as many together as are no larger than that, one at least."""
    group: list[Item] = []
    held = 0
    for item in items:
        if group and held + size(item) > most:
            yield group
            group = []
            held = 0
        group.append(item)
        held += size(item)
    yield group


def block_sizes(plan: Plan, n_players: int, smaller: int = 1) -> Iterator[int]:
    """Replicates of each block, which has so many times fewer evaluations than with few outputs.

    The first has an eighth of the evaluations of the largest, so that workers and snapshots have
    something early, and each twice those of the one before. Nothing but the number of the block
    decides, so that results depend on nothing else.
    """
    if plan.estimator.one_block:
        yield plan.replicates
        return
    cost = max(1, plan.estimator.replicate_cost(n_players))
    left = plan.replicates
    evaluations = LARGEST_BLOCK // 8
    while left:
        replicates = min(left, max(1, evaluations // smaller // cost))
        yield replicates
        left -= replicates
        evaluations = min(2 * evaluations, LARGEST_BLOCK)


def in_draws(plan: Plan, n_players: int, smaller: int = 1, done: int = 0) -> Iterator[Blocks]:
    """The blocks of a run that are not done yet, those together that are drawn together."""
    cost = plan.estimator.replicate_cost(n_players)
    most = DRAWN_TOGETHER if plan.estimator.by_design else 0  # other designs may not be cut
    first = 0
    for sizes in _together(block_sizes(plan, n_players, smaller), lambda size: size * cost, most):
        if done < first + len(sizes):
            yield Blocks(first, sizes, max(0, done - first))
        first += len(sizes)


def _work(evaluator: Evaluator, estimator: Estimator, part: Design, last: bool) -> Worked:
    """What a worker does: expand a part of a design, evaluate it, reduce it to what it adds to its
    replicates.
    """
    return _reduced(estimator, part, last, *evaluator.evaluate(part))


def _work_adaptively(
    evaluator: Evaluator, estimator: Estimator, part: Design, last: bool
) -> Worked:
    """The same where the first values of a part decide what else of it is evaluated."""
    opening = estimator.opening(part)
    values, evaluations = evaluator.evaluate(opening)
    if len(opening) == len(part):
        return _reduced(estimator, part, last, values, evaluations)
    rest = estimator.rest(part, opening, values)
    others, more = evaluator.evaluate(rest)
    every = opening.joined([rest])
    return _reduced(estimator, every, last, np.concatenate([values, others]), evaluations + more)


def _reduced(
    estimator: Estimator, part: Design, last: bool, values: FloatArray, evaluations: int
) -> Worked:
    if not estimator.fits:
        return Worked(estimator.replicates(part, values), evaluations, last)
    replicates, notes, fit_errors = estimator.reduced(part, values)
    return Worked(replicates, evaluations, last, notes, fit_errors)


def _work_ahead(
    evaluator: Evaluator, estimator: Estimator, parts: Iterable[tuple[Design, bool]]
) -> Iterator[Worked]:
    """The same for parts one after the other: the next call is on its way before the values of the
    last are awaited.
    """
    calls = (
        partial(_finished, estimator, part, last, finish)
        for part, last in parts
        for finish in evaluator.begin(part)
    )
    return (each for each in one_ahead(calls) if each is not None)


def _finished(
    estimator: Estimator, part: Design, last: bool, finish: Callable[[], Evaluated | None]
) -> Worked | None:
    """What a part comes to with the last of its calls; None with those before."""
    evaluated = finish()
    return None if evaluated is None else _reduced(estimator, part, last, *evaluated)


def _work_on_group(
    evaluator: Evaluator, game: CompactGame, estimator: Estimator, group: list[Drawn]
) -> list[Worked]:
    """The same for the blocks of a game that needs no coalitions."""
    design = _joined(group)
    replicates = game.design_replicates(design, evaluator.ends.empty, evaluator.ends.grand)
    return _cut(evaluator, estimator, group, design, replicates)


def _begin_group(
    evaluator: Evaluator, game: LaunchingCompactGame, estimator: Estimator, group: list[Drawn]
) -> Callable[[], list[Worked]]:
    """The same begun."""
    design = _joined(group)
    wait = game.begin_replicates(design, evaluator.ends.empty, evaluator.ends.grand)
    return lambda: _cut(evaluator, estimator, group, design, wait())


def _joined(group: list[Drawn]) -> Design:
    return group[0].design.joined([each.design for each in group[1:]])


def _cut(
    evaluator: Evaluator,
    estimator: Estimator,
    group: list[Drawn],
    design: Design,
    replicates: FloatArray,
) -> list[Worked]:
    """The replicates of a group of blocks, block by block."""
    replicates = np.ascontiguousarray(replicates)  # reducing them takes twice as long otherwise
    if not in_bounds(replicates):  # the long way tells where
        parts = _parts(group, LARGEST_BLOCK)
        return [_work(evaluator, estimator, part, last) for part, last in parts]
    spent = design.evaluations().tolist()
    cuts = pairwise(accumulate([size for each in group for size in each.sizes], initial=0))
    return [Worked(replicates[start:end], sum(spent[start:end]), True) for start, end in cuts]


def _groups_worked(
    evaluator: Evaluator,
    game: CompactGame,
    estimator: Estimator,
    groups: Iterator[list[Drawn]],
    executor: Executor | None,
    several: bool,
) -> Iterator[Worked]:
    """The same for all groups of blocks; where they are several, a thread draws the next ones while
    others are valued.
    """
    in_thread = several and evaluator.can.drawing is None
    with made_ahead(groups) if in_thread else nullcontext(groups) as drawn:
        if several and isinstance(game, LaunchingCompactGame) and game.launches_replicates:
            done = one_ahead(_begin_group(evaluator, game, estimator, group) for group in drawn)
        else:
            tasks = ((evaluator, game, estimator, group) for group in drawn)
            done = mapped(_work_on_group, tasks, executor)
        for group in done:
            yield from group


def largest_block(cost: int, smaller: int = 1) -> int:
    """Replicates of so many evaluations each in the largest block, which is so many times smaller
    than with few outputs.
    """
    return max(1, LARGEST_BLOCK // smaller // cost)
