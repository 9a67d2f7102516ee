"""A model whose first step is linear has the same values from columns as from input rows."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from columns import ABSENT, BACKGROUND, DESIGNS, FEATURES, OUTPUTS, agree, rows

import owenshap
from owenshap import MLP, Castro, Explainer, InputError
from owenshap.explain import predicting
from owenshap.explain.row_games import RowGames
from owenshap.fast.first_step import first_step
from owenshap.fast.linear_game import CACHES, LinearModelGame
from owenshap.games.game import AdditiveGame, CompactGame
from owenshap.games.model_game import MOST_COMPARED


def network(seed=1, activations=("sigmoid", "tanh", "softmax"), dtype=np.float64):
    rng = np.random.default_rng(seed)
    widths = [FEATURES, 5, 4, 3]
    weights = [rng.normal(size=(a, b)).astype(dtype) for a, b in pairwise(widths)]
    return MLP(weights, [rng.normal(size=b).astype(dtype) for b in widths[1:]], list(activations))


@pytest.mark.parametrize("players", [None, {"a": [0, 3], "b": [1, 2]}], ids=["single", "grouped"])
@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
@pytest.mark.parametrize(("method", "budget"), DESIGNS.values(), ids=DESIGNS)
def test_every_design_and_output(method, budget, output, players, compact):
    agree(network(), rows(), method, budget, baseline=0.0, output=output, players=players)
    assert compact


@pytest.mark.parametrize("players", [None, {"a": [0, 3], "b": [1, 2]}], ids=["single", "grouped"])
@pytest.mark.parametrize("absent", ABSENT.values(), ids=ABSENT)
@pytest.mark.parametrize(("method", "budget"), DESIGNS.values(), ids=DESIGNS)
def test_every_way_to_be_absent(method, budget, absent, players, compact):
    agree(network(), rows(), method, budget, output="predicted", players=players, **absent)
    assert compact


@pytest.mark.parametrize(
    "absent", [ABSENT["background"], ABSENT["weights"], ABSENT["a row each"]], ids=str
)
@pytest.mark.parametrize(
    ("method", "budget"), [each for name, each in DESIGNS.items() if name != "exact"]
)
def test_background_rows_that_are_drawn(method, budget, absent, compact):
    for players in (None, {"a": [0, 3], "b": [1, 2]}):
        agree(network(), rows(), method, budget, draws=2, output="logit", players=players, **absent)
    assert compact


def test_each_row_has_its_own_predicted_class_in_every_tile():
    x = np.random.default_rng(8).normal(size=(12, FEATURES)) * 3
    model = network(2)
    assert len(set(model(x).argmax(axis=1))) > 1
    for memory in (3000, "256MB"):
        agree(
            model, x, "halved-owen", 200, output="predicted", background=BACKGROUND, memory=memory
        )


@pytest.mark.parametrize("activation", ["identity", "relu", "tanh", "sigmoid"])
def test_activations(activation):
    agree(
        network(activations=(activation, activation, "identity")),
        rows(),
        "halved-owen",
        400,
        baseline=0.0,
    )


def test_float32_is_computed_in_float32():
    agree(
        network(dtype=np.float32), rows().astype(np.float32), "halved-owen", 400, 1e-4, baseline=0.0
    )


@pytest.mark.parametrize("seed", range(5))
def test_random_networks(seed):
    agree(network(seed), rows(seed=seed + 50), "halved-owen", 400, baseline=0.0)


def test_very_negative_scores_make_no_warning():
    model = MLP([np.full((FEATURES, 2), -1e3), np.ones((2, 1))], activations="sigmoid")
    agree(model, rows(), "castro", 100, baseline=0.0)


def test_a_game_that_came_from_another_process_has_the_same_values():
    game = game_of(network(), rows())
    again = pickle.loads(pickle.dumps(game))
    first, second = (
        owenshap.estimate(each, "halved-owen", budget=400).values for each in (game, again)
    )
    np.testing.assert_array_equal(first, second)


def test_games_let_go_of_their_columns_when_they_are_done(monkeypatch):
    games = []
    release = LinearModelGame.release
    monkeypatch.setattr(
        LinearModelGame, "release", lambda self: (games.append(self), release(self))
    )
    Explainer(network(), baseline=0.0)(rows(), method="castro", budget=100)
    assert games
    assert not any(set(vars(game)) & set(CACHES) for game in games)


def test_a_game_says_what_it_can():
    game = game_of(network(), rows())
    assert isinstance(game, CompactGame)
    assert isinstance(game, AdditiveGame)
    assert not isinstance(owenshap.TableGame([0, 1]), CompactGame)


def test_an_output_that_is_not_finite_is_told_with_its_coalition():
    model = MLP([np.eye(FEATURES), np.ones((FEATURES, 1))], activations="identity")
    explainer = Explainer(
        model,
        baseline=1.0,
        output=lambda p: np.where(p == FEATURES, 0.0, np.where(p > 10.5, np.nan, p)),
    )
    with pytest.raises(owenshap.ModelError, match=r"with \{.*\} present"):
        explainer(np.array([[2.0, 2, 2, 2, 2, -1]]), method="castro", budget=200)


def test_it_can_be_switched_off(compact):
    Explainer(network(), baseline=0.0, fast=False)(rows(), method="castro", budget=100)
    assert not compact


def test_structure_that_does_not_give_the_models_predictions_is_not_used(compact, monkeypatch):
    other = first_step(network(seed=9))
    model = network()
    monkeypatch.setattr(predicting, "first_step", lambda model: other)
    monkeypatch.setattr(MLP, "predict", lambda self, batch: np.asarray(batch)[:, :3])
    Explainer(model, baseline=0.0)(rows(), method="castro", budget=100)
    assert not compact


class Limited(MLP):
    """A perceptron that predicts otherwise than its weights say, far from the explained rows."""

    def __init__(self, inner, limit):
        self._inner, self._limit, self.sizes = inner, limit, []

    @property
    def layers(self):
        return self._inner.layers

    def predict(self, batch):
        self.sizes.append(len(batch))
        return self._inner.predict(np.clip(batch, -self._limit, self._limit))


ELSEWHERE = {
    "background": {"background": 3 * BACKGROUND},
    "last background rows": {
        "background": np.concatenate([BACKGROUND / 10] * 40 + [3 * BACKGROUND] * 4)
    },
    "a row": {"baseline": 3 * BACKGROUND[0]},
    "a row each": {"baseline": 3 * BACKGROUND[:5]},
}


@pytest.mark.parametrize("absent", ELSEWHERE.values(), ids=ELSEWHERE)
def test_structure_is_compared_where_features_are_absent(absent, compact):
    model = Limited(network(), 0.5)
    found = Explainer(model, **absent)(rows() / 10, method="castro", budget=20)
    assert not compact
    assert sum(model.sizes) == found.model_rows.sum()


def test_structure_is_compared_on_composites(compact):
    class Mixed(Limited):
        def predict(self, batch):
            values = super().predict(batch)
            return values + (batch[:, :1] > 5) * (batch[:, 1:2] < 5)

    model = Mixed(network(), np.inf)
    Explainer(model, baseline=0.0)(np.full((2, FEATURES), 10.0), method="castro", budget=20)
    assert not compact


def test_structure_is_compared_once_for_a_background():
    model = Limited(network(), np.inf)
    explainer = Explainer(model, BACKGROUND)
    first, again = (explainer(rows(), method="castro", budget=20) for _ in range(2))
    assert model.sizes == [5, len(BACKGROUND) + MOST_COMPARED, 5]
    np.testing.assert_array_equal(first.model_rows, again.model_rows)


class OwnReduction(Castro):
    name = "own"

    def replicates(self, design, values):
        return 2 * super().replicates(design, values)


def test_an_estimator_with_a_reduction_of_its_own_is_asked(compact):
    assert not OwnReduction.by_design
    explainer = Explainer(network(), baseline=0.0)
    single, double = (
        explainer(rows(), method=each, budget=200) for each in (Castro(), OwnReduction())
    )
    np.testing.assert_allclose(double.values, 2 * single.values, rtol=1e-12)
    assert len(compact) == len({int(n) for n in (rows() != 0).sum(axis=1)})


def game_of(model, x):
    kept = []
    original = RowGames.tasks

    def tasks(self, *settings):
        kept.extend(original(self, *settings))
        return kept

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowGames, "tasks", tasks)
        Explainer(model, baseline=0.0)(x, budget=100)
    return kept[0].game


# --- linear models


def test_a_linear_model_has_its_values_in_closed_form():
    rng = np.random.default_rng(3)
    weights, bias = rng.normal(size=(FEATURES, 2)), rng.normal(size=2)
    x, share = rows(), np.arange(1.0, 8)
    explanation = Explainer(MLP([weights], [bias]), BACKGROUND, background_weights=share)(x)
    away = x - share @ BACKGROUND / share.sum()
    np.testing.assert_allclose(explanation.values, away[:, :, None] * weights, atol=1e-12)
    assert explanation.method == "linear closed form"
    assert (explanation.evaluations == 2).all()
    np.testing.assert_array_equal(explanation.lower, explanation.upper)


def test_a_linear_model_is_sampled_where_a_method_is_asked_for():
    explanation = Explainer(MLP([np.ones((FEATURES, 1))]), baseline=0.0)(
        rows(), method="castro", budget=100
    )
    assert explanation.method == "castro"


def test_groups_of_a_linear_model_sum_their_features():
    explanation = Explainer(
        MLP([np.ones((FEATURES, 1))]), baseline=0.0, players={"all": list(range(FEATURES))}
    )(rows())
    np.testing.assert_allclose(explanation.values[:, 0], rows().sum(axis=1))


def test_a_function_of_a_linear_model_is_not_linear():
    explanation = Explainer(MLP([np.ones((FEATURES, 1))]), baseline=0.0, output=np.square)(rows())
    assert explanation.method == "exact"


# --- perceptrons as weights


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"weights": []}, "tables of numbers"),
        ({"weights": [np.ones((3, 2)), np.ones((3, 2))]}, "fit each other"),
        ({"weights": [np.ones((3, 2))], "biases": [np.ones(3)]}, "have shapes"),
        ({"weights": [np.ones((3, 2))], "activations": ["swish"]}, "be one of"),
        ({"weights": [np.ones((3, 2))], "activations": ["relu", "relu"]}, "1 layers"),
    ],
)
def test_wrong_perceptrons_are_named(arguments, says):
    with pytest.raises(InputError, match=says):
        MLP(**arguments)


def test_a_perceptron_predicts():
    model = MLP([np.array([[1.0], [2.0]])], [np.array([0.5])])
    np.testing.assert_array_equal(model([[1, 1], [0, 1]]), [[3.5], [2.5]])


@pytest.mark.parametrize("antithetic", [False, True])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_chains_of_a_row_with_one_live_player(kind, antithetic, compact):
    model = network()
    if kind == "torch":
        torch = pytest.importorskip("torch")
        model = torch.nn.Sequential(
            torch.nn.Linear(FEATURES, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
        ).double()
    x = rows()
    x[0, 1:] = 0
    for settings in ({"baseline": 0.0}, {"baseline": 0.0, "output": lambda p: p[:, :1] ** 2}):
        agree(model, x, Castro(antithetic=antithetic), 100, **settings)
    assert 1 in {design.n_players for design in compact}


def test_chains_of_one_player_over_a_background_that_is_drawn(compact):
    x, background = rows(), BACKGROUND.copy()
    background[:, 1:] = x[0, 1:]
    agree(network(), x[:1], "castro", 100, draws=2, background=background)
    assert compact


def test_a_model_that_is_no_longer_what_it_was_is_noticed_at_the_next_call():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    data = torch.randn(20, 5)
    explainer = Explainer(net, baseline=0.0)
    explainer(data, method="castro", budget=200)
    straight = net.forward
    net.forward = lambda batch: straight(batch) ** 2  # its layers do not show it
    found = explainer(data, method="castro", budget=200)
    plain = Explainer(net, baseline=0.0, fast=False)(data, method="castro", budget=200)
    np.testing.assert_array_equal(found.values, plain.values)
    np.testing.assert_array_equal(found.predictions, plain.predictions)
