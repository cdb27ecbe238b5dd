"""Reads the data sets that the benchmarks run on, and keeps the parsed arrays in the user's cache folder.

The folder with the files is ``MAXMARGIN_DATA``, or else ``shared/data`` beside the repository.
"""

import gzip
import lzma
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Memory
from sklearn.datasets import load_svmlight_file

OPENERS = {".gz": gzip.open, ".xz": lzma.open}
FEW_ROWS = 1_000
WARM_UP_CLASSES = 3
WARM_UP_ROWS = 50


class DataMissingError(FileNotFoundError):
    """A data file is not where it should be."""


def data_folder() -> Path:
    """Return the folder with the data files."""
    given = os.environ.get("MAXMARGIN_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"


def cache_folder() -> Path:
    """Return the folder that parsed arrays are kept in."""
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")
    return Path(home) / "maxmargin" / "benchmarks"


def load_text(name: str) -> tuple[sp.csr_matrix, np.ndarray]:
    """Load ``NAME.svm.gz`` or ``NAME.svm.xz``: sparse float64 rows with 32-bit indices, and the labels."""
    for suffix in OPENERS:
        path = data_folder() / f"{name}.svm{suffix}"
        if path.exists():
            stat = path.stat()
            return Memory(cache_folder(), verbose=0).cache(_parse)(str(path), stat.st_size, stat.st_mtime_ns)
    raise _missing(f"{name}.svm.gz or .xz")


def load_images(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Load the training part of ``NAME.npz``: one row of bytes an image, and the labels."""
    path = data_folder() / f"{name}.npz"
    if not path.exists():
        raise _missing(path.name)
    with np.load(path) as arrays:
        return arrays["X_train"], arrays["y_train"]


def as_signs(is_positive: np.ndarray) -> np.ndarray:
    """Return +1 where true and -1 elsewhere."""
    return np.where(is_positive, 1, -1)


def evenly_spaced(n_rows: int, count: int) -> np.ndarray:
    """Return the indices of ``count`` rows from the first to the last, or of all where there are not so many."""
    return np.linspace(0, n_rows - 1, min(count, n_rows)).astype(int)


def thin_out(data: dict[str, Any]) -> dict[str, Any]:
    """Return a few evenly spaced rows of the data; files stay as they are."""
    if isinstance(data["X"], Path):
        return data
    chosen = evenly_spaced(data["X"].shape[0], FEW_ROWS)
    return {**data, "X": data["X"][chosen], "y": data["y"][chosen]}


def small_part(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the first rows of a few classes: enough to warm up."""
    chosen = np.concatenate([np.flatnonzero(y == label)[:WARM_UP_ROWS] for label in np.unique(y)[:WARM_UP_CLASSES]])
    return X[chosen], y[chosen]


def _parse(path: str, _size: int, _changed: int) -> tuple[sp.csr_matrix, np.ndarray]:
    # Size and time of change are arguments so that a new file under an old name is parsed anew.
    with OPENERS[Path(path).suffix](path, "rb") as file:
        X, y = load_svmlight_file(file)
    # load_svmlight_file gives 64-bit indices, which several rivals refuse.
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def _missing(file: str) -> DataMissingError:
    return DataMissingError(
        f"There is no {file} in {data_folder()}. Set the environment variable MAXMARGIN_DATA to the folder "
        "that holds the data files, or put them into shared/data beside the checkout."
    )
