"""BLAS limited to the calling thread.

The solvers run their own threads over blocks of rows. Threads of BLAS would compete with them in busy loops, and the
last bits of their sums depend on their number.
"""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from types import TracebackType
from typing import Protocol

from threadpoolctl import OpenBLASController, ThreadpoolController


class Library(Protocol):
    """What is used of threadpoolctl's controller of a BLAS library."""

    def get_num_threads(self) -> int | None: ...

    def set_num_threads(self, number: int) -> None: ...


_lock = threading.Lock()
_holders = 0
_before: list[int | None] = []


@cache
def _libraries() -> list[Library]:
    """The BLAS libraries of the process, found once: that takes longer than a small fit."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(numbers: Sequence[int | None]) -> None:
    """Set the number of threads of every library.

    Since threadpoolctl 3.8 the settings of all other threads are ignored while the thread that set it first is alive:
    the last of several overlapping runs could not restore the number. So the calling thread takes over the control, and
    gives it up again.
    """
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)
    for library, number in zip(_libraries(), numbers, strict=True):
        if number is not None:
            library.set_num_threads(number)
    if clear is not None:
        clear(force=True)


class _OneThread:
    """A context with BLAS limited to one thread. No generator: a small fit enters it ten times."""

    def __enter__(self) -> None:
        global _holders, _before
        with _lock:
            if _holders == 0:
                _before = [library.get_num_threads() for library in _libraries()]
                _change_threads([1] * len(_before))
            _holders += 1

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        global _holders
        with _lock:
            _holders -= 1
            if _holders == 0:
                _change_threads(_before)


_ONE_THREAD = _OneThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Limit BLAS to one thread; where several runs overlap, the last one restores the number of threads."""
    return _ONE_THREAD


def _change_threads(numbers: Sequence[int | None]) -> None:
    """Set the numbers of threads where they are not one, before and after."""
    if any(number != 1 for number in _before):
        _set_threads(numbers)
