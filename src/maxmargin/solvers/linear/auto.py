"""Which algorithm solves a linear support vector machine, and how it begins."""

from dataclasses import replace

import numpy as np

from maxmargin.data import Points
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core import Monitor, Result, Status
from maxmargin.solvers.core.hessian import LARGEST_DIRECT
from maxmargin.solvers.linear import coordinate_ascent, newton
from maxmargin.solvers.linear.options import LinearOptions

# With so many rows for every column a sample of them is the better start.
ROWS_FOR_A_SAMPLE = 200
# Fewer entries than this are a matter of milliseconds, whoever starts.
FEW_ENTRIES = 1 << 18
# Points whose mean is so long, by the share of its square in the mean of their squares, are far from the origin: there
# one coordinate after the other leads nowhere, because all rows look alike.
FAR_SHARE = 0.99
# Rows that are filled more than this are no sparse ones.
DENSE_SHARE = 0.25


def solve(
    problem: LinearSVMProblem, options: LinearOptions, monitor: Monitor, start: Result[float] | None = None
) -> Result[float]:
    """Run until the relative gap is at most ``tol``; ``start`` holds signed duals to begin with."""
    solver = suited_solver(problem, options) if options.solver == "auto" else options.solver
    if solver == "newton":
        return newton.solve(problem, options, monitor, start)
    options_of_ascent = replace(options, switch_on_slow_progress=solver == "both")
    found = coordinate_ascent.solve(problem, options_of_ascent, monitor, start)
    if options.solver == "auto" and found.status is Status.STALLED and options.selection == "random":
        return newton.solve(problem, options, monitor, found)
    return found


def suited_solver(problem: LinearSVMProblem, options: LinearOptions) -> str:
    """Coordinate ascent where both sides are long, or one of its orders is asked for; Newton steps for small data, for
    many more rows than columns, and for a free intercept far from the origin; else "both": coordinate ascent for as
    long as it is fast, then Newton steps.
    """
    n_rows, n_columns = problem.points.n_rows, problem.points.n_columns
    if options.selection != "random":
        return "coordinate"
    if problem.balanced and _is_far(problem.points):
        return "newton"
    if min(n_rows, n_columns) > LARGEST_DIRECT:
        return "both" if problem.points.entries_per_row > DENSE_SHARE * n_columns else "coordinate"
    few = problem.points.entries_per_row * n_rows < FEW_ENTRIES
    return "newton" if few or n_rows >= ROWS_FOR_A_SAMPLE * n_columns else "both"


def _is_far(points: Points) -> bool:
    mean = points.combination(np.ones(points.n_rows)) / max(1, points.n_rows)
    return float(mean @ mean) > FAR_SHARE * float(points.squared_norms.mean())
