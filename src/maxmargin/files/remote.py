"""Files that are named by an address, such as ``s3://bucket/part-*.parquet``, read by fsspec where it is installed.

``file://`` addresses are paths of this machine, and need no package.
"""

import glob
import os
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether a file is elsewhere, and not a path of this machine."""
    return isinstance(path, str) and "://" in path


def local_or_address(path: str | Path) -> str | Path:
    """A path without ``file://``; other addresses as they are."""
    if isinstance(path, str) and path.startswith("file://"):
        return url2pathname(urlsplit(path).path)
    return path


def open_binary(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading."""
    if is_address(path):
        files, name = _file_system(path)
        return cast(BinaryIO, files.open(name, "rb"))
    return open(path, "rb", buffering=0)


def parquet_file(path: str | Path) -> Any:
    """A Parquet file as pyarrow takes it."""
    return open_binary(path) if is_address(path) else path


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is such a file or folder."""
    if is_address(path):
        files, name = _file_system(path)
        return bool(files.exists(name))
    return os.path.exists(path)


def size_of_file(path: str | os.PathLike[str]) -> int:
    """The bytes of a file; 0 where that is not known."""
    if is_address(path):
        files, name = _file_system(path)
        return int(files.size(name) or 0)
    return os.path.getsize(path)


def state_of_file(path: str | Path) -> tuple[str, int, Any]:
    """Name, size and what changes when a file is written anew: its time, or what the file system knows of it."""
    if is_address(path):
        files, name = _file_system(path)
        return Path(name).name, size_of_file(path), str(files.ukey(name))
    state = os.stat(path)
    return Path(path).name, state.st_size, state.st_mtime_ns


def matching(pattern: str | Path) -> list[str]:
    """The files that a pattern names, in the order of their names."""
    if is_address(pattern):
        files, name = _file_system(pattern)
        return sorted(files.unstrip_protocol(found) for found in files.glob(name))
    return sorted(glob.glob(str(pattern)))


def _file_system(path: str | os.PathLike[str]) -> tuple[Any, str]:
    """The file system of an address, and the name there."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ImportError(f"{path}: files that are not on this machine need the package fsspec.") from error
    try:
        files, name = url_to_fs(os.fspath(path))
    except (ValueError, ImportError) as error:
        raise ValueError(f"{path}: {error}") from error
    return files, name
