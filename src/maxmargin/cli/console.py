"""What the subcommands print, and how they show that they are at work."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

ZERO_BASED = typer.Option(False, "--zero-based", help="The svmlight text counts columns from zero.")
JSON = typer.Option(False, "--json", help="Print one JSON object, for machines.")


@contextmanager
def working(description: str) -> Iterator[None]:
    """Show on standard error what takes time, with a clock; nothing where that is not a terminal."""
    errors = Console(stderr=True)
    if not errors.is_terminal:
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=errors, transient=True) as progress:
        progress.add_task(description, total=None)
        yield


def tell(answer: dict[str, Any], as_json: bool) -> None:
    """Print an answer: a line an entry, or one JSON object."""
    if as_json:
        typer.echo(json.dumps({name: _plain(value) for name, value in answer.items()}, allow_nan=False))
        return
    width = max(len(name) for name in answer)
    for name, value in answer.items():
        text = value if isinstance(value, str) else _text(value)
        indent = "\n" + " " * (width + 2)
        typer.echo(f"{name:{width}}  {indent.join(text.splitlines()) or '-'}")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "\n".join(f"{name}: {_text(entry)}" for name, entry in value.items())
    if isinstance(value, list) and value and isinstance(value[0], list):
        widths = [max(len(_text(row[k])) for row in value) for k in range(len(value[0]))]
        return "\n".join("  ".join(f"{_text(cell):>{w}}" for cell, w in zip(row, widths, strict=True)) for row in value)
    return str(value)


def _plain(value: Any) -> Any:
    """JSON knows no infinities: they become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return value
