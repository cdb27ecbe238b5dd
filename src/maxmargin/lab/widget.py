"""The page as a notebook widget (extra ``notebook``)."""

from pathlib import Path
from typing import Any

import anywidget

from maxmargin.lab.page import Page
from maxmargin.lab.state import from_preset

STATIC = Path(__file__).parent / "static"


class LabWidget(anywidget.AnyWidget):
    """The interactive page in a cell of a notebook.

    Parameters
    ----------
    X : array of shape (n, 2), optional
        Points; without them the page starts with a preset.
    y : array of shape (n,), optional
        Two labels; the larger one counts as +1.
    algorithm : str, default="online"
        A key of `maxmargin.lab.algorithms.ALGORITHMS`.
    **parameters
        Parameters of `maxmargin.lab.algorithms.PARAMETERS`.
    """

    _esm = STATIC / "lab.js"
    _css = STATIC / "lab.css"

    def __init__(self, X: Any = None, y: Any = None, algorithm: str = "online", **parameters: Any) -> None:
        super().__init__()
        state = from_preset("separable", algorithm, **parameters)
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together.")
        if X is not None:
            state = state.with_points(*_two_columns(X, y))
        self.page = Page(state)
        self.on_msg(self._answer)

    def close(self) -> None:
        """Close all views, and free the steps that were kept."""
        super().close()
        self.on_msg(self._answer, remove=True)
        if hasattr(self, "page"):
            del self.page

    def _answer(self, _widget: Any, content: Any, _buffers: Any) -> None:
        for message in self.page.handle(content):
            self.send(message)


def _two_columns(X: Any, y: Any) -> tuple[list[tuple[float, float]], list[int]]:
    from maxmargin.lectures.points import check_rows

    X, signs = check_rows(X, y)
    if X.shape[1] != 2:
        raise ValueError(f"X must have two columns, got {X.shape[1]}: choose two, or two principal components.")
    return [(float(a), float(b)) for a, b in X], [int(sign) for sign in signs]
