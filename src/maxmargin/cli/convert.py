"""``maxmargin convert``: convert data files or model files to other formats."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli.console import working
from maxmargin.cli.options import DataOptions, expand_options

if TYPE_CHECKING:
    from maxmargin.files import FileBlocks

STORE, ONNX = ".store", ".onnx"
MODEL_FORMATS = ("maxmargin", "libsvm", "liblinear", "onnx")
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
) -> None:
    """Write data as a store, as a table or as svmlight text, or a model in another format.

    Example: maxmargin convert big.svm.xz big.store
    """
    from maxmargin.cli.files import is_model_file
    from maxmargin.files.data_file import table_format

    if to is None and is_model_file(Path(source)):
        if output.suffix.lower() != ONNX:
            raise ValueError(f"{source} is a model: say by --to which format to write, {', '.join(MODEL_FORMATS)}.")
        to = "onnx"
    if to is not None:
        if given.target is not None or given.zero_based:
            raise ValueError("--target and --zero-based are about data, and --to about models: leave one out.")
        write = partial(_convert_model, Path(source), output, to)
    elif output.suffix.lower() == ONNX:
        raise ValueError(f"{output} would be a model, and {source} is none.")
    elif output.suffix == STORE:
        write = partial(_to_store, source, output, given.target, given.zero_based)
    elif table_format(output) is not None:
        write = partial(_to_table, source, output, given.target, given.zero_based)
    else:
        write = partial(_to_text, source, output, given.target, given.zero_based)
    with working(f"{source} → {output}"):
        write()


def _convert_model(source: Path, output: Path, to: str) -> None:
    from maxmargin.cli.files import load_model
    from maxmargin.files import save, write_liblinear_model, write_libsvm_model, write_onnx

    if to not in MODEL_FORMATS:
        raise ValueError(f"--to {to} is none of {', '.join(MODEL_FORMATS)}.")
    writers = dict(zip(MODEL_FORMATS, (save, write_libsvm_model, write_liblinear_model, write_onnx), strict=True))
    writers[to](load_model(source), output)


def _to_store(source: str, output: Path, target: str | None, zero_based: bool) -> None:
    _blocks(source, target, zero_based).write_store(output)


def _to_table(source: str, output: Path, target: str | None, zero_based: bool) -> None:
    from maxmargin.files.tables import write_table

    write_table(output, _blocks(source, target, zero_based), TARGET if target is None else target)


def _to_text(source: str, output: Path, target: str | None, zero_based: bool) -> None:
    from maxmargin.files.svmlight import write_svmlight_blocks

    write_svmlight_blocks(
        output, ((block.X, _numbers(block.y, source)) for block in _blocks(source, target, zero_based))
    )


def _blocks(source: str, target: str | None, zero_based: bool) -> "FileBlocks":
    """Blocks of rows of a file, or of all files that a pattern names."""
    from maxmargin.files import read_blocks

    return read_blocks(source, target=target, zero_based=zero_based)


def _numbers(y: Any, source: str) -> Any:
    if y.dtype.kind not in "fiub":
        raise ValueError(
            f"{source} has labels that are text, which svmlight text cannot hold: "
            "write a table (.csv or .parquet), or numbers in place of the texts first."
        )
    return y
