"""Columns of tables: which are numbers, categories or dates, and how each becomes columns of X.

Nothing is guessed silently. A column that is mostly numbers with a few other texts, a column of texts that nearly all
differ, and a missing value are errors until an option says what is meant; :class:`Column` records what was understood,
and a model keeps it (:mod:`maxmargin.files.preparation`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.user_warnings import warn_user

NUMBER, CATEGORY, DAYS, PARTS = "number", "category", "days", "parts"
KINDS = (NUMBER, CATEGORY, DAYS, PARTS)
IMPUTATIONS = ("mean", "median", "most-frequent")
# How errors name the choice.
IMPUTE = "impute='mean', 'median' or 'most-frequent'"
# Parts of a date, in the order of the columns of X.
DATE_PARTS = ("year", "month", "day", "weekday", "hour")
# Columns of texts whose values differ in more than this share of the rows look like names or identifiers.
DISTINCT_SHARE = 0.5
# Share of other texts up to which a column is one of numbers with errors in it.
FEW_OTHERS = 0.2
# Fewest distinct texts for which that is said.
FEWEST_DISTINCT = 20


class UnseenWarning(UserWarning):
    """Values or columns of new rows that did not occur in training were ignored.

    See Also
    --------
    read_data : Warns so, with ``unseen="ignore"``.
    """


@dataclass(frozen=True)
class TableOptions:
    r"""How a table is read and understood; the defaults read CSV as most programs write it.

    Attributes
    ----------
    categorical, numeric, drop : tuple of str
        Columns to take as categories, to take as numbers (other texts are then missing values), or to leave out.
    id : str or None
        A column that names the rows: it is kept for predictions, and is not learned from.
    weight : str or None
        A column that holds sample weights, not learned from either.
    impute : {"mean", "median", "most-frequent"} or None
        What takes the place of missing values; categories always get the most frequent one. None refuses them.
    max_categories : int
        The most values of a categorical column.
    dates : {"days", "parts"}
        A date as days since 1970, or as year, month, day, weekday and, for times, hour.
    delimiter : str or None
        None takes the character of ``, ; | tab`` that the first line has most of.
    header : bool
        Whether the first line names the columns; otherwise they are called 1, 2, ...
    decimal, encoding : str
    missing : tuple of str
        Texts that are missing values in every column, besides empty fields.

    See Also
    --------
    read_data, read_blocks : Take these options.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.files import TableOptions, read_data
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "homes.csv").write_text("size,price\n120,300\n?,190\n80,210\n")
    ...     options = TableOptions(missing=("?",), impute="mean")
    ...     data = read_data(Path(folder, "homes.csv"), target="price", table=options)
    >>> data.X
    array([[120.],
           [100.],
           [ 80.]])
    """

    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    id: str | None = None
    weight: str | None = None
    impute: str | None = None
    max_categories: int = 1000
    dates: str = DAYS
    delimiter: str | None = None
    header: bool = True
    decimal: str = "."
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise ValueError where an option has no meaning or two contradict each other."""
        if self.impute not in (None, *IMPUTATIONS):
            raise ValueError(f"impute must be one of {', '.join(IMPUTATIONS)}; it is {self.impute!r}.")
        if self.dates not in (DAYS, PARTS):
            raise ValueError(f"dates must be days or parts; it is {self.dates!r}.")
        if self.max_categories < 1:
            raise ValueError(f"max_categories must be at least 1; it is {self.max_categories}.")
        for name, value in (("delimiter", self.delimiter), ("decimal", self.decimal)):
            if value is not None and len(value) != 1:
                raise ValueError(f"{name} must be one character; it is {value!r}.")
        both = set(self.categorical) & set(self.numeric)
        if both:
            raise ValueError(f"column {min(both)!r} is both categorical and numeric: say one of them.")

    def named(self) -> dict[str, str]:
        """The columns that options name, with the option."""
        lists = {"categorical": self.categorical, "numeric": self.numeric, "drop": self.drop}
        found = {name: option for option, names in lists.items() for name in names}
        found |= {name: option for option, name in (("id", self.id), ("weight", self.weight)) if name is not None}
        return found


@dataclass(frozen=True)
class Column:
    """A column of a table, as it was understood in training.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "days", "parts"}
    values : tuple of str
        The categories, in the order of the columns of X.
    fill : float, str or None
        What takes the place of a missing value; None refuses them.
    n_missing : int
        Missing values in training.
    note : str
        Remarks for the user.
    """

    name: str
    kind: str
    values: tuple[str, ...] = ()
    fill: float | str | None = None
    n_missing: int = 0
    note: str = ""

    @property
    def features(self) -> list[str]:
        """The names of the columns of X."""
        if self.kind == CATEGORY:
            return [f"{self.name}={value}" for value in self.values]
        return [f"{self.name}:{part}" for part in self.values] if self.kind == PARTS else [self.name]

    @property
    def is_plain(self) -> bool:
        """Whether the column is taken as it is: numbers, or categories without a missing value."""
        return self.kind in (NUMBER, CATEGORY) and self.fill is None

    def describe(self) -> tuple[str, str, str]:
        """Name, what the column is, and remarks, for the table of columns."""
        about = {
            NUMBER: "number",
            CATEGORY: f"category, {len(self.values)} value{'s' * (len(self.values) != 1)}",
            DAYS: "date, as days since 1970",
            PARTS: f"date, as {', '.join(self.values)}",
        }[self.kind]
        filled = f"{self.n_missing:,} missing, taken as {self._fill_text}" if self.n_missing else ""
        return self.name, about, "; ".join(filter(None, (filled, self.note)))

    @property
    def _fill_text(self) -> str:
        return f"{self.fill:.6g}" if isinstance(self.fill, float) else repr(self.fill)

    def encode(self, column: Any, path: str | Path, unseen: "Unseen", first_row: int = 0, decimal: str = ".") -> Any:
        """Columns of X from an arrow column."""
        if self.kind == CATEGORY:
            return self._indicators(_filled_texts(column, self, path, first_row), path, unseen)
        numbers = _numbers(column, self, path, first_row, decimal)
        if self.kind == PARTS:
            return np.column_stack([_date_part(numbers, part) for part in self.values])
        return numbers[:, None]

    def _indicators(self, texts: np.ndarray, path: str | Path, unseen: "Unseen") -> Any:
        values = np.array(self.values, dtype=str)
        order = np.argsort(values)
        ranks = np.minimum(np.searchsorted(values[order], texts), values.size - 1)
        places = order[ranks]
        is_known = values[places] == texts
        known = np.flatnonzero(is_known)
        if known.size < texts.size:
            new = texts[~is_known]
            unseen.add(f"value(s) of column {self.name!r}, such as {str(new[0])!r},", int(new.size), path)
        return sp.csr_matrix((np.ones(known.size), (known, places[known])), shape=(texts.size, values.size))


class Unseen:
    """Values and indices of new rows that did not occur in training: they are counted, or refused.

    Parameters
    ----------
    mode : {"ignore", "error"}
    """

    def __init__(self, mode: str = "ignore") -> None:
        if mode not in ("ignore", "error"):
            raise ValueError(f"unseen must be ignore or error; it is {mode!r}.")
        self.mode = mode
        self.counts: Counter[str] = Counter()

    def add(self, what: str, count: int, path: str | Path) -> None:
        """Count what did not occur in training; ValueError where that is refused."""
        if self.mode == "error":
            raise ValueError(f"{path}: {count:,} {what} did not occur in training.")
        self.counts[what.partition(", such as")[0]] += count

    def warn(self, path: str | Path) -> None:
        """Warn of all that was ignored."""
        for what, count in self.counts.items():
            message = f"{path}: {count:,} {what} ignored, which did not occur in training."
            warn_user(message, UnseenWarning)


def understand(table: Any, options: TableOptions, skipped: set[str], path: str | Path) -> list[Column]:
    """What the columns of an arrow table are, except the skipped ones.

    Parameters
    ----------
    table : pyarrow.Table
    options : TableOptions
    skipped : set of str
        The target, and other columns that are not learned from.
    path : str or Path
        The file's name in errors.

    Returns
    -------
    list of Column
    """
    found = [_understood(name, table[name], options, path) for name in table.column_names if name not in skipped]
    refuse_ambiguous(found, path)
    return found


def _understood(name: str, column: Any, options: TableOptions, path: str | Path) -> Column:
    from pyarrow import types

    kind = column.type
    n_missing = column.null_count
    if n_missing == len(column):
        raise ValueError(f"{path}: column {name!r} has no values: give drop={name!r}.")
    if n_missing and options.impute is None:
        raise ValueError(
            f"{path}: column {name!r} has {n_missing:,} missing value{'s' * (n_missing != 1)}, the first in row "
            f"{_first_missing(column):,}: give {IMPUTE}, or drop={name!r}."
        )
    if name in options.categorical:
        return _categories(name, column, options, path)
    if types.is_temporal(kind):
        return _date(name, column, options, path)
    if is_number(kind):
        return _number(name, column, options)
    if not is_text(kind):
        raise ValueError(
            f"{path}: column {name!r} is of type {kind}, neither number, text nor date: give drop={name!r}."
        )
    if name in options.numeric:
        numbers = as_numbers(column, options.decimal)
        return _number(name, numbers, options, n_other=numbers.null_count - n_missing, path=path)
    _refuse_mostly_numbers(name, column, options, path)
    return _categories(name, column, options, path)


def _number(name: str, column: Any, options: TableOptions, n_other: int = 0, path: str | Path = "") -> Column:
    n_missing = column.null_count
    if n_missing and options.impute is None:
        raise ValueError(
            f"{path}: column {name!r} has {n_other:,} text{'s' * (n_other != 1)} among its numbers: give "
            f"{IMPUTE}, or drop={name!r}."
        )
    note = _suspicion(column)
    note = f"{n_other:,} of them not numbers" if n_other else note
    return Column(name, NUMBER, (), _fill_of(column, options.impute) if n_missing else None, n_missing, note)


def _date(name: str, column: Any, options: TableOptions, path: str | Path) -> Column:
    from pyarrow import types

    if not (types.is_date(column.type) or types.is_timestamp(column.type)):
        raise ValueError(f"{path}: column {name!r} is of type {column.type}, not a date: give drop={name!r}.")
    days = as_days(column)
    fill = _fill_of(days, options.impute) if column.null_count else None
    parts = DATE_PARTS if types.is_timestamp(column.type) else DATE_PARTS[:-1]
    return Column(name, options.dates, parts if options.dates == PARTS else (), fill, column.null_count)


def _categories(name: str, column: Any, options: TableOptions, path: str | Path) -> Column:
    texts = as_texts(column).drop_null()
    counts = Counter({entry["values"]: entry["counts"] for entry in texts.value_counts().to_pylist()})
    n_rows, n_values = len(texts), len(counts)
    if name not in options.categorical and n_values > max(FEWEST_DISTINCT, DISTINCT_SHARE * n_rows):
        raise ValueError(
            f"{path}: column {name!r} has {n_values:,} different texts in {n_rows:,} rows, which is no category: give "
            f"{_other_decimal(texts, options)}drop={name!r}, id={name!r} or categorical={name!r}."
        )
    if n_values > options.max_categories:
        raise ValueError(
            f"{path}: column {name!r} has {n_values:,} different values, more than {options.max_categories:,}: "
            f"give drop={name!r} or max_categories={n_values}."
        )
    fill = min(counts, key=lambda value: (-counts[value], value)) if column.null_count else None
    rare = sum(count == 1 for count in counts.values())
    note = f"{rare} occur only once" if rare > 1 else ""
    return Column(name, CATEGORY, tuple(sorted(counts)), fill, column.null_count, note)


def _other_decimal(texts: Any, options: TableOptions) -> str:
    """Advice where most texts are numbers with the other decimal point."""
    decimal = "," if options.decimal == "." else "."
    if as_numbers(texts, decimal).null_count > FEW_OTHERS * len(texts):
        return ""
    return f"decimal={decimal!r} if they are numbers, or "


def _refuse_mostly_numbers(name: str, column: Any, options: TableOptions, path: str | Path) -> None:
    """Refuse a column of texts most of which are numbers: a typing error would make every number a category."""
    numbers = as_numbers(column, options.decimal)
    n_numbers, n_values = len(column) - numbers.null_count, len(column) - column.null_count
    n_other = n_values - n_numbers
    if n_other > FEW_OTHERS * n_values:
        return
    if n_other == 0:
        # As a text of another program, or with an unusual space beside a number.
        raise ValueError(
            f"{path}: column {name!r} is of texts, and all of them are numbers: give numeric={name!r} or "
            f"categorical={name!r}."
        )
    mask = numbers.is_null().to_numpy() & ~column.is_null().to_numpy()
    row = int(np.flatnonzero(mask)[0])
    raise ValueError(
        f"{path}: column {name!r} has {n_numbers:,} numbers and {n_other:,} other text{'s' * (n_other != 1)}, the "
        f"first {column[row].as_py()!r} in row {row + 1:,}: mend it, or give numeric={name!r} (other texts "
        f"are then missing) or categorical={name!r}."
    )


def refuse_ambiguous(columns: Sequence[Column], path: str | Path) -> None:
    """Refuse a column whose name may be ``column=value`` of a categorical column."""
    categorical = {column.name for column in columns if column.kind == CATEGORY}
    for name in (column.name for column in columns):
        parts = name.split("=")
        for front in ("=".join(parts[:k]) for k in range(1, len(parts))):
            if front in categorical:
                raise ValueError(
                    f"{path}: column {name!r} has a name like those of the values of the text column {front!r}: "
                    "rename one of them."
                )


def is_number(kind: Any) -> bool:
    """Whether an arrow type holds numbers: integers, floats, decimals or booleans."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def is_text(kind: Any) -> bool:
    """Whether an arrow type holds texts, dictionaries of texts included."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    is_view = getattr(types, "is_string_view", lambda _: False)
    return bool(types.is_string(kind) or types.is_large_string(kind) or is_view(kind) or types.is_null(kind))


def as_texts(column: Any) -> Any:
    """An arrow column as texts."""
    return column.cast("string")


def as_numbers(column: Any, decimal: str = ".") -> Any:
    """A column of texts as numbers; missing where a text is none."""
    import pyarrow as pa
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(as_texts(column))
    if decimal != ".":
        trimmed = compute.replace_substring(trimmed, decimal, ".")
    is_numeric = compute.match_substring_regex(trimmed, NUMBER_PATTERN)
    return compute.if_else(is_numeric, trimmed, pa.scalar(None, pa.string())).cast("float64")


NUMBER_PATTERN = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"


def as_days(column: Any) -> Any:
    """Dates and times as days since 1970, as an arrow column of floats."""
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_timestamp(column.type):
        seconds = compute.cast(column.cast(pa.timestamp("us"), safe=False), pa.int64()).cast("float64")
        return compute.divide(seconds, 86_400e6)
    return column.cast(pa.date32()).cast(pa.int32()).cast("float64")


def _date_part(days: np.ndarray, part: str) -> np.ndarray:
    whole = np.floor(days)
    if part == "hour":
        return np.floor(24.0 * (days - whole) + 1e-9)
    dates = whole.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    numbers = {
        "year": lambda: dates.astype("datetime64[Y]").astype(int) + 1970,
        "month": lambda: months.astype(int) % 12 + 1,
        "day": lambda: (dates - months).astype(int) + 1,
        # 1 January 1970 was a Thursday; Monday is 0.
        "weekday": lambda: (whole.astype(int) + 3) % 7,
    }
    return numbers[part]().astype(np.float64)


def _fill_of(column: Any, impute: str | None) -> float:
    values = column.drop_null().cast("float64").to_numpy()
    if impute == "mean":
        return float(values.mean())
    if impute == "median":
        return float(np.median(values))
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[counts.argmax()])


def _suspicion(column: Any) -> str:
    """A remark on whole numbers that all differ, as those of an id do."""
    from pyarrow import types

    if not types.is_integer(column.type) or column.null_count or len(column) < FEWEST_DISTINCT:
        return ""
    values = column.to_numpy()
    if (np.diff(values) == 1).all():
        return "counts the rows: an id?"
    return "all values differ: an id?" if np.unique(values).size == values.size else ""


def _first_missing(column: Any) -> int:
    """The first row without a value, counted from 1."""
    return int(np.flatnonzero(column.is_null().to_numpy())[0]) + 1


def _numbers(column: Any, spec: Column, path: str | Path, first_row: int, decimal: str) -> np.ndarray:
    """A column as floats, with missing values filled in."""
    from pyarrow import types

    if spec.kind in (DAYS, PARTS):
        if not types.is_temporal(column.type) and not types.is_null(column.type):
            raise ValueError(f"{path}: column {spec.name!r} is not of dates, as it was in training.")
        column = as_days(column) if types.is_temporal(column.type) else column.cast("float64")
    elif is_text(column.type) and not types.is_null(column.type):
        found = as_numbers(column, decimal)
        if spec.fill is None and found.null_count > column.null_count:
            raise ValueError(f"{path}: column {spec.name!r} is not of numbers, as it was in training.")
        column = found
    elif types.is_temporal(column.type):
        raise ValueError(f"{path}: column {spec.name!r} is not of numbers, as it was in training.")
    values = _filled(column.cast("float64"), spec, path, first_row).to_numpy()
    if not np.isfinite(values).all():
        row = first_row + int(np.flatnonzero(~np.isfinite(values))[0]) + 1
        raise ValueError(f"{path}: column {spec.name!r} has a value that is not finite in row {row:,}.")
    return values


def _filled_texts(column: Any, spec: Column, path: str | Path, first_row: int) -> np.ndarray:
    return _filled(as_texts(column), spec, path, first_row).to_numpy().astype(str)


def _filled(column: Any, spec: Column, path: str | Path, first_row: int) -> Any:
    """The column with the fill of the training in place of missing values."""
    if not column.null_count:
        return column
    if spec.fill is None:
        raise ValueError(
            f"{path}: column {spec.name!r} has a missing value in row {first_row + _first_missing(column):,}, and had "
            "none in training: fill it in first."
        )
    return column.fill_null(spec.fill)
