"""Opening model files of all formats, and data for a model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROWS_PER_BLOCK = 8192


def load_model(path: Path) -> Any:
    """Load a model: our own format by its first bytes, else the text formats by their first words."""
    from maxmargin.files import load, read_liblinear_model, read_libsvm_model

    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(b"solver_type"):
        return read_liblinear_model(path)
    return read_libsvm_model(path) if head.startswith(b"svm_type") else load(path)


def blocks_of(machine: Any, data: str, *, target: str | None, zero_based: bool) -> Iterator[Any]:
    """Rows of a file for a model, a block at a time."""
    from maxmargin.files.reading import DataFile, names_of, read_data, table_format
    from maxmargin.files.store import is_store

    if table_format(data) is not None:
        if zero_based:
            raise ValueError(f"--zero-based is about svmlight text, and {data} is none.")
        from maxmargin.files.tables import read_table_blocks

        names = names_of(machine, data)
        if target is not None and target in names:
            raise ValueError(f"--target {target} is a column that the model predicts from.")
        yield from read_table_blocks(data, names)
        return
    if target is not None:
        raise ValueError(f"--target names a column of a table, and {data} is none.")
    if is_store(data):
        whole = read_data(data, like=machine)
        for start in range(0, whole.X.shape[0], ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            yield DataFile(whole.X[part], whole.y[part], whole.names)
        return
    from maxmargin.files import read_svmlight_blocks

    for X, y in read_svmlight_blocks(
        data, rows_per_block=ROWS_PER_BLOCK, n_features=machine.n_features_in_, zero_based=zero_based
    ):
        yield DataFile(X, y)
