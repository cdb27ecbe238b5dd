"""Operations on one row, dense or sparse."""

from maxmargin.data.rows import DenseRows, SparseRows
from maxmargin.loops.dispatch import Dispatched
from maxmargin.loops.jit import inlined
from maxmargin.loops.prefetch import fetch_early

# Bytes of a cache line on current processors.
CACHE_LINE = 64


def dot(rows, i, w):
    """x_i·w"""


def add_scaled(rows, i, factor, w):
    """w += factor x_i"""


def add_squares(rows, i, factor, w):
    """w_j += factor x_ij²"""


def add_weighted(rows, i, factor, weights, w):
    """w_j += factor weights_j x_ij"""


def weighted_sums(rows, i, weights):
    """The sums of weights_j x_ij and of weights_j x_ij²"""


def shrink(rows, i, scale, total, taken, w):
    """Move scale w_j towards zero by what is left of ``total`` after ``taken_j``, in the columns of the row"""


def add_outer(rows, i, factor, gram):
    """gram += factor (x_i, 1)(x_i, 1)^T, in the lower triangle"""


def fetch_row(rows, i):
    """Prefetch the row."""


_dot = Dispatched(dot, fastmath=True)
_add_scaled = Dispatched(add_scaled)
_add_squares = Dispatched(add_squares)
_add_weighted = Dispatched(add_weighted)
_weighted_sums = Dispatched(weighted_sums, fastmath=True)
_shrink = Dispatched(shrink)
_add_outer = Dispatched(add_outer)
_fetch_row = Dispatched(fetch_row)


@_dot.on(DenseRows)
def _(rows, i, w):
    total = 0.0
    for j in range(w.size):
        total += rows.values[i, j] * w[j]
    return total


@_dot.on(SparseRows)
def _(rows, i, w):
    total = 0.0
    for k in range(rows.offsets[i], rows.offsets[i + 1]):
        total += rows.values[k] * w[rows.columns[k]]
    return total


@_add_scaled.on(DenseRows)
def _(rows, i, factor, w):
    for j in range(w.size):
        w[j] += factor * rows.values[i, j]


@_add_scaled.on(SparseRows)
def _(rows, i, factor, w):
    for k in range(rows.offsets[i], rows.offsets[i + 1]):
        w[rows.columns[k]] += factor * rows.values[k]


@_add_squares.on(DenseRows)
def _(rows, i, factor, w):
    for j in range(w.size):
        w[j] += factor * rows.values[i, j] * rows.values[i, j]


@_add_squares.on(SparseRows)
def _(rows, i, factor, w):
    for k in range(rows.offsets[i], rows.offsets[i + 1]):
        w[rows.columns[k]] += factor * rows.values[k] * rows.values[k]


@_add_weighted.on(DenseRows)
def _(rows, i, factor, weights, w):
    for j in range(w.size):
        w[j] += factor * weights[j] * rows.values[i, j]


@_add_weighted.on(SparseRows)
def _(rows, i, factor, weights, w):
    for k in range(rows.offsets[i], rows.offsets[i + 1]):
        j = rows.columns[k]
        w[j] += factor * weights[j] * rows.values[k]


@_weighted_sums.on(DenseRows)
def _(rows, i, weights):
    total, squares = 0.0, 0.0
    for j in range(weights.size):
        weighted = weights[j] * rows.values[i, j]
        total += weighted
        squares += weighted * rows.values[i, j]
    return total, squares


@_weighted_sums.on(SparseRows)
def _(rows, i, weights):
    total, squares = 0.0, 0.0
    for k in range(rows.offsets[i], rows.offsets[i + 1]):
        weighted = weights[rows.columns[k]] * rows.values[k]
        total += weighted
        squares += weighted * rows.values[k]
    return total, squares


@inlined
def shrink_one(j, scale, total, taken, w):
    """Move one coefficient, not beyond zero; ``taken`` has the sign of the movement."""
    before = w[j]
    if scale * before > 0.0:
        w[j] = max(0.0, before - (total + taken[j]) / scale)
    elif scale * before < 0.0:
        w[j] = min(0.0, before + (total - taken[j]) / scale)
    taken[j] += scale * (w[j] - before)


@_shrink.on(DenseRows)
def _(rows, i, scale, total, taken, w):
    for j in range(w.size):
        shrink_one(j, scale, total, taken, w)


@_shrink.on(SparseRows)
def _(rows, i, scale, total, taken, w):
    for k in range(rows.offsets[i], rows.offsets[i + 1]):
        shrink_one(rows.columns[k], scale, total, taken, w)


@_add_outer.on(DenseRows)
def _(rows, i, factor, gram):
    last = gram.shape[0] - 1
    for j in range(last):
        scaled = factor * rows.values[i, j]
        for k in range(j + 1):
            gram[j, k] += scaled * rows.values[i, k]
        gram[last, j] += scaled
    gram[last, last] += factor


@_add_outer.on(SparseRows)
def _(rows, i, factor, gram):
    # The columns of a row are sorted: entries up to k fill the lower triangle.
    last = gram.shape[0] - 1
    first = rows.offsets[i]
    for k in range(first, rows.offsets[i + 1]):
        scaled = factor * rows.values[k]
        target = gram[rows.columns[k]]
        for m in range(first, k + 1):
            target[rows.columns[m]] += scaled * rows.values[m]
        gram[last, rows.columns[k]] += scaled
    gram[last, last] += factor


@_fetch_row.on(DenseRows)
def _(rows, i):
    for j in range(0, rows.values.shape[1], CACHE_LINE // rows.values.itemsize):
        fetch_early(rows.values, i * rows.values.shape[1] + j)


@_fetch_row.on(SparseRows)
def _(rows, i):
    first, last = rows.offsets[i], rows.offsets[i + 1]
    for k in range(first, last, CACHE_LINE // rows.values.itemsize):
        fetch_early(rows.values, k)
    for k in range(first, last, CACHE_LINE // rows.columns.itemsize):
        fetch_early(rows.columns, k)
