"""Directions along which the losses of a classifier never grow and some fall for ever.

Then there is no best plane (Albert, Anderson, "On the existence of maximum likelihood estimates in logistic regression
models", 1984). Newton steps run off along such a direction; what rounding and other moves have added to a step is taken
away by putting it on a grid.
"""

import math

import numpy as np

from maxmargin.problems.logistic import LogisticProblem

# A step's entries are rounded to multiples of its largest one divided by these.
GRIDS = (1, 2, 3, 4, 6, 12, 60, 840)


def weakly_separating(problem: LogisticProblem, step: np.ndarray, step_b: float) -> tuple[np.ndarray, float] | None:
    """Return a plane near the step's direction with no point on its wrong side and some on the right one, if found."""
    largest = max(float(np.abs(step).max(initial=0.0)), abs(step_b))
    if not 0.0 < largest < math.inf:
        return None
    counted = problem.weights > 0.0
    for grid in GRIDS:
        w, b = np.rint(step * (grid / largest)), float(np.rint(step_b * (grid / largest)))
        margins = (problem.signs * (problem.points.scores(w) + b))[counted]
        if margins.min(initial=0.0) >= 0.0 < margins.max(initial=0.0):
            return w, b
    return None
