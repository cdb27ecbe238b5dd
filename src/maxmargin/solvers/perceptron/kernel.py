"""The kernel perceptron (theory A8): A1 in the dual.

f(x) = sum of alpha_j y_j k(x_j, x); on a mistake at row i, alpha_i += eta. The scores of all rows are kept, so that a
look is one comparison. Rows are visited in blocks: within a block the gram matrix of its rows carries the updates on,
and after it the kernel columns of the rows that were updated, made together through BLAS, move all scores. Columns are
cached up to a bound, for near the end the same rows are updated again and again.

"The Perceptron Algorithm", lecture 8, section 1.4; Freund and Schapire, "Large margin classification using the
perceptron algorithm", 1999, section 3.
"""

import numpy as np

from maxmargin.loops.kernel_perceptron import kernel_block_pass
from maxmargin.problems.kernel_perceptron import KernelPerceptronProblem
from maxmargin.solvers.core import Monitor
from maxmargin.solvers.kernel.kernel_matrix import KernelCache, KernelMatrix
from maxmargin.solvers.perceptron.epochs import PassOutcome, RowVisits, run_passes
from maxmargin.solvers.perceptron.result import EpochOptions, PerceptronResult, Start

BLOCK_ROWS = 128


class KernelColumns(KernelCache):
    """The columns of the kernel matrix, in double precision, the most recently used ones kept in ``megabytes``.

    Parameters
    ----------
    problem : KernelPerceptronProblem
    megabytes : float
    """

    def __init__(self, problem: KernelPerceptronProblem, megabytes: float) -> None:
        matrix = KernelMatrix(problem.dataset.points, problem.kernel, np.float64)
        super().__init__(matrix, megabytes, at_least=BLOCK_ROWS)


def solve(
    problem: KernelPerceptronProblem,
    options: EpochOptions,
    monitor: Monitor,
    *,
    columns: KernelColumns,
    scores: np.ndarray | None = None,
) -> PerceptronResult:
    """Run until a pass makes no mistake, or until the options or the monitor say stop.

    ``scores`` are those of the rows at the start, where the run goes on from a model; else zero.
    """
    return run_passes(KernelRun(problem, options, columns, scores), options, monitor)


class KernelRun(RowVisits):
    """A run that keeps the duals and the scores of all rows."""

    def __init__(
        self,
        problem: KernelPerceptronProblem,
        options: EpochOptions,
        columns: KernelColumns,
        scores: np.ndarray | None,
    ) -> None:
        super().__init__(problem.dataset, options)
        self.problem = problem
        self.alpha = np.zeros(problem.dataset.points.n_rows)
        self.scores = np.zeros_like(self.alpha) if scores is None else np.array(scores, dtype=np.float64)
        self.intercept_change = 0.0
        self._columns = columns

    def make_pass(self, monitor: Monitor) -> PassOutcome:
        """Go from mistake to mistake; blocks without one cost a comparison a row."""
        order, signs = self.order, self.problem.dataset.signs
        updates, criterion, position, cut_short = 0, 0.0, 0, None
        while cut_short is None:
            wrong = signs[order[position:]] * self.scores[order[position:]] <= 0.0
            if not wrong.any():
                break
            position += int(wrong.argmax())
            block = order[position : position + BLOCK_ROWS]
            more, loss = self._visit(block)
            updates, criterion, position = updates + more, criterion + loss, position + block.size
            cut_short = monitor.check_limits() if position < order.size else None
        return PassOutcome(updates, criterion / self.problem.step, order.size, cut_short)

    def _visit(self, block: np.ndarray) -> tuple[int, float]:
        problem = self.problem
        signs = problem.dataset.signs[block]
        change = np.zeros(block.size)
        gram = self._columns.matrix.block(block, block, np.empty((block.size, block.size)))
        updates, criterion = kernel_block_pass(
            gram, signs, problem.steps[block], self.scores[block], problem.intercept_step, change
        )
        moved = np.flatnonzero(change)
        signed = (signs * change)[moved]
        self._columns.add_rows(self._columns.slots(block[moved]), signed, self.scores)
        self.scores += signed.sum() * problem.intercept_step
        self.intercept_change += float(signed.sum()) * problem.intercept_step
        if not np.isfinite(self.scores).all():
            raise ValueError("kernel gives values that are not finite: rescale X, or lower gamma, degree or coef0.")
        self.alpha[block] += change
        return updates, criterion

    def result(self) -> tuple[np.ndarray, float, np.ndarray]:
        """No w, the intercept's change, and the duals."""
        return np.empty(0), self.intercept_change, self.alpha

    def end(self) -> Start:
        """A feature space has no plane to go on from: the estimator keeps the expansion."""
        return Start()
