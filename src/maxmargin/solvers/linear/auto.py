"""The choice between coordinate ascent and Newton steps for a linear support vector machine."""

from dataclasses import replace

import numpy as np

from maxmargin.data import Points
from maxmargin.data.points import DENSE_SHARE
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core import Monitor, Result, Status, solver
from maxmargin.solvers.core.hessian import LARGEST_DIRECT
from maxmargin.solvers.core.monitor import StepReport
from maxmargin.solvers.linear import coordinate_ascent, newton
from maxmargin.solvers.linear.options import LinearOptions

# With so many rows per column Newton steps from a subsample are the faster start.
ROWS_FOR_A_SAMPLE = 200
# C times the mean squared norm of a row, below which most duals are soon at a bound: coordinate ascent then reaches any
# gap in few epochs, on a9a, ijcnn1, letter and samples of them in 0.2 to 0.8 of the time of Newton steps. From 3 on it
# takes as long as they do, with a free intercept, and with more entries than the second number, where Newton steps have
# a good start from a subsample.
SMALL_C, ENTRIES_OF_SMALL_C = 1.0, 1 << 20
# Data of fewer entries are solved by Newton steps in milliseconds.
FEW_ENTRIES = 1 << 18
# A Newton step factorises a matrix of size s, the smaller number of rows and columns. Newton steps are cheap where s³
# is at most this number for each entry: a factorisation then takes no longer than about ten epochs.
OPERATIONS_PER_ENTRY = 240.0
# Rows are nearly parallel where the square of their mean is this share of their mean square: coordinate ascent then
# converges slowly.
PARALLEL_SHARE = 0.99


@solver()
def solve(
    problem: LinearSVMProblem, options: LinearOptions, monitor: Monitor, start: Result[float] | None = None
) -> Result[float]:
    """Run until the relative gap is at most ``tol``; ``start`` holds signed duals to begin with.

    Where the intercept is free, columns very far from zero are centred, which changes nothing but the intercept.
    """
    centred = problem.centred
    if centred is problem:
        return _solve(problem, options, monitor, start)
    centring, on_step = problem.points.centring, monitor.on_step

    def report_as_given(report: StepReport) -> bool:
        def result() -> tuple[np.ndarray, float | np.ndarray, np.ndarray]:
            w, b, beta = report.result()
            return w, centring.intercept_there(w, float(b)), beta

        assert on_step is not None
        return on_step(replace(report, result=result))

    if start is not None and start.history:
        start.intercept = centring.intercept_here(start.w, start.intercept)
    found = _solve(centred, options, replace(monitor, on_step=None if on_step is None else report_as_given), start)
    found.intercept = centring.intercept_there(found.w, found.intercept)
    return found


def _solve(
    problem: LinearSVMProblem, options: LinearOptions, monitor: Monitor, start: Result[float] | None
) -> Result[float]:
    solver = suited_solver(problem, options) if options.solver == "auto" else options.solver
    if solver == "newton":
        return newton.solve(problem, options, monitor, start)
    options_of_ascent = replace(options, switch_on_slow_progress=solver == "both")
    found = coordinate_ascent.solve(problem, options_of_ascent, monitor, start)
    if options.solver == "auto" and found.status is Status.STALLED and options.selection == "random":
        return newton.solve(problem, options, monitor, found)
    return found


def suited_solver(problem: LinearSVMProblem, options: LinearOptions) -> str:
    """Choose "coordinate" for many rows and columns, for sparse rows with more columns than rows where Newton steps are
    not cheap, or where one of its orders is chosen; "newton" for small data, for many more rows than columns, and for a
    free intercept far from the origin; else, and for small C, "both": coordinate ascent for as long as it is fast, then
    Newton steps.
    """
    n_rows, n_columns = problem.points.n_rows, problem.points.n_columns
    if options.selection != "random":
        return "coordinate"
    is_small, few = _is_small(problem), _n_entries(problem) < FEW_ENTRIES
    if few and problem.points.small_rows is not None and not is_small:
        return "newton"
    if problem.has_free_intercept and _nearly_parallel(problem.points):
        return "newton"
    size = min(n_rows, n_columns)
    are_cheap = size**3 <= OPERATIONS_PER_ENTRY * _n_entries(problem)
    if size > LARGEST_DIRECT or (n_columns > n_rows and not are_cheap):
        return "both" if problem.points.entries_per_row > DENSE_SHARE * n_columns else "coordinate"
    if is_small:
        return "both"
    return "newton" if (few and are_cheap) or n_rows >= ROWS_FOR_A_SAMPLE * n_columns else "both"


def _n_entries(problem: LinearSVMProblem) -> float:
    return float(problem.points.entries_per_row * problem.points.n_rows)


def _is_small(problem: LinearSVMProblem) -> bool:
    """Whether C is so small that a dual moves the score of its own row by less than 1, in the mean; see ``SMALL_C``."""
    if problem.has_free_intercept or not problem.loss.one_sided or _n_entries(problem) >= ENTRIES_OF_SMALL_C:
        return False
    return bool(problem.C * problem.points.typical_norm**2 < SMALL_C)


def _nearly_parallel(points: Points) -> bool:
    mean = points.combination(np.ones(points.n_rows)) / max(1, points.n_rows)
    return float(mean @ mean) > PARALLEL_SHARE * float(points.squared_norms.mean())
