"""``maxmargin evaluate``: accuracy, confusion matrix and margins of a model on labelled rows."""

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.checks import labelled
from maxmargin.cli.console import Entry, report, working
from maxmargin.cli.options import JSON, DataOptions, expand_options


@expand_options
def evaluate(
    *,
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="Labelled rows in any format that train reads.")],
    given: DataOptions,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Print accuracy, confusion matrix and margins of a model on labelled rows.

    Example: maxmargin evaluate a9a.model a9a.t.svm
    """
    from maxmargin.cli.files import load_model, read_rows, takes_any_width
    from maxmargin.cli.models import is_regression, score_name, score_of

    machine = load_model(model)
    with working(f"reading {data}"):
        any_width = takes_any_width(model)
        rows = read_rows(machine, data, target=given.target, zero_based=given.zero_based, any_width=any_width)
        rows = labelled(machine, rows, data, given.target)
    with working("predicting"):
        found = rows.quietly(machine.predict)(rows.X)
        answer = _of_values(found, rows.y) if is_regression(machine) else _of_labels(machine, rows, found)
    overall = {score_name(machine): score_of(machine, found, rows.y)}
    n_rows = Entry(f"{len(found):,}", {"rows": len(found)})
    report({"model": repr(machine), "rows": n_rows, **overall, **answer}, as_json)


def _of_values(found: Any, y: Any) -> dict[str, Any]:
    import numpy as np

    errors = np.abs(found - y)
    return {
        "mean error": float(errors.mean()),
        "largest error": float(errors.max()),
    }


def _of_labels(machine: Any, rows: Any, found: Any) -> dict[str, Any]:
    import numpy as np

    answer: dict[str, Any] = {"confusion (rows: true, columns: found)": _confusion(machine.classes_, rows.y, found)}
    if not np.isin(rows.y, machine.classes_).all():
        return answer
    scores = rows.quietly(machine.decision_function)(rows.X)
    places = np.searchsorted(machine.classes_, rows.y)
    if scores.ndim == 1:
        margins = np.where(places == 1, scores, -scores)
        answer["y f(x)"] = {**_quantiles(margins), "share above 1": float((margins >= 1.0).mean())}
    elif getattr(machine, "decision_function_shape", "ovr") == "ovr":
        margins = _multiclass_margins(scores, places)
        answer["f of the true class minus the largest other"] = {
            **_quantiles(margins),
            "share above 0": float((margins > 0.0).mean()),
        }
    return answer


def _confusion(classes: Any, y: Any, found: Any) -> list[list[Any]]:
    """Confusion matrix with its labels; labels that the model does not know are included."""
    import numpy as np

    # Compared as Python values: one array type would truncate texts and decimal places.
    values = {label for array in (classes, y, found) for label in np.unique(array).tolist()}
    labels = sorted(values, key=lambda label: (isinstance(label, str), label))
    place_of = {label: place for place, label in enumerate(labels)}

    def places(array: Any) -> Any:
        distinct, inverse = np.unique(array, return_inverse=True)
        return np.array([place_of[label] for label in distinct.tolist()], dtype=np.intp)[inverse]

    table = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(table, (places(y), places(found)), 1)
    rows = ([str(label), *map(int, counts)] for label, counts in zip(labels, table, strict=True))
    return [["", *map(str, labels)], *rows]


def _multiclass_margins(scores: Any, places: Any) -> Any:
    """Score of the true class minus the largest score of another class."""
    import numpy as np

    each = np.arange(len(places))
    others = scores.copy()
    others[each, places] = -np.inf
    return scores[each, places] - others.max(axis=1)


def _quantiles(margins: Any) -> dict[str, float]:
    import numpy as np

    return {
        "smallest": float(margins.min()),
        "5 % quantile": float(np.quantile(margins, 0.05)),
        "median": float(np.median(margins)),
    }
