"""The online perceptron (theory A1), with lazy passes and averaging.

From w = 0, visit the rows in order; on a mistake, y_i f(x_i) <= 0, take w += eta y_i x_i, b += eta y_i. End after a
pass without a mistake. If a plane u with y_i u·x_i >= gamma ||u|| exists, at most (R/gamma)² updates are made (A4).

"Perceptron and Linear SVM", lecture 10, and theorem 10-1 (Novikov). Averaging: Freund and Schapire, "Large margin
classification using the perceptron algorithm", 1999.
"""

import math

import numpy as np

from maxmargin.loops.perceptron import Mistakes, NearerThan, NoAverage, RunningAverage, online_passes
from maxmargin.loops.screening import NoScreening, SafeScreening, start_safe_screening
from maxmargin.problems import PerceptronProblem
from maxmargin.solvers.core import Monitor
from maxmargin.solvers.perceptron.epochs import PassOutcome, PlaneRun, run_passes, separability_test
from maxmargin.solvers.perceptron.result import EpochOptions, PerceptronResult, Start

# Rows can be skipped once the updates of a pass take less from a margin than the margins are. Noting what was seen, a
# pass before, and testing it cost time too: for rows with this many entries they are worth it right at that point, and
# for short ones, which are read as fast as notes of them, only well below it.
ENTRIES_WORTH_A_NOTE = 64.0
# A pass that looked at less than this share of the rows has paid.
PAYING_SHARE = 0.8
# A call of the loop costs about as much as looking at this many rows.
ROWS_WORTH_A_CALL = 1 << 13


def solve(problem: PerceptronProblem, options: EpochOptions, start: Start, monitor: Monitor) -> PerceptronResult:
    """Run until a pass makes no mistake, or until the options or the monitor say stop."""
    return run_passes(OnlineRun(problem, options, start), options, monitor, separability_test(problem, options))


class OnlineRun(PlaneRun):
    """A run whose plane moves at once on each violation of ``rule``.

    ``lazy`` allows passes to skip rows that cannot have become violations; False, for measurements, looks at all.
    """

    lazy = True

    def __init__(self, problem: PerceptronProblem, options: EpochOptions, start: Start) -> None:
        super().__init__(problem, options, start)
        self.rule: Mistakes | NearerThan = Mistakes()
        self.looks: NoScreening | SafeScreening = NoScreening()
        self.average: NoAverage | RunningAverage = NoAverage()
        self.seen = start.seen
        # Doubled at every call, so that a short run does not draw many orders that it never uses.
        self._passes_ahead = 1
        if options.average_since is not None:
            self.average = RunningAverage(
                w=np.zeros_like(self.plane.w) if start.average_w is None else np.array(start.average_w),
                intercept=np.array([float(start.average_intercept)]),
                alpha=np.zeros_like(self.plane.alpha),
                seen=np.array([start.seen]),
                since=options.average_since,
            )
        self._typical_step = float(problem.steps.mean()) * problem.dataset.points.typical_norm
        length = problem.dataset.points.entries_per_row / ENTRIES_WORTH_A_NOTE
        self._worth_of_notes = length * min(1.0, length)
        self._mean_excess = 0.0

    def make_pass(self, monitor: Monitor) -> PassOutcome:
        """Visit the rows once, updating as they come."""
        updates, criterion, looks, visited, cut_short = 0, 0.0, 0, 0, None
        for part in self.parts():
            cut_short = monitor.check_limits() if visited else None
            if cut_short is not None:
                break
            [outcome] = self._visit(part[np.newaxis])
            updates, criterion, looks = updates + outcome.updates, criterion + outcome.criterion, looks + outcome.looks
            visited += part.size
        self._choose_screening(updates, looks)
        return PassOutcome(updates, criterion, looks, cut_short)

    def make_passes(self, monitor: Monitor, at_most: float) -> list[PassOutcome]:
        """Make one pass; or several in one call, where they are so short that the call would cost more."""
        rows_in_a_call = min(ROWS_WORTH_A_CALL, self._rows_per_call)
        count = int(min(rows_in_a_call // max(1, self.order.size), self._passes_ahead, at_most))
        if monitor.on_step is not None or count <= 1:
            self.shuffle()
            self._passes_ahead *= 2
            return [self.make_pass(monitor)]
        orders = np.empty((count, self.order.size), dtype=self.order.dtype)
        for order in orders:
            self.shuffle()
            order[:] = self.order
        outcomes = self._visit(orders)
        self._passes_ahead *= 2
        self._choose_screening(outcomes[-1].updates, outcomes[-1].looks)
        return outcomes

    def _visit(self, orders: np.ndarray) -> list[PassOutcome]:
        made = online_passes(self.examples, orders, self.rule, self.plane, self.looks, self.average)
        n_passes, updates, criterion, looks, excess = made
        self._mean_excess = excess[n_passes - 1] / max(1, looks[n_passes - 1])
        self.seen += n_passes * orders.shape[1]
        criterion /= self.problem.step
        return [PassOutcome(int(updates[k]), float(criterion[k]), int(looks[k])) for k in range(n_passes)]

    def result(self) -> tuple[np.ndarray, float, np.ndarray]:
        """The last plane, or the average of all planes since averaging began."""
        w, intercept, alpha = super().result()
        average = self.average
        if isinstance(average, RunningAverage) and self.seen > average.since:
            count = self.seen - average.since
            return (
                w - average.w / count,
                intercept - average.intercept[0] / count,
                alpha - average.alpha / count,
            )
        return w, intercept, alpha

    def end(self) -> Start:
        """The last plane, with the average's sums."""
        average = self.average if isinstance(self.average, RunningAverage) else None
        return Start(
            w=self.plane.w,
            intercept=float(self.plane.intercept[0]),
            average_w=None if average is None else average.w,
            average_intercept=0.0 if average is None else float(average.intercept[0]),
            seen=self.seen,
        )

    def _choose_screening(self, updates: int, looks: int) -> None:
        """Look at every row again, or begin to note what is seen, by what the last pass was like."""
        if self._may_pay(updates, looks):
            if isinstance(self.looks, NoScreening):
                self.looks = self._start_safe_screening()
        else:
            self.looks = NoScreening()

    def _may_pay(self, updates: int, looks: int) -> bool:
        if not self.lazy:
            return False
        if looks < PAYING_SHARE * self.order.size:
            return True
        points = self.problem.dataset.points
        # What a pass takes from a row's margin, at most; where no entry is negative, half of the updates take nothing.
        taken = updates * self._typical_step * points.typical_norm
        can_pay_for = self._mean_excess * self._worth_of_notes
        if not 0.0 < 0.5 * taken <= can_pay_for < math.inf:
            return False
        return taken <= can_pay_for or points.nonnegative

    def _start_safe_screening(self) -> SafeScreening:
        points = self.problem.dataset.points
        # Not through BLAS, whose threads cost more than this sum.
        length = math.sqrt(np.square(self.plane.w).sum())
        return start_safe_screening(
            np.sqrt(points.squared_norms),
            nonnegative=points.nonnegative,
            longest_row=points.longest_row,
            length=length,
        )
