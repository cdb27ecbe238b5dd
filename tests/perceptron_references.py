"""The rules of the perceptrons, written from the lecture."""

import numpy as np


def augmented(X, fit_intercept):
    return np.column_stack([X, np.ones(len(X))]) if fit_intercept else X


def online_reference(X, y, passes, eta=1.0, weights=None):
    """The online perceptron: w = 0; on y w·x <= 0 take w += eta y x; end after a pass without a mistake."""
    w, alpha, mistakes = np.zeros(X.shape[1]), np.zeros(len(y)), []
    weights = np.ones(len(y)) if weights is None else weights
    for _ in range(passes):
        mistakes.append(0)
        for i in range(len(y)):
            if y[i] * (X[i] @ w) <= 0:
                w = w + eta * weights[i] * y[i] * X[i]
                alpha[i] += eta * weights[i]
                mistakes[-1] += 1
        if mistakes[-1] == 0:
            break
    return w, alpha, mistakes
