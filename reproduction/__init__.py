"""The paper's experiments: one module per experiment, the expected numbers beside them."""
