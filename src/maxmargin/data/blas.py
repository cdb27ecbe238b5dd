"""BLAS limited to the calling thread.

The solvers run their own threads over blocks of rows. Threads of BLAS would compete with them in busy loops, and the
last bits of their sums depend on their number.
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
    """Limit BLAS to one thread; where several runs overlap, the last one restores the number of threads."""
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
