"""Model files of all formats, and data files for a model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Rows that are predicted at a time.
ROWS_PER_BLOCK = 8192
# First words of the model files of LIBLINEAR and LIBSVM.
LIBLINEAR, LIBSVM = b"solver_type", b"svm_type"


def load_model(path: Path) -> Any:
    """Load a model; the first word identifies files of LIBLINEAR and LIBSVM."""
    from maxmargin.files import load, read_liblinear_model, read_libsvm_model

    head = _head_of(path)
    if head.startswith(LIBLINEAR):
        return read_liblinear_model(path)
    return read_libsvm_model(path) if head.startswith(LIBSVM) else load(path)


def stored_model(path: Path) -> Any:
    """A model with what its file says of the data; files of LIBLINEAR and LIBSVM say nothing."""
    from maxmargin.files.model import StoredModel, read_model_file

    if _head_of(path).startswith((LIBLINEAR, LIBSVM)):
        return StoredModel(load_model(path), None, {})
    return read_model_file(path)


def takes_any_width(path: Path) -> bool:
    """Whether rows may have more columns than the model: other programs' files do not state their number."""
    return _head_of(path).startswith((LIBLINEAR, LIBSVM))


def is_model_file(path: Path) -> bool:
    """Whether a file starts as a model does: ours with the length of a JSON header, others with their first word."""
    if not path.is_file():
        return False
    head = _head_of(path)
    is_ours = head[8:9] == b"{" and int.from_bytes(head[:8], "little") < path.stat().st_size
    return is_ours or head.startswith((LIBLINEAR, LIBSVM))


def _head_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(64)


def read_rows(machine: Any, data: str, *, target: str | None, zero_based: bool, any_width: bool) -> Any:
    """All rows of a file for a model."""
    from maxmargin.files.data_file import DataFile, is_regressor, read_data, table_format

    if not any_width or table_format(data) is not None:
        return read_data(data, target=target, like=machine, zero_based=zero_based)
    found = read_data(data, target=target, values=is_regressor(machine), zero_based=zero_based)
    return DataFile(_with_equal_width(machine, found.X), found.y, found.names)


def _with_equal_width(machine: Any, X: Any) -> Any:
    """Give rows and a model of another program the same number of columns, as that program does.

    A linear model ignores additional columns. The RBF kernel does not: they are part of ||x - z||.
    """
    import scipy.sparse as sp

    width = X.shape[1]
    if width > machine.n_features_in_ and hasattr(machine, "support_vectors_"):
        machine.support_vectors_.resize((machine.support_vectors_.shape[0], width))
        machine.n_features_in_ = width
    elif width != machine.n_features_in_:
        X = sp.csr_matrix(X)
        X.resize((X.shape[0], machine.n_features_in_))
    return X


def blocks_of(machine: Any, data: str, *, target: str | None, zero_based: bool, any_width: bool) -> Iterator[Any]:
    """Yield the rows of a file for a model in blocks; ``any_width`` is for models of other programs."""
    from maxmargin.files.data_file import DataFile, names_of, table_format
    from maxmargin.files.store import is_store
    from maxmargin.files.svmlight_chunks import LARGEST_INDEX

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
        yield from read_rows(machine, data, target=None, zero_based=False, any_width=any_width).blocks()
        return
    from maxmargin.files import read_svmlight_blocks

    n_features = LARGEST_INDEX if any_width else machine.n_features_in_
    for X, y in read_svmlight_blocks(data, rows_per_block=ROWS_PER_BLOCK, n_features=n_features, zero_based=zero_based):
        yield DataFile(_with_equal_width(machine, X) if any_width else X, y)
