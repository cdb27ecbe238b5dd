"""The value of a cell that ends with a display is short: the picture is the answer."""

import dataclasses
import inspect

import pytest

from maxmargin import plots
from maxmargin.plots._display import Display

DISPLAYS = [found for name in plots.__all__ if inspect.isclass(found := getattr(plots, name))]


@pytest.mark.parametrize("kind", DISPLAYS)
def test_a_display_does_not_print_its_arrays(kind):
    assert issubclass(kind, Display)
    assert dataclasses.is_dataclass(kind)
    assert kind.__repr__ is object.__repr__
