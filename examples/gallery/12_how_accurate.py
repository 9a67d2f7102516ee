"""
As accurate as you ask
======================

The tolerance is said, the number of evaluations follows: four times as many for half the width
where values are sampled, far fewer where they can be learned.
"""

import matplotlib.pyplot as plt
import numpy as np

import owenshap

weights = np.linspace(-1, 2, 24)
game = owenshap.FunctionGame(lambda coalitions: np.tanh(coalitions @ weights / 6), n_players=24)

tolerances = (0.04, 0.02, 0.01, 0.005)
figure, axes = plt.subplots()
for method in ("castro", "halved-owen", "gaussian-process-corrected"):
    spent = [
        owenshap.estimate(game, method, tolerance=tolerance).evaluations for tolerance in tolerances
    ]
    print(f"{method:27}", spent)
    axes.loglog(tolerances, spent, marker="o", label=method)
axes.set(xlabel="tolerance", ylabel="evaluations")
axes.legend()
