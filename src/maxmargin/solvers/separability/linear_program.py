"""Separability as a linear program, by SciPy's HiGHS.

    max t   with   y_i (w·x_i + b) >= t,   -1 <= w_j <= 1

has a positive value exactly where a hyperplane separates the classes. Its dual values are weights of hull points: they
add up to one, and where the value is zero the weighted y_i x_i, and y_i, add up to zero.
"""

import numpy as np
import scipy.sparse as sp

from maxmargin.data.rows import is_sparse
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.solvers.core import Monitor, Options, Result, Status, solver

# SciPy's status of a linear program that ended at a limit.
ITERATION_OR_TIME_LIMIT = 1


@solver()
def solve(
    problem: HardMarginProblem,
    options: Options,
    monitor: Monitor,
    start: None = None,  # noqa: ARG001
) -> Result[float]:
    """Find a separating hyperplane, or weights of hull points that meet; neither is optimal in any other sense.

    HiGHS takes no initial point and no tolerance for the decision: of the options only ``max_iter`` counts.
    """
    points, signs = problem.dataset.points, problem.dataset.signs
    rows = np.flatnonzero(problem.counted)
    matrix = points.matrix[rows].astype(np.float64, copy=False)
    scale = points.largest_norm or 1.0
    signed = (
        sp.diags_array(signs[rows] / scale) @ matrix if is_sparse(matrix) else matrix * (signs[rows] / scale)[:, None]
    )
    columns = [-signed, np.ones((rows.size, 1))]
    bounds = [(-1.0, 1.0)] * points.n_columns + [(None, None)]
    if problem.fit_intercept:
        columns.insert(1, -signs[rows][:, None])
        bounds.insert(-1, (None, None))
    constraints = sp.hstack(columns, format="csr") if is_sparse(signed) else np.hstack(columns)
    cost = np.zeros(constraints.shape[1])
    cost[-1] = -1.0
    limits: dict[str, float] = {}
    if monitor.seconds_left is not None:
        limits["time_limit"] = max(1e-3, monitor.seconds_left)
    if np.isfinite(options.max_iter):
        limits["maxiter"] = int(options.max_iter)
    # Imported here: scipy.optimize takes a quarter of a second, and few runs need it.
    from scipy.optimize import linprog

    found = monitor.call(
        lambda: linprog(
            cost, A_ub=constraints, b_ub=np.zeros(rows.size), bounds=bounds, method="highs", options=limits
        ),
        # A pivot reads the constraints, and there are about as many as rows.
        float(constraints.shape[0]) * constraints.shape[0] * constraints.shape[1],
    )
    best = Result(np.zeros(points.n_columns), 0.0, np.zeros(points.n_rows))
    if found is None:
        best.status = monitor.status_at_end(best, options)
        return best
    best.n_iter = int(getattr(found, "nit", 0))
    best.status = monitor.status_at_end(best, options)
    if found.status == ITERATION_OR_TIME_LIMIT:
        best.status = Status.ITERATION_LIMIT if best.n_iter >= options.max_iter else Status.TIME_LIMIT
    # HiGHS may leave nothing, or values that are not finite, where a limit ended it.
    duals = getattr(found.get("ineqlin"), "marginals", None)
    if duals is not None and np.isfinite(duals).all():
        best.beta[rows] = signs[rows] * np.maximum(0.0, -duals)
    if found.x is None or not np.isfinite(found.x).all():
        return best
    best.w = found.x[: points.n_columns] / scale
    margin, best.intercept = problem.best_margin(points.scores(best.w))
    if found.status == 0:
        best.status = Status.SOLVED if margin > 0.0 else Status.NOT_SEPARABLE
    return best
