"""The one place that imports numba's compiler."""

from collections.abc import Callable
from typing import Any

from numba import njit


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on the first call, keep the result on disk, and release the interpreter lock while it runs.

    Where no folder can be written to, the function is compiled anew in every process instead of failing
    at import.
    """
    try:
        return njit(function, cache=True, nogil=True)
    except RuntimeError:
        return njit(function, nogil=True)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as a part of every loop that calls it: passing arrays on would count references at every row."""
    return njit(function, forceinline=True)


def reducing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for extrema of arrays without NaN, which may then be taken several entries at a time."""
    return njit(function, forceinline=True, fastmath={"nnan", "nsz"})
