"""Rows of a kernel matrix, kept up to a bound of memory."""

from typing import Any

import numpy as np

from maxmargin.engine.threads import ThreadEngine
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.solvers.kernel.kernel_matrix import COLUMNS_PER_BLOCK, KernelMatrix


class KernelCache:
    """The rows of the kernel matrix that were used last, in at most ``megabytes``.

    Parameters
    ----------
    problem : KernelSVMProblem
    megabytes : float
    blocks : ThreadEngine
    dtype : float32, which is twice as fast, or float64
    """

    def __init__(
        self, problem: KernelSVMProblem, megabytes: float, blocks: ThreadEngine, dtype: type = np.float32
    ) -> None:
        self._n_columns, self._blocks = problem.n_rows, blocks
        width = np.dtype(dtype).itemsize
        self.capacity = int(max(2, min(self._n_columns, megabytes * 2**20 // (width * max(1, self._n_columns)))))
        self.stored: np.ndarray = np.empty((self.capacity, self._n_columns), dtype=dtype)
        self._kernel_blocks = KernelMatrix(problem, dtype)
        self._slot_of = np.full(self._n_columns, -1, dtype=np.int64)
        self._row_in = np.full(self.capacity, -1, dtype=np.int64)
        self._last_use = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0
        self._room = np.empty(0)

    def slots(self, rows: np.ndarray) -> np.ndarray:
        """Where the rows are stored, making those that are missing; they are no more than the capacity."""
        self._clock += 1
        known = self._slot_of[rows]
        self._last_use[known[known >= 0]] = self._clock
        missing = rows[known < 0]
        if missing.size:
            free = np.argsort(self._last_use, kind="stable")[: missing.size]
            evicted = self._row_in[free]
            self._slot_of[evicted[evicted >= 0]] = -1
            self._row_in[free], self._slot_of[missing] = missing, free
            self._last_use[free] = self._clock
            self._make(missing, free)
        return self._slot_of[rows]

    def among(self, rows: np.ndarray) -> np.ndarray:
        """The kernel matrix of some rows alone, in float64: made anew, which is faster than to gather it.

        It is good until the next one is asked for.
        """
        if self._room.size < rows.size**2:
            self._room = np.empty(rows.size**2)
        values = self._room[: rows.size**2].reshape(rows.size, rows.size)
        self._kernel_blocks.fill(rows, rows, values, 0)
        return values

    def _make(self, rows: np.ndarray, slots: np.ndarray) -> None:
        blocks, most_rows = self._kernel_blocks, self._kernel_blocks.most_rows
        size = min(COLUMNS_PER_BLOCK, most_rows)
        most = self._n_columns // size if blocks.in_threads else 1
        for begin in range(0, rows.size, most_rows):
            prepared, few = blocks.prepare(rows[begin : begin + most_rows]), slots[begin : begin + most_rows]

            def make_block(first: int, last: int, prepared: Any = prepared, few: np.ndarray = few) -> None:
                for start in range(first, last, size):
                    blocks.store(prepared, slice(start, min(last, start + size)), few, start, self.stored)

            self._blocks.each(self._n_columns, make_block, max(1, most))
