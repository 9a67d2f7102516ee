"""Values under other indices than Shapley's, by every way, against all coalitions."""

import numpy as np
import pytest
from naive import Watched, random_table, refuses, smooth

import owenshap
from owenshap.designs.indices import as_index
from owenshap.run.keeping import SizeSums

INDICES = ["banzhaf", "beta(2, 2)", "beta(4, 1)", ([0.2, 0.9], [0.75, 0.25])]
SYMMETRIC = INDICES[:2]


def wanted(game, index):
    n_players = game.n_players
    every = (np.arange(1 << n_players)[:, None] >> np.arange(n_players) & 1).astype(bool)
    chances, values = as_index(index).size_weights(n_players - 1), game.values(every)
    found = np.zeros(n_players)
    for player in range(n_players):
        without = np.flatnonzero(~every[:, player])
        gains = values[without | 1 << player] - values[without]
        found[player] = chances[every[without].sum(axis=1)] @ gains
    return found


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_exact(index):
    game = random_table(7)
    estimate = owenshap.estimate(game, "exact", index=index)
    assert np.allclose(estimate.values, wanted(game, index))
    assert np.array_equal(estimate.values, estimate.lower)
    assert estimate.index == as_index(index).name


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_process(index):
    game = Watched(smooth(12))
    estimate = owenshap.estimate(game, budget=200, index=index)
    assert estimate.method == "gaussian-process"
    assert game.evaluations == estimate.evaluations <= 200
    truth = wanted(smooth(12), index)
    assert np.square(estimate.values - truth).sum() < 1e-3 * np.square(truth).sum()
    assert ((estimate.lower <= truth) & (truth <= estimate.upper)).mean() > 0.8


@pytest.mark.parametrize(
    ("method", "index"),
    [("owen", index) for index in INDICES] + [("halved-owen", index) for index in SYMMETRIC],
    ids=str,
)
def test_stars_at_the_levels_of_the_index_are_unbiased(method, index):
    game = smooth(8)
    truth = wanted(game, index)
    estimates = [
        owenshap.estimate(game, method, budget=2000, index=index, seed=seed) for seed in range(20)
    ]
    values = np.array([each.values for each in estimates])
    z = (values.mean(axis=0) - truth) / (values.std(axis=0, ddof=1) / np.sqrt(20))
    assert np.abs(z).max() < 4.5  # 8 values of Student's t with 19: one in 500
    assert not any(each.doubtful for each in estimates)
    inside = [((each.lower <= truth) & (truth <= each.upper)).mean() for each in estimates]
    assert np.mean(inside) > 0.88  # 160 of a nominal 95 %, which go together within a run


def test_beta_1_1_is_shapleys():
    one = owenshap.estimate(smooth(10), budget=300, index="beta(1, 1)")
    other = owenshap.estimate(smooth(10), budget=300)
    assert np.array_equal(one.values, other.values)


def test_additive_games_have_the_same_values_under_every_index():
    weights = np.arange(1.0, 13)
    game = owenshap.FunctionGame(lambda sets: sets @ weights, 12)
    for index in INDICES:
        assert np.allclose(owenshap.estimate(game, budget=150, index=index).values, weights)


def test_rows():
    background, rows = np.random.default_rng(0).normal(size=(2, 4, 5))

    def model(batch):
        return np.stack([batch[:, 0] * batch[:, 1], np.sin(batch.sum(axis=1))], axis=1)

    explainer = owenshap.Explainer(model, background)
    found = explainer(rows, index="banzhaf")
    every = (np.arange(32)[:, None] >> np.arange(5) & 1).astype(bool)
    for row, values in zip(rows, found.values, strict=True):
        table = model(np.where(every[:, None], row, background).reshape(-1, 5))
        sums = SizeSums(5, 2)
        sums.add(every, table.reshape(32, 4, 2).mean(axis=1))
        assert np.allclose(values, sums.values(as_index("banzhaf")))
    assert found.index == "banzhaf"
    assert found.kept is None
    again = explainer(rows, keep=True).under("banzhaf")
    assert np.allclose(again.values, found.values)
    stars = explainer(rows, method="owen", budget=6000, index="banzhaf")
    assert np.abs(stars.values - found.values).max() < 0.2 * np.abs(found.values).max()


def test_the_index_is_saved(tmp_path):
    found = owenshap.Explainer(lambda rows: rows.prod(axis=1), baseline=0.5)(
        np.ones((1, 3)), index="beta(2, 1)"
    )
    found.save(tmp_path / "e.npz")
    assert owenshap.load(tmp_path / "e.npz").index == "beta(2, 1)"


def test_what_cannot_be_asked_is_refused():
    with refuses("method", "'gaussian-process'"):
        owenshap.estimate(smooth(5), "castro", budget=100, index="banzhaf")
    with refuses("method", "'owen'"):
        owenshap.estimate(smooth(5), "halved-owen", budget=100, index="beta(4, 1)")
    with refuses("method", "budget"):
        owenshap.estimate(smooth(5), "owen", tolerance="5%", index="banzhaf")
    plan = owenshap.estimate(smooth(5)).plan
    with refuses("index", "plan"):
        owenshap.estimate(smooth(5), plan=plan, index="banzhaf")
