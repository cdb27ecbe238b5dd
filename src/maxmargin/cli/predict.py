"""``maxmargin predict``: labels or values for new rows, a block at a time."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.checks import refuse_input_as_output, refuse_unwritable
from maxmargin.cli.console import plain, working
from maxmargin.cli.options import DataOptions, NewRowsOptions, expand_options


@expand_options
def predict(
    *,
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="Rows in any format that train reads; - for stdin.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Output file, else standard output.")] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Also print the values of the decision function.")] = False,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba", "--probabilities", help="Also print the probabilities of all classes, in the order of info."
        ),
    ] = False,
    std: Annotated[
        bool, typer.Option("--std", help="Also print bayesian-regression's predictive standard deviation.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(help="Also print bayesian-regression's predictive interval of this probability."),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="Column of a table that names the rows, printed first; by default the training's."),
    ] = None,
    given: DataOptions,
    new: NewRowsOptions,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line, for machines.")] = False,
) -> None:
    """Print a label (or a value) for every row; rows are read in blocks, so that memory stays bounded.

    Example: maxmargin predict a9a.model new.svm -o labels.txt
    """
    from maxmargin.cli.files import blocks_of, load_model, takes_any_width
    from maxmargin.files import written_atomically

    refuse_unwritable(output)
    refuse_input_as_output(output, (model, data))
    machine = load_model(model, data)
    also = _also(machine, scores=scores, proba=proba, std=std, interval=interval)
    any_width = takes_any_width(model)
    blocks = blocks_of(machine, data, given, new, any_width=any_width, id_column=id_column)
    with working(f"predicting {data}"), nullcontext() if output is None else written_atomically(output) as file:
        for lines in _lines(machine, blocks, also, _json_line if as_json else _plain_line):
            if file is None:
                typer.echo(lines, nl=False)
            else:
                file.write(lines.encode())


def _also(
    machine: Any, *, scores: bool, proba: bool, std: bool, interval: float | None
) -> dict[str, Callable[[Any], Any]]:
    """Additional outputs: for each name the function that computes it from rows."""
    found: dict[str, Callable[[Any], Any]] = {}
    if scores:
        if not hasattr(machine, "decision_function"):
            raise ValueError("--scores: a regression has no scores besides its values.")
        found["scores"] = lambda X: _as_columns(machine.decision_function(X))
    if proba:
        if not hasattr(machine, "predict_proba"):
            raise ValueError(
                "--proba: the model has no probabilities: train it with --calibrate sigmoid, or logistic-regression."
            )
        found["probabilities"] = machine.predict_proba
    if (std or interval is not None) and not hasattr(machine, "predictive"):
        option = "--std" if std else "--interval"
        raise ValueError(f"{option}: only bayesian-regression has predictive distributions: leave it out.")
    if std:
        found["std"] = lambda X: machine.predict(X, return_std=True)[1]
    if interval is not None:
        if not 0.0 < interval < 1.0:
            raise ValueError(f"--interval must be a probability between 0 and 1; it is {interval:g}.")
        found["interval"] = lambda X: machine.predictive_interval(X, interval)
    return found


def _as_columns(scores: Any) -> Any:
    return scores[:, None] if scores.ndim == 1 else scores


def _lines(
    machine: Any, blocks: Iterable[Any], also: dict[str, Callable[[Any], Any]], line: Callable[..., str]
) -> Iterator[str]:
    """Yield the lines of each block as one string."""
    columns = {"label": machine.predict, **also}
    for block in blocks:
        found = [block.quietly(values)(block.X).tolist() for values in columns.values()]
        names = tuple(columns) if block.ids is None else ("id", *columns)
        yield "".join(map(partial(line, names), *(found if block.ids is None else [block.ids, *found])))


def _plain_line(_names: tuple[str, ...], *found: Any) -> str:
    values = (value for one in found for value in (one if isinstance(one, list) else [one]))
    return "\t".join(map(str, values)) + "\n"


def _json_line(names: tuple[str, ...], *found: Any) -> str:
    return json.dumps(plain(dict(zip(names, found, strict=True)))) + "\n"
