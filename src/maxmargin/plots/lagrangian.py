"""The Lagrangian of a support vector machine and its saddle point."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.data.validation import validate_rows
from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.plots._display import BLUE, ORANGE, RED, Display, add_legend, number, set_title
from maxmargin.plots._view import signs_of

GRID = 160


@dataclass(repr=False)
class LagrangianDisplay(Display):
    """The Lagrangian of a support vector machine over one scale of w and one of alpha, with its saddle point.

    The picture shows L(s w*, s b*, t alpha*), where w*, b* and alpha* are optimal: s = t = 1 is the saddle point. On
    this plane the largest L over all alpha is the primal objective P(s), and the smallest one over all w and b is the
    dual objective D(t), so that D(t) <= d* = p* <= P(s).

    Parameters
    ----------
    squared_norm : float
        ||w*||².
    margins : ndarray of shape (n,)
        y_i f*(x_i).
    alpha : ndarray of shape (n,)
    C : float
        Infinite for the hard margin.

    See Also
    --------
    maxmargin.lectures.lagrangian : The function.
    GapDisplay : The gap between primal and dual along a fit.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.plots import LagrangianDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = LagrangianDisplay.from_data(X[:, :2], y == 0)
    >>> print(f"p* = {display.primal(1.0):.3f}, d* = {display.dual(1.0):.3f}")
    p* = 62.245, d* = 62.245
    >>> plt.close(display.figure_)
    """

    _size = (5.0, 4.4)

    squared_norm: float
    margins: np.ndarray
    alpha: np.ndarray
    C: float

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, C: float = math.inf, tol: float = 1e-8, ax: Any = None
    ) -> "LagrangianDisplay":
        """Solve the support vector machine, and draw its Lagrangian.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of two labels, of shape (n,)
        C : float, default=inf
            The hard margin by default, for separable classes.
        tol : float, default=1e-8
            The relative gap to solve to.
        ax : sequence of two Axes, or Axes, optional

        Returns
        -------
        LagrangianDisplay
        """
        _, codes = signs_of(y, validate_rows(X).shape[0], cls.__name__)
        model = LinearSVC(C=C, tol=tol).fit(X, y)
        signs = np.where(codes == 1, 1.0, -1.0)
        margins = signs * model.decision_function(X)
        w, alpha = model.coef_[0], np.abs(model.dual_coef_[0])
        if math.isinf(C):
            # A margin of 1 - rounding would be infeasible, and the scale of alpha is free: that of the optimum.
            scale = 1.0 / float(margins.min())
            w, margins = scale * w, scale * margins
            alpha = alpha * (float(w @ w) / alpha.sum())
        return cls(float(w @ w), margins, alpha, C).plot(ax)

    def lagrangian(self, s: Any, t: Any) -> Any:
        """L(s w*, s b*, t alpha*)."""
        s, t = np.asarray(s, dtype=np.float64), np.asarray(t, dtype=np.float64)
        total, inner = float(self.alpha.sum()), float(self.alpha @ self.margins)
        return 0.5 * s**2 * self.squared_norm + t * total - t * s * inner

    def primal(self, s: Any) -> Any:
        """P(s): the largest value over all alpha, infinite where a constraint of the hard margin is violated."""
        s = np.asarray(s, dtype=np.float64)
        slack = np.maximum(0.0, 1.0 - np.multiply.outer(s, self.margins))
        slack[slack < 1e-12] = 0.0
        total = slack.sum(axis=-1)
        with np.errstate(invalid="ignore"):
            return 0.5 * s**2 * self.squared_norm + np.where(total > 0.0, self.C * total, 0.0)

    def dual(self, t: Any) -> Any:
        """D(t): the smallest value over all w and b."""
        t = np.asarray(t, dtype=np.float64)
        return t * float(self.alpha.sum()) - 0.5 * t**2 * self.squared_norm

    @property
    def largest_t(self) -> float:
        """The largest t for which t alpha* is in the box, at most 2."""
        return min(2.0, self.C / float(self.alpha.max()))

    def _shape(self) -> tuple[int, int]:
        return 1, 2

    def _draw(self, axes: Sequence[Any]) -> None:
        left, right = axes
        best = float(self.dual(1.0))
        s, t = np.linspace(0.0, 2.0, GRID), np.linspace(0.0, self.largest_t, GRID)
        values = self.lagrangian(*np.meshgrid(s, t))
        left.contourf(s, t, values, levels=18, cmap="cividis", alpha=0.75)
        left.contour(s, t, values, levels=[best], colors="black", linewidths=1.0, linestyles=":")
        lines = left.contour(s, t, values, levels=10, colors="black", linewidths=0.4)
        left.clabel(lines, fontsize=7)
        # On each line the Lagrangian is smallest at s = t, whatever the data: w = sum alpha_i y_i x_i.
        ratio = float(self.alpha @ self.margins) / self.squared_norm
        ends = np.array([0.0, self.largest_t])
        left.plot(ratio * ends, ends, color="white", linewidth=2.6)
        left.plot(ratio * ends, ends, color=RED, linewidth=1.4, linestyle="--", label="smallest over w")
        left.plot(1.0, 1.0, marker="*", color="white", markeredgecolor="black", markersize=14, linestyle="none",
                  label="saddle point")  # fmt: skip
        left.set_xlim(0.0, 2.0)
        left.set_ylim(0.0, self.largest_t)
        left.set_xlabel("s, with w = s w*")
        left.set_ylabel("t, with alpha = t alpha*")
        box = "; above it alpha would leave the box" if self.largest_t < 2.0 else ""
        set_title(left, f"L(s w*, t alpha*), C = {number(self.C)}{box}", width=44)
        add_legend(left, "below")
        primal = np.where(np.isfinite(self.primal(s)), self.primal(s), np.nan)
        right.plot(s, primal, color=BLUE, linewidth=2.0, label="P(s), the largest over alpha")
        right.plot(t, self.dual(t), color=ORANGE, linewidth=2.0, linestyle="--", label="D(t), the smallest over w")
        right.axhline(best, color="black", linewidth=0.9, linestyle=":", label=f"p* = d* = {number(best)}")
        right.plot(1.0, best, marker="*", color="white", markeredgecolor="black", markersize=14, linestyle="none")
        if math.isinf(self.C):
            right.axvspan(0.0, 1.0, color="0.92", zorder=0.0)
            right.text(0.5, 0.97, "P is infinite", ha="center", va="top", transform=right.get_xaxis_transform())
        right.set_xlim(0.0, 2.0)
        right.set_xlabel("s or t")
        right.set_ylabel("objective")
        set_title(right, "Weak duality: D(t) <= p* = d* <= P(s)", width=44)
        add_legend(right, "below", ncols=1)
