"""Colours that say the sign of a value, in plots and in notebooks."""

# Red and blue of middle lightness: readable on white and on black, and apart for all usual kinds of
# colour blindness.
POSITIVE, NEGATIVE = "#e0405a", "#3a86de"
MIDDLE = "#a05fc0"
NEUTRAL = MIDDLE  # of what has no sign
# of lines or groups side by side
DISTINCT = (NEGATIVE, "#e8910c", "#12a078", POSITIVE, "#a768d9", "#8a8f98", "#c9a400")
