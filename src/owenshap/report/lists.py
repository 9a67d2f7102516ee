"""How long lists are, on a page and on the command's screen."""

MOST_LINES = 10  # bars, outputs, pairs or rows: more would push what follows off a screen
NAMED = 3  # features or pairs that one sentence names
