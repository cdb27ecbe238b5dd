"""An end to passes over the rows that no solver's monitor watches: those of certificates.

The limit is that of the calling context. Passes ask it between two blocks; threads that share a pass inherit it by
``contextvars.copy_context``.
"""

from collections.abc import Callable
from contextvars import ContextVar

_must_end: ContextVar[Callable[[], bool] | None] = ContextVar("must_end", default=None)


class InterruptedPassError(Exception):
    """A pass over the rows was broken off: its time was over."""


class ending_when:  # noqa: N801
    """Within the context, passes over the rows raise InterruptedPassError once ``must_end()`` is true.

    Parameters
    ----------
    must_end : callable
    """

    def __init__(self, must_end: Callable[[], bool]) -> None:
        self._within = must_end

    def __enter__(self) -> None:
        self._token = _must_end.set(self._within)

    def __exit__(self, *error: object) -> None:
        _must_end.reset(self._token)


def check_interruption() -> None:
    """Raise InterruptedPassError where the passes of this context have to end."""
    must_end = _must_end.get()
    if must_end is not None and must_end():
        raise InterruptedPassError
