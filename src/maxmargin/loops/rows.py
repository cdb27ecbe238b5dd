"""What a loop does with one row, for dense and for sparse rows."""

from maxmargin.data.rows import DenseRows, SparseRows
from maxmargin.loops.dispatch import Dispatched


def dot(rows, i, w):
    """x_i·w"""


def add_scaled(rows, i, factor, w):
    """w += factor x_i"""


_dot = Dispatched(dot, fastmath=True)
_add_scaled = Dispatched(add_scaled)


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
