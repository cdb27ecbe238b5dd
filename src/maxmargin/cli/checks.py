"""Checks of the arguments before any work is done, and of labels."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from maxmargin.cli.models import is_regression
from maxmargin.files.compression import STANDARD_INPUT
from maxmargin.files.remote import exists, is_address, local_or_address


def refuse_unreadable(path: str, option: str) -> None:
    """Refuse a file that does not exist or cannot be read, before the training that precedes its use."""
    if path == STANDARD_INPUT:
        return
    path = str(local_or_address(path))
    if not exists(path):
        raise ValueError(f"{option} {path}: there is no such file.")
    if not is_address(path) and not os.access(path, os.R_OK):
        raise ValueError(f"{option} {path} cannot be read: its permissions forbid it.")


def refuse_unreadable_pattern(paths: str, option: str) -> None:
    """Refuse a file, or one of those that a pattern names, that cannot be read."""
    from maxmargin.files.file_blocks import is_pattern, matching_files

    for path in matching_files(paths) if is_pattern(paths) else [paths]:
        refuse_unreadable(str(path), option)


def refuse_unwritable(output: Path | None, option: str = "-o") -> None:
    """Refuse a path that could not be written at the end."""
    if output is None:
        return
    target = Path(os.path.realpath(output))
    if target.is_dir():
        raise ValueError(f"{option} {output} is a folder: name a file.")
    if not target.parent.is_dir():
        raise ValueError(f"{option} {output}: the folder {target.parent} does not exist: make it first.")
    # A file is replaced, so that its folder must be writable; a device is written to directly.
    written = target if target.exists() and not target.is_file() else target.parent
    if not os.access(written, os.W_OK):
        raise ValueError(f"{option} {output} cannot be written: the permissions of {written} forbid it.")


def refuse_input_as_output(output: Path | None, inputs: tuple[str | Path | None, ...], option: str = "-o") -> None:
    """Refuse to write over a file that is read."""
    for path in inputs:
        if output is None or path is None or str(path) == STANDARD_INPUT or not os.path.exists(output):
            continue
        if os.path.exists(path) and os.path.samefile(output, path):
            raise ValueError(f"{option} {output} is a file that is read: name another one.")


def weight_column_of(given: str | None, data: str) -> str | None:
    """The column of a table that --sample-weight names; None where it names a file."""
    from maxmargin.files.data_file import table_format

    is_table = data == STANDARD_INPUT or table_format(data) is not None
    return given if given is not None and is_table and not os.path.exists(given) else None


def sample_weights(rows: Any, given: str | None) -> Any:
    """The sample weights of rows: from the table's column, or from a text file; None where none are given."""
    if given is None:
        return None
    if rows.weights is not None:
        return rows.weights
    import numpy as np

    refuse_unreadable(given, "--sample-weight")
    try:
        values = np.array([float(line) for line in Path(given).read_text().split()])
    except ValueError as error:
        raise ValueError(f"--sample-weight {given}: {error}: give one number a line.") from error
    n_rows = rows.X.shape[0]
    if values.size != n_rows:
        raise ValueError(f"--sample-weight {given} has {values.size:,} numbers for {n_rows:,} rows: give one a line.")
    return values


def refuse_targets(machine: Any, y: Any, target: str | None) -> None:
    """Refuse values in the place of labels, and labels in the place of values, with the models that take them."""
    import numpy as np

    what = "the first number of a line" if target is None else f"--target {target}"
    if is_regression(machine):
        if y.dtype.kind not in "iufb":
            raise ValueError(
                f"{what} is text, such as {y[0]!s}, and a regression predicts numbers: choose a classifier."
            )
    elif y.dtype.kind == "f" and not np.array_equal(y, np.rint(y)):
        example = y[np.flatnonzero(y != np.rint(y))[0]]
        raise ValueError(
            f"{what} has values such as {example:.6g}, and a classifier predicts classes: choose a regression, such as "
            "-m ridge or -m linear-svr."
        )


def labelled(machine: Any, rows: Any, data: str, target: str | None) -> Any:
    """Rows whose labels can be compared with a model's predictions; without such labels they are refused."""
    if rows.y is None:
        raise _without_labels(data, target)
    if is_regression(machine):
        return replace(rows, y=_values(rows.y, data))
    classes = getattr(machine, "classes_", None)
    if classes is not None and classes.dtype.kind in "OU" and rows.y.dtype.kind in "iuf":
        # The labels were text in training, among others that are no numbers.
        return replace(rows, y=rows.y.astype(str).astype(object))
    return rows


def _values(y: Any, data: str) -> Any:
    from maxmargin.data.validation import as_numbers

    try:
        return as_numbers(y)
    except ValueError as error:
        raise ValueError(f"{data}: {error}") from error


def _without_labels(data: str, target: str | None) -> ValueError:
    if target is None:
        return ValueError(f"{data} is a table: name the column that holds the labels with --target.")
    return ValueError(f"{data} has no column {target!r}: name the column that holds the labels with --target.")
