"""What numbers a model predicts, in words."""

from __future__ import annotations

LOG_ODDS = "log-odds"
PROBABILITY = "probability"
PREDICTION = "prediction"
LOG_PREDICTION = "log of the prediction"
SCORE = "score"
RANKING = "ranking score"
PATH_LENGTH = "mean path length"
