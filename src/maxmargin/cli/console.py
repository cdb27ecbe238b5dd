"""Output of the subcommands: reports, warnings and progress bars."""

import json
import math
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import Any

import typer
from rich.console import Console

from maxmargin.loops import compilation

# Whether lines of progress are printed where there is no terminal.
_lines_wanted: ContextVar[bool] = ContextVar("_lines_wanted", default=False)
# What a progress bar says while loops are compiled.
COMPILING = "compiling, first use only"
# Seconds between two lines of progress.
LINE_INTERVAL = 2.0
# Columns of a progress bar at most, and of the times beside it with the spaces between.
WIDEST_BAR, WIDTH_OF_TIMES = 40, 28


@contextmanager
def progress_lines(wanted: bool) -> Iterator[None]:
    """Within the block, and where standard error is no terminal, ``working`` prints lines."""
    before = _lines_wanted.set(wanted)
    try:
        yield
    finally:
        _lines_wanted.reset(before)


@contextmanager
def working(description: str, steps: int | None = None, seconds: float | None = None) -> Iterator[Callable[[], None]]:
    """Show a progress bar on standard error, with an estimate of the time left, if that is a terminal.

    Reading files and fitting models inside the block move the bar. With a number of ``steps``, each call of the yielded
    function moves it instead. A limit of ``seconds`` moves it where the work itself would take longer.
    """
    description = printable(description)
    errors = Console(stderr=True)
    if errors.is_terminal:
        shown: Any = _bar(errors, description, steps)
    else:
        shown = _lines(description, steps) if _lines_wanted.get() else nullcontext((lambda *_: None, lambda *_: None))
    with shown as (show_share, on_description):
        began = time.perf_counter()

        def on_share(share: float | None, found: str) -> None:
            if seconds is not None:
                share = min(1.0, max(share or 0.0, (time.perf_counter() - began) / seconds))
            show_share(share, found)

        if steps is not None:
            done = count(1)
            yield lambda: on_share(next(done) / steps, "")
            return
        from maxmargin.files.compression import bytes_listener
        from maxmargin.solvers.core import step_listener

        def on_bytes(read: int, size: int | None) -> None:
            on_share(None if size is None else read / size, f"{read / 1e6:.0f} MB")

        def on_compilation(begins: bool) -> None:
            on_description(COMPILING if begins else "")

        heard = bytes_listener.set(on_bytes), step_listener.set(on_share)
        compilation.listeners.append(on_compilation)
        try:
            yield lambda: None
        finally:
            bytes_listener.reset(heard[0])
            step_listener.reset(heard[1])
            compilation.listeners.remove(on_compilation)


@contextmanager
def _bar(errors: Console, description: str, steps: int | None) -> Iterator[Any]:
    """A bar with the time since the start and an estimate of the time left."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    text = (TextColumn(f"{{task.{name}}}") for name in ("description", "fields[found]"))
    bar = BarColumn(bar_width=min(WIDEST_BAR, errors.width // 4))
    columns = SpinnerColumn(), next(text), bar, TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    with Progress(*columns, next(text), console=errors, transient=True) as progress:
        task = progress.add_task(description, total=None if steps is None else 1.0, found="")

        def on_share(share: float | None, found: str) -> None:
            room = errors.width - min(WIDEST_BAR, errors.width // 4) - len(description) - WIDTH_OF_TIMES
            short = next((text for text in shorter_forms(found) if len(text) <= room), "")
            progress.update(task, completed=share or 0.0, total=None if share is None else 1.0, found=short)

        yield on_share, lambda other: progress.update(task, description=other or description)


def shorter_forms(found: str) -> tuple[str, ...]:
    """What a step has found, as it is, and without its number and its details, for narrow terminals."""
    rest = found.partition(": ")[2] or found
    return found, rest, rest.partition(", ")[0]


@contextmanager
def _lines(description: str, steps: int | None) -> Iterator[Any]:
    """Lines on standard error: the start, the share that is done every few seconds, and the end."""
    began = last = time.perf_counter()

    def line(text: str) -> None:
        typer.echo(f"{time.perf_counter() - began:8.1f} s  {description}: {text}", err=True)

    def on_share(share: float | None, found: str) -> None:
        nonlocal last
        if time.perf_counter() - last >= LINE_INTERVAL:
            last = time.perf_counter()
            line(" ".join(filter(None, ("" if share is None else f"{share:.0%}", found))))

    line("start" if steps is None else f"start, {steps} steps")
    yield on_share, lambda other: line(other) if other else None
    line("end")


@dataclass(frozen=True)
class Entry:
    """A line of a report: its text, and its entries in JSON."""

    text: str
    entries: dict[str, Any]


# Seconds of compilation that are worth a line.
LEAST_COMPILATION = 0.1


class Stopwatch:
    """Measures a piece of work, without the compilation of loops at their first use."""

    def __init__(self) -> None:
        self._began, self._compiled = time.perf_counter(), compilation.seconds()

    def seconds(self) -> float:
        """The time since the start, without compilation."""
        return max(0.0, time.perf_counter() - self._began - self.compiling())

    def compiling(self) -> float:
        """The time of compilation since the start."""
        return compilation.seconds() - self._compiled

    def entry(self, name: str) -> Entry:
        """The time with its unit; in JSON ``NAME_seconds``."""
        value = self.seconds()
        return Entry(time_text(value), {f"{name}_seconds": value})

    def compilation_entry(self) -> dict[str, Entry]:
        """A line about compilation, where it took a while."""
        value = self.compiling()
        if value < LEAST_COMPILATION:
            return {}
        return {"compiling": Entry(f"{time_text(value)}, first use only", {"compiling_seconds": value})}


# Warnings since the subcommand started.
_warned: ContextVar[Sequence[Any]] = ContextVar("_warned", default=())
# Columns of a table that are printed one by one.
MOST_COLUMNS = 30
# Certificates that are printed one by one; of more classes the worst and the median.
MOST_CERTIFICATES = 6
# Characters of a printed warning, which may contain one certificate per class.
LONGEST_WARNING = 300
# Where a warning continues with the certificates.
PROVEN = " Proven: "


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
            from maxmargin.cli.models import options_as_typed

            console = Console(stderr=True)
            for message, times in _kinds_of_warnings(warned):
                often = f" ({times} times)" if times > 1 else ""
                # What is proven stands in the report, as the certificate.
                message = options_as_typed(message.partition(PROVEN)[0])
                text = textwrap.shorten(message, LONGEST_WARNING, placeholder=" ...")
                line = printable(f"warning: {text}{often}")
                typer.echo("\n".join(_wrapped(line, console.width) if console.is_terminal else [line]), err=True)


def _kinds_of_warnings(warned: Sequence[Any]) -> list[tuple[str, int]]:
    """The first warning of every kind and their number; kinds are compared without the certificates in them."""
    kinds: dict[str, list[str]] = {}
    for warning in warned:
        message = str(warning.message)
        kinds.setdefault(message.partition(PROVEN)[0], []).append(message)
    return [(messages[0], len(messages)) for messages in kinds.values()]


def proof_entry(name: str, proof: Any, numbers: str, *, details: bool = False) -> dict[str, Entry]:
    """A certificate as text; in JSON also its fields, under the name ``numbers``.

    Of many classes the text has the worst one and the median, with ``details`` all of them.
    """
    several = isinstance(proof, Mapping) and len(proof) > MOST_CERTIFICATES
    text = _summary_of(proof) if several and not details else str(proof)
    return {name: Entry(text, {name: text, numbers: numbers_of(proof)})}


def _summary_of(proofs: Mapping[Any, Any]) -> str:
    """The worst and the median of many certificates."""
    from maxmargin.data.printed_bounds import digits_down, digits_up

    pairs = isinstance(next(iter(proofs)), tuple)
    what = f"{len(proofs)} {'pairs of classes' if pairs else 'classes, each against the rest'}"
    lines = str(proofs).splitlines()
    measures = (
        ("relative", "relative duality gap", 1, digits_up),
        ("share", "share of the largest margin", -1, digits_down),
    )
    for attribute, words, sign, shown in measures:
        if all(hasattr(one, attribute) for one in proofs.values()):
            values = [float(getattr(one, attribute)) for one in proofs.values()]
            order = sorted(range(len(values)), key=lambda k: sign * values[k])
            worst, median = order[-1], order[len(order) // 2]
            return (
                f"{what}; {words}: worst {shown(values[worst], 2)}, median {shown(values[median], 2)}\n"
                f"worst: {lines[worst]}\nall with --details"
            )
    return f"{what}; the first: {lines[0]}\nall with --details"


def numbers_of(proof: Any) -> dict[str, Any]:
    """A certificate's fields and derived numbers; of several certificates by class or pair of classes."""
    if isinstance(proof, Mapping):
        return {_name_of(label): numbers_of(one) for label, one in proof.items()}
    follow = {name: getattr(proof, name) for name in ("gap", "relative", "share") if hasattr(proof, name)}
    return {**proof.to_dict(), **follow}


def _name_of(label: Any) -> str:
    return " against ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def time_text(value: float) -> str:
    """Seconds with the unit that suits them."""
    if value < 1.0:
        return f"{1e3 * value:.3g} ms"
    if value < 600.0:
        return f"{value:.3g} s"
    return f"{value / 60.0:.3g} min" if value < 36_000.0 else f"{value / 3600.0:.3g} h"


def printable(text: str) -> str:
    """A text from a file without control characters, which could be escape sequences of a terminal."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else f"\\x{ord(sign):02x}" for sign in text)


def report(answer: dict[str, Any], as_json: bool, *, err: bool = False) -> None:
    """Print a report: one line for each entry, or one JSON object with the warnings so far.

    On a terminal lines are wrapped at words; elsewhere an entry's line stays whole, for other programs.
    """
    if as_json:
        entries: dict[str, Any] = {}
        for name, value in answer.items():
            entries |= value.entries if isinstance(value, Entry) else {json_key(name): value}
        entries["warnings"] = [message for message, _ in _kinds_of_warnings(_warned.get())]
        typer.echo(json.dumps(plain(entries), allow_nan=False), err=err)
        return
    console = Console(stderr=err)
    width = max(len(name) for name in answer)
    for name, value in answer.items():
        lines = printable(_text(value)).splitlines() or ["-"]
        if console.is_terminal:
            room = max(20, console.width - width - 2)
            if any(len(line) > room and "   " in line for line in lines):
                # A table that is too wide beside its name stands below it.
                parts = [part for line in lines for part in _wrapped(line, console.width - 2)]
                typer.echo("\n".join([name, *(f"  {part}" for part in parts)]), err=err)
                continue
            lines = [part for line in lines for part in _wrapped(line, room)]
        indent = "\n" + " " * (width + 2)
        typer.echo(f"{name:{width}}  {indent.join(lines)}", err=err)


def json_key(name: str) -> str:
    """A plain key of JSON for the name of an entry."""
    return name.replace("²", "2").replace("-", "_").replace(" ", "_").lower()


def _wrapped(line: str, width: int) -> list[str]:
    """A line in pieces of a width, broken at words; tables, whose spaces mean something, are cut by the terminal."""
    if len(line) <= width or line.startswith(" ") or "   " in line:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


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
        return table_text(value)
    return str(value)


def table_text(rows: list[list[Any]], *, left: bool = False) -> str:
    """Rows of cells as columns of text, flush right or left."""
    texts = [[printable(_text(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    side = "<" if left else ">"
    lines = ("   ".join(f"{cell:{side}{w}}" for cell, w in zip(row, widths, strict=True)) for row in texts)
    return "\n".join(line.rstrip() for line in lines)


def columns_entry(preparation: Any, *, details: bool) -> Entry:
    """The columns of a table as they were understood; of many the first ones, with ``details`` all."""
    columns = preparation.columns
    shown = columns if details or len(columns) <= MOST_COLUMNS else columns[: MOST_COLUMNS - 1]
    text = table_text(
        [["column", "understood as", "remarks"], *(list(column.describe()) for column in shown)], left=True
    )
    if len(shown) < len(columns):
        text += f"\n... and {len(columns) - len(shown):,} more, all with --details"
    return Entry(text, {"table": [dict(zip(("name", "kind", "remarks"), c.describe(), strict=True)) for c in columns]})


def plain(value: Any) -> Any:
    """Values for JSON, which has no infinities: they become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return value
