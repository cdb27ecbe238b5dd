"""Data that are larger than the memory: what training needs, and the store that it reads instead."""

import itertools
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.models import options_as_typed

if TYPE_CHECKING:
    from maxmargin.files import Store
    from maxmargin.files.columns import TableOptions

# The share of the available memory that training on arrays may take.
SHARE_OF_MEMORY = 0.7
ADVICE = (
    "Linear models train from a store, without --scale, --search, --cv and weights from a column; others need fewer "
    "rows or more memory."
)


def stored_rows(
    machine: Any,
    paths: list[str],
    *,
    target: str | None,
    zero_based: bool,
    table: "TableOptions",
    wanted: bool,
    folder: Path | None,
    needs_arrays: bool,
) -> "Store | None":
    """The store that is trained from in place of a file, written first if need be; None where the file is read.

    Parameters
    ----------
    machine : the model
    paths : list of str
        Files, or patterns that name several.
    target, zero_based, table : as of ``read_blocks``
    wanted : bool
        Whether a store is asked for.
    folder : Path or None
        Where to write it, by default beside the file.
    needs_arrays : bool
        Whether other options need all rows in memory.
    """
    from maxmargin.data.memory import available_memory, gigabytes
    from maxmargin.files import read_blocks
    from maxmargin.files.atomic import NO_ROOM
    from maxmargin.files.compression import STANDARD_INPUT, name_of
    from maxmargin.files.file_blocks import is_pattern, matching_files, memory_to_train
    from maxmargin.files.remote import is_address, local_or_address
    from maxmargin.files.store import is_store

    paths = [str(local_or_address(path)) for path in paths]
    data = paths[0]
    wanted = wanted or folder is not None or len(paths) > 1 or is_pattern(data)
    if len(paths) == 1 and (data == STANDARD_INPUT or is_store(data)):
        if wanted:
            raise ValueError(f"--store is for files, and {name_of(data)} is none.")
        return None
    # The estimate first: it imports what reads the files, which is then part of what is used.
    needed = memory_to_train(matching_files(paths), table)
    available = available_memory()
    too_large = needed > available
    if not wanted and not too_large:
        return None
    if folder is None and is_address(data):
        raise ValueError(f"{data} is not on this machine: name the folder for its store by --store-dir.")
    if folder is not None and not folder.is_dir():
        raise ValueError(f"--store-dir {folder}: there is no such folder.")
    path = (folder or Path(data).parent) / f"{_common_name(paths)}.store"
    if too_large:
        about = f"{data} takes about {gigabytes(needed)} in memory, and {gigabytes(available)} are available"
        if not wanted and (needs_arrays or not machine._takes_collections):
            typer.echo(f"{about}: the training may end for lack of memory. {ADVICE}", err=True)
            return None
        typer.echo(f"{about}: it is written to {path}, and the model is trained from there.", err=True)
    try:
        return read_blocks(list(paths), target=target, zero_based=zero_based, table=table).store(path)
    except OSError as error:
        if error.errno in NO_ROOM and error.strerror:
            error.strerror += ", by --store-dir"
        raise


def learns_from_blocks(machine: Any, rows: Any) -> bool:
    """Whether a model is trained from the blocks of a store: the arrays would not fit, and it can.

    Where memory is too little all the same, that is said now: the system may end the process.
    """
    from maxmargin.data.block_source import is_block_source
    from maxmargin.data.memory import MemoryWarning, available_memory, gigabytes
    from maxmargin.files.file_blocks import NUMBERS_PER_ROW

    if not is_block_source(rows):
        return False
    needed, available = rows.n_bytes + 8 * NUMBERS_PER_ROW * rows.X.shape[0], available_memory()
    if needed <= SHARE_OF_MEMORY * available:
        return False
    if _takes_blocks(machine, rows):
        from maxmargin.engine.disk import lack_of_memory

        lacking = lack_of_memory(rows, machine._n_threads())
        if lacking:
            typer.echo(f"{options_as_typed(lacking)} The training may end for lack of memory.", err=True)
            # Once is enough.
            warnings.simplefilter("ignore", MemoryWarning)
        return True
    if needed > available:
        typer.echo(
            f"{rows.folder} takes about {gigabytes(needed)} in memory, and {gigabytes(available)} are available: the "
            f"training is slow, or ends for lack of memory. {ADVICE}",
            err=True,
        )
    return False


def _takes_blocks(machine: Any, rows: Any) -> bool:
    """Whether a model, with its parameters, learns from blocks; else it takes arrays that are mapped into memory."""
    try:
        machine._check_collections(rows)
    except (TypeError, ValueError):
        return False
    return True


def as_arrays(rows: Any) -> Any:
    """Rows whose X is no longer that of the store."""
    from maxmargin.files import DataFile

    return DataFile(rows.X, rows.y, rows.names, rows.preparation, rows.ids, rows.weights)


def with_targets(rows: Any, values: bool) -> Any:
    """Rows with labels as integers where they are whole, or with values as they are."""
    from maxmargin.files.data_file import as_labels

    return rows if values else replace(rows, y=as_labels(rows.y))


def file_of(rows: Any, paths: list[str]) -> str:
    """The file that the rows come from: of several files, the store."""
    from maxmargin.files.file_blocks import is_pattern

    return str(rows.folder) if len(paths) > 1 or is_pattern(paths[0]) else paths[0]


def _common_name(paths: list[str]) -> str:
    """The name of one file, or what the names of several have in common."""
    names = [Path(path).name.replace("*", "").replace("?", "") for path in paths]
    return names[0] if len(names) == 1 else _prefix(names).rstrip("-_.0123456789") or "rows"


def _prefix(names: list[str]) -> str:
    pairs = zip(min(names), max(names), strict=False)
    return "".join(one for one, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
