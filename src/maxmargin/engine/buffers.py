"""Vectors whose memory is used again, in worker processes of Dask.

These tell the allocator to give freed memory back to the system at once (``MALLOC_TRIM_THRESHOLD_``). Rounds write new
vectors, and to ask the system for their pages takes ten times as long as to fill them.
"""

import os
from collections import deque

import numpy as np

# Bytes from which on the allocator asks the system for an array of its own, and those that are kept for later use.
FEWEST_BYTES, MOST_BYTES = 1 << 17, 1 << 27
# Sizes are rounded up to this many steps between two powers of two: subsets of about the same size fit.
STEPS = 8


class Buffers:
    """Memory of arrays that nobody uses any more, by size.

    Parameters
    ----------
    most : int
        The bytes that are kept.
    """

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 0
        # Appending and popping are atomic: arrays go in any thread, also in the middle of either.
        self._free: dict[int, deque[np.ndarray]] = {}

    def empty(self, n: int, dtype: np.dtype | type | str) -> np.ndarray:
        """An array whose values are undefined."""
        dtype = np.dtype(dtype)
        size = n * dtype.itemsize
        if size < FEWEST_BYTES or not self.most:
            return np.empty(n, dtype=dtype)
        step = (1 << (size - 1).bit_length()) // (2 * STEPS)
        room = -(-size // step) * step
        try:
            memory = self._free[room].pop()
            self.size -= room
        except (KeyError, IndexError):
            memory = np.empty(room, dtype=np.uint8)
        return np.asarray(_Lease(self, memory))[:size].view(dtype)

    def give_back(self, memory: np.ndarray) -> None:
        """Keep memory for later use, or let it go where there is enough."""
        if self.size + memory.nbytes <= self.most:
            self.size += memory.nbytes
            self._free.setdefault(memory.nbytes, deque()).append(memory)


class _Lease:
    """The memory of one array, given back when the array and all of its views are gone."""

    def __init__(self, buffers: Buffers, memory: np.ndarray) -> None:
        self.__array_interface__ = memory.__array_interface__
        self._buffers, self._memory = buffers, memory

    def __del__(self) -> None:
        self._buffers.give_back(self._memory)


_of_process = Buffers(MOST_BYTES if "MALLOC_TRIM_THRESHOLD_" in os.environ else 0)


def keep_none() -> None:
    """Leave all memory to the allocator, where it keeps enough itself."""
    _of_process.most = 0


def empty(n: int, dtype: np.dtype | type | str) -> np.ndarray:
    """An array whose values are undefined."""
    return _of_process.empty(n, dtype)


def zeros(n: int, dtype: np.dtype | type | str) -> np.ndarray:
    """An array of zeros."""
    if not _of_process.most:
        return np.zeros(n, dtype=dtype)
    found = empty(n, dtype)
    found[:] = 0
    return found


def copied(values: np.ndarray) -> np.ndarray:
    """A copy of a vector."""
    found = empty(values.size, values.dtype)
    found[:] = values
    return found


def chosen_of(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Some entries of a vector."""
    # The mode that writes to the place itself; all of the index are places of the vector.
    return np.take(values, index, out=empty(index.size, values.dtype), mode="clip")
