"""``maxmargin predict``: labels for new rows, a block at a time."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.checks import refuse_unwritable
from maxmargin.cli.console import ZERO_BASED, plain, working


def predict(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="Rows in any format that train reads; - for stdin.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where to write; else standard output.")] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Print the decision function's values, too.")] = False,
    target: Annotated[str | None, typer.Option(help="The column of a table that is not a feature.")] = None,
    zero_based: bool = ZERO_BASED,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line, for machines.")] = False,
) -> None:
    """Print a label for every row, in blocks of rows, so that memory stays bounded.

    Example: maxmargin predict a9a.model new.svm -o labels.txt
    """
    from maxmargin.cli.files import blocks_of, load_model, takes_any_width
    from maxmargin.files import written_atomically

    refuse_unwritable(output)
    machine = load_model(model)
    if scores and not hasattr(machine, "decision_function"):
        raise ValueError("--scores: a regression has no scores besides its values.")
    any_width = takes_any_width(model)
    blocks = blocks_of(machine, data, target=target, zero_based=zero_based, any_width=any_width)
    with working(f"predicting {data}"), nullcontext() if output is None else written_atomically(output) as file:
        for lines in _lines(machine, blocks, scores, _json_line if as_json else _plain_line):
            if file is None:
                typer.echo(lines, nl=False)
            else:
                file.write(lines.encode())


def _lines(
    machine: Any, blocks: Iterable[Any], scores: bool, line: Callable[[Any, list[float] | None], str]
) -> Iterator[str]:
    """The lines of each block, as one text."""
    for block in blocks:
        labels = block.quietly(machine.predict)(block.X).tolist()
        values: list[Any] = [None] * len(labels)
        if scores:
            found = block.quietly(machine.decision_function)(block.X)
            values = (found[:, None] if found.ndim == 1 else found).tolist()
        yield "".join(map(line, labels, values))


def _plain_line(label: Any, scores: list[float] | None) -> str:
    return "\t".join([str(label), *map(repr, scores or [])]) + "\n"


def _json_line(label: Any, scores: list[float] | None) -> str:
    return json.dumps(plain({"label": label} if scores is None else {"label": label, "scores": scores})) + "\n"
