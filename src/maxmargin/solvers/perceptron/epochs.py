"""The outer loop of every algorithm that makes passes over the rows: order, record, and when to stop."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from maxmargin.data import Dataset, Points
from maxmargin.loops.perceptron import Examples, Plane
from maxmargin.problems import PerceptronProblem
from maxmargin.solvers.core import ENTRIES_PER_CALL, Monitor, Status, StepReport
from maxmargin.solvers.perceptron.result import EpochOptions, PerceptronResult, Start
from maxmargin.solvers.separability.separability_test import SeparabilityTest


class PassOutcome(NamedTuple):
    """What a pass met. ``cut_short`` says why it ended before its last row, if it did."""

    updates: int
    criterion: float
    looks: int
    cut_short: Status | None = None


class RowVisits:
    """The order in which a run visits the rows, pass after pass; subclasses say what a visit does."""

    def __init__(self, dataset: Dataset, options: EpochOptions) -> None:
        self.dataset = dataset
        self.order = rows_to_visit(dataset, options.held_out)
        self._shuffler = np.random.default_rng(options.seed) if options.shuffle else None

    def shuffle(self) -> None:
        """Draw the next pass's order."""
        if self._shuffler is not None:
            self._shuffler.shuffle(self.order)

    @abstractmethod
    def make_pass(self, monitor: Monitor) -> PassOutcome:
        """Visit the rows once."""

    def make_passes(self, monitor: Monitor, at_most: float) -> list[PassOutcome]:  # noqa: ARG002
        """Make at least one pass, and at most this many."""
        self.shuffle()
        return [self.make_pass(monitor)]

    @abstractmethod
    def result(self) -> tuple[np.ndarray, float, np.ndarray]:
        """w, b and alpha, as a user would get them now (a run in a feature space has no w: an empty one)."""

    @abstractmethod
    def end(self) -> Start:
        """Where a later run would go on."""


class PlaneRun(RowVisits):
    """A run that moves a plane in the space of the rows."""

    def __init__(self, problem: PerceptronProblem, options: EpochOptions, start: Start) -> None:
        super().__init__(problem.dataset, options)
        points = problem.dataset.points
        self.problem = problem
        self.examples = Examples(points.rows, problem.dataset.signs, problem.steps, problem.intercept_step)
        w = np.zeros(points.n_columns) if start.w is None else np.array(start.w, dtype=np.float64)
        self.plane = Plane(w, np.array([float(start.intercept)]), np.zeros(points.n_rows))
        self._rows_per_call = max(1, ENTRIES_PER_CALL // max(1, points.longest_row))

    def parts(self) -> Iterator[np.ndarray]:
        """Yield the order in parts that are each short enough to be one call of a loop."""
        for begin in range(0, self.order.size, self._rows_per_call):
            yield self.order[begin : begin + self._rows_per_call]

    def result(self) -> tuple[np.ndarray, float, np.ndarray]:
        """The plane as it is now, and the steps taken on each row."""
        return self.plane.w, float(self.plane.intercept[0]), self.plane.alpha

    def end(self) -> Start:
        """The plane as it is now."""
        return Start(self.plane.w, float(self.plane.intercept[0]))


class PassRecord:
    """Updates, criterion and looks of every pass, and whether the next pass is worth making.

    Without held-out rows the run has stalled once the criterion of ``n_iter_no_change`` passes in a row was not
    smaller by ``tol`` a row than the best before; with them, once their accuracy was not greater by ``tol``.
    """

    def __init__(self, options: EpochOptions, monitor: Monitor, run: RowVisits) -> None:
        self.outcomes: list[PassOutcome] = []
        self._options = options
        self._monitor = monitor
        self._run = run
        self._best = math.inf
        self._passes_without_progress = 0

    def add(self, outcome: PassOutcome, error: float | None = None) -> Status | None:
        """Record a pass; return why to stop after it, or None. ``error`` is that of the held-out rows."""
        self.outcomes.append(outcome)
        asked = self._monitor.report(
            lambda: StepReport(
                step="pass",
                number=len(self.outcomes),
                summary=f"{outcome.updates} mistakes, criterion {outcome.criterion:.6g}",
                share=len(self.outcomes) / self._options.max_iter,
                result=self._run.result,
            )
        )
        if outcome.cut_short is not None:
            return outcome.cut_short
        if outcome.updates == 0:
            return Status.SOLVED
        if error is None:
            # Mistakes with a criterion of zero are those of the zero plane, which says nothing of progress.
            error = outcome.criterion / self._run.order.size if outcome.criterion > 0.0 else math.inf
        if self._has_stalled(error):
            return Status.STALLED
        if asked is not None:
            return asked
        return Status.ITERATION_LIMIT if len(self.outcomes) >= self._options.max_iter else None

    def passes_before_judgement(self) -> float:
        """How many passes can be made before anything but a pass without updates could end the run."""
        if self._options.tol is None and self._options.held_out is None:
            return self._options.max_iter - len(self.outcomes)
        return 1

    def _has_stalled(self, value: float) -> bool:
        if self._options.tol is None:
            return False
        if self._best < math.inf and value > self._best - self._options.tol:
            self._passes_without_progress += 1
        else:
            self._passes_without_progress = 0
        self._best = min(self._best, value)
        return self._passes_without_progress >= self._options.n_iter_no_change


class HeldOutRows:
    """Rows kept from training, to measure the error of a plane on."""

    def __init__(self, dataset: Dataset, held_out: np.ndarray) -> None:
        self._points = Points(dataset.points.matrix[held_out])
        self._is_positive = dataset.signs[held_out] > 0.0

    def error(self, w: np.ndarray, intercept: float) -> float:
        """The share of rows on the wrong side."""
        predicted = self._points.scores(w) + intercept >= 0.0
        return float(np.mean(predicted != self._is_positive))


def run_passes(
    run: RowVisits, options: EpochOptions, monitor: Monitor, test: SeparabilityTest | None = None
) -> PerceptronResult:
    """Make passes until one is without an update, or until the options, the monitor or the test say stop."""
    record = PassRecord(options, monitor, run)
    held_out = None if options.held_out is None else HeldOutRows(run.dataset, options.held_out)
    status = monitor.check_limits()
    while status is None:
        at_most = record.passes_before_judgement()
        if test is not None:
            at_most = max(1, min(at_most, test.next_pass - len(record.outcomes)))
        for outcome in run.make_passes(monitor, at_most):
            error = None if held_out is None else held_out.error(*run.result()[:2])
            status = record.add(outcome, error)
        if status is None and test is not None:
            status = test.verdict(len(record.outcomes), monitor)
    return result_of(run, status, record.outcomes, None if test is None else test.witness)


def result_of(
    run: RowVisits, status: Status, outcomes: list[PassOutcome], witness: np.ndarray | None = None
) -> PerceptronResult:
    """Close the books of a run."""
    w, intercept, alpha = run.result()
    return PerceptronResult(
        w=w,
        intercept=intercept,
        beta=run.dataset.signs * alpha,
        alpha=alpha,
        status=status,
        n_iter=len(outcomes),
        n_updates=sum(outcome.updates for outcome in outcomes),
        mistakes_per_pass=np.array([outcome.updates for outcome in outcomes], dtype=np.int64),
        criterion_per_pass=np.array([outcome.criterion for outcome in outcomes], dtype=np.float64),
        rows_evaluated_per_pass=np.array([outcome.looks for outcome in outcomes], dtype=np.int64),
        end=run.end(),
        witness=witness,
    )


def separability_test(problem: PerceptronProblem, options: EpochOptions) -> SeparabilityTest | None:
    """The question whether a run can end; not put where rows are held out, or few passes are wanted."""
    if options.held_out is not None or options.max_iter == 1:
        return None
    return SeparabilityTest(problem.dataset, problem.fit_intercept)


def rows_to_visit(dataset: Dataset, held_out: np.ndarray | None = None) -> np.ndarray:
    """The rows that count and are not held out, in their order."""
    visit = np.ones(dataset.points.n_rows, dtype=bool)
    if dataset.weights is not None:
        visit &= dataset.weights > 0.0
    if held_out is not None:
        visit[held_out] = False
    return np.flatnonzero(visit).astype(np.uint32)
