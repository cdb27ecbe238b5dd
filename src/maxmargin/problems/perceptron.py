"""The perceptron's problem, and the bounds on the updates of the margin perceptron."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from maxmargin.data import Dataset
from maxmargin.data.points import row_lengths

# Squared norms outside of this range have lost digits to underflow, or may have overflowed.
SMALLEST_SQUARE, LARGEST_SQUARE = 1e-280, 1e280
# Steps on shorter rows than this would overflow.
SHORTEST_ROW = 1e-300


@dataclass(frozen=True)
class PerceptronProblem:
    r"""Find w and b without mistakes, that is with zero perceptron criterion.

    .. math:: J(w, b) = \sum_i c_i \max(0, -y_i (w \cdot x_i + b))

    c_i is the row's weight, 1 where none is given. The points of the theorems are the rows x_i; with an intercept,
    (x_i, 1); normalised, divided by their length. Dividing a point by a length changes no sign, only the size of a step
    on it, so the rows themselves are never rewritten.

    Attributes
    ----------
    dataset : Dataset
    fit_intercept : bool
    step : float
        The step size eta.
    normalize : bool
    alpha, l1_ratio : float
        The penalty alpha (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||²) for every row, zero without one.
    """

    dataset: Dataset
    fit_intercept: bool = True
    step: float = 1.0
    normalize: bool = False
    alpha: float = 0.0
    l1_ratio: float = 0.0

    @property
    def is_penalised(self) -> bool:
        """Whether there is a penalty."""
        return self.alpha > 0.0

    @property
    def intercept_step(self) -> float:
        """The last entry of every point: 1 where there is an intercept."""
        return float(self.fit_intercept)

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """||x_i||² + 1 with an intercept, ||x_i||² without."""
        return self.dataset.points.squared_norms + self.intercept_step

    @cached_property
    def lengths(self) -> np.ndarray:
        """What every point is divided by: its length where points are normalised, else one."""
        if not self.normalize:
            return np.ones(self.dataset.points.n_rows)
        squares = self.squared_norms
        lengths: np.ndarray = np.sqrt(squares)
        extreme = np.flatnonzero(~((squares >= SMALLEST_SQUARE) & (squares <= LARGEST_SQUARE)))
        if extreme.size:
            lengths[extreme] = row_lengths(self.dataset.points.matrix[extreme])
            lengths[lengths == 0.0] = 1.0
            if lengths.min() < SHORTEST_ROW:
                raise ValueError(
                    f"X has rows shorter than {SHORTEST_ROW:g}, but not zero, which normalize=True cannot divide by "
                    "their length: rescale X, or set them to zero."
                )
        return lengths

    @cached_property
    def steps(self) -> np.ndarray:
        """The step that an update takes on each row, so that w += steps_i y_i x_i."""
        weights = 1.0 if self.dataset.weights is None else self.dataset.weights
        steps = np.full(self.dataset.points.n_rows, self.step) * weights
        return steps / self.lengths if self.normalize else steps


def margin_perceptron_bound(radius: float, gamma: float) -> float:
    r"""Bound the updates of the margin perceptron.

    .. math:: 8 R^2 / \gamma^2 + 4 R / \gamma

    holds for every guess that is at most ``gamma``, the largest margin of a hyperplane through the origin; it is
    rounded up.

    Parameters
    ----------
    radius : float
        The length of the longest point, R.
    gamma : float
        The margin of some separating hyperplane, at most the largest one.

    See Also
    --------
    MarginPerceptron : The run that is bounded, with ``gamma`` given.
    incremental_search_bound : The same without a guess of the margin.

    References
    ----------
    Y. Tao, "Linear Classification: Maximizing the Margin", appendix.

    Examples
    --------
    >>> from maxmargin import margin_perceptron_bound
    >>> margin_perceptron_bound(radius=2.0, gamma=0.5)
    144.0
    """
    ratio = _ratio(radius, gamma)
    return _rounded_up(8 * ratio * ratio + 4 * ratio)


def incremental_search_bound(radius: float, gamma: float) -> float:
    r"""Bound the updates of the incremental search for a guess, over all its rounds.

    .. math:: 64 R^2 / \gamma^2

    Rounds with guesses R, R/2, ..., down to more than gamma/2, are allowed 12R²/guess² updates each: a geometric
    series. The bound is rounded up.

    Parameters
    ----------
    radius, gamma : as for :func:`margin_perceptron_bound`

    See Also
    --------
    MarginPerceptron : The run that is bounded.
    margin_perceptron_bound : The bound of one guess.

    References
    ----------
    Y. Tao, "Linear Classification: Maximizing the Margin", "An Incremental Algorithm" (which leaves the constant open).

    Examples
    --------
    >>> from maxmargin import incremental_search_bound
    >>> incremental_search_bound(radius=2.0, gamma=0.5)
    1024.0
    """
    ratio = _ratio(radius, gamma)
    return _rounded_up(64 * ratio * ratio)


def _ratio(radius: float, gamma: float) -> Fraction:
    if not (radius >= 0.0 and math.isfinite(radius)):
        raise ValueError(f"radius must be a finite number that is not negative, got {radius!r}.")
    if not gamma > 0.0:
        raise ValueError(f"gamma must be positive, got {gamma!r}.")
    return Fraction(float(radius)) / Fraction(float(gamma)) if math.isfinite(gamma) else Fraction(0)


def _rounded_up(exact: Fraction) -> float:
    """The least float that is not below a fraction."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)
