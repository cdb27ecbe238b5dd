"""Separability decided in exact arithmetic: a phase-one simplex method on fractions (Bland's rule, 1977).

Are there weights c >= 0 with sum c_i y_i (x_i, 1) = 0 and sum c_i = 1? Either the simplex method ends with them, or its
multipliers are a hyperplane with y_i (w·x_i + b) > 0 for every i (Farkas' lemma). Bland's rule cannot cycle, and
fractions are never rounded, so one of the two is always found.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maxmargin.problems.exact_arithmetic import integer_columns, separating_intercept
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.solvers.core import Monitor, Options, Result, Status, solver

# The largest number of entries, rows times columns, for which exact arithmetic takes seconds, not minutes.
LARGEST_EXACT = 20_000


@dataclass
class ExactResult(Result[float]):
    """A result with its proof in fractions.

    Attributes
    ----------
    witness : tuple of Fraction
        The hyperplane (w_1, ..., w_d, b), or the weights of all rows; empty where a limit ended the run.
    """

    witness: tuple[Fraction, ...] = ()


@solver()
def solve(
    problem: HardMarginProblem,
    options: Options,
    monitor: Monitor,
    start: None = None,  # noqa: ARG001
) -> ExactResult:
    """Find a separating hyperplane (SOLVED), or weights of hull points that meet (NOT_SEPARABLE).

    The status is exact; w and b, or the duals, are the fractions rounded to floats. The method is a phase one: it has
    no tolerance, and starts at artificial variables. An iteration is a pivot.
    """
    points, signs = problem.dataset.points, problem.dataset.signs
    rows = np.flatnonzero(problem.counted)
    columns, scales = _columns(problem, rows)
    tableau = Tableau(len(columns[0]))
    best = ExactResult(np.zeros(points.n_columns), 0.0, np.zeros(points.n_rows))
    while True:
        multipliers = tableau.multipliers()
        basis = set(tableau.basis)
        entering = next((k for k, one in enumerate(columns) if k not in basis and _dot(multipliers, one) > 0), None)
        if entering is None:
            break
        limit = monitor.check_work(best.n_iter, options)
        if limit is not None:
            best.status = limit
            return best
        tableau.pivot(entering, columns[entering])
        best.n_iter += 1
    if tableau.is_feasible:
        best.status = Status.NOT_SEPARABLE
        weights = [Fraction(0)] * points.n_rows
        for variable, value in zip(tableau.basis, tableau.values, strict=True):
            if variable >= 0:
                weights[rows[variable]] = value
        best.beta = signs * np.array([float(value) for value in weights])
        best.witness = tuple(weights)
        return best
    best.status = Status.SOLVED
    hyperplane = [-entry * scale for entry, scale in zip(multipliers[:-1], scales, strict=True)]
    if not problem.fit_intercept:
        hyperplane.append(Fraction(0))
    largest = max(abs(entry) for entry in hyperplane[:-1]) or Fraction(1)
    best.witness = tuple(entry / largest for entry in hyperplane)
    best.w = np.array([float(entry) for entry in best.witness[:-1]])
    best.intercept = _float(best.witness[-1])
    within = separating_intercept(problem, best.w, best.intercept)
    best.intercept = best.intercept if within is None else within
    return best


class Tableau:
    """The basis of the revised simplex method, its inverse and the values of its variables.

    A variable below zero is artificial. The last equation, sum c_i = 1, is the only one whose right side is not zero.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.basis = [-1 - k for k in range(size)]
        self.inverse = [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
        self.values = [Fraction(0)] * (size - 1) + [Fraction(1)]

    @property
    def is_feasible(self) -> bool:
        """Whether all artificial variables are zero."""
        return not any(variable < 0 and value > 0 for variable, value in zip(self.basis, self.values, strict=True))

    def multipliers(self) -> list[Fraction]:
        """The simplex multipliers: an artificial variable in the basis costs one, every other variable nothing."""
        artificial = [row for variable, row in zip(self.basis, self.inverse, strict=True) if variable < 0]
        return [sum((row[j] for row in artificial), Fraction(0)) for j in range(self.size)]

    def pivot(self, entering: int, column: list[Fraction]) -> None:
        """Bring a variable into the basis; of equal ratios the variable with the smallest number leaves."""
        direction = [_dot(row, column) for row in self.inverse]
        candidates = [i for i in range(self.size) if direction[i] > 0]
        leaving = min(candidates, key=lambda i: (self.values[i] / direction[i], self.basis[i]))
        pivot_row = [entry / direction[leaving] for entry in self.inverse[leaving]]
        self.inverse[leaving] = pivot_row
        self.values[leaving] = self.values[leaving] / direction[leaving]
        for i, factor in enumerate(direction):
            if i != leaving and factor:
                self.inverse[i] = [a - factor * b for a, b in zip(self.inverse[i], pivot_row, strict=True)]
                self.values[i] -= factor * self.values[leaving]
        self.basis[leaving] = entering


def _columns(problem: HardMarginProblem, rows: np.ndarray) -> tuple[list[list[Fraction]], list[Fraction]]:
    """The signed points y_i (x_i, 1), with a one below, in equations scaled to about one; and these scales."""
    lines, of_lines = integer_columns(problem, rows)
    scaled, scales = [], []
    for line, of_line in zip(lines.tolist(), of_lines, strict=True):
        power = Fraction(1, 1 << max(0, max(abs(entry) for entry in line).bit_length() - 1))
        scaled.append([Fraction(entry) * power for entry in line])
        scales.append(of_line * power)
    columns = [[*column, Fraction(1)] for column in zip(*scaled, strict=True)]
    return columns, scales


def _dot(left: list[Fraction], right: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True) if a and b), Fraction(0))


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return 0.0
