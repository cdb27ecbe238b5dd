"""Memory layouts of rows, dense and compressed sparse, as the compiled loops read them."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

# A validated matrix: a C-ordered ndarray or a csr_array (for which a static type that fits both does not exist).
Matrix = Any


class DenseRows(NamedTuple):
    """A C-ordered array, one row for each point."""

    values: np.ndarray


class SparseRows(NamedTuple):
    """Compressed sparse rows.

    Columns and offsets are unsigned: with a signed index numba tests for wrap-around at every access.
    """

    values: np.ndarray
    columns: np.ndarray
    offsets: np.ndarray


Rows = DenseRows | SparseRows


def rows_of(matrix: Matrix) -> Rows:
    """View a validated matrix as rows, without copying its values."""
    if sp.issparse(matrix):
        unsigned = np.uint32 if matrix.indices.dtype.itemsize == 4 else np.uint64
        return SparseRows(
            read_only(matrix.data),
            read_only(matrix.indices.view(unsigned)),
            read_only(matrix.indptr.astype(np.uint64)),
        )
    return DenseRows(read_only(matrix))


def as_dense(matrix: Any) -> Any:
    """The matrix itself, or a sparse one as an array."""
    return matrix.toarray() if sp.issparse(matrix) else matrix


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view: read-only memory maps and arrays then share one compiled loop."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def aligned(values: Any) -> Any:
    """An array, or sparse rows, whose numbers begin at multiples of their size; others are copied.

    Messages between processes give arrays that do not. BLAS is not used for these, so that sums would have other bits.
    """
    if sp.issparse(values):
        parts = values.data, values.indices, values.indptr
        if all(part.flags.aligned for part in parts):
            return values
        copy = sp.csr_array(tuple(map(aligned, parts)), shape=values.shape)
        copy.has_sorted_indices = copy.has_canonical_format = values.has_canonical_format
        return copy
    return values.copy() if isinstance(values, np.ndarray) and not values.flags.aligned else values
