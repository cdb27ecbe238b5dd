"""The dual objective of a fitted machine, computed from its duals alone: plain NumPy in float64, for every tool."""

from typing import Any

import numpy as np
import scipy.sparse as sp

ROWS_PER_BLOCK = 1024


def classifier_value(model: Any, X: Any, gamma: float | None) -> float:
    """The sum over all pairs of classes of sum alpha - 1/2 beta K beta.

    The duals are laid out as LIBSVM does it: support vectors class by class, a row of duals for each other class.
    """
    support, duals = np.asarray(model.support_), _dense(model.dual_coef_)
    counts = np.asarray(model.n_support_)
    if counts.size == 2:
        return _value(X[support], duals[0], np.sign(duals[0]), gamma)
    ends = np.cumsum(counts)
    total = 0.0
    for first in range(counts.size):
        for second in range(first + 1, counts.size):
            places, beta = [], []
            for own, row in ((first, second - 1), (second, first)):
                part = np.arange(ends[own] - counts[own], ends[own])
                used = part[duals[row, part] != 0.0]
                places.append(used)
                beta.append(duals[row, used])
            joined = np.concatenate(beta)
            total += _value(X[support[np.concatenate(places)]], joined, np.sign(joined), gamma)
    return total


def regression_value(model: Any, X: Any, y: np.ndarray, gamma: float | None, epsilon: float) -> float:
    """sum (y beta - epsilon |beta|) - 1/2 beta K beta."""
    support, beta = np.asarray(model.support_), _dense(model.dual_coef_)[0]
    return _value(X[support], beta, y[support], gamma) - epsilon * float(np.abs(beta).sum())


def _value(rows: Any, beta: np.ndarray, targets: np.ndarray, gamma: float | None) -> float:
    """targets·beta - 1/2 beta K beta; without gamma the kernel is linear."""
    rows = rows.astype(np.float64)
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel() if sp.issparse(rows) else np.vecdot(rows, rows)
    quadratic = 0.0
    for start in range(0, beta.size, ROWS_PER_BLOCK):
        part = slice(start, start + ROWS_PER_BLOCK)
        values = rows[part] @ rows.T
        values = values.toarray() if sp.issparse(values) else values
        if gamma is not None:
            values = np.exp(-gamma * np.maximum(squares[part, None] - 2.0 * values + squares[None, :], 0.0))
        quadratic += float(beta[part] @ (values @ beta))
    return float(targets @ beta) - 0.5 * quadratic


def _dense(duals: Any) -> np.ndarray:
    return np.atleast_2d(duals.toarray() if sp.issparse(duals) else np.asarray(duals))
