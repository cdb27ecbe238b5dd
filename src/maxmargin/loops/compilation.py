"""Callbacks for the compilation of loops, which happens at their first use; imports no compiler."""

import time
from collections.abc import Callable

# Called with True at the start of a compilation, and with False at its end.
listeners: list[Callable[[bool], None]] = []
_since, _total = 0.0, 0.0


def started() -> None:
    """Report that a compilation starts."""
    global _since
    _since = time.perf_counter()
    for listener in tuple(listeners):
        listener(True)


def ended() -> None:
    """Report that it has ended, and count its time."""
    global _total
    _total += time.perf_counter() - _since
    for listener in tuple(listeners):
        listener(False)


def seconds() -> float:
    """The time that compilations have taken in this process."""
    return _total
