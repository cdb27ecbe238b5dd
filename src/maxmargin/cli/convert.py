"""``maxmargin convert``: convert data files or model files to other formats."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli.checks import refuse_input_as_output
from maxmargin.cli.console import working
from maxmargin.cli.options import ColumnOptions, DataOptions, expand_options
from maxmargin.cli.writing import command_line

if TYPE_CHECKING:
    from maxmargin.files import FileBlocks

STORE, ONNX = ".store", ".onnx"
MODEL_FORMATS = ("maxmargin", "libsvm", "liblinear", "onnx")
# Opens the blocks of rows of the source.
Blocks = Callable[[], "FileBlocks"]
# Name of the target's column where the source has none.
TARGET = "target"


@expand_options
def convert(
    *,
    source: Annotated[str, typer.Argument(help="A data file, a store or a model file.")],
    output: Annotated[
        Path, typer.Argument(help="Data: NAME.store, NAME.csv, NAME.parquet, or else svmlight text. Models: see --to.")
    ],
    to: Annotated[
        str | None,
        typer.Option(
            help="The model format to write: maxmargin, libsvm, liblinear or onnx (as for NAME.onnx).",
            autocompletion=lambda: list(MODEL_FORMATS),
        ),
    ] = None,
    given: DataOptions,
    columns: ColumnOptions,
) -> None:
    """Write data as a store, as a table or as svmlight text, or a model in another format.

    Example: maxmargin convert big.svm.xz big.store
    """
    from maxmargin.cli.files import is_model_file
    from maxmargin.files.data_file import table_format

    refuse_input_as_output(output, (source,), "OUTPUT")
    if to is None and is_model_file(Path(source)):
        if output.suffix.lower() != ONNX:
            raise ValueError(f"{source} is a model: say by --to which format to write, {', '.join(MODEL_FORMATS)}.")
        to = "onnx"
    if to is not None:
        if given != DataOptions() or columns != ColumnOptions():
            raise ValueError("--to is about models, and other options are about data or columns: leave one out.")
        write = partial(_convert_model, Path(source), output, to)
    elif output.suffix.lower() == ONNX:
        raise ValueError(f"{output} would be a model, and {source} is none.")
    else:
        if columns.id is not None:
            raise ValueError("--id names rows, and the files that convert writes have no names: use --drop.")
        if columns.n_features is not None:
            raise ValueError("--n-features: convert takes the largest index for the number of columns: leave it out.")
        blocks = partial(_blocks, source, given, columns)
        if output.suffix == STORE:
            write = partial(_to_store, blocks, output)
        elif table_format(output) is not None:
            write = partial(_to_table, blocks, output, given.target)
        else:
            write = partial(_to_text, blocks, output, source)
    with working(f"{source} → {output}"):
        write()


def _convert_model(source: Path, output: Path, to: str) -> None:
    from maxmargin.cli.files import load_model
    from maxmargin.files import write_liblinear_model, write_libsvm_model, write_onnx

    if to not in MODEL_FORMATS:
        raise ValueError(f"--to {to} is none of {', '.join(MODEL_FORMATS)}.")
    if to == "maxmargin":
        _to_our_format(source, output)
        return
    writers = dict(zip(MODEL_FORMATS[1:], (write_libsvm_model, write_liblinear_model, write_onnx), strict=True))
    writers[to](load_model(source), output)


def _to_our_format(source: Path, output: Path) -> None:
    """Write a model with where it comes from; a file of our own is copied as it is, proof and all."""
    from maxmargin.cli.files import load_model, takes_any_width
    from maxmargin.files import save, written_atomically
    from maxmargin.files.provenance import provenance_of

    model = load_model(source)
    if takes_any_width(source):
        save(model, output, provenance={**provenance_of(command=command_line()), "converted": source.name})
        return
    content = source.read_bytes()
    with written_atomically(output) as file:
        file.write(content)


def _to_store(blocks: Blocks, output: Path) -> None:
    blocks().write_store(output)


def _to_table(blocks: Blocks, output: Path, target: str | None) -> None:
    from maxmargin.files.tables import write_table

    write_table(output, blocks(), TARGET if target is None else target)


def _to_text(blocks: Blocks, output: Path, source: str) -> None:
    from maxmargin.files.svmlight import write_svmlight_blocks

    write_svmlight_blocks(output, ((block.X, _numbers(block.y, source)) for block in blocks()))


def _blocks(source: str, given: DataOptions, columns: ColumnOptions) -> "FileBlocks":
    """Blocks of rows of a file, or of all files that a pattern names."""
    from maxmargin.files import TableOptions, read_blocks
    from maxmargin.files.data_file import refuse_other_formats, table_format

    table = columns.table(given)
    if table != TableOptions():
        is_table = table_format(source) is not None
        refuse_other_formats(source, is_table=is_table, target=None, table=table, zero_based=False)
    return read_blocks(source, target=given.target, zero_based=given.zero_based, table=table)


def _numbers(y: Any, source: str) -> Any:
    if y.dtype.kind not in "fiub":
        raise ValueError(
            f"{source} has labels that are text, which svmlight text cannot hold: "
            "write a table (.csv or .parquet), or numbers in place of the texts first."
        )
    return y
