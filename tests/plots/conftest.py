"""Fixtures of the pictures' tests."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def close_figures():
    """Every test leaves no open figure."""
    yield
    plt.close("all")
