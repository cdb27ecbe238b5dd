"""``maxmargin separate``: is there a plane between two classes?"""

from pathlib import Path
from typing import Annotated

import typer

from maxmargin.cli.console import JSON, ZERO_BASED, tell, working


def separate(
    data: Annotated[str, typer.Argument(help="Rows of two classes, in any format that train reads.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A witness file (.npz) to write.")] = None,
    tol: Annotated[float | None, typer.Option(help="The margin's relative width; 1 for the decision alone.")] = None,
    max_time: Annotated[float | None, typer.Option(help="The most seconds.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Decide in rational arithmetic (small data).")] = False,
    target: Annotated[str | None, typer.Option(help="The column of a table that holds the labels.")] = None,
    zero_based: bool = ZERO_BASED,
    as_json: bool = JSON,
) -> None:
    """Decide whether a plane separates two classes, and write the witness: the plane, or where the hulls meet.

    Example: maxmargin separate mushrooms.svm -o witness.npz
    """
    import numpy as np

    import maxmargin
    from maxmargin.files import read_data, written_atomically

    with working(f"reading {data}"):
        rows = read_data(data, target=target, zero_based=zero_based)
    with working("deciding"):
        found = maxmargin.separate(rows.X, rows.y, tol=tol, max_time=max_time, exact=exact)
    if output is not None:
        with written_atomically(output) as file:
            if found.separable:
                np.savez(file, coef=found.coef, intercept=found.intercept)
            else:
                np.savez(file, hull_weights=found.hull_weights)
    answer = {"separable": found.separable, "certificate": str(found.certificate)}
    tell({**answer, "written": str(output)} if output is not None else answer, as_json)
