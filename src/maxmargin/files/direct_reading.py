"""Bytes of a file, read through the system's cache or past it.

Where more is read than the memory holds, every page that the cache takes in pushes out another one, and to search for
these takes the processor longer than the reading. With ``O_DIRECT`` the disk writes into the buffer itself; the buffer,
and the place in the file, have to begin at a multiple of the page size.
"""

import contextlib
import mmap
import os
from pathlib import Path

import numpy as np

# Bytes: a multiple of the sector size of every usual disk.
PAGE = 4096


def read_bytes(path: Path, place: int, size: int, *, cached: bool = True) -> np.ndarray:
    """The bytes from a place on, fewer where the file ends before; unless ``cached``, the system keeps none of them."""
    if not cached and hasattr(os, "O_DIRECT") and size >= PAGE:
        try:
            return _read_directly(path, place, size)
        except OSError:
            # The file system cannot, or the file cannot be read at all, which the next lines say.
            pass
    found, filled = np.empty(size, dtype=np.uint8), 0
    buffer = memoryview(found)  # type: ignore[arg-type]
    with path.open("rb", buffering=0) as file:
        file.seek(place)
        while filled < size and (more := file.readinto(buffer[filled:])):
            filled += more
        if not cached and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), place, size, os.POSIX_FADV_DONTNEED)
    return found[:filled]


def _read_directly(path: Path, place: int, size: int) -> np.ndarray:
    first = place // PAGE * PAGE
    length = -(-(place + size - first) // PAGE) * PAGE
    # Memory of its own, which goes back to the system at once: the heap of every thread would keep some.
    room, filled = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), 0
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):
            room.madvise(mmap.MADV_HUGEPAGE)
    buffer = memoryview(room)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        # A part of a page is read at the end of the file alone.
        while filled < length and filled % PAGE == 0:
            more = os.preadv(descriptor, [buffer[filled:]], first + filled)
            if not more:
                break
            filled += more
    finally:
        os.close(descriptor)
    return np.frombuffer(room, dtype=np.uint8)[place - first : min(filled, place - first + size)]
