"""Newton's method for logistic regression on small data: whole runs in a few compiled calls."""

import math

import numpy as np

from maxmargin.data import Points
from maxmargin.data.centring import Centring, column_offsets
from maxmargin.data.rows import DenseRows
from maxmargin.loops.logistic_run import (
    GAP,
    IS_OLD,
    N_LOGISTIC_VALUES,
    PRIMAL,
    STEPS,
    LogisticState,
    logistic_steps,
)
from maxmargin.loops.termination import NO_PROGRESS, begin
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.solvers.core import Monitor, Options, Status
from maxmargin.solvers.core.monitor import steps_per_call
from maxmargin.solvers.regression.logistic import LogisticResult


def run(
    problem: LogisticProblem, rows: DenseRows, options: Options, monitor: Monitor, best: LogisticResult
) -> Status | None:
    """Run from ``best`` until the gap is small or a limit is reached; None where there is no more progress.

    ``best`` is updated in place: the general solver continues from there.
    """
    n_columns, has_intercept = problem.points.n_columns, int(problem.fit_intercept)
    matrix, centring = centred_rows(problem.points, rows, has_intercept=problem.fit_intercept)
    w = np.zeros(n_columns + has_intercept)
    w[:n_columns] = best.w
    if has_intercept:
        w[n_columns] = centring.intercept_here(best.w, best.intercept) if best.w.any() else _log_odds(problem)
    values = np.zeros(N_LOGISTIC_VALUES)
    state = LogisticState(w, np.zeros((4, matrix.shape[0])), np.empty((w.size, w.size)), values)
    np.dot(matrix, w, out=state.vectors[0])
    begin(values)
    values[IS_OLD] = 1.0
    n_before, ended = best.n_iter, None
    while ended != NO_PROGRESS:
        # Callbacks get the start, too.
        more = steps_per_call(monitor, matrix.size) if ended is not None or monitor.on_step is None else 0
        n_steps = min(values[STEPS] + more, options.max_iter - n_before)
        ended = logistic_steps(
            matrix,
            problem.signs,
            problem.weights,
            float(problem.C),
            n_columns,
            state,
            float(options.tol),
            float(n_steps),
        )
        if not (np.isfinite(values[PRIMAL]) and np.isfinite(w).all()):
            return None
        best.w, best.intercept = w[:n_columns].copy(), 0.0
        if has_intercept:
            best.intercept = centring.intercept_there(best.w, float(w[n_columns]))
        best.primal, best.dual = float(values[PRIMAL]), max(0.0, float(values[PRIMAL] - values[GAP]))
        best.n_iter = n_before + int(values[STEPS])
        status = monitor.check_termination(best, options, "step")
        if status is not None:
            return status
    return None


def centred_rows(points: Points, rows: DenseRows, *, has_intercept: bool) -> tuple[np.ndarray, Centring]:
    """The rows as the loops take them: with an intercept they have a last column of ones, and columns that are far from
    zero have their means subtracted.
    """
    n_rows, n_columns = rows.values.shape
    if not has_intercept:
        # A copy: loops are compiled anew for arrays that may not be written to.
        return rows.values.copy(), Centring(points, np.zeros(n_columns), 1.0)
    matrix = np.ones((n_rows, n_columns + 1))
    entries = matrix[:, :n_columns]
    entries[:] = rows.values
    means, squares = (np.ones(n_rows) @ rows.values) / n_rows, np.einsum("ij,ij->j", entries, entries) / n_rows
    centre = column_offsets(means, squares)
    if np.count_nonzero(centre):
        entries -= centre
    return matrix, Centring(points, centre, 1.0)


def _log_odds(problem: LogisticProblem) -> float:
    """The best intercept without coefficients."""
    total, difference = float(problem.weights.sum()), float(problem.weights @ problem.signs)
    above, below = 0.5 * (total + difference), 0.5 * (total - difference)
    return math.log(above / below) if above > 0.0 < below else 0.0
