"""Calibration: probabilities from the scores of a classifier, fitted to scores of rows that it was not fitted to."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin.data.blas import one_blas_thread
from maxmargin.data.scikit_learn import check_is_fitted
from maxmargin.estimators._predictors import CertifiedClassifier
from maxmargin.estimators._probabilities import (
    N_FOLDS,
    Calibration,
    Folds,
    Isotonic,
    Sigmoid,
    by_task,
    fit_sigmoid,
    scores_on_folds,
    was_cut,
)
from maxmargin.estimators._shared import seed_of

METHODS = ("sigmoid", "isotonic")


def calibrate(
    model: Any,
    X: Any,
    y: Any,
    *,
    method: str = "sigmoid",
    cv: int = N_FOLDS,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> Any:
    """Give a fitted classifier probabilities: the method ``predict_proba``.

    Copies of the model are fitted to all but one of ``cv`` folds and score that one; a curve from scores to
    probabilities is fitted to these scores, which no model has seen the labels of. The model itself stays as it is,
    with its certificate; the curves become its attribute ``calibration_``, which :func:`save` stores and
    :func:`maxmargin.files.write_onnx` writes. Labels are still predicted by the scores. Another ``fit`` removes them.

    Parameters
    ----------
    model : fitted classifier of this package, other than LogisticRegression
    X : array, sparse matrix or data frame of shape (n, d), or the Gram matrix
        The rows of the fit.
    y : array of labels of shape (n,)
    method : {"sigmoid", "isotonic"}, default="sigmoid"
        Platt's sigmoid 1/(1 + exp(A f + B)), or a non-decreasing function, which needs more rows, about a thousand.
    cv : int, default=5
        The number of folds.
    sample_weight : array of shape (n,), optional
        Those of the fit.
    random_state : int, RandomState or None, default=0
        Chooses the folds, and is the random state of the copies where the model has none: ``maxmargin verify`` fits the
        curves again, with the folds that the file names.

    Returns
    -------
    the model

    See Also
    --------
    sklearn.calibration.CalibratedClassifierCV : the same for every classifier, as an estimator of its own.

    References
    ----------
    Platt, "Probabilistic outputs for support vector machines and comparison to regularized likelihood methods", 1999.
    Zadrozny, Elkan, "Transforming classifier scores into accurate multiclass probability estimates", 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import LinearSVC, calibrate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = calibrate(LinearSVC().fit(scale(X), y), scale(X), y)
    >>> model.predict_proba(scale(X)[:1]).round(2)
    array([[1., 0.]])
    """
    check_is_fitted(model)
    if not isinstance(model, CertifiedClassifier):
        raise TypeError(f"calibrate needs a classifier of maxmargin; a {type(model).__name__} is none.")
    if hasattr(model, "predict_proba") and not hasattr(model, "calibration_"):
        raise ValueError(f"{type(model).__name__} has probabilities of its own: they need no calibration.")
    if method not in METHODS:
        raise ValueError(f"method must be 'sigmoid' or 'isotonic'; it is {method!r}.")
    if cv < 2:
        raise ValueError(f"cv must be at least 2; it is {cv}.")
    fitted, labels = model._as_fitted(), np.asarray(y)
    if not np.array_equal(np.unique(labels), model.classes_):
        raise ValueError("y has other classes than the model: give the rows and labels of its fit.")
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    # The bits of BLAS's sums depend on the number of its threads.
    with one_blas_thread():
        fitted._data_to_certify(X, y, sample_weight)
        folds = Folds(int(cv), seed_of(random_state), weighted=weights is not None)
        found = _fitted_curves(fitted, X, labels, weights, method, folds)
    model.calibration_ = Calibration(found.curves, fitted._scores_pairs, folds if found.is_complete else None)
    return model


@dataclass(frozen=True)
class FittedCurves:
    """Curves, the scores that each was fitted to, and whether no limit cut a fit on a fold short."""

    curves: tuple[Any, ...]
    scores: list[np.ndarray]
    is_complete: bool


def _fitted_curves(
    fitted: Any, X: Any, labels: np.ndarray, weights: np.ndarray | None, method: str, folds: Folds
) -> FittedCurves:
    copy, cut = clone(fitted), list[bool]()
    if copy.get_params(deep=False).get("random_state", 0) is None:
        copy.set_params(random_state=folds.seed)
    scores = scores_on_folds(
        copy, X, labels, weights, folds.seed, folds.cv, after_fit=lambda one: cut.append(was_cut(one))
    )
    assert scores is not None
    codes = np.unique(labels, return_inverse=True)[1]
    counts = np.ones(labels.size) if weights is None else weights
    tasks = list(by_task(scores, codes, counts, fitted._classes_of_tasks()))
    curves = tuple(_curve(method, *rows) for rows in tasks)
    return FittedCurves(curves, [rows[0] for rows in tasks], not any(cut))


def fit_again(model: Any, X: Any, y: Any, data: Any, sample_weight: Any = None) -> FittedCurves:
    """Fit the curves of a calibrated model again, to the folds that its calibration names and without a time limit.

    Parameters
    ----------
    model : calibrated classifier
        Its calibration has folds.
    X, y, sample_weight : the data of the fit
    data : LabelledPoints
        The same, checked by the model.

    Returns
    -------
    FittedCurves
    """
    fitted, folds = model._as_fitted(), model.calibration_.folds
    if "max_time" in fitted.get_params(deep=False):
        fitted.set_params(max_time=None)
    if folds.by_fit:
        tasks = fitted._tasks(data)
        rows = fitted._rows_of_sigmoids(tasks, folds.seed)
        return FittedCurves(tuple(Sigmoid(*fit_sigmoid(*part)) for part in rows), [part[0] for part in rows], True)
    weights = np.asarray(sample_weight, dtype=np.float64) if folds.weighted else None
    with one_blas_thread():
        return _fitted_curves(fitted, X, np.asarray(y), weights, model.calibration_.method, folds)


def _curve(method: str, scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> Any:
    if method == "sigmoid":
        return Sigmoid(*fit_sigmoid(scores, positive, weights))
    from sklearn.isotonic import IsotonicRegression

    found = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, positive, weights)
    return Isotonic(np.asarray(found.X_thresholds_, np.float64), np.asarray(found.y_thresholds_, np.float64))
