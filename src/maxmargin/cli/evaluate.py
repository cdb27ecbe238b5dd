"""``maxmargin evaluate``: metrics, confusion matrix and margins of a model on labelled rows."""

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.checks import labelled
from maxmargin.cli.console import Entry, printable, report, table_text, working
from maxmargin.cli.metrics import (
    OF_LABELS,
    averages,
    best_threshold,
    class_scores,
    label_metric,
    per_class,
    probabilities_of,
    regression_metrics,
    score_metrics,
)
from maxmargin.cli.models import is_outlier_detector, is_regression, model_entry, score
from maxmargin.cli.options import DETAILS, JSON, DataOptions, NewRowsOptions, expand_options

# Classes that are printed one by one; of more the worst ones.
MOST_CLASSES, FEW_CLASSES = 10, 5


@expand_options
def evaluate(
    *,
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="Labelled rows in any format that train reads.")],
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Two classes: predict the second where its score (its probability, where the model has them) is at "
            "least this."
        ),
    ] = None,
    best_for: Annotated[
        str | None,
        typer.Option("--best-threshold", help=f"Find the threshold that is best for: {', '.join(OF_LABELS)}."),
    ] = None,
    given: DataOptions,
    new: NewRowsOptions,
    as_json: Annotated[bool, JSON] = False,
    details: Annotated[bool, DETAILS] = False,
) -> None:
    """Print the metrics of a model on labelled rows, by scikit-learn's functions; confusion matrix and margins.

    Example: maxmargin evaluate a9a.model a9a.t.svm
    """
    from maxmargin.cli.files import load_model, read_rows, takes_any_width, target_of

    machine = load_model(model, data)
    with working(f"reading {data}"):
        any_width = takes_any_width(model)
        rows = read_rows(machine, data, given, new, any_width=any_width)
        rows = labelled(machine, rows, data, target_of(machine, data, given))
    answer: dict[str, Any] = {
        "model": model_entry(machine),
        "data": Entry(f"{printable(data)}: {len(rows.y):,} rows", {"data": data, "rows": len(rows.y)}),
    }
    with working("predicting"):
        if is_regression(machine):
            if threshold is not None or best_for is not None:
                raise ValueError("--threshold is for classifiers of two classes, and this model is a regression.")
            answer |= _of_values(rows.quietly(machine.predict)(rows.X), rows.y)
        elif is_outlier_detector(machine):
            if threshold is not None or best_for is not None:
                raise ValueError("--threshold is for classifiers of two classes, and this model detects outliers.")
            share = score(machine, rows)
            answer["share inside"] = Entry(f"{share:.6g}", {"share_inside": share})
        else:
            found, chosen = _labels(machine, rows, threshold, best_for)
            answer |= chosen | _of_labels(machine, rows, found, details=details)
    report(answer, as_json)


def _of_values(found: Any, y: Any) -> dict[str, Any]:
    names = {"r2": "R²", "rmse": "RMSE", "mae": "MAE", "largest_error": "largest error"}
    return {names[key]: Entry(f"{value:.6g}", {key: value}) for key, value in regression_metrics(y, found).items()}


def _labels(machine: Any, rows: Any, threshold: float | None, best_for: str | None) -> tuple[Any, dict[str, Any]]:
    """The predicted labels, and the threshold where one is given or looked for."""
    import numpy as np

    if threshold is None and best_for is None:
        return rows.quietly(machine.predict)(rows.X), {}
    option = "--threshold" if best_for is None else "--best-threshold"
    if len(machine.classes_) != 2:
        raise ValueError(f"{option} is for two classes, and the model has {len(machine.classes_)}.")
    if threshold is not None and best_for is not None:
        raise ValueError("--threshold and --best-threshold: give one of them.")
    probabilities = probabilities_of(machine, rows)
    scores = class_scores(machine, rows) if probabilities is None else probabilities[:, 1]
    what = "score" if probabilities is None else "probability"
    answer: dict[str, Any] = {}
    if best_for is not None:
        if best_for not in OF_LABELS:
            raise ValueError(f"--best-threshold {best_for} is none of {', '.join(OF_LABELS)}.")
        threshold, value = best_threshold(best_for, machine.classes_, rows.y, scores)
        text = f"{threshold:.6g} of the {what}, the best for {best_for} ({value:.6g}) on these rows"
    else:
        text = f"{threshold:.6g} of the {what}"
    answer["threshold"] = Entry(text, {"threshold": threshold, "threshold_of": what})
    return np.where(scores >= threshold, machine.classes_[1], machine.classes_[0]), answer


def _of_labels(machine: Any, rows: Any, found: Any, *, details: bool) -> dict[str, Any]:
    import numpy as np

    labels, y, predicted = _places(machine.classes_, rows.y, found)
    table = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(table, (y, predicted), 1)
    of_classes = per_class(labels, y, predicted)
    answer: dict[str, Any] = {
        "accuracy": float(np.mean(rows.y == found)),
        "balanced accuracy": label_metric("balanced-accuracy", labels, y, predicted),
    }
    names = {"roc_auc": "ROC AUC", "pr_auc": "PR AUC", "log_loss": "log-loss", "brier": "Brier score"}
    answer |= {names[k]: Entry(f"{v:.6g}", {k: v}) for k, v in score_metrics(machine, rows).items()}
    answer["classes"] = _classes_entry(of_classes, details=details)
    answer["confusion"] = _confusion_entry(labels, table, details=details)
    if not np.isin(rows.y, machine.classes_).all():
        return answer
    scores = class_scores(machine, rows)
    places = np.searchsorted(machine.classes_, rows.y)
    if scores is None:
        return answer
    if scores.ndim == 1:
        margins, name, edge = np.where(places == 1, scores, -scores), "margin", 1.0
    else:
        margins, name, edge = _multiclass_margins(scores, places), "margin", 0.0
    answer[name] = _margins_entry(margins, edge)
    return answer


def _classes_entry(of_classes: dict[str, dict[str, float]], *, details: bool) -> Entry:
    """Precision, recall and F1 of the classes; of many the worst ones, with ``details`` all."""
    shown = dict(of_classes)
    last = ""
    if len(of_classes) > MOST_CLASSES and not details:
        worst = sorted(of_classes, key=lambda label: of_classes[label]["f1"])
        shown = {label: of_classes[label] for label in worst[:FEW_CLASSES]}
        median = of_classes[worst[len(worst) // 2]]["f1"]
        last = f"\nthe {FEW_CLASSES} worst of {len(of_classes)} classes by F1 (median {median:.4f}); all with --details"
    means = averages(of_classes)
    rows = [["", "precision", "recall", "F1", "rows"]]
    rows += [
        [label, *(f"{v[k]:.4f}" for k in ("precision", "recall", "f1")), f"{v['rows']:,}"] for label, v in shown.items()
    ]
    rows += [
        [f"{kind} average", *(f"{v[k]:.4f}" for k in ("precision", "recall", "f1")), ""] for kind, v in means.items()
    ]
    return Entry(table_text(rows) + last, {"classes": of_classes, "averages": means})


def _confusion_entry(labels: list[Any], table: Any, *, details: bool) -> Entry:
    """The confusion matrix; of many classes the most frequent errors, with ``details`` the whole."""
    import numpy as np

    entries = {"confusion_matrix": {"labels": list(map(str, labels)), "counts": table.tolist()}}
    if len(labels) <= MOST_CLASSES or details:
        rows = [[str(label), *map(int, counts)] for label, counts in zip(labels, table, strict=True)]
        return Entry("rows: true, columns: predicted\n" + table_text([["", *map(str, labels)], *rows]), entries)
    errors = table - np.diag(np.diag(table))
    order = np.argsort(-errors, axis=None, kind="stable")[:FEW_CLASSES]
    pairs = [np.unravel_index(place, errors.shape) for place in order]
    rows = [["true", "predicted", "rows"]]
    rows += [[str(labels[i]), str(labels[j]), int(errors[i, j])] for i, j in pairs if errors[i, j]]
    last = f"\nthe most frequent of {int(errors.sum()):,} errors; the matrix with --details"
    return Entry(table_text(rows) + last if len(rows) > 1 else "no errors", entries)


def _margins_entry(margins: Any, edge: float) -> Entry:
    import numpy as np

    values = {
        "smallest": float(margins.min()),
        "quantile_05": float(np.quantile(margins, 0.05)),
        "median": float(np.median(margins)),
        "share_above": float((margins >= 1.0).mean() if edge else (margins > 0.0).mean()),
    }
    text = (
        f"smallest {values['smallest']:.4g}, 5 % quantile {values['quantile_05']:.4g}, "
        f"median {values['median']:.4g}; {100 * values['share_above']:.4g} % above {edge:g} "
        f"({'y f(x)' if edge else 'f of the true class minus the largest other'})"
    )
    return Entry(text, {"margins": values})


def _places(classes: Any, y: Any, found: Any) -> tuple[list[Any], Any, Any]:
    """All labels, those that the model does not know included, and the places of true and predicted labels in them."""
    import numpy as np

    # Compared as Python values: one array type would truncate texts and decimal places.
    values = {label for array in (classes, y, found) for label in np.unique(array).tolist()}
    labels = sorted(values, key=lambda label: (isinstance(label, str), label))
    place_of = {label: place for place, label in enumerate(labels)}

    def places(array: Any) -> Any:
        distinct, inverse = np.unique(array, return_inverse=True)
        return np.array([place_of[label] for label in distinct.tolist()], dtype=np.intp)[inverse]

    return labels, places(y), places(found)


def _multiclass_margins(scores: Any, places: Any) -> Any:
    """Score of the true class minus the largest score of another class."""
    import numpy as np

    each = np.arange(len(places))
    others = scores.copy()
    others[each, places] = -np.inf
    return scores[each, places] - others.max(axis=1)
