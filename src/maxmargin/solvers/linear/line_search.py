"""Exact line searches: the root of an increasing, piecewise linear derivative, by single values or by many at once."""

from collections.abc import Callable, Sequence

import numpy as np

# Step lengths, besides 1, at which the derivative is evaluated at once where evaluations cost a round. Between two of
# them it counts as linear if it changes by less than this share of its value at zero.
LENGTHS = (*(2.0**-k for k in range(12, 4, -2)), *(k / 16.0 for k in range(1, 16)), 1.25, 1.5, 2.0, 4.0, 16.0, 256.0)
LINEAR_SHARE = 0.2
# A full step is taken as it is where the derivative along it has fallen to this share; the same where its end is
# evaluated already, and any other length costs a pass over the rows.
ENOUGH, ENOUGH_AHEAD = 0.1, 0.3
# The most further rounds of a line search.
ROUNDS_OF_SEARCH = 8


def root_along(derivative: Callable[[float], float], at_zero: float, at_one: float, enough: float = ENOUGH) -> float:
    """Where Phi is smallest along a step: the root of its increasing, piecewise linear derivative.

    A full step at whose end the derivative has fallen to the share ``enough`` is taken as it is.
    """
    if at_zero >= 0.0 or abs(at_one) <= enough * abs(at_zero):
        return 1.0
    low, high, derivative_low, derivative_high = 0.0, 1.0, at_zero, at_one
    while derivative_high < 0.0 and high < 1e6:
        low, derivative_low = high, derivative_high
        high *= 2.0
        derivative_high = derivative(high)
    t = high
    for k in range(60):
        if not derivative_high > derivative_low:
            return high
        t = (
            low - derivative_low * (high - low) / (derivative_high - derivative_low)
            if k % 3 != 2
            else 0.5 * (low + high)
        )
        value = derivative(t)
        if abs(value) <= 0.05 * abs(at_zero):
            break
        if value > 0.0:
            high, derivative_high = t, value
        else:
            low, derivative_low = t, value
    return t


def root_in_rounds(
    derivatives: Callable[[Sequence[float]], np.ndarray], first: np.ndarray | None, at_zero: float, at_one: float
) -> float:
    """The same root, where the derivatives of many lengths cost no more than that of one.

    ``first`` are those at ``LENGTHS``, or None where they are not known yet. Further lengths divide the interval with
    the root until the derivative is nearly linear in it.
    """
    if at_zero >= 0.0 or abs(at_one) <= ENOUGH * abs(at_zero):
        return 1.0
    lengths = LENGTHS
    if first is None:
        lengths = tuple(t for t in LENGTHS if (t < 1.0) == (at_one > 0.0))
        first = derivatives(lengths)
    known = sorted([(0.0, at_zero), (1.0, at_one), *zip(lengths, first.tolist(), strict=True)])
    for _ in range(ROUNDS_OF_SEARCH):
        k = next((k for k, (_, value) in enumerate(known) if value >= 0.0), None)
        if k is None:
            return known[-1][0]
        (low, below), (high, above) = known[k - 1], known[k]
        if above - below <= LINEAR_SHARE * abs(at_zero):
            break
        # Where no row is free, the step of the intercept may be longer than it should be by many powers of ten.
        inner = tuple(low + (high - low) * (j / 16.0 if low > 0.0 else 16.0**-j) for j in range(1, 16))
        known = sorted([(low, below), (high, above), *zip(inner, derivatives(inner).tolist(), strict=True)])
    return low - below * (high - low) / (above - below) if above > below else high
