"""The batch perceptron (theory A2): all mistakes of a pass are corrected at once.

w += eta sum(y_i x_i over the mistakes of w), a full subgradient step on the perceptron criterion. If a plane u with
y_i u·x_i >= gamma ||u|| exists, at most n (R/gamma)² single updates are made.

A. Zhang, "Perceptron and Support Vector Machine (SVM)", lecture 17, "The Perceptron Model: perceptron update".
"""

import numpy as np

from maxmargin.loops.perceptron import batch_pass
from maxmargin.problems import PerceptronProblem
from maxmargin.solvers.core import Monitor
from maxmargin.solvers.perceptron.epochs import PassOutcome, PlaneRun, run_passes, separability_test
from maxmargin.solvers.perceptron.result import EpochOptions, PerceptronResult, Start


def solve(problem: PerceptronProblem, options: EpochOptions, start: Start, monitor: Monitor) -> PerceptronResult:
    """Run until a pass makes no mistake, or until the options or the monitor say stop."""
    return run_passes(BatchRun(problem, options, start), options, monitor, separability_test(problem, options))


class BatchRun(PlaneRun):
    """A run whose plane moves once a pass."""

    def shuffle(self) -> None:
        """Order does not matter to a sum: keep the one that memory likes."""

    def make_pass(self, monitor: Monitor) -> PassOutcome:
        """Visit the rows once, then move; a pass that is cut short moves nothing."""
        change = np.zeros(self.plane.w.size + 1)
        alpha = self.plane.alpha.copy()
        mistakes, criterion, looks = 0, 0.0, 0
        for part in self.parts():
            cut_short = monitor.check_limits() if looks else None
            if cut_short is not None:
                return PassOutcome(0, 0.0, looks, cut_short)
            more, loss = batch_pass(self.examples, part, self.plane._replace(alpha=alpha), change)
            mistakes, criterion, looks = mistakes + more, criterion + loss, looks + part.size
        self.plane.w[:] += change[:-1]
        self.plane.intercept[0] += change[-1]
        self.plane.alpha[:] = alpha
        return PassOutcome(mistakes, criterion / self.problem.step, looks)
