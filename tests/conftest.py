import os

import pytest

os.environ["MPLBACKEND"] = "Agg"  # pictures are drawn in memory, on machines without a screen too
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"  # the examples of the docs tell nobody


def pytest_collection_modifyitems(items):
    """Tests marked `device` need CUDA: `make test-device` runs them where it is."""
    needing = [item for item in items if item.get_closest_marker("device")]
    if needing and not _has_cuda():
        for item in needing:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


def _has_cuda():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()
