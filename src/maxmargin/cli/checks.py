"""Checks of the arguments before any work is done, and of labels."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from maxmargin.cli.models import is_regression
from maxmargin.files.compression import STANDARD_INPUT


def refuse_unreadable(path: str, option: str) -> None:
    """Refuse a file that does not exist or cannot be read, before the training that precedes its use."""
    if path == STANDARD_INPUT:
        return
    if not os.path.exists(path):
        raise ValueError(f"{option} {path}: there is no such file.")
    if not os.access(path, os.R_OK):
        raise ValueError(f"{option} {path} cannot be read: its permissions forbid it.")


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
