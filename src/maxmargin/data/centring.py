"""Centring and scaling: rows far from the origin, or with tiny or huge entries, lose digits to rounding."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from maxmargin.data.blocks import row_blocks
from maxmargin.data.points import Points
from maxmargin.data.rows import Matrix, is_sparse

# Rows are centred where ||mean x||² exceeds this share of mean ||x||²: the spread around the mean is then less than a
# tenth of the squares, and inner products lose at least one digit.
FAR_SHARE = 0.9
# Largest norms outside of this range are scaled to about one, by a power of two, which rounds nothing.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-6, 1e6
# A column is far from zero (years, temperatures in kelvin) where |mean| / standard deviation exceeds FAR. Copying all
# rows pays only above VERY_FAR.
FAR, VERY_FAR = 4.0, 64.0
# Two rows of columns very far from zero have an inner product of this share of their squared norms at least.
PARALLEL_SHARE = 0.7
# Number of rows from which means and standard deviations are estimated.
SAMPLE_ROWS = 512
# Rows whose weight is below this share of the largest weight are left out of the estimate.
NEGLIGIBLE_WEIGHT = 1e-6
# Relative rounding error that the mean of SAMPLE_ROWS equal numbers may have.
ROUNDED_MEAN = 1e-13


class Centring(NamedTuple):
    """The points scale (x - centre).

    Attributes
    ----------
    points : Points
        The centred and scaled points.
    centre : ndarray of shape (d,)
    scale : float
    """

    points: Points
    centre: np.ndarray
    scale: float

    def intercept_here(self, w: np.ndarray, b: float) -> float:
        """Intercept for the centred points, b + w·centre, where b is that of the original ones and the scale is one.

        The sum is computed exactly and rounded once: its terms may be large and cancel.
        """
        return _exact_sum(b, w, self.centre)

    def intercept_there(self, w: np.ndarray, b: float) -> float:
        """Intercept for the original points, b - w·centre, where b is that of the centred ones."""
        return _exact_sum(b, w, -self.centre)


def centred_and_scaled(points: Points, *, may_move: bool) -> Centring:
    """Centre the points where their mean is far from the origin, and scale them where their norms are extreme.

    Parameters
    ----------
    points : Points
    may_move : bool
        Whether the points may be centred: only where there is an intercept. Of sparse points only the columns with an
        entry in every row are centred.

    Returns
    -------
    Centring
        With the points themselves where neither is needed.
    """
    matrix, centre = points.matrix, np.zeros(points.n_columns)
    if may_move and points.n_rows:
        centre = _mean(points)
        if float(centre @ centre) <= FAR_SHARE * float(points.squared_norms.mean()):
            centre = np.zeros(points.n_columns)
    if centre.any():
        matrix = _subtracted(matrix, centre)
        points = Points(matrix)
    scale = 1.0
    if not (SMALLEST_RADIUS <= points.largest_norm <= LARGEST_RADIUS or points.all_zero):
        # The norms themselves may have underflowed or overflowed: the scale is that of the largest entry.
        scale = 2.0 ** -max(-1022, min(1022, math.frexp(points.largest_entry)[1]))
        points = Points(matrix.astype(np.float64) * scale)
    return Centring(points, centre, scale)


def centred(points: Points, *, may_move: bool, weights: np.ndarray | None) -> Centring:
    """Centre the columns that are very far from zero, if there is an intercept; every entry is rounded once.

    The centre need not be the mean: any point among the rows will do, so that a sample suffices.
    """
    centre = estimate_offsets(points, VERY_FAR, weights) if may_move and points.n_rows else None
    if centre is not None and is_sparse(points.matrix):
        centre[~_is_full(points)] = 0.0
    if centre is None or not centre.any():
        return Centring(points, np.zeros(points.n_columns), 1.0)
    return Centring(Points(_subtracted(points.matrix, centre)), centre, 1.0)


def exactly_centred(points: Points) -> Centring:
    """Centre the columns that are very far from zero, where they are most of the rows' length and no entry is rounded.

    Of sparse points only columns with an entry in every row can be centred.
    """
    unmoved = Centring(points, np.zeros(points.n_columns), 1.0)
    if not _some_rows_are_parallel(points):
        return unmoved
    offsets = column_moments(points, None).offsets(points.n_columns)
    while float(offsets @ offsets) > FAR_SHARE * float(points.squared_norms.mean()):
        moved, inexact = shifted(points, offsets)
        if not inexact.size:
            return Centring(moved, offsets, 1.0)
        offsets[inexact] = 0.0
    return unmoved


def _some_rows_are_parallel(points: Points) -> bool:
    """Whether the first, the middle and the last row are about the same vector: a test that costs next to nothing."""
    matrix, middle, last = points.matrix, points.n_rows // 2, points.n_rows - 1
    if not 0 < middle < last:
        return False
    # Rows whose products overflow are not told apart, and stay as they are.
    with np.errstate(over="ignore", invalid="ignore"):
        for one, other in ((0, middle), (middle, last)):
            if is_sparse(matrix):
                first, second = (slice(matrix.indptr[k], matrix.indptr[k + 1]) for k in (one, other))
                shared = np.intersect1d(
                    matrix.indices[first], matrix.indices[second], assume_unique=True, return_indices=True
                )[1:]
                a, b = matrix.data[first], matrix.data[second]
                product = float(np.dot(a[shared[0]], b[shared[1]]))
            else:
                a, b = matrix[one], matrix[other]
                product = float(np.dot(a, b))
            if not product > PARALLEL_SHARE * max(float(np.dot(a, a)), float(np.dot(b, b))):
                return False
    return True


def estimate_offsets(points: Points, times: float = FAR, weights: np.ndarray | None = None) -> np.ndarray | None:
    """Column offsets estimated from a sample of the rows; None if no column is far from zero.

    Parameters
    ----------
    points : Points
    times : float
        Least ratio |mean| / standard deviation of a column that is far from zero.
    weights : ndarray or None
        Rows of negligible weight are left out.

    Returns
    -------
    ndarray of shape (d,) or None
        About the means of the columns that are far from zero, zero for the others.
    """
    matrix = points.matrix
    if weights is not None and weights.min() < NEGLIGIBLE_WEIGHT * weights.max():
        matrix = matrix[np.flatnonzero(weights >= NEGLIGIBLE_WEIGHT * weights.max())]
    sample = matrix[:: max(1, matrix.shape[0] // SAMPLE_ROWS)].astype(np.float64, copy=False)
    shares = np.full(sample.shape[0], 1.0 / sample.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        squares = sample.power(2) if is_sparse(sample) else np.square(sample)
        offsets = column_offsets(sample.T @ shares, squares.T @ shares, times)
    if not np.count_nonzero(offsets):
        return None
    # A constant column becomes exactly zero.
    first = Points(sample[:1]).combination(np.ones(1))
    return np.where(np.abs(offsets - first) <= ROUNDED_MEAN * np.abs(offsets), first, offsets)


def column_offsets(means: np.ndarray, squares: np.ndarray, times: float = FAR) -> np.ndarray:
    """The means of the columns that are far from zero, zero for all others.

    Parameters
    ----------
    means, squares : ndarray of shape (d,)
        Mean of each column and of its squares.
    times : float
        Least ratio |mean| / standard deviation.
    """
    squared_means = np.square(means)
    return np.where(squared_means > times**2 * (squares - squared_means), means, 0.0)


class ColumnMoments(NamedTuple):
    """Means of some columns over a sample of rows, and the sums of the squared deviations from them.

    Of sparse rows only the columns with an entry in every row of the sample are known.
    """

    n_rows: int
    columns: np.ndarray
    means: np.ndarray
    squares: np.ndarray

    def merged(self, other: "ColumnMoments") -> "ColumnMoments":
        """The moments of both samples together, of the columns that both know.

        Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
        """
        if not (self.n_rows and other.n_rows):
            return self if self.n_rows else other
        columns, own, others = np.intersect1d(self.columns, other.columns, assume_unique=True, return_indices=True)
        n_rows, change = self.n_rows + other.n_rows, other.means[others] - self.means[own]
        return ColumnMoments(
            n_rows,
            columns,
            self.means[own] + other.n_rows / n_rows * change,
            self.squares[own] + other.squares[others] + self.n_rows * other.n_rows / n_rows * np.square(change),
        )

    def offsets(self, n_columns: int) -> np.ndarray:
        """Where the columns that are very far from zero may be centred, zero for all others.

        An offset is a multiple of the power of two above the standard deviation, so that few digits of it are not zero:
        the difference of an entry and an offset is then exact in nearly all data.
        """
        offsets = np.zeros(n_columns)
        deviations = np.sqrt(self.squares / max(1, self.n_rows))
        # Of a constant column rounding leaves a deviation.
        deviations[deviations <= ROUNDED_MEAN * np.abs(self.means)] = 0.0
        is_far = np.isfinite(self.means) & (np.abs(self.means) > VERY_FAR * deviations)
        units = np.ldexp(1.0, np.frexp(deviations[is_far])[1])
        means = self.means[is_far]
        offsets[self.columns[is_far]] = np.where(deviations[is_far] > 0.0, np.round(means / units) * units, means)
        return offsets


def column_moments(points: Points, weights: np.ndarray | None) -> ColumnMoments:
    """The moments of the columns over a sample of the rows with a positive weight."""
    matrix, n_columns = points.matrix, points.n_columns
    if weights is not None:
        matrix = matrix[np.flatnonzero(weights > 0.0)]
    sample = matrix[:: max(1, matrix.shape[0] // SAMPLE_ROWS)]
    n_rows, columns = sample.shape[0], np.arange(n_columns)
    if not n_rows:
        return ColumnMoments(0, columns[:0], np.empty(0), np.empty(0))
    if is_sparse(sample):
        columns = np.flatnonzero(_is_full(Points(sample)))
        sample = sample[:, columns].toarray()
    sample = sample.astype(np.float64, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        # Around the first row, so that the mean of a constant column is exact.
        means = sample[0] + (sample - sample[0]).mean(axis=0)
        return ColumnMoments(n_rows, columns, means, np.square(sample - means).sum(axis=0))


def shifted(points: Points, offsets: np.ndarray) -> tuple[Points, np.ndarray]:
    """The points x - offsets, and the columns in which not every difference is exact; sparse ones have to be full."""
    used = np.flatnonzero(offsets)
    matrix = points.matrix.astype(np.float64)
    if is_sparse(matrix):
        entries, subtracted = matrix.data, offsets[matrix.indices]
        refused = np.zeros(points.n_columns, dtype=bool)
        refused[matrix.indices[_difference_errors(entries, subtracted) != 0.0]] = True
        refused |= ~_is_full(points)
        matrix.data -= subtracted
        return Points(matrix), used[refused[used]]
    inexact = np.zeros(used.size, dtype=bool)
    for part in row_blocks(points.n_rows, max(1, used.size)):
        inexact |= (_difference_errors(matrix[part][:, used], offsets[used]) != 0.0).any(axis=0)
    matrix[:, used] -= offsets[used]
    return Points(matrix), used[inexact]


def _difference_errors(numbers: np.ndarray, subtracted: np.ndarray) -> np.ndarray:
    """The rounding errors of differences, themselves exact.

    Knuth, "The Art of Computer Programming", volume 2, section 4.2.2.
    """
    found = numbers - subtracted
    moved = found - numbers
    errors: np.ndarray = (numbers - (found - moved)) - (subtracted + moved)
    return errors


def _mean(points: Points) -> np.ndarray:
    """The mean of the points, in the columns that can be centred; zero where it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = points.combination(np.ones(points.n_rows)) / points.n_rows
        if is_sparse(points.matrix):
            mean[~_is_full(points)] = 0.0
    return mean if np.isfinite(mean @ mean) else np.zeros(points.n_columns)


def _is_full(points: Points) -> np.ndarray:
    """Which columns of sparse points have an entry in every row."""
    matrix = points.matrix
    assert is_sparse(matrix)
    return np.asarray(np.bincount(matrix.indices, minlength=points.n_columns) == points.n_rows)


def _exact_sum(b: float, w: np.ndarray, centre: np.ndarray) -> float:
    """b + w·centre, computed in rational numbers and rounded once."""
    if not np.count_nonzero(centre):
        return float(b)
    used = np.flatnonzero(centre)
    if not (math.isfinite(b) and np.isfinite(w[used]).all()):
        return float(b + w[used] @ centre[used])
    total = sum((Fraction(float(w[j])) * Fraction(float(centre[j])) for j in used), start=Fraction(b))
    try:
        return float(total)
    except OverflowError:
        return math.copysign(math.inf, total)


def _subtracted(matrix: Matrix, centre: np.ndarray) -> Matrix:
    if not is_sparse(matrix):
        return np.asarray(matrix.astype(np.float64) - centre)
    moved = matrix.astype(np.float64)
    moved.data -= centre[moved.indices]
    return moved
