"""The report's section on what features do together."""

import re

import numpy as np
from naive import random_table, refuses

import owenshap


def explainer():
    return owenshap.Explainer(
        lambda rows: 4 * rows[:, 0] * rows[:, 2] - rows[:, 1],
        baseline=0.0,
        feature_names=["<b>rain", "wind", "sun"],
    )


def test_the_strongest_pairs_are_told_with_their_names_escaped():
    found = explainer()(np.array([[1.0, 2.0, 0.5]]), keep=True)
    html = owenshap.report.page(found, interactions=found.interactions()).html
    assert "What features do together" in html
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html.split('class="pairs"')[1].split("</table>")[0])
    assert cells == ["<bdi>&lt;b&gt;rain</bdi>", "<bdi>sun</bdi>", "+2.00"]


def test_over_rows_sizes_are_told():
    found = explainer()(np.array([[1.0, 2.0, 0.5], [1.0, 2.0, -1.0]]), keep=True)
    html = owenshap.report.page(found, interactions=found.interactions()).html
    assert "The mean size of what a pair adds together" in html
    assert "3.00</td>" in html


def test_without_interactions_there_is_no_section():
    found = explainer()(np.array([[1.0, 2.0, 0.5]]))
    assert "What features do together" not in owenshap.report.page(found).html


def test_every_output_has_its_own_and_none_is_said():
    model = owenshap.Explainer(lambda rows: rows[:, :2], baseline=0.0, output_names=["up", "down"])
    found = model(np.ones((1, 3)), keep=True)
    html = owenshap.report.page(found, interactions=found.interactions()).html
    assert html.count("No two features do anything together") == 2


def test_interactions_of_other_features_are_refused():
    found = explainer()(np.array([[1.0, 2.0, 0.5]]))
    with refuses("interactions", "explained features"):
        owenshap.report.page(found, interactions=owenshap.interactions(random_table(3)))
