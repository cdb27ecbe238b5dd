"""One-vs-one kernel SVMs: the problems of all pairs of classes, which share their kernel values."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from maxmargin.data import ClassPair, ClassPairs
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.interruption import check_interruption
from maxmargin.problems.kernel_expansion import (
    KEPT_SUPPORT_ENTRIES,
    KernelExpansion,
    each_block,
    rows_at_once,
    run_jobs,
    split_of,
)
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.kernels import Kernel, built_in
from maxmargin.problems.linear_svm import hinge, weights_of
from maxmargin.problems.sparse_products import ColumnSplit

# Kernel values of all rows with the support up to which they are evaluated together: 32 megabytes in float64.
MOST_ENTRIES = 1 << 22
# Kernel values up to which those of all classes are one block, and from which on they are evaluated in threads.
ENTRIES_OF_BLOCK = 1 << 16
ENTRIES_FOR_THREADS = 1 << 20


class PairProblems(Sequence[KernelSVMProblem]):
    """The problems of all pairs of classes, in the order of the pairs; each is built once.

    Parameters
    ----------
    pairs : ClassPairs
    kernel : Kernel, or None for a Gram matrix
    C : float
    n_threads : int, optional
        Threads for the scores, all cores if None.
    """

    def __init__(self, pairs: ClassPairs, kernel: Kernel | None, C: float, n_threads: int | None = None) -> None:
        self.pairs, self.kernel, self._C, self._n_threads = pairs, kernel, C, n_threads
        self._points = pairs.points.narrow if built_in(kernel) else pairs.points
        self._weights = weights_of(pairs.points, pairs.weights)

    def __len__(self) -> int:
        return self.pairs.n_tasks

    def __getitem__(self, pair: int) -> KernelSVMProblem:  # type: ignore[override]
        return self._problems[pair]

    @cached_property
    def _problems(self) -> list[KernelSVMProblem]:
        return [self.problem(pair) for pair in self.pairs.tasks()]

    def problem(self, pair: ClassPair) -> KernelSVMProblem:
        """The problem of a pair."""
        weights = self._weights if pair.rows is None else self._weights[pair.rows]
        loss = hinge(pair.signs, weights, self._C)
        whole = self.of_all_points
        if pair.rows is None:
            return replace(whole, loss=loss)
        return KernelSVMProblem(self._points, self.kernel, loss, pair.rows, whole, self._n_threads)

    @cached_property
    def of_all_points(self) -> KernelSVMProblem:
        """A problem of all points, whatever their signs: for what depends on the kernel alone."""
        loss = hinge(np.ones(self.pairs.points.n_rows), self._weights, self._C)
        return KernelSVMProblem(self._points, self.kernel, loss, n_threads=self._n_threads)

    def extremes_of(self, values: np.ndarray) -> list[tuple[float, float]]:
        """The smallest and the largest of some values of all points, for the rows of every pair of several classes."""
        order, cuts = self.pairs.rows_by_class
        ordered = values[order]
        least, most = (extreme.reduceat(ordered, cuts[:-1]).tolist() for extreme in (np.minimum, np.maximum))
        return [
            (min(least[first], least[second]), max(most[first], most[second])) for first, second in self.pairs.pairs
        ]

    def entry_errors(self) -> list[float]:
        """Upper bounds on the errors of the kernel values of every pair of several classes."""
        kernel = self.kernel
        if kernel is None or self._points.is_sparse:
            return [problem.entry_error for problem in self]
        longest = self._points.longest_row
        return [kernel.error(math.sqrt(square), longest) for _, square in self.extremes_of(self._points.squared_norms)]

    def scores(self, betas: list[np.ndarray]) -> list[np.ndarray]:
        """The scores of every pair's rows without intercept, given its duals, with NumPy's exponential function.

        A row's kernel values within its own class serve all its pairs and are evaluated once.
        """
        if self.pairs.n_tasks == 1:
            support = np.flatnonzero(betas[0])
            return [self[0].scores_of(slice(None), support, betas[0][support])]
        sizes = [rows.size for rows in self.pairs.rows_of_class]
        halves: dict[tuple[int, int], np.ndarray] = {}
        for pair, (first, second) in enumerate(self.pairs.pairs):
            beta, cut = betas[pair], sizes[first]
            halves[first, second], halves[second, first] = beta[:cut], beta[cut:]
        scores: dict[tuple[int, int], np.ndarray] = {}
        if built_in(self.kernel):
            scores = self._scores_at_once(halves)
        for own in range(len(sizes)) if not scores else ():
            others = [other for other in range(len(sizes)) if other != own]
            for other, column in zip(others, self._scores_of_class(own, others, halves), strict=True):
                scores[own, other] = column
        return [np.concatenate([scores[first, second], scores[second, first]]) for first, second in self.pairs.pairs]

    def _scores_at_once(self, halves: dict[tuple[int, int], np.ndarray]) -> dict[tuple[int, int], np.ndarray]:
        """The scores of every class in its pairs, by its kernel values with the whole support; none if these are many.

        They are evaluated once.
        """
        rows, cuts = self.pairs.rows_by_class
        n_classes = len(cuts) - 1
        duals = np.zeros((n_classes, rows.size))
        for (own, other), half in halves.items():
            duals[other, cuts[own] : cuts[own + 1]] = half
        used = duals.any(axis=0)
        support = duals[:, used]
        n_support = support.shape[1]
        if rows.size * n_support > MOST_ENTRIES or n_support * self._points.longest_row > KEPT_SUPPORT_ENTRIES:
            return {}
        expansion = KernelExpansion(self.kernel, self._points.matrix, rows[used], support.T, split=self._split)
        columns = np.concatenate([[0], np.cumsum(used)])[cuts].tolist()
        of_class = [slice(first, last) for first, last in pairwise(columns)]
        scores: dict[tuple[int, int], np.ndarray] = {}

        def fill(own: int, values: np.ndarray) -> None:
            within = support[:, of_class[own]] @ values[:, of_class[own]].T
            for other, part in enumerate(of_class):
                if other != own:
                    within[other] += values[:, part] @ support[own, part]
                    scores[own, other] = within[other]

        def evaluate(own: int) -> None:
            fill(own, expansion.values(expansion.row_block(self.pairs.rows_of_class[own])))

        if rows.size * support.shape[1] <= ENTRIES_OF_BLOCK:
            with one_blas_thread():
                values = expansion.values(expansion.row_block(rows))
                for own, (first, last) in enumerate(pairwise(cuts)):
                    check_interruption()
                    fill(own, values[first:last])
            return scores
        n_threads = self._n_threads if rows.size * support.shape[1] >= ENTRIES_FOR_THREADS else 1
        run_jobs([partial(evaluate, own) for own in range(n_classes)], n_threads)
        return scores

    def _scores_of_class(self, own: int, others: list[int], halves: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
        """The scores of the rows of a class in its pairs, one row of the result for each."""
        rows, matrix = self.pairs.rows_of_class[own], self._points.matrix
        within = self._expansion(own, np.stack([halves[own, other] for other in others], axis=1))
        across = [self._expansion(other, halves[other, own][:, None]) for other in others]
        totals = np.empty((len(others), rows.size))

        def fill(part: slice) -> None:
            block = within.row_block(rows[part])
            totals[:, part] = within.scores(block).T
            for k, expansion in enumerate(across):
                totals[k, part] += expansion.scores(block)[:, 0]

        each_block(rows.size, rows_at_once(matrix), fill, self._n_threads if within.in_threads else 1)
        return totals

    def _expansion(self, of_class: int, betas: np.ndarray) -> KernelExpansion:
        """The expansion over the rows of a class that have a dual in any column."""
        used = betas.any(axis=1)
        support = self.pairs.rows_of_class[of_class][used]
        return KernelExpansion(self.kernel, self._points.matrix, support, betas[used], split=self._split)

    @cached_property
    def _split(self) -> ColumnSplit | None:
        return split_of(self.kernel, self._points.matrix)
