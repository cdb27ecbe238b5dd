"""Kernel SVMs of all pairs of classes, with kernel values that they share.

Those of few rows are solved by a few compiled calls in all; larger ones several at a time.
"""

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate, pairwise
from types import ModuleType
from typing import TypeAlias

import numpy as np

from maxmargin.data import ClassPairs
from maxmargin.data.exact_numbers import UNIT
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.engine.threads import Threads
from maxmargin.loops.smo import N_VALUES, ascend_class_pairs
from maxmargin.problems.kernel_expansion import Scratch
from maxmargin.problems.kernel_svm import KernelProblem, KernelSVMProblem
from maxmargin.problems.kernels import built_in
from maxmargin.problems.one_vs_one import PairProblems
from maxmargin.solvers.core import Monitor, Result, Status
from maxmargin.solvers.kernel import smo, smo_full_matrix
from maxmargin.solvers.kernel.base import SMOOptions, dtype_computed, initial_result
from maxmargin.solvers.kernel.kernel_matrix import KernelMatrix
from maxmargin.solvers.kernel.smo_full_matrix import working_sets

# Shares of the cache: what the matrices of all classes may take together, and what that of a single pair may take.
SHARE_OF_CLASSES = 0.5
SHARE_OF_PAIR = 0.25
# Rows of a pair up to which all of its duals are one working set.
MOST_ROWS_OF_PAIR = 512
# Rows of all classes together up to which their kernel matrix is held as a whole, and kernel values that are read
# between two checks of the interrupt flag: some hundredths of a second.
MOST_ROWS_TOGETHER = 2048
WORK_PER_CALL = float(1 << 25)
# Entries of the kernel matrices of all pairs from which on they are solved in threads.
WORK_PER_THREAD = 1 << 21


# w in the feature space of a kernel.
NO_COEFFICIENTS = np.empty(0)

PairResult: TypeAlias = Result[float] | Result[np.ndarray]


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

    at_once: int

    def __init__(self, problems: PairProblems, options: SMOOptions, method: ModuleType) -> None:
        pairs, whole = problems.pairs, problems.of_all_points
        self._method = method
        self.at_once = pairs_at_once(pairs, whole, options) if pairs.n_tasks > 1 else 0
        self._gram: Callable[[KernelProblem], np.ndarray] | None = None
        self._together: SmallPairs | None = None
        if self.at_once and method is smo and not whole.hard and are_small(pairs):
            self._together, self.at_once = SmallPairs(pairs, whole, options), 1
            self._gram = self._together.gram_of
        elif self.at_once:
            self._gram = PairMatrices(pairs, whole, options).of
        self.at_once = max(1, self.at_once)

    def solve(
        self, problem: KernelProblem, options: SMOOptions, monitor: Monitor, start: PairResult | None = None
    ) -> PairResult:
        """Run until the relative gap of a pair's problem is at most ``tol``.

        ``start`` is where an earlier attempt ended; it is the result where that attempt solved the problem.
        """
        if start is not None and start.status is Status.SOLVED:
            return start
        if self._together is not None and start is None and takes_long_calls(monitor, options):
            start = self._together.result_of(problem, monitor)
            start.status = monitor.check_termination(start, options, "block") or Status.RUNNING
            if start.status is not Status.RUNNING:
                return start
        limit = monitor.check_limits()
        if limit is not None:
            # One of many pairs: even a kernel matrix would take longer than there is.
            result = start or self._method.initial_result(problem)
            result.status = limit
            return result
        found: PairResult = self._method.solve(problem, replace(options, gram=self._gram), monitor, start)
        return found


def are_small(pairs: ClassPairs) -> bool:
    """Whether the pairs have few rows, and all classes together do."""
    largest = sum(sorted(rows.size for rows in pairs.rows_of_class)[-2:])
    return largest <= MOST_ROWS_OF_PAIR and pairs.points.n_rows <= MOST_ROWS_TOGETHER


def takes_long_calls(monitor: Monitor, options: SMOOptions) -> bool:
    """Whether nothing is to be checked, or reported, between two pairs but interrupts."""
    listens = monitor.on_step is not None or monitor.record_of_task is not None
    return not listens and monitor.max_time is None and math.isinf(options.max_iter)


def position_of(pairs: ClassPairs, problem: KernelProblem) -> tuple[int, int]:
    """The classes of a pair's problem."""
    assert problem.rows is not None
    codes = pairs.labelled.codes
    return int(codes[problem.rows[0]]), int(codes[problem.rows[-1]])


class SmallPairs:
    """Pairs of classes of few rows: one kernel matrix of all rows, and compiled calls that solve many pairs each.

    Parameters
    ----------
    pairs : ClassPairs
    problem : KernelSVMProblem
        A problem of all points, whatever their signs.
    options : SMOOptions
    """

    def __init__(self, pairs: ClassPairs, problem: KernelSVMProblem, options: SMOOptions) -> None:
        self._pairs, self._problem, self._stored = pairs, problem, options.dtype_for(problem)
        rows, cuts = pairs.rows_by_class
        sizes = [part.size for part in pairs.rows_of_class]
        self._rows, self._cuts = rows, np.array(cuts)
        self._bounds = problem.loss.box_bound * problem.loss.weights[rows]
        of_pairs = [sizes[first] + sizes[second] for first, second in pairs.pairs]
        self._ends = list(accumulate(of_pairs, initial=0))
        self._betas, self._values = np.empty(self._ends[-1]), np.zeros((len(of_pairs), N_VALUES))
        # A violation of less is due to rounding; margins are 1.
        self._sets = working_sets(max(of_pairs), math.inf, UNIT, options)
        self._places, self._is_reached = (
            {pair: k for k, pair in enumerate(pairs.pairs)},
            np.zeros(len(of_pairs), dtype=bool),
        )
        work = sum(size * size for size in of_pairs)
        self._n_threads = options.n_threads if work > WORK_PER_THREAD else 1
        self._began = False

    @cached_property
    def _gram(self) -> np.ndarray:
        """The kernel matrix of all rows, evaluated when the first pair needs it: a limit may end that."""
        rows, size = self._rows, self._rows.size
        matrix = KernelMatrix(self._problem.points, self._problem.kernel, dtype_computed(size, self._stored), rows)
        gram: np.ndarray = np.empty((size, size), dtype=matrix.dtype)
        everything = np.arange(size)
        with np.errstate(over="ignore", invalid="ignore"):
            matrix.whole_rows(everything, everything, gram)
        return gram.astype(self._stored, copy=False)

    def result_of(self, problem: KernelProblem, monitor: Monitor) -> Result[float]:
        """The duals of a pair, and their values; those of a pair that was not reached are zero."""
        assert isinstance(problem, KernelSVMProblem)
        k = self._places[position_of(self._pairs, problem)]
        if not self._began:
            self._began = True
            self._solve_all(monitor)
        steps, violation, b, primal, gap = self._values[k].tolist()
        if not (self._is_reached[k] and math.isfinite(b)):
            return initial_result(problem)
        beta = self._betas[self._ends[k] : self._ends[k + 1]]
        return Result(NO_COEFFICIENTS, b, beta, primal, primal - gap, int(steps), kkt_violation=violation)

    def _solve_all(self, monitor: Monitor) -> None:
        """Solve all pairs, until there is an interrupt; every thread has a stretch of them."""
        try:
            with ending_when(monitor.must_stop):
                self._gram  # noqa: B018
        except InterruptedPassError:
            return
        n_pairs, n_jobs = len(self._places), min(4 * self._n_threads, len(self._places)) if self._n_threads > 1 else 1
        ends = [n_pairs * k // n_jobs for k in range(n_jobs + 1)]
        with Threads(self._n_threads) as threads:
            threads.run([partial(self._solve_stretch, *stretch, monitor) for stretch in pairwise(ends)], alike=False)

    def _solve_stretch(self, first: int, last: int, monitor: Monitor) -> None:
        while first < last and not monitor.must_stop():
            reached = ascend_class_pairs(
                self._gram,
                self._cuts,
                self._bounds,
                self._betas,
                self._values,
                self._sets,
                first,
                last,
                WORK_PER_CALL,
            )
            self._is_reached[first:reached] = True
            first = reached

    def gram_of(self, problem: KernelProblem) -> np.ndarray:
        """The kernel matrix of a pair's problem."""
        rows = np.concatenate([np.arange(*self._cuts[[k, k + 1]]) for k in position_of(self._pairs, problem)])
        found: np.ndarray = self._gram[np.ix_(rows, rows)]
        return found


def pairs_at_once(pairs: ClassPairs, problem: KernelProblem, options: SMOOptions) -> int:
    """How many pairs' matrices may be held at the same time beside those of the classes; zero if not even one."""
    sizes = [rows.size for rows in pairs.rows_of_class]
    largest = sum(sorted(sizes)[-2:])
    entries = options.cache_size * 2**20 / np.dtype(options.dtype_for(problem)).itemsize
    of_pair, of_classes = largest**2, sum(size**2 for size in sizes)
    too_large = of_pair > SHARE_OF_PAIR * entries or of_classes > SHARE_OF_CLASSES * entries
    if largest > smo_full_matrix.MOST_ROWS or too_large:
        return 0
    # A user's function is called by one thread at a time.
    n_threads = options.n_threads if problem.kernel is None or built_in(problem.kernel) else 1
    return min(n_threads, int((1.0 - SHARE_OF_CLASSES) * entries // of_pair))


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
        # Evaluated when the first pair of a class needs them: all at once would take too long for Ctrl-C.
        self._within: list[np.ndarray | None] = [None] * len(pairs.rows_of_class)
        self._locks = [threading.Lock() for _ in self._within]

    def of(self, problem: KernelProblem) -> np.ndarray:
        """The matrix of a pair's problem; valid until the same thread requests the next."""
        first, second = position_of(self._pairs, problem)
        rows, others = self._pairs.rows_of_class[first], self._pairs.rows_of_class[second]
        size, cut = problem.n_rows, rows.size
        gram = self._scratch.array((size, size), self._matrix.dtype)
        gram[:cut, :cut], gram[cut:, cut:] = self._of_class(first), self._of_class(second)
        self._matrix.block(rows, others, gram, cut)
        gram[cut:, :cut] = gram[:cut, cut:].T
        return gram

    def _of_class(self, k: int) -> np.ndarray:
        """The kernel matrix of a class."""
        with self._locks[k]:
            found = self._within[k]
            if found is None:
                rows = self._pairs.rows_of_class[k]
                gram: np.ndarray = np.empty((rows.size, rows.size), dtype=self._matrix.dtype)
                found = self._within[k] = self._matrix.block(rows, rows, gram)
        return found
