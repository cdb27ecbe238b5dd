"""``maxmargin predict``: labels for new rows, a block at a time."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.console import ZERO_BASED, working


def predict(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="Rows in any format that train reads; - for stdin.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where to write; else standard output.")] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Print the decision function's values, too.")] = False,
    target: Annotated[str | None, typer.Option(help="The column of a table that is not a feature.")] = None,
    zero_based: bool = ZERO_BASED,
) -> None:
    """Print a label for every row, in blocks of rows, so that memory stays bounded.

    Example: maxmargin predict a9a.model new.svm -o labels.txt
    """
    from maxmargin.cli.files import blocks_of, load_model, takes_any_width
    from maxmargin.files import written_atomically

    machine = load_model(model)
    if scores and not hasattr(machine, "decision_function"):
        raise ValueError("--scores: a regression has no scores besides its values.")
    any_width = takes_any_width(model)
    blocks = blocks_of(machine, data, target=target, zero_based=zero_based, any_width=any_width)
    with working(f"predicting {data}"), nullcontext() if output is None else written_atomically(output) as file:
        for lines in _lines(machine, blocks, scores):
            if file is None:
                typer.echo(lines, nl=False)
            else:
                file.write(lines.encode())


def _lines(machine: Any, blocks: Iterable[Any], scores: bool) -> Iterator[str]:
    for block in blocks:
        labels = block.quietly(machine.predict)(block.X)
        if not scores:
            yield "".join(f"{label}\n" for label in labels.tolist())
            continue
        values = block.quietly(machine.decision_function)(block.X)
        values = values[:, None] if values.ndim == 1 else values
        for label, row in zip(labels.tolist(), values.tolist(), strict=True):
            yield "\t".join([str(label), *map(repr, row)]) + "\n"
