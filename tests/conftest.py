import os

os.environ["MPLBACKEND"] = "Agg"  # pictures are drawn in memory, on machines without a screen too
