"""The textbook's quadratic programs of support vector machines, for an interior-point solver."""

from typing import NamedTuple

import clarabel
import numpy as np
import scipy.sparse as sp


class Answer(NamedTuple):
    """A plane, and the value of the program's dual: no plane is better than that, up to the solver's accuracy."""

    w: np.ndarray
    b: float
    dual: float


def solve(X, y, prices, *, squared=False, epsilon=None, rho=0.0, of_w=1.0):
    """Minimise of_w/2 ||w||² + rho/2 b² + sum price_i xi_i (or xi_i²) where a_i·(w, b) + xi_i >= least_i, xi_i >= 0.

    ``y`` are labels -1 and +1, or with ``epsilon`` the values of a regression; ``rho`` is infinite for no intercept.
    """
    fit_intercept = np.isfinite(rho)
    sides = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    if epsilon is None:
        sides, least = y[:, None] * sides, np.ones(len(X))
    else:
        sides, least, prices = np.vstack([sides, -sides]), np.concatenate([y, -y]) - epsilon, np.tile(prices, 2)
    sides, least, prices = (part[np.asarray(prices) > 0] for part in (sides, least, prices))
    n, d = sides.shape
    of_plane = np.append(np.full(d - 1, of_w), rho) if fit_intercept else np.full(d, of_w)
    quadratic = sp.diags_array(np.append(of_plane, 2 * squared * prices), format="csc")
    linear = np.append(np.zeros(d), (1 - squared) * prices)
    constraints = sp.block_array([[-sides, -sp.eye_array(n)], [None, -sp.eye_array(n)]], format="csc")
    limits = np.append(-least, np.zeros(n))
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    cones = [clarabel.NonnegativeConeT(2 * n)]
    found = clarabel.DefaultSolver(quadratic, linear, constraints, limits, cones, options).solve()
    return Answer(np.array(found.x[: X.shape[1]]), found.x[X.shape[1]] if fit_intercept else 0.0, found.obj_val_dual)


def objective(X, y, prices, w, b, *, squared=False, epsilon=None, rho=0.0, of_w=1.0):
    """The same function, without slacks."""
    scores = X @ w + b
    slack = np.maximum(0.0, 1.0 - y * scores if epsilon is None else np.abs(y - scores) - epsilon)
    of_plane = of_w * (w @ w) / 2 + (rho * b * b / 2 if b != 0.0 else 0.0)
    return of_plane + prices @ (slack**2 if squared else slack)
