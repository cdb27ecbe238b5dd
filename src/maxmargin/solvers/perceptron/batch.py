"""The batch perceptron: all mistakes of an epoch are corrected at once.

w += eta sum(y_i x_i over the mistakes of w), a full subgradient step on the perceptron criterion. If a unit vector u
with y_i u·x_i >= gamma exists, at most n (R/gamma)² single updates are made.

A. Zhang, "Perceptron and Support Vector Machine (SVM)", lecture 17, "The Perceptron Model: perceptron update".
"""

import numpy as np

from maxmargin.loops.perceptron import batch_epoch
from maxmargin.problems import PerceptronProblem
from maxmargin.solvers.core import Monitor, Result, solver
from maxmargin.solvers.perceptron.epochs import Epoch, LinearRun, run_epochs, separability_test
from maxmargin.solvers.perceptron.result import EpochOptions, PerceptronResult, Start, start_of


@solver()
def solve(
    problem: PerceptronProblem, options: EpochOptions, monitor: Monitor, start: Start | Result[float] | None = None
) -> PerceptronResult:
    """Run until an epoch makes no mistake, or until the options or the monitor end the run."""
    run = BatchRun(problem, options, start_of(start))
    return run_epochs(run, options, monitor, separability_test(problem, options))


class BatchRun(LinearRun):
    """A run whose coefficients change once an epoch."""

    def shuffle(self) -> None:
        """Keep the order of the rows in memory: the order does not matter to a sum."""

    def epoch(self, monitor: Monitor) -> Epoch:
        """Evaluate all rows, then update; an epoch that is cut short changes nothing."""
        change = np.zeros(self.coefficients.w.size + 1)
        alpha = self.coefficients.alpha.copy()
        mistakes, criterion, rows_evaluated = 0, 0.0, 0
        for part in self.parts():
            cut_short = monitor.check_limits() if rows_evaluated else None
            if cut_short is not None:
                return Epoch(0, 0.0, rows_evaluated, cut_short=cut_short)
            more, loss = batch_epoch(self.examples, part, self.coefficients._replace(alpha=alpha), change)
            mistakes, criterion, rows_evaluated = mistakes + more, criterion + loss, rows_evaluated + part.size
        self.coefficients.w[:] += change[:-1]
        self.coefficients.intercept[0] += change[-1]
        self.coefficients.alpha[:] = alpha
        return Epoch(mistakes, criterion / self.problem.step, rows_evaluated)

    def criterion_per_epoch(self, record: list[Epoch]) -> np.ndarray:
        """J(w, b) after each epoch: the loss that the next epoch evaluates; only the last one is computed."""
        losses = [epoch.online_loss for epoch in record if epoch.cut_short is None]
        solved = bool(record) and record[-1].cut_short is None and record[-1].updates == 0
        # An epoch that is cut short changes nothing: the criterion after it is the one before it.
        now = 0.0 if solved else self.criterion()
        return np.array([*losses[1:], now, now][: len(record)], dtype=np.float64)
