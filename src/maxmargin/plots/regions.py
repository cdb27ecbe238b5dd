"""Decision regions of any classifier."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.plots._display import (
    COLOURS,
    Box,
    Display,
    add_legend,
    box_of,
    class_name,
    draw_points,
    set_box,
    set_title,
    size_for,
)
from maxmargin.plots._view import View, labels_of, matrix_of, scores_of, view_of, without_names

GRID = 240


@dataclass(repr=False)
class DecisionRegionDisplay(Display):
    """The regions in which a classifier predicts each class.

    Every place of the picture is a row, and its colour is what the model predicts for that row. Of data with more than
    two columns a plane is shown: two columns with the others fixed, or two principal components. The points are then
    projected onto it, and the title says how many of them lie in another region than the model puts them.

    Parameters
    ----------
    view : View
        The points and the plane.
    xx0, xx1 : ndarray of shape (grid, grid)
        The places.
    response : ndarray of shape (grid, grid)
        f(x) for two classes and models with a decision function, else the position of the predicted class.
    classes : ndarray
    codes : ndarray of int of shape (n,), or None
        The position of every point's label among the classes.
    is_score : bool
        Which of the two ``response`` is.
    n_elsewhere : int
        Points in another region than the one that the model predicts for them.
    name : str
        The model's, for the title.

    See Also
    --------
    MarginDisplay : Hyperplane, margin and support vectors of two classes.
    sklearn.inspection.DecisionBoundaryDisplay : Contours of any response.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.plots import DecisionRegionDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = DecisionRegionDisplay.from_estimator(SVC().fit(X, y), X, y, columns=(2, 3))
    >>> display.ax_.get_xlabel()
    'petal length (cm)'
    >>> plt.close(display.figure_)
    """

    view: View
    xx0: np.ndarray
    xx1: np.ndarray
    response: np.ndarray
    classes: np.ndarray
    codes: np.ndarray | None
    is_score: bool
    n_elsewhere: int
    name: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        columns: Any = None,
        fixed: Any = "mean",
        grid: int = GRID,
        ax: Any = None,
    ) -> "DecisionRegionDisplay":
        """Draw the regions of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier, of this package or any other in scikit-learn's form
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of labels of shape (n,), optional
            Without it the points are drawn as the model predicts them.
        columns : pair of names or positions, "pca" or None
            The columns to show; None is both of two, else the first two principal components.
        fixed : {"mean", "median"} or array of shape (d,), default="mean"
            Values of the columns that are not shown.
        grid : int, default=240
            Places in each direction.
        ax : Axes, optional

        Returns
        -------
        DecisionRegionDisplay
        """
        if not hasattr(estimator, "classes_"):
            raise ValueError("estimator must be a fitted classifier: it has no classes_.")
        if not (isinstance(grid, (int, np.integer)) and grid >= 2):
            raise ValueError(f"grid must be a whole number of at least 2; it is {grid!r}.")
        view = view_of(estimator, X, columns, fixed)
        box = box_of(view.points)
        xx0, xx1 = np.meshgrid(np.linspace(*box[:2], grid), np.linspace(*box[2:], grid))
        places = np.column_stack([xx0.ravel(), xx1.ravel()])
        scores = scores_of(estimator)
        classes = np.asarray(estimator.classes_)

        def codes_at(rows: Any) -> np.ndarray:
            return np.searchsorted(classes, estimator.predict(rows))

        response = view.evaluate(scores or codes_at, places).reshape(grid, grid)
        with without_names():
            predicted = codes_at(matrix_of(estimator, X))
        elsewhere = 0
        if not view.is_whole:
            elsewhere = int(np.count_nonzero(view.evaluate(codes_at, view.points) != predicted))
        codes = predicted if y is None else labels_of(estimator, y, len(view.points))[1]
        name = type(estimator).__name__
        return cls(view, xx0, xx1, response, classes, codes, scores is not None, elsewhere, name).plot(ax)

    @property
    def box(self) -> Box:
        """Left, right, bottom and top of the picture."""
        return self.xx0[0, 0], self.xx0[0, -1], self.xx1[0, 0], self.xx1[-1, 0]

    def _panel_size(self) -> tuple[float, float]:
        return size_for(self.box)

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        n_classes = len(self.classes)
        colours = [COLOURS[k % len(COLOURS)] for k in range(n_classes)]
        if self.is_score:
            ends = np.array([min(self.response.min(), -1.0) - 1.0, 0.0, max(self.response.max(), 1.0) + 1.0])
            ax.contourf(self.xx0, self.xx1, self.response, levels=ends, colors=colours, alpha=0.25, zorder=1.0)
            if self.response.min() < 0.0 < self.response.max():
                ax.contour(self.xx0, self.xx1, self.response, levels=[0.0], colors="black", linewidths=1.6, zorder=3.0)
        else:
            levels = np.arange(n_classes + 1) - 0.5
            codes = self.response.astype(np.float64)
            ax.contourf(self.xx0, self.xx1, codes, levels=levels, colors=colours, alpha=0.25, zorder=1.0)
            for code in range(n_classes):
                chosen = (codes == code).astype(np.float64)
                if 0.0 < chosen.mean() < 1.0:
                    ax.contour(self.xx0, self.xx1, chosen, levels=[0.5], colors="black", linewidths=1.2, zorder=3.0)
        if self.codes is not None:
            draw_points(ax, self.view.points, self.codes, [class_name(label) for label in self.classes])
        set_box(ax, self.box)
        ax.set_xlabel(self.view.names[0])
        ax.set_ylabel(self.view.names[1])
        note = self.view.note
        if note:
            note = (
                f"{note}; {self.n_elsewhere:,} of {len(self.view.points):,} points lie in another region than predicted"
            )
        set_title(ax, f"{self.name}: predicted classes", note)
        add_legend(ax)
