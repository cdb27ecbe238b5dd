"""Keeping BLAS to the thread that calls it.

The solvers run their own threads over blocks of rows. BLAS's threads beside them wait in busy loops, and what they
return depends on their number.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_holders = 0
_limit: object = None


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread; the last of several runs that asked for it gives the threads back."""
    global _holders, _limit
    with _lock:
        if _holders == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
            _limit.__enter__()  # type: ignore[attr-defined]
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _limit.__exit__(None, None, None)  # type: ignore[attr-defined]
