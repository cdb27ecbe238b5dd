"""Atomic writing: at any moment the old file or folder exists, or the new one, never a part of it."""

import ctypes
import errno
import glob
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:
    # Windows has no such locks.
    fcntl = None  # type: ignore[assignment]

# Seconds since the last write after which a temporary file may be of a dead run: a new one is locked at once.
YOUNGEST_PART = 60.0
# Errors of a disk that has no room, and those of one that takes no more for any reason.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
DISK_FULL = (*NO_ROOM, errno.EFBIG)
# Constants of Linux's renameat2: paths are relative to the working folder; exchange two paths.
AT_FDCWD, RENAME_EXCHANGE = -100, 2


@contextmanager
def written_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path`` that replaces it at the end of the block.

    After an error the old file is unchanged and the temporary one is removed; after a crash the old file is unchanged.
    A device or a pipe, such as ``/dev/stdout``, is written to directly.

    Parameters
    ----------
    path : str or path

    Yields
    ------
    binary file
        Its ``name`` is the temporary path.

    See Also
    --------
    write_svmlight : One of the writers that use it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.files import written_atomically
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "numbers.txt")
    ...     _ = path.write_text("old")
    ...     try:
    ...         with written_atomically(path) as file:
    ...             _ = file.write(b"new, but not com")
    ...             raise OSError
    ...     except OSError:
    ...         print(path.read_text())
    old
    """
    if _is_device_or_pipe(path):
        with open(path, "wb") as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    _remove_parts_of_dead_runs(target)
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with errors_name(path, temporary), temporary.open("xb") as file:
            _lock(file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.is_file():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(target.parent)


@contextmanager
def folder_written_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a temporary folder beside ``path`` that replaces it at the end of the block.

    After an error the old folder is unchanged and the temporary one is removed; after a crash the old folder is
    unchanged and the temporary one remains. Where the system cannot exchange two folders atomically, a crash between
    two renames leaves both under hidden names that end in ``.old`` and ``.part``.

    Parameters
    ----------
    path : str or path

    Yields
    ------
    Path
        The temporary folder. The caller synchronizes the files in it.
    """
    target = Path(os.path.realpath(path))
    unique = secrets.token_hex(8)
    folder = target.with_name(f".{target.name[:100]}.{unique}.part")
    with errors_name(path, folder):
        folder.mkdir()
    try:
        with errors_name(path, folder):
            yield folder
        sync_folder(folder)
        if not target.exists():
            os.rename(folder, target)
        elif not _exchanged(folder, target):
            _put_in_place(folder, target, target.with_name(f".{target.name[:100]}.{unique}.old"))
        sync_folder(target.parent)
    finally:
        # The new folder after an error; the old one after an exchange.
        shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(folder: Path, target: Path, old: Path) -> None:
    """Rename the old folder, then the new one; after an error one of them has the name."""
    try:
        os.rename(target, old)
        os.rename(folder, target)
    finally:
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(old, target)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two paths atomically; False where the system or the disk cannot."""
    try:
        exchange = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    return exchange(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0


def _lock(descriptor: int) -> bool:
    """Lock an open file, by which others know that its process lives; False where another process has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: nothing is known.
        return False
    return True


def _remove_parts_of_dead_runs(target: Path) -> None:
    """Remove temporary files of the same name that no process holds any more, as a killed one leaves them."""
    if fcntl is None:
        return
    with suppress(OSError):
        for part in target.parent.glob(f".{glob.escape(target.name[:100])}.*.part"):
            if not part.is_file() or time.time() - part.stat().st_mtime < YOUNGEST_PART:
                continue
            with suppress(OSError), part.open("rb") as file:
                if _lock(file.fileno()):
                    part.unlink()


@contextmanager
def errors_name(path: str | os.PathLike[str], temporary: Path) -> Iterator[None]:
    """Errors of the system name the given path, not the temporary one; those of a full disk name no file at all."""
    try:
        yield
    except OSError as error:
        is_full = error.filename is None and error.errno in DISK_FULL
        if is_full or (error.filename is not None and Path(os.fspath(error.filename)).is_relative_to(temporary)):
            error.filename = os.fspath(path)
        raise


def _is_device_or_pipe(path: str | os.PathLike[str]) -> bool:
    """Whether the path is neither file nor folder, so that it cannot be replaced, such as ``/dev/stdout``."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk, where the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
