"""Separability decided in exact arithmetic: a phase-one simplex method on fractions (Bland's rule, 1977).

Are there weights c >= 0 with sum c_i y_i (x_i, 1) = 0 and sum c_i = 1? Either the simplex method ends with them, or its
prices are a plane with y_i (w·x_i + b) > 0 for every i (the lemma of Farkas). Bland's rule cannot cycle, and fractions
are never rounded, so one of the two is always found.
"""

from fractions import Fraction

import numpy as np

from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.solvers.core import Monitor

# The most entries, rows times columns, for which exact arithmetic ends in reasonable time.
MOST_ENTRIES = 20_000


def decide(problem: HardMarginProblem, monitor: Monitor) -> tuple[list[Fraction], list[Fraction] | None] | None:
    """Return a plane's w, b (as one list) and None, or zeros and the weights of the rows that count.

    None where the monitor says stop before the decision.
    """
    points, signs = problem.dataset.points, problem.dataset.signs
    rows = np.flatnonzero(problem.counted)
    matrix = points.matrix[rows]
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    columns = []
    for values, sign in zip(dense, signs[rows], strict=True):
        signed = [Fraction(float(value)) * int(sign) for value in values]
        columns.append([*signed, *([Fraction(int(sign))] if problem.fit_intercept else []), Fraction(1)])
    size = len(columns[0])
    # Artificial variables first: the last equation, sum c_i = 1, is the only one whose right side is not zero.
    basis: list[int] = [-1 - k for k in range(size)]
    inverse = [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
    values_of = [Fraction(0)] * (size - 1) + [Fraction(1)]
    while monitor.check_limits() is None:
        # The price of an equation is what its artificial variables in the basis cost, one each.
        costs = [Fraction(int(variable < 0)) for variable in basis]
        prices = [sum((costs[i] * inverse[i][j] for i in range(size) if costs[i]), Fraction(0)) for j in range(size)]
        entering = next((k for k, column in enumerate(columns) if k not in basis and _dot(prices, column) > 0), None)
        if entering is None:
            return _decision(basis, values_of, prices, len(columns))
        direction = [_dot(row, columns[entering]) for row in inverse]
        candidates = [i for i in range(size) if direction[i] > 0]
        # Of equal ratios the variable with the smallest number leaves; artificial ones go first.
        leaving = min(candidates, key=lambda i: (values_of[i] / direction[i], basis[i]))
        _pivot(inverse, values_of, direction, leaving)
        basis[leaving] = entering
    return None


def _decision(
    basis: list[int], values_of: list[Fraction], prices: list[Fraction], n_rows: int
) -> tuple[list[Fraction], list[Fraction] | None]:
    if any(variable < 0 and value > 0 for variable, value in zip(basis, values_of, strict=True)):
        return [-price for price in prices[:-1]], None
    weights = [Fraction(0)] * n_rows
    for variable, value in zip(basis, values_of, strict=True):
        if variable >= 0:
            weights[variable] = value
    return [Fraction(0)] * (len(prices) - 1), weights


def _dot(left: list[Fraction], right: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True) if a and b), Fraction(0))


def _pivot(inverse: list[list[Fraction]], values: list[Fraction], direction: list[Fraction], leaving: int) -> None:
    inverse[leaving] = [entry / direction[leaving] for entry in inverse[leaving]]
    values[leaving] = values[leaving] / direction[leaving]
    for i, factor in enumerate(direction):
        if i != leaving and factor:
            inverse[i] = [a - factor * b for a, b in zip(inverse[i], inverse[leaving], strict=True)]
            values[i] -= factor * values[leaving]
