"""Kernel SVM and SVR: the dual objective, its box, and the primal objective of the hyperplane that the duals define.

:class:`KernelProblem` is what they share with the machines that have nu (:mod:`maxmargin.problems.nu_svm`).
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from maxmargin.data import Points, as_dense
from maxmargin.data.rows import Matrix, is_sparse
from maxmargin.problems.best_intercept import best_intercept
from maxmargin.problems.kernel_expansion import Exponentiate, expansion_scores, exponentiate, scores_of_own_rows
from maxmargin.problems.kernels import Kernel, Linear, UserFunction, built_in
from maxmargin.problems.linear_svm import LinearSVMProblem, SVMLoss
from maxmargin.problems.semidefinite import KernelFacts

# Relative to the longest phi(x): classes with a smaller margin count as not separable, since rounding errors in sums of
# kernel values are of that order.
NO_MARGIN = 1e-6
# Larger kernel values overflow when they are squared or added up.
LARGEST_VALUE = 1e140


@dataclass(frozen=True)
class KernelProblem:
    """Rows with their kernel, targets and weights, and the box of their signed duals.

    Attributes
    ----------
    points : Points
        All points; or rows of the Gram matrix, where ``kernel`` is None.
    kernel : Kernel or None
    loss : SVMLoss
        Of the rows of this problem.
    rows : ndarray of int, or None
        The positions of this problem's rows among the points, where it is about a part of them.
    whole : KernelProblem or None
        A problem of all points, where there is one: its diagonal and its test for definiteness serve its parts.
    n_threads : int or None
        Threads for ``scores_of``, all cores if None. The result does not depend on it.
    """

    points: Points
    kernel: Kernel | None
    loss: SVMLoss
    rows: np.ndarray | None = None
    whole: "KernelProblem | None" = None
    n_threads: int | None = None

    @property
    def n_rows(self) -> int:
        """The number of duals."""
        return self.loss.targets.size

    @cached_property
    def losses(self) -> LinearSVMProblem:
        """The losses and the box of the duals, which do not depend on the kernel, with an unpenalised intercept."""
        return LinearSVMProblem(self.points, self.loss, 0.0)

    def matrix_of(self, places: np.ndarray | slice) -> Matrix:
        """Some rows of this problem, with all columns."""
        return self.points.matrix[places if self.rows is None else self.rows[places]]

    def columns_of(self, places: np.ndarray) -> np.ndarray:
        """Positions of some rows of this problem among all points: the columns of a Gram matrix."""
        return places if self.rows is None else self.rows[places]

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """||x_i||² of the rows of this problem."""
        return self._of_rows(self.points.squared_norms)

    @property
    def largest_norm(self) -> float:
        """max ||x_i||"""
        return float(np.sqrt(self.squared_norms.max(initial=0.0)))

    @property
    def longest_row(self) -> int:
        """The largest number of stored entries in a row."""
        matrix = self.points.matrix
        if self.rows is None or not is_sparse(matrix):
            return self.points.longest_row
        return int(np.diff(matrix.indptr)[self.rows].max(initial=0))

    @cached_property
    def diagonal(self) -> np.ndarray:
        """k(x_i, x_i)"""
        if self.whole is not None:
            return self._of_rows(self.whole.diagonal)
        if self.kernel is None:
            return self._of_rows(np.asarray(np.diagonal(as_dense(self.points.matrix)), dtype=np.float64))
        with np.errstate(over="ignore", invalid="ignore"):
            # Only a user's function needs the rows themselves.
            rows = self.matrix_of(slice(None)) if isinstance(self.kernel, UserFunction) else self.points.matrix
            diagonal = self.kernel.diagonal(rows, self.squared_norms)
        # No other value of a positive semidefinite kernel is larger.
        if not float(np.abs(diagonal).max(initial=0.0)) <= LARGEST_VALUE:
            raise ValueError("kernel gives values too large to be squared: rescale X, or lower gamma, degree or coef0.")
        return diagonal

    @cached_property
    def kernel_facts(self) -> KernelFacts:
        """Whether the kernel is positive semidefinite; a part of the rows takes over what is known of all."""
        if self.whole is not None:
            return self.whole.kernel_facts
        if self.rows is None:
            return KernelFacts(self.kernel, self.points)
        rows = self.matrix_of(slice(None))
        return KernelFacts(self.kernel, Points(rows[:, self.rows] if self.kernel is None else rows))

    @property
    def may_be_indefinite(self) -> bool:
        """Whether the kernel may be indefinite: then the duals prove nothing."""
        return self.kernel_facts.may_be_indefinite

    @cached_property
    def entry_error(self) -> float:
        """Upper bound on the error of a kernel value."""
        if self.kernel is None:
            return self.kernel_facts.asymmetry
        return self.kernel.error(self.largest_norm, self.longest_row)

    @property
    def hard(self) -> bool:
        """Whether this is the hard-margin problem, C = inf."""
        return math.isinf(self.loss.box_bound)

    def part(self, places: np.ndarray) -> Self:
        """The problem of some rows alone; only their targets and weights are copied."""
        loss = self.loss._replace(targets=self.loss.targets[places], weights=self.loss.weights[places])
        whole = self if self.rows is None else self.whole
        return replace(self, loss=loss, rows=self.columns_of(places), whole=whole)

    def scores_of(
        self,
        places: np.ndarray | slice,
        support: np.ndarray,
        coefficients: np.ndarray,
        exponentiate: Exponentiate = exponentiate,
    ) -> np.ndarray:
        """The kernel expansion over the support at some rows, in float64.

        Solvers pass their own ``exponentiate``; certificates use NumPy's.
        """
        columns, column = self.columns_of(support), coefficients[:, None]
        whole = isinstance(places, slice) and places == slice(None)
        if whole and self.rows is None and isinstance(self.kernel, Linear):
            return expansion_scores(self.kernel, self.points.matrix, self.points.matrix, column, columns)[:, 0]
        if whole and self.kernel is not None and built_in(self.kernel):
            own = self.columns_of(np.arange(self.n_rows))
            matrix, n_threads = self.points.matrix, self.n_threads
            return scores_of_own_rows(
                self.kernel, matrix, own, support, column, n_threads=n_threads, exponentiate=exponentiate
            )[:, 0]
        rows = self.matrix_of(places)
        if self.kernel is None:
            return expansion_scores(None, rows, columns, column, n_threads=self.n_threads)[:, 0]
        return expansion_scores(
            self.kernel,
            rows,
            self.points.matrix,
            column,
            columns,
            n_threads=self.n_threads,
            exponentiate=exponentiate,
        )[:, 0]

    def _of_rows(self, values: np.ndarray) -> np.ndarray:
        return values if self.rows is None else values[self.rows]


@dataclass(frozen=True)
class KernelSVMProblem(KernelProblem):
    r"""The dual of the soft-margin SVM, or of epsilon-insensitive regression, in signed duals beta_i = y_i alpha_i.

    .. math:: \max_\beta \sum_i (t_i \beta_i - \epsilon |\beta_i|) - \tfrac12 \sum_{ij} \beta_i \beta_j k(x_i, x_j),
              \qquad \sum_i \beta_i = 0

    with beta_i between 0 and C y_i (times the row's weight) for a classifier, and between -C and C for a regression.
    """

    @property
    def infeasibility_bound(self) -> float:
        """The dual value from which on a problem with C = inf counts as one without a solution; else infinite.

        It is 1/(2 m²) of the smallest margin m that counts; in a regression, ||w||²/2 of a w so long that scores could
        span a million times the targets.
        """
        if not self.hard:
            return math.inf
        smallest = NO_MARGIN * math.sqrt(max(0.0, float(self.diagonal.max(initial=0.0))))
        if self.loss.one_sided:
            return 0.5 / smallest / smallest if smallest > 0.0 else 0.0
        size = 0.5 * float(np.ptp(self.loss.targets[self.loss.weights > 0.0]))
        if size <= self.loss.epsilon:
            # A constant is a solution.
            return math.inf
        # Where all kernel values are zero, every positive dual value has arbitrarily large multiples.
        return 0.5 * (size / smallest) * (size / smallest) if smallest > 0.0 else size * size

    @property
    def initial_violation(self) -> float:
        """The KKT violation where all duals are zero."""
        targets = self.loss.targets[self.loss.weights > 0.0]
        return max(0.0, float(np.ptp(targets)) - 2.0 * self.loss.epsilon)

    def hard_values(self, beta: np.ndarray, scores: np.ndarray) -> tuple[float, float, float]:
        """Primal and dual value for C = inf, and the intercept.

        In a regression the primal value is that of the exact penalty, see :meth:`penalized`.
        """
        if self.loss.one_sided:
            return self.margin_values(beta, scores)
        soft = self.penalized(beta)
        b = best_intercept(soft.losses, scores)
        return soft.primal_value(beta, scores, b), soft.dual_value(beta, scores), b

    def penalized(self, beta: np.ndarray) -> "KernelSVMProblem":
        """The regression with C twice the largest dual, in place of C = inf: an exact penalty.

        Its dual value at beta bounds the problem with C = inf from below, too. Where the gap at this C is g, the w has
        at most g more than the least ||w||²/2, and its residuals exceed epsilon by at most 2 g/C in all: at half this C
        the primal value is still no less than the dual value.
        """
        penalty = 2.0 * float(np.abs(beta).max(initial=0.0)) or 1.0
        return replace(self, loss=self.loss._replace(box_bound=penalty))

    def margin_values(self, beta: np.ndarray, scores: np.ndarray) -> tuple[float, float, float]:
        """Primal and dual value for C = inf, each at its best scaling, and the intercept.

        A hyperplane of margin m has the primal value 1/(2 m²) when it is scaled to y f >= 1, and points of the classes'
        convex hulls at a distance 2 u have the dual value 1/(2 u²).
        """
        counted, above = self.loss.weights > 0.0, self.loss.targets > 0.0
        lowest = float(scores.min(where=counted & above, initial=math.inf))
        highest = float(scores.max(where=counted & ~above, initial=-math.inf))
        # Lengths, not their squares: products of tiny kernel values underflow.
        length, total = math.sqrt(max(0.0, float(beta @ scores))), float(np.abs(beta).sum())
        half = 0.5 * (lowest - highest)
        primal = 0.5 * (length / half) * (length / half) if half > 0.0 and length > 0.0 else math.inf
        dual = 0.5 * (total / length) * (total / length) if length > 0.0 else (math.inf if total > 0.0 else 0.0)
        return primal, dual, -0.5 * (lowest + highest)

    def primal_value(self, beta: np.ndarray, scores: np.ndarray, b: float) -> float:
        """The primal value of w = sum_j beta_j phi(x_j) and b, given the scores without intercept."""
        return 0.5 * float(beta @ scores) + float(self.losses.losses(scores + b).sum())

    def dual_value(self, beta: np.ndarray, scores: np.ndarray) -> float:
        """The dual value at a feasible point, given the scores sum_j beta_j k(x_j, x_i)."""
        return float(self.losses.dual_terms(beta).sum()) - 0.5 * float(beta @ scores)
