"""Objectives of fitted models, computed from their coefficients alone."""

from typing import Any

import numpy as np
from scipy.special import logsumexp


def squared_hinge(model: Any, X: Any, y: Any) -> float:
    """The sum over all classes, with the intercept penalised."""
    scores = np.reshape(model.decision_function(X), (len(y), -1))
    labels = model.classes_ if scores.shape[1] > 1 else model.classes_[1:]
    signs = np.where(y[:, None] == labels, 1.0, -1.0)
    penalty = np.square(model.coef_).sum() + np.square(model.intercept_).sum()
    return float(0.5 * penalty + np.square(np.maximum(0.0, 1.0 - signs * scores)).sum())


def absolute_errors(model: Any, X: Any, y: Any) -> float:
    """Absolute errors, with the intercept penalised."""
    penalty = np.square(model.coef_).sum() + np.square(model.intercept_).sum()
    return float(0.5 * penalty + np.abs(y - model.predict(X)).sum())


def logistic(model: Any, X: Any, y: Any) -> float:
    """Two classes, or several jointly."""
    scores = np.reshape(model.decision_function(X), (len(y), -1))
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    codes = np.searchsorted(model.classes_, y)
    losses = logsumexp(scores, axis=1) - scores[np.arange(len(y)), codes]
    return float(0.5 * np.square(model.coef_).sum() + losses.sum())


def ridge(model: Any, X: Any, y: Any) -> float:
    """Squared errors and penalty."""
    return float(np.square(y - model.predict(X)).sum() + np.square(model.coef_).sum())


def lasso(model: Any, X: Any, y: Any) -> float:
    """scikit-learn's scaling."""
    return float(0.5 * np.square(y - model.predict(X)).mean() + np.abs(model.coef_).sum())


VALUES = {
    "LinearSVC": squared_hinge,
    "LinearSVR": absolute_errors,
    "LogisticRegression": logistic,
    "Ridge": ridge,
    "Lasso": lasso,
}
