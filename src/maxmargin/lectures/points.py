"""Checked data, references and orders of rows; what all algorithms start from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.lectures.steps import Step

# The next row, or None to end the run, from the dual variables and the functional margins as they are now.
Picker = Callable[[np.ndarray, np.ndarray], int | None]
Order = str | Sequence[int] | np.ndarray | Picker


def check_matrix(X: Any) -> np.ndarray:
    """Return X as a finite float64 matrix, or refuse it."""
    if hasattr(X, "toarray"):
        raise TypeError("X must be a dense array here: pass X.toarray(), or use the estimators of maxmargin.")
    X = np.array(X, dtype=np.float64)
    if X.ndim != 2 or not X.size:
        raise ValueError(f"X must be a matrix with at least one row and one column, got an array of shape {X.shape}.")
    if not np.isfinite(X).all():
        raise ValueError("X must be finite: it holds NaN or infinity.")
    return X


def check_rows(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return X as a float64 matrix and y as signs; the larger one of any two labels is +1."""
    X, y = check_matrix(X), np.asarray(y)
    if y.shape != X.shape[:1]:
        raise ValueError(f"y must hold one label for each of the {len(X)} rows of X, got an array of shape {y.shape}.")
    labels = np.unique(y)
    if labels.size > 2 or (labels.size == 1 and labels[0] not in (-1, 1)):
        raise ValueError(f"y must hold two labels (or only 1, or only -1), got {labels.tolist()[:5]}.")
    signs = np.where(y == labels[-1], 1.0, -1.0) if labels.size == 2 else np.full(len(y), float(labels[0]))
    return X, signs


def check_positive(name: str, value: Any, *, may_be_infinite: bool = False) -> float:
    """Return a positive number, or refuse it by name."""
    if isinstance(value, bool) or not np.isscalar(value) or isinstance(value, (str, bytes)):
        raise TypeError(f"{name} must be a positive number, got {value!r}.")
    number = float(value)  # type: ignore[arg-type]
    if not number > 0 or (np.isinf(number) and not may_be_infinite):
        raise ValueError(f"{name} must be a positive{'' if may_be_infinite else ' and finite'} number, got {value!r}.")
    return number


def check_count(name: str, value: Any) -> int:
    """Return a whole number of at least 1, or refuse it by name."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value)


def check_vector(name: str, value: Any, size: int) -> np.ndarray:
    """Return a finite vector of a given size as float64, or refuse it by name."""
    vector = np.array(value, dtype=np.float64)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise ValueError(f"{name} must hold {size} finite numbers, got {value!r}.")
    return vector


@dataclass(frozen=True)
class Points:
    """The points of a perceptron.

    The intercept is the coefficient of a feature that is always 1: f(x) = w·x + b·1. Without an intercept the feature
    is 0. For unit length, row and feature are divided by the length of the row with its feature.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        -1 and +1.
    one : ndarray of shape (n,)
        The feature of the intercept.
    """

    X: np.ndarray
    y: np.ndarray
    one: np.ndarray

    @classmethod
    def of(cls, X: Any, y: Any, *, intercept: bool, unit_length: bool) -> "Points":
        """Check the data and build the points."""
        X, y = check_rows(X, y)
        one = np.ones(len(y)) if intercept else np.zeros(len(y))
        points = cls(X, y, one)
        if not unit_length:
            return points
        if not points.lengths.all():
            row = int(np.argmin(points.lengths))
            raise ValueError(f"unit_length=True needs rows other than zero, and row {row} of X is zero: leave it out.")
        return cls(X / points.lengths[:, None], y, one / points.lengths)

    @cached_property
    def lengths(self) -> np.ndarray:
        """The length of every point, its feature of the intercept included."""
        return np.sqrt(np.einsum("ij,ij->i", self.X, self.X) + self.one**2)

    @property
    def radius(self) -> float:
        """R, the length of the longest point."""
        return float(self.lengths.max())

    def margins(self, w: np.ndarray, b: float) -> np.ndarray:
        """The functional margins y_i f(x_i)."""
        return self.y * (self.X @ w + b * self.one)


@dataclass(frozen=True)
class Reference:
    """A hyperplane u that a run is compared with, ||u|| <= 1, and a margin gamma.

    Attributes
    ----------
    w : ndarray of shape (d,)
    b : float
    gamma : float
    deficits : ndarray of shape (n,)
        max(0, gamma - y_i u·x_i): zero where u separates all points with margin gamma.
    """

    w: np.ndarray
    b: float
    gamma: float
    deficits: np.ndarray

    @classmethod
    def of(cls, given: Any, points: Points) -> "Reference | None":
        """Build it from ``(w, b)``, whose margin is measured, or from ``(w, b, gamma)``."""
        if given is None:
            return None
        if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
            raise ValueError("reference must be (w, b) or (w, b, gamma).")
        w, b = check_hyperplane("reference", given[:2], points)
        length = float(np.sqrt(w @ w + b * b))
        if length == 0.0:
            raise ValueError("reference must be a hyperplane, and its coefficients are all zero.")
        if len(given) == 2 or length > 1.0:
            w, b = w / length, b / length
        margins = points.margins(w, b)
        gamma = float(margins.min()) if len(given) == 2 else check_positive("gamma of the reference", given[2])
        if gamma <= 0.0:
            raise ValueError("the reference separates the points with no positive margin: give (w, b, gamma).")
        return cls(w, b, gamma, np.maximum(0.0, gamma - margins))


def check_hyperplane(name: str, given: Any, points: Points) -> tuple[np.ndarray, float]:
    """Return w and b, or refuse them by name."""
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ValueError(f"{name} must be a pair (w, b), got {given!r}.")
    w = check_vector(f"w of {name}", given[0], points.X.shape[1])
    [b] = check_vector(f"b of {name}", [given[1]], 1)
    if b != 0.0 and not points.one.any():
        raise ValueError(f"{name} has the intercept {b}, but intercept=False: its b must be 0.")
    return w, float(b)


def first_step(given: Any, points: Points) -> Step:
    """The state that a run begins with: zero, a hyperplane (w, b), or a step of an earlier run."""
    n, d = points.X.shape
    if isinstance(given, Step):
        if given.w is None or given.alpha is None or given.w.shape != (d,) or given.alpha.shape != (n,):
            raise ValueError(f"start is a step of other data: these have {n} rows and {d} columns.")
        return given
    w, b = check_hyperplane("start", (np.zeros(d), 0.0) if given is None else given, points)
    return Step(
        number=0, updates=0, rows=(), reason="start", w_before=w, b_before=b, w=w, b=b, alpha=np.zeros(n),
        margins=points.margins(w, b), origin=(w, b),
    )  # fmt: skip


class RowOrder:
    """The next row to evaluate.

    Parameters
    ----------
    order : {"cyclic", "shuffled", "random"}, sequence of rows, or callable
        Rows as they stand (any other name, too); a new random order in every pass; a random row each time; these rows,
        once; or a function of the dual variables and
        the functional margins that gives the next row, or None to end the run.
    n : int
        The number of rows.
    seed : int
        The order of pass k depends on the seed and k only, so that a run can be resumed at any step.
    max_passes : int
        The run ends after this many times n evaluations (a sequence ends by itself).
    names : tuple of str
        The names that are allowed.
    """

    def __init__(
        self, order: Order, n: int, seed: int, max_passes: int, names: tuple[str, ...] = ("cyclic", "shuffled")
    ) -> None:
        self.n, self.seed, self.rows = n, seed, np.arange(n)
        self.limit = check_count("max_passes", max_passes) * n
        if isinstance(order, str):
            if order not in names:
                raise ValueError(f"order must be one of {names}, a sequence of rows or a function, got {order!r}.")
            np.random.default_rng([seed, 0])
        elif not callable(order):
            self.rows, self.limit = check_indices("order", order, n), len(order)
        self.pick = order if callable(order) else None
        self.name = order if isinstance(order, str) else None
        self.shuffled_pass = -1

    def next_row(self, position: int, alpha: np.ndarray, margins: np.ndarray) -> int | None:
        """The row to evaluate after ``position`` others, or None at the end."""
        if position >= self.limit:
            return None
        if self.pick is not None:
            row = self.pick(alpha, margins)
            return None if row is None else int(check_indices("the row that order returned", [row], self.n)[0])
        if self.name == "random":
            return int(np.random.default_rng([self.seed, position]).integers(self.n))
        if self.name == "shuffled" and position // self.n != self.shuffled_pass:
            self.shuffled_pass = position // self.n
            self.rows = np.random.default_rng([self.seed, self.shuffled_pass]).permutation(self.n)
        return int(self.rows[position % len(self.rows)])


def check_indices(name: str, given: Any, n: int) -> np.ndarray:
    """Return rows as whole numbers from 0 to n - 1, or refuse them by name."""
    rows = np.asarray(given)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.size == 0 or rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"{name} must hold whole numbers from 0 to {n - 1}, got {given!r}.")
    return rows
