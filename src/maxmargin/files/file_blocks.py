"""Files of any size and format as blocks of rows, and as stores: a pass for the columns, and one for the rows."""

import io
import math
import os
import shutil
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.memory import available_memory, gigabytes
from maxmargin.data.user_warnings import warn_user
from maxmargin.files.atomic import NO_ROOM
from maxmargin.files.columns import CATEGORY, Column, TableOptions, Unseen, is_number, refuse_ambiguous, understand
from maxmargin.files.compression import STANDARD_INPUT, kind_of, open_bytes
from maxmargin.files.data_file import DataFile, are_whole, as_labels, table_format
from maxmargin.files.preparation import Preparation
from maxmargin.files.remote import (
    exists,
    is_address,
    local_or_address,
    matching,
    size_of_file,
    state_of_file,
)
from maxmargin.files.store import MANIFEST, Store, is_store, open_store, read_manifest
from maxmargin.files.store_writing import store_blocks
from maxmargin.files.svmlight import read_svmlight_blocks
from maxmargin.files.svmlight_chunks import LARGEST_INDEX

# Rows of svmlight text that are in memory at a time.
ROWS_PER_BLOCK = 1 << 15
# Bytes in memory for every byte of svmlight text that is read as a whole, as measured.
BYTES_PER_BYTE = 3.0
# The same for a cell of a table of numbers, and of one with texts, whose rows become sparse.
BYTES_PER_NUMBER, BYTES_PER_SPARSE_CELL = 36.0, 54.0
# Bytes that reading and training take for few rows: libraries, and the buffers of threads that parse CSV.
FEW_ROWS = {"text": 16e6, "parquet": 30e6, "csv": 85e6}
# Other compressions than zlib's make a text smaller by up to this factor.
STRONGER_COMPRESSION = 1.5
# Numbers a row that solvers on arrays keep beside the data.
NUMBERS_PER_ROW = 20
# Labels that are classes; more of them are values.
MOST_CLASSES = 10_000
# Bytes of a text by which the length of its lines is estimated.
BEGINNING = 1 << 18
# The share of the memory that the columns of a table may take which are understood at a time, and bytes of a cell.
SHARE_OF_COLUMNS, BYTES_PER_CELL = 0.25, 24
# Bytes of an entry of sparse rows in a store, and of a row's label and offset.
BYTES_PER_ENTRY, BYTES_PER_SPARSE_ROW = 12, 16


def read_blocks(
    paths: str | Path | Sequence[str | Path],
    *,
    target: str | None = None,
    zero_based: bool = False,
    table: TableOptions | None = None,
) -> "FileBlocks":
    """Read files of any size in blocks of rows with the same columns.

    Parameters
    ----------
    paths : str, Path or a sequence of them
        svmlight text (plain or compressed), CSV, TSV, Parquet or stores, all of one format; names may be patterns such
        as ``part-*.svm``, or addresses that fsspec reads, such as ``s3://bucket/part-*.svm``. Their rows follow each
        other in the order of the sorted names.
    target : str, optional
        The column of a table that is to be predicted.
    zero_based : bool, default=False
        Whether svmlight text counts columns from zero.
    table : TableOptions, optional
        How tables are read and understood.

    Returns
    -------
    FileBlocks
        Iterates over blocks, each a DataFile, any number of times. Its method ``store(path)`` writes a store, from
        which models learn.

    See Also
    --------
    read_data : All rows at once.
    FileBlocks : What comes back.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.files import read_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(3):
    ...         _ = Path(folder, f"part-{k}.svm").write_text("+1 1:2 2:1\\n-1 1:-1 3:1\\n" * 5)
    ...     blocks = read_blocks(Path(folder, "part-*.svm"))
    ...     store = blocks.store(Path(folder, "all.store"))
    ...     model = LinearSVC().fit(store)
    ...     store.X.shape, float(model.score(store))
    ((30, 3), 1.0)
    """
    found = matching_files(paths)
    kinds = {_kind(path) for path in found}
    if len(kinds) > 1:
        raise ValueError(f"{found[0]} and {found[-1]} are of different formats: give files of one format.")
    kind = kinds.pop()
    if kind != "table" and target is not None:
        raise ValueError(f"target={target!r} names a column of a table, and {found[0]} is none.")
    if kind != "text" and zero_based:
        raise ValueError(f"zero_based is about svmlight text, and {found[0]} is none.")
    if kind == "table" and target is None:
        raise ValueError(f"{found[0]} is a table: give target=COLUMN, the one to be predicted.")
    options = table or TableOptions()
    options.check()
    return FileBlocks(tuple(found), kind, target, bool(zero_based), options)


def is_pattern(path: str | Path) -> bool:
    """Whether a path names files by a pattern, and is not a file itself."""
    return any(mark in str(path) for mark in "*?[") and not exists(path)


def matching_files(paths: str | Path | Sequence[str | Path]) -> list[str | Path]:
    """The files that paths and patterns name, those of a pattern in the order of their names."""
    given = [local_or_address(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]
    found: list[str | Path] = []
    for path in given:
        if str(path) == STANDARD_INPUT:
            raise ValueError("standard input cannot be read twice: write it to a file first.")
        names = matching(path) if is_pattern(path) else [path]
        if not names:
            raise ValueError(f"{path}: there are no such files.")
        found += (name if is_address(name) else Path(name) for name in names)
    if not found:
        raise ValueError("paths is empty: name at least one file.")
    return found


def memory_to_train(paths: Sequence[str | Path], table: TableOptions | None = None) -> int:
    """About the bytes of memory that reading files as a whole and training on them take; stores take none."""
    total, few = 0.0, 0.0
    for path in paths:
        if is_store(path) or not (is_address(path) or os.path.isfile(path)):
            continue
        if table_format(path) is None:
            size, kind = text_size(path), "text"
            n_rows, n_bytes = count_lines(path) * size, BYTES_PER_BYTE * size
        else:
            kind = "parquet" if table_format(path) == ".parquet" else "csv"
            n_rows, n_bytes = _table_size(path, table or TableOptions())
        total += n_bytes + 8 * NUMBERS_PER_ROW * n_rows
        few = max(few, FEW_ROWS[kind])
    return int(total + few)


def count_lines(path: str | Path) -> float:
    """About the number of lines for every byte of a text, by its beginning."""
    head = _beginning(path)
    return head.count(b"\n") / max(1, len(head))


def text_size(path: str | Path) -> float:
    """The bytes of a text; of a compressed one about as many as it has, by how far its beginning can be compressed."""
    size = float(size_of_file(path))
    if not kind_of(path):
        return size
    head = _beginning(path)
    return STRONGER_COMPRESSION * size * max(1.0, len(head) / len(zlib.compress(head)))


def _beginning(path: str | Path) -> bytes:
    try:
        with open_bytes(path) as stream:
            return io.BufferedReader(stream).read(BEGINNING)
    except (ValueError, ImportError, OSError, EOFError):
        # Reading the file says what is wrong with it.
        return b""


def _table_size(path: str | Path, options: TableOptions) -> tuple[float, float]:
    """About the number of rows of a table, and the bytes that reading it takes."""
    try:
        from maxmargin.files.arrow_source import Source, arrow_errors

        with arrow_errors(path, options):
            source = Source(path, options)
            n_rows, types = float(source.count_rows()), source.schema.types
    except (ValueError, ImportError, OSError):
        # Reading the file says what is wrong with it.
        return 0.0, 0.0
    has_texts = not all(map(is_number, types))
    n_bytes = n_rows * len(types) * (BYTES_PER_SPARSE_CELL if has_texts else BYTES_PER_NUMBER)
    return n_rows, n_bytes + (text_size(path) if has_texts else 0.0)


def _kind(path: str | Path) -> str:
    if is_store(path):
        return "store"
    return "text" if table_format(path) is None else "table"


def _counted(y: np.ndarray) -> dict[Any, int]:
    labels, numbers = np.unique(y, return_counts=True)
    return dict(zip(labels.tolist(), numbers.tolist(), strict=True))


class _TextShape(NamedTuple):
    """The size of svmlight text, whether all labels are whole numbers, and the first distinct ones with counts."""

    n_rows: int
    n_columns: int
    n_entries: int
    whole: bool
    counts: Counter[float]


@dataclass(frozen=True)
class FileBlocks:
    r"""Blocks of rows of files, with the same columns; see :func:`read_blocks`.

    Attributes
    ----------
    paths : tuple of str and Path
    kind : {"text", "table", "store"}
    target : str or None
    zero_based : bool
    options : TableOptions

    See Also
    --------
    read_blocks : Returns this.
    Store : The same rows on disk, as arrays.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.files import read_blocks
    >>> with TemporaryDirectory() as folder:
    ...     for part, text in enumerate(("1 1:2\n-1 2:1\n", "1 1:3\n")):
    ...         _ = Path(folder, f"part-{part}.svm").write_text(text)
    ...     sizes = [block.X.shape for block in read_blocks(f"{folder}/part-*.svm")]
    >>> sizes
    [(2, 2), (1, 2)]
    """

    paths: tuple[str | Path, ...]
    kind: str
    target: str | None
    zero_based: bool
    options: TableOptions

    def __iter__(self) -> Iterator[DataFile]:
        blocks = {"table": self._table_blocks, "text": self._text_blocks, "store": self._store_blocks}
        n_rows = 0
        for block in blocks[self.kind]():
            n_rows += block.X.shape[0]
            yield block
        if n_rows == 0:
            raise ValueError(f"{self.paths[0]}: there are no rows.")

    @property
    def names(self) -> list[str] | None:
        """The names of the columns of X."""
        if self.kind == "table":
            return [feature for column in self._columns[0] for feature in column.features]
        return self._stores[0].names if self.kind == "store" else None

    @property
    def preparation(self) -> Preparation | None:
        """What is done to the columns of tables."""
        return Preparation(tuple(self._columns[0]), self.target, id=self.options.id) if self.kind == "table" else None

    def store(self, path: str | Path) -> Store:
        """Write all rows into a store, and open it; one that was written from these files as they are is kept."""
        there = self.is_stored(path)
        if not there:
            self.write_store(path)
        return replace(open_store(path, check=there), preparation=self.preparation)

    def write_store(self, path: str | Path) -> None:
        """Write all rows into a store; where the disk has no room for it, that is said before and afterwards."""
        folder = Path(os.path.realpath(path)).parent
        needed, free = self._size_of_store(), shutil.disk_usage(folder).free if folder.is_dir() else math.inf
        about = f"it takes {gigabytes(needed)}, and {folder} has {gigabytes(free)} free: write it to a larger disk"
        if needed > free:
            # Not an error yet: some disks compress, and some do not know what is free.
            warn_user(f"There may be no room for the store {path}: {about}.", UserWarning)
        rows = ((block.X, self._labels(block.y)) for block in self)
        try:
            store_blocks(path, rows, self.names, None if self.kind == "store" else self._description())
        except OSError as error:
            if error.errno in NO_ROOM and error.strerror:
                error.strerror += f" for this store: {about}"
            raise

    def _size_of_store(self) -> int:
        """About the bytes of a store of all rows."""
        if self.kind == "store":
            return sum(store.n_bytes + store.y.nbytes for store in self._stores)
        if self.kind == "text":
            return BYTES_PER_ENTRY * self._text_shape.n_entries + BYTES_PER_SPARSE_ROW * self._text_shape.n_rows
        from maxmargin.files.arrow_source import Source

        columns, _ = self._columns
        n_rows = sum(Source(path, self.options).count_rows() for path in self.paths)
        if any(column.kind == CATEGORY for column in columns):
            n_entries = sum(1 if column.kind == CATEGORY else len(column.features) for column in columns)
            return n_rows * (BYTES_PER_ENTRY * n_entries + BYTES_PER_SPARSE_ROW)
        return 8 * n_rows * (len(self.names or ()) + 1)

    def is_stored(self, path: str | Path) -> bool:
        """Whether a path is a store that was written from these files, with these options, as they are now."""
        return is_store(path) and read_manifest(Path(path)).get("source") == self._description()

    def _labels(self, y: np.ndarray) -> np.ndarray:
        if y.dtype.kind not in "fiub":
            raise ValueError(
                f"{self.paths[0]} has labels that are text, which a store cannot hold: write a table (.csv or "
                ".parquet), or numbers in place of the texts first."
            )
        return y

    def _description(self) -> dict[str, Any]:
        """What a store was made of: names, sizes and times of the files, and the options."""
        states = [state_of_file(Path(path, MANIFEST) if is_store(path) else path) for path in self.paths]
        names = [Path(path).name for path in self.paths]
        return {
            "files": [[name, *state[1:]] for name, state in zip(names, states, strict=True)],
            "target": self.target,
            "zero_based": self.zero_based,
            "options": repr(self.options),
        }

    def label_counts(self) -> dict[Any, int]:
        """The labels, and how many rows have each."""
        counts: Counter[Any] = Counter()
        if self.kind == "text":
            counts = self._text_shape.counts
            if self._text_shape.whole:
                counts = Counter({int(label): number for label, number in counts.items()})
        else:
            for block in self:
                counts.update(_counted(as_labels(block.y)))
                if len(counts) > MOST_CLASSES:
                    break
        if len(counts) > MOST_CLASSES:
            raise ValueError(f"{self.paths[0]} has more than {MOST_CLASSES:,} labels: they are values, not classes.")
        return dict(counts)

    # svmlight text

    @cached_property
    def _text_shape(self) -> "_TextShape":
        """What a pass over the text finds."""
        n_rows, n_columns, n_entries, whole, counts = 0, 1, 0, True, Counter[float]()
        for block in self._parsed(LARGEST_INDEX):
            n_rows += block.X.shape[0]
            n_columns = max(n_columns, int(block.X.indices.max(initial=-1)) + 1)
            n_entries += block.X.nnz
            whole = whole and are_whole(block.y)
            if len(counts) <= MOST_CLASSES:
                counts.update(_counted(block.y))
        return _TextShape(n_rows, n_columns, n_entries, whole, counts)

    def _parsed(self, n_columns: int) -> Iterator[DataFile]:
        for path in self.paths:
            blocks = read_svmlight_blocks(
                path, rows_per_block=ROWS_PER_BLOCK, n_features=n_columns, zero_based=self.zero_based
            )
            for X, y in blocks:
                yield DataFile(X, y)

    def _text_blocks(self) -> Iterator[DataFile]:
        shape = self._text_shape
        for block in self._parsed(shape.n_columns):
            yield replace(block, y=block.y.astype(np.int64)) if shape.whole else block

    # Stores

    @cached_property
    def _stores(self) -> list[Store]:
        stores = [open_store(path, check=True) for path in self.paths]
        for store in stores:
            if store.n_columns != stores[0].n_columns or store.names != stores[0].names:
                raise ValueError(f"{store.folder} has other columns than {stores[0].folder}.")
        return stores

    def _store_blocks(self) -> Iterator[DataFile]:
        for store in self._stores:
            for number in range(len(store.block_rows)):
                first, last = store.cuts[number : number + 2]
                yield DataFile(store.read_rows(number), np.array(store.y[first:last]), store.names)

    # Tables

    @cached_property
    def _columns(self) -> tuple[list[Column], Any]:
        """What the columns are, of as many at a time as fit in memory, and the type of the target."""
        import pyarrow as pa

        from maxmargin.files.arrow_source import Source, arrow_errors
        from maxmargin.files.tables import refuse_options

        with arrow_errors(self.paths[0], self.options):
            sources = [Source(path, self.options) for path in self.paths]
            for source in sources:
                if source.names != sources[0].names:
                    raise ValueError(f"{source.path} has other columns than {sources[0].path}.")
                refuse_options(source.names, self.target, self.options, source.path)
            skipped = {self.target, self.options.id, self.options.weight, *self.options.drop}
            wanted = [name for name in sources[0].names if name not in skipped]
            cells = sum(source.count_rows() for source in sources) * BYTES_PER_CELL
            at_once = max(1, int(SHARE_OF_COLUMNS * available_memory() / max(1, cells)))

            def some(names: list[str]) -> Any:
                return pa.concat_tables([source.read_some(names) for source in sources], promote_options="permissive")

            assert self.target is not None
            kind = some([self.target]).schema.field(self.target).type
            columns: list[Column] = []
            for start in range(0, len(wanted), at_once):
                columns += understand(some(wanted[start : start + at_once]), self.options, set(), self.paths[0])
            refuse_ambiguous(columns, self.paths[0])
            return columns, kind

    def _table_blocks(self) -> Iterator[DataFile]:
        from maxmargin.files.tables import read_table_blocks

        columns, kind = self._columns
        assert self.target is not None
        for path in self.paths:
            yield from read_table_blocks(
                path, options=self.options, columns=columns, unseen=Unseen(), target=self.target, target_type=kind
            )
