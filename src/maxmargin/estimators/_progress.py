"""Tasks of a fit in threads: progress reports, shares of the time limit, and the time for certificates."""

import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from maxmargin.data import Tasks
from maxmargin.data.scikit_learn import has_callbacks
from maxmargin.engine import Threads
from maxmargin.solvers.core import Status, StepReport, StopRequest, step_listener

if TYPE_CHECKING:
    from sklearn.callback import CallbackContext

# Seconds that certificates may take: from Ctrl-C on, beyond ``max_time`` (and a share of it), and in any case.
SECONDS_AFTER_INTERRUPT, SECONDS_BEYOND_MAX_TIME, SHARE_BEYOND_MAX_TIME = 0.6, 0.3, 0.05
SECONDS_IN_ANY_CASE = 0.2


class FitProgress:
    """Reports the iterations of all tasks to scikit-learn's callbacks, a listener and, with ``verbose``, the terminal.

    Parameters
    ----------
    estimator : the estimator that callbacks get
    tasks : Tasks
    steps : int or None
        The largest number of iterations, if there is one.
    model : the copy of the estimator that is being fitted
    """

    def __init__(self, estimator: Any, tasks: Tasks, steps: int | None, model: Any) -> None:
        self._estimator = estimator
        self._model = model
        self._tasks = tasks
        # Solvers report their start, too, and a run that continues another one reports its own.
        self._most_reports = None if steps is None else steps + 2
        self._n_tasks = tasks.n_tasks
        self._results: dict[int, Callable[[], Any]] = {}
        self._listener = step_listener.get()
        self._shares = [0.0] * self._n_tasks
        # The work of all tasks is the same, where they do not say otherwise.
        shares_of_work = getattr(tasks, "shares_of_work", lambda: [1.0 / self._n_tasks] * self._n_tasks)
        self._weights = None if self._listener is None else shares_of_work()
        self._has_callbacks = has_callbacks(estimator)
        self._root: CallbackContext | None = None
        self._contexts: dict[int, CallbackContext | None] = {}
        self._reporters: dict[int, Callable[[StepReport], bool]] = {}
        self._started = time.perf_counter()

    def begin(self) -> None:
        """Open the context of the fit."""
        if self._has_callbacks:
            several = self._n_tasks > 1
            self._root = self._estimator._init_callback_context(
                max_subtasks=self._n_tasks if several else self._most_reports, sequential_subtasks=not several
            )
            self._root.call_on_fit_task_begin(estimator=self._estimator, **self._data())

    def end(self, results: Sequence[Any]) -> None:
        """Close the contexts of all tasks and of the fit; one without steps reports its end."""
        for task, context in self._contexts.items():
            if context is not None and (task not in self._results or results[task].n_iter == 0):
                self._report_end(task, results[task])
            self._report_share(task, 1.0, "")
            if context is not None and self._n_tasks > 1:
                context.call_on_fit_task_end(estimator=self._estimator, **self._data())
        if self._root is not None:
            self._root.call_on_fit_task_end(estimator=self._estimator, **self._data())
        # They refer to this object: the rows would stay in memory until garbage is collected.
        self._reporters.clear()
        self._results.clear()

    def of_task(self, task: int) -> Callable[[StepReport], bool] | None:
        """Return the callback of a task, called after every iteration."""
        context = self._contexts.get(task, self._root)
        if context is not None and self._n_tasks > 1 and task not in self._contexts:
            context = context.subcontext(
                task_name=self._tasks.names()[task], task_id=task, max_subtasks=self._most_reports
            )
            context.call_on_fit_task_begin(estimator=self._estimator, **self._data())
        self._contexts[task] = context
        on_step = self._reporter(task, context)
        self._reporters[task] = on_step
        if context is None and self._listener is None and not self._estimator.verbose:
            return None
        return on_step

    def _report_end(self, task: int, result: Any) -> None:
        """Report a run whose steps were too short to be reported."""
        vectors = result.w, result.intercept, result.beta
        self._reporters[task](StepReport("step", max(1, result.n_iter), str(result.status), 1.0, lambda: vectors))

    def _reporter(self, task: int, context: "CallbackContext | None") -> Callable[[StepReport], bool]:
        """The callback of a task, given its context."""

        def on_step(report: StepReport) -> bool:
            self._results[task] = report.result
            self._report_share(task, report.share, f"{report.step} {report.number}: {report.summary}")
            if self._estimator.verbose:
                which = f"{self._tasks.names()[task]}, " if self._n_tasks > 1 else ""
                seconds = time.perf_counter() - self._started
                print(
                    f"[{type(self._estimator).__name__}] {which}{report.step} {report.number}: {report.summary}, "
                    f"{seconds:.3f} s"
                )
            if context is None:
                return False
            one_step = context.subcontext(task_name=report.step)
            one_step.call_on_fit_task_begin(estimator=self._estimator, **self._data())
            return one_step.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes=self._fitted_so_far, **self._data()
            )

        return on_step

    def _report_share(self, task: int, share: float, found: str) -> None:
        self._shares[task] = share
        if self._listener is not None and self._weights is not None:
            done = sum(weight * one for weight, one in zip(self._weights, self._shares, strict=True))
            self._listener(min(1.0, done), found)

    def _data(self) -> dict[str, Any]:
        return {"X": self._tasks.points.matrix, "y": self._tasks.labels}

    def _fitted_so_far(self) -> dict[str, Any]:
        results = [self._results[task]() if task in self._results else None for task in range(self._n_tasks)]
        return self._model._attributes_so_far(self._tasks, results)


class TimeBudget:
    """Divides seconds among tasks: each gets its share of the time that is left when it begins.

    ``reserved`` returns the seconds of all tasks so far that are kept for their certificates.
    """

    def __init__(
        self, max_time: float | None, n_tasks: int, n_threads: int, reserved: Callable[[], float] = float
    ) -> None:
        self._ends = None if max_time is None else time.perf_counter() + max_time
        self._reserved = reserved
        self._n_waiting = n_tasks
        self._n_threads = n_threads
        self._lock = threading.Lock()

    def share(self) -> float | None:
        """Seconds for the task that begins now."""
        if self._ends is None:
            return None
        with self._lock:
            left = max(0.0, self._ends - self._reserved() - time.perf_counter())
            share = left * min(1.0, self._n_threads / self._n_waiting)
            self._n_waiting -= 1
        return share


class FitLimits:
    """What ``max_time`` and Ctrl-C leave to do after the solvers.

    Certificates have to end soon after either. Solvers, or the compilation of their loops, may have taken all of the
    time: a certificate has some of its own.

    Parameters
    ----------
    max_time : float or None
        Seconds from now.
    stop_requested : StopRequest
    """

    def __init__(self, max_time: float | None, stop_requested: StopRequest) -> None:
        self._stop_requested, self._certificate_has = stop_requested, 0.0
        self._ends = math.inf if max_time is None else time.perf_counter() + max_time
        self._beyond = SECONDS_BEYOND_MAX_TIME + SHARE_BEYOND_MAX_TIME * (max_time or 0.0)

    @property
    def seconds_left(self) -> float:
        """Seconds until ``max_time``; none after Ctrl-C."""
        return 0.0 if self.is_interrupted else max(0.0, self._ends - time.perf_counter())

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the fit."""
        return self._stop_requested.is_set()

    def begin_certificate(self) -> None:
        """Begin to certify."""
        self._certificate_has = time.perf_counter() + SECONDS_IN_ANY_CASE

    def must_end_certificate(self) -> bool:
        """Whether certificates have to end now."""
        until = min(self._ends + self._beyond, self._stop_requested.requested_at + SECONDS_AFTER_INTERRUPT)
        return time.perf_counter() > max(self._certificate_has, until)

    @property
    def status(self) -> Status:
        """Which of them ended the fit."""
        return Status.INTERRUPTED if self.is_interrupted else Status.TIME_LIMIT


def solve_in_time(
    run: Callable[[int, Any, float | None], Any],
    starts: Sequence[Any],
    seconds: float | None,
    n_threads: int,
    reserved: Callable[[], float] = float,
) -> list[Any]:
    """Call ``run(task, start, share)`` for every task, with one limit for all of them.

    Each task first gets its share of the time, so that a slow one takes nothing from the others. Time that these leave
    goes to the tasks whose share was too short: they continue from their results until all is used up, but for what is
    ``reserved``.
    """
    ends = None if seconds is None else time.perf_counter() + seconds
    # A task's result is the start of its next run.
    results, tasks = list(starts), list(range(len(starts)))
    while True:
        left = None if ends is None else max(0.0, ends - time.perf_counter())
        budget = TimeBudget(left, len(tasks), n_threads, reserved)

        def run_one(k: int, tasks: list[int] = tasks, budget: TimeBudget = budget) -> Any:
            return run(tasks[k], results[tasks[k]], budget.share())

        jobs = [partial(run_one, k) for k in range(len(tasks))]
        with Threads(n_threads) as threads:
            for task, result in zip(tasks, threads.run(jobs, alike=False), strict=True):
                results[task] = result
        tasks = [k for k in tasks if results[k].status is Status.TIME_LIMIT and results[k].can_continue]
        if not tasks or ends is None or time.perf_counter() >= ends - reserved():
            return results
