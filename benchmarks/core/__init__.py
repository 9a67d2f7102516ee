"""Speed and memory of the core, beside the bare model and the peers: `python -m
benchmarks.core`.
"""
