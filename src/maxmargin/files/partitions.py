"""Data files as Dask collections: the workers of a cluster read their partitions themselves."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.files.compression import STANDARD_INPUT, kind_of
from maxmargin.files.data_file import DataFile, as_labels, table_format
from maxmargin.files.file_blocks import matching_files
from maxmargin.files.remote import exists, is_address
from maxmargin.files.store import is_store, open_store
from maxmargin.files.svmlight import SvmlightError, parse_svmlight, read_svmlight

# Bytes of plain svmlight text, and entries of a store, in a partition.
TEXT_BYTES, STORE_ENTRIES = 1 << 26, 1 << 23


class Piece(NamedTuple):
    """What a worker reads: a file, or of plain text the lines that begin in a range of bytes, of a store some rows."""

    path: str
    first: int = 0
    last: int | None = None


class PartitionedFiles(NamedTuple):
    """Rows and targets as Dask arrays; names of the columns, for tables."""

    X: Any
    y: Any
    names: list[str] | None


def read_partitions(
    client: Any,
    paths: Sequence[str],
    *,
    target: str | None = None,
    values: bool = False,
    zero_based: bool = False,
    text_bytes: int = TEXT_BYTES,
) -> PartitionedFiles:
    """Read files by the workers of a cluster, which must see them under the same paths.

    Plain svmlight text is cut into ranges of bytes and a store into stretches of rows; a table, a compressed file and a
    file that an address names are one partition each. The files may be of different formats, but not tables beside
    others.

    Parameters
    ----------
    client : distributed.Client
    paths : sequence of str
        Files, patterns such as ``part-*.svm``, or addresses that fsspec reads, such as ``s3://bucket/part-*.svm``.
    target, values, zero_based
        As in :func:`maxmargin.files.read_data`.
    text_bytes : int
        Bytes of plain text in a partition.

    Returns
    -------
    PartitionedFiles
    """
    import dask

    if STANDARD_INPUT in paths:
        raise ValueError("standard input cannot be read by workers: name files.")
    paths = [str(path) for path in matching_files(paths)]
    tables = [table_format(path) is not None for path in paths]
    if any(tables) and not all(tables):
        raise ValueError("tables and other files cannot be read together: convert one kind to the other first.")
    if target is not None and not all(tables):
        raise ValueError(f"target={target!r} names a column of a table, and {paths[tables.index(False)]} is none.")
    if zero_based and (any(tables) or any(map(is_store, paths))):
        raise ValueError("zero_based is about svmlight text alone.")
    pieces = [piece for path in paths for piece in pieces_of(path, text_bytes)]
    read = dask.delayed(_read, pure=False)
    # The rows stay with the workers: only widths and names come back.
    parts = client.persist([read(piece, target, None, values, zero_based) for piece in pieces])
    known = client.gather(client.compute([dask.delayed(_shape_of)(part) for part in parts]))
    errors = [error for error, _, _, _ in known if error]
    if errors:
        raise ValueError(errors[0])
    names = merged_names([found for _, _, _, found in known]) if any(tables) else None
    width = max((n_columns for _, _, n_columns, _ in known), default=0) if names is None else len(names)
    if names is not None and any(found != names for _, _, _, found in known):
        # Texts that only some of the files have: every file is encoded with the values of all.
        parts = client.persist([read(piece, target, names, values, zero_based) for piece in pieces])
    rows = [dask.delayed(_rows_of)(part, width) for part in parts]
    targets = [dask.delayed(_targets_of)(part) for part in parts]
    counts = tuple(count for _, count, _, _ in known)
    from maxmargin.engine.executors import array_of_chunks

    X = array_of_chunks(rows, (counts, (width,)), 0, np.float64)
    y = array_of_chunks(targets, (counts,), 0, np.float64 if values else np.dtype(object))
    X, y = client.persist([X, y])
    return PartitionedFiles(X, y, names)


def pieces_of(path: str, text_bytes: int = TEXT_BYTES) -> list[Piece]:
    """The partitions of a file."""
    if not exists(path):
        raise ValueError(f"{path}: there is no such file.")
    if is_store(path):
        X = open_store(path).X
        entries = (X.nnz if sp.issparse(X) else X.size) / max(1, X.shape[0])
        step = max(1, int(STORE_ENTRIES / max(1.0, entries)))
        return [Piece(path, first, min(first + step, X.shape[0])) for first in range(0, X.shape[0], step)]
    if is_address(path) or table_format(path) is not None or kind_of(path):
        return [Piece(path)]
    size = Path(path).stat().st_size
    return [Piece(path, first, min(first + text_bytes, size)) for first in range(0, size, text_bytes)] or [Piece(path)]


def merged_names(all_names: Sequence[list[str]]) -> list[str]:
    """The columns of several tables: those of text columns, ``column=value``, with the values of all."""
    groups: dict[str, set[str]] = {}
    for names in all_names:
        for name in names:
            groups.setdefault(name.partition("=")[0], set()).add(name)
    return [name for group in groups.values() for name in sorted(group)]


# Tasks of the workers.


def _read(piece: Piece, target: str | None, names: list[str] | None, values: bool, zero_based: bool) -> Any:
    """The rows of a partition, or the error in words: an exception would not name the first file that has one."""
    try:
        found = _rows_of_piece(piece, target, names, zero_based)
    except (ValueError, OSError) as error:
        return str(error)
    if found.y is None:
        return f"{piece.path}: there is no column {target!r}."
    return DataFile(found.X, found.y if values else as_labels(found.y), found.names)


def _rows_of_piece(piece: Piece, target: str | None, names: list[str] | None, zero_based: bool) -> DataFile:
    path, first, last = piece
    if table_format(path) is not None:
        from maxmargin.files.tables import read_table

        return read_table(path, target=target, names=names)
    if is_store(path):
        found = open_store(path)
        return DataFile(found.X[first:last], np.array(found.y[first:last]), None)
    if last is None:
        return DataFile(*read_svmlight(path, zero_based=zero_based, n_jobs=1))
    try:
        return DataFile(*parse_svmlight(path, io.BytesIO(lines_between(path, first, last)), zero_based=zero_based))
    except SvmlightError as error:
        raise ValueError(f"{path}, from byte {first}: {error}") from error


def lines_between(path: str, first: int, last: int) -> bytes:
    """The lines that begin in a range of bytes."""
    with open(path, "rb") as file:
        if first:
            # A line that begins before the range belongs to the partition before, also where it ends with the range.
            file.seek(first - 1)
            first = first - 1 + len(file.readline())
        text = file.read(last - first) if first < last else b""
        return text + (file.readline() if text and not text.endswith(b"\n") else b"")


def _shape_of(part: Any) -> tuple[str, int, int, list[str]]:
    """The error, or the numbers of rows and columns and the columns' names."""
    return (part, 0, 0, []) if isinstance(part, str) else ("", *part.X.shape, part.names or [])


def _rows_of(part: Any, width: int) -> Any:
    X = part.X
    if not sp.issparse(X) or X.shape[1] == width:
        return X
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def _targets_of(part: Any) -> Any:
    return part.y
