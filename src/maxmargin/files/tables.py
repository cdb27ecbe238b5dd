"""CSV and Parquet by pyarrow: columns of numbers as they are, columns of text one-hot encoded.

In CSV an empty field is a missing value. ``NA`` and similar spellings are missing values in columns of numbers, and
ordinary texts in columns of text.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.files.atomic import written_atomically
from maxmargin.files.compression import compressed, kind_of, open_bytes
from maxmargin.files.data_file import DataFile, table_format

# Distinct values of a text column above which it is refused: they are hardly categories.
MOST_VALUES = 10_000
# Columns above which data are not written as a table.
MOST_COLUMNS = 10_000
# Rows of a block, and cells of it where rows are long: 32 MB in float64.
ROWS_PER_BLOCK = 1 << 14
CELLS_PER_BLOCK = 1 << 22


def read_table(path: str | Path, *, target: str | None, names: list[str] | None = None) -> DataFile:
    """Read a table.

    Parameters
    ----------
    path : str or Path
    target : str or None
        The column to be predicted; it may be missing where ``names`` are given.
    names : list of str, optional
        The columns that a model was trained with. Those of a categorical column are named ``column=value``; all are
        zero for a value that did not occur in training.

    Returns
    -------
    DataFile
        X is an array, or sparse rows where there are categorical columns.
    """
    with _arrow_errors(path):
        table = _open(path, names)
        columns = table.column_names
        _refuse_repeated(columns, path)
        if target is None and names is None:
            raise ValueError(f"{path}: name the column to be predicted by target; there are {', '.join(columns)}.")
        if target is not None and target not in columns and names is None:
            raise ValueError(f"{path}: there is no column {target!r}; there are {', '.join(columns)}.")
        if table.num_rows == 0:
            raise ValueError(f"{path}: the table has no rows.")
        return _rows_of(table, target, names, path)


def read_table_blocks(path: str | Path, names: list[str]) -> Iterator[DataFile]:
    """Read a table for a model in blocks of rows, as :func:`read_table` does, without targets.

    Parameters
    ----------
    path : str or Path
    names : list of str
        The columns that the model was trained with.

    Yields
    ------
    DataFile
    """
    with _arrow_errors(path), _opened_blocks(path, names) as blocks:
        n_rows = 0
        for block in blocks:
            if block.num_rows:
                n_rows += block.num_rows
                yield _rows_of(block, None, names, path)
        if n_rows == 0:
            raise ValueError(f"{path}: the table has no rows.")


def write_table(path: str | Path, data: DataFile, target: str) -> None:
    """Write rows and targets as CSV or Parquet, by the file's name.

    Parameters
    ----------
    path : str or Path
        CSV is compressed if its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    data : DataFile
        Columns without names become ``x1``, ``x2`` and so on. Zeros of sparse rows are written, too.
    target : str
        The name of the last column, that of ``data.y``.
    """
    with _arrow_errors(path):
        import pyarrow as pa
        from pyarrow import csv, parquet

        schema = _schema_of(data, target, path)
        is_parquet = table_format(path) == ".parquet"
        with (
            written_atomically(path) as file,
            compressed(file, kind_of(path)) as stream,
            (parquet.ParquetWriter if is_parquet else csv.CSVWriter)(stream, schema) as writer,
        ):
            for columns in _column_blocks(data):
                writer.write_table(pa.table(columns, schema=schema))


def _schema_of(data: DataFile, target: str, path: str | Path) -> Any:
    """Names and types of the columns to write."""
    import pyarrow as pa

    _refuse_compressed_parquet(path)
    n_columns = data.X.shape[1]
    if n_columns > MOST_COLUMNS:
        raise ValueError(f"{path}: {n_columns:,} columns are too many for a table: write svmlight text or a store.")
    names = data.names or [f"x{k}" for k in range(1, n_columns + 1)]
    if target in names:
        raise ValueError(f"{path}: a column has the target's name {target!r} already: rename it.")
    return pa.schema([*((name, pa.float64()) for name in names), (target, pa.array(data.y[:1]).type)])


def _column_blocks(data: DataFile) -> Iterator[list[Any]]:
    """Yield the columns of blocks of rows, the targets last."""
    import pyarrow as pa

    n_rows, n_columns = data.X.shape
    step = _rows_per_block(n_columns)
    for start in range(0, n_rows, step):
        X, y = data.X[start : start + step], data.y[start : start + step]
        columns = np.ascontiguousarray((X.toarray() if sp.issparse(X) else X).T, dtype=np.float64)
        yield [pa.array(values) for values in (*columns, y)]


def _rows_per_block(n_columns: int) -> int:
    return min(ROWS_PER_BLOCK, CELLS_PER_BLOCK // max(1, n_columns) + 1)


def _rows_of(table: Any, target: str | None, names: list[str] | None, path: str | Path) -> DataFile:
    y = None
    if target is not None and target in table.column_names:
        y = _target(table[target], target, path)
    rest = {name: table[name] for name in table.column_names if name != target}
    if not rest and names is None:
        raise ValueError(f"{path}: there is no column besides {target!r} to predict from.")
    found, blocks = _encode(rest, path) if names is None else _encode_like(rest, names, path)
    if any(sp.issparse(block) for block in blocks):
        return DataFile(sp.csr_matrix(sp.hstack([sp.csr_matrix(block) for block in blocks])), y, found)
    return DataFile(np.ascontiguousarray(np.hstack(blocks)), y, found)


def _refuse_repeated(columns: list[str], path: str | Path) -> None:
    if len(set(columns)) < len(columns):
        raise ValueError(f"{path}: two columns have the same name.")


@contextmanager
def _arrow_errors(path: str | Path) -> Iterator[None]:
    """Errors of pyarrow as ValueError with the file's name."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ValueError("Tables are read by pyarrow: install it with pip install 'maxmargin[files]'.") from error
    try:
        yield
    except pa.ArrowException as error:
        raise ValueError(f"{path}: {error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: names and texts must be UTF-8: {error}") from error
    except OSError as error:
        # Errors of the system have a number or a class of their own, those of damaged files have neither.
        if error.errno is not None or type(error) is not OSError:
            raise
        raise ValueError(f"{path}: {error}") from error


def _open(path: str | Path, names: list[str] | None) -> Any:
    from pyarrow import csv, parquet

    if table_format(path) == ".parquet":
        _refuse_compressed_parquet(path)
        return parquet.read_table(path)
    types = None if names is None else _known_types(_csv_schema(path), names, path)
    with _csv_source(path) as source:
        table = csv.read_csv(source, convert_options=csv.ConvertOptions(column_types=types))
    return _without_empty_texts(table)


@contextmanager
def _opened_blocks(path: str | Path, names: list[str]) -> Iterator[Iterator[Any]]:
    """Blocks of rows, with the columns that a model uses."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    if table_format(path) == ".parquet":
        _refuse_compressed_parquet(path)
        with parquet.ParquetFile(path) as file:
            _refuse_repeated(file.schema_arrow.names, path)
            columns = list(_known_types(file.schema_arrow, names, path))
            batches = file.iter_batches(_rows_per_block(len(columns)), columns=columns)
            yield (pa.Table.from_batches([batch]) for batch in batches)
        return
    types = _known_types(_csv_schema(path), names, path)
    options = csv.ConvertOptions(column_types=types, include_columns=list(types))
    with _csv_source(path) as source, csv.open_csv(source, convert_options=options) as reader:
        yield (_without_empty_texts(pa.Table.from_batches([batch])) for batch in reader)


def _refuse_compressed_parquet(path: str | Path) -> None:
    if kind_of(path) and table_format(path) == ".parquet":
        raise ValueError(f"{path}: Parquet is compressed within: have it without {kind_of(path)} around it.")


@contextmanager
def _csv_source(path: str | Path) -> Iterator[Any]:
    """Input of pyarrow: the path of a plain file, else a decompressed stream."""
    if not kind_of(path):
        yield path
        return
    with open_bytes(path) as stream:
        yield io.BufferedReader(stream)


def _without_empty_texts(table: Any) -> Any:
    """Replace empty texts by missing values in a table read from CSV."""
    import pyarrow as pa
    from pyarrow import compute

    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            column = table.column(place)
            filled = compute.if_else(compute.equal(column, ""), pa.scalar(None, field.type), column)
            table = table.set_column(place, field, filled)
    return table


def _csv_schema(path: str | Path) -> Any:
    from pyarrow import csv

    with _csv_source(path) as source, csv.open_csv(source) as reader:
        _refuse_repeated(reader.schema.names, path)
        return reader.schema


def _known_types(schema: Any, names: list[str], path: str | Path) -> dict[str, Any]:
    """The columns of a file that a model uses, with their types in training.

    Types inferred from the first rows may be wrong: integers may be followed by floats, and digits may be categories.
    """
    import pyarrow as pa

    types = {}
    for field in schema:
        if field.name in names:
            if not (_is_numeric(field.type) or pa.types.is_null(field.type)):
                raise ValueError(f"{path}: column {field.name!r} is not of numbers, as it was in training.")
            types[field.name] = field.type if pa.types.is_boolean(field.type) else pa.float64()
        elif any(name.startswith(f"{field.name}=") for name in names):
            types[field.name] = pa.string()
    return types


def _target(column: Any, name: str, path: str | Path) -> np.ndarray:
    _refuse_missing(column, name, path)
    if not _is_numeric(column.type):
        return _texts(column, name, path)
    values = column.to_numpy()
    _refuse_not_finite(values, name, path)
    return values


def _encode(columns: dict[str, Any], path: str | Path) -> tuple[list[str], list[Any]]:
    """Names and columns of X: numbers, and text columns one-hot encoded."""
    _refuse_ambiguous(columns, path)
    names, blocks = [], []
    for name, column in columns.items():
        _refuse_missing(column, name, path)
        if _is_numeric(column.type):
            names.append(name)
            blocks.append(_numbers(column, name, path))
            continue
        texts = _texts(column, name, path)
        values = np.unique(texts)
        if values.size > MOST_VALUES:
            raise ValueError(f"{path}: column {name!r} has {values.size:,} different texts: leave it out.")
        names.extend(f"{name}={value}" for value in values)
        blocks.append(_indicators(texts, values))
    return names, blocks


def _encode_like(columns: dict[str, Any], names: list[str], path: str | Path) -> tuple[list[str], list[Any]]:
    """Names and columns of X in the order of a model's training data."""
    known = set(names)
    blocks: list[Any] = []
    for source, group in groupby(names, lambda name: _source(name, columns, known, path)):
        column, encoded = columns[source], list(group)
        _refuse_missing(column, source, path)
        if source in known:
            blocks.append(_numbers(column, source, path))
        else:
            texts = column.cast("string").to_numpy().astype(str)
            blocks.append(_indicators(texts, np.array([name[len(source) + 1 :] for name in encoded])))
    return names, blocks


def _source(name: str, columns: dict[str, Any], known: set[str], path: str | Path) -> str:
    """The column of the file from which a model's column was made: itself, or the text column before ``=value``."""
    parts = name.split("=")
    fronts = ("=".join(parts[:k]) for k in range(1, len(parts)))
    found = [front for front in fronts if front in columns and front not in known]
    found += [name] if name in columns else []
    if not found:
        raise ValueError(f"{path}: the model was trained with a column {name!r}, which is not there.")
    if len(found) > 1:
        raise ValueError(
            f"{path}: the model's column {name!r} may be of {' or of '.join(map(repr, found))}: leave one out."
        )
    return found[0]


def _refuse_ambiguous(columns: dict[str, Any], path: str | Path) -> None:
    """Refuse a column whose name may be ``column=value`` of a text column."""
    for name in columns:
        parts = name.split("=")
        for front in ("=".join(parts[:k]) for k in range(1, len(parts))):
            if front in columns and not _is_numeric(columns[front].type):
                raise ValueError(
                    f"{path}: column {name!r} has a name like those of the values of the text column {front!r}: "
                    "rename one of them."
                )


def _indicators(texts: np.ndarray, values: np.ndarray) -> Any:
    """One-hot encoding of texts; ``values`` are sorted."""
    places = np.minimum(np.searchsorted(values, texts), values.size - 1)
    known = np.flatnonzero(values[places] == texts)
    ones = np.ones(known.size)
    return sp.csr_matrix((ones, (known, places[known])), shape=(texts.size, values.size))


def _numbers(column: Any, name: str, path: str | Path) -> np.ndarray:
    if not _is_numeric(column.type):
        raise ValueError(f"{path}: column {name!r} is not of numbers, as it was in training.")
    values = column.to_numpy().astype(np.float64)
    _refuse_not_finite(values, name, path)
    return values[:, None]


def _texts(column: Any, name: str, path: str | Path) -> np.ndarray:
    _refuse_other_types(column, name, path)
    return column.cast("string").to_numpy().astype(str)


def _refuse_not_finite(values: np.ndarray, name: str, path: str | Path) -> None:
    if not np.isfinite(values).all():
        raise ValueError(f"{path}: column {name!r} has values that are missing or not finite: fill them in first.")


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
