"""Kernel SVMs of all pairs of classes, with kernel values that they share.

Where the kernel matrix of all rows fits into memory, or few rows have duals, a few compiled calls solve all of them;
other pairs are solved several at a time.
"""

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from types import ModuleType
from typing import TypeAlias

import numpy as np

from maxmargin.data import ClassPairs
from maxmargin.data.exact_numbers import UNIT
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.engine.threads import RangeThreads, Threads
from maxmargin.loops.smo import GAP, INTERCEPT, N_VALUES, PRIMAL, VIOLATION, add_kernel_rows, ascend_class_pairs
from maxmargin.problems.kernel_expansion import Scratch
from maxmargin.problems.kernel_svm import KernelProblem, KernelSVMProblem
from maxmargin.problems.kernels import built_in
from maxmargin.problems.one_vs_one import PairProblems
from maxmargin.solvers.core import Monitor, Result, Status
from maxmargin.solvers.kernel import smo, smo_full_matrix
from maxmargin.solvers.kernel.base import SMOOptions, dtype_computed
from maxmargin.solvers.kernel.kernel_cache import KernelCache
from maxmargin.solvers.kernel.kernel_matrix import WORK_PER_COLUMN, KernelMatrix
from maxmargin.solvers.kernel.smo import largest_places
from maxmargin.solvers.kernel.smo_full_matrix import working_sets

# Shares of the cache: what the matrices of all classes may take together, and what that of a single pair may take.
SHARE_OF_CLASSES = 0.5
SHARE_OF_PAIR = 0.25
# Rows of a pair, and of all classes together, up to which the pairs are solved one after the other.
MOST_ROWS_OF_PAIR = 512
MOST_ROWS_TOGETHER = 2048
# Kernel values that are read between two checks of the interrupt flag: some hundredths of a second.
WORK_PER_CALL = float(1 << 25)
# Entries up to which the kernel matrix of all rows is held as a whole: 128 megabytes in single precision.
MOST_ENTRIES = 1 << 25
# More rows than ``MOST_ROWS_TOGETHER`` begin with a sample: rows of a class for each that is drawn, and how many are
# drawn at least.
ROWS_PER_SAMPLED, FEWEST_SAMPLED = 8, 16
# The sample is given up where it has grown to more rows, or where a larger share of it has duals: the kernel values
# that it saves are then few.
MOST_SAMPLED = 2048
LARGEST_SUPPORT = 0.4
# Rows that violate the KKT conditions and are added at a time, for every class of a pair, and how often that is done.
MOST_ADDED = 16
MOST_ROUNDS = 16
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
        self._together: JointPairs | None = None
        if self.at_once:
            small, matrices = are_small(pairs), PairMatrices(pairs, whole, options)
            self._gram = matrices.of
            if method is smo and not whole.hard and (small or fits_whole(whole, options) or built_in(whole.kernel)):
                self._together = JointPairs(pairs, whole, options, matrices)
                self._gram = self._together.gram_of
            self.at_once = 1 if small else self.at_once
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
            if start is not None:
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


def fits_whole(problem: KernelProblem, options: SMOOptions) -> bool:
    """Whether the kernel matrix of all rows may be held as a whole."""
    n_entries = problem.n_rows**2
    n_bytes = n_entries * np.dtype(options.dtype_for(problem)).itemsize
    return n_entries <= MOST_ENTRIES and n_bytes <= SHARE_OF_CLASSES * options.cache_size * 2**20


def takes_long_calls(monitor: Monitor, options: SMOOptions) -> bool:
    """Whether nothing is to be checked, or reported, between two pairs but interrupts."""
    listens = monitor.on_step is not None or monitor.record_of_task is not None
    return not listens and monitor.max_time is None and math.isinf(options.max_iter)


def position_of(pairs: ClassPairs, problem: KernelProblem) -> tuple[int, int]:
    """The classes of a pair's problem."""
    assert problem.rows is not None
    codes = pairs.labelled.codes
    return int(codes[problem.rows[0]]), int(codes[problem.rows[-1]])


class JointPairs:
    """Pairs of classes that share one kernel matrix, and compiled calls that solve many pairs each.

    The matrix is that of all rows. Of many rows it is that of a sample, at first: rows that violate the KKT conditions
    of a pair are added until there are none.

    Parameters
    ----------
    pairs : ClassPairs
    problem : KernelSVMProblem
        A problem of all points, whatever their signs.
    options : SMOOptions
    matrices : PairMatrices
        For pairs that are not solved here.
    """

    def __init__(
        self, pairs: ClassPairs, problem: KernelSVMProblem, options: SMOOptions, matrices: "PairMatrices"
    ) -> None:
        self._pairs, self._problem, self._options, self._matrices = pairs, problem, options, matrices
        self._stored = options.dtype_for(problem)
        rows, cuts = pairs.rows_by_class
        self._sizes = [part.size for part in pairs.rows_of_class]
        self._rows, self._cuts = rows, np.array(cuts)
        self._bounds = problem.loss.box_bound * problem.loss.weights[rows]
        of_pairs = [self._sizes[first] + self._sizes[second] for first, second in pairs.pairs]
        self._ends = list(accumulate(of_pairs, initial=0))
        self._betas, self._values = np.zeros(self._ends[-1]), np.zeros((len(of_pairs), N_VALUES))
        # A violation of less is due to rounding; margins are 1.
        self._sets = working_sets(max(of_pairs), math.inf, UNIT, options)
        self._places = {pair: k for k, pair in enumerate(pairs.pairs)}
        self._is_reached, self._is_open = np.zeros(len(of_pairs), dtype=bool), np.ones(len(of_pairs), dtype=bool)
        work = sum(size * size for size in of_pairs)
        self._n_threads = options.n_threads if work > WORK_PER_THREAD else 1
        self._gram: np.ndarray | None = None
        self._began, self._lock = False, threading.Lock()

    def result_of(self, problem: KernelProblem, monitor: Monitor) -> Result[float] | None:
        """The duals of a pair, and their values; None for a pair that was not reached."""
        assert isinstance(problem, KernelSVMProblem)
        k = self._places[position_of(self._pairs, problem)]
        with self._lock:
            if not self._began:
                self._began = True
                self._solve_all(monitor)
        steps, violation, b, primal, gap = self._values[k].tolist()
        if not (self._is_reached[k] and math.isfinite(b)):
            return None
        beta = self._betas[self._ends[k] : self._ends[k + 1]]
        return Result(NO_COEFFICIENTS, b, beta, primal, primal - gap, int(steps), kkt_violation=violation)

    def _solve_all(self, monitor: Monitor) -> None:
        """Solve all pairs, until there is an interrupt."""
        n_rows, problem = self._rows.size, self._problem
        engine = RangeThreads(WORK_PER_COLUMN, self._n_threads)
        with np.errstate(over="ignore", invalid="ignore"), engine, ending_when(monitor.must_stop):
            try:
                matrix = KernelMatrix(
                    problem.points, problem.kernel, dtype_computed(n_rows, self._stored), self._rows, engine
                )
                if n_rows > MOST_ROWS_TOGETHER and built_in(problem.kernel) and self._solve_on_sample(matrix, monitor):
                    self._is_reached[:] = True
                    return
                if not fits_whole(problem, self._options) and n_rows > MOST_ROWS_TOGETHER:
                    return
                self._is_open[:] = True
                gram: np.ndarray = np.empty((n_rows, n_rows), dtype=matrix.dtype)
                if not matrix.whole(gram, monitor):
                    return
            except InterruptedPassError:
                return
        self._gram = gram.astype(self._stored, copy=False)
        self._is_reached[:] = self._ascend(self._gram, self._cuts, self._bounds, self._betas, monitor)

    def _ascend(
        self, gram: np.ndarray, cuts: np.ndarray, bounds: np.ndarray, betas: np.ndarray, monitor: Monitor
    ) -> np.ndarray:
        """Solve all open pairs on the rows of a kernel matrix, in threads; return which were reached."""
        n_pairs, is_reached = len(self._places), np.zeros(len(self._places), dtype=bool)

        def solve(first: int, last: int) -> None:
            while first < last and not monitor.must_stop():
                reached = ascend_class_pairs(
                    gram,
                    cuts,
                    bounds,
                    betas,
                    self._values,
                    self._is_open,
                    self._sets,
                    first,
                    last,
                    WORK_PER_CALL,
                )
                is_reached[first:reached] = True
                first = reached

        n_jobs = min(4 * self._n_threads, n_pairs) if self._n_threads > 1 else 1
        ends = [n_pairs * k // n_jobs for k in range(n_jobs + 1)]
        with Threads(self._n_threads) as threads:
            threads.run([partial(solve, *stretch) for stretch in pairwise(ends)], alike=False)
        return is_reached

    def _solve_on_sample(self, matrix: KernelMatrix, monitor: Monitor) -> bool:
        """Solve all pairs on a sample of the rows that grows; return whether no other row violates the conditions.

        Rows are drawn at random, with the number of rows as the seed: the same data have the same result.
        """
        chosen, cuts, random = np.zeros(matrix.n_rows, dtype=bool), self._cuts.tolist(), np.random.default_rng(0)
        for first, size in zip(cuts, self._sizes, strict=False):
            chosen[first + random.permutation(size)[: max(FEWEST_SAMPLED, size // ROWS_PER_SAMPLED)]] = True
        cache = KernelCache(matrix, SHARE_OF_CLASSES * self._options.cache_size)
        for _ in range(MOST_ROUNDS):
            places = np.flatnonzero(chosen)
            if places.size > MOST_SAMPLED:
                return False
            gram: np.ndarray = np.empty((places.size,) * 2, dtype=matrix.dtype)
            matrix.block(places, places, gram)
            of_classes = [chosen[first:last] for first, last in pairwise(cuts)]
            inside = np.concatenate([of_classes[k] for pair in self._pairs.pairs for k in pair])
            betas = self._betas[inside]
            new_cuts = np.cumsum([0, *(np.count_nonzero(part) for part in of_classes)])
            if not self._ascend(gram, new_cuts, self._bounds[places], betas, monitor).all():
                return False
            if not np.isfinite(self._values[:, INTERCEPT]).all():
                # No row of a class has a weight.
                return False
            self._betas[inside] = betas
            support = self._support()
            if support.size > min(LARGEST_SUPPORT * places.size, cache.capacity):
                return False
            slots = np.full(matrix.n_rows, -1)
            slots[support] = cache.slots(support, monitor)
            if slots[support].min(initial=0) < 0:
                return False
            violating = self._violating(cache.stored, slots, inside)
            if violating.size == 0:
                return True
            chosen[violating] = True
        return False

    def _support(self) -> np.ndarray:
        """Places of the rows that have a dual in any pair."""
        has_dual = np.zeros(self._rows.size, dtype=bool)
        for k, (first, second) in enumerate(self._pairs.pairs):
            own = self._betas[self._ends[k] : self._ends[k + 1]] != 0.0
            for place, part in ((first, own[: self._sizes[first]]), (second, own[self._sizes[first] :])):
                has_dual[self._cuts[place] : self._cuts[place + 1]] |= part
        return np.flatnonzero(has_dual)

    def _violating(self, stored: np.ndarray, slots: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Places of rows outside of the sample that violate the KKT conditions of a pair.

        The values of the pairs become those of all rows; a pair without such rows is open no more. ``stored`` holds
        kernel rows, ``slots`` their positions; ``inside`` tells which rows of the pairs are sampled.
        """
        accepted, found, scores = self._sets.accepted, [np.empty(0, dtype=np.int64)], np.empty(self._rows.size)
        for k in np.flatnonzero(self._is_open).tolist():
            pair, start, values, halves = self._pairs.pairs[k], self._ends[k], self._values[k], []
            for sign, of_class in zip((1.0, -1.0), pair, strict=True):
                first, last = self._cuts[of_class : of_class + 2].tolist()
                halves.append((sign, first, last, slice(start, start + last - first)))
                start += last - first
            slacks = []
            for sign, first, last, own in halves:
                scores[first:last] = values[INTERCEPT]
                for _, other, _, part in halves:
                    beta = self._betas[part]
                    used = np.flatnonzero(beta)
                    add_kernel_rows(stored, slots[other + used], beta[used], scores, first, last)
                slack = np.maximum(1.0 - sign * scores[first:last], 0.0)
                # A row without weight has no dual.
                slack[inside[own] | (self._bounds[first:last] == 0.0)] = 0.0
                slacks.append(slack)
            loss = sum(
                float(self._bounds[first:last] @ slack)
                for (_, first, last, _), slack in zip(halves, slacks, strict=True)
            )
            # The largest derivative of a dual that may rise is above the intercept by half of the violation, at least.
            half = 0.5 * values[VIOLATION]
            violation = sum(max(half, float(slack.max(initial=0.0))) for slack in slacks)
            is_good = violation <= accepted and values[GAP] + loss <= self._options.tol * (values[PRIMAL] + loss)
            places = [
                first + largest_places(np.where(slack > 0.0, slack, -np.inf), 0 if is_good else MOST_ADDED)
                for (_, first, _, _), slack in zip(halves, slacks, strict=True)
            ]
            self._is_open[k] = any(part.size for part in places)
            found += places
            values[VIOLATION] = violation
            values[PRIMAL] += loss
            values[GAP] += loss
        return np.unique(np.concatenate(found))

    def gram_of(self, problem: KernelProblem) -> np.ndarray:
        """The kernel matrix of a pair's problem."""
        if self._gram is None:
            return self._matrices.of(problem)
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
