"""Newton's method for multinomial logistic regression on small data: whole runs in a few compiled calls."""

import math

import numpy as np

from maxmargin.data.rows import DenseRows
from maxmargin.loops.logistic_run import GAP, N_LOGISTIC_VALUES, PRIMAL, STEPS
from maxmargin.loops.multinomial_run import multinomial_steps
from maxmargin.loops.termination import NO_PROGRESS, begin
from maxmargin.problems.multinomial import MultinomialProblem
from maxmargin.solvers.core import Monitor, Options, Result, Status
from maxmargin.solvers.core.monitor import steps_per_call
from maxmargin.solvers.regression.small_logistic import centred_rows

# Unknowns of the largest system: of more, products by BLAS are faster.
MOST_UNKNOWNS = 96


def run(
    problem: MultinomialProblem, rows: DenseRows, options: Options, monitor: Monitor, best: Result[np.ndarray]
) -> Status | None:
    """Run from ``best`` until the gap is small or a limit is reached; None where there is no more progress.

    ``best`` is updated in place: the general solver continues from there.
    """
    n_classes, n_columns = problem.n_classes, problem.points.n_columns
    matrix, centring = centred_rows(problem.points, rows, has_intercept=problem.fit_intercept)
    W = np.zeros((n_classes, matrix.shape[1]))
    W[:, :n_columns] = best.w
    if problem.fit_intercept:
        W[:, -1] = best.intercept + best.w @ centring.centre
    vectors, values = np.zeros((4, matrix.shape[0], n_classes)), np.zeros(N_LOGISTIC_VALUES)
    np.dot(matrix, W.T, out=vectors[0])
    begin(values)
    ended = None
    while ended != NO_PROGRESS:
        # Callbacks get the start, too.
        more = steps_per_call(monitor, vectors[0].size * W.size) if ended is not None or monitor.on_step is None else 0
        n_steps = min(values[STEPS] + more, options.max_iter)
        ended = multinomial_steps(
            matrix,
            problem.codes,
            problem.weights,
            float(problem.C),
            n_columns,
            W,
            vectors,
            values,
            float(options.tol),
            float(n_steps),
        )
        if not (math.isfinite(values[PRIMAL]) and np.isfinite(W).all()):
            return None
        # The same vector added to all w_k changes no probability: their mean is zero in the solution.
        centred = W - W.sum(axis=0) / n_classes
        best.w, best.intercept = np.ascontiguousarray(centred[:, :n_columns]), np.zeros(n_classes)
        if problem.fit_intercept:
            best.intercept = centred[:, -1] - best.w @ centring.centre
        best.primal, best.dual = float(values[PRIMAL]), max(0.0, float(values[PRIMAL] - values[GAP]))
        best.n_iter = int(values[STEPS])
        status = monitor.check_termination(best, options, "Newton step")
        if status is not None:
            return status
    return None
