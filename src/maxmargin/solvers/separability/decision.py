"""The hard margin with a decision: a hyperplane that separates the classes, or hull weights that meet exactly.

The Newton method of the hard margin stops where the hulls are as near as rounding lets them be seen, which proves
nothing: columns of very different sizes make separable classes look so. What it does not decide is solved again with
columns centred and scaled and rows normalised, by powers of two, which changes no decision; and small data at last by
the simplex method in fractions.
"""

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from maxmargin.data import Points
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.data.rows import is_sparse
from maxmargin.problems.exact_arithmetic import hulls_meet, separating_intercept
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.solvers.core import Monitor, Options, Result, Status, solver
from maxmargin.solvers.linear import hard_margin
from maxmargin.solvers.separability import exact_simplex

# Most entries, rows times columns plus one, of data that are decided in fractions without being asked for, and most
# pivots: some seconds.
SMALL_ENOUGH = 4_000
MOST_PIVOTS = 2_000


@solver()
def solve(
    problem: HardMarginProblem, options: Options, monitor: Monitor, start: Result[float] | None = None
) -> Result[float]:
    """Run the Newton method, and decide what it leaves open.

    NOT_SEPARABLE is reported with duals that are proven to meet. STALLED, with w = 0 or a hyperplane that does not
    separate, means undecided at this precision.
    """
    found = hard_margin.solve(problem, options, monitor, start)
    return decide(problem, found, options, monitor)


def decide(problem: HardMarginProblem, found: Result[float], options: Options, monitor: Monitor) -> Result[float]:
    """Prove what a run has found, or decide anew, until a limit is reached."""
    try:
        with ending_when(monitor.must_stop):
            return _decide(problem, found, options, monitor)
    except InterruptedPassError:
        found.status = monitor.status_when_stopped()
        return found


def _decide(problem: HardMarginProblem, found: Result[float], options: Options, monitor: Monitor) -> Result[float]:
    if problem.numbers is None and math.isfinite(found.primal):
        return found
    if found.status not in (Status.SOLVED, Status.NOT_SEPARABLE, Status.STALLED):
        return found
    if _proves(problem, found):
        return found
    for again in (_solve_rescaled, _solve_in_fractions):
        other = again(problem, options, monitor.quiet())
        if other is None:
            continue
        found.n_iter += other.n_iter
        if _proves(problem, other):
            if other.status is Status.NOT_SEPARABLE:
                found.beta = other.beta
            else:
                found.w, found.intercept = other.w, other.intercept
            found.status = other.status
            return found
        if other.status not in (Status.SOLVED, Status.NOT_SEPARABLE, Status.STALLED):
            found.status = other.status
            return found
    # What the run reached, without a proof, is not a goal.
    found.status = Status.STALLED
    return found


def _proves(problem: HardMarginProblem, found: Result[float]) -> bool:
    """Whether the hyperplane separates, or else the duals meet; the intercept may be moved between the classes."""
    if found.status is Status.NOT_SEPARABLE and hulls_meet(problem, np.abs(found.beta)):
        return True
    b = separating_intercept(problem, found.w, found.intercept) if found.w.any() else None
    if b is None:
        return False
    # The hyperplane is not that of the largest margin.
    found.intercept, found.status = b, Status.STALLED
    return True


def _solve_rescaled(problem: HardMarginProblem, options: Options, monitor: Monitor) -> Result[float] | None:
    """Solve with columns scaled to about one and rows (x, 1) to a length of about one, through the origin."""
    points = problem.dataset.points
    matrix = points.matrix.astype(np.float64)
    place = np.zeros(points.n_columns)
    if is_sparse(matrix):
        sizes = abs(matrix).max(axis=0).toarray().ravel()
    else:
        if problem.fit_intercept:
            place = 0.5 * (matrix.min(axis=0) + matrix.max(axis=0))
            matrix = matrix - place
        sizes = np.abs(matrix).max(axis=0, initial=0.0)
    of_columns = np.ldexp(1.0, -np.clip(np.frexp(sizes)[1], -1000, 1000))
    matrix = matrix @ sp.diags_array(of_columns) if is_sparse(matrix) else matrix * of_columns
    if problem.fit_intercept:
        ones = np.ones((points.n_rows, 1))
        matrix = sp.hstack([matrix, ones], format="csr") if is_sparse(matrix) else np.hstack([matrix, ones])
    largest = abs(matrix).max(axis=1) if is_sparse(matrix) else np.abs(matrix).max(axis=1)
    largest = largest.toarray().ravel() if is_sparse(largest) else largest
    of_rows = np.ldexp(1.0, -np.clip(np.frexp(largest)[1], -1000, 1000))
    if is_sparse(matrix):
        matrix = sp.csr_array(sp.diags_array(of_rows) @ matrix)
    else:
        matrix = np.ascontiguousarray(matrix * of_rows[:, None])
    scaled = HardMarginProblem(replace(problem.dataset, points=Points(matrix)), fit_intercept=False)
    found = hard_margin.solve(scaled, replace(options, tol=1.0), monitor)
    w = found.w[: points.n_columns]
    b = float(found.w[-1] - w @ (place * of_columns)) if problem.fit_intercept else 0.0
    # Coefficients that overflow separate nothing, which the proof finds.
    with np.errstate(over="ignore", invalid="ignore"):
        found.w, found.intercept, found.beta = w * of_columns, b, found.beta * of_rows
    return found


def _solve_in_fractions(problem: HardMarginProblem, options: Options, monitor: Monitor) -> Result[float] | None:
    entries = problem.dataset.points.n_rows * (problem.dataset.points.n_columns + 1)
    if entries > SMALL_ENOUGH:
        return None
    return exact_simplex.solve(problem, replace(options, max_iter=MOST_PIVOTS), monitor)
