"""BLAS limited to the calling thread.

The solvers run their own threads over blocks of rows. Threads of BLAS would compete with them in busy loops, and the
last bits of their sums depend on their number.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import OpenBLASController, ThreadpoolController

_lock = threading.Lock()
_holders = 0
_restore: Callable[[], None] | None = None


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _take_control() -> None:
    """Let the calling thread set the number of BLAS threads.

    Since threadpoolctl 3.8 the settings of all other threads are ignored while the thread that set it first is alive:
    the last of several overlapping runs could not restore the number.
    """
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; where several runs overlap, the last one restores the number of threads."""
    global _holders, _restore
    with _lock:
        if _holders == 0:
            _take_control()
            _restore = _controller().limit(limits=1, user_api="blas").restore_original_limits
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _take_control()
                if _restore is not None:
                    _restore()
                _take_control()
