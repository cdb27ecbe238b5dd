"""Rows of the kernel matrix as solvers ask for them: those used last, or a matrix that is stored as a whole.

SMO, its variants and the kernel perceptron get kernel values here and nowhere else, as LIBSVM's solvers do from its
``QMatrix``: by the three methods ``slots``, ``block`` and ``add_rows`` of :class:`KernelCache`, or of
:class:`StoredKernel` where the whole matrix is in memory.
"""

from functools import partial
from typing import TypeAlias

import numpy as np

from maxmargin.engine.threads import ENTRIES_PER_BLOCK, MOST_BLOCKS, ranges
from maxmargin.loops.smo import add_kernel_rows, gather_block
from maxmargin.problems.kernel_expansion import Scratch
from maxmargin.solvers.core import Monitor, Positions
from maxmargin.solvers.kernel.kernel_matrix import KernelMatrix

# A kernel value that takes more is gathered from the cache rather than evaluated anew (measured: rows of the cache are
# far apart in memory).
PRODUCTS_PER_GATHERED = 384
# Megabytes: a smaller cache is enlarged to this size, which the matrix of a working set takes anyway. With only two
# rows every step would evaluate its kernel rows anew.
SMALLEST_CACHE = 16.0
# Calls that evaluated kernel rows are looked through once there are so many more of them.
CALLS_TO_PRUNE = 256


class KernelCache:
    """The most recently used rows of a kernel matrix.

    Parameters
    ----------
    matrix : KernelMatrix
    megabytes : float
        At least ``SMALLEST_CACHE`` is used.
    at_least : int, default=2
        Rows that are held whatever the memory.

    Attributes
    ----------
    capacity : int
        The number of rows that can be held at the same time.
    stored : ndarray of shape (capacity, n)
    """

    # The values take too much space for a checkpoint. BLAS rounds differently for different sets of rows, so that the
    # same bits come back only where rows are evaluated again together that were so before: these calls are kept.
    checkpointed = (
        *("_clock", "_last_use"),
        Positions("evaluated_rows", "_slot_of", may_repeat=True),
        Positions("evaluated_slots", "_last_use", may_repeat=True),
        "calls",
    )

    def __init__(self, matrix: KernelMatrix, megabytes: float, at_least: int = 2) -> None:
        self.matrix = matrix
        n_columns = max(1, matrix.n_rows)
        affordable = max(megabytes, SMALLEST_CACHE) * 2**20 // (np.dtype(matrix.dtype).itemsize * n_columns)
        self.capacity = int(max(at_least, min(n_columns, affordable)))
        self.stored: np.ndarray = np.empty((self.capacity, matrix.n_rows), dtype=matrix.dtype)
        self._slot_of = np.full(matrix.n_rows, -1, dtype=np.int64)
        self._row_in = np.full(self.capacity, -1, dtype=np.int64)
        self._last_use = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0
        # The calls that evaluated stored rows, in their order; their rows and slots, and the call of each slot.
        self._calls: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._call_of = np.full(self.capacity, -1, dtype=np.int64)
        self._n_calls, self._calls_to_prune = 0, CALLS_TO_PRUNE
        self._to_evaluate_again: tuple[np.ndarray, np.ndarray] | None = None
        self._scratch = Scratch()

    @property
    def bytes_used(self) -> int:
        """The memory of the rows that are stored."""
        return int(np.count_nonzero(self._row_in >= 0)) * self.stored.strides[0]

    def slots(self, rows: np.ndarray, monitor: Monitor | None = None) -> np.ndarray:
        """Positions of different rows, no more than the capacity, in ``stored``; missing rows are evaluated.

        Where the monitor has to stop, the rows that are still missing have position -1.
        """
        if self._to_evaluate_again is not None:
            self._evaluate_again()
        self._clock += 1
        known = self._slot_of[rows]
        self._last_use[known[known >= 0]] = self._clock
        missing = rows[known < 0]
        if missing.size:
            free = np.argsort(self._last_use, kind="stable")[: missing.size]
            evicted = self._row_in[free]
            self._slot_of[evicted[evicted >= 0]] = -1
            self._row_in[free] = -1
            for first in range(0, missing.size, self.matrix.rows_per_call):
                few = slice(first, first + self.matrix.rows_per_call)
                if first and monitor is not None and monitor.must_stop():
                    break
                self._evaluate(missing[few], free[few])
                self._slot_of[missing[few]] = free[few]
                self._last_use[free[few]] = self._clock
        found: np.ndarray = self._slot_of[rows]
        return found

    def _evaluate(self, rows: np.ndarray, slots: np.ndarray) -> None:
        """Evaluate rows together."""
        self.matrix.whole_rows(rows, slots, self.stored)
        self._row_in[slots], self._call_of[slots], self._calls[self._n_calls] = rows, self._n_calls, (rows, slots)
        self._n_calls += 1
        if len(self._calls) >= self._calls_to_prune:
            self._prune()

    def _prune(self) -> None:
        """Forget calls of which no row is stored any more."""
        self._calls = {call: self._calls[call] for call in np.unique(self._call_of).tolist() if call >= 0}
        self._calls_to_prune = 2 * len(self._calls) + CALLS_TO_PRUNE

    # What checkpoints keep: rows and slots of all calls, one after the other, and the lengths of the calls.

    @property
    def evaluated_rows(self) -> np.ndarray:
        """The rows of all calls of which something is stored."""
        self._prune()
        return np.concatenate([np.empty(0, dtype=np.int64), *(rows for rows, _ in self._calls.values())])

    @evaluated_rows.setter
    def evaluated_rows(self, rows: np.ndarray) -> None:
        self._to_evaluate_again = rows, np.empty(0, dtype=np.int64)

    @property
    def evaluated_slots(self) -> np.ndarray:
        """Where they were stored."""
        return np.concatenate([np.empty(0, dtype=np.int64), *(slots for _, slots in self._calls.values())])

    @evaluated_slots.setter
    def evaluated_slots(self, slots: np.ndarray) -> None:
        assert self._to_evaluate_again is not None
        self._to_evaluate_again = self._to_evaluate_again[0], slots

    @property
    def calls(self) -> list[tuple[float]]:
        """The number of rows of each call."""
        return [(float(rows.size),) for rows, _ in self._calls.values()]

    @calls.setter
    def calls(self, sizes: list[tuple[float]]) -> None:
        assert self._to_evaluate_again is not None
        rows, slots = self._to_evaluate_again
        ends = np.cumsum([int(size) for (size,) in sizes], dtype=np.int64)
        total = int(ends[-1]) if ends.size else 0
        if not rows.size == slots.size == total or (np.diff(ends, prepend=0) <= 0).any():
            raise ValueError("the calls that evaluated kernel rows are contradictory")
        self._calls = dict(enumerate(zip(np.split(rows, ends[:-1]), np.split(slots, ends[:-1]), strict=True)))
        if not total:
            self._calls = {}

    def _evaluate_again(self) -> None:
        """Restore the stored rows."""
        calls, self._calls, self._to_evaluate_again = list(self._calls.values()), {}, None
        self._row_in[:], self._slot_of[:], self._call_of[:], self._n_calls = -1, -1, -1, 0
        # Slots that were used again are overwritten in the same order.
        for rows, slots in calls:
            self._evaluate(rows, slots)
        held = np.flatnonzero(self._row_in >= 0)
        self._slot_of[self._row_in[held]] = held

    def block(self, rows: np.ndarray, monitor: Monitor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The kernel matrix of the rows that there is time for, valid until the next; these rows and their slots."""
        slots = self.slots(rows, monitor)
        rows, slots = rows[slots >= 0], slots[slots >= 0]
        gram = self._scratch.array((rows.size, rows.size), self.matrix.dtype)
        if not self.matrix.in_threads or self.matrix.products_per_value <= PRODUCTS_PER_GATHERED:
            return self.matrix.block(rows, rows, gram), rows, slots
        order = np.argsort(rows)
        n_ranges = max(1, min(MOST_BLOCKS, rows.size**2 // ENTRIES_PER_BLOCK))
        gathered = partial(gather_block, self.stored, slots, rows, order, gram)
        self.matrix.engine.run([partial(gathered, *ends) for ends in ranges(rows.size, n_ranges)])
        return gram, rows, slots

    def add_rows(self, slots: np.ndarray, coefficients: np.ndarray, scores: np.ndarray) -> None:
        """Add stored rows, times coefficients, to the scores of all points, in float64 and in threads."""
        self.matrix.engine.map(
            lambda first, last: add_kernel_rows(self.stored, slots, coefficients, scores, first, last), scores.size
        )


class StoredKernel:
    """A kernel matrix in memory, with the methods of :class:`KernelCache`.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
    """

    def __init__(self, gram: np.ndarray) -> None:
        self._gram, self.capacity = gram, gram.shape[0]

    def slots(self, rows: np.ndarray, monitor: Monitor | None = None) -> np.ndarray:  # noqa: ARG002
        """Every row is stored in its own place."""
        return rows

    def block(self, rows: np.ndarray, monitor: Monitor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # noqa: ARG002
        """The kernel matrix of some rows; these rows and their slots."""
        in_order = rows.size == self.capacity and bool((rows[:-1] < rows[1:]).all())
        return self._gram if in_order else self._gram[np.ix_(rows, rows)], rows, rows

    def add_rows(self, slots: np.ndarray, coefficients: np.ndarray, scores: np.ndarray) -> None:
        """Add stored rows, times coefficients, to the scores of all points."""
        add_kernel_rows(self._gram, slots, coefficients, scores, 0, scores.size)


KernelRows: TypeAlias = KernelCache | StoredKernel


def add_in_time(
    kernel: KernelRows, rows: np.ndarray, coefficients: np.ndarray, scores: np.ndarray, size: int, monitor: Monitor
) -> bool:
    """Add kernel rows, times coefficients, to the scores, ``size`` rows at a time; False where time has run out."""
    for first in range(0, rows.size, size):
        if monitor.must_stop():
            return False
        few = slice(first, first + size)
        slots = kernel.slots(rows[few], monitor)
        if slots.min() < 0 or monitor.must_stop():
            return False
        kernel.add_rows(slots, coefficients[few], scores)
    return True
