"""The online perceptron, with safe screening and averaging.

From w = 0, run through the rows in order; on a mistake, y_i f(x_i) <= 0, take w += eta y_i x_i, b += eta y_i. End after
an epoch without a mistake. If a unit vector u with y_i u·x_i >= gamma exists, at most (R/gamma)² updates are made
(Novikoff's bound).

"Perceptron and Linear SVM", lecture 10, and theorem 10-1 (Novikov). Averaging: Freund and Schapire, "Large margin
classification using the perceptron algorithm", 1999.
"""

import math

import numpy as np

from maxmargin.loops.perceptron import MarginViolations, Mistakes, NoAverage, RunningAverage, online_epochs
from maxmargin.loops.screening import NoScreening, SafeScreening, start_safe_screening
from maxmargin.problems import PerceptronProblem
from maxmargin.solvers.core import Monitor, Positions, Result, solver
from maxmargin.solvers.perceptron.epochs import Epoch, LinearRun, run_epochs, separability_test
from maxmargin.solvers.perceptron.result import EpochOptions, PerceptronResult, Start, start_of

# Entries a row from which on screening pays as soon as the updates of an epoch take less from a margin than the margins
# are. Screening writes and reads a bound for each row: shorter rows are evaluated as fast as that.
ENTRIES_TO_SCREEN = 64.0
# An epoch that evaluated less than this share of the rows was faster than one without screening (measured).
SCREENED_SHARE = 0.8
# Rows whose evaluation takes about as long as one call of a compiled loop.
ROWS_PER_CALL_OVERHEAD = 1 << 13


@solver()
def solve(
    problem: PerceptronProblem, options: EpochOptions, monitor: Monitor, start: Start | Result[float] | None = None
) -> PerceptronResult:
    """Run until an epoch makes no mistake, or until the options or the monitor end the run."""
    run = OnlineRun(problem, options, start_of(start))
    return run_epochs(run, options, monitor, separability_test(problem, options))


class OnlineRun(LinearRun):
    """A run whose coefficients change at once on each violation of ``rule``.

    ``allow_screening`` lets epochs skip rows that cannot have become violations; False, for measurements, evaluates
    all rows.
    """

    allow_screening = True

    def __init__(self, problem: PerceptronProblem, options: EpochOptions, start: Start) -> None:
        super().__init__(problem, options, start)
        self.rule: Mistakes | MarginViolations = Mistakes()
        self.screening: NoScreening | SafeScreening = NoScreening()
        self.average: NoAverage | RunningAverage = NoAverage()
        self.seen = start.seen
        self._record_criterion = options.record_criterion
        # Doubled at every call, so that a short run does not draw many orders that it never uses.
        self._epochs_ahead = 1
        if options.average_since is not None:
            self.average = RunningAverage(
                w=np.zeros_like(self.coefficients.w) if start.average_w is None else np.array(start.average_w),
                intercept=np.array([float(start.average_intercept)]),
                alpha=np.zeros_like(self.coefficients.alpha),
                seen=np.array([start.seen]),
                since=options.average_since,
            )
        self._mean_step = float(problem.steps.mean()) * problem.dataset.points.typical_norm
        relative_length = problem.dataset.points.entries_per_row / ENTRIES_TO_SCREEN
        self._screening_gain = relative_length * min(1.0, relative_length)
        self._mean_excess = 0.0

    @property
    def checkpointed(self) -> tuple[str | Positions, ...]:  # type: ignore[override]
        """What the next epochs depend on."""
        averages = isinstance(self.average, RunningAverage)
        sums = ("average.w", "average.intercept", "average.alpha", "average.seen") if averages else ()
        return (*LinearRun.checkpointed, "seen", "_epochs_ahead", "_mean_excess", "screened", *sums)

    @property
    def screened(self) -> tuple[np.ndarray, ...] | None:
        """What is known of the rows, where they are screened."""
        screening = self.screening
        if isinstance(screening, NoScreening):
            return None
        return screening.safe_until, screening.path, screening.length

    @screened.setter
    def screened(self, known: tuple[np.ndarray, ...] | None) -> None:
        if known is None:
            self.screening = NoScreening()
            return
        fresh = self._start_safe_screening()
        arrays = fresh.safe_until, fresh.path, fresh.length
        if len(known) != len(arrays) or any(np.shape(new) != old.shape for new, old in zip(known, arrays, strict=True)):
            raise ValueError("the bounds of the rows have another length")
        self.screening = fresh._replace(safe_until=known[0], path=known[1], length=known[2])

    def epoch(self, monitor: Monitor) -> Epoch:
        """Run through the rows once, updating at each violation."""
        updates, loss, evaluated, n_rows, cut_short = 0, 0.0, 0, 0, None
        for part in self.parts():
            cut_short = monitor.check_limits() if n_rows else None
            if cut_short is not None:
                break
            [one] = self._run_loop(part[np.newaxis])
            updates, loss, evaluated = updates + one.updates, loss + one.online_loss, evaluated + one.rows_evaluated
            n_rows += part.size
        self._choose_screening(updates, evaluated)
        criterion = None
        if self._record_criterion:
            criterion = 0.0 if updates == 0 and cut_short is None else self.criterion()
        return Epoch(updates, loss, evaluated, criterion, cut_short)

    def epochs(self, monitor: Monitor, at_most: float) -> list[Epoch]:
        """Run one epoch; or several in one call, where they are so short that the call would take longer."""
        rows_in_a_call = min(ROWS_PER_CALL_OVERHEAD, self._rows_per_call)
        count = int(min(rows_in_a_call // max(1, self.order.size), self._epochs_ahead, at_most))
        if monitor.on_step is not None or self._record_criterion or count <= 1:
            self.shuffle()
            self._epochs_ahead = min(2 * self._epochs_ahead, ROWS_PER_CALL_OVERHEAD)
            return [self.epoch(monitor)]
        orders = np.empty((count, self.order.size), dtype=self.order.dtype)
        for order in orders:
            self.shuffle()
            order[:] = self.order
        epochs = self._run_loop(orders)
        self._epochs_ahead = min(2 * self._epochs_ahead, ROWS_PER_CALL_OVERHEAD)
        self._choose_screening(epochs[-1].updates, epochs[-1].rows_evaluated)
        return epochs

    def _run_loop(self, orders: np.ndarray) -> list[Epoch]:
        n_epochs, updates, online_loss, rows_evaluated, excess = online_epochs(
            self.examples, orders, self.rule, self.coefficients, self.screening, self.average
        )
        self._mean_excess = excess[n_epochs - 1] / max(1, rows_evaluated[n_epochs - 1])
        self.seen += n_epochs * orders.shape[1]
        online_loss /= self.problem.step
        return [Epoch(int(updates[k]), float(online_loss[k]), int(rows_evaluated[k])) for k in range(n_epochs)]

    def result(self) -> tuple[np.ndarray, float, np.ndarray]:
        """The last coefficients, or their average since averaging began."""
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
        """The last coefficients, with the sums of the average."""
        average = self.average if isinstance(self.average, RunningAverage) else None
        return Start(
            w=self.coefficients.w,
            intercept=float(self.coefficients.intercept[0]),
            average_w=None if average is None else average.w,
            average_intercept=0.0 if average is None else float(average.intercept[0]),
            seen=self.seen,
        )

    def _choose_screening(self, updates: int, rows_evaluated: int) -> None:
        """Start or end screening, by the updates and the evaluations of the last epoch."""
        if not self._screening_pays(updates, rows_evaluated):
            self.screening = NoScreening()
        elif isinstance(self.screening, NoScreening):
            self.screening = self._start_safe_screening()

    def _screening_pays(self, updates: int, rows_evaluated: int) -> bool:
        if not self.allow_screening:
            return False
        if rows_evaluated < SCREENED_SHARE * self.order.size:
            return True
        points = self.problem.dataset.points
        # The most that an epoch takes from a row's margin; without negative entries, half of the updates take nothing.
        taken = updates * self._mean_step * points.typical_norm
        affordable = self._mean_excess * self._screening_gain
        if not 0.0 < 0.5 * taken <= affordable < math.inf:
            return False
        return taken <= affordable or points.nonnegative

    def _start_safe_screening(self) -> SafeScreening:
        points = self.problem.dataset.points
        # Not through BLAS, whose threads cost more than this sum.
        length = math.sqrt(np.square(self.coefficients.w).sum())
        return start_safe_screening(
            np.sqrt(points.squared_norms),
            nonnegative=points.nonnegative,
            longest_row=points.longest_row,
            length=length,
        )
