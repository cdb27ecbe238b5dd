"""A run as Python that reproduces the page's numbers, and as a CSV trace."""

import csv
import io
import math
from pprint import pformat
from typing import Any

from maxmargin import __version__, lectures
from maxmargin.lab.algorithms import ALGORITHMS
from maxmargin.lab.frames import values_of
from maxmargin.lab.runs import arguments
from maxmargin.lab.state import State


def _literal(value: Any) -> str:
    if isinstance(value, float) and math.isinf(value):
        return 'float("inf")'
    return pformat(value, width=110, compact=True)


def python_of(state: State) -> str:
    """A program that makes the same run and prints the step that is shown, and every claim of it."""
    function = ALGORITHMS[state.algorithm].function
    given = arguments(state)
    lines = [
        f'"""{ALGORITHMS[state.algorithm].title} on {len(state.points)} points, step {state.step}; made by maxmargin '
        f'{__version__}, maxmargin lab."""',
        "",
        "from itertools import islice",
        "",
        "from maxmargin.lectures import " + function,
        "",
        f"X = {_literal([list(point) for point in state.points])}",
        f"y = {_literal(list(state.labels))}",
    ]
    if "pairs" in given:
        lines.append(f"pairs = iter({_literal([tuple(pair) for pair in given.pop('pairs')])})")
        call = ["    pair=lambda alpha, margins: next(pairs, None),"]
    else:
        call = []
    call = [f"    {name}={_literal(value)}," for name, value in given.items()] + call
    lines += [
        f"steps = {function}(",
        "    X,",
        "    y,",
        *call,
        ")",
        f"for step in islice(steps, {state.step}):",
        "    print(step.number, step.reason, step.rows, *(f'{name}={value!r}' for name, value in step.values.items()))",
    ]
    if state.step:
        lines += [
            "print('w', None if step.w is None else step.w.tolist(), 'b', step.b)",
            "print('alpha', step.alpha.tolist())",
            "for claim in step.claims:",
            "    print(claim)",
        ]
    return "\n".join(lines) + "\n"


def csv_of(steps: list[lectures.Step]) -> str:
    """A line a step: number, reason, rows, w, b, values, and whether all claims hold."""
    names = list(dict.fromkeys(name for step in steps for name in values_of(step)))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["step", "reason", "points", "w1", "w2", "b", *names, "claims hold"])
    for step in steps:
        values = values_of(step)
        w = ["", ""] if step.w is None else [repr(float(value)) for value in step.w]
        points = " ".join(str(row + 1) for row in step.rows)
        numbers = [repr(float(values[name])) if name in values else "" for name in names]
        writer.writerow([step.number, step.reason, points, *w, repr(float(step.b)), *numbers, step.holds])
    return out.getvalue()
