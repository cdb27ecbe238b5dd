"""``maxmargin convert``: between data formats, and between model formats."""

from pathlib import Path
from typing import Annotated

import typer

from maxmargin.cli.console import ZERO_BASED, working

STORE = ".store"


def convert(
    source: Annotated[str, typer.Argument(help="A data file, a store or a model file.")],
    output: Annotated[Path, typer.Argument(help="Data: NAME.store, or svmlight text. Models: see --to.")],
    to: Annotated[
        str | None, typer.Option(help="The model format to write: maxmargin, libsvm, liblinear or onnx.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column of a table that holds the labels.")] = None,
    zero_based: bool = ZERO_BASED,
) -> None:
    """Write data as a store (NAME.store) or as svmlight text, or a model in another format.

    Example: maxmargin convert big.svm.xz big.store
    """
    with working(f"{source} → {output}"):
        if to is not None:
            _convert_model(Path(source), output, to)
        elif output.suffix == STORE:
            _to_store(source, output, target, zero_based)
        else:
            _to_text(source, output, target, zero_based)


def _convert_model(source: Path, output: Path, to: str) -> None:
    from maxmargin.cli.files import load_model
    from maxmargin.files import save, write_liblinear_model, write_libsvm_model, write_onnx

    writers = {
        "maxmargin": save,
        "libsvm": write_libsvm_model,
        "liblinear": write_liblinear_model,
        "onnx": write_onnx,
    }
    if to not in writers:
        raise ValueError(f"--to {to} is none of {', '.join(writers)}.")
    writers[to](load_model(source), output)


def _to_store(source: str, output: Path, target: str | None, zero_based: bool) -> None:
    from maxmargin.files import read_data, store_text, write_store
    from maxmargin.files.reading import table_format

    if table_format(source) is None and target is None:
        store_text(source, output, zero_based=zero_based)
        return
    found = read_data(source, target=target, zero_based=zero_based)
    write_store(output, [(found.X, found.y)], found.names)


def _to_text(source: str, output: Path, target: str | None, zero_based: bool) -> None:
    from maxmargin.files import read_data, write_svmlight

    found = read_data(source, target=target, zero_based=zero_based)
    if found.y.dtype.kind not in "fiu":
        raise ValueError(f"{source} has labels that are text, which svmlight text cannot hold.")
    write_svmlight(output, found.X, found.y)
