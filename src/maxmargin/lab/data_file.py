"""A data file as the page's first points."""

from collections.abc import Callable

import numpy as np

from maxmargin.lab.page import Page
from maxmargin.lab.presets import Table
from maxmargin.lab.state import LARGEST, MAX_POINTS, from_preset
from maxmargin.lab.tables import MAX_TABLE_COLUMNS


def page_maker(path: str, *, target: str | None, zero_based: bool) -> Callable[[], Page]:
    """A function that makes a page with the rows of a file.

    The first two columns are shown (with more columns: two principal components), of at most 1000 rows, evenly taken.

    Raises
    ------
    ValueError
        Where the file has no labels, one class only, or too many columns.
    """
    from maxmargin.files import read_data

    found = read_data(path, target=target, zero_based=zero_based)
    if found.y is None:
        raise ValueError(f"{path} is a table: name the column that holds the labels with --target.")
    n, d = found.X.shape
    if d > MAX_TABLE_COLUMNS:
        raise ValueError(f"{path} has {d:,} columns, and the page takes at most {MAX_TABLE_COLUMNS}.")
    kept = np.unique(np.linspace(0, n - 1, min(n, MAX_POINTS)).astype(int))
    X = found.X[kept]
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    if not (np.abs(X) <= LARGEST).all():
        raise ValueError(f"{path} holds numbers beyond {LARGEST:g}, or none.")
    if d == 1:
        X, d = np.column_stack([X, np.zeros(len(X))]), 2
    names = found.names if found.names is not None else [f"column {column + 1}" for column in range(d)]
    table = Table(X, tuple(str(label) for label in np.asarray(found.y)[kept]), tuple(names))
    if len(table.classes) < 2:
        raise ValueError(f"{path} holds one class only: rows of two classes are needed.")
    columns = (0, 1) if d == 2 else None
    state = from_preset("nothing").with_points(*table.points(columns))

    def new_page() -> Page:
        page = Page(state, table)
        page.columns, page.positive = columns, -1
        return page

    return new_page
