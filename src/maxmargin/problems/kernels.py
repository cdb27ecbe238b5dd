"""Kernels, one class each: k(x, z) = phi(x)·phi(z) with a feature map phi (Mercer's theorem).

Kernels that depend on x·z, ||x||² and ||z||² alone are computed in place from a block of inner products, so that BLAS
does the work. (scikit-learn's pairwise kernels multiply sparse rows by sparse rows, which is many times slower than by
a dense block where rows have many entries.)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

import numpy as np

from maxmargin.data import as_dense
from maxmargin.data.array_types import UserArray
from maxmargin.data.exact_numbers import SMALLEST, UNIT
from maxmargin.data.points import squared_norms
from maxmargin.data.rows import Matrix, is_sparse

# The relative error of NumPy's exp, tanh and power: at most 4 units in the last place on all processors, each of at
# most two roundoffs.
FUNCTION_ERROR = 8.0 * UNIT
# Entries of a block of rows that is made dense as a factor of sparse rows: 32 megabytes.
DENSE_ENTRIES = 1 << 22
# Sparse rows are multiplied as dense ones up to this many entries in all for each that is stored (measured).
ENTRIES_PER_STORED = 40.0
# Rows per block of a user's kernel when its diagonal is computed.
ROWS_ON_DIAGONAL = 64


Squares = tuple[np.ndarray, np.ndarray]
# A user's kernel, of arrays or of sequences of objects.
UserKernel: TypeAlias = Callable[[UserArray, UserArray], UserArray]


class Kernel(Protocol):
    """Interface of a kernel."""

    @property
    def semidefinite(self) -> bool | None:
        """Whether it is positive semidefinite on all points; None where only its values are known."""

    def gram(self, rows: Matrix, others: Matrix, squares: Squares | None = None) -> np.ndarray:
        """k(x, z) for every row x and every other row z, in float64; ``squares`` are ||x||² and ||z||², if known."""

    def diagonal(self, rows: Matrix, squares: np.ndarray) -> np.ndarray:
        """k(x, x) for every row, whose ||x||² are given."""

    def error(self, largest_norm: float, longest_row: int) -> float:
        """A bound on |computed - exact| of any entry of ``gram``, for rows of at most this norm and number of entries.

        It holds for NumPy's exponential function, and for the compiled one.
        """


def refuse_unless_finite(finite: bool) -> None:
    """Refuse kernel values that are not all finite."""
    if not finite:
        raise ValueError("kernel gives values that are not finite: rescale X, or lower gamma, degree or coef0.")


class _OfInnerProducts:
    """A kernel that is a function of inner products and squared norms."""

    needs_squares: ClassVar[bool] = False
    semidefinite: ClassVar[bool | None] = None

    def gram(self, rows: Matrix, others: Matrix, squares: Squares | None = None) -> np.ndarray:
        rows, others = _widened(rows), _widened(others)
        if squares is None and self.needs_squares:
            squares = squared_norms(rows), squared_norms(others)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.values(inner_products(rows, others), squares)

    def values(self, inner: np.ndarray, squares: Squares | None) -> np.ndarray:
        """As ``of_inner``; values that are not finite are refused."""
        values = self.of_inner(inner, squares)
        refuse_unless_finite(math.isfinite(values.sum()))
        return values

    def diagonal(self, rows: Matrix, squares: np.ndarray) -> np.ndarray:
        return self.of_inner(squares.copy(), None)

    def of_inner(self, inner: np.ndarray, squares: Squares | None) -> np.ndarray:
        """Turn inner products into kernel values, in place; without squares, into k(x, x)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Linear(_OfInnerProducts):
    """k(x, z) = x·z"""

    semidefinite: ClassVar[bool | None] = True

    def of_inner(self, inner: np.ndarray, squares: Squares | None) -> np.ndarray:
        return inner

    def error(self, largest_norm: float, longest_row: int) -> float:
        return _inner_error(largest_norm, longest_row)


@dataclass(frozen=True)
class Polynomial(_OfInnerProducts):
    """k(x, z) = (gamma x·z + coef0)^degree"""

    gamma: float
    degree: int
    coef0: float

    @property
    def semidefinite(self) -> bool | None:  # type: ignore[override]
        return self.coef0 >= 0.0

    def of_inner(self, inner: np.ndarray, squares: Squares | None) -> np.ndarray:
        inner *= self.gamma
        inner += self.coef0
        found: np.ndarray = np.power(inner, self.degree, out=inner)
        return found

    def error(self, largest_norm: float, longest_row: int) -> float:
        base = self.gamma * largest_norm**2 + abs(self.coef0)
        inner = self.gamma * _inner_error(largest_norm, longest_row) + 4.0 * UNIT * base
        derivative = self.degree * power(base + inner, max(0.0, self.degree - 1.0))
        # A power that underflows is lost.
        return derivative * inner + FUNCTION_ERROR * power(base, self.degree) + SMALLEST


@dataclass(frozen=True)
class RadialBasis(_OfInnerProducts):
    """k(x, z) = exp(-gamma ||x - z||²)"""

    gamma: float
    needs_squares: ClassVar[bool] = True
    semidefinite: ClassVar[bool | None] = True

    def of_inner(self, inner: np.ndarray, squares: Squares | None) -> np.ndarray:
        if squares is None:
            return np.ones_like(inner)
        inner *= -2.0
        inner += squares[0][:, None]
        inner += squares[1][None, :]
        np.maximum(inner, 0.0, out=inner)
        inner *= -self.gamma
        found: np.ndarray = np.exp(inner, out=inner)
        return found

    def error(self, largest_norm: float, longest_row: int) -> float:
        # ||x||² - 2 x·z + ||z||² cancels where x is near z; exp is 1-Lipschitz for negative arguments.
        return 8.0 * self.gamma * _inner_error(largest_norm, longest_row) + FUNCTION_ERROR


@dataclass(frozen=True)
class Sigmoid(_OfInnerProducts):
    """k(x, z) = tanh(gamma x·z + coef0); not positive semidefinite in general"""

    gamma: float
    coef0: float
    semidefinite: ClassVar[bool | None] = False

    def of_inner(self, inner: np.ndarray, squares: Squares | None) -> np.ndarray:
        inner *= self.gamma
        inner += self.coef0
        found: np.ndarray = np.tanh(inner, out=inner)
        return found

    def error(self, largest_norm: float, longest_row: int) -> float:
        return self.gamma * _inner_error(largest_norm, longest_row) + FUNCTION_ERROR * (1.0 + abs(self.coef0))


@dataclass(frozen=True)
class UserFunction:
    """A user's function of two matrices, or sequences of objects, that returns their Gram matrix, dense or sparse.

    Its values are taken as exact.
    """

    function: UserKernel
    semidefinite: ClassVar[bool | None] = None

    def gram(self, rows: UserArray, others: UserArray, squares: Squares | None = None) -> np.ndarray:
        values = np.asarray(as_dense(self.function(rows, others)), dtype=np.float64)
        expected = tuple(given.shape[0] if hasattr(given, "shape") else len(given) for given in (rows, others))
        if values.shape != expected:
            raise ValueError(f"kernel returned shape {values.shape} for {expected[0]} and {expected[1]} rows.")
        if not np.isfinite(values).all():
            raise ValueError("kernel returned values that are not finite.")
        return values

    def diagonal(self, rows: UserArray, squares: np.ndarray) -> np.ndarray:
        # Blocks on the diagonal: fewer calls than rows, and fewer values than the whole matrix.
        starts = range(0, rows.shape[0], ROWS_ON_DIAGONAL)
        parts = [rows[start : start + ROWS_ON_DIAGONAL] for start in starts]
        return np.concatenate([np.diagonal(self.gram(part, part)) for part in parts]) if parts else np.empty(0)

    def error(self, largest_norm: float, longest_row: int) -> float:
        return 0.0


def kernel_by_name(name: str | UserKernel, *, gamma: float, degree: int = 3, coef0: float = 0.0) -> Kernel:
    """The kernel of that name, or of a user's function."""
    if callable(name):
        return UserFunction(name)
    makers: dict[str, Callable[[], Kernel]] = {
        "linear": Linear,
        "poly": lambda: Polynomial(gamma, degree, coef0),
        "rbf": lambda: RadialBasis(gamma),
        "sigmoid": lambda: Sigmoid(gamma, coef0),
    }
    return makers[name]()


def inner_products(rows: Matrix, others: Matrix) -> np.ndarray:
    """x·z for every row x and every other row z, as a new dense array."""
    if not is_sparse(rows):
        return np.asarray(rows @ as_dense(others).T)
    if is_sparse(others) and not pays_dense(others):
        return (rows @ others.T.tocsr()).toarray()
    result = np.empty((rows.shape[0], others.shape[0]))
    size = max(1, DENSE_ENTRIES // max(1, rows.shape[1]))
    for begin in range(0, others.shape[0], size):
        part = slice(begin, begin + size)
        block = others[part].toarray() if is_sparse(others) else others[part]
        result[:, part] = rows @ np.ascontiguousarray(block.T)
    return result


def pays_dense(matrix: Matrix) -> bool:
    """Whether the rows are multiplied faster as a dense array."""
    return not is_sparse(matrix) or matrix.shape[0] * matrix.shape[1] <= ENTRIES_PER_STORED * max(1, matrix.nnz)


def built_in(kernel: Kernel | None) -> bool:
    """Whether the kernel is a function of inner products and squared norms."""
    return isinstance(kernel, _OfInnerProducts)


def power(base: float, exponent: float) -> float:
    """base^exponent of a base that is not negative; infinite where Python's floats raise OverflowError."""
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf


def _inner_error(largest_norm: float, longest_row: int) -> float:
    # Products that underflow, in the inner product and in ||x||², from which the norm is computed.
    return 2.0 * (longest_row + 4) * (UNIT * largest_norm**2 + 2.0 * SMALLEST)


def _widened(rows: Matrix) -> Matrix:
    return rows if rows.dtype == np.float64 else rows.astype(np.float64)
