"""Time limit, progress callback and interrupt flag of a solver run, and its one termination test."""

# The interpreter's own functions: those of the module signal look for the member of an enumeration first, which takes
# as long as the linear system of a small fit.
import _signal  # type: ignore[import-not-found]
import math
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import TypeVar

import numpy as np

from maxmargin.solvers.core.checkpoint import Checkpointed, TaskRecord
from maxmargin.solvers.core.result import InterceptT, Options, Result
from maxmargin.solvers.core.status import Status

# The most matrix entries that one call of a compiled loop reads: Ctrl-C is then answered within a second.
ENTRIES_PER_CALL = 1 << 26
# Entries that the steps of a run of small data read in a call, at most: a few milliseconds.
ENTRIES_PER_SMALL_CALL = 1 << 22
# Operations of a library's function that take some tenths of a second.
OPERATIONS_PER_CALL = 1e9
# Seconds between two checks of the limits while a library's function runs.
CALL_INTERVAL = 0.05

ReturnT = TypeVar("ReturnT")

# Called, besides scikit-learn's callbacks, with the share of the fit that is done, from 0 to 1, and a summary.
step_listener: ContextVar[Callable[[float, str], None] | None] = ContextVar("step_listener", default=None)


@dataclass(frozen=True)
class StepReport:
    """The state of a run after an iteration, as callbacks get it.

    Attributes
    ----------
    step : str
        The kind of iteration: "epoch", "block", ...
    number : int
    summary : str
    share : float
        The estimated share of the run that is done.
    result : callable
        Returns w, b and the duals.
    """

    step: str
    number: int
    summary: str
    share: float
    result: Callable[[], tuple[np.ndarray, float | np.ndarray, np.ndarray]]


@dataclass
class Monitor:
    """Time limit, progress callback and interrupt flag of one solver run.

    Attributes
    ----------
    max_time : float or None
        Seconds from the creation of the monitor.
    seconds_per_entry : float
        What the certificate takes for an entry of the matrix of rows and support vectors; zero where it takes the same
        time whatever the result.
    reserve : float
        Seconds of ``max_time`` that are kept for what follows the last step: the certificate of an expansion, or the
        values of the last coefficients.
    on_step : callable or None
        Called after every iteration; returns True to stop.
    stop_requested : StopRequest
        Set, by Ctrl-C's handler or another thread, to stop at the next safe point.
    record_of_task : TaskRecord or None
        What checkpoints keep of the run.
    """

    max_time: float | None = None
    on_step: Callable[[StepReport], bool] | None = None
    stop_requested: "StopRequest" = field(default_factory=lambda: StopRequest())
    started: float = field(default_factory=time.perf_counter)
    seconds_per_entry: float = 0.0
    reserve: float = 0.0
    record_of_task: TaskRecord | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the limit, if there is one."""
        return None if self.max_time is None else max(0.0, self.max_time - self.reserve - self.seconds)

    def reserve_for(self, n_rows: int, n_support: int) -> None:
        """Keep the time that the certificate of an expansion over so many support vectors takes."""
        self.reserve = self.seconds_per_entry * n_rows * n_support

    def check_limits(self) -> Status | None:
        """INTERRUPTED or TIME_LIMIT where the run has to stop now, else None."""
        if self.stop_requested.is_set():
            return Status.INTERRUPTED
        if self.max_time is not None and self.seconds >= self.max_time - self.reserve:
            return Status.TIME_LIMIT
        return None

    def must_stop(self) -> bool:
        """Whether a limit or an interrupt ends the run now."""
        return self.check_limits() is not None

    def status_when_stopped(self) -> Status:
        """The status of a run that had to stop in the middle of a step: the limit, or an interrupt from outside."""
        return self.check_limits() or Status.INTERRUPTED

    def call(self, function: Callable[[], ReturnT], n_operations: float) -> ReturnT | None:
        """Call a library's function that cannot be stopped; None where the run has to stop before it returns.

        One that takes long runs in a thread. It changes nothing but its own memory: where the run stops, it is left to
        end in the background.
        """
        if n_operations < OPERATIONS_PER_CALL:
            return function()
        future: Future[ReturnT] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        while not wait([future], CALL_INTERVAL).done:
            if self.must_stop():
                return None
        return future.result()

    def check_work(self, n_iter: int, options: Options) -> Status | None:
        """ITERATION_LIMIT after ``max_iter`` iterations, else as ``check_limits``: in the middle of a larger step."""
        return Status.ITERATION_LIMIT if n_iter >= options.max_iter else self.check_limits()

    def record(self, result: Result[InterceptT]) -> None:
        """Append the incumbents' values to the history."""
        # Rounding can put the dual value above the primal one by a digit.
        result.history.append((self.seconds, float(result.primal), float(min(result.dual, result.primal))))

    def check(
        self,
        ended: Status | None,
        n_iter: int,
        options: Options,
        make_report: Callable[[], StepReport],
        *,
        stalled: bool = False,
    ) -> Status | None:
        """The termination test after an iteration: goal, stall, ``max_iter``, callback, interrupt, time.

        ``ended`` is the status of a run that has reached its goal, and ``stalled`` the verdict of its stall test. The
        callback is called after every iteration, also the last one.
        """
        stopped = self.on_step is not None and self.on_step(make_report())
        if ended is not None:
            return ended
        if stalled:
            return Status.STALLED
        if n_iter >= options.max_iter:
            return Status.ITERATION_LIMIT
        return Status.INTERRUPTED if stopped else self.check_limits()

    def check_termination(
        self, result: Result[InterceptT], options: Options, step: str, *, stalled: bool = False
    ) -> Status | None:
        """The termination test of all solvers that measure a gap; ``stalled`` is the verdict of their stall test."""
        self.record(result)
        return self.check(
            result.check_goal(options),
            result.n_iter,
            options,
            lambda: StepReport(
                step=step,
                number=result.n_iter,
                summary=result.summary(options),
                share=result.share_done(options),
                result=lambda: (result.w, result.intercept, result.beta),
            ),
            stalled=stalled,
        )

    def status_at_end(self, result: Result[InterceptT], options: Options) -> Status:
        """The status of a run that can go no further: its goal is reached, or a limit cut it short, or it has stalled.

        That is where a step fails, a factorisation or a value overflows: the termination test has not ended the run.
        """
        return result.check_goal(options) or self.check_limits() or Status.STALLED

    def checkpoint(self, run: Checkpointed) -> None:
        """A safe point of a run, from which a later process could continue.

        A run that has to stop may have cut its last step short: another process would not reach this state.
        """
        if self.record_of_task is not None and not self.must_stop():
            self.record_of_task.offer(run)

    def quiet(self, *, is_stage: bool = False) -> "Monitor":
        """A monitor for an auxiliary run: the same limits, no callback.

        Checkpoints keep a run that is a stage of its task. One in the middle of another run's step they do not: it is
        repeated with that step.
        """
        record = self.record_of_task if is_stage else None
        return Monitor(
            self.seconds_left,
            None,
            self.stop_requested,
            seconds_per_entry=self.seconds_per_entry,
            record_of_task=record,
        )


def steps_per_call(monitor: Monitor, n_entries: int) -> int:
    """The steps of a compiled call of small data: one where somebody listens or the time is limited, else a few
    milliseconds' worth.
    """
    is_watched = monitor.on_step is not None or monitor.max_time is not None
    return 1 if is_watched else max(1, ENTRIES_PER_SMALL_CALL // max(1, n_entries))


class StopRequest:
    """The request to stop at the next safe point, and when it was made: a flag, for nobody waits for it.

    An Event with its condition and its lock takes longer than the linear system of a small fit.
    """

    def __init__(self) -> None:
        self._is_set, self.requested_at = False, math.inf

    def set(self) -> None:
        """Make the request."""
        self.requested_at = min(self.requested_at, time.perf_counter())
        self._is_set = True

    def is_set(self) -> bool:
        """Whether it was made."""
        return self._is_set


class interrupt_handler:  # noqa: N801
    """Turn the first Ctrl-C into a request to stop at the next safe point, and raise it once the model is stored.

    An exception in the middle of a call would lose the model. A second Ctrl-C is raised at once, as usual. A fit within
    another one shares its request. Outside the main thread, and where the program has a handler of its own, nothing is
    changed. Where the process ignores Ctrl-C it stays ignored, but handlers of other signals may call this one. The
    context's value is the request.
    """

    def __enter__(self) -> StopRequest:
        in_main_thread = threading.current_thread() is threading.main_thread()
        handler = self._handler = _signal.getsignal(signal.SIGINT)
        outer: StopRequest | None = getattr(handler, "stop_requested", None) if in_main_thread else None
        stop_requested = self._stop_requested = outer or StopRequest()
        is_ignored = handler == signal.SIG_IGN
        self._is_set = in_main_thread and (is_ignored or handler is signal.default_int_handler)
        if self._is_set:

            def ask(number: int, frame: FrameType | None) -> None:
                if is_ignored and number == signal.SIGINT:
                    return
                if stop_requested.is_set():
                    signal.default_int_handler(number, frame)
                stop_requested.set()

            ask.stop_requested = stop_requested  # type: ignore[attr-defined]
            _signal.signal(signal.SIGINT, ask)
        return stop_requested

    def __exit__(self, kind: type | None, *error: object) -> None:
        if self._is_set:
            _signal.signal(signal.SIGINT, self._handler)
            if kind is None and self._stop_requested.is_set():
                raise KeyboardInterrupt
