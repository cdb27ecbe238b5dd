"""Stores: data on disk, a folder with one file for each array and a manifest.

``LinearSVC().fit(open_store(path))`` reads blocks of rows, a few at a time: training data may be larger than memory.
The vectors of the solver, at most eight numbers a row, stay in memory, and so do blocks as far as there is room. The
arrays are also mapped into memory, as ``X`` and ``y``, for everything else: the system reads the pages that are used
and drops them when memory is short.

Opening checks the sizes, and in one pass over the indices that the columns of every row ascend and are within the
shape: a damaged store cannot make the loops read outside of the arrays. ``check=True`` reads everything once and
compares the checksums, as :func:`maxmargin.files.read_data` and the command do.
"""

import json
import os
import tempfile
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.block_source import BlockSource
from maxmargin.files.data_file import DataFile, as_labels
from maxmargin.files.direct_reading import read_bytes
from maxmargin.files.remote import is_address, local_or_address

MANIFEST = "manifest.json"
STORE_FORMAT, STORE_VERSION = "maxmargin store", 1
# Bytes of a manifest, which holds little more than the names of the columns.
LARGEST_MANIFEST = 1 << 26
# Rows and columns that an index counts.
LARGEST_SIZE = 2**63 - 1
# Bytes that are read at a time for a checksum, and entries at a time for the check of the columns.
CHECKSUM_BYTES, CHECKED_ENTRIES = 1 << 22, 1 << 20
# The most entries and rows of a block that is read: 16 MB in float64.
ENTRIES_OF_BLOCK, ROWS_OF_BLOCK = 1 << 21, 1 << 18
# Arrays of a store and the types that they may have.
SPARSE = {"data": ("float32", "float64"), "indices": ("int32", "int64"), "indptr": ("int64",)}
DENSE = {"X": ("float32", "float64")}
TARGETS = ("float64", "int64")


class StoreError(ValueError):
    """A folder that is not a store, or a damaged one.

    See Also
    --------
    open_store : Raises this.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.files import StoreError, open_store
    >>> with TemporaryDirectory() as folder:
    ...     try:
    ...         open_store(folder)
    ...     except StoreError as error:
    ...         print("no store")
    no store
    """


@dataclass(frozen=True)
class Store(DataFile, BlockSource):
    """An open store: its arrays, mapped into memory, and its blocks of rows, which are read.

    Blocks are read and not mapped: a file that another program cuts off meanwhile is then an error, not a crash.

    Attributes
    ----------
    X, y, names : as in DataFile
    folder : Path
    cuts : ndarray of int
        The first row of every block, and the number of rows.

    See Also
    --------
    open_store : Returns this.
    write_store : Writes one.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from maxmargin.files import open_store, write_store
    >>> with TemporaryDirectory() as folder:
    ...     write_store(f"{folder}/rows.store", [(np.eye(3), np.array([1, -1, 1])), (np.eye(3), np.array([1, 1, -1]))])
    ...     store = open_store(f"{folder}/rows.store")
    ...     shape, labels = store.X.shape, store.y.tolist()
    >>> shape, labels
    ((6, 3), [1, -1, 1, 1, 1, -1])
    """

    folder: Path = field(default=Path(), kw_only=True)
    cuts: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64), kw_only=True)

    @property
    def block_rows(self) -> list[int]:
        """The number of rows of every block."""
        return np.diff(self.cuts).tolist()

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    @property
    def n_bytes(self) -> int:
        """The bytes of all rows."""
        if not sp.issparse(self.X):
            return int(self.X.nbytes)
        return int(self.X.data.nbytes + self.X.indices.nbytes + 8 * (self.X.shape[0] + 1))

    @property
    def arrays(self) -> Any:
        """All rows as one matrix that is mapped into memory."""
        return self.X

    @property
    def targets(self) -> np.ndarray:
        """All targets."""
        return np.asarray(as_labels(self.y))

    @property
    def scratch_folder(self) -> Path:
        """The folder itself, where it can be written to: that for temporary files may lie in memory."""
        return self.folder if os.access(self.folder, os.W_OK) else Path(tempfile.gettempdir())

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns."""
        return self.names

    def read_rows(self, number: int, *, cached: bool = True) -> Any:
        """The rows of a block, in memory."""
        first, last = map(int, self.cuts[number : number + 2])
        if not sp.issparse(self.X):
            width = self.n_columns
            return self._read("X", self.X.dtype, first * width, last * width, cached).reshape(last - first, width)
        offsets = self._read("indptr", np.dtype(np.int64), first, last + 1)
        begin, end = int(offsets[0]), int(offsets[-1])
        if not 0 <= begin <= end <= self.X.nnz or (np.diff(offsets) < 0).any():
            raise StoreError(f"{self.folder}: indptr.bin is damaged.")
        columns = self._read("indices", self.X.indices.dtype, begin, end, cached)
        if columns.size and not 0 <= columns.min() <= columns.max() < self.n_columns:
            raise StoreError(f"{self.folder}: indices.bin is damaged: columns are out of range.")
        data = self._read("data", self.X.dtype, begin, end, cached)
        rows = sp.csr_array(
            (data, columns, _narrow(offsets - begin, columns.dtype)), shape=(last - first, self.n_columns)
        )
        # Checked when the store was opened; otherwise SciPy would check again.
        rows.has_sorted_indices = rows.has_canonical_format = True
        return rows

    def read_targets(self, number: int) -> np.ndarray:
        """The targets of a block."""
        first, last = map(int, self.cuts[number : number + 2])
        targets = self._read("y", self.y.dtype, first, last)
        return np.asarray(as_labels(targets))

    def name_of_row(self, number: int, row: int) -> str:
        """Where a row of a block is, counted from 1."""
        return f"{self.folder}, row {int(self.cuts[number]) + row + 1:,}"

    def _read(self, name: str, dtype: np.dtype, first: int, last: int, cached: bool = True) -> np.ndarray:
        """Some entries of an array; an array that has become shorter since it was opened is refused."""
        path, place = self.folder / f"{name}.bin", first * dtype.itemsize
        size = (last - first) * dtype.itemsize
        found = read_bytes(path, place, size, cached=cached)
        if found.size < size:
            raise StoreError(
                f"{path} ends after {place + found.size:,} bytes: it was cut off since it was opened. Write the store "
                "anew."
            )
        return found.view(dtype)


def is_store(path: str | Path) -> bool:
    """Whether there is a store of that name."""
    return (Path(path) / MANIFEST).is_file()


def open_store(path: str | Path, *, check: bool = False) -> Store:
    """Open a store: X and y are read from the disk when they are used.

    The column indices of sparse rows are checked once, which reads ``indices.bin``.

    Parameters
    ----------
    path : str or Path
    check : bool, default=False
        Read everything and compare the checksums: only this detects damaged values.

    Returns
    -------
    Store
        ``fit`` of linear models takes it in place of X and y, and reads its blocks one after the other; ``predict``,
        ``score`` and ``certify`` do, too. Its ``X`` and ``y`` are arrays that are mapped into memory.

    Raises
    ------
    StoreError
        Where the folder is not a store, or is damaged.

    See Also
    --------
    write_store : Writes one from blocks of rows.
    store_text : Writes one from svmlight text.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.files import open_store, write_store
    >>> rng = np.random.default_rng(0)
    >>> blocks = ((X, X[:, 0] > X[:, 1]) for X in rng.normal(size=(5, 1000, 3)))
    >>> with TemporaryDirectory() as folder:
    ...     write_store(Path(folder, "rows.store"), blocks)
    ...     store = open_store(Path(folder, "rows.store"))
    ...     model = LinearSVC().fit(store)
    ...     print(f"{model.status_}; accuracy {model.score(store):.3f}")
    solved; accuracy 0.999
    """
    path = local_or_address(path)
    if is_address(path):
        raise StoreError(f"{path}: a store is mapped into memory, so that it has to be on this machine.")
    folder = Path(path)
    manifest = read_manifest(folder)
    shape, arrays = tuple(manifest["shape"]), manifest["arrays"]
    wanted = {**(SPARSE if manifest["sparse"] else DENSE), "y": TARGETS}
    if set(arrays) != set(wanted):
        raise StoreError(f"{path}: the arrays are {', '.join(sorted(arrays))}, not {', '.join(sorted(wanted))}.")
    opened = {name: _open_array(folder, name, arrays[name], dtypes) for name, dtypes in wanted.items()}
    if check:
        for name in opened:
            if _checksum(folder / f"{name}.bin") != arrays[name].get("checksum"):
                raise StoreError(
                    f"{path}: {name}.bin is not what was written, its checksum is another one: write the store anew."
                )
    _refuse_other_sizes(path, manifest, opened)
    if not manifest["sparse"]:
        cuts = np.append(np.arange(0, shape[0], _rows_per_block(shape[1])), shape[0])
        return Store(opened["X"].reshape(shape), opened["y"], manifest["names"], folder=folder, cuts=cuts)
    # The row offsets are few, and all reading depends on them: they are always checked.
    indptr = opened["indptr"]
    if indptr[0] != 0 or indptr[-1] != opened["data"].size or (np.diff(indptr) < 0).any():
        raise StoreError(f"{path}: indptr.bin is damaged.")
    if not _columns_are_sound(opened["indices"], indptr, shape[1]):
        raise StoreError(f"{path}: indices.bin is damaged: columns are out of range, or do not ascend within a row.")
    X = sp.csr_matrix(shape, dtype=opened["data"].dtype)
    X.data, X.indices, X.indptr = opened["data"], opened["indices"], _narrow(indptr, opened["indices"].dtype)
    # Checked above; otherwise SciPy would check again.
    X.has_sorted_indices = X.has_canonical_format = True
    return Store(X, opened["y"], manifest["names"], folder=folder, cuts=_cuts(indptr))


def _rows_per_block(entries: float) -> int:
    return max(1, min(ROWS_OF_BLOCK, int(ENTRIES_OF_BLOCK / max(1.0, entries))))


def _cuts(indptr: np.ndarray) -> np.ndarray:
    """The first rows of blocks with a bounded number of entries, unless a row has more, and the number of rows."""
    n_rows, cuts = indptr.size - 1, [0]
    while cuts[-1] < n_rows:
        first = cuts[-1]
        window = np.asarray(indptr[first : first + ROWS_OF_BLOCK + 1])
        cuts.append(first + max(1, int(np.searchsorted(window, window[0] + ENTRIES_OF_BLOCK, side="right")) - 1))
    return np.array(cuts)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a store, checked."""
    path = folder / MANIFEST
    if not path.is_file():
        raise StoreError(f"{folder} is not a store: there is no {MANIFEST} in it.")
    if path.stat().st_size > LARGEST_MANIFEST:
        raise StoreError(f"{path} is too large.")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        kind, version = manifest["format"], manifest["version"]
        names, shape, arrays = manifest["names"], manifest["shape"], manifest["arrays"]
        sound = (
            isinstance(manifest["sparse"], bool)
            and len(shape) == 2
            and all(isinstance(size, int) and 0 <= size <= LARGEST_SIZE for size in shape)
            and (names is None or (len(names) == shape[1] and all(isinstance(name, str) for name in names)))
            and isinstance(arrays, dict)
        )
    except RecursionError as error:
        raise StoreError(f"{path} is damaged: its values are nested too deeply.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is damaged: {error}.") from error
    if kind != STORE_FORMAT or version != STORE_VERSION or not sound:
        raise StoreError(f"{path} is not the manifest of a store that this version reads.")
    return manifest


def _open_array(folder: Path, name: str, entry: Any, dtypes: tuple[str, ...]) -> np.ndarray:
    path = folder / f"{name}.bin"
    try:
        dtype, size = entry["dtype"], entry["size"]
    except (KeyError, TypeError) as error:
        raise StoreError(f"{folder}: the manifest is damaged: {error!r}.") from error
    if dtype not in dtypes or not isinstance(size, int) or size < 0:
        raise StoreError(f"{folder}: {name} is of type {dtype!r}, not {' or '.join(dtypes)}.")
    width = np.dtype(dtype).itemsize
    if not path.is_file() or path.stat().st_size != width * size:
        raise StoreError(f"{path} should have {width * size:,} bytes: the store is damaged.")
    if size == 0:
        return np.empty(0, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r", shape=(size,))


def _refuse_other_sizes(path: str | Path, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    n_rows, n_columns = manifest["shape"]
    sound = arrays["y"].size == n_rows
    if manifest["sparse"]:
        sound = sound and arrays["indptr"].size == n_rows + 1 and arrays["indices"].size == arrays["data"].size
    else:
        sound = sound and arrays["X"].size == n_rows * n_columns
    if not sound:
        raise StoreError(f"{path}: the sizes of the arrays do not fit the shape {n_rows} × {n_columns}.")


def _columns_are_sound(indices: np.ndarray, indptr: np.ndarray, n_columns: int) -> bool:
    """Whether columns are within the shape and ascend within every row, as all loops assume."""
    for start in range(0, indices.size, CHECKED_ENTRIES):
        # One entry more, so that neighbours across two pieces are compared, too.
        piece = np.asarray(indices[start : start + CHECKED_ENTRIES + 1])
        if piece.min() < 0 or piece.max() >= n_columns:
            return False
        falls = np.flatnonzero(piece[1:] <= piece[:-1]) + (start + 1)
        if not np.array_equal(indptr[np.searchsorted(indptr, falls)], falls):
            return False
    return True


def _narrow(indptr: np.ndarray, dtype: Any) -> np.ndarray:
    """The row offsets in the type of the indices, where they fit."""
    return indptr.astype(dtype) if int(indptr[-1]) <= np.iinfo(dtype).max else np.asarray(indptr)


def _checksum(path: Path) -> str:
    total = blake2b(digest_size=16)
    with path.open("rb") as file:
        while piece := file.read(CHECKSUM_BYTES):
            total.update(piece)
    return total.hexdigest()
