"""Bounds on the rounding errors of float64 sums, so that what a certificate states holds in exact arithmetic.

The bounds are those of N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, section 3.1: a sum of
k products, in any order, with or without fused operations, is off by at most gamma_k times the sum of the products'
absolute values, gamma_k = k u / (1 - k u), u = 2^-53. Each product or quotient that underflows loses at most SMALLEST
more (times what it is multiplied with afterwards); sums and differences lose nothing to underflow. Overflow leaves
infinity or NaN, which become bounds that claim nothing.
"""

import math

import numpy as np

from maxmargin.data.exact_numbers import SMALLEST as SMALLEST
from maxmargin.data.exact_numbers import SMALLEST_NORMAL as SMALLEST_NORMAL
from maxmargin.data.exact_numbers import UNIT as UNIT

# Sums of squares in this range have neither overflowed nor lost digits to underflow.
SMALLEST_SQUARE, LARGEST_SQUARE = 1e-280, 1e300


def gamma(terms: int) -> float:
    """gamma_k for k terms, rounded up."""
    product = terms * UNIT
    if product >= 0.5:
        return math.inf
    return up(product / (1.0 - product))


def up(value: float) -> float:
    """The next float above: at least the exact result of the one operation that gave ``value``."""
    return math.nextafter(value, math.inf)


def down(value: float) -> float:
    """The next float below."""
    return math.nextafter(value, -math.inf)


def upper_bound(value: float) -> float:
    """The value as an upper bound: a NaN, which overflow leaves behind, bounds nothing and becomes infinity."""
    return math.inf if math.isnan(value) else value


def lower_bound(value: float) -> float:
    """The value as a lower bound: a NaN becomes minus infinity."""
    return -math.inf if math.isnan(value) else value


def sum_at_least(values: np.ndarray) -> float:
    """A lower bound on the exact sum of nonnegative numbers."""
    return max(0.0, down(float(np.add.reduce(values, axis=None)) * (1.0 - 2.0 * gamma(values.size))))


def sum_at_most(values: np.ndarray) -> float:
    """An upper bound on the exact sum of nonnegative numbers."""
    return up(float(np.add.reduce(values, axis=None)) * (1.0 + 2.0 * gamma(values.size)))


def dot_at_most(left: np.ndarray, right: np.ndarray) -> float:
    """An upper bound on the exact inner product of two vectors of nonnegative numbers."""
    return up(float(np.vdot(left, right)) * (1.0 + 2.0 * gamma(left.size + 2)) + left.size * SMALLEST)


def length_at_most(vector: np.ndarray, *more: float) -> float:
    """An upper bound on the Euclidean norm of a vector (with more entries appended)."""
    terms = vector.size + len(more)
    square = float(np.vdot(vector, vector))
    for entry in more:
        square += entry * entry
    if SMALLEST_SQUARE <= square <= LARGEST_SQUARE and vector.dtype == np.float64:
        return up(math.sqrt(up(square * (1.0 + 2.0 * gamma(terms + 2)) + terms * SMALLEST)))
    largest = max(float(np.max(np.abs(vector), initial=0.0)), *(abs(entry) for entry in more), 0.0)
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    # Division by a power of two rounds nothing, and the squares do not overflow.
    scale = 2.0 ** math.frexp(largest)[1] if math.frexp(largest)[1] < 1024 else 2.0**1023
    scaled = vector / scale
    square = float(np.square(scaled).sum()) + sum((entry / scale) ** 2 for entry in more)
    return up(up(math.sqrt(up(square * (1.0 + 2.0 * gamma(terms + 2)) + terms * SMALLEST))) * scale)


def length_at_least(vector: np.ndarray, *more: float) -> float:
    """A lower bound on the Euclidean norm of a vector (with more entries appended)."""
    longest = length_at_most(vector, *more)
    # The bound from above may have been rounded up by more than its relative error where it is subnormal.
    return max(0.0, down(longest * (1.0 - 4.0 * gamma(vector.size + len(more) + 4)) - 2.0 * SMALLEST))
