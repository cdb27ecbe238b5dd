"""Output of the subcommands: reports, warnings and progress bars."""

import json
import math
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console


@contextmanager
def working(description: str, steps: int | None = None) -> Iterator[Callable[[], None]]:
    """Show a progress bar on standard error, if that is a terminal.

    Reading files and fitting models inside the block move the bar. With a number of ``steps``, each call of the yielded
    function moves it instead.
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
        from maxmargin.files.compression import bytes_listener
        from maxmargin.solvers.core import step_listener

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


# Warnings since the subcommand started.
_warned: ContextVar[Sequence[Any]] = ContextVar("_warned", default=())
# Characters of a printed warning, which may contain one certificate per class.
LONGEST_WARNING = 300


@contextmanager
def warnings_reported() -> Iterator[None]:
    """Collect warnings; at the end print one line for each kind on standard error, with its count."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for of_programmers in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", of_programmers)
        before = _warned.set(warned)
        try:
            yield
        finally:
            _warned.reset(before)
            for message, times in _kinds_of_warnings(warned):
                often = f" ({times} times)" if times > 1 else ""
                typer.echo(
                    f"warning: {textwrap.shorten(message, LONGEST_WARNING, placeholder=' ...')}{often}", err=True
                )


def _kinds_of_warnings(warned: Sequence[Any]) -> list[tuple[str, int]]:
    """The first warning of every kind and their number; kinds are compared without the certificates in them."""
    kinds: dict[str, list[str]] = {}
    for warning in warned:
        message = str(warning.message)
        kinds.setdefault(message.partition(" Proven: ")[0], []).append(message)
    return [(messages[0], len(messages)) for messages in kinds.values()]


@dataclass(frozen=True)
class Entry:
    """A line of a report: its text, and its entries in JSON."""

    text: str
    entries: dict[str, Any]


def proof_entry(name: str, proof: Any, numbers: str) -> dict[str, Entry]:
    """A certificate as text; in JSON also its fields, under the name ``numbers``."""
    return {name: Entry(str(proof), {name: str(proof), numbers: numbers_of(proof)})}


def numbers_of(proof: Any) -> dict[str, Any]:
    """A certificate's fields and derived numbers; of several certificates by class or pair of classes."""
    if isinstance(proof, Mapping):
        return {_name_of(label): numbers_of(one) for label, one in proof.items()}
    follow = {name: getattr(proof, name) for name in ("gap", "relative", "share") if hasattr(proof, name)}
    return {**proof.to_dict(), **follow}


def _name_of(label: Any) -> str:
    return " against ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def report(answer: dict[str, Any], as_json: bool) -> None:
    """Print a report: one line for each entry, or one JSON object with the warnings so far."""
    if as_json:
        entries: dict[str, Any] = {}
        for name, value in answer.items():
            entries |= value.entries if isinstance(value, Entry) else {name: value}
        entries["warnings"] = [message for message, _ in _kinds_of_warnings(_warned.get())]
        typer.echo(json.dumps(plain(entries), allow_nan=False))
        return
    width = max(len(name) for name in answer)
    for name, value in answer.items():
        text = _text(value)
        indent = "\n" + " " * (width + 2)
        typer.echo(f"{name:{width}}  {indent.join(text.splitlines()) or '-'}")


def _text(value: Any) -> str:
    if isinstance(value, Entry):
        return value.text
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


def plain(value: Any) -> Any:
    """Values for JSON, which has no infinities: they become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return value
