"""The kernel perceptron: the online perceptron in the dual.

f(x) = sum of alpha_j y_j k(x_j, x); on a mistake at row i, alpha_i += eta. The scores of all rows are stored, so that
an evaluation is one comparison. Rows are taken in blocks: within a block the Gram matrix of its rows updates their
scores, and after it the kernel columns of the updated rows, computed together through BLAS, update all scores. Columns
are cached up to a bound, since late epochs update the same rows again and again.

"The Perceptron Algorithm", lecture 8, section 1.4; Freund and Schapire, "Large margin classification using the
perceptron algorithm", 1999, section 3.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from maxmargin.data.interruption import InterruptedPassError, check_interruption, ending_when
from maxmargin.loops.perceptron import kernel_block_epoch
from maxmargin.problems.kernel_perceptron import KernelPerceptronProblem
from maxmargin.problems.kernels import refuse_unless_finite
from maxmargin.solvers.core import Monitor, Positions, Result, solver
from maxmargin.solvers.kernel.kernel_cache import KernelCache
from maxmargin.solvers.kernel.kernel_matrix import KernelMatrix
from maxmargin.solvers.perceptron.epochs import Epoch, EpochRun, result_of, run_epochs
from maxmargin.solvers.perceptron.result import EpochOptions, PerceptronResult, Start, start_of

# Rows whose Gram matrix is computed at a time: large enough for BLAS, small beside the cache of columns.
BLOCK_ROWS = 128
# The size of a cache that a run makes for itself, in megabytes.
CACHE_MEGABYTES = 200.0


def kernel_columns(problem: KernelPerceptronProblem, megabytes: float) -> KernelCache:
    """An empty cache of the kernel matrix's columns, in double precision; limits may end what prepares the rows."""
    check_interruption()
    matrix = KernelMatrix(problem.dataset.points, problem.kernel, np.float64)
    return KernelCache(matrix, megabytes, at_least=BLOCK_ROWS)


@dataclass(frozen=True)
class KernelOptions(EpochOptions):
    """Options of the kernel perceptron.

    Attributes
    ----------
    columns : callable or None
        Returns the kernel cache, which all tasks on the same rows can share; None for a cache of the run's own.
    """

    columns: Callable[[], KernelCache] | None = None


@solver()
def solve(
    problem: KernelPerceptronProblem,
    options: KernelOptions,
    monitor: Monitor,
    start: Start | Result[float] | None = None,
) -> PerceptronResult:
    """Run until an epoch makes no mistake, or until the options or the monitor end the run.

    ``start`` holds the scores of the rows, where the run continues from a model.
    """
    run = KernelRun(problem, options, start_of(start))
    try:
        with ending_when(monitor.must_stop):
            run.load_columns()
    except InterruptedPassError:
        return result_of(run, monitor.status_when_stopped(), [])
    return run_epochs(run, options, monitor)


class KernelRun(EpochRun):
    """A run that keeps the duals and the scores of all rows."""

    checkpointed = ("alpha", "scores", "intercept_change", "_columns", "_shuffler", Positions("order", "alpha"))

    def __init__(self, problem: KernelPerceptronProblem, options: KernelOptions, start: Start) -> None:
        super().__init__(problem.dataset, options, start)
        self.problem = problem
        self.alpha = np.zeros(problem.dataset.points.n_rows)
        self.scores = np.zeros_like(self.alpha) if start.scores is None else np.array(start.scores, dtype=np.float64)
        self.intercept_change = 0.0
        self._find_columns = options.columns or partial(kernel_columns, problem, CACHE_MEGABYTES)

    def load_columns(self) -> None:
        """Make the cache of columns, unless another run has made it."""
        self._columns = self._find_columns()

    def epoch(self, monitor: Monitor) -> Epoch:
        """Run from mistake to mistake; rows between two blocks take a comparison each."""
        order, signs = self.order, self.problem.dataset.signs
        updates, loss, position, cut_short = 0, 0.0, 0, None
        while cut_short is None:
            wrong = signs[order[position:]] * self.scores[order[position:]] <= 0.0
            if not wrong.any():
                break
            position += int(wrong.argmax())
            block = order[position : position + BLOCK_ROWS]
            more, block_loss = self._block(block)
            updates, loss, position = updates + more, loss + block_loss, position + block.size
            monitor.reserve_for(order.size, int(np.count_nonzero(self.alpha)))
            cut_short = monitor.check_limits() if position < order.size else None
        criterion = float(np.maximum(0.0, -signs[order] * self.scores[order]).sum())
        return Epoch(updates, loss / self.problem.step, order.size, criterion, cut_short)

    def _block(self, block: np.ndarray) -> tuple[int, float]:
        problem = self.problem
        signs = problem.dataset.signs[block]
        change = np.zeros(block.size)
        gram = self._columns.matrix.block(block, block, np.empty((block.size, block.size)))
        updates, loss = kernel_block_epoch(
            gram, signs, problem.steps[block], self.scores[block], problem.intercept_step, change
        )
        moved = np.flatnonzero(change)
        signed = (signs * change)[moved]
        self._columns.add_rows(self._columns.slots(block[moved]), signed, self.scores)
        self.scores += signed.sum() * problem.intercept_step
        self.intercept_change += float(signed.sum()) * problem.intercept_step
        refuse_unless_finite(bool(np.isfinite(self.scores).all()))
        self.alpha[block] += change
        return updates, loss

    def result(self) -> tuple[np.ndarray, float, np.ndarray]:
        """No w, the intercept's change, and the duals."""
        return np.empty(0), self.intercept_change, self.alpha

    def end(self) -> Start:
        """The scores of the rows."""
        return Start(scores=self.scores)
