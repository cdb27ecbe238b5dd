"""``maxmargin separate``: is there a plane between two classes?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.checks import refuse_unwritable
from maxmargin.cli.console import JSON, ZERO_BASED, Entry, proof_entry, tell, working

# The exit code where --max-time ended the search before anything was proven.
UNDECIDED = 3


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

    Where --max-time ends it undecided, no witness is written, and the exit code is 3.

    Example: maxmargin separate mushrooms.svm -o witness.npz
    """
    import maxmargin
    from maxmargin.files import read_data

    refuse_unwritable(output)

    with working(f"reading {data}"):
        rows = read_data(data, target=target, zero_based=zero_based)
    with working("deciding"):
        found = maxmargin.separate(rows.X, rows.y, tol=tol, max_time=max_time, exact=exact)
    decided = found.separable is not None
    answer: dict[str, Any] = {
        "separable": found.separable if decided else Entry(f"undecided ({found.status})", {"separable": None}),
        **proof_entry("certificate", found.certificate, "proof"),
    }
    if output is not None and decided:
        _write_witness(found, output)
        answer["written"] = str(output)
    elif output is not None:
        answer["written"] = Entry("nothing: there is no witness yet, raise --max-time", {"written": None})
    tell(answer, as_json)
    if not decided:
        raise typer.Exit(UNDECIDED)


def _write_witness(found: Any, output: Path) -> None:
    import numpy as np

    from maxmargin.files import written_atomically

    with written_atomically(output) as file:
        if found.separable:
            np.savez(file, coef=found.coef, intercept=found.intercept)
        else:
            np.savez(file, hull_weights=found.hull_weights)
