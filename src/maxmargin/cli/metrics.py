"""Numbers that ``evaluate``, ``train --metric`` and ``--threshold`` print, by scikit-learn's functions."""

import math
from collections.abc import Callable
from typing import Any

from maxmargin.cli.models import is_regression

# Metrics of --metric, with the sign that makes more better.
CLASSIFICATION = {
    "accuracy": 1, "balanced-accuracy": 1, "f1": 1, "precision": 1, "recall": 1, "roc-auc": 1, "pr-auc": 1,
    "log-loss": -1, "brier": -1,
}  # fmt: skip
REGRESSION = {"r2": 1, "rmse": -1, "mae": -1}
# Metrics that depend on the predicted labels alone, for which a threshold can be chosen.
OF_LABELS = ("accuracy", "balanced-accuracy", "f1", "precision", "recall")


def refuse_metric(name: str, machine: Any) -> None:
    """Refuse a metric that does not exist, or is not for this kind of model."""
    known = REGRESSION if is_regression(machine) else CLASSIFICATION
    if name not in known:
        raise ValueError(f"--metric {name} is none of {', '.join(known)}, which this model has.")
    if name in ("log-loss", "brier") and not hasattr(machine, "predict_proba"):
        raise ValueError(f"--metric {name} needs probabilities, which this model does not have.")


def is_better(name: str) -> int:
    """1 where more is better, -1 where less is."""
    return {**CLASSIFICATION, **REGRESSION}[name]


def metric_of(name: str, machine: Any, rows: Any) -> float:
    """A metric of a model's predictions for labelled rows."""
    found = rows.quietly(machine.predict)(rows.X)
    if is_regression(machine):
        return regression_metrics(rows.y, found)[name.replace("-", "_")]
    if name in OF_LABELS:
        return label_metric(name, machine.classes_, rows.y, found)
    values = score_metrics(machine, rows)
    key = name.replace("-", "_")
    return values.get(key, math.nan)


def label_metric(name: str, classes: Any, y: Any, found: Any) -> float:
    """A metric of predicted labels: F1, precision and recall of the second of two classes, else averaged."""
    from sklearn import metrics

    if name == "accuracy":
        return float(metrics.accuracy_score(y, found))
    if name == "balanced-accuracy":
        return float(metrics.balanced_accuracy_score(y, found))
    function = {"f1": metrics.f1_score, "precision": metrics.precision_score, "recall": metrics.recall_score}[name]
    average = {"pos_label": classes[1]} if len(classes) == 2 else {"average": "macro"}
    return float(function(y, found, zero_division=0.0, **average))


def regression_metrics(y: Any, found: Any) -> dict[str, float]:
    """R², root mean squared error, mean and largest absolute error."""
    from sklearn import metrics

    return {
        "r2": float(metrics.r2_score(y, found)) if len(y) > 1 else math.nan,
        "rmse": float(metrics.root_mean_squared_error(y, found)),
        "mae": float(metrics.mean_absolute_error(y, found)),
        "largest_error": float(metrics.max_error(y, found)),
    }


def score_metrics(machine: Any, rows: Any) -> dict[str, float]:
    """ROC AUC and PR AUC from scores; log-loss and Brier score where the model has probabilities."""
    import numpy as np
    from sklearn import metrics

    classes, y = machine.classes_, rows.y
    present = np.unique(y)
    if not np.isin(present, classes).all() or present.size < 2:
        return {}
    answer: dict[str, float] = {}
    scores = class_scores(machine, rows)
    if scores is not None and scores.ndim == 1:
        answer["roc_auc"] = float(metrics.roc_auc_score(y == classes[1], scores))
        answer["pr_auc"] = float(metrics.average_precision_score(y == classes[1], scores))
    elif scores is not None and present.size == classes.size:
        each = [metrics.roc_auc_score(y == label, scores[:, k]) for k, label in enumerate(classes)]
        answer["roc_auc"] = float(np.mean(each))
        each = [metrics.average_precision_score(y == label, scores[:, k]) for k, label in enumerate(classes)]
        answer["pr_auc"] = float(np.mean(each))
    probabilities = probabilities_of(machine, rows)
    if probabilities is not None:
        answer["log_loss"] = float(metrics.log_loss(y, probabilities, labels=classes))
        given = probabilities[:, 1] if len(classes) == 2 else probabilities
        known = {"pos_label": classes[1]} if len(classes) == 2 else {"labels": classes}
        answer["brier"] = float(metrics.brier_score_loss(y, given, **known))
    return answer


def class_scores(machine: Any, rows: Any) -> Any:
    """The decision function: one column, or one a class; None where it is by pairs of classes."""
    if getattr(machine, "decision_function_shape", "ovr") != "ovr":
        return None
    return rows.quietly(machine.decision_function)(rows.X)


def probabilities_of(machine: Any, rows: Any) -> Any:
    """Probabilities of the classes, the model's own or those of its calibration; None where it has none."""
    return rows.quietly(machine.predict_proba)(rows.X) if hasattr(machine, "predict_proba") else None


def per_class(classes: list[Any], y: Any, found: Any) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and number of rows of every class; labels are given by their places in ``classes``."""
    from sklearn import metrics

    values = metrics.precision_recall_fscore_support(y, found, labels=range(len(classes)), zero_division=0.0)
    names = ("precision", "recall", "f1", "rows")
    return {
        str(label): {
            name: int(column[k]) if name == "rows" else float(column[k])
            for name, column in zip(names, values, strict=True)
        }
        for k, label in enumerate(classes)
    }


def averages(of_classes: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Precision, recall and F1 averaged over the classes, equally and by their numbers of rows."""
    total = sum(values["rows"] for values in of_classes.values())
    names = ("precision", "recall", "f1")
    n_classes = len(of_classes)
    return {
        "macro": {name: sum(values[name] for values in of_classes.values()) / n_classes for name in names},
        "weighted": {
            name: sum(values[name] * values["rows"] for values in of_classes.values()) / max(1, total) for name in names
        },
    }


def best_threshold(metric: str, classes: Any, y: Any, scores: Any) -> tuple[float, float]:
    """The threshold of the scores for which a metric of the labels is best, and its value."""
    import numpy as np

    distinct = np.unique(scores)
    if distinct.size > MOST_THRESHOLDS:
        distinct = np.unique(np.quantile(scores, np.linspace(0.0, 1.0, MOST_THRESHOLDS)))
    middles = np.concatenate([distinct[:1], (distinct[1:] + distinct[:-1]) / 2.0])
    value: Callable[[float], float] = lambda threshold: label_metric(  # noqa: E731
        metric, classes, y, np.where(scores >= threshold, classes[1], classes[0])
    )
    best = max(middles.tolist(), key=value)
    return best, value(best)


# Thresholds that are tried.
MOST_THRESHOLDS = 400
