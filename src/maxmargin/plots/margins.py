"""Hyperplanes, margins and support vectors of two classes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates import KKTClass
from maxmargin.data.printed_bounds import digits_up
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators.certification import kkt_classes_of
from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.plots._display import (
    Box,
    Display,
    add_legend,
    box_of,
    class_name,
    draw_line,
    draw_points,
    number,
    point_area,
    set_box,
    set_title,
    size_for,
)
from maxmargin.plots._view import (
    SCORE,
    View,
    labels_of,
    linear_coefficients,
    matrix_of,
    scores_of,
    view_of,
    without_names,
)

GRID = 240
# The marker around the points of each KKT class: distinguished by shape, in grey, too.
RINGS = {"on the margin": ("o", 3.4), "inside the margin": ("s", 3.4), "misclassified": ("x", 2.2)}
NEAREST = "nearest points"
# Points whose margins differ from the smallest one by less than this share of it are nearest, too.
TIE = 1e-9


@dataclass(repr=False)
class MarginDisplay(Display):
    """A hyperplane, the two parallel to it that bound its margin, and its support vectors.

    For a support vector machine these are f = 0 and f = ±1, and its support vectors are marked by their KKT class: on
    the margin (0 < alpha < C), inside it or misclassified (alpha = C). For any other linear model they are the
    hyperplanes through the nearest points, which are marked, if it separates the classes. For kernels they are the
    curves of the same values of f.

    Data of more than two columns are drawn by their score by default: f(x) across, which is exact for every point, and
    a principal component along it. Two chosen columns show the slice of the model in which the others are fixed.

    Parameters
    ----------
    view : View
    codes : ndarray of int of shape (n,)
        0 for the first class, 1 for the second.
    classes : ndarray
    levels : tuple of float
        The values of f whose lines are drawn.
    hyperplane : tuple of (ndarray of shape (2,), float), or None
        w and b as functions of the place in the picture; None for kernels.
    grid : tuple of three ndarray, or None
        Places and f there, for kernels.
    marked : mapping of str to ndarray of int
        The rows that are marked, by what they are.
    title : str

    See Also
    --------
    MarginComparisonDisplay : Several models side by side, for example of small and of large C.
    DecisionRegionDisplay : Regions of more than two classes.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.plots import MarginDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[:, :2], y == 0
    >>> model = LinearSVC(C=10.0).fit(X, y)
    >>> display = MarginDisplay.from_estimator(model, X, y)
    >>> {name: len(rows) for name, rows in display.marked.items()}
    {'on the margin': 6, 'inside the margin': 3, 'misclassified': 0}
    >>> plt.close(display.figure_)
    """

    view: View
    codes: np.ndarray
    classes: np.ndarray
    levels: tuple[float, ...]
    hyperplane: tuple[np.ndarray, float] | None
    grid: tuple[np.ndarray, np.ndarray, np.ndarray] | None
    marked: Mapping[str, np.ndarray]
    title: str
    box: Box

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        columns: Any = None,
        fixed: Any = "mean",
        ax: Any = None,
    ) -> "MarginDisplay":
        """Draw the margin of a classifier of two classes.

        Parameters
        ----------
        estimator : fitted classifier with a decision function
        X : array, sparse matrix or data frame of shape (n, d)
            For a support vector machine of this package the rows of the fit, which the support vectors are.
        y : array of two labels, of shape (n,)
        sample_weight : array of shape (n,), optional
            That of the fit.
        columns : pair of names or positions, "score", "pca" or None
            None is both of two columns, else "score".
        fixed : {"mean", "median"} or array of shape (d,), default="mean"
            Values of the columns that are not shown.
        ax : Axes, optional

        Returns
        -------
        MarginDisplay
        """
        return cls._of(estimator, X, y, sample_weight, columns, fixed).plot(ax)

    @classmethod
    def _of(cls, model: Any, X: Any, y: Any, sample_weight: Any, columns: Any, fixed: Any) -> "MarginDisplay":
        scores = scores_of_two(model, cls.__name__)
        matrix = matrix_of(model, X)
        classes, codes = labels_of(model, y, matrix.shape[0])
        with without_names():
            functional = np.where(codes == 1, 1.0, -1.0) * scores(matrix)
        view = view_of(model, X, columns, fixed, default=SCORE, scores=lambda _: functional * np.where(codes, 1, -1))
        levels, marked, title = _margin_of(model, X, y, sample_weight, functional)
        if view.origin is not None and not view.is_whole:
            signs = np.where(codes == 1, 1.0, -1.0) * np.sign(functional)
            other_side = int(np.count_nonzero(np.sign(view.evaluate(scores, view.points)) != signs))
            n_rows = len(view.points)
            view = replace(
                view, note=f"{view.note}; {other_side:,} of {n_rows:,} points are on the other side of f = 0"
            )
        box = box_of(view.points)
        hyperplane, grid = None, None
        linear = linear_coefficients(model)
        if view.origin is None:
            # The score is the first coordinate.
            hyperplane = np.array([1.0, 0.0]), 0.0
            box = box_of(view.points, np.column_stack([levels, np.full(len(levels), view.points[0, 1])]))
        elif linear is not None:
            hyperplane = view.hyperplane(*linear)
        else:
            xx0, xx1 = np.meshgrid(np.linspace(*box[:2], GRID), np.linspace(*box[2:], GRID))
            places = np.column_stack([xx0.ravel(), xx1.ravel()])
            grid = xx0, xx1, view.evaluate(scores, places).reshape(GRID, GRID)
        return cls(view, codes, classes, levels, hyperplane, grid, marked, title, box)

    def _panel_size(self) -> tuple[float, float]:
        return size_for(self.box) if self.view.origin is not None else self._size

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        draw_points(ax, self.view.points, self.codes, [class_name(label) for label in self.classes])
        for level in self.levels:
            label = None if level < 0.0 else "f(x) = 0" if level == 0.0 else f"f(x) = ±{number(level)}"
            style = "-" if level == 0.0 else "--"
            if self.hyperplane is not None:
                w, b = self.hyperplane
                draw_line(ax, w, b - level, self.box, linestyle=style, label=label, linewidth=1.6 if not level else 1.1)
            else:
                self._draw_contour(ax, level, style, label)
        area = point_area(len(self.view.points))
        for name, rows in self.marked.items():
            if not len(rows):
                continue
            marker, factor = RINGS.get(name, ("o", 3.4))
            colours = {"color": "black"} if marker == "x" else {"facecolor": "none", "edgecolor": "black"}
            ax.scatter(
                *self.view.points[rows].T, s=factor * area, marker=marker, linewidth=1.1, zorder=3.5,
                label=f"{name} ({len(rows):,})", **colours,
            )  # fmt: skip
        set_box(ax, self.box, to_scale=self.view.origin is not None)
        ax.set_xlabel(self.view.names[0])
        ax.set_ylabel(self.view.names[1])
        set_title(ax, self.title, self.view.note)
        add_legend(ax)

    def _draw_contour(self, ax: Any, level: float, style: str, label: str | None) -> None:
        assert self.grid is not None
        values = self.grid[2]
        if not values.min() < level < values.max():
            return
        ax.contour(*self.grid, levels=[level], colors="black", linestyles=style, linewidths=1.6 if not level else 1.1)
        if label is not None:
            ax.plot([], [], color="black", linestyle=style, label=label)


def scores_of_two(model: Any, caller: str) -> Any:
    """The decision function of a classifier of two classes, or an error that names what to use instead."""
    if hasattr(model, "fit"):
        check_is_fitted(model)
    scores = scores_of(model)
    if scores is not None:
        return scores
    if not is_classifier(model):
        raise ValueError(f"{caller} shows classifiers; {type(model).__name__} is none: use PredictionDisplay.")
    n_classes = len(getattr(model, "classes_", ()))
    if n_classes > 2:
        raise ValueError(
            f"{caller} shows two classes; the model has {n_classes}: use DecisionRegionDisplay, or fit one class "
            "against the rest."
        )
    raise ValueError(f"{caller} needs a fitted classifier with a decision_function: use DecisionRegionDisplay.")


def is_svm(model: Any) -> bool:
    """Whether f = ±1 bounds the model's margin, and its KKT classes are known."""
    return isinstance(model, CertifiedModel) and hasattr(model, "support_") and hasattr(model, "C")


def _margin_of(
    model: Any, X: Any, y: Any, sample_weight: Any, functional: np.ndarray
) -> tuple[tuple[float, ...], dict[str, np.ndarray], str]:
    """The values of f to draw, the rows to mark, and the title."""
    name = type(model).__name__
    wrong = int(np.count_nonzero(functional <= 0.0))
    if is_svm(model):
        kinds = kkt_classes_of(model, X, y, sample_weight)
        values = (KKTClass.ON_MARGIN, KKTClass.INSIDE, KKTClass.MISCLASSIFIED)
        marked = {what: np.flatnonzero(kinds == value) for what, value in zip(RINGS, values, strict=True)}
        margin = getattr(model, "margin_", math.nan)
        C = model._as_fitted().C
        proof = getattr(model, "certificate_", None)
        gap = (
            f"\nproven relative gap {digits_up(proof.relative, 2)}"
            if proof is not None and math.isfinite(proof.relative)
            else ""
        )
        return (-1.0, 0.0, 1.0), marked, f"{name}, C = {number(C)}: margin {number(margin)}{gap}"
    smallest = float(functional.min())
    linear = linear_coefficients(model)
    if smallest <= 0.0:
        return (0.0,), {"misclassified": np.flatnonzero(functional <= 0.0)}, f"{name}: {wrong:,} points misclassified"
    nearest = np.flatnonzero(functional <= smallest * (1.0 + TIE))
    margin_text = ""
    if linear is not None:
        margin_text = f": margin {number(smallest / float(np.linalg.norm(linear[0])))}"
    return (-smallest, 0.0, smallest), {NEAREST: nearest}, f"{name}{margin_text}"


@dataclass(repr=False)
class MarginComparisonDisplay(Display):
    """The margins of several models side by side, on the same axes: narrow and wide, or small and large C.

    Parameters
    ----------
    displays : list of MarginDisplay
    titles : list of str
        In place of the displays' own, where not empty.

    See Also
    --------
    MarginDisplay : One of the panels.
    RegularisationPathDisplay : Margin, coefficients and score for many values of C.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.plots import MarginComparisonDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = MarginComparisonDisplay.from_data(X[50:, 2:], y[50:], Cs=(0.1, 100.0))
    >>> len(display.ax_)
    2
    >>> plt.close(display.figure_)
    """

    displays: Sequence[MarginDisplay]
    titles: Sequence[str] = field(default_factory=tuple)

    @classmethod
    def from_estimators(
        cls,
        estimators: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        columns: Any = None,
        fixed: Any = "mean",
        ax: Any = None,
    ) -> "MarginComparisonDisplay":
        """Draw the margins of fitted models.

        Parameters
        ----------
        estimators : sequence of fitted classifiers, or mapping from title to classifier
        X, y, sample_weight, columns, fixed
            As for :meth:`MarginDisplay.from_estimator`.
        ax : sequence of Axes, one a model; or Axes, which is divided; optional

        Returns
        -------
        MarginComparisonDisplay
        """
        titles = list(estimators) if isinstance(estimators, Mapping) else []
        models = list(estimators.values() if isinstance(estimators, Mapping) else estimators)
        if not models:
            raise ValueError("estimators is empty: give at least one fitted model.")
        displays = [MarginDisplay._of(model, X, y, sample_weight, columns, fixed) for model in models]
        return cls(displays, titles).plot(ax)

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        Cs: Any = (0.01, 100.0),
        columns: Any = None,
        ax: Any = None,
        **parameters: Any,
    ) -> "MarginComparisonDisplay":
        """Fit a LinearSVC for every C, and draw their margins: a small C allows a wide margin with points inside it.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of two labels, of shape (n,)
        Cs : sequence of float, default=(0.01, 100.0)
        columns : as for :meth:`MarginDisplay.from_estimator`
        ax : sequence of Axes, or Axes, optional
        **parameters
            The other parameters of LinearSVC.

        Returns
        -------
        MarginComparisonDisplay
        """
        return cls.from_estimators([LinearSVC(C=C, **parameters).fit(X, y) for C in Cs], X, y, columns=columns, ax=ax)

    def _shape(self) -> tuple[int, int]:
        return 1, len(self.displays)

    def _panel_size(self) -> tuple[float, float]:
        width, height = self.displays[0]._panel_size()
        return width - 1.2, height + 0.7

    def _draw(self, axes: Sequence[Any]) -> None:
        for k, (ax, display) in enumerate(zip(axes, self.displays, strict=True)):
            display.plot(ax)
            if self.titles:
                set_title(ax, self.titles[k], display.title, display.view.note)
            legend = ax.get_legend()
            if legend is not None:
                legend.remove()
            add_legend(ax, "below")
