"""Data files of all formats: rows and targets."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.scikit_learn import is_regressor
from maxmargin.files.compression import FIRST_BYTES, STANDARD_INPUT, name_of
from maxmargin.files.remote import local_or_address

if TYPE_CHECKING:
    from maxmargin.files.columns import TableOptions, Unseen
    from maxmargin.files.preparation import Preparation

TABLE_ENDINGS = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class DataFile:
    r"""Rows, targets and names of the columns.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
    y : ndarray of labels or values of shape (n,); None where a table does not have the target's column
    names : names of the columns of X, for tables; those of a categorical column are ``column=value``
    preparation : Preparation or None
        How the columns were understood and scaled.
    ids : list of str or None
        The names of the rows, where a table has a column of them.
    weights : ndarray of shape (n,) or None
        Sample weights, where a table has a column of them.
    notes : tuple of str
        What was found out about the file and is not the usual thing: its delimiter, spaces around names.

    See Also
    --------
    read_data : Returns this.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.files import read_data
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "homes.csv").write_text("size,price\n120,300\n80,190\n")
    ...     data = read_data(Path(folder, "homes.csv"), target="price")
    >>> data.names, data.X.shape, data.y
    (['size'], (2, 1), array([300, 190]))
    """

    X: Any
    y: Any
    names: list[str] | None = None
    preparation: "Preparation | None" = None
    ids: list[str] | None = None
    weights: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    def name_features(self, model: Any) -> None:
        """Set ``feature_names_in_`` and ``preparation_`` of a fitted model, which repeats it on new rows."""
        if self.names is not None:
            model.feature_names_in_ = np.array(self.names, dtype=object)
        if self.preparation is not None:
            model.preparation_ = self.preparation

    def scaled(self, kind: str) -> "DataFile":
        """The rows with scaled columns: "standard", "minmax" or "maxabs"."""
        from maxmargin.files.preparation import Preparation, Scaling

        scaling = Scaling.of(self.X, kind)
        preparation = replace(self.preparation or Preparation(), scaling=scaling)
        return replace(self, X=scaling(self.X), preparation=preparation)

    def blocks(self) -> Iterator["DataFile"]:
        """Yield the rows in blocks of bounded size."""
        from maxmargin.data.blocks import row_blocks

        n_rows = self.X.shape[0]
        n_entries = self.X.nnz if sp.issparse(self.X) else self.X.size
        for rows in row_blocks(n_rows, n_entries / max(1, n_rows)):
            yield replace(self, X=self.X[rows], y=self.y[rows], ids=self.ids and self.ids[rows], weights=None)

    def quietly(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A model's method without the warning that arrays have no column names: the columns were checked."""

        @wraps(method)
        def call(*arguments: Any, **options: Any) -> Any:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                return method(*arguments, **options)

        return call


def read_data(
    path: str | Path,
    *,
    target: str | None = None,
    values: bool = False,
    like: Any = None,
    zero_based: bool = False,
    table: "TableOptions | None" = None,
    n_features: int | None = None,
    unseen: str = "ignore",
) -> DataFile:
    r"""Read svmlight text (plain or compressed), CSV, TSV, Parquet or a store, by the file's name.

    A store is read once to compare its checksums; :func:`open_store` can omit that.

    Parameters
    ----------
    path : str or Path
        An address, such as ``s3://bucket/rows.csv``, is read by fsspec. "-" is standard input: CSV where a target is
        given or the model was trained on a table, else svmlight text.
    target : str, optional
        The column of a table that is to be predicted. Lines of svmlight text start with the target.
    values : bool, default=False
        Keep targets as floats, for a regression; otherwise whole numbers become integers.
    like : fitted estimator, optional
        Prepare the rows as this model's training data: the order of the columns, categories, missing values, scaling.
    zero_based : bool, default=False
        Whether svmlight text counts columns from zero. It is not inferred: otherwise an index 0 is an error.
    table : TableOptions, optional
        How a table is read and understood.
    n_features : int, optional
        The number of columns of svmlight text, by default the largest index.
    unseen : {"ignore", "error"}, default="ignore"
        What happens to categories and indices that did not occur in the training of ``like``: they are ignored, with an
        :class:`UnseenWarning`, or refused.

    Returns
    -------
    DataFile

    See Also
    --------
    read_blocks : A block of rows at a time.
    read_svmlight : svmlight text as plain arrays.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.files import read_data
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "shops.csv").write_text("size,city,open\n120,Oslo,yes\n80,Bergen,no\n95,Oslo,yes\n")
    ...     data = read_data(Path(folder, "shops.csv"), target="open")
    >>> data.names, data.y.tolist()
    (['size', 'city=Bergen', 'city=Oslo'], ['yes', 'no', 'yes'])
    >>> data.X.toarray()
    array([[120.,   0.,   1.],
           [ 80.,   1.,   0.],
           [ 95.,   0.,   1.]])
    """
    from maxmargin.files.columns import Unseen
    from maxmargin.files.store import is_store, open_store

    path = local_or_address(path)
    counted, preparation = Unseen(unseen), getattr(like, "preparation_", None)
    if like is not None:
        values = is_regressor(like)
    is_table = reads_as_table(path, target, like)
    refuse_other_formats(path, is_table=is_table, target=target, table=table, zero_based=zero_based)
    if is_table:
        from maxmargin.files.tables import read_table

        known = {} if like is None else columns_like(like, path)
        found = read_table(path, target=target, options=table, unseen=counted, **known)
    elif is_store(path):
        found = open_store(path, check=True)
        _refuse_other_columns(found, like, path)
    else:
        found = _read_text(path, like, zero_based, n_features, counted)
    counted.warn(path)
    if found.X.shape[0] == 0:
        raise ValueError(f"{name_of(path)}: there are no rows.")
    if preparation is not None and preparation.scaling is not None:
        found = replace(found, X=preparation.scaling(found.X), preparation=preparation)
    return replace(found, y=found.y if values else as_labels(found.y))


def _read_text(path: str | Path, like: Any, zero_based: bool, n_features: int | None, unseen: "Unseen") -> DataFile:
    """Rows of svmlight text; entries in columns that a model does not have are ignored or refused."""
    from maxmargin.files.svmlight import read_svmlight

    if like is None:
        return DataFile(*read_svmlight(path, n_features=n_features, zero_based=zero_based))
    if unseen.mode == "error":
        return DataFile(*read_svmlight(path, n_features=like.n_features_in_, zero_based=zero_based))
    X, y = read_svmlight(path, zero_based=zero_based)
    return DataFile(with_columns(X, like.n_features_in_, path, unseen), y)


def with_columns(X: Any, n_features: int, path: str | Path, unseen: "Unseen") -> Any:
    """Sparse rows with a model's number of columns; entries beyond are ignored and counted."""
    n_entries = X.nnz
    if X.shape[1] != n_features:
        X.resize((X.shape[0], n_features))
    if X.nnz < n_entries:
        unseen.add(f"value(s) with an index above {n_features:,}", n_entries - X.nnz, path)
    return X


def reads_as_table(path: str | Path, target: str | None, like: Any) -> bool:
    """Whether a file is a table, by its name; standard input is one where a column is named."""
    if path != STANDARD_INPUT:
        return table_format(path) is not None
    preparation = getattr(like, "preparation_", None)
    return target is not None or (preparation is not None and preparation.columns is not None)


def refuse_other_formats(
    path: str | Path, *, is_table: bool, target: str | None, table: "TableOptions | None", zero_based: bool
) -> None:
    """Refuse options of tables for other files, and the other way round."""
    from maxmargin.files.columns import TableOptions
    from maxmargin.files.store import is_store

    if not is_table and target is not None:
        raise ValueError(f"target={target!r} names a column of a table, and {path} is none.")
    if not is_table and table is not None and table != TableOptions():
        given = next(field.name for field in fields(table) if getattr(table, field.name) != field.default)
        raise ValueError(f"{given} is about tables, and {path} is none.")
    if zero_based and (is_table or is_store(path)):
        raise ValueError(f"zero_based is about svmlight text, and {path} is none.")


def columns_like(model: Any, path: str | Path) -> dict[str, Any]:
    """The columns that a model was trained with, or else their names, as arguments of ``read_table``."""
    preparation = getattr(model, "preparation_", None)
    if preparation is not None and preparation.columns is not None:
        return {"columns": preparation.columns, "names_of_rows": preparation.id}
    return {"names": names_of(model, path)}


def table_format(path: str | Path) -> str | None:
    """The suffix of a table in lower case, without that of a compression; None for other files."""
    endings = map(str.lower, Path(path).suffixes)
    suffixes = [suffix for suffix in endings if suffix not in FIRST_BYTES]
    return suffixes[-1] if suffixes and suffixes[-1] in TABLE_ENDINGS else None


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
        raise ValueError(f"{path} is a table, but the model was not trained on one: it has no names of columns.")
    return [str(name) for name in names]
