"""Accurate scores of expansions, with a bound on the error of each, for the linear and the RBF kernel.

Of the linear kernel they are products of the rows with w.

Values of exp(-gamma ||x - z||²) that are computed from inner products lose digits where x is near z, and all of them
where gamma is large. Here ||x - z||² is a sum of squared differences, exact up to a few units in the last place. Since

    f(x) = sum_j beta_j k(x_j, x) = sum_j beta_j + sum_j beta_j (k(x_j, x) - 1)

the score may be summed in either way: where k is near 1 the terms k - 1 are much smaller, and so are their errors.
"""

import numpy as np
from scipy.spatial.distance import cdist

from maxmargin.certificates.accurate_products import Product, accurate_combination, accurate_scores
from maxmargin.certificates.bounds import OF_BOUNDS, absolute_scores_at_most
from maxmargin.certificates.rounding import SMALLEST, UNIT, gamma, sum_at_most
from maxmargin.certificates.task_sums import exact_sum
from maxmargin.data import Points, as_dense
from maxmargin.data.blocks import row_blocks
from maxmargin.problems.kernel_svm import KernelProblem
from maxmargin.problems.kernels import FUNCTION_ERROR, Linear, RadialBasis

# Most differences x_ij - z_j that are computed, in about a second.
MOST_DIFFERENCES = 1e9


def accurate_expansion(problem: KernelProblem, support: np.ndarray, beta: np.ndarray) -> Product | None:
    """Scores of all rows; None where the kernel is neither linear nor the RBF kernel, or that takes too long.

    Parameters
    ----------
    problem : KernelProblem
    support : ndarray of int of shape (s,)
        Places of the rows z_j of the expansion.
    beta : ndarray of shape (s,)
    """
    if isinstance(problem.kernel, Linear):
        return _linear_expansion(Points(problem.matrix_of(slice(None))), support, beta)
    width = problem.points.n_columns
    if not isinstance(problem.kernel, RadialBasis) or problem.n_rows * support.size * width > MOST_DIFFERENCES:
        return None
    rows = as_dense(problem.matrix_of(slice(None))).astype(np.float64, copy=False)
    # Relative errors: of gamma ||x - z||², and of a sum of the terms with the function in it.
    of_exponent, of_sum = gamma(width + 8), FUNCTION_ERROR + gamma(beta.size + 6)
    total, sizes, whole = exact_sum(beta), np.abs(beta), sum_at_most(np.abs(beta))
    underflow = whole * (problem.kernel.gamma * 2.0 * width + 4.0) * SMALLEST + 4.0 * beta.size * SMALLEST
    values, errors = np.empty(problem.n_rows), np.empty(problem.n_rows)
    for part in row_blocks(problem.n_rows, max(width, beta.size)):
        exponents = problem.kernel.gamma * cdist(rows[part], rows[support], "sqeuclidean")
        near, far = np.expm1(-exponents), np.exp(-exponents)
        # exp changes by the error of its exponent, times its value; the relative error of expm1 is at most that of it.
        of_far = (far * (np.minimum(exponents, 1e300) * of_exponent + of_sum)) @ sizes
        of_near = (np.abs(near) * (of_exponent + of_sum)) @ sizes + 4.0 * UNIT * (abs(total) + np.abs(near) @ sizes)
        values[part] = np.where(of_far <= of_near, far @ beta, near @ beta + total)
        errors[part] = np.minimum(of_far, of_near)
    return Product(values, errors * (1.0 + OF_BOUNDS) * (1.0 + 2.0 * of_sum) + underflow)


def _linear_expansion(points: Points, support: np.ndarray, beta: np.ndarray) -> Product:
    """w·x_i for w = sum_j beta_j z_j, whose own error counts with |x_i|."""
    coefficients = np.zeros(points.n_rows)
    coefficients[support] = beta
    w, errors_of_w = accurate_combination(points, coefficients)
    scores, errors = accurate_scores(points, w)
    return Product(scores, (errors + absolute_scores_at_most(points, errors_of_w)) * (1.0 + OF_BOUNDS))
