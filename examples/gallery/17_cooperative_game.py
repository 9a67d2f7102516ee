"""
A game without a model
======================

Shapley values come from games: here a vote, in which members of a council have as many votes as
their district is large. Power is not proportional to votes.
"""

import matplotlib.pyplot as plt
import numpy as np

import owenshap

votes = np.array([31, 31, 28, 21, 2, 2])  # Nassau county, 1958: 58 votes pass a motion
council = owenshap.FunctionGame(lambda coalitions: coalitions @ votes >= 58, n_players=6)
power = owenshap.estimate(council).values
print(power.round(3))

# %%

figure, ax = plt.subplots(figsize=(6, 3))
ax.bar(np.arange(6) - 0.2, votes / votes.sum(), width=0.4, label="share of votes")
ax.bar(np.arange(6) + 0.2, power, width=0.4, label="Shapley value")
ax.set_xlabel("member")
ax.legend()
