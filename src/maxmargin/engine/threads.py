"""The in-memory engine: blocks of rows in threads, with the same bits whatever their number."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

# Matrix entries of the smallest block that is worth waking a thread for.
ENTRIES_PER_BLOCK = 1 << 17
MOST_BLOCKS = 64

T = TypeVar("T")


class ThreadEngine:
    """Runs tasks on blocks of rows in threads.

    A pass over the rows is a task ``task(first, last)`` on every block. Blocks depend on the number and the length of
    the rows alone, and their results are combined in a fixed order: so results do not depend on ``n_threads``.

    Parameters
    ----------
    entries_per_row : float
        The mean number of stored entries of a row.
    n_threads : int
    """

    def __init__(self, entries_per_row: float, n_threads: int) -> None:
        self._entries_per_row = entries_per_row
        self._n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "ThreadEngine":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def map(self, task: Callable[[int, int], T], n_rows: int, most: int = MOST_BLOCKS) -> list[T]:
        """Call ``task(first, last)`` for at most ``most`` blocks of the rows; return the results in block order."""
        n_blocks = int(max(1, min(most, n_rows * self._entries_per_row // ENTRIES_PER_BLOCK)))
        cuts = [n_rows * k // n_blocks for k in range(n_blocks + 1)]
        n_workers = min(self._n_threads, n_blocks)
        results: list[Any] = [None] * n_blocks

        def run(start: int, stop: int) -> None:
            for number in range(start, stop):
                results[number] = task(cuts[number], cuts[number + 1])

        if n_workers <= 1:
            run(0, n_blocks)
            return results
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._n_threads - 1)
        # Every worker takes a stretch of neighbouring blocks; the calling thread is the first of them.
        ends = [n_blocks * k // n_workers for k in range(n_workers + 1)]
        others = [self._pool.submit(run, a, b) for a, b in pairwise(ends[1:])]
        try:
            run(0, ends[1])
        finally:
            for other in others:
                other.result()
        return results

    def sum(self, task: Callable[[int, int], Any], n_rows: int, most: int = MOST_BLOCKS) -> Any:
        """The sum of the results of all blocks, floats or arrays that the engine may overwrite."""
        return tree_sum(self.map(task, n_rows, most))


def tree_sum(parts: list[Any]) -> Any:
    """Add over a binary tree that depends on the number of parts alone; arrays are added in place."""
    while len(parts) > 1:
        pairs = [_added(parts[k], parts[k + 1]) for k in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0]


def _added(left: Any, right: Any) -> Any:
    return np.add(left, right, out=left) if isinstance(left, np.ndarray) else left + right
