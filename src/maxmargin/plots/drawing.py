"""The picture of a model that suits it, and files of pictures."""

import os
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from sklearn.base import is_classifier

from maxmargin.files.atomic import written_atomically
from maxmargin.plots._display import Display
from maxmargin.plots._matplotlib import Figure, plt
from maxmargin.plots._view import without_names

FORMATS = (".png", ".svg", ".pdf")
DPI = 150


# The module and the constructor of every kind's display, and the arguments that it takes.
DISPLAYS = {
    "regions": ("regions", "DecisionRegionDisplay.from_estimator", ("estimator", "X", "y", "columns")),
    "margin": ("margins", "MarginDisplay.from_estimator", ("estimator", "X", "y", "columns")),
    "used": ("used_points", "UsedPointsDisplay.from_estimator", ("estimator", "X", "y", "columns")),
    "hulls": ("hulls", "HullDisplay.from_data", ("X", "y", "columns")),
    "losses": ("losses", "LossDisplay.from_estimator", ("estimator", "X", "y")),
    "gap": ("proofs", "GapDisplay.from_estimator", ("estimator",)),
    "bracket": ("proofs", "BracketDisplay.from_estimator", ("estimator",)),
    "mistakes": ("proofs", "MistakeDisplay.from_estimator", ("estimator",)),
    "coefficients": ("coefficients", "CoefficientDisplay.from_estimator", ("estimator",)),
    "posterior": ("coefficients", "PosteriorDisplay.from_estimator", ("estimator",)),
    "prediction": ("predictions", "PredictionDisplay.from_estimator", ("estimator", "X", "y", "column")),
}


def default_kind(model: Any) -> str:
    """The kind of picture that suits a model: margin or regions of a classifier, prediction of a regression."""
    if not is_classifier(model):
        return "prediction"
    return "margin" if len(model.classes_) == 2 and hasattr(model, "decision_function") else "regions"


def draw(model: Any, X: Any, y: Any, *, kind: str | None = None, columns: Any = None, ax: Any = None) -> Display:
    """Draw a fitted model by the display that suits it, or by a named one.

    Parameters
    ----------
    model : fitted estimator
    X : array, sparse matrix or data frame of shape (n, d)
    y : array of labels or numbers, of shape (n,)
    kind : {"regions", "margin", "used", "hulls", "losses", "gap", "bracket", "mistakes", "coefficients", \
"posterior", "prediction"}, optional
        By default the margin for two classes, the regions for more, the prediction for a regression.
    columns : pair of names or positions, "pca", "score", or a list of one column for "prediction"; optional
    ax : Axes, optional

    Returns
    -------
    Display

    See Also
    --------
    write_figure : Write its ``figure_`` to a file.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.plots import draw
    >>> X, y = load_iris(return_X_y=True)
    >>> display = draw(LinearSVC().fit(X, y), X, y)
    >>> type(display).__name__
    'DecisionRegionDisplay'
    >>> plt.close(display.figure_)
    """
    if kind is None:
        kind = default_kind(model)
    if kind not in DISPLAYS:
        raise ValueError(f"kind must be one of {', '.join(DISPLAYS)}; it is {kind!r}.")
    module, constructor, taken = DISPLAYS[kind]
    given = {"estimator": model, "X": X, "y": y, "columns": columns, "column": None}
    if columns is not None and "column" in taken:
        if isinstance(columns, str) or len(columns) != 1:
            raise ValueError(f"columns must be one column for the kind {kind!r}; it is {columns!r}.")
        given["column"] = columns[0]
    elif columns is not None and "columns" not in taken:
        raise ValueError(f"columns has no effect on the kind {kind!r}: leave it out.")
    draw_display = attrgetter(constructor)(import_module(f"maxmargin.plots.{module}"))
    display: Display = draw_display(**{name: given[name] for name in taken}, ax=ax)
    return display


def check_format(path: str | os.PathLike[str], argument: str = "path") -> str:
    """The format that a file's name asks for."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"{argument} {os.fspath(path)} must end with {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
    return suffix[1:]


def write_figure(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG, SVG or PDF, by the end of the name; the old file is replaced at the end.

    The same figure gives the same bytes: no date is written.

    Parameters
    ----------
    figure : Figure, or a display
    path : str or path

    Returns
    -------
    Path

    See Also
    --------
    draw : The picture that suits a model.
    animate : A film of a run.

    Examples
    --------
    >>> import tempfile
    >>> import matplotlib.pyplot as plt
    >>> from maxmargin.plots import LossDisplay, write_figure
    >>> display = LossDisplay().plot()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_figure(display, f"{folder}/losses.svg").name
    'losses.svg'
    >>> plt.close(display.figure_)
    """
    kind = check_format(path)
    figure = getattr(figure, "figure_", figure)
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with plt.rc_context({"svg.hashsalt": "maxmargin"}), written_atomically(path) as file:
        figure.savefig(file, format=kind, dpi=DPI, bbox_inches="tight", metadata=metadata)
    return Path(path)


def picture(model: Any, X: Any, y: Any, path: str | os.PathLike[str], *, kind: str | None, columns: Any) -> Display:
    """Draw a model into a file, without a window or an open figure."""
    check_format(path)
    figure = Figure(figsize=(7.0, 4.8), layout="compressed")
    # Rows that were read from a file are arrays, whose columns the reader has arranged.
    with without_names():
        display = draw(model, X, y, kind=kind, columns=columns, ax=figure.add_subplot())
    write_figure(display, path)
    return display
