"""Quasi-complete separation: a hyperplane with no point on its wrong side and at least one on its right side.

Along such a direction no loss grows and some fall without end, so that an unregularised logistic loss has no minimum
(Albert, Anderson, "On the existence of maximum likelihood estimates in logistic regression models", 1984). Newton steps
diverge along such a direction; rounding to a grid removes what rounding errors and other terms have added to a step.
"""

import math

import numpy as np

from maxmargin.data import as_dense
from maxmargin.problems.logistic import LogisticProblem

# A step's entries are rounded to multiples of its largest or its smallest entry divided by these numbers: the ratios of
# a direction's entries are mostly small fractions.
GRIDS = (1, 2, 3, 4, 6, 12, 60, 840)
# Entries below this share of the largest one are rounding errors.
ROUNDED_ENTRY = 1e-6
# The largest number of entries of a linear program, which then takes about a second.
LARGEST_PROGRAM = 1 << 18


def quasi_separation_near(problem: LogisticProblem, step: np.ndarray, step_b: float) -> tuple[np.ndarray, float] | None:
    """Return a quasi-completely separating w, b near the direction of a step, if found."""
    largest = max(float(np.abs(step).max(initial=0.0)), abs(step_b))
    if not 0.0 < largest < math.inf:
        return None
    counted = problem.weights > 0.0
    entries = np.abs(np.append(step, step_b))
    smallest = float(entries[entries > ROUNDED_ENTRY * largest].min())
    for unit in dict.fromkeys(grid / size for size in (largest, smallest) for grid in GRIDS):
        w, b = np.rint(step * unit), float(np.rint(step_b * unit))
        margins = (problem.signs * (problem.points.scores(w) + b))[counted]
        if margins.min(initial=0.0) >= 0.0 < margins.max(initial=0.0):
            return w, b
    return None


def quasi_separation_by_linear_program(problem: LogisticProblem) -> tuple[np.ndarray, float] | None:
    """Search by a linear program: maximise the sum of margins that are all between zero and one.

    (Konis, "Linear programming algorithms for detecting separated data in binary logistic regression models", 2007.)
    Small data only, and only coefficients on one of the grids: others could not be proven.
    """
    points = problem.points
    if points.n_rows * points.n_columns > LARGEST_PROGRAM:
        return None
    from scipy.optimize import linprog

    counted = problem.weights > 0.0
    matrix = points.matrix[counted]
    dense = as_dense(matrix).astype(np.float64)
    margins = problem.signs[counted][:, None] * np.column_stack([dense, np.ones(len(dense))])
    if not problem.fit_intercept:
        margins[:, -1] = 0.0
    found = linprog(
        -margins.sum(axis=0),
        A_ub=np.vstack([-margins, margins]),
        b_ub=np.repeat([0.0, 1.0], len(margins)),
        bounds=(None, None),
        method="highs",
    )
    return quasi_separation_near(problem, found.x[:-1], float(found.x[-1])) if found.status == 0 else None
