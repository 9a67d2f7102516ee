"""The speed benchmark takes a game from an explainer as it makes it; a GPU is rarely there to see."""

import torch

import owenshap
from benchmarks.speed import networks


def test_the_game_of_an_explainer_is_taken():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    rows = torch.rand(2, 4, generator=torch.Generator().manual_seed(0))
    game = networks.game(owenshap.Explainer(model, baseline=0.0), rows)
    assert game.n_players == 4
    assert len(game.labels) == 2
