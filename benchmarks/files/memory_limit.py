"""Memory groups of Linux: a limit on all the memory that a process has, pages of mapped files included."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


@contextmanager
def memory_group(limit: int) -> Iterator[Path | None]:
    """Make a group with a limit in bytes, of the first or the second version; None where that is not allowed."""
    first = (ROOT / "memory").is_dir()
    group = (ROOT / "memory" if first else ROOT) / f"maxmargin-{secrets.token_hex(4)}"
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(limit))
    except OSError:
        yield None
        return
    try:
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def forget_pages(folder: Path) -> None:
    """Let the system drop what it holds of the files: pages that another process has read count to that one."""
    os.sync()
    for path in folder.iterdir():
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)
