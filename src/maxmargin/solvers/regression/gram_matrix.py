"""The Gram matrix of the columns of X, x_j·x_k = sum_i m_i (x_ij - mean_j)(x_ik - mean_k), of some columns or all."""

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

from maxmargin.data.blocks import BLOCK_ENTRIES, row_blocks
from maxmargin.data.rows import Matrix, SparseMatrix, as_dense, is_sparse, rows_of
from maxmargin.engine import Block, MemoryEngine
from maxmargin.loops.products import update_gram
from maxmargin.problems.squared_errors import SquaredErrors
from maxmargin.solvers.core import Positions
from maxmargin.solvers.core.cholesky import symmetric_product
from maxmargin.solvers.core.hessian import combination, gram_matrix

# The Gram matrix of more columns than this takes more time and memory than a descent without it.
MAX_COLUMNS = 1000
# Products of sparse entries that a Gram matrix may cost for every stored entry: about the epochs that it saves.
PRODUCTS_PER_ENTRY = 50
# Sparse columns that are multiplied at a time.
SPARSE_COLUMNS = 128
# Rows that are multiplied at a time at least: the product with itself then takes much longer than adding it up.
LEAST_ROWS = 2048
# Multiplications between two checks of the limits: some tenths of a second.
MAX_WORK = 1 << 33
# Columns from which on, with at most so many rows for each, the products of panels of columns are computed: there are
# too few blocks of rows for all threads, and the matrices of blocks would be as large as the data.
MANY_COLUMNS, FEW_ROWS_PER_COLUMN = 2048, 4


def normal_equations(engine: MemoryEngine[SquaredErrors], stopped: Callable[[], bool]) -> tuple[np.ndarray, np.ndarray]:
    """Compute X'MX and X'My of the engine's rows, centred, and its vectors ``weights`` and ``targets``.

    Where ``stopped()`` becomes true on the way, they are undefined.
    """
    errors = engine.problem
    n_columns, means = errors.points.n_columns, errors.column_means
    if not is_sparse(errors.points.factor):
        if n_columns > MANY_COLUMNS and engine.n_rows <= FEW_ROWS_PER_COLUMN * n_columns:
            return _equations_by_columns(engine, stopped)
        # The blocks' matrices have no more entries together than half of the data.
        sums = engine.sum(_dense_equations, stopped, most=max(1, engine.n_rows // max(1, 2 * n_columns)))
        return (sums[:, :-1], sums[:, -1]) if stopped() else (sums[:, :-1].copy(), sums[:, -1].copy())
    gram = gram_matrix(engine, "weights", stopped=stopped)[:-1, :-1]
    gram += np.tril(gram, -1).T
    gram -= errors.total_weight * np.outer(means, means)
    engine["weighted"] = engine["weights"] * engine["targets"]
    right = engine.sum(combination, "weighted") - float(engine["weighted"].sum()) * means
    return gram, right


def _equations_by_columns(
    engine: MemoryEngine[SquaredErrors], stopped: Callable[[], bool]
) -> tuple[np.ndarray, np.ndarray]:
    errors = engine.problem
    rows = centred_rows(errors, stopped)
    targets = engine["targets"] if errors.weights is None else np.sqrt(engine["weights"]) * engine["targets"]
    if stopped():
        return np.zeros((0, 0)), np.zeros(0)
    return symmetric_product(rows.T, engine.threads, stopped), rows.T @ targets


def centred_rows(errors: SquaredErrors, stopped: Callable[[], bool]) -> np.ndarray:
    """Return dense rows, less the means, times the roots of the weights.

    Where ``stopped()`` becomes true on the way, the rest is undefined.
    """
    rows: np.ndarray = np.empty(errors.points.factor.shape)
    for part in row_blocks(*rows.shape):
        if stopped():
            break
        rows[part] = _centred(errors, errors.points.factor, part, slice(None))
    return rows


def _dense_equations(block: Block[SquaredErrors], stopped: Callable[[], bool]) -> np.ndarray:
    """X'MX of a block of rows, and X'My as a last column."""
    errors = block.problem
    n_columns, first = errors.points.n_columns, block.rows.start
    sums = np.zeros((n_columns, n_columns + 1))
    # Pieces stay in the cache between the two passes over them; adding up their matrices must cost little beside.
    size = max(BLOCK_ENTRIES // (4 * n_columns), min(4 * n_columns, LEAST_ROWS))
    size = min(size, max(1, MAX_WORK // n_columns**2))
    for start in range(0, block.index.size, size):
        if stopped():
            break
        piece = slice(start, min(start + size, block.index.size))
        rows = _centred(errors, errors.points.factor, slice(first + piece.start, first + piece.stop), slice(None))
        # One array, so that BLAS makes use of the symmetry.
        sums[:, :-1] += rows.T @ rows
        targets = block["targets"][piece]
        sums[:, -1] += rows.T @ (targets if errors.weights is None else np.sqrt(block["weights"][piece]) * targets)
    return sums


class GramMatrix:
    """The Gram matrix of the columns that were requested, extended when others are.

    Parameters
    ----------
    errors : SquaredErrors
    stopped : callable
        Where it becomes true on the way, the products are undefined.
    """

    checkpointed = (Positions("_members", "_position"), "values")

    def __init__(self, errors: SquaredErrors, stopped: Callable[[], bool]) -> None:
        self.errors, self.stopped = errors, stopped
        self._matrix = errors.points.factor
        self._is_sparse = is_sparse(self._matrix)
        self._position = np.full(errors.points.n_columns, -1)
        self._members = np.empty(0, dtype=np.intp)
        self._values = np.empty((0, 0))

    @property
    def values(self) -> np.ndarray:
        """The matrix of all columns that were requested."""
        return self._values

    @values.setter
    def values(self, values: np.ndarray) -> None:
        if values.shape != (self._members.size,) * 2:
            raise ValueError("the Gram matrix has another size than its columns")
        self._values = values
        self._position[self._members] = np.arange(self._members.size)

    def affordable(self, chosen: np.ndarray) -> bool:
        """Whether the Gram matrix of these columns costs less than it saves."""
        if chosen.size > MAX_COLUMNS:
            return False
        if not self._is_sparse or (self._position[chosen] >= 0).all():
            return True
        is_chosen, total, products = np.zeros(self._position.size, dtype=bool), 0, 0
        is_chosen[chosen] = True
        for rows in self._sparse_blocks():
            counts = np.bincount(np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[is_chosen[rows.indices]])
            total, products = total + int(counts.sum()), products + int(counts @ counts)
        return products <= PRODUCTS_PER_ENTRY * total

    def among(self, chosen: np.ndarray) -> np.ndarray:
        """Return the Gram matrix of these columns."""
        new = chosen[self._position[chosen] < 0]
        if new.size:
            if self._members.size + new.size > MAX_COLUMNS:
                # Products with columns that are not requested now are dropped.
                self._position[self._members] = -1
                self._members, self._values, new = self._members[:0], np.empty((0, 0)), chosen
            self._add(new)
        positions = self._position[chosen]
        return self._values[np.ix_(positions, positions)]

    def _add(self, new: np.ndarray) -> None:
        old = self._members
        values = np.empty((old.size + new.size,) * 2)
        values[: old.size, : old.size] = self._values
        values[old.size :, old.size :] = self._between(new, new)
        if old.size:
            values[: old.size, old.size :] = self._between(old, new)
            values[old.size :, : old.size] = values[: old.size, old.size :].T
        self._position[new] = np.arange(old.size, old.size + new.size)
        self._members, self._values = np.concatenate([old, new]), values

    def _between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        if not self._is_sparse:
            return self._dense_products(left, right)
        if left is right:
            return self._symmetric_products(left)
        errors, products = self.errors, np.zeros((left.size, right.size))
        # The rows, not the columns: copies of a few rows at a time need no memory for the whole matrix.
        for rows in self._sparse_blocks(left.size * right.size):
            transposed = rows[:, left].T
            for first in range(0, right.size, SPARSE_COLUMNS):
                if self.stopped():
                    return products
                piece = slice(first, first + SPARSE_COLUMNS)
                products[:, piece] += (transposed @ rows[:, right[piece]]).toarray()
        return products - errors.total_weight * np.outer(errors.column_means[left], errors.column_means[right])

    def _sparse_blocks(self, least: int = 0) -> Iterator[SparseMatrix]:
        """Blocks of sparse rows in float64, times the roots of the weights, of ``least`` entries or some more."""
        matrix, weights = self._matrix, self.errors.weights
        assert is_sparse(matrix)
        entries_per_row = matrix.nnz / max(1, matrix.shape[0])
        for part in row_blocks(matrix.shape[0], entries_per_row * min(1.0, BLOCK_ENTRIES / max(1, least))):
            rows = matrix[part].astype(np.float64, copy=False)
            yield rows if weights is None else sp.diags_array(np.sqrt(weights[part])) @ rows

    def _symmetric_products(self, chosen: np.ndarray) -> np.ndarray:
        """The matrix of some sparse columns, by the outer products of the rows."""
        means, gram = self.errors.column_means[chosen], np.zeros((chosen.size + 1,) * 2)
        for rows in self._sparse_blocks():
            if self.stopped():
                break
            # By columns and back: the entries of every row are then in order, which the loop needs.
            part = rows[:, chosen].tocsc().tocsr()
            update_gram(rows_of(part), np.arange(part.shape[0]), np.ones(part.shape[0]), gram)
        products = np.tril(gram[:-1, :-1])
        products += np.tril(products, -1).T
        return products - self.errors.total_weight * np.outer(means, means)

    def _dense_products(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        total = np.zeros((left.size, right.size))
        for part, rows in _centred_blocks(self.errors, self._matrix, left):
            if self.stopped():
                break
            others = rows if left is right else _centred(self.errors, self._matrix, part, right)
            total += rows.T @ others
        return total


def _centred_blocks(
    errors: SquaredErrors, matrix: Matrix, chosen: np.ndarray | slice
) -> Iterator[tuple[slice, np.ndarray]]:
    # Blocks are shorter than elsewhere: they stay in the cache between the two passes over them.
    for part in row_blocks(matrix.shape[0], 4 * matrix.shape[1]):
        yield part, _centred(errors, matrix, part, chosen)


def _centred(errors: SquaredErrors, matrix: Matrix, part: slice, chosen: np.ndarray | slice) -> np.ndarray:
    """Return some columns of some rows, less the means, times the roots of the weights."""
    rows = as_dense(matrix[part])[:, chosen]
    if errors.has_intercept:
        rows = rows - errors.column_means[chosen]
    rows = rows.astype(np.float64, copy=False)
    return rows if errors.weights is None else rows * np.sqrt(errors.weights[part])[:, None]
