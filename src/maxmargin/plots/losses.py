"""The losses of one point as functions of its functional margin."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.plots._display import COLOURS, Display, add_legend, set_title
from maxmargin.plots._view import labels_of, matrix_of, without_names

CURVES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "0-1": lambda m: (m <= 0.0).astype(np.float64),
    "perceptron": lambda m: np.maximum(0.0, -m),
    "hinge": lambda m: np.maximum(0.0, 1.0 - m),
    "squared_hinge": lambda m: np.maximum(0.0, 1.0 - m) ** 2,
    "logistic": lambda m: np.logaddexp(0.0, -m),
}
FORMULAS = {
    "0-1": "0-1: 1 if m <= 0",
    "perceptron": "perceptron: max(0, -m)",
    "hinge": "hinge: max(0, 1 - m)",
    "squared_hinge": "squared hinge: max(0, 1 - m)²",
    "logistic": "logistic: log(1 + exp(-m))",
}
STYLES = ("-", "--", "-", "-.", ":")


@dataclass(repr=False)
class LossDisplay(Display):
    """The losses: 0-1, perceptron criterion, hinge, squared hinge and logistic.

    Parameters
    ----------
    losses : sequence of str
        Some of "0-1", "perceptron", "hinge", "squared_hinge" and "logistic".
    margins : ndarray of shape (n,), optional
        Functional margins y_i f(x_i) of points, shown as a histogram below the curves.
    name : str, default=""
        Whose margins they are.

    See Also
    --------
    MarginDisplay : The same points in the plane.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from maxmargin.plots import LossDisplay
    >>> display = LossDisplay(["hinge", "logistic"]).plot()
    >>> display.ax_.get_xlabel()
    'functional margin m = y f(x)'
    >>> plt.close(display.figure_)
    """

    losses: Sequence[str] = tuple(CURVES)
    margins: np.ndarray | None = None
    name: str = ""

    def __post_init__(self) -> None:
        for loss in self.losses:
            if loss not in CURVES:
                raise ValueError(f"losses has {loss!r}, which is none of {', '.join(CURVES)}.")
        if not self.losses:
            raise ValueError("losses is empty: name at least one.")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, losses: Sequence[str] = tuple(CURVES), ax: Any = None
    ) -> "LossDisplay":
        """Draw the losses over the functional margins of a model's points.

        Parameters
        ----------
        estimator : fitted classifier of two classes
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of two labels, of shape (n,)
        losses : sequence of str
        ax : Axes, optional

        Returns
        -------
        LossDisplay
        """
        from maxmargin.plots.margins import scores_of_two

        scores = scores_of_two(estimator, cls.__name__)
        matrix = matrix_of(estimator, X)
        _, codes = labels_of(estimator, y, matrix.shape[0])
        with without_names():
            margins = np.where(codes == 1, 1.0, -1.0) * scores(matrix)
        return cls(losses, margins, type(estimator).__name__).plot(ax)

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        low, high = -2.5, 2.5
        if self.margins is not None:
            low, high = min(low, np.quantile(self.margins, 0.01)), max(high, np.quantile(self.margins, 0.99))
        m = np.linspace(low, high, 1001)
        for k, name in enumerate(CURVES):
            if name not in self.losses:
                continue
            colour = ("black", *COLOURS)[k % (len(COLOURS) + 1)]
            values = CURVES[name](m)
            if name == "0-1":
                # The jump at zero is no part of the curve.
                values = np.where(np.abs(m) < 0.51 * (m[1] - m[0]), np.nan, values)
            ax.plot(m, values, color=colour, linestyle=STYLES[k], linewidth=2.0, label=FORMULAS[name])
        top = 3.2
        if self.margins is not None:
            inside = self.margins[(self.margins >= low) & (self.margins <= high)]
            counts, edges = np.histogram(inside, bins=40, range=(low, high))
            ax.bar(
                edges[:-1], counts / max(1, counts.max()) * 0.25 * top, width=np.diff(edges), align="edge",
                color="0.85", edgecolor="0.6", zorder=0.5, label=f"margins of {len(self.margins):,} points",
            )  # fmt: skip
        ax.set_ylim(-0.1, top)
        ax.set_xlim(low, high)
        ax.axvline(0.0, color="0.6", linewidth=0.7, zorder=0.6)
        ax.axvline(1.0, color="0.6", linewidth=0.7, linestyle=":", zorder=0.6)
        ax.set_xlabel("functional margin m = y f(x)")
        ax.set_ylabel("loss of one point")
        set_title(ax, f"Losses over the margins of {self.name}" if self.name else "Losses of one point")
        add_legend(ax, "inside", loc="upper right")
