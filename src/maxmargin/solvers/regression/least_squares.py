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
    if errors.weights is not None:
        rows = rows * roots[:, None]
    # Centred rows have a singular value of zero where there are more columns than rows; rounded, it is not quite zero.
    negligible = max(rows.shape) * np.finfo(np.float64).eps
    if rows.shape[0] < rows.shape[1]:
        return sl.lstsq(rows, targets, cond=negligible, overwrite_a=True, check_finite=False)[0]
    return _of_scaled_columns(rows, targets, negligible)


def _of_scaled_columns(rows: np.ndarray, targets: np.ndarray, negligible: float) -> np.ndarray:
    """With all columns of about one length, none is taken for a combination of others only because it is short."""
    lengths = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    # Powers of two round nothing.
    scales = np.exp2(np.frexp(np.where(lengths > 0.0, lengths, 1.0))[1])
    q, r = sl.qr(rows / scales, mode="economic", overwrite_a=True, check_finite=False)
    left, values, right = sl.svd(r, check_finite=False)
    rank = int(np.count_nonzero(values > negligible * values[0])) if values.size else 0
    w = right[:rank].T @ ((left[:, :rank].T @ (q.T @ targets)) / values[:rank]) / scales
    if rank < w.size:
        # What changes no score makes coefficients longer than they need be.
        idle, _ = sl.qr(right[rank:].T / scales[:, None], mode="economic", check_finite=False)
        w -= idle @ (idle.T @ w)
    return w


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
