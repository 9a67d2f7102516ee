"""
Watching an estimate settle
===========================

`estimating` yields one estimate after the other; the bands are their intervals, the dashed lines
the exact values.
"""

import owenshap
from owenshap.testing import airport

game = airport([1.0, 2.0, 3.0, 5.0, 8.0])
exact = owenshap.estimate(game, "exact").values
run = owenshap.estimating(game, "castro", tolerance=0.05)
owenshap.plots.convergence(run, truth=exact)
