"""CSV, TSV and Parquet by pyarrow: columns of numbers as they are, texts one-hot encoded, dates as numbers.

In CSV an empty field is a missing value. ``NA`` and similar spellings are missing values in columns of numbers, and
ordinary texts in columns of text. ``columns.py`` says what a column is.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.files.atomic import written_atomically
from maxmargin.files.columns import (
    CATEGORY,
    NUMBER,
    Column,
    TableOptions,
    Unseen,
    as_texts,
    is_number,
    is_text,
    understand,
)
from maxmargin.files.compression import STANDARD_INPUT, compressed, kind_of, name_of, open_bytes
from maxmargin.files.data_file import DataFile, table_format
from maxmargin.files.preparation import Preparation
from maxmargin.files.remote import is_address, parquet_file, size_of_file

# Columns above which data are not written as a table.
MOST_COLUMNS = 10_000
# Rows of a block, and cells of it where rows are long: 32 MB in float64.
ROWS_PER_BLOCK = 1 << 14
CELLS_PER_BLOCK = 1 << 22
# Delimiters that are recognised, the most frequent one of the first line.
DELIMITERS = ",;\t|"
# Bytes in which the first line is looked for.
LONGEST_HEADER = 1 << 20


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


@contextmanager
def arrow_errors(path: str | Path, options: TableOptions | None = None) -> Iterator[None]:
    """Errors of pyarrow as ValueError with the file's name."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ValueError("Tables are read by pyarrow: install it with pip install 'maxmargin[files]'.") from error
    try:
        yield
    except pa.ArrowException as error:
        message = str(error)
        if "Empty CSV file" in message or "Parquet file size is 0 bytes" in message:
            raise ValueError(f"{name_of(path)}: there are no rows.") from error
        if "UTF8" in message or "utf-8" in message.lower():
            raise _not_encoded(path, options, message) from error
        raise ValueError(f"{path}: {error}") from error
    except UnicodeError as error:
        raise _not_encoded(path, options, str(error)) from error
    except LookupError as error:
        raise ValueError(f"encoding: {error}") from error
    except OSError as error:
        # Errors of the system have a number or a class of their own, those of damaged files have neither.
        if error.errno is not None or type(error) is not OSError:
            raise
        raise ValueError(f"{path}: {error}") from error


def _not_encoded(path: str | Path, options: TableOptions | None, why: str) -> ValueError:
    encoding = "utf-8" if options is None else options.encoding
    return ValueError(
        f"{path}: names and texts are not in the encoding {encoding}: give theirs, such as encoding='latin-1' ({why})."
    )


@dataclass
class Source:
    """A table that can be opened more than once; standard input is kept in memory.

    Attributes
    ----------
    path : str or Path
    options : TableOptions
    """

    path: str | Path
    options: TableOptions

    def __post_init__(self) -> None:
        self.is_parquet = table_format(self.path) == ".parquet"
        self._kept: bytes | None = None
        if self.is_parquet:
            _refuse_compressed_parquet(self.path)
        elif self.path == STANDARD_INPUT:
            with open_bytes(self.path) as stream:
                self._kept = io.BufferedReader(stream).read()
        self.delimiter = self.options.delimiter or self._sniffed()
        self.schema = self._read_schema()
        # Names of the file, and names without the spaces around them.
        self.names = [
            str(k) if not self.options.header and not self.is_parquet else name.strip()
            for k, name in enumerate(self.schema.names, 1)
        ]
        self._refuse_names()

    @property
    def notes(self) -> list[str]:
        """What was found out about the file, where it is not the usual thing."""
        found = [f"delimiter {self.delimiter!r}"] if not self.is_parquet and self.delimiter != "," else []
        spaced = sum(name != raw for name, raw in zip(self.names, self.schema.names, strict=True))
        if spaced and (self.options.header or self.is_parquet):
            found.append(f"{spaced} name{'s' * (spaced != 1)} with spaces around, taken without")
        return found

    def _refuse_names(self) -> None:
        if not self.is_parquet and self.options.header and self.names and all(map(_is_numeric_text, self.names)):
            raise ValueError(
                f"{self.path}: the first line holds numbers ({', '.join(self.names[:4])} ...), not names of columns: "
                "give header=False."
            )
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"{self.path}: two columns have the same name.")

    def read(self, columns: Sequence[Column] | None) -> Any:
        """The whole table, under the names without spaces; a model's columns in their types."""
        from pyarrow import csv, parquet

        if self.is_parquet:
            return parquet.read_table(parquet_file(self.path)).rename_columns(self.names)
        convert = self._convert_options(None if columns is None else self._types(columns), include=False)
        with self._opened() as stream:
            table = csv.read_csv(stream, self._read_options(), self._parse_options(), convert)
        return self._with_nulls(table.rename_columns(self.names))

    def count_rows(self) -> int:
        """About the number of rows: that of Parquet exactly, of text by the length of its first lines."""
        from pyarrow import parquet

        if self.is_parquet:
            return int(parquet.read_metadata(parquet_file(self.path)).num_rows)
        from maxmargin.files.file_blocks import COMPRESSION, count_lines

        n_bytes = size_of_file(self.path) * (COMPRESSION if kind_of(self.path) else 1.0)
        return 1 + int(count_lines(self.path) * n_bytes)

    def read_some(self, names: Sequence[str]) -> Any:
        """Some columns of the whole table."""
        from pyarrow import csv, parquet

        raw = dict(zip(self.names, self.schema.names, strict=True))
        chosen = [raw[name] for name in names]
        if self.is_parquet:
            return parquet.read_table(parquet_file(self.path), columns=chosen).rename_columns(list(names))
        convert = self._convert_options(None, include=False)
        convert.include_columns = chosen
        with self._opened() as stream:
            table = csv.read_csv(stream, self._read_options(), self._parse_options(), convert)
        return self._with_nulls(table.rename_columns(list(names)))

    def blocks(self, columns: Sequence[Column], also: dict[str, Any]) -> Iterator[Any]:
        """Blocks of rows, with a model's columns, the id and some more columns of given types."""
        import pyarrow as pa
        from pyarrow import csv, parquet

        types = self._types(columns)
        raw = dict(zip(self.names, self.schema.names, strict=True))
        if self.options.id is not None and self.options.id in raw:
            types.setdefault(raw[self.options.id], pa.string())
        types |= {raw[name]: kind for name, kind in also.items() if name in raw}
        back = {raw_name: name for name, raw_name in raw.items()}
        if self.is_parquet:
            with parquet.ParquetFile(parquet_file(self.path)) as file:
                for batch in file.iter_batches(_rows_per_block(len(types)), columns=list(types)):
                    table = pa.Table.from_batches([batch])
                    yield table.rename_columns([back[name] for name in table.column_names])
            return
        convert = self._convert_options(types, include=True)
        with (
            self._opened() as stream,
            csv.open_csv(stream, self._read_options(), self._parse_options(), convert) as found,
        ):
            for batch in found:
                table = pa.Table.from_batches([batch])
                yield self._with_nulls(table.rename_columns([back[name] for name in table.column_names]))

    def _types(self, columns: Sequence[Column]) -> dict[str, Any]:
        """The columns of the file that a model uses, by their names there, with the types to read them in.

        Types inferred from the first rows may be wrong: integers may be followed by floats, and digits may be
        categories.
        """
        import pyarrow as pa
        from pyarrow import types

        known = {column.name: column for column in columns}
        found: dict[str, Any] = {}
        for name, field in zip(self.names, self.schema, strict=True):
            column = known.get(name)
            if column is None:
                continue
            if column.kind == CATEGORY:
                found[field.name] = pa.string()
            elif column.kind != NUMBER:
                found[field.name] = field.type if types.is_temporal(field.type) else pa.timestamp("s")
            elif types.is_boolean(field.type):
                found[field.name] = field.type
            elif column.fill is not None:
                # Texts among the numbers are missing values.
                found[field.name] = pa.string()
            else:
                found[field.name] = pa.float64()
                if not (is_number(field.type) or types.is_null(field.type)):
                    raise ValueError(f"{self.path}: column {name!r} is not of numbers, as it was in training.")
        return found

    def _with_nulls(self, table: Any) -> Any:
        """Missing values in place of empty texts, and of those that the options name."""
        import pyarrow as pa
        from pyarrow import compute, types

        absent = pa.array(["", *self.options.missing])
        for place, field in enumerate(table.schema):
            if types.is_binary(field.type):
                raise _not_encoded(self.path, self.options, f"column {field.name!r}")
            if types.is_string(field.type):
                column = table.column(place)
                filled = compute.if_else(compute.is_in(column, absent), pa.scalar(None, field.type), column)
                table = table.set_column(place, field, filled)
        return table

    def _read_options(self) -> Any:
        from pyarrow import csv

        return csv.ReadOptions(encoding=self.options.encoding, autogenerate_column_names=not self.options.header)

    def _parse_options(self) -> Any:
        from pyarrow import csv

        return csv.ParseOptions(delimiter=self.delimiter)

    def _convert_options(self, types: dict[str, Any] | None, *, include: bool) -> Any:
        from pyarrow import csv

        missing = {"null_values": [*csv.ConvertOptions().null_values, *self.options.missing]}
        return csv.ConvertOptions(
            column_types=types,
            include_columns=list(types or ()) if include else None,
            decimal_point=self.options.decimal,
            **(missing if self.options.missing else {}),
        )

    def _read_schema(self) -> Any:
        from pyarrow import csv, parquet

        if self.is_parquet:
            return parquet.read_schema(parquet_file(self.path))
        with (
            self._opened() as stream,
            csv.open_csv(
                stream, self._read_options(), self._parse_options(), self._convert_options(None, include=False)
            ) as reader,
        ):
            return reader.schema

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Input of pyarrow: the path of a plain file, else a decompressed stream."""
        if self._kept is not None:
            yield io.BytesIO(self._kept)
        elif not kind_of(self.path) and not is_address(self.path):
            yield self.path
        else:
            with open_bytes(self.path) as stream:
                yield io.BufferedReader(stream)

    def _sniffed(self) -> str:
        """The delimiter: a tab for .tsv, else the one that the first line has most of."""
        if self.is_parquet:
            return ","
        if table_format(self.path) == ".tsv":
            return "\t"
        if self._kept is not None:
            head = self._kept[:LONGEST_HEADER]
        else:
            with open_bytes(self.path) as stream:
                head = io.BufferedReader(stream).read(LONGEST_HEADER)
        line = head.partition(b"\n")[0].decode("latin-1")
        unquoted = "".join(line.split('"')[::2])
        return max(DELIMITERS, key=unquoted.count) if any(map(unquoted.count, DELIMITERS)) else ","


def _is_numeric_text(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _refuse_compressed_parquet(path: str | Path) -> None:
    if kind_of(path) and table_format(path) == ".parquet":
        raise ValueError(f"{path}: Parquet is compressed within: have it without {kind_of(path)} around it.")


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
