import pytest

from owenshap.fast.linear_game import LinearModelGame


@pytest.fixture
def compact(monkeypatch):
    """Counts the designs that are valued from columns."""
    designs = []
    original = LinearModelGame.design_replicates

    def counted(self, design, *ends):
        designs.append(design)
        return original(self, design, *ends)

    monkeypatch.setattr(LinearModelGame, "design_replicates", counted)
    return designs
