"""Model files of all formats, and data files for a model."""

import shlex
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from maxmargin.cli.options import DataOptions, NewRowsOptions

# Rows that are predicted at a time.
ROWS_PER_BLOCK = 8192
# First words of the model files of LIBLINEAR and LIBSVM.
LIBLINEAR, LIBSVM = b"solver_type", b"svm_type"


def load_model(path: Path, data: str | None = None) -> Any:
    """Load a model; the first word identifies files of LIBLINEAR and LIBSVM.

    ``data`` is the argument beside it, which may be the model where the two are swapped.
    """
    from maxmargin.files import load, read_liblinear_model, read_libsvm_model

    refuse_data_as_model(path, data)
    head = _head_of(path)
    if head.startswith(LIBLINEAR):
        return read_liblinear_model(path)
    return read_libsvm_model(path) if head.startswith(LIBSVM) else load(path)


def refuse_data_as_model(path: Path, data: str | None = None) -> None:
    """Refuse data in the place of a model: the arguments may be swapped."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file.")
    if path.is_dir() or looks_like_data(path):
        if data is not None and is_model_file(Path(data)):
            meant = shlex.join(["maxmargin", sys.argv[1], data, str(path)])
            raise ValueError(f"{path} is data, not a model: did you mean {meant}?")
        raise ValueError(f"{path} is data, not a model.")


def looks_like_data(path: Path) -> bool:
    """Whether a file is no model: a table by its name, or text that does not begin as a model does."""
    from maxmargin.files.compression import kind_of
    from maxmargin.files.data_file import table_format

    if not path.is_file() or is_model_file(path):
        return False
    if table_format(path) is not None or kind_of(path):
        return True
    words = _head_of(path).split(None, 2)
    # A file without a word is one without rows.
    return not words or (len(words) > 1 and words[1].partition(b":")[0].isdigit() and b":" in words[1])


def refuse_model_as_data(data: str) -> None:
    """Refuse a model in the place of data."""
    if data != "-" and is_model_file(Path(data)):
        raise ValueError(f"{data} is a model, not data: name the file of the rows.")


def stored_model(path: Path, data: str | None = None) -> Any:
    """A model with what its file says of the data; files of LIBLINEAR and LIBSVM say nothing."""
    from maxmargin.files.model import StoredModel, read_model_file

    refuse_data_as_model(path, data)
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


def read_rows(machine: Any, data: str, given: DataOptions, new: NewRowsOptions, *, any_width: bool = False) -> Any:
    """All rows of a file for a model; ``any_width`` is for models of other programs."""
    from maxmargin.files.data_file import is_regressor, read_data, reads_as_table

    refuse_model_as_data(data)
    target = target_of(machine, data, given)
    if not any_width or reads_as_table(data, target, machine):
        return read_data(
            data,
            target=target,
            like=machine,
            zero_based=given.zero_based,
            table=given.table(),
            unseen=new.unseen,
        )
    found = read_data(data, target=target, values=is_regressor(machine), zero_based=given.zero_based)
    return replace(found, X=_with_equal_width(machine, found.X))


def target_of(machine: Any, data: str, given: DataOptions) -> str | None:
    """The target's column: the given one, else that of the training where the file is a table that may have it."""
    from maxmargin.files.data_file import reads_as_table

    preparation = getattr(machine, "preparation_", None)
    if given.target is not None or preparation is None or not reads_as_table(data, None, machine):
        return given.target
    return preparation.target


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


def blocks_of(
    machine: Any, data: str, given: DataOptions, new: NewRowsOptions, *, any_width: bool, id_column: str | None = None
) -> Iterator[Any]:
    """Yield the rows of a file for a model in blocks; ``any_width`` is for models of other programs."""
    from maxmargin.files.columns import Unseen
    from maxmargin.files.data_file import columns_like, reads_as_table, refuse_other_formats
    from maxmargin.files.store import is_store

    refuse_model_as_data(data)
    is_table = reads_as_table(data, given.target, machine)
    options = given.table(id=id_column)
    refuse_other_formats(data, is_table=is_table, target=given.target, table=options, zero_based=given.zero_based)
    unseen, preparation = Unseen(new.unseen), getattr(machine, "preparation_", None)
    if is_table:
        from maxmargin.files.tables import read_table_blocks

        known = columns_like(machine, data)
        blocks = read_table_blocks(data, options=options, unseen=unseen, **known)
        _refuse_target(machine, given.target)
    elif is_store(data):
        yield from read_rows(machine, data, given, new, any_width=any_width).blocks()
        return
    else:
        blocks = _text_blocks(machine, data, given.zero_based, unseen, any_width=any_width)
    n_rows, named = 0, True
    for block in blocks:
        n_rows += block.X.shape[0]
        named = block.ids is not None
        scaling = None if preparation is None else preparation.scaling
        yield block if scaling is None else replace(block, X=scaling(block.X))
    if n_rows == 0:
        raise ValueError(f"{data}: there are no rows.")
    unseen.warn(data)
    if id_column is None and preparation is not None and preparation.id is not None and not named:
        warnings.warn(f"{data} has no column {preparation.id!r}: rows are printed without their names.", stacklevel=2)


def _refuse_target(machine: Any, target: str | None) -> None:
    names = [str(name) for name in getattr(machine, "feature_names_in_", ())]
    if target is not None and target in names:
        raise ValueError(f"--target {target} is a column that the model predicts from.")


def _text_blocks(machine: Any, data: str, zero_based: bool, unseen: Any, *, any_width: bool) -> Iterator[Any]:
    """Blocks of svmlight text, with the model's number of columns."""
    from maxmargin.files import read_svmlight_blocks
    from maxmargin.files.data_file import DataFile, with_columns
    from maxmargin.files.svmlight_chunks import LARGEST_INDEX

    strict = unseen.mode == "error" and not any_width
    n_features = machine.n_features_in_ if strict else LARGEST_INDEX
    for X, y in read_svmlight_blocks(data, rows_per_block=ROWS_PER_BLOCK, n_features=n_features, zero_based=zero_based):
        if any_width:
            yield DataFile(_with_equal_width(machine, X), y)
        else:
            yield DataFile(with_columns(X, machine.n_features_in_, data, unseen), y)
