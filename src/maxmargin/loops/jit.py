"""Decorators for compiled functions: the only module that imports ``njit``."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit
from numba.core import event
from numba.core.runtime import rtsys

from maxmargin.data.user_warnings import warn_user
from maxmargin.loops import compilation


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
    """Numba's cache of one function; the first error of its files is reported, and the function is compiled in memory.

    An empty index, as a full disk or a killed process leaves it, would otherwise end in an ``EOFError`` at every call.
    """

    has_warned = False

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function; None where there is none, or where it cannot be read."""
        try:
            return _load_machine_code(self._cache, signature, target)
        except Exception as error:
            self._warn(error)
            # An empty index takes the place of the damaged one.
            with suppress(Exception):
                self._cache.flush()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Store a compiled function, where that is possible."""
        try:
            self._cache.save_overload(signature, data)
        except Exception as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        if not _TolerantCache.has_warned:
            _TolerantCache.has_warned = True
            why = getattr(error, "strerror", None) or "a file in it is damaged"
            message = (
                f"The cache of compiled loops in {self._cache.cache_path} cannot be used ({why}): loops are compiled "
                "in memory. Delete the folder, or name another by NUMBA_CACHE_DIR."
            )
            warn_user(message, CacheWarning)


def _load_machine_code(cache: Any, signature: Any, target: Any) -> Any:
    """Load from the cache as numba does, but without the declarations of its compiler.

    They take 0.1 to 0.2 s in every process, and machine code needs none of them, only numba's runtime; a compilation
    loads them itself. Where a version of numba has no such method, its own way is taken.
    """
    load = getattr(cache, "_load_overload", None)
    if load is None:
        return cache.load_overload(signature, target)
    rtsys.initialize(target)
    with cache._guard_against_spurious_io_errors():
        return load(signature, target)
    return None


class _CompileListener(event.Listener):
    """Reports compilations to ``compilation``; those within another one are part of it."""

    depth = 0

    def on_start(self, _event: Any) -> None:
        """Count the compilation, and report it where it is the outermost."""
        self.depth += 1
        if self.depth == 1:
            compilation.started()

    def on_end(self, _event: Any) -> None:
        """Count the end, and report it where it is the outermost."""
        self.depth -= 1
        if self.depth == 0:
            compilation.ended()


event.register("numba:compile", _CompileListener())


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Inline into every loop that calls it: passing arrays to a function counts references in every row."""
    return njit(function, forceinline=True)


def reducing(function: Callable[..., Any]) -> Callable[..., Any]:
    """As ``inlined``, for minima and maxima of arrays without NaN, which are then vectorised."""
    return njit(function, forceinline=True, fastmath={"nnan", "nsz"})


def merged(function: Callable[..., Any]) -> Callable[..., Any]:
    """As ``inlined``, but before types are inferred: a function with one caller is then not compiled on its own."""
    return njit(function, inline="always")


def summing(function: Callable[..., Any]) -> Callable[..., Any]:
    """As ``inlined``, for inner products, whose sums may be reordered: they are then vectorised."""
    return njit(function, forceinline=True, fastmath={"reassoc", "contract", "nsz"})
