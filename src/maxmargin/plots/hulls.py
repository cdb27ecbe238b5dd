"""Convex hulls of two classes, their nearest points and the hyperplane between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.data.printed_bounds import digits_down, digits_up
from maxmargin.plots._display import (
    COLOURS,
    Display,
    add_legend,
    box_of,
    class_name,
    draw_line,
    draw_points,
    number,
    set_box,
    set_title,
    size_for,
)
from maxmargin.plots._view import View, signs_of, view_of
from maxmargin.separability import HullDistance, hull_distance


@dataclass(repr=False)
class HullDisplay(Display):
    """The convex hulls of two classes, their nearest points, and the hyperplane halfway between these.

    The largest margin is half the distance of the hulls. Where the hulls meet, no hyperplane separates the classes,
    and the point that both contain is marked.

    Parameters
    ----------
    view : View
    codes : ndarray of int of shape (n,)
    classes : ndarray
    found : HullDistance
        Of the points of the picture.

    See Also
    --------
    maxmargin.hull_distance : The nearest points of data with any number of columns.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.plots import HullDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = HullDisplay.from_data(X[:, :2], y == 0)
    >>> print(f"the hulls are {display.found.distance.lower:.4f} apart")
    the hulls are 0.1793 apart
    >>> plt.close(display.figure_)
    """

    view: View
    codes: np.ndarray
    classes: np.ndarray
    found: HullDistance

    @classmethod
    def from_data(cls, X: Any, y: Any, *, columns: Any = None, ax: Any = None) -> "HullDisplay":
        """Find and draw the nearest points.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of two labels, of shape (n,)
        columns : pair of names or positions, "pca" or None
            The hulls are those of the points in the picture: of these two columns or principal components alone.
        ax : Axes, optional

        Returns
        -------
        HullDisplay
        """
        view = view_of(None, X, columns)
        classes, codes = signs_of(y, len(view.points), cls.__name__)
        return cls(view, codes, classes, hull_distance(view.points, codes)).plot(ax)

    def _panel_size(self) -> tuple[float, float]:
        return size_for(box_of(self.view.points))

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        points, found = self.view.points, self.found
        box = box_of(points)
        for code, hatch in ((0, "///"), (1, None)):
            corners = hull_corners(points[self.codes == code])
            ax.fill(
                *corners.T, facecolor=COLOURS[code], alpha=0.18, edgecolor=COLOURS[code], linewidth=1.2, hatch=hatch,
                zorder=1.0,
            )  # fmt: skip
            ax.plot(*np.vstack([corners, corners[:1]]).T, color=COLOURS[code], linewidth=1.2, zorder=1.5)
        draw_points(ax, points, self.codes, [class_name(label) for label in self.classes])
        if found.distance.lower > 0.0:
            ax.plot(
                *found.points.T, color="black", marker="*", markersize=13, markerfacecolor="white", linewidth=1.4,
                linestyle="--", zorder=4.0, label="nearest points of the hulls",
            )  # fmt: skip
            draw_line(ax, found.coef, found.intercept, box, label="halfway hyperplane")
            lower, upper = found.distance.lower, found.distance.upper
            ends = digits_down(lower, 3), digits_up(upper, 3)
            said = number(upper) if upper - lower <= 1e-3 * upper else " to ".join(ends)
            margin = number(0.5 * lower)
            title = f"Distance of the hulls {said}: largest margin {margin}"
        elif found.certificate.hulls_meet:
            ax.plot(
                *found.points.mean(axis=0), color="black", marker="*", markersize=13, markerfacecolor="white",
                linestyle="none", zorder=4.0, label="a point of both hulls",
            )  # fmt: skip
            title = "The hulls meet: no hyperplane separates the classes"
        else:
            title = f"The hulls are at most {digits_up(found.distance.upper, 3)} apart"
        set_box(ax, box)
        ax.set_xlabel(self.view.names[0])
        ax.set_ylabel(self.view.names[1])
        note = "" if self.view.is_whole else f"of these two of {self.view.origin.size:,} columns alone"  # type: ignore[union-attr]
        if note and self.view.names[0].startswith("principal component"):
            note = "of the points projected onto two principal components"
        set_title(ax, title, note)
        add_legend(ax)


def hull_corners(points: np.ndarray) -> np.ndarray:
    """The corners of the convex hull in order; the two ends where the points are on a line."""
    from scipy.spatial import ConvexHull, QhullError

    distinct = np.unique(points, axis=0)
    if len(distinct) > 2:
        try:
            return distinct[ConvexHull(distinct).vertices]
        except QhullError:
            pass
    # Sorted by the first column, then by the second: along the line.
    return distinct[[0, -1]]
