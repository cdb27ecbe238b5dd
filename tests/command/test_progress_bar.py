"""The progress bar on terminals of several widths."""

import io
import re

import pytest
from rich.console import Console

from maxmargin.cli.console import _bar


@pytest.mark.parametrize(
    ("width", "expected"),
    [(60, "gap 0.885"), (80, "gap 0.885"), (120, "block 35384: gap 0.885, KKT violation 6.12"), (30, "")],
)
def test_times_are_shown_whatever_the_width(width, expected):
    written = io.StringIO()
    terminal = Console(file=written, width=width, force_terminal=True, color_system=None)
    with _bar(terminal, "training", None) as (on_share, _):
        on_share(0.3, "block 35384: gap 0.885, KKT violation 6.12")
    shown = re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", written.getvalue())
    assert expected in shown
    if width >= 60:
        assert re.search(r"0:00:00 left \S+", shown)
    assert max(map(len, shown.splitlines())) <= width
