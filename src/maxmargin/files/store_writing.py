"""Writing of stores: blocks of rows are appended to the files of the arrays, one after the other."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from maxmargin.data.exact_numbers import float64_rounds
from maxmargin.data.validation import warn_of_rounding
from maxmargin.files.atomic import folder_written_atomically
from maxmargin.files.store import MANIFEST, STORE_FORMAT, STORE_VERSION, StoreError, is_store


def write_store(path: str | Path, blocks: Iterable[tuple[Any, np.ndarray]], names: list[str] | None = None) -> None:
    """Write blocks of rows one after the other; only one is in memory at a time.

    Parameters
    ----------
    path : str or Path
        The folder to write; an existing store is replaced once the new one is complete and on the disk.
    blocks : iterable of (X, y)
        All sparse or all dense, with the same number of columns.
    names : list of str, optional
        Names of the columns.

    See Also
    --------
    open_store : Opens it.
    store_text : The same from svmlight text.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from maxmargin.files import open_store, write_store
    >>> with TemporaryDirectory() as folder:
    ...     write_store(f"{folder}/rows.store", [(np.eye(2), np.array([1, -1]))], names=["a", "b"])
    ...     open_store(f"{folder}/rows.store").names
    ['a', 'b']
    """
    store_blocks(path, blocks, names, None)


def store_blocks(
    path: str | Path,
    blocks: Iterable[tuple[Any, np.ndarray]],
    names: list[str] | None,
    source: dict[str, Any] | None,
) -> None:
    """Write a store whose manifest says what it was made of."""
    with _folder_in_place_of(path) as folder, _Writer(folder) as writer:
        for X, y in blocks:
            writer.add(X, y)
        writer.finish(names, source)


class _Writer:
    """Appends blocks to the files of the arrays."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._sums: dict[str, Any] = {}
        self._sizes: dict[str, int] = {}
        self._dtypes: dict[str, np.dtype] = {}
        self._n_rows, self._n_columns, self._n_entries = 0, 0, 0
        self._sparse: bool | None = None

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def add(self, X: Any, y: np.ndarray) -> None:
        """Append some rows."""
        sparse = sp.issparse(X)
        if self._sparse is None:
            self._sparse, self._n_columns = sparse, X.shape[1]
        if sparse != self._sparse or X.shape[1] != self._n_columns:
            raise ValueError("all blocks must be sparse or all dense, and have as many columns.")
        if np.asarray(y).dtype.kind not in "fiub":
            raise ValueError("y must hold numbers: a store keeps labels as such.")
        if float64_rounds(X):
            warn_of_rounding("X")
        targets = np.asarray(y)
        self._append("y", targets.astype(np.float64 if targets.dtype.kind == "f" else np.int64))
        if sparse:
            X = X.tocsr()
            X.sum_duplicates()
            self._append("data", X.data if X.dtype == np.float32 else X.data.astype(np.float64))
            self._append("indices", X.indices.astype(np.int32 if self._n_columns < 2**31 else np.int64))
            offsets = X.indptr.astype(np.int64) + self._n_entries
            self._append("indptr", offsets if self._n_rows == 0 else offsets[1:])
            self._n_entries += X.nnz
        else:
            self._append("X", np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64))
        self._n_rows += X.shape[0]

    def finish(self, names: list[str] | None, source: dict[str, Any] | None) -> None:
        """Write the manifest, when all arrays are on the disk."""
        if self._n_rows == 0:
            raise ValueError("there are no rows to store.")
        if names is not None and len(names) != self._n_columns:
            raise ValueError(f"names has {len(names)} entries for {self._n_columns} columns.")
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        arrays = {
            name: {
                "dtype": self._dtypes[name].name,
                "size": self._sizes[name],
                "checksum": self._sums[name].hexdigest(),
            }
            for name in self._files
        }
        manifest = {
            "format": STORE_FORMAT,
            "version": STORE_VERSION,
            "sparse": bool(self._sparse),
            "shape": [self._n_rows, self._n_columns],
            "names": names,
            "arrays": arrays,
            "source": source,
        }
        with (self._folder / MANIFEST).open("wb") as last:
            last.write(json.dumps(manifest).encode())
            last.flush()
            os.fsync(last.fileno())

    def _append(self, name: str, values: np.ndarray) -> None:
        if name not in self._files:
            self._files[name] = (self._folder / f"{name}.bin").open("wb")
            self._sums[name], self._sizes[name], self._dtypes[name] = blake2b(digest_size=16), 0, values.dtype
        if values.dtype != self._dtypes[name]:
            raise ValueError(f"all blocks must be of one type; {name} is {self._dtypes[name]}, then {values.dtype}.")
        raw: Any = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self._files[name].write(raw)
        self._sums[name].update(raw)
        self._sizes[name] += values.size


@contextmanager
def _folder_in_place_of(path: str | Path) -> Iterator[Path]:
    """A folder that is renamed to the path at the end; an existing path must be a store."""
    if os.path.exists(path) and not is_store(path):
        raise StoreError(f"{path} is there already and is not a store: give another name.")
    with folder_written_atomically(path) as folder:
        yield folder


def store_text(source: str | Path, path: str | Path, *, zero_based: bool = False) -> None:
    r"""Write svmlight text into a store in blocks of rows, with bounded memory.

    The text is read twice, first for the number of columns. The manifest records size and time of the text.
    :func:`maxmargin.files.read_blocks` does the same with several files, and with tables.

    Parameters
    ----------
    source : str or Path
    path : str or Path
    zero_based : bool, default=False
        Whether columns are counted from zero.

    See Also
    --------
    open_store : Opens the store.
    write_store : The same from arrays.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.files import open_store, store_text
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.svm").write_text("1 1:2\n-1 2:1\n")
    ...     store_text(f"{folder}/rows.svm", f"{folder}/rows.store")
    ...     open_store(f"{folder}/rows.store").X.toarray()
    array([[2., 0.],
           [0., 1.]])
    """
    from maxmargin.files.file_blocks import read_blocks

    read_blocks(source, zero_based=zero_based).write_store(path)
