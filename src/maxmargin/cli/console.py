"""What the subcommands print, and how they show that they are at work."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

ZERO_BASED = typer.Option(False, "--zero-based", help="The svmlight text counts columns from zero.")
JSON = typer.Option(False, "--json", help="Print one JSON object, for machines.")


@contextmanager
def working(description: str, steps: int | None = None) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error for what takes time; nothing where that is not a terminal.

    Files that are read and models that are fitted inside move it; or else, where the number of ``steps`` is given, each
    call of what is yielded.
    """
    errors = Console(stderr=True)
    if not errors.is_terminal:
        yield lambda: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    text = (TextColumn(f"{{task.{name}}}") for name in ("description", "fields[found]"))
    columns = SpinnerColumn(), next(text), BarColumn(), TimeElapsedColumn(), next(text)
    with Progress(*columns, console=errors, transient=True) as progress:
        task = progress.add_task(description, total=steps, found="")
        if steps is not None:
            yield lambda: progress.advance(task)
            return
        from maxmargin.files.opening import bytes_listener
        from maxmargin.solvers import step_listener

        def on_bytes(read: int, size: int | None) -> None:
            progress.update(task, completed=read, total=size, found=f"{read / 1e6:.0f} MB")

        def on_step(share: float, found: str) -> None:
            progress.update(task, completed=share, total=1.0, found=found)

        heard = bytes_listener.set(on_bytes), step_listener.set(on_step)
        try:
            yield lambda: None
        finally:
            bytes_listener.reset(heard[0])
            step_listener.reset(heard[1])


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
