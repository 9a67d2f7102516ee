"""Players: features one by one, in groups, and as patches of an image."""

import numpy as np
import pytest
from naive import refuses

import owenshap
from owenshap.games.players import Players

FEATURES = ["a", "b", "c", "d"]


def test_without_groups_every_feature_is_a_player():
    players = Players.of(FEATURES, None)
    assert players.names == FEATURES
    assert players.player_of.tolist() == [0, 1, 2, 3]
    assert not players.grouped


@pytest.mark.parametrize(
    ("groups", "names", "player_of"),
    [
        ({"g": ["b", "d"]}, ["a", "g", "c"], [0, 1, 2, 1]),
        ({"g": [1, 3]}, ["a", "g", "c"], [0, 1, 2, 1]),
        ({"g": ["d", 1]}, ["a", "g", "c"], [0, 1, 2, 1]),
        ({"late": ["c", "d"], "early": ["a"]}, ["early", "b", "late"], [0, 1, 2, 2]),
        ({"all": FEATURES}, ["all"], [0, 0, 0, 0]),
        ({"b": ["a", "b"]}, ["b", "c", "d"], [0, 0, 1, 2]),
        ({"one": "c"}, ["a", "b", "one", "d"], [0, 1, 2, 3]),
        ({"empty": []}, FEATURES, [0, 1, 2, 3]),
    ],
)
def test_groups_are_players(groups, names, player_of):
    players = Players.of(FEATURES, groups)
    assert players.names == names
    assert players.player_of.tolist() == player_of
    assert len(players) == len(names)


def test_a_player_is_there_where_any_of_its_features_is():
    players = Players.of(FEATURES, {"g": ["b", "d"]})
    found = players.any_of(np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1]], bool))
    np.testing.assert_array_equal(found, np.array([[0, 1, 0], [1, 0, 0], [0, 1, 1]], bool))


def test_groups_that_are_wrong_are_told():
    for column in ("z", 4, -1, 1.5):
        with refuses("players", "group 'g'", "The columns are a, b, c, d"):
            Players.of(FEATURES, {"g": ["a", column]})
    with refuses("players", "'b' in 'g' and 'h'"):
        Players.of(FEATURES, {"g": ["a", "b"], "h": ["b"]})
    with refuses("players", "names of their own", "group 'a' beside a column of that name"):
        Players.of(FEATURES, {"a": ["b", "c"]})


def test_values_of_groups_are_those_of_the_game_between_groups():
    def model(batch):
        return batch[:, 0] * batch[:, 1] * batch[:, 2] + batch[:, 3]

    found = owenshap.Explainer(model, baseline=0.0, players={"pair": [0, 2]})(
        np.array([[2.0, 3.0, 5.0, 7.0]])
    )
    assert found.feature_names == ["pair", "feature 1", "feature 3"]
    np.testing.assert_allclose(found.values, [[15, 15, 7]])
    assert found.data[0].tolist() == ["2, 5", 3.0, 7.0]


def test_patches_cover_an_image():
    patches = owenshap.patches(5, 7, size=3)
    assert list(patches) == [f"patch {row},{column}" for row in range(2) for column in range(3)]
    assert sorted(pixel for pixels in patches.values() for pixel in pixels) == list(range(35))
    assert patches["patch 1,2"] == [27, 34]
    with refuses("size", "at least 1"):
        owenshap.patches(4, 4, size=0)
    with refuses("height", "whole number"):
        owenshap.patches(4.5, 4, size=2)


def test_patches_are_players_of_images():
    images = np.random.default_rng(0).normal(size=(3, 4, 4))
    found = owenshap.Explainer(
        lambda batch: batch[:, :2].sum(axis=(1, 2)), baseline=0.0, players=owenshap.patches(4, 4, 2)
    )(images)
    wanted = [[image[:2, :2].sum(), image[:2, 2:].sum(), 0, 0] for image in images]
    np.testing.assert_allclose(found.values, wanted, atol=1e-12)
