"""CSV, TSV and Parquet by pyarrow: columns of numbers as they are, texts one-hot encoded, dates as numbers.

In CSV an empty field is a missing value. ``NA`` and similar spellings are missing values in columns of numbers, and
ordinary texts in columns of text. ``columns.py`` says what a column is.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.files.arrow_source import Source, arrow_errors, refuse_compressed_parquet, rows_per_block
from maxmargin.files.atomic import written_atomically
from maxmargin.files.columns import (
    CATEGORY,
    DAYS,
    IMPUTATIONS,
    KINDS,
    NUMBER,
    PARTS,
    Column,
    TableOptions,
    Unseen,
    as_texts,
    is_number,
    is_text,
    understand,
)
from maxmargin.files.compression import compressed, kind_of, name_of
from maxmargin.files.data_file import DataFile, table_format
from maxmargin.files.preparation import Preparation

# Columns above which data are not written as a table.
MOST_COLUMNS = 10_000
# Relative difference allowed between two computations of what takes the place of missing numbers.
FILL_AGREEMENT = 1e-12


def read_table(
    path: str | Path,
    *,
    target: str | None,
    options: TableOptions | None = None,
    columns: Sequence[Column] | None = None,
    names: list[str] | None = None,
    names_of_rows: str | None = None,
    unseen: Unseen | None = None,
) -> DataFile:
    """Read a table.

    Parameters
    ----------
    path : str or Path
        "-" is CSV on standard input.
    target : str or None
        The column to be predicted; it may be missing where a model's columns are given.
    options : TableOptions, optional
    columns : sequence of Column, optional
        The columns that a model was trained with.
    names : list of str, optional
        The names of a model's columns, in place of ``columns`` where nothing else is stored.
    names_of_rows : str, optional
        The column that named the rows in training; it does so here where the options name none and it is there.
    unseen : Unseen, optional
        Counts or refuses the categories that did not occur in training.

    Returns
    -------
    DataFile
        X is an array, or sparse rows where there are categorical columns.
    """
    options = options or TableOptions()
    options.check()
    is_new = columns is None and names is None
    with arrow_errors(path, options):
        source = Source(path, options)
        if columns is None and names is not None:
            columns = columns_of_names(names, source.names, path)
        if is_new:
            refuse_options(source.names, target, options, path)
        options = source.options = _with_id(options, names_of_rows, source.names, path)
        table = source.read(columns)
        if table.num_rows == 0:
            raise ValueError(f"{name_of(path)}: there are no rows.")
        if columns is None:
            skipped = {name for name in (target, options.id, options.weight, *options.drop) if name is not None}
            columns = understand(table, options, skipped, path)
        found = _rows_of(table, target, options, columns, path, unseen or Unseen(), 0)
        return replace(found, notes=tuple(source.notes))


def read_table_blocks(
    path: str | Path,
    *,
    options: TableOptions | None = None,
    columns: Sequence[Column] | None = None,
    names: list[str] | None = None,
    names_of_rows: str | None = None,
    unseen: Unseen | None = None,
    target: str | None = None,
    target_type: Any = None,
) -> Iterator[DataFile]:
    """Read a table for a model in blocks of rows, as :func:`read_table` does; targets only where their type is given.

    Yields
    ------
    DataFile
    """
    options, unseen = options or TableOptions(), unseen or Unseen()
    options.check()
    with arrow_errors(path, options):
        source = Source(path, options)
        if columns is None:
            columns = columns_of_names(names or [], source.names, path)
        options = source.options = _with_id(options, names_of_rows, source.names, path)
        n_rows = 0
        for block in source.blocks(columns, {} if target is None else {target: target_type}):
            if block.num_rows:
                yield _rows_of(block, target, options, columns, path, unseen, n_rows)
                n_rows += block.num_rows
        if n_rows == 0:
            raise ValueError(f"{name_of(path)}: there are no rows.")


def _with_id(options: TableOptions, usual: str | None, there: Sequence[str], path: str | Path) -> TableOptions:
    """Options with the column that names the rows, by default the one of the training where the table has it."""
    if options.id is None:
        return replace(options, id=usual if usual in there else None)
    if options.id not in there:
        raise ValueError(f"{path}: id={options.id!r} is no column; there are {_listed(there)}.")
    return options


def columns_of_names(names: list[str], there: Sequence[str], path: str | Path) -> list[Column]:
    """A model's columns from the names of the columns of X: ``column=value`` is a category of a column of the file."""
    known, found = set(names), dict[str, list[str]]()
    for name in names:
        parts = name.split("=")
        fronts = ["=".join(parts[:k]) for k in range(1, len(parts))]
        sources = [front for front in fronts if front in there and front not in known]
        sources += [name] if name in there else []
        if not sources:
            raise ValueError(f"{path}: the model was trained with a column {name!r}, which is not there.")
        if len(sources) > 1:
            raise ValueError(
                f"{path}: the model's column {name!r} may be of {' or of '.join(map(repr, sources))}: leave one out."
            )
        found.setdefault(sources[0], []).append(name[len(sources[0]) + 1 :])
    return [Column(name, NUMBER) if name in known else Column(name, CATEGORY, tuple(v)) for name, v in found.items()]


def understood_so(path: str | Path, columns: Sequence[Column], options: TableOptions | None = None) -> bool:
    """Whether a table's columns are understood as those of a model: kinds, categories, missing values and their fills.

    Parameters
    ----------
    path : str or Path
    columns : sequence of Column
        Of the model.
    options : TableOptions, optional
        How the table is read; what the columns are is tried with every imputation.
    """
    options = options or TableOptions()
    kinds = {kind: tuple(column.name for column in columns if column.kind == kind) for kind in KINDS}
    with arrow_errors(path, options):
        table = Source(path, options).read(None)
        skipped = set(table.column_names) - {column.name for column in columns}
        for impute in IMPUTATIONS:
            again = replace(
                options,
                categorical=kinds[CATEGORY],
                numeric=kinds[NUMBER],
                dates=PARTS if kinds[PARTS] else DAYS,
                max_categories=MOST_COLUMNS + table.num_rows,
                impute=impute,
            )
            found = {column.name: column for column in understand(table, again, skipped, path)}
            if len(found) == len(columns) and all(_is_same(column, found.get(column.name)) for column in columns):
                return True
    return False


def _is_same(one: Column, other: Column | None) -> bool:
    """Whether two columns are the same but for remarks, and rounding of fills."""
    if other is None:
        return False
    fill, found = one.fill, other.fill
    same_fill = fill == found
    if isinstance(fill, float) and isinstance(found, float):
        same_fill = math.isclose(fill, found, rel_tol=FILL_AGREEMENT)
    return same_fill and replace(one, fill=None, note="") == replace(other, fill=None, note="")


def columns_of_file(path: str | Path, options: TableOptions) -> tuple[list[str], int, list[str]]:
    """Names of a table's columns, its number of rows, and the types in the file."""
    options.check()
    with arrow_errors(path, options):
        source = Source(path, options)
        table = source.read(None)
        return source.names, table.num_rows, [str(field.type) for field in table.schema]


def write_table(path: str | Path, blocks: Iterable[DataFile], target: str) -> None:
    """Write blocks of rows and targets as CSV or Parquet, by the file's name; one is in memory at a time.

    Parameters
    ----------
    path : str or Path
        CSV is compressed if its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    blocks : iterable of DataFile
        Columns without names become ``x1``, ``x2`` and so on. Zeros of sparse rows are written, too.
    target : str
        The name of the last column, that of the targets.
    """
    with arrow_errors(path):
        import pyarrow as pa
        from pyarrow import csv, parquet

        following = iter(blocks)
        head = next(following, None)
        if head is None:
            raise ValueError(f"{path}: there are no rows to write.")
        schema = _schema_of(head, target, path)
        kind = table_format(path)
        delimiter = csv.WriteOptions(delimiter="\t" if kind == ".tsv" else ",")
        with (
            written_atomically(path) as file,
            compressed(file, kind_of(path)) as stream,
            parquet.ParquetWriter(stream, schema)
            if kind == ".parquet"
            else csv.CSVWriter(stream, schema, write_options=delimiter) as writer,
        ):
            for block in chain([head], following):
                for columns in _column_blocks(block):
                    writer.write_table(pa.table(columns, schema=schema))


def _schema_of(data: DataFile, target: str, path: str | Path) -> Any:
    """Names and types of the columns to write."""
    import pyarrow as pa

    refuse_compressed_parquet(path)
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
    step = rows_per_block(n_columns)
    for start in range(0, n_rows, step):
        X, y = data.X[start : start + step], data.y[start : start + step]
        columns = np.ascontiguousarray((X.toarray() if sp.issparse(X) else X).T, dtype=np.float64)
        yield [pa.array(values) for values in (*columns, y)]


def _rows_of(
    table: Any,
    target: str | None,
    options: TableOptions,
    columns: Sequence[Column],
    path: str | Path,
    unseen: Unseen,
    first_row: int,
) -> DataFile:
    there = set(table.column_names)
    y = _target(table[target], target, path) if target is not None and target in there else None
    if not columns:
        raise ValueError(f"{path}: there is no column besides {target!r} to predict from.")
    for column in columns:
        if column.name not in there:
            raise ValueError(f"{path}: the model was trained with a column {column.name!r}, which is not there.")
    weight = options.weight
    encoded = [column.encode(table[column.name], path, unseen, first_row, options.decimal) for column in columns]
    if any(sp.issparse(block) for block in encoded):
        X: Any = sp.csr_matrix(sp.hstack([sp.csr_matrix(block) for block in encoded]))
    else:
        X = np.ascontiguousarray(np.hstack(encoded))
    return DataFile(
        X,
        y,
        [feature for column in columns for feature in column.features],
        Preparation(tuple(columns), target, id=options.id),
        as_texts(table[options.id]).to_pylist() if options.id in there else None,
        None if weight is None or weight not in there else _weights(table[weight], weight, path),
    )


def refuse_options(there: Sequence[str], target: str | None, options: TableOptions, path: str | Path) -> None:
    """Refuse names of columns that the table does not have, and a target that is not given."""
    listed = _listed(there)
    if target is None:
        raise ValueError(f"{path} is a table: give target=COLUMN, the one to be predicted; there are {listed}.")
    for name, option in {target: "target", **options.named()}.items():
        if name not in there:
            raise ValueError(f"{path}: {option}={name!r} is no column; there are {listed}.")
    if target in options.named():
        option = options.named()[target]
        raise ValueError(f"{path}: column {target!r} is the target: {option}={target!r} cannot name it, too.")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 20 else f"{', '.join(names[:20])} and {len(names) - 20:,} more"


def _target(column: Any, name: str, path: str | Path) -> np.ndarray:
    from pyarrow import types

    _refuse_missing(column, name, path)
    if is_number(column.type):
        values = column.to_numpy() if not types.is_decimal(column.type) else column.cast("float64").to_numpy()
        if not np.isfinite(values).all():
            raise ValueError(f"{path}: the target {name!r} has values that are missing or not finite.")
        return values
    if not is_text(column.type):
        raise ValueError(f"{path}: the target {name!r} is of type {column.type}, neither number nor text.")
    return as_texts(column).to_numpy().astype(str)


def _weights(column: Any, name: str, path: str | Path) -> np.ndarray:
    _refuse_missing(column, name, path)
    if not is_number(column.type):
        raise ValueError(f"{path}: column {name!r} does not hold numbers, and cannot be the sample weights.")
    return column.cast("float64").to_numpy()


def _refuse_missing(column: Any, name: str, path: str | Path) -> None:
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0]) + 1
        raise ValueError(
            f"{path}: column {name!r} has {column.null_count:,} missing value{'s' * (column.null_count != 1)}, the "
            f"first in row {row:,}: fill them in first."
        )
