"""A preload of Dask's workers that keep freed memory: ``dask worker --preload maxmargin.engine.worker_memory``.

Dask sets ``MALLOC_TRIM_THRESHOLD_`` in worker processes, so that they give freed memory back to the system at once.
A fit makes and drops vectors in every round, and the system takes ten times as long to hand out pages as a copy takes.
"""

import ctypes

from maxmargin.engine import buffers

# The parameters of glibc's mallopt, and the values: arrays of up to 32 MB, the most there is, come from memory of which
# up to 256 MB are kept.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
LARGEST_ARRAY, MOST_BYTES = 1 << 25, 1 << 28


def dask_setup(_worker: object) -> None:
    """Keep freed memory in this worker."""
    if keep_freed_memory():
        buffers.keep_none()


def keep_freed_memory() -> bool:
    """Let the allocator of this process keep freed memory; False where it is not glibc's."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):
        return False
    return bool(mallopt(MMAP_THRESHOLD, LARGEST_ARRAY) and mallopt(TRIM_THRESHOLD, MOST_BYTES))
