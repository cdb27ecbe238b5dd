"""Calibration: probabilities from the scores of a classifier, fitted to scores of rows that it was not fitted to."""

from typing import Any

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.data.scikit_learn import check_is_fitted
from maxmargin.estimators._predictors import CertifiedClassifier
from maxmargin.estimators._probabilities import (
    N_FOLDS,
    Calibration,
    Isotonic,
    Sigmoid,
    by_task,
    fit_sigmoid,
    scores_on_folds,
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
    random_state : int, RandomState or None, default=0
        Chooses the folds.

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
        scores = scores_on_folds(fitted, X, labels, weights, seed_of(random_state), cv)
        assert scores is not None
        codes = np.searchsorted(model.classes_, labels)
        counts = np.ones(labels.size) if weights is None else weights
        tasks = by_task(scores, codes, counts, fitted._classes_of_tasks())
        curves = tuple(_curve(method, *rows) for rows in tasks)
    model.calibration_ = Calibration(curves, fitted._scores_pairs)
    return model


def _curve(method: str, scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> Any:
    if method == "sigmoid":
        return Sigmoid(*fit_sigmoid(scores, positive, weights))
    from sklearn.isotonic import IsotonicRegression

    found = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, positive, weights)
    return Isotonic(np.asarray(found.X_thresholds_, np.float64), np.asarray(found.y_thresholds_, np.float64))
