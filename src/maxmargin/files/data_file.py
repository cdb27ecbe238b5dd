"""Data files of all formats: rows and targets."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_regressor

from maxmargin.files.compression import FIRST_BYTES

TABLES = (".csv", ".parquet")


@dataclass(frozen=True)
class DataFile:
    """Rows, targets and names of the columns.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
    y : ndarray of labels or values of shape (n,); None where a table does not have the target's column
    names : names of the columns of X, for tables; those of a categorical column are ``column=value``
    """

    X: Any
    y: Any
    names: list[str] | None = None

    def name_features(self, model: Any) -> None:
        """Set ``feature_names_in_`` of a fitted model; names of categorical columns contain their values."""
        if self.names is not None:
            model.feature_names_in_ = np.array(self.names, dtype=object)

    def blocks(self) -> Iterator["DataFile"]:
        """Yield the rows in blocks of bounded size."""
        from maxmargin.data.blocks import row_blocks

        n_rows = self.X.shape[0]
        n_entries = self.X.nnz if sp.issparse(self.X) else self.X.size
        for rows in row_blocks(n_rows, n_entries / max(1, n_rows)):
            yield DataFile(self.X[rows], self.y[rows], self.names)

    def quietly(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A model's method without the warning that arrays have no column names: the columns were checked."""

        @wraps(method)
        def call(*arguments: Any) -> Any:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                return method(*arguments)

        return call


def read_data(
    path: str | Path,
    *,
    target: str | None = None,
    values: bool = False,
    like: Any = None,
    zero_based: bool = False,
) -> DataFile:
    """Read svmlight text (plain or compressed), CSV, Parquet or a store, by the file's name.

    A store is read once to compare its checksums; :func:`open_store` can omit that.

    Parameters
    ----------
    path : str or Path
        "-" is standard input, as svmlight text.
    target : str, optional
        The column of a table that is to be predicted. Lines of svmlight text start with the target.
    values : bool, default=False
        Keep targets as floats, for a regression; otherwise whole numbers become integers.
    like : fitted estimator, optional
        Arrange the columns in the order of this model's training data.
    zero_based : bool, default=False
        Whether svmlight text counts columns from zero. It is not inferred: otherwise an index 0 is an error.

    Returns
    -------
    DataFile
    """
    if like is not None:
        values = is_regressor(like)
    from maxmargin.files.store import is_store, open_store

    table = table_format(path) is not None
    if target is not None and not table:
        raise ValueError(f"target={target!r} names a column of a table, and {path} is none.")
    if zero_based and (table or is_store(path)):
        raise ValueError(f"zero_based is about svmlight text, and {path} is none.")
    if table:
        from maxmargin.files.tables import read_table

        found = read_table(path, target=target, names=None if like is None else names_of(like, path))
    elif is_store(path):
        found = open_store(path, check=True)
        _refuse_other_columns(found, like, path)
    else:
        from maxmargin.files.svmlight import read_svmlight

        n_features = None if like is None else like.n_features_in_
        found = DataFile(*read_svmlight(path, n_features=n_features, zero_based=zero_based))
    return DataFile(found.X, found.y if values else as_labels(found.y), found.names)


def table_format(path: str | Path) -> str | None:
    """The suffix of a table in lower case, without that of a compression; None for other files."""
    endings = map(str.lower, Path(path).suffixes)
    suffixes = [suffix for suffix in endings if suffix not in FIRST_BYTES]
    return suffixes[-1] if suffixes and suffixes[-1] in TABLES else None


def are_whole(y: np.ndarray) -> bool:
    """Whether floats are whole numbers that int64 represents exactly."""
    return bool(np.array_equal(y, np.rint(y)) and np.abs(y).max(initial=0.0) < 2**53)


def as_labels(y: Any) -> Any:
    """Labels that are whole numbers as integers, so that they are printed as they were written."""
    return y.astype(np.int64) if y is not None and y.dtype.kind == "f" and are_whole(y) else y


def _refuse_other_columns(found: DataFile, model: Any, path: str | Path) -> None:
    if model is not None and found.X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{path} has {found.X.shape[1]:,} columns, the model was trained with {model.n_features_in_:,}."
        )
    names = getattr(model, "feature_names_in_", None)
    if names is not None and found.names is not None and list(names) != found.names:
        raise ValueError(f"{path} has columns of other names than the model was trained with.")


def names_of(model: Any, path: str | Path) -> list[str]:
    """Names of the columns that a model was trained with."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(f"{path} is a table, but the model was not trained on one: it does not know columns' names.")
    return [str(name) for name in names]
