"""Compression of files: gzip, bzip2, xz and Zstandard.

The suffix of the name determines the format: ``.gz``, ``.bz2``, ``.xz`` or ``.zst``; for standard input (``-``) the
first bytes do.
"""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from maxmargin.files.remote import is_address, open_binary, size_of_file

STANDARD_INPUT = "-"

# Suffixes of compressed files, and the first bytes of each format.
FIRST_BYTES = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd"}
LONGEST_FIRST_BYTES = max(map(len, FIRST_BYTES.values()))

# Compressed bytes that are read at a time: they become some ten megabytes at most, so that a hostile file cannot
# exhaust the memory.
PIECE = 1 << 10

# Called while a file is read with the bytes read so far and the size of the file, which is None for a pipe.
bytes_listener: ContextVar[Callable[[int, int | None], None] | None] = ContextVar("bytes_listener", default=None)


def name_of(path: str | os.PathLike[str]) -> str:
    """The file's name in messages."""
    return "standard input" if path == STANDARD_INPUT else os.fspath(path)


def kind_of(path: str | os.PathLike[str]) -> str:
    """The suffix of a compressed file; empty for a plain one."""
    suffix = Path(path).suffix.lower()
    return suffix if suffix in FIRST_BYTES else ""


@contextlib.contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[io.RawIOBase]:
    """Open a file for reading, decompressed.

    Parameters
    ----------
    path : str or Path
        ``-`` is standard input.

    Yields
    ------
    stream : with ``readinto`` and ``read``
        They raise ``ValueError`` with the file's name where its compressed bytes are damaged or end too early.
    """
    with contextlib.ExitStack() as opened:
        if path == STANDARD_INPUT:
            source = sys.stdin.buffer
            head = source.read(LONGEST_FIRST_BYTES)
            kind = next((kind for kind, first in FIRST_BYTES.items() if head.startswith(first)), "")
            plain = cast(BinaryIO, io.BufferedReader(_Rejoined(head, source)))
        else:
            plain = opened.enter_context(open_binary(path))
            # An empty file is one without rows, whatever its name says; a pipe has no size.
            is_empty = (is_address(path) or os.path.isfile(path)) and not size_of_file(path)
            kind = "" if is_empty else kind_of(path)
        listener = bytes_listener.get()
        if listener is not None:
            size = None if path == STANDARD_INPUT else size_of_file(path) or None
            plain = cast(BinaryIO, _Counted(plain, size, listener))
        yield _Named(_DECOMPRESSED[kind](plain), name_of(path))


@contextlib.contextmanager
def compressed(stream: BinaryIO, kind: str) -> Iterator[BinaryIO]:
    """Yield a writer that compresses into a stream, in the format of the suffix ``kind``; the stream stays open."""
    if not kind:
        yield stream
        return
    if kind == ".gz":
        # Neither a name nor a time is stored: the same data give the same file.
        writer: Any = gzip.GzipFile("", "wb", 6, stream, 0)
    elif kind == ".bz2":
        writer = bz2.BZ2File(stream, "wb")
    elif kind == ".xz":
        writer = lzma.LZMAFile(stream, "wb")  # noqa: SIM115 - entered below
    elif _zstandard().__name__ == "zstandard":
        writer = _zstandard().ZstdCompressor().stream_writer(stream, closefd=False)
    else:
        writer = _zstandard().ZstdFile(stream, "wb")
    with writer:
        yield writer


def _zstandard() -> Any:
    """Python's own module (from 3.14 on), else the package zstandard."""
    for module in ("compression.zstd", "zstandard"):
        with contextlib.suppress(ImportError):
            return import_module(module)
    raise ImportError("Files that end in .zst need the package zstandard: pip install zstandard (or Python 3.14).")


def _open_zstandard(plain: BinaryIO) -> Any:
    module = _zstandard()
    return _Frames(plain, module) if module.__name__ == "zstandard" else module.ZstdFile(plain)


_DECOMPRESSED: dict[str, Callable[[BinaryIO], Any]] = {
    "": lambda plain: plain,
    ".gz": lambda plain: gzip.GzipFile(fileobj=plain, mode="rb"),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _open_zstandard,
}


class _Readable(io.RawIOBase):
    """A stream to read from."""

    def readable(self) -> bool:
        return True


class _Rejoined(_Readable):
    """Bytes that were read ahead, followed by the rest of their stream."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest

    def readinto(self, buffer: Any) -> int:
        piece = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)


class _Counted(_Readable):
    """A stream that reports how many bytes were read."""

    def __init__(self, stream: BinaryIO, size: int | None, report: Callable[[int, int | None], None]) -> None:
        self._stream = stream
        self._size = size
        self._report = report
        self._n_read = 0

    def readinto(self, buffer: Any) -> int:
        size = self._stream.readinto(buffer)  # type: ignore[attr-defined]
        self._n_read += size
        self._report(self._n_read, self._size)
        return size


class _Frames(_Readable):
    """The frames of a Zstandard file, decompressed one after the other.

    The package's own reader does not notice a truncated file.
    """

    def __init__(self, plain: BinaryIO, module: Any) -> None:
        self._plain = plain
        self._module = module
        self._frame: Any = None
        self._left = b""
        self._ready = memoryview(b"")

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            piece = self._left or self._plain.read(PIECE)
            self._left = b""
            if not piece:
                if self._frame is not None:
                    raise EOFError("Compressed file ended before the end-of-stream marker was reached")
                return 0
            if self._frame is None:
                self._frame = self._module.ZstdDecompressor().decompressobj()
            try:
                self._ready = memoryview(self._frame.decompress(piece))
            except self._module.ZstdError as error:
                raise zlib.error(str(error)) from error
            if self._frame.eof:
                self._left, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


class _Named(_Readable):
    """A stream whose decompression errors name the file."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name

    def readinto(self, buffer: Any) -> int:
        try:
            return self._stream.readinto(buffer)
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            # Errors of the system have a number, those of the decompressors have none.
            if getattr(error, "errno", None) is not None:
                raise
            raise ValueError(f"{self._name} is not a whole compressed file: {error}") from error
