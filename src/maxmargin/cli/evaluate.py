"""``maxmargin evaluate``: how good a model is on labelled rows."""

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.console import JSON, ZERO_BASED, tell, working


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="Labelled rows in any format that train reads.")],
    target: Annotated[str | None, typer.Option(help="The column of a table that holds the labels.")] = None,
    zero_based: bool = ZERO_BASED,
    as_json: bool = JSON,
) -> None:
    """Print accuracy, confusion and margins of a model on labelled rows.

    Example: maxmargin evaluate a9a.model a9a.t.svm
    """
    from maxmargin.cli.files import load_model, read_rows, takes_any_width
    from maxmargin.cli.models import is_regression, score_name, score_of

    machine = load_model(model)
    with working(f"reading {data}"):
        any_width = takes_any_width(model)
        rows = read_rows(machine, data, target=target, zero_based=zero_based, any_width=any_width)
    if rows.y is None:
        raise ValueError(f"{data} has no column {target!r} with the labels.")
    with working("predicting"):
        found = rows.quietly(machine.predict)(rows.X)
        answer = _of_values(found, rows.y) if is_regression(machine) else _of_labels(machine, rows, found)
    overall = {score_name(machine): score_of(machine, found, rows.y)}
    tell({"model": repr(machine), "rows": f"{len(found):,}", **overall, **answer}, as_json)


def _of_values(found: Any, y: Any) -> dict[str, Any]:
    import numpy as np

    errors = np.abs(found - y)
    return {
        "mean error": float(errors.mean()),
        "largest error": float(errors.max()),
    }


def _of_labels(machine: Any, rows: Any, found: Any) -> dict[str, Any]:
    import numpy as np

    labels = np.unique(np.concatenate([machine.classes_.astype(found.dtype), rows.y.astype(found.dtype)]))
    table = np.zeros((labels.size, labels.size), dtype=np.int64)
    np.add.at(table, (np.searchsorted(labels, rows.y.astype(found.dtype)), np.searchsorted(labels, found)), 1)
    answer: dict[str, Any] = {
        "confusion (rows: true, columns: found)": [
            ["", *map(str, labels)],
            *([str(label), *map(int, counts)] for label, counts in zip(labels, table, strict=True)),
        ],
    }
    if len(machine.classes_) == 2 and np.isin(rows.y, machine.classes_).all():
        scores = rows.quietly(machine.decision_function)(rows.X)
        functional = np.where(rows.y == machine.classes_[1], scores, -scores)
        answer["y f(x)"] = {
            "smallest": float(functional.min()),
            "5 % quantile": float(np.quantile(functional, 0.05)),
            "median": float(np.median(functional)),
            "share above 1": float((functional >= 1.0).mean()),
        }
    return answer
