"""The online perceptron with a penalty: stochastic gradient descent on the perceptron criterion.

For every row, w shrinks by the factor 1 - eta alpha (1 - r); on a mistake, w += eta y_i x_i, b += eta y_i; then every
coefficient of the row's columns moves towards zero by what the 1-norm, of weight eta alpha r for every row so far, has
not taken of it yet: Tsuruoka, Tsujii, Ananiadou, "Stochastic gradient descent training for L1-regularized log-linear
models with cumulative penalty", 2009. This is scikit-learn's ``Perceptron(penalty=...)``. No mistake bound holds, and a
pass without a mistake is not the end: the coefficients go on shrinking.
"""

import numpy as np

from maxmargin.loops.perceptron import Shrinkage, penalised_epoch
from maxmargin.problems import PerceptronProblem
from maxmargin.solvers.core import Monitor, Result, solver
from maxmargin.solvers.perceptron.epochs import Epoch, LinearRun, run_epochs
from maxmargin.solvers.perceptron.result import EpochOptions, PerceptronResult, Start, start_of


@solver(
    {
        "a penalty": lambda problem, _: problem.is_penalised,
        "no average": lambda _, options: options.average_since is None,
    }
)
def solve(
    problem: PerceptronProblem, options: EpochOptions, monitor: Monitor, start: Start | Result[float] | None = None
) -> PerceptronResult:
    """Run until the options or the monitor end the run."""
    return run_epochs(PenalisedRun(problem, options, start_of(start)), options, monitor)


class PenalisedRun(LinearRun):
    """A run whose coefficients shrink with every row; the losses of its epochs include the penalty."""

    checkpointed = (*LinearRun.checkpointed, "shrinkage.taken", "shrinkage.total", "shrinkage.norms")
    ends_without_mistakes = False

    def __init__(self, problem: PerceptronProblem, options: EpochOptions, start: Start) -> None:
        super().__init__(problem, options, start)
        self._record_criterion = options.record_criterion
        self.shrinkage = Shrinkage(
            factor=max(0.0, 1.0 - (1.0 - problem.l1_ratio) * problem.step * problem.alpha),
            step=problem.l1_ratio * problem.step * problem.alpha,
            alpha=problem.alpha,
            l1_ratio=problem.l1_ratio,
            taken=np.zeros_like(self.coefficients.w),
            total=np.zeros(1),
            norms=np.array([np.abs(self.coefficients.w).sum(), np.square(self.coefficients.w).sum()]),
            # The stall test alone needs it.
            adds_penalty=options.tol is not None,
        )

    def epoch(self, monitor: Monitor) -> Epoch:
        """Run through the rows once."""
        updates, loss, n_rows, cut_short = 0, 0.0, 0, None
        for part in self.parts():
            cut_short = monitor.check_limits() if n_rows else None
            if cut_short is not None:
                break
            more, of_part = penalised_epoch(self.examples, part, self.coefficients, self.shrinkage)
            updates, loss, n_rows = updates + more, loss + of_part, n_rows + part.size
        return Epoch(updates, loss, n_rows, self.criterion() if self._record_criterion else None, cut_short)
