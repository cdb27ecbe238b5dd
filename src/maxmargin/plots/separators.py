"""Several separating hyperplanes of the same two classes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.plots._display import (
    COLOURS,
    LINES,
    Display,
    add_legend,
    box_of,
    class_name,
    draw_line,
    draw_points,
    set_box,
    set_title,
    size_for,
)
from maxmargin.plots._view import (
    View,
    labels_of,
    linear_coefficients,
    matrix_of,
    named_models,
    view_of,
    without_names,
)
from maxmargin.plots.margins import scores_of_two


@dataclass(repr=False)
class SeparatorsDisplay(Display):
    """Several hyperplanes that separate the same points: a separating hyperplane is not unique.

    Parameters
    ----------
    view : View
    codes : ndarray of int of shape (n,)
    classes : ndarray
    hyperplanes : mapping from name to (w, b)
        As functions of the place in the picture.
    mistakes : mapping from name to int
        Points that each hyperplane puts on the wrong side.

    See Also
    --------
    MarginDisplay : The margin in which they differ.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.plots import SeparatorsDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = SeparatorsDisplay.from_data(X[:, :2], y == 0, n=3)
    >>> sorted(display.mistakes.values())
    [0, 0, 0, 0]
    >>> plt.close(display.figure_)
    """

    view: View
    codes: np.ndarray
    classes: np.ndarray
    hyperplanes: Mapping[str, tuple[np.ndarray, float]]
    mistakes: Mapping[str, int]

    @classmethod
    def from_estimators(
        cls, estimators: Any, X: Any, y: Any, *, columns: Any = None, fixed: Any = "mean", ax: Any = None
    ) -> "SeparatorsDisplay":
        """Draw the hyperplanes of fitted linear models.

        Parameters
        ----------
        estimators : mapping from name to fitted linear classifier, or sequence of them
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of two labels, of shape (n,)
        columns : pair of names or positions, "pca" or None
        fixed : {"mean", "median"} or array of shape (d,), default="mean"
        ax : Axes, optional

        Returns
        -------
        SeparatorsDisplay
        """
        hyperplanes, mistakes = {}, {}
        for name, model in named_models(estimators).items():
            found = linear_coefficients(model)
            if found is None:
                raise ValueError(f"estimators[{name!r}] has no single hyperplane: give linear models of two classes.")
            view = view_of(model, X, columns, fixed)
            classes, codes = labels_of(model, y, len(view.points))
            hyperplanes[name] = view.hyperplane(*found)
            with without_names():
                scores = scores_of_two(model, cls.__name__)(matrix_of(model, X))
            mistakes[name] = int(np.count_nonzero(np.where(codes == 1, 1.0, -1.0) * scores <= 0.0))
        return cls(view, codes, classes, hyperplanes, mistakes).plot(ax)

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, n: int = 4, columns: Any = None, fixed: Any = "mean", ax: Any = None
    ) -> "SeparatorsDisplay":
        """Run the perceptron in several random orders of the rows, and draw its hyperplanes with that of the SVM.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of two labels, of shape (n,)
            The classes must be separable, else NotSeparableError is raised, with the proof.
        n : int, default=4
            Runs of the perceptron, from random starts.
        columns, fixed, ax
            As for :meth:`from_estimators`.

        Returns
        -------
        SeparatorsDisplay
        """
        models: dict[str, Any] = {"largest margin": LinearSVC(C=math.inf).fit(X, y)}
        for seed in range(n):
            models[f"perceptron, order {seed + 1}"] = Perceptron(init="random", random_state=seed).fit(X, y)
        return cls.from_estimators(models, X, y, columns=columns, fixed=fixed, ax=ax)

    def _panel_size(self) -> tuple[float, float]:
        return size_for(box_of(self.view.points))

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        box = box_of(self.view.points)
        draw_points(ax, self.view.points, self.codes, [class_name(label) for label in self.classes])
        outside = 0
        for k, (name, (w, b)) in enumerate(self.hyperplanes.items()):
            colour = "black" if k == 0 else COLOURS[k % len(COLOURS)]
            wrong = self.mistakes[name]
            label = f"{name} ({wrong:,} wrong)" if wrong else name
            drawn = draw_line(ax, w, b, box, color=colour, linestyle=LINES[k % len(LINES)], label=label)
            outside += not drawn
        set_box(ax, box)
        ax.set_xlabel(self.view.names[0])
        ax.set_ylabel(self.view.names[1])
        right = sum(not wrong for wrong in self.mistakes.values())
        beyond = f"; {outside} outside the picture" if outside else ""
        set_title(ax, f"{right} of {len(self.mistakes)} hyperplanes separate the classes{beyond}", self.view.note)
        add_legend(ax)
