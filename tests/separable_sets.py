"""Random sets near the border of separability."""

import numpy as np
import pytest

intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def two_sided(generator, n, d, margin):
    """Points on both sides of a random hyperplane, all at least ``margin`` from it, and some exactly that far."""
    normal = generator.standard_normal(d)
    normal /= np.linalg.norm(normal)
    X = generator.standard_normal((n, d))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    distance = np.where(np.arange(n) % 3 == 0, margin, margin + np.abs(generator.standard_normal(n)))
    X += ((distance * y) - X @ normal)[:, None] * normal
    return X, y


def kind_of_set(kind, seed):
    """Sets near the border of separability."""
    generator = np.random.default_rng(seed)
    n, d = int(generator.integers(4, 40)), int(generator.integers(1, 6))
    if kind == "margin":
        return two_sided(generator, n, d, 10.0 ** generator.uniform(-5, 0))
    if kind == "noise":
        return generator.standard_normal((n, d)), np.where(generator.permutation(n) % 2 == 0, 1.0, -1.0)
    if kind == "grid":
        return generator.integers(-2, 3, size=(n, d)).astype(float), np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    if kind == "contradiction":
        X, y = two_sided(generator, n, d, 0.5)
        return np.vstack([X, X[:1]]), np.append(y, -y[0])
    if kind == "touching":
        X, y = two_sided(generator, n, d, 0.0)
        return X, y
    if kind == "repeated":
        X, y = two_sided(generator, n, d, 0.1)
        return np.vstack([X, X, X]), np.tile(y, 3)
    if kind == "wide":
        return generator.standard_normal((8, 20)), np.where(np.arange(8) % 2 == 0, 1.0, -1.0)
    X, y = two_sided(generator, n, d, 0.01)
    return np.column_stack([X, np.full(len(X), 7.0)]), y
