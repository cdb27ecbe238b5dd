"""``maxmargin separate``: are two classes linearly separable?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.checks import refuse_input_as_output, refuse_unwritable
from maxmargin.cli.console import Entry, proof_entry, report, working
from maxmargin.cli.options import JSON, ColumnOptions, DataOptions, expand_options

# Exit code of a run without a decision: --max-time ended it, or the precision of the numbers did not suffice.
UNDECIDED = 3


@expand_options
def separate(
    *,
    data: Annotated[str, typer.Argument(help="Rows of two classes, in any format that train reads.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Witness file (.npz) to write.")] = None,
    tol: Annotated[float | None, typer.Option(help="Relative width of the margin's bracket; 1: only decide.")] = None,
    max_time: Annotated[float | None, typer.Option(help="Most seconds.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Decide in rational arithmetic (small data).")] = False,
    given: DataOptions,
    columns: ColumnOptions,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Decide whether a hyperplane separates two classes.

    The witness is the hyperplane, or weights with which the convex hulls of the classes have a point in common.

    Where the run ends undecided, at --max-time or because rounding hides the answer, no witness is written and the exit
    code is 3.

    Example: maxmargin separate mushrooms.svm -o witness.npz
    """
    import maxmargin
    from maxmargin.cli.files import refuse_model_as_data
    from maxmargin.files import read_data

    refuse_model_as_data(data)
    refuse_unwritable(output)
    refuse_input_as_output(output, (data,))

    with working(f"reading {data}"):
        rows = read_data(
            data,
            target=given.target,
            zero_based=given.zero_based,
            table=columns.table(given),
            n_features=columns.n_features,
        )
    with working("deciding"):
        found = maxmargin.separate(rows.X, rows.y, tol=tol, max_time=max_time, exact=exact)
    decided = found.separable is not None
    answer: dict[str, Any] = {
        "separable": found.separable if decided else Entry(_undecided(found), {"separable": None}),
        **proof_entry("certificate", found.certificate, "proof"),
    }
    if output is not None and decided:
        _write_witness(found, output)
        answer["written"] = str(output)
    elif output is not None:
        advice = "try --exact" if found.status is maxmargin.Status.STALLED and not exact else "raise --max-time"
        answer["written"] = Entry(f"nothing: there is no witness, {advice}", {"written": None})
    report(answer, as_json)
    if not decided:
        raise typer.Exit(UNDECIDED)


def _undecided(found: Any) -> str:
    import maxmargin

    at_precision = found.status is maxmargin.Status.STALLED
    return "undecided at this precision" if at_precision else f"undecided ({found.status})"


def _write_witness(found: Any, output: Path) -> None:
    import numpy as np

    from maxmargin.files import written_atomically

    with written_atomically(output) as file:
        if found.separable:
            np.savez(file, coef=found.coef, intercept=found.intercept)
        else:
            np.savez(file, hull_weights=found.hull_weights)
