"""Memory layouts of rows, dense and compressed sparse, as the compiled loops read them."""

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, TypeAlias, TypeVar, overload

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from typing_extensions import TypeIs

ValueT = TypeVar("ValueT")

# Numbers up to which BLAS sums in the calling thread alone.
FEW_NUMBERS = 1 << 13


class SparseMatrix(Protocol):
    """What is used of SciPy's sparse matrices, which have no types of their own."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    has_canonical_format: bool
    has_sorted_indices: bool

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype: ...

    @property
    def nnz(self) -> int: ...

    @property
    def T(self) -> Self: ...  # noqa: N802

    def __getitem__(self, rows: object) -> Self: ...

    def __abs__(self) -> Self: ...

    @overload
    def __matmul__(self, other: np.ndarray) -> np.ndarray: ...

    @overload
    def __matmul__(self, other: "SparseMatrix") -> "SparseMatrix": ...

    def __mul__(self, number: float) -> Self: ...

    def __ne__(self, number: float) -> Self: ...  # type: ignore[override]

    def astype(self, dtype: object, *, copy: bool = True) -> Self: ...

    def copy(self) -> Self: ...

    def max(self, axis: int) -> Self: ...

    def multiply(self, other: object) -> Self: ...

    def power(self, exponent: int) -> Self: ...

    def sum(self, axis: int | None = None, dtype: object = None) -> np.ndarray: ...

    def sum_duplicates(self) -> None: ...

    def toarray(self) -> np.ndarray: ...

    def tocsc(self) -> Self: ...

    def tocsr(self) -> Self: ...


# A validated matrix: a C-ordered ndarray or a csr_array.
Matrix: TypeAlias = np.ndarray | SparseMatrix

if TYPE_CHECKING:

    def is_sparse(matrix: object) -> TypeIs[SparseMatrix]:
        """Whether a matrix is sparse."""
else:

    def is_sparse(matrix: object) -> bool:
        """Whether a matrix is sparse."""
        # SciPy's test takes longer than many a product with a small matrix.
        return type(matrix) is not np.ndarray and sp.issparse(matrix)


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
    if is_sparse(matrix):
        unsigned = np.uint32 if matrix.indices.dtype.itemsize == 4 else np.uint64
        return SparseRows(
            read_only(matrix.data),
            read_only(matrix.indices.view(unsigned)),
            read_only(matrix.indptr.astype(np.uint64)),
        )
    return DenseRows(read_only(matrix))


def as_dense(matrix: Matrix) -> np.ndarray:
    """The matrix itself, or a sparse one as an array."""
    return matrix.toarray() if is_sparse(matrix) else matrix


def is_short_and_finite(values: np.ndarray) -> bool:
    """Whether there are few numbers, with a finite sum of squares: then all are finite. No threads are started."""
    return values.size <= FEW_NUMBERS and math.isfinite(np.vdot(values, values))


def all_finite(values: np.ndarray) -> bool:
    """Whether all numbers are finite."""
    return is_short_and_finite(values) or np.count_nonzero(np.isfinite(values)) == values.size


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view: read-only memory maps and arrays then share one compiled loop."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def aligned(values: ValueT) -> ValueT:
    """An array, or sparse rows, whose numbers begin at multiples of their size; others are copied.

    Messages between processes give arrays that do not. BLAS is not used for these, so that sums would have other bits.
    """
    if is_sparse(values):
        parts = values.data, values.indices, values.indptr
        if all(part.flags.aligned for part in parts):
            return values
        copy = sp.csr_array(tuple(map(aligned, parts)), shape=values.shape)
        copy.has_sorted_indices = copy.has_canonical_format = values.has_canonical_format
        return copy  # type: ignore[no-any-return]
    return values.copy() if isinstance(values, np.ndarray) and not values.flags.aligned else values
