"""Writing a file so that at any moment there is the old one or the new one, never half of one."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path`` that takes its place at the end of the block.

    An error in the block, or of the disk, leaves the old file and removes the temporary one; a crash leaves the old
    file, too. A device or a pipe, such as ``/dev/stdout``, is written to as it is.

    Parameters
    ----------
    path : str or path

    Yields
    ------
    binary file
        Its ``name`` is the temporary path.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_file() or target.is_dir()):
        with target.open("wb") as stream:
            yield stream
        return
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with temporary.open("xb") as file:
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
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last, where the system lets folders be opened."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
