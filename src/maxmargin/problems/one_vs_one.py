"""All classes one against one, in the feature space of a kernel: problems that share their kernel values."""

from dataclasses import replace
from functools import cached_property

import numpy as np
from joblib import cpu_count

from maxmargin.data import ClassPair, ClassPairs
from maxmargin.problems.kernel_expansion import KernelSums, RowBlock, each_block, rows_at_once
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.kernels import Kernel, built_in
from maxmargin.problems.linear_svm import hinge, weights_of


class PairProblems:
    """The problems of all pairs of classes.

    Parameters
    ----------
    pairs : ClassPairs
    kernel : Kernel, or None for a gram matrix
    C : float
    """

    def __init__(self, pairs: ClassPairs, kernel: Kernel | None, C: float) -> None:
        self.pairs, self.kernel, self._C = pairs, kernel, C
        self._points = pairs.points.narrow if built_in(kernel) else pairs.points
        self._weights = weights_of(pairs.points, pairs.weights)

    def problem(self, pair: ClassPair) -> KernelSVMProblem:
        """The problem of a pair."""
        weights = self._weights if pair.rows is None else self._weights[pair.rows]
        loss = hinge(pair.signs, weights, self._C)
        if pair.rows is None:
            return replace(self.of_all_points, loss=loss)
        return replace(self.of_all_points, loss=loss, rows=pair.rows, whole=self.of_all_points)

    @cached_property
    def of_all_points(self) -> KernelSVMProblem:
        """A problem that holds all points, for their kernel values."""
        signs = np.ones(self.pairs.points.n_rows)
        return KernelSVMProblem(self._points, self.kernel, hinge(signs, self._weights, self._C))

    def scores(self, betas: list[np.ndarray]) -> list[np.ndarray]:
        """The scores of every pair's rows without intercept, given its duals.

        A row's sum over its own class is over the same kernel values for all its pairs, which are made once.
        """
        if self.pairs.n_tasks == 1:
            problem, support = self.problem(next(self.pairs.tasks())), np.flatnonzero(betas[0])
            return [problem.scores_of(slice(None), support, betas[0][support])]
        sizes = [rows.size for rows in self.pairs.rows_of_class]
        halves: dict[tuple[int, int], np.ndarray] = {}
        for pair, (first, second) in enumerate(self.pairs.pairs):
            halves[first, second], halves[second, first] = np.split(betas[pair], [sizes[first]])
        scores = {}
        for own in range(len(sizes)):
            others = [other for other in range(len(sizes)) if other != own]
            for other, column in zip(others, self._scores_of_class(own, others, halves), strict=True):
                scores[own, other] = column
        return [np.concatenate([scores[first, second], scores[second, first]]) for first, second in self.pairs.pairs]

    def _scores_of_class(self, own: int, others: list[int], halves: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
        """The scores of the rows of a class against every other, one line each."""
        rows, matrix = self.pairs.rows_of_class[own], self._points.matrix
        within = self._sums(own, np.stack([halves[own, other] for other in others], axis=1))
        across = [self._sums(other, halves[other, own][:, None]) for other in others]
        totals = np.empty((len(others), rows.size))

        def fill(part: slice) -> None:
            block = RowBlock(matrix[rows[part]])
            totals[:, part] = within.of(block).T
            for k, sums in enumerate(across):
                totals[k, part] += sums.of(block)[:, 0]

        each_block(rows.size, rows_at_once(matrix), fill, cpu_count() if within.in_threads else 1)
        return totals

    def _sums(self, of_class: int, betas: np.ndarray) -> KernelSums:
        """Sums over the rows of a class that have a dual in any column."""
        used = betas.any(axis=1)
        support = self.pairs.rows_of_class[of_class][used]
        return KernelSums(self.kernel, self._points.matrix, support, betas[used])
