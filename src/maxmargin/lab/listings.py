"""The loops of the lectures as they stand in their source, and the line that belongs to a step."""

import ast
import inspect
import textwrap
from dataclasses import dataclass
from functools import cache

from maxmargin import lectures
from maxmargin.lab.algorithms import ALGORITHMS
from maxmargin.lectures import margin_perceptrons


@dataclass(frozen=True)
class Listing:
    """The source of an algorithm's loop.

    Attributes
    ----------
    title : str
        Module and function.
    code : tuple of str
        Its lines; blank between two functions.
    places : tuple of (str, int)
        File and number of every line, as a debugger would give them; ("", 0) for a line between two functions.
    """

    title: str
    code: tuple[str, ...]
    places: tuple[tuple[str, int], ...]

    def line_of(self, fragment: str) -> int:
        """The first line that holds a fragment; -1 where the source is not there."""
        return next((number for number, line in enumerate(self.code) if fragment in line), -1)


@cache
def listing(name: str) -> Listing:
    """The listing of one of the page's algorithms."""
    algorithm = ALGORITHMS[name]
    function = getattr(lectures, algorithm.function)
    title = f"{function.__module__}.{function.__name__}"
    code: list[str] = []
    places: list[tuple[str, int]] = []
    for loop in algorithm.loops or (algorithm.function,):
        outer = getattr(margin_perceptrons, loop, None) or getattr(lectures, loop)
        try:
            lines, first = inspect.getsourcelines(outer)
        except OSError:  # an installation without source
            return Listing(title, ("# The source of the lectures is not installed.",), (("", 0),))
        kept = _loop(lines)
        if code:
            code.append("")
            places.append(("", 0))
        shown = textwrap.dedent("".join(lines[kept.start : kept.stop])).splitlines()
        code += [line.partition("  # fmt:")[0] for line in shown]
        places += [(inspect.getfile(outer), first + number) for number in kept]
    return Listing(title, tuple(code), tuple(places))


def _loop(lines: list[str]) -> range:
    """The lines of the generator ``run`` inside a function, or, where there is none, of its body without docstring."""
    [outer] = ast.parse(textwrap.dedent("".join(lines))).body
    assert isinstance(outer, ast.FunctionDef)
    for inner in outer.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "run" and inner.end_lineno:
            return range(inner.lineno - 1, inner.end_lineno)
    first = outer.body[1] if ast.get_docstring(outer) else outer.body[0]
    return range(first.lineno - 1, outer.end_lineno or len(lines))


@cache
def line_of(name: str, reason: str) -> int:
    """The line of the listing that made a step with this reason."""
    return listing(name).line_of(ALGORITHMS[name].lines[reason])
