"""A pass over the rows as a sum over blocks: in threads, and with the same bits whatever their number."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any

# A block of fewer entries is not worth a thread's waking up.
ENTRIES_PER_BLOCK = 1 << 17
MOST_BLOCKS = 64


class ThreadEngine:
    """Threads that run over blocks of rows, which depend on the number and the length of the rows alone.

    Parameters
    ----------
    entries_per_row : float
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

    def each(self, n_rows: int, work: Callable[[int, int], Any], most: int = MOST_BLOCKS) -> list[Any]:
        """Call ``work(first, last)`` for every block of the rows, and return the results in the blocks' order."""
        n_blocks = int(max(1, min(most, n_rows * self._entries_per_row // ENTRIES_PER_BLOCK)))
        cuts = [n_rows * k // n_blocks for k in range(n_blocks + 1)]
        n_workers = min(self._n_threads, n_blocks)
        results: list[Any] = [None] * n_blocks

        def run(start: int, stop: int) -> None:
            for number in range(start, stop):
                results[number] = work(cuts[number], cuts[number + 1])

        if n_workers <= 1:
            run(0, n_blocks)
            return results
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._n_threads - 1)
        # Every worker takes a stretch of neighbouring blocks; this thread is the first of them.
        ends = [n_blocks * k // n_workers for k in range(n_workers + 1)]
        others = [self._pool.submit(run, a, b) for a, b in pairwise(ends[1:])]
        try:
            run(0, ends[1])
        finally:
            for other in others:
                other.result()
        return results
