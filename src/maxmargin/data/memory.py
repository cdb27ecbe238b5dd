"""The memory that this process may still use."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
# A limit above this is none: the first version of control groups states about 2^63.
NO_LIMIT = 1 << 60


class MemoryWarning(UserWarning):
    """A fit needs more memory than there is."""


def gigabytes(size: float) -> str:
    """A number of bytes in words."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def available_memory() -> int:
    """Bytes that can still be allocated: those of the system, of its control groups and of the process's own limits.

    Pages of files that the system holds do not count as used: it gives them up when memory is needed.
    """
    return max(0, min([_of_system(), *_of_groups(), *_of_process()]))


def _of_system() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            return NO_LIMIT


def _of_groups() -> Iterator[int]:
    """What is left of the limit of every control group that the process is in, of the first or the second version."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            yield from _left(CGROUPS / "memory", path, "memory.limit_in_bytes", "total_rss")
        elif not controllers:
            yield from _left(CGROUPS, path, "memory.max", "anon")


def _left(root: Path, path: str, limit_name: str, used_name: str) -> Iterator[int]:
    group = root / path.strip("/")
    # Inside a container the group may be the root of what is mounted.
    for place in (group, *group.parents, root):
        if place != root and root not in place.parents:
            continue
        try:
            limit = int((place / limit_name).read_text())
            stat = dict(line.split() for line in (place / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):
            continue
        if limit < NO_LIMIT:
            yield limit - int(stat.get(used_name, 0))


def _of_process() -> Iterator[int]:
    """What is left of ``ulimit -v`` and ``ulimit -d``."""
    if sys.platform == "win32":
        return
    import resource

    try:
        pages = Path("/proc/self/statm").read_text().split()
    except OSError:
        return
    for limit, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY:
            yield soft - int(used) * resource.getpagesize()
