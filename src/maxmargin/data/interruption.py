"""An end to passes over the rows that no solver's monitor watches: those of certificates.

The limit is that of the calling context. Passes ask it between two blocks; threads that share a pass inherit it by
``contextvars.copy_context``.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_must_end: ContextVar[Callable[[], bool] | None] = ContextVar("must_end", default=None)


class InterruptedPassError(Exception):
    """A pass over the rows was broken off: its time was over."""


@contextmanager
def ending_when(must_end: Callable[[], bool]) -> Iterator[None]:
    """Within the context, passes over the rows raise InterruptedPassError once ``must_end()`` is true."""
    token = _must_end.set(must_end)
    try:
        yield
    finally:
        _must_end.reset(token)


def check_interruption() -> None:
    """Raise InterruptedPassError where the passes of this context have to end."""
    must_end = _must_end.get()
    if must_end is not None and must_end():
        raise InterruptedPassError
