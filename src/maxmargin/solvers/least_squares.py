"""Least squares: of all coefficients with the smallest errors the shortest ones."""

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from maxmargin.problems.squared_errors import SquaredErrors

# Sparse data of up to so many entries, zeros counted, are made dense and solved by a singular value decomposition.
SMALL = 10_000_000
EXACT = 1e-14


def least_squares(errors: SquaredErrors) -> np.ndarray:
    """The shortest w for which sum m_i (y_i - w·x_i - b)² is least."""
    matrix = errors.points.factor
    roots = np.ones(errors.targets.size) if errors.weights is None else np.sqrt(errors.weights)
    targets = roots * (errors.targets - errors.target_mean)
    if sp.issparse(matrix) and matrix.shape[0] * matrix.shape[1] > SMALL:
        return _iterated(errors, roots, targets)
    if sp.issparse(matrix):
        matrix = matrix.toarray()
    rows = matrix - errors.column_means if errors.has_intercept else matrix.astype(np.float64)
    # Centred rows have a singular value of zero where there are more columns than rows; rounded, it is not quite zero.
    negligible = max(rows.shape) * np.finfo(np.float64).eps
    return sl.lstsq(rows * roots[:, None], targets, cond=negligible, overwrite_a=True, check_finite=False)[0]


def _iterated(errors: SquaredErrors, roots: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """By LSQR, which starts at zero and so ends at the shortest solution."""
    from scipy.sparse.linalg import LinearOperator, lsqr

    points, means = errors.points, errors.column_means
    centred = LinearOperator(
        (points.n_rows, points.n_columns),
        matvec=lambda v: roots * (points.scores(v.ravel()) - float(means @ v.ravel())),
        rmatvec=lambda z: points.combination(roots * z.ravel()) - means * float(roots @ z.ravel()),
        dtype=np.float64,
    )
    return lsqr(centred, targets, atol=EXACT, btol=EXACT, conlim=0.0)[0]
