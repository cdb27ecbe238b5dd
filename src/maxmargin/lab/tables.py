"""Rows that are pasted or dropped: CSV or svmlight text, in memory and bounded."""

import csv
import io
import re

import numpy as np

from maxmargin.lab.presets import Table
from maxmargin.lab.state import LARGEST, MAX_POINTS

# Characters, columns and rows of pasted text.
MAX_TEXT, MAX_TABLE_COLUMNS, MAX_ROWS = 500_000, 200, 20_000
_PAIR = re.compile(r"\d+:\S+")


def read_text(text: str) -> tuple[Table, str]:
    """Read a table, and say what was left out.

    A line of svmlight text is ``label index:value ...``. All else is CSV (commas, semicolons or tabs) with or without
    a line of names; the label is the column called label, class, target or y, or else the last one.

    Raises
    ------
    ValueError
        Where the text is neither; the message names the line.
    """
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise ValueError(f"the text must have at most {MAX_TEXT} characters.")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise ValueError("the text has no rows: paste CSV or svmlight text.")
    if len(lines) > MAX_ROWS:
        raise ValueError(f"the text has {len(lines)} lines, and the page reads at most {MAX_ROWS}.")
    is_svmlight = all(_PAIR.fullmatch(word) for line in lines[:5] for word in line.partition("#")[0].split()[1:])
    has_pairs = any(_PAIR.search(line) for line in lines[:5])
    table = _svmlight(lines) if is_svmlight and has_pairs else _csv(lines)
    table = Table(table.X, tuple(map(_label, table.y)), table.columns)
    if len(set(table.y)) < 2:
        raise ValueError("the text has one label only: rows of two classes are needed.")
    n = len(table.y)
    if n <= MAX_POINTS:
        return table, f"{n} rows, {len(table.columns)} columns."
    kept = np.linspace(0, n - 1, MAX_POINTS).astype(int)
    thinned = Table(table.X[kept], tuple(table.y[row] for row in kept), table.columns)
    return thinned, f"{n} rows, of which {MAX_POINTS} are shown, evenly taken."


def _svmlight(lines: list[str]) -> Table:
    rows: list[dict[int, float]] = []
    labels = []
    for number, line in enumerate(lines, 1):
        label, *pairs = line.partition("#")[0].split()
        row: dict[int, float] = {}
        for pair in pairs:
            index, _, value = pair.partition(":")
            if not index.isdigit() or not 1 <= int(index[:9]) <= MAX_TABLE_COLUMNS or len(index) > 9:
                raise ValueError(f"line {number}: an index must be from 1 to {MAX_TABLE_COLUMNS}, got {pair[:30]!r}.")
            row[int(index)] = _number(value, number)
        rows.append(row)
        labels.append(label)
    width = max(2, *(max(row, default=0) for row in rows))
    X = np.zeros((len(rows), width))
    for i, row in enumerate(rows):
        for column, entry in row.items():
            X[i, column - 1] = entry
    return Table(X, tuple(labels), tuple(f"column {index + 1}" for index in range(width)))


def _csv(lines: list[str]) -> Table:
    delimiter = max(",;\t", key=lines[0].count)
    try:
        rows = [
            [cell.strip() for cell in row] for row in csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter)
        ]
    except csv.Error as error:
        raise ValueError(f"the text is no CSV: {error}.") from error
    width = len(rows[0])
    if not 3 <= width <= MAX_TABLE_COLUMNS + 1:
        raise ValueError(
            f"line 1: a row of CSV needs two numbers and a label, up to {MAX_TABLE_COLUMNS} numbers, got {width}."
        )
    names, rows = (rows[0], rows[1:]) if not any(map(_is_number, rows[0])) else (None, rows)
    if not rows:
        raise ValueError("the text has names of columns, but no rows.")
    target = width - 1
    if names is not None:
        known = [column for column, name in enumerate(names) if name.lower() in ("label", "class", "target", "y")]
        target = known[0] if known else target
    others = [column for column in range(width) if column != target]
    X = np.empty((len(rows), len(others)))
    for number, row in enumerate(rows, 1 + (names is not None)):
        if len(row) != width:
            raise ValueError(f"line {number} has {len(row)} cells, the first one {width}.")
        X[number - 1 - (names is not None)] = [_number(row[column], number) for column in others]
    columns = tuple(names[column][:40] if names is not None else f"column {column + 1}" for column in others)
    return Table(X, tuple(row[target][:40] for row in rows), columns)


def _label(text: str) -> str:
    """One name for all ways to write a number: "+1", "1" and "1.0" are one class."""
    return f"{float(text):g}" if _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str, line: int) -> float:
    if not _is_number(text) or not abs(float(text)) <= LARGEST:
        raise ValueError(f"line {line}: {text[:30]!r} is no finite number up to {LARGEST:g}.")
    return float(text)
