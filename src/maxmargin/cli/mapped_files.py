"""Stores that another program cuts off while they are mapped into memory."""

import ctypes
import os
import signal
from collections.abc import Sequence
from typing import Any

# The handler, which the system calls as long as the process lives.
_handler: Any = None


def end_on_cut_stores(words: Sequence[str], code: int) -> None:
    """End the process by an error in one line where a page of a mapped store is no longer there.

    The system reports it by SIGBUS, in the middle of a compiled loop, to which nothing can return; handlers of Python
    run only after it. Hence the handler is set by the C library, and ends the process.

    Parameters
    ----------
    words : sequence of str
        The arguments of the command; without a store among them nothing is done.
    code : int
        The exit code.
    """
    global _handler
    stores = [word for word in words if word.rstrip("/").endswith(".store")]
    if not hasattr(signal, "SIGBUS") or not (stores or "--store" in words or "--store-dir" in words):
        return
    line = f"error: {' '.join(stores) or 'the store'} was cut off by another program while it was read.\n".encode()

    def end(_number: int) -> None:
        os.write(2, line)
        os._exit(code)

    _handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(end)
    c_signal = ctypes.CDLL(None).signal
    c_signal.argtypes, c_signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    c_signal(int(signal.SIGBUS), ctypes.cast(_handler, ctypes.c_void_p))
