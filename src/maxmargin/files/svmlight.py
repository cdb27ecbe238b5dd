"""The svmlight (LIBSVM) text format: ``label index:value index:value ... # comment``, one line for each row."""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.validation import n_threads_of
from maxmargin.files.atomic import written_atomically
from maxmargin.files.compression import STANDARD_INPUT, compressed, kind_of, name_of, open_bytes
from maxmargin.files.line_blocks import LineBlocks
from maxmargin.files.svmlight_chunks import (
    LARGEST_INDEX,
    Chunk,
    Expected,
    Fault,
    ParallelParser,
    parse_block,
    take_block,
)

# Rows of a block, and entries after which a block ends before: about 50 MB, however long the rows are.
ROWS_PER_BLOCK = 1 << 14
MOST_ENTRIES_PER_BLOCK = 1 << 22


class SvmlightError(ValueError):
    r"""An invalid line of svmlight text.

    Attributes
    ----------
    path : str
    line : int
        The number of the line, from 1 on.
    reason : str

    See Also
    --------
    read_svmlight : Raises this.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.files import SvmlightError, read_svmlight
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.svm").write_text("1 1:2\n-1 two:1\n")
    ...     try:
    ...         read_svmlight(Path(folder, "rows.svm"))
    ...     except SvmlightError as error:
    ...         print(str(error).replace(folder, ""))
    /rows.svm, line 2: expected index:value, where the index is a whole number without sign: '-1 two:1'
    """

    def __init__(self, path: str, line: int, reason: str, excerpt: str) -> None:
        super().__init__(path, line, reason, excerpt)
        self.path = path
        self.line = line
        self.reason = reason
        self.excerpt = excerpt

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.reason}: {self.excerpt}"


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    dtype: Any = np.float64,
    n_jobs: int | None = None,
    query_id: bool = False,
) -> tuple[Any, ...]:
    """Read rows and labels by several threads.

    The result equals that of ``sklearn.datasets.load_svmlight_file``, except that indices have 32 bits. Numbers are
    rounded as by Python's ``float``. Ambiguous text is refused: several labels in a line, values that are not finite,
    indices that do not ascend, a query in some lines only.

    Parameters
    ----------
    path : str or Path
        Decompressed if its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``. ``-`` is standard input.
    n_features : int or None, default=None
        The number of columns; None takes the largest index. A larger index is an error.
    zero_based : bool or "auto", default="auto"
        Whether the first column's index is 0 or 1; "auto" says 1 if no index 0 occurs in the file.
    dtype : numpy.float64 or numpy.float32, default=numpy.float64
    n_jobs : int or None, default=None
        Number of threads; None is one per core, unlike in scikit-learn: parsing scales with the threads, and the result
        does not depend on their number.
    query_id : bool, default=False
        Whether to return the numbers after ``qid:``, too; each line must then have one.

    Returns
    -------
    X : scipy.sparse.csr_matrix
    y : ndarray of float64
    queries : ndarray of int64, only with ``query_id``

    Raises
    ------
    SvmlightError
        With the number of the first invalid line.
    ValueError
        Where a compressed file is damaged.

    See Also
    --------
    write_svmlight : The way back.
    read_svmlight_blocks : A block of rows at a time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.svm"
    ...     _ = path.write_text("+1 1:0.5 3:2\\n-1 2:1e3  # the second row\\n")
    ...     X, y = read_svmlight(path)
    >>> X.toarray()
    array([[5.e-01, 0.e+00, 2.e+00],
           [0.e+00, 1.e+03, 0.e+00]])
    >>> y
    array([ 1., -1.])
    """
    if not isinstance(zero_based, (bool, np.bool_)) and zero_based != "auto":
        raise ValueError(f"zero_based must be True, False or 'auto'; it is {zero_based!r}.")
    expected = Expected(
        _feature_count(n_features),
        None if zero_based == "auto" else bool(zero_based),
        _value_type(dtype),
        bool(query_id),
    )
    n_threads = n_threads_of(n_jobs)
    try:
        with open_bytes(path) as stream:
            chunks = ParallelParser(LineBlocks(stream), expected).run(n_threads)
        return _joined(chunks, expected, n_threads)
    except Fault as fault:
        raise _error(path, fault) from None


def parse_svmlight(path: str | os.PathLike[str], stream: Any, *, zero_based: bool) -> tuple[Any, ...]:
    """Rows and labels of a stream of text, which is part of the file ``path``, by one thread."""
    expected = Expected(None, zero_based, _value_type(np.float64), False)
    try:
        return _joined(ParallelParser(LineBlocks(stream), expected).run(1), expected, 1)
    except Fault as fault:
        raise _error(path, fault) from None


def read_svmlight_blocks(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    rows_per_block: int = ROWS_PER_BLOCK,
    dtype: Any = np.float64,
) -> Iterator[tuple[Any, np.ndarray]]:
    r"""Read a file of any size in blocks of rows.

    Memory is bounded by one block, which ends after ``rows_per_block`` rows or four million entries, whichever comes
    first. The first rows are returned before the last are read: the number of columns and ``zero_based`` cannot be
    inferred from the file and must be given. Indices that contradict them are errors.

    Parameters
    ----------
    path : str or Path
        As for ``read_svmlight``.
    n_features : int or None, default=None
        The number of columns, as of the model that the rows are for; None takes the largest index of each block, so
        that blocks may differ in it.
    zero_based : bool, default=False
        Whether the first column's index is 0 or 1; 1 is the rule, and what ``write_svmlight`` writes.
    rows_per_block : int, default=16384
    dtype : numpy.float64 or numpy.float32, default=numpy.float64

    Yields
    ------
    X : scipy.sparse.csr_matrix
        With ``rows_per_block`` rows; fewer in the last block, and where rows are wide.
    y : ndarray of float64

    Raises
    ------
    SvmlightError
        When the block with the invalid line is reached.

    See Also
    --------
    read_svmlight : All rows at once.
    read_blocks : The same for all formats.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.files import read_svmlight_blocks
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.svm").write_text("1 1:2\n-1 2:1\n1 1:3\n")
    ...     [X.shape[0] for X, y in read_svmlight_blocks(Path(folder, "rows.svm"), n_features=2)]
    [3]
    """
    if not isinstance(zero_based, (bool, np.bool_)):
        raise ValueError(f"zero_based must be True or False where a file is read by blocks; it is {zero_based!r}.")
    expected = Expected(_feature_count(n_features), bool(zero_based), _value_type(dtype))
    return _blocks(path, expected, _count("rows_per_block", rows_per_block, LARGEST_INDEX))


def write_svmlight(
    path: str | os.PathLike[str],
    X: Any,
    y: Any,
    *,
    zero_based: bool = False,
    query_id: Any = None,
    comment: str | None = None,
) -> None:
    """Write rows and labels exactly: reading them returns the same bits.

    The file is written atomically.

    Parameters
    ----------
    path : str or Path
        Compressed if its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    X : sparse matrix or array of shape (n_rows, n_features)
        Zeros that a sparse matrix stores are written; those of an array are not.
    y : array of n_rows numbers
    zero_based : bool, default=False
        Whether the first column is 0 or 1. Files that count from 1 are read correctly by ``zero_based="auto"``.
    query_id : array of n_rows integers or None, default=None
    comment : str or None, default=None
        Lines to write at the beginning.

    See Also
    --------
    read_svmlight : The way back.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.files import write_svmlight
    >>> with TemporaryDirectory() as folder:
    ...     write_svmlight(Path(folder, "rows.svm"), [[2.0, 0.0], [0.0, 0.5]], [1, -1])
    ...     print(Path(folder, "rows.svm").read_text().strip())
    1 1:2.0
    -1 2:0.5
    """
    lines = (f"# {line}\n".encode() for line in (comment or "").splitlines())
    _write_lines(path, lines, [_writable(X, y, query_id)], zero_based)


def write_svmlight_blocks(path: str | os.PathLike[str], blocks: Iterable[tuple[Any, Any]]) -> None:
    """Write blocks of rows and labels one after the other, as :func:`write_svmlight` does; one is in memory at a time.

    Parameters
    ----------
    path : str or Path
    blocks : iterable of (X, y)
    """
    _write_lines(path, (), (_writable(X, y, None) for X, y in blocks), zero_based=False)


def _write_lines(path: Any, first: Iterable[bytes], blocks: Iterable[tuple[Any, Any, Any]], zero_based: bool) -> None:
    # Imported here: it loads scikit-learn, which reading does not need.
    from maxmargin.data.blocks import row_blocks

    if path == STANDARD_INPUT:
        raise ValueError("path is '-', which is standard input: write to a file.")
    with written_atomically(path) as file, compressed(file, kind_of(path)) as stream:
        for line in first:
            stream.write(line)
        for matrix, labels, queries in blocks:
            n_rows = matrix.shape[0]
            for rows in row_blocks(n_rows, matrix.nnz / max(1, n_rows)):
                stream.write(_text_of(matrix, labels, queries, rows, first=0 if zero_based else 1).encode("ascii"))


def _joined(chunks: list[Chunk], expected: Expected, n_threads: int) -> tuple[Any, ...]:
    """Concatenate chunks by several threads; the list is emptied, so that each chunk is freed once it is copied."""
    n_entries = sum(chunk.indices.size for chunk in chunks)
    n_rows = sum(chunk.labels.size for chunk in chunks)
    smallest = min((chunk.smallest for chunk in chunks if chunk.indices.size), default=0)
    largest = max((chunk.largest for chunk in chunks if chunk.indices.size), default=0)
    first = int(smallest > 0) if expected.zero_based is None else int(not expected.zero_based)
    if first == 0:
        _refuse_too_large(chunks)
    n_features = expected.n_features or (largest - first + 1 if n_entries else 1)
    index_type = np.int32 if n_entries <= LARGEST_INDEX else np.int64
    labels, queries = np.empty(n_rows), np.empty(n_rows if expected.query_id else 0, dtype=np.int64)
    values, columns = np.empty(n_entries, dtype=expected.dtype), np.empty(n_entries, dtype=index_type)
    offsets = np.zeros(n_rows + 1, dtype=index_type)
    rows_before = list(accumulate((chunk.labels.size for chunk in chunks), initial=0))
    entries_before = list(accumulate((chunk.indices.size for chunk in chunks), initial=0))
    waiting: list[Chunk | None] = list(chunks)
    chunks.clear()

    def place(number: int) -> None:
        chunk, waiting[number] = waiting[number], None
        assert chunk is not None
        rows, entries = rows_before[number], entries_before[number]
        labels[rows : rows + chunk.labels.size] = chunk.labels
        queries[rows : rows + chunk.queries.size] = chunk.queries
        values[entries : entries + chunk.values.size] = chunk.values
        np.subtract(chunk.indices, first, out=columns[entries : entries + chunk.indices.size], casting="same_kind")
        np.add(chunk.ends, entries, out=offsets[rows + 1 : rows + 1 + chunk.ends.size], casting="same_kind")

    if n_threads == 1 or len(waiting) == 1:
        for number in range(len(waiting)):
            place(number)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(place, range(len(waiting))))
    X = _matrix(values, columns, offsets, n_features)
    return (X, labels, queries) if expected.query_id else (X, labels)


def _refuse_too_large(chunks: Iterable[Chunk]) -> None:
    lines_before = 0
    for chunk in chunks:
        if chunk.too_large is not None:
            chunk.too_large.line += lines_before
            raise chunk.too_large
        lines_before += chunk.n_lines


def _matrix(values: np.ndarray, columns: np.ndarray, offsets: np.ndarray, n_features: int) -> Any:
    X = sp.csr_matrix((values, columns, offsets), shape=(offsets.size - 1, n_features))
    # The parser has checked this; otherwise SciPy would check again.
    X.has_sorted_indices = X.has_canonical_format = True
    return X


def _blocks(path: str | os.PathLike[str], expected: Expected, rows_per_block: int) -> Iterator[tuple[Any, np.ndarray]]:
    lines_before = 0
    with open_bytes(path) as stream:
        blocks = LineBlocks(stream)
        held: list[Chunk] = []
        n_held = n_entries = 0
        try:
            while (block := take_block(blocks)) is not None:
                chunk = parse_block(block, expected)
                lines_before += chunk.n_lines
                held.append(chunk)
                n_held += chunk.labels.size
                n_entries += chunk.indices.size
                if n_held >= rows_per_block or n_entries >= MOST_ENTRIES_PER_BLOCK:
                    X, y = _joined(held, expected, 1)
                    stop = 0
                    for rows in _full_blocks(X.indptr, rows_per_block):
                        yield X[rows], y[rows]
                        stop = rows.stop
                    held = [_tail(X, y, stop, expected)]
                    n_held, n_entries = held[0].labels.size, held[0].indices.size
        except Fault as fault:
            fault.line += lines_before
            raise _error(path, fault) from None
        if n_held:
            X, y = _joined(held, expected, 1)
            yield X, y


def _full_blocks(offsets: np.ndarray, rows_per_block: int) -> Iterator[slice]:
    """Yield the rows of complete blocks."""
    n_rows, start = offsets.size - 1, 0
    offsets = offsets.astype(np.int64)
    while start < n_rows:
        reached = int(np.searchsorted(offsets, offsets[start] + MOST_ENTRIES_PER_BLOCK))
        stop = min(start + rows_per_block, reached)
        if stop > n_rows:
            return
        yield slice(start, stop)
        start = stop


def _tail(X: Any, y: np.ndarray, start: int, expected: Expected) -> Chunk:
    """Return the rows from ``start`` on as a chunk, with the indices of the file."""
    rest = X[start:]
    indices = rest.indices + (0 if expected.zero_based else 1)
    largest = int(indices.max(initial=0))
    return Chunk(y[start:].copy(), rest.indptr[1:], np.empty(0, np.int64), indices, rest.data, 0, 0, largest, None)


def _writable(X: Any, y: Any, query_id: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Check X, y and the queries, and convert them for writing."""
    X = X if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "iufb":
        raise ValueError(f"X must be a matrix of numbers; it has the shape {X.shape} and the type {X.dtype}.")
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:
        raise ValueError(f"X must be of float64 or shorter: {X.dtype} would be rounded.")
    matrix = sp.csr_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    y = np.asarray(y)
    if y.shape != (matrix.shape[0],) or y.dtype.kind not in "iufb":
        raise ValueError(f"y must be {matrix.shape[0]} numbers; it has the shape {y.shape} and the type {y.dtype}.")
    for name, values in (("X", matrix.data), ("y", y)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} has values that are not finite: svmlight files have no place for them.")
    if query_id is None:
        return matrix, y, None
    queries = np.asarray(query_id)
    if queries.shape != y.shape or queries.dtype.kind not in "iu" or np.abs(queries).max(initial=0) >= 10**18:
        raise ValueError(f"query_id must be {len(y)} integers of at most 18 digits.")
    return matrix, y, queries


def _text_of(matrix: Any, labels: np.ndarray, queries: np.ndarray | None, rows: slice, first: int) -> str:
    offsets = matrix.indptr[rows.start : rows.stop + 1].tolist()
    begin, end = offsets[0], offsets[-1]
    columns = (matrix.indices[begin:end].astype(np.int64) + first).tolist()
    pattern, values = _numbers(matrix.data[begin:end])
    entries = list(map(f" %d:{pattern}".__mod__, zip(columns, values, strict=True)))
    pattern, written = _numbers(labels[rows])
    heads = list(map(pattern.__mod__, written))
    if queries is not None:
        heads = [f"{head} qid:{query}" for head, query in zip(heads, queries[rows].tolist(), strict=True)]
    lines = []
    for head, start, stop in zip(heads, offsets, offsets[1:], strict=False):
        lines += [head, *entries[start - begin : stop - begin], "\n"]
    return "".join(lines)


def _numbers(values: np.ndarray) -> tuple[str, list[Any]]:
    """Return a format that writes the numbers exactly, and the numbers; integers if all of them are whole."""
    if values.dtype.kind in "iub":
        return "%d", values.astype(np.int64 if values.dtype.kind != "u" else np.uint64).tolist()
    values = values.astype(np.float64)
    whole = np.abs(values) < 2**53
    whole &= np.trunc(values) == values
    whole &= ~((values == 0.0) & np.signbit(values))
    return ("%d", values.astype(np.int64).tolist()) if whole.all() else ("%r", values.tolist())


def _error(path: str | os.PathLike[str], fault: Fault) -> SvmlightError:
    return SvmlightError(name_of(path), fault.line + 1, fault.reason, fault.excerpt)


def _count(name: str, number: Any, largest: int) -> int:
    is_integer = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
    if not is_integer or not 1 <= number <= largest:
        raise ValueError(f"{name} must be an integer between 1 and {largest}; it is {number!r}.")
    return int(number)


def _feature_count(n_features: Any) -> int | None:
    return None if n_features is None else _count("n_features", n_features, LARGEST_INDEX)


def _value_type(dtype: Any) -> np.dtype:
    value_type = np.dtype(dtype)
    if value_type not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32; it is {value_type}.")
    return value_type
