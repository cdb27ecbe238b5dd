"""Steps among the dual variables: coordinate ascent's path, a step of SMO."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.data.validation import validate_rows
from maxmargin.lectures import PairStep, coordinate_ascent, kernel_matrix, smo
from maxmargin.plots._display import BLUE, GREEN, ORANGE, RED, Display, add_legend, number, set_title
from maxmargin.plots._steps import list_of
from maxmargin.plots._view import dense, signs_of

GRID = 160


@dataclass(repr=False)
class CoordinateAscentDisplay(Display):
    """Coordinate ascent's path on the contours of the dual objective, as a function of two dual variables.

    Parameters
    ----------
    path : ndarray of shape (steps, 2)
        The two variables, from the start on.
    K : ndarray of shape (2, 2)
        The signed Gram matrix y_i y_j k(x_i, x_j) of the two rows.
    linear : ndarray of shape (2,)
        The derivatives of the dual at zero, the other variables being fixed.
    constant : float
    C : float
    rows : tuple of int
    others : int
        Other variables that are not zero at the end: the contours are those with them as they are then.
    reason : str
        How the run ended.

    See Also
    --------
    maxmargin.lectures.coordinate_ascent : The algorithm.
    SMOStepDisplay : Two variables at a time.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.plots import CoordinateAscentDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = CoordinateAscentDisplay.from_data(X[:, :2], y == 0)
    >>> bool((display.path[0] == 0).all()), display.others
    (True, 0)
    >>> plt.close(display.figure_)
    """

    path: np.ndarray
    K: np.ndarray
    linear: np.ndarray
    constant: float
    C: float
    rows: tuple[int, int]
    others: int
    reason: str

    @classmethod
    def from_steps(
        cls, steps: Any, X: Any, y: Any, *, rows: Any = None, C: float = 1.0, kernel: Any = "linear", ax: Any = None,
        **parameters: Any,
    ) -> "CoordinateAscentDisplay":  # fmt: skip
        """Draw the path of a run in two of its dual variables.

        Parameters
        ----------
        steps : iterable of Step
            Of ``coordinate_ascent``.
        X : array of shape (n, d)
        y : array of two labels, of shape (n,)
        rows : pair of int, optional
            The rows whose variables are shown; by default the two with the largest ones at the end. Other variables
            stand still on the contours, at their last values; the title says so.
        C, kernel, **parameters
            Those of the run.
        ax : Axes, optional

        Returns
        -------
        CoordinateAscentDisplay
        """
        run = list_of(steps)
        signs, K = _gram(X, y, kernel, parameters, cls.__name__)
        last = run[-1]
        if any(step.alpha is None or step.alpha.shape != signs.shape for step in run):
            raise ValueError("steps are of other data: alpha does not have an entry for each row of X.")
        if rows is None:
            rows = np.sort(np.argsort(-last.alpha, kind="stable")[:2])
        i, j = _two_rows(rows, len(signs))
        pair = [i, j]
        signed = signs[:, None] * K * signs
        fixed = last.alpha.copy()
        fixed[pair] = 0.0
        linear = 1.0 - signed[pair] @ fixed
        constant = float(fixed.sum() - 0.5 * fixed @ signed @ fixed)
        path = np.vstack([_start_of(run[0], pair, signed, C), *[step.alpha[pair] for step in run]])
        others = int(np.count_nonzero(fixed))
        return cls(path, signed[np.ix_(pair, pair)], linear, constant, float(C), (i, j), others, last.reason).plot(ax)

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, rows: Any = None, C: float = math.inf, kernel: Any = "linear",
        order: Any = "round robin", ax: Any = None, **parameters: Any,
    ) -> "CoordinateAscentDisplay":  # fmt: skip
        """Run coordinate ascent on two rows of the data, whose dual is a function of two variables.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of two labels, of shape (n,)
        rows : pair of int, optional
            By default the nearest two rows of the same class whose dual variables are both positive at the optimum.
        C : float, default=inf
        kernel, **parameters
            As for ``coordinate_ascent``.
        order : {"round robin", "random", "greatest improvement"}, default="round robin"
        ax : Axes, optional

        Returns
        -------
        CoordinateAscentDisplay
        """
        matrix = dense(validate_rows(X))
        signs, K = _gram(matrix, y, kernel, parameters, cls.__name__)
        i, j = _two_rows(_pair_inside(signs[:, None] * K * signs, C) if rows is None else rows, len(signs))
        two = [i, j]
        run = coordinate_ascent(
            K[np.ix_(two, two)], signs[two], C, kernel="precomputed", order=order, tol=1e-6, max_passes=200
        )
        steps = list_of(run)
        path = np.vstack([np.zeros(2), *[step.alpha for step in steps]])
        signed = (signs[:, None] * K * signs)[np.ix_(two, two)]
        return cls(path, signed, np.ones(2), 0.0, float(C), (i, j), 0, steps[-1].reason).plot(ax)

    def dual(self, first: Any, second: Any) -> Any:
        """The dual objective at values of the two variables."""
        a = np.stack([np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)], axis=-1)
        return self.constant + a @ self.linear - 0.5 * np.einsum("...i,ij,...j->...", a, self.K, a)

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        reach = 1.25 * self.path.max(axis=0)
        reach = np.where(reach > 0.0, reach, 1.0 if math.isinf(self.C) else self.C)
        reach = np.minimum(reach, 1.08 * self.C)
        first, second = np.meshgrid(np.linspace(0.0, reach[0], GRID), np.linspace(0.0, reach[1], GRID))
        values = self.dual(first, second)
        ends = self.dual(*self.path.T)
        # Denser towards the top, where the steps are short.
        low, high = min(float(ends[0]), float(np.quantile(values, 0.1))), float(values.max())
        levels = np.unique(high - (high - low) * np.linspace(1.0, 0.0, 14)[:-1] ** 2)
        ax.contour(first, second, values, levels=levels, cmap="cividis", linewidths=0.9)
        ax.plot(*self.path.T, color=RED, marker="o", markersize=3.5, linewidth=1.4, label=f"{len(self.path) - 1} steps")
        ax.plot(*self.path[0], marker="s", color="black", linestyle="none", label="start")
        ax.plot(*self.path[-1], marker="*", color="white", markeredgecolor="black", markersize=14, linestyle="none",
                label="end: optimal" if self.reason == "optimal" else "end")  # fmt: skip
        for draw_end, k in ((ax.axvline, 0), (ax.axhline, 1)):
            if reach[k] > self.C:
                draw_end(self.C, color="black", linewidth=1.0, linestyle="--", label="alpha = C" if k == 0 else None)
        ax.set_xlabel(f"alpha of row {self.rows[0]}")
        ax.set_ylabel(f"alpha of row {self.rows[1]}")
        note = f"contours with {self.others:,} other variables at their last values" if self.others else ""
        set_title(ax, f"Coordinate ascent: dual {number(ends[0])} to {number(ends[-1])}", note)
        add_legend(ax)


def _gram(X: Any, y: Any, kernel: Any, parameters: Any, caller: str) -> tuple[np.ndarray, np.ndarray]:
    """The signs of the labels, and the Gram matrix."""
    rows = dense(validate_rows(X))
    _, codes = signs_of(y, len(rows), caller)
    return np.where(codes == 1, 1.0, -1.0), kernel_matrix(rows, kernel, **parameters)


def _two_rows(rows: Any, n: int) -> tuple[int, int]:
    chosen = np.asarray(rows)
    if chosen.shape != (2,) or chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= n:
        raise ValueError(f"rows must be two whole numbers from 0 to {n - 1}; it is {rows!r}.")
    if chosen[0] == chosen[1]:
        raise ValueError(f"rows must be two different ones; both are {chosen[0]}.")
    return int(chosen[0]), int(chosen[1])


def _start_of(first: Any, pair: list[int], signed: np.ndarray, C: float) -> np.ndarray:
    """Where the two variables were before the first step: a run starts from zero, unless it is given a start."""
    before = np.zeros(len(signed))
    if first.number > 1:
        before = np.clip(first.alpha, 0.0, C)
    return before[pair]


def _pair_inside(signed: np.ndarray, C: float) -> tuple[int, int]:
    """Two rows whose variables are both inside the box at the optimum, and not independent of each other.

    Coordinate ascent then takes more than two steps, but not very many: the most correlated such pair below 0.8.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        d = signed.diagonal()
        determinant = np.outer(d, d) - signed**2
        first = (d[None, :] - signed) / determinant
        correlation = np.abs(signed) / np.sqrt(np.outer(d, d))
    inside = np.isfinite(first) & (first > 0.0) & (first < C) & (first.T > 0.0) & (first.T < C)
    np.fill_diagonal(inside, False)
    scores = np.where(inside & (correlation < 0.8), correlation, np.where(inside, 1.0 - correlation, -1.0))
    if scores.max() < 0.0:
        return 0, 1
    i, j = np.unravel_index(int(scores.argmax()), scores.shape)
    return min(int(i), int(j)), max(int(i), int(j))


@dataclass(repr=False)
class SMOStepDisplay(Display):
    """A step of SMO: the box, the line on which sum alpha_i y_i stays, the unclipped and the clipped optimum.

    Parameters
    ----------
    step : PairStep
    C : float
    K : ndarray of shape (2, 2)
        The signed Gram matrix of the pair.
    linear : ndarray of shape (2,)
        The derivatives of the dual with both variables at zero.
    signs : tuple of float
        y_i and y_j.

    See Also
    --------
    maxmargin.lectures.smo : The algorithm.
    CoordinateAscentDisplay : One variable at a time, without an intercept.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.plots import SMOStepDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = SMOStepDisplay.from_data(X[50:, 2:], y[50:], C=1.0)
    >>> display.step.reason
    'pair'
    >>> plt.close(display.figure_)
    """

    _size = (6.6, 4.6)

    step: PairStep
    C: float
    K: np.ndarray
    linear: np.ndarray
    signs: tuple[float, float]

    @classmethod
    def from_steps(
        cls, steps: Any, X: Any, y: Any, C: float, *, number: int | None = None, kernel: Any = "linear",
        ax: Any = None, **parameters: Any,
    ) -> "SMOStepDisplay":  # fmt: skip
        """Draw one step of a run.

        Parameters
        ----------
        steps : PairStep or iterable of Step
            Of ``smo``.
        X : array of shape (n, d)
        y : array of two labels, of shape (n,)
        C : float
            That of the run.
        number : int, optional
            That of the step; by default the first one that the box has clipped, or else the first one.
        kernel, **parameters
            Those of the run.
        ax : Axes, optional

        Returns
        -------
        SMOStepDisplay
        """
        pairs = list_of(steps, PairStep)
        if number is not None:
            pairs = [step for step in pairs if step.number == number]
            if not pairs:
                raise ValueError(f"number={number} is no step on a pair of this run.")
        finite = [step for step in pairs if np.isfinite(step.unclipped).all()]
        step = next((one for one in finite if one.unclipped != one.clipped), (finite or pairs)[0])
        signs, K = _gram(X, y, kernel, parameters, cls.__name__)
        if step.alpha is None or step.alpha.shape != signs.shape:
            raise ValueError("steps are of other data: alpha does not have an entry for each row of X.")
        pair = list(step.rows)
        signed = signs[:, None] * K * signs
        fixed = step.alpha.copy()
        fixed[pair] = 0.0
        linear = 1.0 - signed[pair] @ fixed
        return cls(step, float(C), signed[np.ix_(pair, pair)], linear, (signs[pair[0]], signs[pair[1]])).plot(ax)

    @classmethod
    def from_data(
        cls, X: Any, y: Any, C: float = 1.0, *, number: int | None = None, kernel: Any = "linear", ax: Any = None,
        **parameters: Any,
    ) -> "SMOStepDisplay":  # fmt: skip
        """Run SMO, and draw one of its steps.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of two labels, of shape (n,)
        C : float, default=1.0
        number : int, optional
        kernel, **parameters
            As for ``smo``.
        ax : Axes, optional

        Returns
        -------
        SMOStepDisplay
        """
        rows = dense(validate_rows(X))
        run = smo(rows, y, C, kernel=kernel, max_steps=max(200, number or 0), **parameters)
        return cls.from_steps(run, rows, y, C, number=number, kernel=kernel, ax=ax, **parameters)

    def dual(self, first: Any, second: Any) -> Any:
        """The dual objective at values of the two variables, without what does not depend on them."""
        a = np.stack([np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)], axis=-1)
        return a @ self.linear - 0.5 * np.einsum("...i,ij,...j->...", a, self.K, a)

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        step, C = self.step, self.C
        known = [step.pair_before, step.clipped, *step.segment]
        finite = np.array([place for place in (*known, step.unclipped) if np.isfinite(place).all()])
        size = C if math.isfinite(C) else 1.3 * float(finite.max())
        # An optimum far outside the box is pointed at, not drawn to scale.
        far = not np.isfinite(step.unclipped).all() or np.abs(np.array(step.unclipped)).max() > 3.0 * size
        shown = finite if not far else np.array([place for place in known if np.isfinite(place).all()])
        low = np.minimum(shown.min(axis=0), 0.0) - 0.12 * size
        high = np.maximum(shown.max(axis=0), size) + 0.12 * size
        first, second = np.meshgrid(np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID))
        ax.contour(first, second, self.dual(first, second), levels=14, cmap="cividis", linewidths=0.7, alpha=0.8)
        corners = np.array([[0.0, 0.0], [size, 0.0], [size, size], [0.0, size]])
        ax.fill(*corners.T, facecolor="0.93", edgecolor="black", linewidth=1.4, zorder=0.6, label="box 0 <= alpha <= C")
        i, j = step.rows
        sign = self.signs[0] * self.signs[1]
        base = np.array(step.pair_before)
        direction = np.array([1.0, -sign])
        long = 2.0 * float((high - low).max())
        ax.plot(*(base + np.outer([-long, long], direction)).T, color="0.4", linestyle=":", linewidth=1.2,
                label=f"alpha_{i} {'+' if sign > 0 else '-'} alpha_{j} = constant")  # fmt: skip
        ends = np.array([place for place in step.segment if np.isfinite(place).all()])
        if len(ends) == 2:
            ax.plot(*ends.T, color=BLUE, linewidth=3.0, label="segment in the box", zorder=2.0)
        ax.plot(*base, marker="s", color="black", linestyle="none", markersize=7, label="before", zorder=4.0)
        if far:
            towards = np.array(step.clipped) - base
            ax.annotate("", base + 1.15 * towards, base + 0.9 * towards, arrowprops={"arrowstyle": "->", "lw": 1.5})
            ax.plot([], [], color="black", marker=">", linestyle="none", label="unclipped optimum: further out")
        else:
            ax.plot(*step.unclipped, marker="D", color=ORANGE, markeredgecolor="black", linestyle="none", markersize=8,
                    label="unclipped optimum", zorder=4.0)  # fmt: skip
        ax.plot(*step.clipped, marker="*", color=GREEN, markeredgecolor="black", linestyle="none", markersize=14,
                label="clipped optimum: after", zorder=5.0)  # fmt: skip
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        ax.set_aspect("equal", adjustable="box")
        ax.set_xlabel(f"alpha_{i}, y = {'+' if self.signs[0] > 0 else '-'}1")
        ax.set_ylabel(f"alpha_{j}, y = {'+' if self.signs[1] > 0 else '-'}1")
        gain = float(self.dual(*step.clipped) - self.dual(*step.pair_before))
        clipped = "clipped to the box" if step.clipped != step.unclipped else "inside the box"
        set_title(ax, f"SMO, step {step.number}: {clipped}", f"dual rises by {number(gain)}")
        add_legend(ax)
