"""The curves of a calibrated model as plain values of its file."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.estimators._predictors import CertifiedClassifier

if TYPE_CHECKING:
    from maxmargin.estimators._probabilities import Calibration, Folds, Isotonic, Sigmoid


def plain_calibration(calibration: "Calibration") -> dict[str, Any]:
    """The curves as plain values: the pairs A, B of sigmoids, or the points of isotonic functions; and their folds."""
    if calibration.method == "sigmoid":
        curves: list[Any] = [[curve.A, curve.B] for curve in calibration.curves]
    else:
        curves = [[curve.scores.tolist(), curve.probabilities.tolist()] for curve in calibration.curves]
    folds = {} if calibration.folds is None else {"folds": asdict(calibration.folds)}
    return {"method": calibration.method, "curves": curves, **folds}


def read_calibration(stored: Any, model: Any) -> "Calibration":
    """The inverse of :func:`plain_calibration`; ValueError where a value does not fit the model."""
    from maxmargin.estimators._probabilities import Calibration
    from maxmargin.estimators.calibration import METHODS

    # Older files, and those with fits that a limit cut short, have no folds.
    is_known = isinstance(stored, dict) and set(stored) - {"folds"} == {"method", "curves"}
    if not is_known or stored["method"] not in METHODS:
        raise ValueError("its calibration is not an object of method and curves")
    if not isinstance(model, CertifiedClassifier):
        raise ValueError("it has a calibration, and is no classifier")
    curves = stored["curves"]
    if not isinstance(curves, list) or len(curves) != len(model._classes_of_tasks()):
        raise ValueError("its calibration does not have a curve for every decision function")
    read = _sigmoid if stored["method"] == "sigmoid" else _isotonic
    folds = _read_folds(stored["folds"]) if "folds" in stored else None
    if folds is not None and folds.by_fit and not (model._scores_pairs and stored["method"] == "sigmoid"):
        raise ValueError("its calibration is not that of a fit of such a model")
    return Calibration(tuple(map(read, curves)), model._scores_pairs, folds)


def _read_folds(stored: Any) -> "Folds":
    from maxmargin.estimators._probabilities import Folds

    types = {"cv": int, "seed": int, "weighted": bool, "by_fit": bool}
    is_known = isinstance(stored, dict) and set(stored) == set(types)
    if not is_known or not all(type(stored[name]) is kind for name, kind in types.items()):
        raise ValueError("the folds of its calibration are not described")
    if stored["cv"] < 2 or stored["seed"] < 0:
        raise ValueError("the folds of its calibration are none")
    return Folds(**stored)


def _sigmoid(curve: Any) -> "Sigmoid":
    from maxmargin.estimators._probabilities import Sigmoid

    if not isinstance(curve, list) or len(curve) != 2 or not _are_finite(curve):
        raise ValueError("a sigmoid of its calibration is not two numbers")
    return Sigmoid(*curve)


def _isotonic(curve: Any) -> "Isotonic":
    from maxmargin.estimators._probabilities import Isotonic

    pair = isinstance(curve, list) and len(curve) == 2 and all(isinstance(part, list) for part in curve)
    if not pair or len(curve[0]) != len(curve[1]) or not curve[0] or not all(map(_are_finite, curve)):
        raise ValueError("a curve of its calibration is not two lists of numbers")
    scores, probabilities = map(np.array, curve)
    rises = (np.diff(scores) > 0.0).all() and (np.diff(probabilities) >= 0.0).all()
    if not rises or not (probabilities[0] >= 0.0 and probabilities[-1] <= 1.0):
        raise ValueError("a curve of its calibration does not rise from 0 to 1 at the most")
    return Isotonic(scores, probabilities)


def _are_finite(values: list[Any]) -> bool:
    return all(isinstance(value, float) for value in values) and bool(np.isfinite(values).all())
