"""Data and the objective that tests of logistic regression share."""

import numpy as np


def noisy(n=200, d=4, seed=0):
    """Points that no hyperplane separates."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, d))
    return points, np.where(points @ np.arange(1, d + 1) + 3.0 * rng.standard_normal(n) > 0.3, 1, 0)


def value(w, b, points, signs, C, weights=None):
    """The objective, written as in the lecture."""
    losses = np.logaddexp(0.0, -signs * (points @ w + b))
    return 0.5 * w @ w + C * np.sum(losses if weights is None else weights * losses)
