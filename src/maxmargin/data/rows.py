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
