"""The dual objective of a fitted machine, computed from its duals alone: plain NumPy in float64, for every tool."""

from typing import Any

import numpy as np
import scipy.sparse as sp

ROWS_PER_BLOCK = 1024


def classifier_value(model: Any, X: Any, gamma: float) -> float:
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


def regression_value(model: Any, X: Any, y: np.ndarray, gamma: float, epsilon: float) -> float:
    """sum (y beta - epsilon |beta|) - 1/2 beta K beta."""
    support, beta = np.asarray(model.support_), _dense(model.dual_coef_)[0]
    return _value(X[support], beta, y[support], gamma) - epsilon * float(np.abs(beta).sum())


def _value(rows: Any, beta: np.ndarray, targets: np.ndarray, gamma: float) -> float:
    rows = rows.toarray() if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)
    squares = np.einsum("ij,ij->i", rows, rows)
    quadratic = 0.0
    for start in range(0, beta.size, ROWS_PER_BLOCK):
        part = slice(start, start + ROWS_PER_BLOCK)
        distances = np.maximum(squares[part, None] - 2.0 * rows[part] @ rows.T + squares[None, :], 0.0)
        quadratic += float(beta[part] @ (np.exp(-gamma * distances) @ beta))
    return float(targets @ beta) - 0.5 * quadratic


def _dense(duals: Any) -> np.ndarray:
    return np.atleast_2d(duals.toarray() if sp.issparse(duals) else np.asarray(duals))
