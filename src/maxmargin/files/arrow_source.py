"""Tables as pyarrow opens them: CSV, TSV and Parquet, from paths, addresses and standard input."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maxmargin.files.columns import (
    CATEGORY,
    NUMBER,
    Column,
    TableOptions,
    is_number,
)
from maxmargin.files.compression import STANDARD_INPUT, kind_of, name_of, open_bytes
from maxmargin.files.data_file import table_format
from maxmargin.files.remote import is_address, parquet_file

# Rows of a block, and cells of it where rows are long: 32 MB in float64.
ROWS_PER_BLOCK = 1 << 14
CELLS_PER_BLOCK = 1 << 22
# Delimiters that are recognised, the most frequent one of the first line.
DELIMITERS = ",;\t|"
# Bytes in which the first line is looked for.
LONGEST_HEADER = 1 << 20


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
        # Not an index or a key that is missing: those are faults of ours.
        if type(error) is not LookupError:
            raise
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
            refuse_compressed_parquet(self.path)
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
        from maxmargin.files.file_blocks import count_lines, text_size

        return 1 + int(count_lines(self.path) * text_size(self.path))

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
                for batch in file.iter_batches(rows_per_block(len(types)), columns=list(types)):
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


def refuse_compressed_parquet(path: str | Path) -> None:
    """Refuse a compressed file around Parquet."""
    if kind_of(path) and table_format(path) == ".parquet":
        raise ValueError(f"{path}: Parquet is compressed within: have it without {kind_of(path)} around it.")


def rows_per_block(n_columns: int) -> int:
    """Rows of a block of so many columns."""
    return min(ROWS_PER_BLOCK, CELLS_PER_BLOCK // max(1, n_columns) + 1)
