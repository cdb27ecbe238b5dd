"""The outer loop of the perceptrons: order of the rows, record of the epochs, termination."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, NamedTuple, TypedDict

import numpy as np

from maxmargin.data import Dataset, Points
from maxmargin.loops.perceptron import Coefficients, Examples, criterion_sum
from maxmargin.problems import PerceptronProblem
from maxmargin.solvers.core import ENTRIES_PER_CALL, Monitor, Positions, StallTest, Status, StepReport, stage
from maxmargin.solvers.perceptron.orders import Shuffler
from maxmargin.solvers.perceptron.result import EpochOptions, PerceptronResult, Start
from maxmargin.solvers.separability.separability_test import SeparabilityTest


class Epoch(NamedTuple):
    """The record of one epoch.

    ``online_loss`` is the sum of max(0, -y_i f(x_i)) at the time of each evaluation, ``criterion`` the one of the
    coefficients after the epoch, where it was computed. ``cut_short`` is why the epoch ended before its last row.
    """

    updates: int
    online_loss: float
    rows_evaluated: int
    criterion: float | None = None
    cut_short: Status | None = None


class EpochRun(ABC):
    """A run through the rows, epoch by epoch; subclasses say what happens to a row."""

    # Whether an epoch without a mistake changes nothing, so that the run has ended.
    ends_without_mistakes: ClassVar[bool] = True

    def __init__(self, dataset: Dataset, options: EpochOptions, start: Start) -> None:
        self.dataset = dataset
        self.start = start
        self.order = training_rows(dataset, options.held_out)
        n_rows = self.order.size if self.order.size == dataset.points.n_rows else None
        self._orders = Shuffler(options.seed, n_rows) if options.shuffle else None

    def shuffle(self) -> None:
        """Draw the next epoch's order."""
        if self._orders is not None:
            self._orders.shuffle(self.order)

    @property
    def _shuffler(self) -> np.random.Generator | None:
        """The generator of the orders, as checkpoints keep it."""
        return None if self._orders is None else self._orders.generator

    @_shuffler.setter
    def _shuffler(self, generator: np.random.Generator | None) -> None:
        if self._orders is not None and generator is not None:
            self._orders.generator = generator

    @abstractmethod
    def epoch(self, monitor: Monitor) -> Epoch:
        """Run through the rows once."""

    def epochs(self, monitor: Monitor, at_most: float) -> list[Epoch]:  # noqa: ARG002
        """Run at least one epoch, and at most this many."""
        self.shuffle()
        return [self.epoch(monitor)]

    def criterion_per_epoch(self, record: list[Epoch]) -> np.ndarray | None:
        """J(w, b) after each epoch, where it was computed."""
        criteria = [epoch.criterion for epoch in record if epoch.criterion is not None]
        return np.array(criteria, dtype=np.float64) if len(criteria) == len(record) else None

    @abstractmethod
    def result(self) -> tuple[np.ndarray, float, np.ndarray]:
        """w, b and alpha of the model as it is now; w is empty in a feature space."""

    @abstractmethod
    def end(self) -> Start:
        """Where a later run would continue."""


class LinearRun(EpochRun):
    """A run that changes coefficients in the space of the rows."""

    checkpointed: ClassVar[tuple[str | Positions, ...]] = (
        *("coefficients.w", "coefficients.intercept", "coefficients.alpha", "_shuffler"),
        Positions("order", "coefficients.alpha"),
    )

    def __init__(self, problem: PerceptronProblem, options: EpochOptions, start: Start) -> None:
        super().__init__(problem.dataset, options, start)
        points = problem.dataset.points
        self.problem = problem
        self.examples = Examples(points.rows, problem.dataset.signs, problem.steps, problem.intercept_step)
        w = np.zeros(points.n_columns) if start.w is None else np.array(start.w, dtype=np.float64)
        self.coefficients = Coefficients(w, np.array([float(start.intercept)]), np.zeros(points.n_rows))
        self._rows_per_call = max(1, ENTRIES_PER_CALL // max(1, points.longest_row))

    def parts(self) -> Iterator[np.ndarray]:
        """Yield the order in parts that are each short enough for one call of a compiled loop."""
        for begin in range(0, self.order.size, self._rows_per_call):
            yield self.order[begin : begin + self._rows_per_call]

    def criterion(self) -> float:
        """The perceptron criterion J(w, b) of the coefficients as they are now, on the rows that are trained on."""
        total = sum(criterion_sum(self.examples, part, self.coefficients) for part in self.parts())
        return float(total) / self.problem.step

    def result(self) -> tuple[np.ndarray, float, np.ndarray]:
        """The coefficients as they are now, and the steps taken on each row."""
        return self.coefficients.w, float(self.coefficients.intercept[0]), self.coefficients.alpha

    def end(self) -> Start:
        """The coefficients as they are now."""
        return Start(self.coefficients.w, float(self.coefficients.intercept[0]))


class EpochRecord:
    """The record of all epochs."""

    epochs: list[Epoch]

    @property
    def table(self) -> list[tuple[float, ...]]:
        """The record as numbers, as checkpoints keep it."""
        return [
            (one.updates, one.online_loss, one.rows_evaluated, math.nan if one.criterion is None else one.criterion)
            for one in self.epochs
        ]

    @table.setter
    def table(self, rows: list[tuple[float, ...]]) -> None:
        self.epochs = [
            Epoch(int(updates), loss, int(evaluated), None if math.isnan(criterion) else criterion)
            for updates, loss, evaluated, criterion in rows
        ]


class EpochHistory(EpochRecord):
    """The record of all epochs, and the termination test after each of them.

    Without held-out rows a run has stalled once the online loss of ``n_iter_no_change`` epochs in a row was not smaller
    by ``tol`` a row than the best before; with them, once their accuracy was not greater by ``tol``.
    """

    checkpointed = ("table", "_best", "_stall")

    def __init__(self, options: EpochOptions, monitor: Monitor, run: EpochRun) -> None:
        self.epochs = []
        self._options = options
        self._monitor = monitor
        self._run = run
        self._best = math.inf
        self._stall = StallTest(patience=options.n_iter_no_change)

    def add(self, epoch: Epoch, error: float | None = None) -> Status | None:
        """Record an epoch; return why to stop after it, or None. ``error`` is that of the held-out rows."""
        self.epochs.append(epoch)
        ended, tol = epoch.cut_short, self._options.tol
        if ended is None and epoch.updates == 0 and self._run.ends_without_mistakes:
            ended = Status.SOLVED
        return self._monitor.check(
            ended,
            len(self.epochs),
            self._options,
            lambda: StepReport(
                step="pass",
                number=len(self.epochs),
                summary=f"{epoch.updates} mistakes, online loss {epoch.online_loss:.6g}",
                share=len(self.epochs) / self._options.max_iter,
                result=self._run.result,
            ),
            stalled=ended is None and tol is not None and self._has_stalled(epoch, tol, error),
        )

    def epochs_until_check(self) -> float:
        """How many epochs can be run before anything but an epoch without updates could end the run."""
        if self._options.held_out is not None:
            return 1
        n_epochs = len(self.epochs)
        left = self._options.max_iter - n_epochs
        return left if self._options.tol is None else max(1, min(left, self._stall.least_work(n_epochs)))

    def _has_stalled(self, epoch: Epoch, tol: float, error: float | None) -> bool:
        if error is None:
            error = epoch.online_loss / self._run.order.size
            if epoch.online_loss <= 0.0 and self._run.ends_without_mistakes:
                # Mistakes without loss are those of zero coefficients, which say nothing about progress.
                error = math.inf
        progress = math.isinf(self._best) or error <= self._best - tol
        self._best = min(self._best, error)
        return self._stall.count(progress, len(self.epochs))


class HeldOutRows:
    """Rows that are not trained on, to measure the error of coefficients on."""

    def __init__(self, dataset: Dataset, held_out: np.ndarray) -> None:
        self._points = Points(dataset.points.matrix[held_out])
        self._is_positive = dataset.signs[held_out] > 0.0

    def error(self, w: np.ndarray, intercept: float) -> float:
        """The share of misclassified rows."""
        predicted = self._points.scores(w) + intercept >= 0.0
        return float(np.mean(predicted != self._is_positive))


def run_epochs(
    run: EpochRun, options: EpochOptions, monitor: Monitor, test: SeparabilityTest | None = None
) -> PerceptronResult:
    """Run epochs until one has no update, or until the options, the monitor or the separability test end the run."""
    loop = EpochLoop(run, options, monitor, test)
    status = loop.run()
    return result_of(run, status, loop.history.epochs, None if test is None else test.witness)


class EpochLoop:
    """Epochs of a run, with the tests after each of them."""

    checkpointed = ("epoch_run", "history", "test")
    outcome = checkpointed

    def __init__(
        self, run: EpochRun, options: EpochOptions, monitor: Monitor, test: SeparabilityTest | None = None
    ) -> None:
        self.epoch_run, self.monitor, self.test = run, monitor, test
        self.history = EpochHistory(options, monitor, run)
        self.held_out = None if options.held_out is None else HeldOutRows(run.dataset, options.held_out)

    @stage
    def run(self) -> Status:
        """Run epochs until there is a reason to stop."""
        run, history, test = self.epoch_run, self.history, self.test
        status = self.monitor.check_limits()
        while status is None:
            self.monitor.checkpoint(self)
            at_most = history.epochs_until_check()
            if test is not None:
                at_most = max(1, min(at_most, test.next_epoch - len(history.epochs)))
            for epoch in run.epochs(self.monitor, at_most):
                error = None if self.held_out is None else self.held_out.error(*run.result()[:2])
                status = history.add(epoch, error)
            if status is None and test is not None:
                status = test.check(len(history.epochs), self.monitor)
        return status


def result_of(
    run: EpochRun, status: Status, epochs: list[Epoch], witness: np.ndarray | None = None
) -> PerceptronResult:
    """The result of a run that has ended."""
    w, intercept, alpha = run.result()
    return PerceptronResult(
        w=w,
        intercept=intercept,
        beta=run.dataset.signs * alpha,
        status=status,
        criterion_per_pass=run.criterion_per_epoch(epochs),
        start=run.start,
        end=run.end(),
        witness=witness,
        **counts_of(epochs),
    )


class Counts(TypedDict):
    """The record of all epochs, as the fields of a result."""

    n_iter: int
    n_updates: int
    mistakes_per_pass: np.ndarray
    online_loss_per_pass: np.ndarray
    rows_evaluated_per_pass: np.ndarray


def counts_of(epochs: list[Epoch]) -> Counts:
    """The record of all epochs, as a result holds it."""
    return {
        "n_iter": len(epochs),
        "n_updates": sum(epoch.updates for epoch in epochs),
        "mistakes_per_pass": np.array([epoch.updates for epoch in epochs], dtype=np.int64),
        "online_loss_per_pass": np.array([epoch.online_loss for epoch in epochs], dtype=np.float64),
        "rows_evaluated_per_pass": np.array([epoch.rows_evaluated for epoch in epochs], dtype=np.int64),
    }


def separability_test(problem: PerceptronProblem, options: EpochOptions) -> SeparabilityTest | None:
    """The test that ends a run on inseparable data; None where rows are held out, or a single epoch is wanted."""
    if options.held_out is not None or options.max_iter == 1:
        return None
    return SeparabilityTest(problem.dataset, problem.fit_intercept)


def training_rows(dataset: Dataset, held_out: np.ndarray | None) -> np.ndarray:
    """The rows of positive weight that are not held out, in their order."""
    if dataset.weights is None and held_out is None:
        return np.arange(dataset.points.n_rows, dtype=np.uint32)
    trained_on = np.ones(dataset.points.n_rows, dtype=bool)
    if dataset.weights is not None:
        trained_on &= dataset.weights > 0.0
    if held_out is not None:
        trained_on[held_out] = False
    return np.flatnonzero(trained_on).astype(np.uint32)
