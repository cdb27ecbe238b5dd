"""The picture of a model that suits it, and files of pictures."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.base import is_classifier

from maxmargin.files.atomic import written_atomically
from maxmargin.plots._display import Display
from maxmargin.plots._matplotlib import Figure, plt
from maxmargin.plots._view import without_names

FORMATS = (".png", ".svg", ".pdf")
DPI = 150


def _regions(model: Any, X: Any, y: Any, columns: Any, ax: Any) -> Display:
    from maxmargin.plots.regions import DecisionRegionDisplay

    return DecisionRegionDisplay.from_estimator(model, X, y, columns=columns, ax=ax)


def _margin(model: Any, X: Any, y: Any, columns: Any, ax: Any) -> Display:
    from maxmargin.plots.margins import MarginDisplay

    return MarginDisplay.from_estimator(model, X, y, columns=columns, ax=ax)


def _used(model: Any, X: Any, y: Any, columns: Any, ax: Any) -> Display:
    from maxmargin.plots.used_points import UsedPointsDisplay

    return UsedPointsDisplay.from_estimator(model, X, y, columns=columns, ax=ax)


def _losses(model: Any, X: Any, y: Any, columns: Any, ax: Any) -> Display:
    from maxmargin.plots.losses import LossDisplay

    _refuse_columns(columns, "losses")
    return LossDisplay.from_estimator(model, X, y, ax=ax)


def _hulls(model: Any, X: Any, y: Any, columns: Any, ax: Any) -> Display:  # noqa: ARG001
    from maxmargin.plots.hulls import HullDisplay

    return HullDisplay.from_data(X, y, columns=columns, ax=ax)


def _gap(model: Any, X: Any, y: Any, columns: Any, ax: Any) -> Display:  # noqa: ARG001
    from maxmargin.plots.proofs import GapDisplay

    _refuse_columns(columns, "gap")
    return GapDisplay.from_estimator(model, ax=ax)


def _bracket(model: Any, X: Any, y: Any, columns: Any, ax: Any) -> Display:  # noqa: ARG001
    from maxmargin.plots.proofs import BracketDisplay

    _refuse_columns(columns, "bracket")
    return BracketDisplay.from_estimator(model, ax=ax)


def _mistakes(model: Any, X: Any, y: Any, columns: Any, ax: Any) -> Display:  # noqa: ARG001
    from maxmargin.plots.proofs import MistakeDisplay

    _refuse_columns(columns, "mistakes")
    return MistakeDisplay.from_estimator(model, ax=ax)


def _coefficients(model: Any, X: Any, y: Any, columns: Any, ax: Any) -> Display:  # noqa: ARG001
    from maxmargin.plots.coefficients import CoefficientDisplay

    _refuse_columns(columns, "coefficients")
    return CoefficientDisplay.from_estimator(model, ax=ax)


def _posterior(model: Any, X: Any, y: Any, columns: Any, ax: Any) -> Display:  # noqa: ARG001
    from maxmargin.plots.coefficients import PosteriorDisplay

    _refuse_columns(columns, "posterior")
    return PosteriorDisplay.from_estimator(model, ax=ax)


def _prediction(model: Any, X: Any, y: Any, columns: Any, ax: Any) -> Display:
    from maxmargin.plots.predictions import PredictionDisplay

    if columns is not None and (isinstance(columns, str) or len(columns) != 1):
        raise ValueError(f"columns must be one column for the kind 'prediction'; it is {columns!r}.")
    return PredictionDisplay.from_estimator(model, X, y, column=None if columns is None else columns[0], ax=ax)


DISPLAYS: dict[str, Callable[..., Display]] = {
    "regions": _regions,
    "margin": _margin,
    "used": _used,
    "hulls": _hulls,
    "losses": _losses,
    "gap": _gap,
    "bracket": _bracket,
    "mistakes": _mistakes,
    "coefficients": _coefficients,
    "posterior": _posterior,
    "prediction": _prediction,
}


def _refuse_columns(columns: Any, kind: str) -> None:
    if columns is not None:
        raise ValueError(f"columns has no effect on the kind {kind!r}: leave it out.")


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
    return DISPLAYS[kind](model, X, y, columns, ax)


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
