"""The margin perceptron among the points: its band, and two updates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.data.validation import validate_rows
from maxmargin.lectures import GuessStep, margin_perceptron
from maxmargin.plots._display import (
    RED,
    Display,
    add_legend,
    draw_line,
    draw_points,
    line_in_box,
    number,
    set_title,
    size_for,
)
from maxmargin.plots._steps import TwoColumnData, draw_band, list_of, mark_rows, refuse_other_data
from maxmargin.plots._view import dense
from maxmargin.separability import separate


@dataclass(repr=False)
class MarginPerceptronDisplay(Display):
    """The margin perceptron's band, and a positive and a negative point that update the hypothesis.

    A point in the band, nearer to the hyperplane than half the guess, or on the wrong side, is a violation. With an
    intercept distances are those of the points (x, 1).

    Parameters
    ----------
    data : TwoColumnData
    steps : list of GuessStep
        One update by a positive point and one by a negative point, as far as there are.

    See Also
    --------
    maxmargin.MarginPerceptron : The estimator.
    maxmargin.lectures.margin_perceptron : The algorithm.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.plots import MarginPerceptronDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = MarginPerceptronDisplay.from_data(X[:, 2:], y == 0)
    >>> len(display.steps)
    2
    >>> plt.close(display.figure_)
    """

    data: TwoColumnData
    steps: Sequence[Any]

    @classmethod
    def from_steps(cls, steps: Any, X: Any, y: Any, *, ax: Any = None) -> "MarginPerceptronDisplay":
        """Draw two updates of a run: the last ones by a positive and by a negative point.

        Parameters
        ----------
        steps : iterable of GuessStep
        X : array of shape (n, 2)
        y : array of two labels, of shape (n,)
        ax : sequence of Axes, or Axes, optional

        Returns
        -------
        MarginPerceptronDisplay
        """
        data = TwoColumnData.of(X, y, cls.__name__)
        updates = [step for step in list_of(steps, GuessStep) if len(step.rows) == 1]
        if not updates:
            raise ValueError("steps has no update: give those of margin_perceptron or incremental_search.")
        refuse_other_data(updates[0], data)
        chosen = []
        for code in (1, 0):
            own = [step for step in updates if data.codes[step.rows[0]] == code]
            # Best a point in the band of a hyperplane that is in the picture.
            visible = [step for step in own if line_in_box(step.w_before, step.b_before, data.box) is not None]
            chosen += ([step for step in visible if step.reason == "too close"] or visible or own)[-1:]
        return cls(data, chosen).plot(ax)

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, gamma: float | None = None, seed: int = 0, ax: Any = None
    ) -> "MarginPerceptronDisplay":
        """Run the margin perceptron of the lectures, and draw two of its updates.

        Parameters
        ----------
        X : array or data frame of shape (n, 2)
        y : array of two labels, of shape (n,)
        gamma : float, optional
            The guess; by default the largest margin of the points (x, 1), for which the classes must be separable.
        seed : int, default=0
            Of the order of the rows.
        ax : sequence of Axes, or Axes, optional

        Returns
        -------
        MarginPerceptronDisplay
        """
        rows = dense(validate_rows(X))
        if gamma is None:
            augmented = np.column_stack([rows, np.ones(len(rows))])
            found = separate(augmented, y, fit_intercept=False)
            if not found.margin:
                raise ValueError(f"gamma must be given: {found}")
            gamma = found.margin
        return cls.from_steps(margin_perceptron(rows, y, gamma, order="shuffled", seed=seed), X, y, ax=ax)

    def _shape(self) -> tuple[int, int]:
        return 1, len(self.steps)

    def _panel_size(self) -> tuple[float, float]:
        width, height = size_for(self.data.box)
        return width - 1.2, height + 0.6

    def _draw(self, axes: Sequence[Any]) -> None:
        data, box = self.data, self.data.box
        for ax, step in zip(axes, self.steps, strict=True):
            [i] = step.rows
            draw_points(ax, data.points, data.codes, data.names)
            draw_band(ax, step.w_before, step.b_before, step.guess, box)
            draw_line(ax, step.w_before, step.b_before, box, label="f(x) = 0 before")
            draw_line(ax, step.w, step.b, box, color=RED, linestyle="-.", label="f(x) = 0 after")
            mark_rows(ax, data.points, step.rows, f"row {i}: {step.reason}")
            what = "positive" if data.codes[i] else "negative"
            set_title(
                ax, f"step {step.number}: a {what} point updates the hypothesis",
                f"band of guess/2 = {number(0.5 * step.guess)} around it", width=46,
            )  # fmt: skip
            data.finish(ax, box)
            add_legend(ax, "below")
