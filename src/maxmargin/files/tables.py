"""CSV and Parquet through pyarrow: numbers as they are, text as one column for every value."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.files.reading import DataFile, table_format

# More different values than this in a text column are hardly categories.
MOST_VALUES = 10_000


def read_table(path: str | Path, *, target: str | None, names: list[str] | None = None) -> DataFile:
    """Read a table.

    Parameters
    ----------
    path : str or Path
    target : str or None
        The column to be predicted; it may be missing where ``names`` are given.
    names : list of str, optional
        The columns that a model was trained with: categorical ones are written ``column=value``, and a value that the
        model has not seen has none of them.

    Returns
    -------
    DataFile
        X is an array, or sparse rows where there are categorical columns.
    """
    table = _open(path)
    columns = table.column_names
    if len(set(columns)) < len(columns):
        raise ValueError(f"{path}: two columns have the same name.")
    if target is None and names is None:
        raise ValueError(f"{path}: name the column to be predicted by target; there are {', '.join(columns)}.")
    if target is not None and target not in columns and names is None:
        raise ValueError(f"{path}: there is no column {target!r}; there are {', '.join(columns)}.")
    if table.num_rows == 0:
        raise ValueError(f"{path}: the table has no rows.")
    y = None
    if target is not None and target in columns:
        y = _target(table[target], target, path)
    rest = {name: table[name] for name in columns if name != target}
    found, blocks = _encode(rest, path) if names is None else _encode_like(rest, names, path)
    if any(sp.issparse(block) for block in blocks):
        return DataFile(sp.csr_matrix(sp.hstack([sp.csr_matrix(block) for block in blocks])), y, found)
    return DataFile(np.ascontiguousarray(np.hstack(blocks)), y, found)


def _open(path: str | Path) -> Any:
    try:
        import pyarrow as pa
        from pyarrow import csv, parquet
    except ImportError as error:
        raise ValueError("Tables are read by pyarrow: install it with pip install 'maxmargin[files]'.") from error
    try:
        if table_format(path) == ".parquet":
            return parquet.read_table(path)
        return csv.read_csv(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: {error}") from error


def _target(column: Any, name: str, path: str | Path) -> np.ndarray:
    _refuse_missing(column, name, path)
    values = column.to_numpy()
    return values.astype(str) if values.dtype == object else values


def _encode(columns: dict[str, Any], path: str | Path) -> tuple[list[str], list[Any]]:
    """Columns of numbers, and for every value of a text column one of zeros and ones."""
    names, blocks = [], []
    for name, column in columns.items():
        _refuse_missing(column, name, path)
        if _is_numeric(column.type):
            names.append(name)
            blocks.append(_numbers(column, name, path))
            continue
        _refuse_other_types(column, name, path)
        texts = column.cast("string").to_numpy().astype(str)
        values = np.unique(texts)
        if values.size > MOST_VALUES:
            raise ValueError(f"{path}: column {name!r} has {values.size:,} different texts: leave it out.")
        names.extend(f"{name}={value}" for value in values)
        blocks.append(_indicators(texts, values))
    return names, blocks


def _encode_like(columns: dict[str, Any], names: list[str], path: str | Path) -> tuple[list[str], list[Any]]:
    """The columns that a model knows, in its order."""
    blocks: list[Any] = []
    place = 0
    while place < len(names):
        name = names[place]
        if name in columns and _is_numeric(columns[name].type):
            _refuse_missing(columns[name], name, path)
            blocks.append(_numbers(columns[name], name, path))
            place += 1
            continue
        source = next((column for column in columns if name.startswith(f"{column}=")), None)
        if source is None:
            raise ValueError(f"{path}: the model was trained with a column {name!r}, which is not there.")
        _refuse_missing(columns[source], source, path)
        values = []
        while place < len(names) and names[place].startswith(f"{source}="):
            values.append(names[place][len(source) + 1 :])
            place += 1
        texts = columns[source].cast("string").to_numpy().astype(str)
        blocks.append(_indicators(texts, np.array(values)))
    return names, blocks


def _indicators(texts: np.ndarray, values: np.ndarray) -> Any:
    """One where a row has the value; ``values`` are sorted."""
    places = np.minimum(np.searchsorted(values, texts), values.size - 1)
    known = np.flatnonzero(values[places] == texts)
    ones = np.ones(known.size)
    return sp.csr_matrix((ones, (known, places[known])), shape=(texts.size, values.size))


def _numbers(column: Any, name: str, path: str | Path) -> np.ndarray:
    values = column.to_numpy().astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{path}: column {name!r} has values that are missing or not finite: fill them in first.")
    return values[:, None]


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _refuse_other_types(column: Any, name: str, path: str | Path) -> None:
    from pyarrow import types

    kind = column.type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if not (types.is_string(kind) or types.is_large_string(kind)):
        raise ValueError(f"{path}: column {name!r} is of type {column.type}, neither number nor text: convert it.")


def _refuse_missing(column: Any, name: str, path: str | Path) -> None:
    if column.null_count:
        raise ValueError(f"{path}: column {name!r} has {column.null_count:,} missing values: fill them in first.")
