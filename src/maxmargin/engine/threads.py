"""Threads that share a list of jobs, and passes over ranges of items."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from itertools import pairwise
from types import TracebackType
from typing import TypeVar

from maxmargin.data.interruption import check_interruption

# Matrix entries of the smallest block that is worth a thread.
ENTRIES_PER_BLOCK = 1 << 17
MOST_BLOCKS = 64

T = TypeVar("T")


class Threads:
    """Up to ``n_threads`` threads, the calling one included; the others start when they are first needed."""

    def __init__(self, n_threads: int) -> None:
        self._n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "Threads":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    @property
    def n_threads(self) -> int:
        """The number of threads."""
        return self._n_threads

    def run(self, jobs: Sequence[Callable[[], T]], *, alike: bool = True) -> list[T]:
        """Run all jobs, every thread a stretch of neighbours; return their results in order.

        Jobs that are not ``alike`` in their work are taken one at a time by the next thread that is free.
        """
        n_workers = min(self._n_threads, len(jobs))
        if n_workers <= 1:
            return [_call(job) for job in jobs]
        results: list[T] = [None] * len(jobs)  # type: ignore[list-item]

        def work(numbers: Iterable[int]) -> None:
            for number in numbers:
                results[number] = _call(jobs[number])

        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._n_threads - 1)
        ends = [len(jobs) * k // n_workers for k in range(n_workers + 1)]
        shares: list[Iterable[int]] = [range(*stretch) for stretch in pairwise(ends)]
        if not alike:
            shares = [iter(range(len(jobs)))] * n_workers
        others = [self._pool.submit(copy_context().run, work, share) for share in shares[1:]]
        try:
            work(shares[0])
        finally:
            for other in others:
                other.result()
        return results


CALLING_THREAD = Threads(1)


def _call(job: Callable[[], T]) -> T:
    check_interruption()
    return job()


class RangeThreads(Threads):
    """Runs tasks ``task(first, last)`` on ranges of items, which depend on their number and size alone.

    Parameters
    ----------
    entries_per_item : float
        The work of an item, in entries of a matrix.
    n_threads : int
    """

    def __init__(self, entries_per_item: float, n_threads: int) -> None:
        super().__init__(n_threads)
        self._entries_per_item = entries_per_item

    def __enter__(self) -> "RangeThreads":
        return self

    def map(self, task: Callable[[int, int], T], n_items: int, most: int = MOST_BLOCKS) -> list[T]:
        """Call ``task(first, last)`` for at most ``most`` ranges of the items; return the results in order."""
        n_ranges = int(max(1, min(most, n_items * self._entries_per_item // ENTRIES_PER_BLOCK)))
        return self.run([partial(task, first, last) for first, last in ranges(n_items, n_ranges)])


def ranges(n_items: int, n_ranges: int) -> list[tuple[int, int]]:
    """First and last of ranges of nearly the same size."""
    return list(pairwise(n_items * k // n_ranges for k in range(n_ranges + 1)))
