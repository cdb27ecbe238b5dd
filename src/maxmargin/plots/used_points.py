"""The points that a model's w is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.plots._display import (
    COLOURS,
    MARKERS,
    Display,
    add_legend,
    box_of,
    class_name,
    draw_line,
    set_box,
    set_title,
    size_for,
)
from maxmargin.plots._steps import list_of
from maxmargin.plots._view import (
    View,
    labels_of,
    linear_coefficients,
    signs_of,
    view_of,
)
from maxmargin.plots.margins import scores_of_two


@dataclass(repr=False)
class UsedPointsDisplay(Display):
    """The points that a model's w is made of are bold, the others faint.

    A perceptron's w is the sum of alpha_i y_i x_i over the points that it was corrected on, a support vector machine's
    over its support vectors: points with alpha_i = 0 could be left out.

    Parameters
    ----------
    view : View
    codes : ndarray of int of shape (n,)
    classes : ndarray
    alpha : ndarray of shape (n,)
        The duals; for a perceptron the sum of the steps taken on each row.
    hyperplane : tuple of (ndarray of shape (2,), float), or None
        As a function of the place in the picture; None where it is not a line.
    name : str

    See Also
    --------
    RunDisplay : The updates one after the other.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import Perceptron
    >>> from maxmargin.plots import UsedPointsDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron(shuffle=False).fit(X[:, :2], y == 0)
    >>> display = UsedPointsDisplay.from_estimator(model, X[:, :2], y == 0)
    >>> print(f"{(display.alpha > 0).sum()} of {len(y)} points were used in {display.alpha.sum():.0f} updates")
    14 of 150 points were used in 1562 updates
    >>> plt.close(display.figure_)
    """

    view: View
    codes: np.ndarray
    classes: np.ndarray
    alpha: np.ndarray
    hyperplane: tuple[np.ndarray, float] | None
    name: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, columns: Any = None, fixed: Any = "mean", ax: Any = None
    ) -> "UsedPointsDisplay":
        """Draw the points of a fitted model with duals.

        Parameters
        ----------
        estimator : Perceptron, MarginPerceptron, KernelPerceptron, LinearSVC or SVC, of two classes
        X : array, sparse matrix or data frame of shape (n, d)
            The rows of the fit.
        y : array of two labels, of shape (n,)
        columns : pair of names or positions, "pca" or None
        fixed : {"mean", "median"} or array of shape (d,), default="mean"
        ax : Axes, optional

        Returns
        -------
        UsedPointsDisplay
        """
        view = view_of(estimator, X, columns, fixed)
        classes, codes = labels_of(estimator, y, len(view.points))
        scores_of_two(estimator, cls.__name__)
        linear = linear_coefficients(estimator)
        hyperplane = None if linear is None else view.hyperplane(*linear)
        alpha = duals_of(estimator, len(view.points))
        return cls(view, codes, classes, alpha, hyperplane, type(estimator).__name__).plot(ax)

    @classmethod
    def from_steps(cls, steps: Any, X: Any, y: Any, *, ax: Any = None) -> "UsedPointsDisplay":
        """Draw the points that a run of :mod:`maxmargin.lectures` has used at its last step.

        Parameters
        ----------
        steps : iterable of Step
        X : array of shape (n, 2)
        y : array of two labels, of shape (n,)
        ax : Axes, optional

        Returns
        -------
        UsedPointsDisplay
        """
        last = list_of(steps)[-1]
        view = view_of(None, X, None)
        classes, codes = signs_of(y, len(view.points), cls.__name__)
        if last.alpha is None or last.alpha.shape != codes.shape:
            raise ValueError("steps are of other data: alpha of the last one does not have an entry for each row of X.")
        hyperplane = None if last.w is None else view.hyperplane(last.w, last.b)
        return cls(view, codes, classes, last.alpha, hyperplane, f"step {last.number}").plot(ax)

    def _panel_size(self) -> tuple[float, float]:
        return size_for(box_of(self.view.points))

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        box = box_of(self.view.points)
        used = self.alpha > 0.0
        for code, label in enumerate(self.classes):
            for chosen, what in ((~used & (self.codes == code), "not used"), (used & (self.codes == code), "used")):
                bold = what == "used"
                colour = COLOURS[code]
                ax.scatter(
                    *self.view.points[chosen].T,
                    s=70.0 if bold else 22.0,
                    marker=MARKERS[code],
                    facecolor=colour if bold else "none",
                    edgecolor="black" if bold else colour,
                    linewidth=1.4 if bold else 0.7,
                    alpha=1.0 if bold else 0.6,
                    zorder=3.5 if bold else 2.5,
                    label=f"{class_name(label)}, {what} ({np.count_nonzero(chosen):,})",
                )
        if self.hyperplane is not None:
            draw_line(ax, *self.hyperplane, box, label="f(x) = 0")
        set_box(ax, box)
        ax.set_xlabel(self.view.names[0])
        ax.set_ylabel(self.view.names[1])
        n_used = int(np.count_nonzero(used))
        set_title(ax, f"{self.name}: w is made of {n_used:,} of {len(used):,} points", self.view.note)
        add_legend(ax)


def duals_of(model: Any, n_rows: int) -> np.ndarray:
    """alpha of every training row of a model of two classes."""
    duals = getattr(model, "dual_coef_", None)
    if duals is None:
        raise ValueError(f"{type(model).__name__} has no duals that would say which points it uses.")
    values = np.abs(np.ravel(duals.toarray() if hasattr(duals, "toarray") else duals))
    support = getattr(model, "support_", None)
    if values.size == n_rows:
        return values
    if support is None or values.size != len(support) or (len(support) and int(np.max(support)) >= n_rows):
        raise ValueError(f"X has {n_rows} rows, the model's duals are of others: give the rows of the fit.")
    alpha = np.zeros(n_rows)
    alpha[support] = values
    return alpha
