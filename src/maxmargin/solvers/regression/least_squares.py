"""Least squares: the thin singular value decomposition of the weighted, centred rows, and the shortest minimiser."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg as sl

from maxmargin.data.rows import as_dense, is_sparse
from maxmargin.problems.squared_errors import SquaredErrors

# Entries, zeros counted: sparse data of up to so many, 80 MB, are made dense and decomposed.
SMALL = 10_000_000
# The relative tolerance of LSQR: about the rounding errors of its sums.
EXACT = 1e-14
# Operations of QR and the singular value decomposition of R, relative to those of a product of two matrices.
OPERATIONS_PER_PRODUCT = 20.0


class ScaledSVD(NamedTuple):
    """The decomposition Z = left diag(values) right diag(scales), of the rows Z.

    With all columns of about one length, none is taken for a combination of others only because it is short.

    Attributes
    ----------
    left : pair of ndarrays
        The two factors Q and U of the left singular vectors QU.
    values : ndarray
        Singular values, falling.
    right : ndarray
    scales : ndarray of shape (d,)
    """

    left: tuple[np.ndarray, np.ndarray]
    values: np.ndarray
    right: np.ndarray
    scales: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, scales: np.ndarray) -> "ScaledSVD":
        """Decompose the rows, divided by the scales of their columns, by QR and the SVD of R."""
        q, r = sl.qr(rows / scales, mode="economic", overwrite_a=True, check_finite=False)
        u, values, right = sl.svd(r, full_matrices=False, check_finite=False)
        return cls((q, u), values, right, scales)

    def solve(self, targets: np.ndarray, rank: int) -> np.ndarray:
        """Compute the w of least squares in the space of the first ``rank`` singular vectors."""
        q, u = self.left
        found: np.ndarray = self.right[:rank].T @ ((u[:, :rank].T @ (q.T @ targets)) / self.values[:rank]) / self.scales
        return found


def weighted_rows(errors: SquaredErrors) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and targets, less their means where there is an intercept, times the roots of the weights."""
    matrix = as_dense(errors.points.factor)
    rows = matrix - errors.column_means if errors.has_intercept else matrix.astype(np.float64)
    targets = errors.targets - errors.target_mean
    if errors.weights is None:
        return rows, targets
    roots = np.sqrt(errors.weights)
    return rows * roots[:, None], targets * roots


def work_of_least_squares(errors: SquaredErrors) -> float:
    """About the operations of the decomposition."""
    n_rows, n_columns = errors.points.matrix.shape
    value: float = OPERATIONS_PER_PRODUCT * n_rows * n_columns * min(n_rows, n_columns)
    return value


def least_squares(errors: SquaredErrors, stopped: Callable[[], bool]) -> np.ndarray | None:
    """Compute the shortest w for which sum m_i (y_i - w·x_i - b)² is smallest.

    None where ``stopped()`` becomes true on the way; it is not checked within LAPACK.
    """
    matrix = errors.points.factor
    if is_sparse(matrix) and matrix.shape[0] * matrix.shape[1] > SMALL:
        return _least_squares_by_lsqr(errors, stopped)
    rows, targets = weighted_rows(errors)
    # Centred rows have a singular value of zero where there are more columns than rows; rounded, it is not quite zero.
    negligible = max(rows.shape) * np.finfo(np.float64).eps
    if rows.shape[0] < rows.shape[1]:
        found: np.ndarray | None = sl.lstsq(rows, targets, cond=negligible, overwrite_a=True, check_finite=False)[0]
        return found
    lengths = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    # Division by powers of two rounds nothing.
    decomposition = ScaledSVD.of(rows, np.exp2(np.frexp(np.where(lengths > 0.0, lengths, 1.0))[1]))
    values = decomposition.values
    rank = int(np.count_nonzero(values > negligible * values[0])) if values.size else 0
    w = decomposition.solve(targets, rank)
    if rank < w.size:
        # The component in the null space changes no score.
        null_space = decomposition.right[rank:].T / decomposition.scales[:, None]
        basis, _ = sl.qr(null_space, mode="economic", check_finite=False)
        w -= basis @ (basis.T @ w)
    return w


def _least_squares_by_lsqr(errors: SquaredErrors, stopped: Callable[[], bool]) -> np.ndarray | None:
    """Solve by LSQR, which starts at zero and so converges to the shortest solution."""
    from scipy.sparse.linalg import LinearOperator, lsqr

    points, means = errors.points, errors.column_means
    roots = np.ones(errors.targets.size) if errors.weights is None else np.sqrt(errors.weights)

    def product(v: np.ndarray) -> np.ndarray:
        if stopped():
            raise StopIteration
        return roots * (points.scores(v.ravel()) - float(means @ v.ravel()))

    centred = LinearOperator(
        (points.n_rows, points.n_columns),
        matvec=product,
        rmatvec=lambda z: points.combination(roots * z.ravel()) - means * float(roots @ z.ravel()),
        dtype=np.float64,
    )
    targets = roots * (errors.targets - errors.target_mean)
    try:
        found: np.ndarray | None = lsqr(centred, targets, atol=EXACT, btol=EXACT, conlim=0.0)[0]
        return found
    except StopIteration:
        return None
