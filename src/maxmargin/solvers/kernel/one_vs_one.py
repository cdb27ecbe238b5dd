"""Kernel SVMs of all pairs of classes: small ones several at a time, with kernel values that they share."""

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.data import ClassPairs
from maxmargin.engine.threads import RangeThreads
from maxmargin.problems.kernel_expansion import Scratch
from maxmargin.problems.kernel_svm import KernelProblem
from maxmargin.problems.one_vs_one import PairProblems
from maxmargin.solvers.core import Monitor, Result, Status
from maxmargin.solvers.kernel import smo_full_matrix
from maxmargin.solvers.kernel.base import SMOOptions
from maxmargin.solvers.kernel.kernel_matrix import KernelMatrix

# Shares of the cache: what the matrices of all classes may take together, and what that of a single pair may take.
SHARE_OF_CLASSES = 0.5
SHARE_OF_PAIR = 0.25
# Entries that one class counts for when classes are distributed to threads: enough for a thread of its own.
ENTRIES_PER_CLASS = 1 << 17


class PairSolver:
    """Solver of the problems of all pairs of classes.

    Parameters
    ----------
    problems : PairProblems
    options : SMOOptions
    method : module
        The solver of a pair's problem, with ``solve`` and ``initial_result``.

    Attributes
    ----------
    at_once : int
        How many pairs may be solved at the same time. Large ones use all threads themselves, one after the other.
    """

    def __init__(self, problems: PairProblems, options: SMOOptions, method: Any) -> None:
        pairs, whole = problems.pairs, problems.of_all_points
        self._method = method
        self.at_once = pairs_at_once(pairs, whole, options) if pairs.n_tasks > 1 else 0
        self._gram = PairMatrices(pairs, whole, options).of if self.at_once else None
        self.at_once = max(1, self.at_once)

    def solve(
        self, problem: KernelProblem, options: SMOOptions, monitor: Monitor, start: Result[Any] | None = None
    ) -> Result[Any]:
        """Run until the relative gap of a pair's problem is at most ``tol``.

        ``start`` is where an earlier attempt ended; it is the result where that attempt solved the problem.
        """
        if start is not None and start.status is Status.SOLVED:
            return start
        limit = monitor.check_limits()
        if limit is not None:
            # One of many pairs: even a kernel matrix would take longer than there is.
            result = start or self._method.initial_result(problem)
            result.status = limit
            return result
        return self._method.solve(problem, replace(options, gram=self._gram), monitor, start)


def pairs_at_once(pairs: ClassPairs, problem: KernelProblem, options: SMOOptions) -> int:
    """How many pairs' matrices may be held at the same time beside those of the classes; zero if not even one."""
    sizes = [rows.size for rows in pairs.rows_of_class]
    largest = sum(sorted(sizes)[-2:])
    entries = options.cache_size * 2**20 / np.dtype(options.dtype_for(problem)).itemsize
    of_pair, of_classes = largest**2, sum(size**2 for size in sizes)
    too_large = of_pair > SHARE_OF_PAIR * entries or of_classes > SHARE_OF_CLASSES * entries
    if largest > smo_full_matrix.MOST_ROWS or too_large:
        return 0
    return min(options.n_threads, int((1.0 - SHARE_OF_CLASSES) * entries // of_pair))


class PairMatrices:
    """Kernel matrices of pairs of classes; the block within a class is evaluated once for all its pairs.

    Parameters
    ----------
    pairs : ClassPairs
    problem : KernelProblem
        A problem of all points, whatever their signs.
    options : SMOOptions
    """

    def __init__(self, pairs: ClassPairs, problem: KernelProblem, options: SMOOptions) -> None:
        self._pairs = pairs
        self._matrix = KernelMatrix(problem.points, problem.kernel, options.dtype_for(problem))
        self._scratch = Scratch()
        self._within: list[np.ndarray] = []
        n_threads = options.n_threads if self._matrix.in_threads else 1
        with RangeThreads(ENTRIES_PER_CLASS, n_threads) as engine:
            for made in engine.map(self._of_classes, len(pairs.rows_of_class)):
                self._within.extend(made)

    def of(self, problem: KernelProblem) -> np.ndarray:
        """The matrix of a pair's problem; valid until the same thread asks for the next."""
        assert problem.rows is not None
        first, second = self._pairs.labelled.codes[problem.rows[[0, -1]]]
        rows, others = self._pairs.rows_of_class[first], self._pairs.rows_of_class[second]
        size, cut = problem.n_rows, rows.size
        gram = self._scratch.array((size, size), self._matrix.dtype)
        gram[:cut, :cut], gram[cut:, cut:] = self._within[first], self._within[second]
        self._matrix.block(rows, others, gram, cut)
        gram[cut:, :cut] = gram[:cut, cut:].T
        return gram

    def _of_classes(self, first: int, last: int) -> list[np.ndarray]:
        dtype = self._matrix.dtype
        return [
            self._matrix.block(rows, rows, np.empty((rows.size, rows.size), dtype=dtype))
            for rows in self._pairs.rows_of_class[first:last]
        ]
