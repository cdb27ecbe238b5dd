"""Inner products of sparse rows: columns that many rows have go through BLAS, the others entry by entry.

Of text, a few dozen columns hold most of the pairs of entries that meet: a column in which a share p of the rows has an
entry adds p² products to the mean inner product of two rows, while as a dense column it adds one, which BLAS computes
many times faster.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.data.blocks import BLOCK_ENTRIES, row_blocks
from maxmargin.data.rows import SparseMatrix

# The share of the rows with an entry from which on a column goes through BLAS (measured, in both precisions).
FREQUENT_SHARE = 0.2
# Entries that are split at a time: the work arrays then stay in a core's cache.
SPLIT_ENTRIES = 1 << 16


class SplitRows(NamedTuple):
    """Sparse rows, split into two matrices whose inner products add up.

    Attributes
    ----------
    dense : ndarray of shape (n, h)
        The frequent columns.
    rest : csr_array of shape (n, d)
        The entries of the other columns.
    """

    dense: np.ndarray
    rest: SparseMatrix

    def part(self, rows: np.ndarray | slice) -> "SplitRows":
        """Some of the rows."""
        return SplitRows(self.dense[rows], self.rest[rows])


class ColumnSplit:
    """The frequent columns of a sparse matrix.

    Parameters
    ----------
    matrix : csr_array
    """

    def __init__(self, matrix: SparseMatrix) -> None:
        self._shares = np.bincount(matrix.indices, minlength=matrix.shape[1]) / max(1, matrix.shape[0])
        self._place = np.full(matrix.shape[1], -1, dtype=np.intp)
        frequent = np.flatnonzero(self._shares >= FREQUENT_SHARE)
        self._place[frequent] = np.arange(frequent.size)
        self.n_frequent = int(frequent.size)

    @property
    def meeting_entries(self) -> float:
        """The number of products of two entries of other columns in an inner product of two rows, in the mean."""
        others = self._shares[self._place < 0]
        return float(others @ others)

    def of(self, rows: SparseMatrix) -> SplitRows:
        """Split rows of the matrix, or others with the same columns; no row has two entries in a column."""
        dense: np.ndarray = np.zeros((rows.shape[0], self.n_frequent), dtype=rows.dtype)
        if not self.n_frequent:
            return SplitRows(dense, rows)
        counts, parts = np.zeros(rows.shape[0] + 1, dtype=rows.indptr.dtype), []
        entries_per_row = max(1.0, rows.nnz / max(1, rows.shape[0]))
        for part in row_blocks(rows.shape[0], entries_per_row * (BLOCK_ENTRIES / SPLIT_ENTRIES)):
            offsets = rows.indptr[part.start : part.stop + 1]
            stored = slice(offsets[0], offsets[-1])
            columns, values = rows.indices[stored], rows.data[stored]
            place = self._place[columns]
            frequent, others = np.flatnonzero(place >= 0), place < 0
            lines = np.repeat(np.arange(part.stop - part.start), np.diff(offsets))
            dense[part].ravel()[lines[frequent] * self.n_frequent + place[frequent]] = values[frequent]
            parts.append((values[others], columns[others]))
            counts[part.start + 1 : part.stop + 1] = np.bincount(lines[others], minlength=part.stop - part.start)
        data = np.concatenate([np.empty(0, dtype=rows.dtype), *(values for values, _ in parts)])
        indices = np.concatenate([np.empty(0, dtype=rows.indices.dtype), *(columns for _, columns in parts)])
        rest = sp.csr_array((data, indices, np.cumsum(counts, dtype=counts.dtype)), shape=rows.shape)
        return SplitRows(dense, rest)
