"""Separability as a linear program (theory C2), by SciPy's HiGHS.

    max t   with   y_i (w·x_i + b) >= t,   -1 <= w_j <= 1

has a positive value exactly where a plane separates the classes. Its dual values are weights of hull points: they add
up to one, and where the value is zero the weighted y_i x_i, and y_i, add up to zero.
"""

import numpy as np
import scipy.sparse as sp

from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.solvers.core import Monitor, Result, Status

ITERATION_OR_TIME_LIMIT = 1


def solve(problem: HardMarginProblem, monitor: Monitor) -> Result[float]:
    """Find a plane that separates the classes, or weights of hull points that meet; neither is the best one."""
    points, signs = problem.dataset.points, problem.dataset.signs
    rows = np.flatnonzero(problem.counted)
    matrix = points.matrix[rows].astype(np.float64, copy=False)
    scale = points.largest_norm or 1.0
    signed = (
        sp.diags_array(signs[rows] / scale) @ matrix if sp.issparse(matrix) else matrix * (signs[rows] / scale)[:, None]
    )
    columns = [-signed, np.ones((rows.size, 1))]
    bounds = [(-1.0, 1.0)] * points.n_columns + [(None, None)]
    if problem.fit_intercept:
        columns.insert(1, -signs[rows][:, None])
        bounds.insert(-1, (None, None))
    constraints = sp.hstack(columns, format="csr") if sp.issparse(signed) else np.hstack(columns)
    price = np.zeros(constraints.shape[1])
    price[-1] = -1.0
    options = {} if monitor.seconds_left is None else {"time_limit": max(1e-3, monitor.seconds_left)}
    # Imported here: scipy.optimize takes a quarter of a second, and few runs need it.
    from scipy.optimize import linprog

    found = linprog(price, A_ub=constraints, b_ub=np.zeros(rows.size), bounds=bounds, method="highs", options=options)
    w, b, beta = np.zeros(points.n_columns), 0.0, np.zeros(points.n_rows)
    best = Result(w, b, beta)
    best.n_iter = int(getattr(found, "nit", 0))
    best.status = Status.TIME_LIMIT if found.status == ITERATION_OR_TIME_LIMIT else Status.STALLED
    if found.x is None:
        return best
    best.w = found.x[: points.n_columns] / scale
    best.beta[rows] = signs[rows] * np.maximum(0.0, -found.ineqlin.marginals)
    margin, best.intercept = problem.best_margin(points.scores(best.w))
    if found.status == 0:
        best.status = Status.SOLVED if margin > 0.0 else Status.NOT_SEPARABLE
    return best
