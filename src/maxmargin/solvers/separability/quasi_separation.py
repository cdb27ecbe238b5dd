"""Directions along which the losses of a classifier never grow and some fall for ever.

Then there is no best plane (Albert, Anderson, "On the existence of maximum likelihood estimates in logistic regression
models", 1984). Newton steps run off along such a direction; what rounding and other moves have added to a step is taken
away by putting it on a grid.
"""

import math

import numpy as np
import scipy.sparse as sp

from maxmargin.problems.logistic import LogisticProblem

# A step's entries are rounded to multiples of its largest or its smallest one divided by these.
GRIDS = (1, 2, 3, 4, 6, 12, 60, 840)
# Entries below this share of the largest one are what rounding left.
NEGLIGIBLE = 1e-6
# The largest number of entries for a linear program: it takes about a second.
LARGEST_PROGRAM = 1 << 18


def quasi_separating(problem: LogisticProblem, step: np.ndarray, step_b: float) -> tuple[np.ndarray, float] | None:
    """Return a plane near the step's direction with no point on its wrong side and some on the right one, if found."""
    largest = max(float(np.abs(step).max(initial=0.0)), abs(step_b))
    if not 0.0 < largest < math.inf:
        return None
    counted = problem.weights > 0.0
    entries = np.abs(np.append(step, step_b))
    smallest = float(entries[entries > NEGLIGIBLE * largest].min())
    for unit in dict.fromkeys(grid / size for size in (largest, smallest) for grid in GRIDS):
        w, b = np.rint(step * unit), float(np.rint(step_b * unit))
        margins = (problem.signs * (problem.points.scores(w) + b))[counted]
        if margins.min(initial=0.0) >= 0.0 < margins.max(initial=0.0):
            return w, b
    return None


def separating_by_program(problem: LogisticProblem) -> tuple[np.ndarray, float] | None:
    """Look for such a plane by a linear program: the largest sum of margins that are all between zero and one.

    (Konis, "Linear programming algorithms for detecting separated data in binary logistic regression models", 2007.)
    Small data only, and only planes that are on one of the grids: others could not be proven.
    """
    points = problem.points
    if points.n_rows * points.n_columns > LARGEST_PROGRAM:
        return None
    from scipy.optimize import linprog

    counted = problem.weights > 0.0
    matrix = points.matrix[counted]
    dense = (matrix.toarray() if sp.issparse(matrix) else matrix).astype(np.float64)
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
    return quasi_separating(problem, found.x[:-1], float(found.x[-1])) if found.status == 0 else None
