"""Time limits, progress and requests to stop: everything a run listens to between two calls of a loop."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType

import numpy as np

from maxmargin.solvers.core.status import Status

# A call of a loop reads at most this many entries, so that Ctrl-C is answered within a second.
ENTRIES_PER_CALL = 1 << 26


# Who is told, besides callbacks, how much of a fit is done, from 0 to 1, and what a step found.
step_listener: ContextVar[Callable[[float, str], None] | None] = ContextVar("step_listener", default=None)


@dataclass(frozen=True)
class StepReport:
    """What is known after a pass or another step of a run.

    ``step`` names the kind of step, ``summary`` is what a person would want to know, ``share`` is how much of the way
    is gone, as far as can be told, ``result`` gives w, b and alpha.
    """

    step: str
    number: int
    summary: str
    share: float
    result: Callable[[], tuple[np.ndarray, float, np.ndarray]]


@dataclass
class Monitor:
    """The clock of a run and the ears it has for the world outside.

    Attributes
    ----------
    max_time : seconds from the creation of the monitor, or None
    on_step : called after every step; returns True to stop
    stop_requested : set, by Ctrl-C's handler or another thread, to stop at the next safe point
    """

    max_time: float | None = None
    on_step: Callable[[StepReport], bool] | None = None
    stop_requested: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the limit, if there is one."""
        return None if self.max_time is None else max(0.0, self.max_time - self.seconds)

    def check_limits(self) -> Status | None:
        """Return why the run has to stop now, or None."""
        if self.stop_requested.is_set():
            return Status.INTERRUPTED
        if self.max_time is not None and self.seconds >= self.max_time:
            return Status.TIME_LIMIT
        return None

    def report(self, make_report: Callable[[], StepReport]) -> Status | None:
        """Tell the world of a step, if it listens, and return why the run has to stop now, or None."""
        if self.on_step is not None and self.on_step(make_report()):
            return Status.INTERRUPTED
        return self.check_limits()


@contextmanager
def interrupt_handler() -> Iterator[threading.Event]:
    """Let the first Ctrl-C ask for a stop at the next safe point, and raise it when the work is put away.

    An exception in the middle of a call would lose the model. A second Ctrl-C is raised at once, as usual. Outside the
    main thread, and where the program has a handler of its own, nothing is changed.
    """
    stop_requested = threading.Event()
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield stop_requested
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if stop_requested.is_set():
            signal.default_int_handler(number, frame)
        stop_requested.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield stop_requested
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if stop_requested.is_set():
        raise KeyboardInterrupt
