"""Decorators for compiled functions: the only module that imports ``njit``."""

from collections.abc import Callable
from typing import Any

from numba import njit


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on the first call, cache the machine code on disk, and release the interpreter lock while it runs.

    Where no cache folder can be written, the function is compiled in every process instead.
    """
    try:
        return njit(function, cache=True, nogil=True)
    except RuntimeError:
        return njit(function, nogil=True)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Inline into every loop that calls it: passing arrays to a function counts references in every row."""
    return njit(function, forceinline=True)


def reducing(function: Callable[..., Any]) -> Callable[..., Any]:
    """As ``inlined``, for minima and maxima of arrays without NaN, which are then vectorised."""
    return njit(function, forceinline=True, fastmath={"nnan", "nsz"})


def merged(function: Callable[..., Any]) -> Callable[..., Any]:
    """As ``inlined``, but before types are inferred: a function with one caller is then not compiled on its own."""
    return njit(function, inline="always")
