"""Decorators for compiled functions: the only module that imports ``njit``."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from numba import njit
from numba.core import event


class CacheWarning(UserWarning):
    """Numba's cache of machine code cannot be used: loops are compiled in every process."""


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on the first call, cache the machine code on disk, and release the interpreter lock while it runs.

    Where no cache folder can be written, or its files are damaged, the function is compiled in every process instead.
    """
    try:
        compiled: Any = njit(function, cache=True, nogil=True)
    except RuntimeError:
        return njit(function, nogil=True)
    compiled._cache = _TolerantCache(compiled._cache)
    return compiled


class _TolerantCache:
    """Numba's cache of one function; errors of its files are told once, and the function is compiled in memory.

    An empty index, as a full disk or a killed process leaves it, would otherwise end in an ``EOFError`` at every call.
    """

    told = False

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function; None where there is none, or where it cannot be read."""
        try:
            return self._cache.load_overload(signature, target)
        except Exception as error:
            self._tell(error)
            # An empty index takes the place of the damaged one.
            with suppress(Exception):
                self._cache.flush()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Store a compiled function, where that is possible."""
        try:
            self._cache.save_overload(signature, data)
        except Exception as error:
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        if not _TolerantCache.told:
            _TolerantCache.told = True
            message = (
                f"The cache of compiled loops in {self._cache.cache_path} cannot be used ({type(error).__name__}: "
                f"{error}): loops are compiled in memory. Delete the folder, or name another by NUMBA_CACHE_DIR."
            )
            warnings.warn(message, CacheWarning, stacklevel=2)


class _CompileListener(event.Listener):
    """Calls two functions around a compilation; those within another one are part of it."""

    def __init__(self, on_start: Callable[[], None], on_end: Callable[[], None]) -> None:
        self._on_start, self._on_end, self._depth = on_start, on_end, 0

    def on_start(self, _event: Any) -> None:
        """Count the compilation, and call where it is the outermost."""
        self._depth += 1
        if self._depth == 1:
            self._on_start()

    def on_end(self, _event: Any) -> None:
        """Count the end, and call where it is the outermost."""
        self._depth -= 1
        if self._depth == 0:
            self._on_end()


@contextmanager
def compilations_heard(on_start: Callable[[], None], on_end: Callable[[], None]) -> Iterator[None]:
    """Within the block, call two functions at the start and the end of every compilation of a loop."""
    with event.install_listener("numba:compile", _CompileListener(on_start, on_end)):
        yield


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Inline into every loop that calls it: passing arrays to a function counts references in every row."""
    return njit(function, forceinline=True)


def reducing(function: Callable[..., Any]) -> Callable[..., Any]:
    """As ``inlined``, for minima and maxima of arrays without NaN, which are then vectorised."""
    return njit(function, forceinline=True, fastmath={"nnan", "nsz"})


def merged(function: Callable[..., Any]) -> Callable[..., Any]:
    """As ``inlined``, but before types are inferred: a function with one caller is then not compiled on its own."""
    return njit(function, inline="always")
