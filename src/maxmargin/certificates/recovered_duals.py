"""Dual points recovered from a hyperplane alone, by the KKT conditions.

Every dual feasible point proves a bound (weak duality), so that a hyperplane from any program can be certified: the
better the duals, the smaller the gap. At the optimum the duals of squared losses are the derivatives of the losses. Of
piecewise linear losses only the duals of points on the margin are left open; they are fitted to the stationarity
conditions w = sum beta_i x_i and rho b = sum beta_i by bounded least squares.
"""

import math

import numpy as np

from maxmargin.data import as_dense
from maxmargin.problems.crammer_singer import CrammerSingerProblem
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.problems.linear_svm import LinearSVMProblem

# Distances from the margin, in units of y f, up to which a point counts as on it. The accuracy of the hyperplane is not
# known, so that each is tried and the largest dual value is kept.
WIDTHS = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
# Entries of the least squares problem, at most: dense, some hundred megabytes.
MOST_ENTRIES = 1 << 24
# Changes of its active set, at most, each of which is one decomposition.
MOST_EXCHANGES = 200
# A fitted dual below this share of the largest one is zero: a few thousand roundings.
ZERO = 1e-9


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def recovered_duals(problem: LinearSVMProblem, w: np.ndarray, b: float) -> np.ndarray:
    """Signed dual feasible beta for a hyperplane near the optimum.

    Parameters
    ----------
    problem : LinearSVMProblem
    w : ndarray of shape (d,)
    b : float

    Returns
    -------
    ndarray of shape (n,)
    """
    residuals = problem.loss.targets - problem.scores(w, b)
    # The excess over epsilon on either side; minus infinity where the loss has no such side.
    above = np.where(problem.counts_above, residuals - problem.loss.epsilon, -np.inf)
    below = np.where(problem.counts_below, -residuals - problem.loss.epsilon, -np.inf)
    if problem.loss.curvature > 0.0:
        curvatures = np.where(problem.loss.weights > 0.0, problem.curvatures(), np.inf)
        beta = (np.maximum(above, 0.0) - np.maximum(below, 0.0)) / curvatures
        return _best_on_ray(problem, problem.feasible(beta))[0]
    best, value = np.zeros(problem.points.n_rows), 0.0
    for width in WIDTHS:
        beta = problem.feasible(_fitted(problem, w, b, above, below, width))
        beta, reached = _best_on_ray(problem, beta)
        if reached > value:
            best, value = beta, reached
    return best


def _best_on_ray(problem: LinearSVMProblem, beta: np.ndarray) -> tuple[np.ndarray, float]:
    """The feasible multiple of duals with the largest dual value s L - s² Q/2, and that value."""
    linear = float((problem.loss.targets * beta - problem.loss.epsilon * np.abs(beta)).sum())
    quadratic = 2.0 * (linear - problem.dual_value(beta, problem.points.combination(beta)))
    if not (linear > 0.0 and quadratic > 0.0):
        return np.zeros_like(beta), 0.0
    share = linear / quadratic if math.isinf(problem.loss.box_bound) else min(1.0, linear / quadratic)
    return share * beta, share * (linear - 0.5 * share * quadratic)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def recovered_multiclass_duals(problem: CrammerSingerProblem, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Dual feasible B of Crammer and Singer's problem, for hyperplanes near the optimum.

    A row whose own score is less than 1 above the largest other one has C on that class. Rows with several classes at
    the largest score, that of the own class reduced by 1, have duals that are fitted, as for two classes.
    """
    scores = problem.scores(W, b)
    scores[problem.own] -= 1.0
    excess = scores - scores.max(axis=1, keepdims=True)
    best, value = np.zeros_like(scores), 0.0
    for width in WIDTHS:
        B = problem.feasible(_fitted_multiclass(problem, W, b, excess >= -width))
        linear = float(problem.dual_terms(B).sum())
        quadratic = 2.0 * (linear - problem.dual_value(B, problem.coefficients(B)))
        if linear > 0.0 and quadratic > 0.0:
            share = min(1.0, linear / quadratic)
            reached = share * (linear - 0.5 * share * quadratic)
            best, value = (share * B, reached) if reached > value else (best, value)
    return best


def _fitted_multiclass(problem: CrammerSingerProblem, W: np.ndarray, b: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Duals of the classes with the largest scores; ``active`` marks them, of shape (n, n_classes)."""
    bounds, others = problem.box_bounds(), active.copy()
    others[problem.own] = False
    # Without the own class, and with a single other one, all of C is there.
    fixed = np.flatnonzero(~active[problem.own] & (others.sum(axis=1) == 1))
    B = np.where(others, -bounds[:, None], 0.0)
    others[fixed] = False
    B[others] = 0.0
    B[problem.own] = -B.sum(axis=1)
    rows, classes = np.nonzero(others & (bounds > 0.0)[:, None])
    matrix = problem.points.matrix[rows]
    if not 0 < rows.size * problem.n_classes * (problem.points.n_columns + 1) <= MOST_ENTRIES:
        return B
    target, x = W - problem.coefficients(B), as_dense(matrix).astype(np.float64)
    if problem.has_intercept:
        rho, scale = _intercept_equation(problem)
        x = np.column_stack([x, np.full(rows.size, scale)])
        target = np.column_stack([target, scale * (rho * b - B.sum(axis=0))])
    # The dual of row i and class m moves w_m by -x_i, and the hyperplane of its own class by x_i.
    columns = np.zeros((problem.n_classes, x.shape[1], rows.size))
    columns[problem.codes[rows], :, np.arange(rows.size)] = x
    columns[classes, :, np.arange(rows.size)] = -x
    fitted = _bounded_least_squares(columns.reshape(-1, rows.size), target.ravel(), 0.0, bounds[rows])
    if fitted is not None:
        B[rows, classes] = -fitted
    return B


def _intercept_equation(problem: LinearSVMProblem | CrammerSingerProblem) -> tuple[float, float]:
    """rho, and the factor of the equation sum beta_i = rho b beside w = sum beta_i x_i.

    It is in the metric of the dual where the intercept is penalised, else as large as the longest row.
    """
    if problem.has_free_intercept:
        return 0.0, problem.points.largest_norm or 1.0
    return problem.intercept_penalty, problem.intercept_penalty**-0.5


def recovered_hull_weights(problem: HardMarginProblem, w: np.ndarray, b: float) -> np.ndarray:
    """Signed duals whose hull points bound the hard margin, for a hyperplane.

    Where it separates the classes, they are fitted to the points nearest to it; else all weight is on the points that
    it misclassifies, and on the nearest one of a class without any.
    """
    signs, counted = problem.dataset.signs, problem.counted > 0.0
    functional = signs * (problem.dataset.points.scores(w) + b)
    smallest = float(functional.min(where=counted, initial=math.inf))
    if smallest > 0.0:
        beta = recovered_duals(problem.soft, w / smallest, b / smallest)
        if (beta > 0.0).any() and (beta < 0.0).any():
            return beta
    beta = np.where(counted & (functional < 0.0), signs, 0.0)
    for side in (1.0, -1.0):
        rows = np.flatnonzero(counted & (signs == side))
        if rows.size and not (beta * side > 0.0).any():
            beta[rows[functional[rows].argmin()]] = side
    return beta


def _fitted(
    problem: LinearSVMProblem, w: np.ndarray, b: float, above: np.ndarray, below: np.ndarray, width: float
) -> np.ndarray:
    """Duals at the end of their box for points beyond the margin by more than ``width``, fitted within it."""
    uppers = np.where(above >= -width, problem.uppers(), 0.0)
    lowers = np.where(below >= -width, problem.lowers(), 0.0)
    beta = np.where(above > width, uppers, np.where(below > width, lowers, 0.0))
    # Without an upper bound (C = inf) no dual is at its end.
    beta[~np.isfinite(beta)] = 0.0
    free = np.flatnonzero((uppers > lowers) & (beta == 0.0))
    if not 0 < free.size * (problem.points.n_columns + 1) <= MOST_ENTRIES:
        return beta
    rows = problem.points.matrix[free]
    columns = as_dense(rows).astype(np.float64).T
    target = w - problem.points.combination(beta)
    if problem.has_intercept:
        rho, scale = _intercept_equation(problem)
        columns = np.vstack([columns, np.full(free.size, scale)])
        target = np.append(target, scale * (rho * b - float(beta.sum())))
    fitted = _bounded_least_squares(columns, target, lowers[free], uppers[free])
    if fitted is not None:
        beta[free] = fitted
    return beta


def _bounded_least_squares(
    columns: np.ndarray, target: np.ndarray, lowers: np.ndarray | float, uppers: np.ndarray
) -> np.ndarray | None:
    """Fit the target within bounds; None where values overflow or the decomposition fails."""
    # Imported here: scipy.optimize takes a quarter of a second, and few programs need it.
    from scipy.optimize import lsq_linear

    with np.errstate(all="ignore"):
        # Columns and target of length 1, so that squares neither overflow nor vanish.
        lengths = np.hypot.reduce(columns, axis=0)
        size = float(np.hypot.reduce(target)) or 1.0
        scales = np.where(lengths > 0.0, lengths, 1.0)
        columns, target, scales = columns / scales, target / size, scales / size
        bounds = np.broadcast_to(lowers, lengths.shape) * scales, uppers * scales
    if not (np.isfinite(columns).all() and np.isfinite(target).all() and (bounds[0] < bounds[1]).all()):
        return None
    if columns.shape[0] > columns.shape[1]:
        # The same least squares with a square matrix, which every exchange of the active set decomposes again.
        orthogonal, columns = np.linalg.qr(columns)
        target = orthogonal.T @ target
    try:
        # The active set method ends; the step lengths of "trf" have no end where rounding hides the decrease.
        with np.errstate(all="ignore"):
            fitted = lsq_linear(columns, target, bounds, "bvls", tol=1e-14, max_iter=MOST_EXCHANGES).x / scales
    except (np.linalg.LinAlgError, ValueError):
        return None
    # What is left of a dual at zero is a rounding error of the decomposition.
    fitted[np.abs(fitted) <= ZERO * np.abs(fitted).max(initial=0.0)] = 0.0
    return np.clip(fitted, lowers, uppers) if np.isfinite(fitted).all() else None
