"""Interactions: of games and of rows, under every index, against all coalitions and closed forms."""

import re
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import Watched, random_table, refuses, same_examples, smooth, tables

import owenshap
from owenshap.designs.indices import as_index
from owenshap.testing import random_unanimity_sum, unanimity

INDICES = ["shapley", "banzhaf", "beta(4, 1)", ([0.2, 0.9], [0.75, 0.25])]


def slow(table, index):
    """Interactions (n, n) by the definition: the mean second difference over coalitions."""
    n_players = len(table).bit_length() - 1
    chances, found = as_index(index).size_weights(n_players - 2), np.zeros((n_players, n_players))
    for i, j in combinations(range(n_players), 2):
        for code in range(len(table)):
            if code >> i & 1 or code >> j & 1:
                continue
            both, one, other = code | 1 << i | 1 << j, code | 1 << i, code | 1 << j
            second = table[both] - table[one] - table[other] + table[code]
            found[i, j] += chances[code.bit_count()] * second
    return found + found.T


def slow_values(table, index):
    n_players = len(table).bit_length() - 1
    chances = as_index(index).size_weights(n_players - 1)
    return np.array(
        [
            sum(
                chances[code.bit_count()] * (table[code | 1 << i] - table[code])
                for code in range(len(table))
                if not code >> i & 1
            )
            for i in range(n_players)
        ]
    )


def off_diagonal(matrix):
    return 2 * (matrix - np.diag(np.diag(matrix)))


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_exact_interactions_are_mean_second_differences(index):
    game = random_table(6)
    found = owenshap.interactions(game, index=index)
    assert found.method == "exact"
    assert found.evaluations == 64
    assert np.allclose(off_diagonal(found.values), slow(game.table, index))
    assert np.allclose(found.player_values, slow_values(game.table, index))
    assert np.array_equal(found.values, found.lower)
    assert np.array_equal(found.values, found.values.T)


@given(tables(most_players=5), st.sampled_from(INDICES))
@same_examples
def test_axioms(values, index):
    values = np.array(values, float)
    n_players = len(values).bit_length() - 1
    if n_players < 2:
        return
    found = owenshap.interactions(owenshap.TableGame(values), index=index)
    # a player added who changes nothing has no interactions, and changes none
    with_null = owenshap.interactions(owenshap.TableGame(np.tile(values, 2)), index=index)
    assert np.allclose(with_null.values[-1], 0)
    if index == "shapley":
        assert np.allclose(with_null.values[:-1, :-1], found.values)
        assert np.allclose(found.values.sum(), values[-1] - values[0])
    # linear
    double = owenshap.interactions(owenshap.TableGame(2 * values + 1), index=index)
    assert np.allclose(double.values, 2 * found.values)
    # players who swap their places swap their rows and columns
    codes = np.arange(len(values))
    swapped = (codes & ~3) | (codes & 1) << 1 | (codes & 2) >> 1
    other = owenshap.interactions(owenshap.TableGame(values[swapped]), index=index)
    order = [1, 0, *range(2, n_players)]
    assert np.allclose(other.values, found.values[np.ix_(order, order)])


def test_unanimity_games_in_closed_form():
    # v(S) = 1 where T is in S: of its pairs each has ∫ q^(t−2) dq = 1/(t − 1), ½^(t−2) at ½
    members = [0, 2, 3, 5]
    for index, wanted in (("shapley", 1 / 3), ("banzhaf", 1 / 4)):
        found = off_diagonal(owenshap.interactions(unanimity(7, members), index=index).values)
        inside = np.isin(np.arange(7), members)
        assert np.allclose(found[np.ix_(inside, inside)] + np.eye(4) * wanted, wanted)
        assert np.allclose(found[~inside], 0)


@pytest.mark.parametrize("settings", [{}, {"budget": 100}, {"method": "linear", "budget": 100}])
def test_additive_games_have_no_interactions(settings):
    weights = np.arange(1.0, 13)
    game = owenshap.FunctionGame(lambda sets: sets @ weights, 12)
    found = owenshap.interactions(game, **settings)
    assert np.allclose(off_diagonal(found.values), 0, atol=1e-9)
    assert np.allclose(found.main_effects, weights)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_process_finds_them_within_its_intervals(index):
    game = smooth(12)
    every = (np.arange(1 << 12)[:, None] >> np.arange(12) & 1).astype(bool)
    wanted = owenshap.interactions(owenshap.TableGame(game.values(every)), "exact", index=index)
    found = owenshap.interactions(game, budget=240, index=index)
    assert found.method == "gaussian-process"
    assert found.evaluations <= 240
    error = np.square(off_diagonal(found.values - wanted.values)).sum()
    assert error < 0.02 * np.square(off_diagonal(wanted.values)).sum()
    inside = (found.lower <= wanted.values) & (wanted.values <= found.upper)
    assert inside.mean() > 0.9
    assert np.abs(found.player_values - wanted.player_values).max() < 0.03


def test_interactions_take_no_evaluation_beyond_those_of_values():
    for settings in ({"budget": 200}, {"tolerance": "2%"}, {"method": "exact"}):
        game = Watched(smooth(12))
        found = owenshap.interactions(game, **settings)
        alone = owenshap.estimate(smooth(12), **(settings | {"method": found.method}))
        assert game.evaluations == found.evaluations == alone.evaluations
        assert np.allclose(found.player_values, alone.values, atol=1e-12)
        assert found.values.sum() == pytest.approx(alone.grand_value - alone.empty_value)


def test_the_same_seed_gives_the_same_bits_whatever_the_threads():
    once = owenshap.interactions(smooth(13), budget=300, seed=3)
    with ThreadPoolExecutor(2) as pool:
        again = owenshap.interactions(smooth(13), budget=300, seed=3, executor=pool)
    assert np.array_equal(once.values, again.values)
    assert np.array_equal(once.upper, again.upper)


def test_several_outputs():
    game = random_table(4, outputs=3)
    found = owenshap.interactions(game)
    assert found.values.shape == (4, 4, 3)
    for output in range(3):
        alone = owenshap.interactions(owenshap.TableGame(game.table[:, output]))
        assert np.allclose(found.of_output(output).values, alone.values)
    assert found.main_effects.shape == found.player_values.shape == (4, 3)


RNG = np.random.default_rng(0)
BACKGROUND, ROWS = RNG.normal(size=(6, 5)), RNG.normal(size=(3, 5))
ROWS[1, 2] = BACKGROUND[:, 2] = 0.5  # nobody's


def model(batch):
    return np.sin(batch[:, 0] * batch[:, 1]) + batch[:, 2] * batch[:, 3] + batch[:, 4]


def test_rows_have_the_interactions_of_their_games():
    explainer = owenshap.Explainer(model, BACKGROUND)
    found = explainer.interactions(ROWS)
    assert found.values.shape == (3, 5, 5)
    every = (np.arange(32)[:, None] >> np.arange(5) & 1).astype(bool)
    for row, matrix in zip(ROWS, found.values, strict=True):
        composites = np.where(every[:, None], row, BACKGROUND).reshape(-1, 5)
        table = model(composites).reshape(32, -1).mean(axis=1)
        assert np.allclose(off_diagonal(matrix), slow(table, "shapley"))
    assert np.allclose(found.values[1, 2], 0)
    assert np.allclose(found.values.sum(axis=(1, 2)), found.predictions - found.base_values)
    assert np.allclose(found.player_values, explainer(ROWS, method="exact").values)
    assert np.allclose(found.predictions, model(ROWS))


def test_an_explanation_that_kept_its_evaluations_gives_them_for_nothing():
    asked = []

    def counted(batch):
        asked.append(len(batch))
        return model(batch)

    explainer = owenshap.Explainer(counted, BACKGROUND)
    explanation = explainer(ROWS, keep=True)
    before = sum(asked)
    found = explanation.interactions()
    banzhaf = explanation.interactions("banzhaf")
    assert sum(asked) == before
    assert np.allclose(found.values, explainer.interactions(ROWS).values)
    wanted = explainer.interactions(ROWS, index="banzhaf").values
    assert np.allclose(banzhaf.values, wanted)
    assert np.allclose(explanation[1:].interactions().values, found.values[1:])
    with refuses("explanation", "keep=True"):
        explainer(ROWS).interactions()
    with refuses("explanation", "keep=True"):
        explanation[:, :2].interactions()


def test_rows_by_a_process_sum_up_too():
    weights = np.linspace(-1, 1, 14)

    def curved(batch):
        return np.tanh(batch @ weights) + batch[:, 0] * batch[:, 13]

    rows = np.random.default_rng(1).normal(size=(2, 14))
    found = owenshap.Explainer(curved, baseline=0.0).interactions(rows, budget=280)
    assert found.method == "gaussian-process"
    assert np.allclose(found.values.sum(axis=(1, 2)), found.predictions - found.base_values)
    wanted = owenshap.Explainer(curved, baseline=0.0).interactions(rows, method="exact")
    error = np.square(off_diagonal_rows(found.values - wanted.values)).sum()
    assert error < 0.02 * np.square(off_diagonal_rows(wanted.values)).sum()


def off_diagonal_rows(matrices):
    return np.stack([off_diagonal(each) for each in matrices])


def test_linear_models_have_none():
    from sklearn.linear_model import LinearRegression

    fitted = LinearRegression().fit(BACKGROUND, BACKGROUND @ np.arange(5.0))
    found = owenshap.Explainer(fitted, BACKGROUND).interactions(ROWS)
    assert found.method == "linear closed form"
    assert not off_diagonal_rows(found.values).any()
    assert np.allclose(found.main_effects, found.player_values)


def test_the_table_of_pairs_is_sorted_and_has_whole_interactions():
    frame = pd.DataFrame(ROWS, columns=list("abcde"))
    explainer = owenshap.Explainer(lambda batch: model(batch.to_numpy()), baseline=frame.iloc[[0]])
    found = explainer.interactions(frame.iloc[1:])
    table = found.pairs()
    assert list(table.columns[:4]) == ["row", "first", "second", "value"]
    assert len(table) == 2 * 10
    assert table["value"].abs().is_monotonic_decreasing
    top = table.iloc[0]
    i, j = "abcde".index(top["first"]), "abcde".index(top["second"])
    assert top["value"] == pytest.approx(2 * found.values[top["row"], i, j])
    assert {top["first"], top["second"]} in ({"a", "b"}, {"c", "d"})
    assert len(found[0].pairs(top=3)) == 3


def test_saved_and_read_again(tmp_path):
    explainer = owenshap.Explainer(model, BACKGROUND, feature_names=list("vwxyz"))
    for number, found in enumerate(
        [
            explainer.interactions(ROWS),
            owenshap.interactions(random_table(4)),
            owenshap.interactions(random_table(3, outputs=2), index="banzhaf"),
        ]
    ):
        path = tmp_path / f"{number}.npz"
        found.save(path)
        again = owenshap.load(path)
        assert type(again) is owenshap.Interactions
        for name in ("values", "lower", "upper", "base_values", "predictions", "doubtful"):
            assert np.array_equal(getattr(again, name), getattr(found, name))
        assert (again.index, again.feature_names, again.axes) == (
            found.index,
            found.feature_names,
            found.axes,
        )


def test_a_broken_file_is_refused(tmp_path):
    found = owenshap.interactions(random_table(3))
    path = tmp_path / "pairs.npz"
    found.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    for name, broken in (
        ("values", arrays["values"][:2]),
        ("values", arrays["values"] + np.triu(np.ones((3, 3)), 1)),
        ("lower", arrays["upper"] + 1),
    ):
        np.savez(path, **(arrays | {name: broken}))
        with refuses("path"):
            owenshap.load(path)


def test_shap_reads_them():
    found = owenshap.Explainer(model, BACKGROUND).interactions(ROWS)
    theirs = found.to_shap()
    assert np.array_equal(theirs.values, found.values)


@pytest.mark.parametrize("method", ["halved-owen", "owen", "castro", owenshap.Castro()])
def test_stars_and_chains_say_which_method_to_use(method):
    words = "'gaussian-process', 'linear' or 'exact'"
    with refuses("method", words):
        owenshap.interactions(smooth(6), method, budget=500)
    with refuses("method", words):
        owenshap.Explainer(model, BACKGROUND).interactions(ROWS, method=method)


def test_what_cannot_be_asked_is_refused():
    with refuses("n_players", "at least 2"):
        owenshap.interactions(owenshap.FunctionGame(lambda sets: sets[:, 0] * 1.0, 1))
    many = owenshap.FunctionGame(lambda sets: sets.sum(axis=1) * 1.0, 2001)
    with refuses("n_players", "2,000", "0.1 GB"):
        owenshap.interactions(many)
    with refuses("index", "banzhaf"):
        owenshap.interactions(smooth(4), index="bantzaf")
    with refuses("game", "FunctionGame"):
        owenshap.interactions(lambda sets: sets)
    with refuses("executor", "threads"), ProcessPoolExecutor(1) as pool:
        owenshap.interactions(random_unanimity_sum(13, 20, 4, seed=0), budget=200, executor=pool)
    with refuses("index", "rows"):
        owenshap.interactions(smooth(4))[0]
    with refuses("budget", "v(∅)", "at least 4", "about 140"):
        owenshap.interactions(smooth(14), "gaussian-process", budget=3)
    for budget in (4, 5, 8, 12):
        few = owenshap.interactions(smooth(14), "gaussian-process", budget=budget)
        assert np.isfinite(few.lower).all()


def test_they_are_told_in_a_few_lines():
    found = owenshap.Explainer(model, BACKGROUND).interactions(ROWS)
    title, heads, strongest, *others = repr(found).splitlines()
    assert title == "Interactions of 3 rows, 5 features"
    assert " ".join(heads.split()) == "first second mean |value| over 3 rows"
    sizes = off_diagonal(np.abs(found.values).mean(axis=0))
    names = [found.feature_names[at] for at in np.unravel_index(sizes.argmax(), sizes.shape)]
    first, second, value = re.split(r"  +", strongest)
    assert [first, second] == names
    assert float(value) == pytest.approx(sizes.max(), rel=0.01)
    assert len(others) == 7
    assert "lower" not in repr(found[0])  # exact
    unsure = repr(owenshap.interactions(smooth(14), "gaussian-process", budget=60))
    assert "lower" in unsure
    assert "60 evaluations" in unsure
    assert repr(found[:0]) == "Interactions of 0 rows, 5 features"
    hostile = replace(found, feature_names=["<i>", *found.feature_names[1:]])
    assert "<i>" not in hostile._repr_html_()
    assert "pairs() has all" in repr(found)


def boosted():
    from xgboost import XGBRegressor

    rows = np.random.default_rng(3).normal(size=(200, 6))
    target = rows[:, 0] * rows[:, 1] + np.sin(rows[:, 2]) + rows[:, 3] * (rows[:, 4] > 0)
    fitted = XGBRegressor(n_estimators=20, max_depth=4, n_jobs=1).fit(rows, target)
    return fitted, rows


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_trees_have_the_interactions_of_their_games(index):
    fitted, rows = boosted()
    explainer = owenshap.Explainer(fitted, rows[:5])
    found = explainer.interactions(rows[10:13], index=index)
    assert found.method == "trees"
    assert not found.evaluations.any()
    sampled = owenshap.Explainer(fitted, rows[:5], fast=False)
    wanted = sampled.interactions(rows[10:13], index=index, method="exact")
    assert wanted.method == "exact"
    assert np.allclose(found.values, wanted.values, atol=1e-5)
    values = explainer(rows[10:13], index=index)
    assert values.method == "trees"
    assert np.allclose(found.player_values, values.values, atol=1e-9)
    assert np.array_equal(found.values, found.values.swapaxes(1, 2))


def test_trees_answer_for_interactions_where_they_may_only():
    """A method by name is taken, an unknown one refused, and without `fast` no tree is read."""
    fitted, rows = boosted()
    explainer = owenshap.Explainer(fitted, rows[:5])
    row = rows[10:11]
    for method in ("exact", "gaussian-process"):
        found = explainer.interactions(row, method=method, budget=64)
        assert found.method == method
        assert (found.evaluations > 2).all()
        both = explainer.with_interactions(row, method=method, budget=64)
        assert {each.method for each in both} == {method}
    with pytest.raises(owenshap.UnknownMethodError):
        explainer.interactions(row, method="nonsense")
    slow = owenshap.Explainer(fitted, rows[:5], fast=False)
    assert slow.interactions(row).method != "trees"
    assert slow.interactions(row, method="trees").method == "trees"  # insisted on


def test_path_dependent_interactions_are_those_of_xgboost():
    import xgboost

    fitted, rows = boosted()
    found = owenshap.Explainer(fitted).interactions(rows[:20])
    matrix = xgboost.DMatrix(rows[:20])
    theirs = fitted.get_booster().predict(matrix, pred_interactions=True)[:, :-1, :-1]
    assert np.abs(found.values - theirs).max() < 1e-5
    assert np.allclose(found.values.sum(axis=(1, 2)), found.predictions - found.base_values)


def test_an_explanation_of_trees_that_is_to_keep_evaluations_samples_them():
    fitted, rows = boosted()
    kept = owenshap.Explainer(fitted, rows[:5])(rows[10:12], keep=True)
    wanted = owenshap.Explainer(fitted, rows[:5]).interactions(rows[10:12])
    assert np.allclose(kept.interactions().values, wanted.values, atol=1e-5)


def test_shapley_s_are_not_read_off_values_of_another_index():
    """Those kept are not Shapley's: the answer would be of neither index."""
    rng = np.random.default_rng(0)
    made = owenshap.Explainer(lambda rows: rows[:, 0] * rows[:, 1] + rows[:, 2] ** 2, baseline=0.0)
    found = made(rng.normal(size=(2, 3)), index="beta(4, 1)", keep=True)
    for ask in (found.interactions, lambda: found.under("shapley")):
        with pytest.raises(
            owenshap.InputError, match=r"got 'shapley' of values under 'beta\(4, 1\)"
        ):
            ask()
    same = found.interactions("beta(4, 1)")
    np.testing.assert_allclose(same.player_values, found.values)


def test_intervals_hold_where_few_pairs_were_evaluated_for_each_pair_of_players():
    """120 pairs of players from 49 evaluated ones: folds alone tell of half of the error, and 55 % of
    the interactions were within it. Four draws.
    """
    game = random_unanimity_sum(16, 80, 6, seed=31)
    known = owenshap.FunctionGame(game.values, 16)
    exact = owenshap.interactions(known, method="exact", progress=False).values
    pairs, held = np.triu_indices(16, 1), []
    for seed in range(4):
        found = owenshap.interactions(
            known, method="gaussian-process", budget=100, seed=seed, progress=False
        )
        held.append(((found.lower <= exact) & (exact <= found.upper))[pairs])
    assert np.mean(held) > 0.85
