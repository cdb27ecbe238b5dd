"""Small data sets on which rounding hides the answer, and exact answers for them in fractions.

The oracle is a simplex method on a full tableau, written for these tests: it shares nothing with the package.
"""

from fractions import Fraction

import numpy as np

KINDS = ("columns", "parallel", "duplicates", "offset", "denormal", "huge", "rows", "integers", "plain")


def is_separable(X, y, fit_intercept=True):
    """Whether a hyperplane separates the classes, decided in fractions: y_i are +1 and -1."""
    rows = [[Fraction(value) for value in np.asarray(row).tolist()] + [Fraction(1)] * fit_intercept for row in X]
    rows = [[value if sign > 0 else -value for value in row] for row, sign in zip(rows, y, strict=True)]
    n, m = len(rows), len(rows[0]) + 1
    # Phase one of: c >= 0, sum c_i row_i = 0, sum c_i = 1. Artificial variables have the number -1.
    tableau = [[rows[i][j] for i in range(n)] + [Fraction(0)] for j in range(m - 1)] + [[Fraction(1)] * (n + 1)]
    basis = [-1] * m
    cost = [sum(line[i] for line in tableau) for i in range(n + 1)]
    while True:
        entering = next((i for i in range(n) if cost[i] > 0 and i not in basis), None)
        if entering is None:
            return cost[n] > 0
        ratios = [(tableau[j][n] / tableau[j][entering], basis[j], j) for j in range(m) if tableau[j][entering] > 0]
        leaving = min(ratios)[2]
        pivot = tableau[leaving][entering]
        tableau[leaving] = [value / pivot for value in tableau[leaving]]
        for j in range(m):
            if j != leaving and tableau[j][entering]:
                factor = tableau[j][entering]
                tableau[j] = [a - factor * b for a, b in zip(tableau[j], tableau[leaving], strict=True)]
        factor = cost[entering]
        cost = [a - factor * b for a, b in zip(cost, tableau[leaving], strict=True)]
        basis[leaving] = entering


def hostile_set(seed):
    """Rows and labels -1 and +1, of one of the kinds."""
    generator = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n, d = int(generator.integers(2, 14)), int(generator.integers(1, 5))
    X = generator.normal(size=(n, d))
    if generator.random() < 0.5:
        X = np.rint(3.0 * X)
    linear = X @ generator.normal(size=d) + generator.normal() > 0.0
    y = np.where(linear if generator.random() < 0.6 else generator.random(n) < 0.5, 1, -1)
    y[0], y[-1] = 1, -1
    if kind == "columns":
        X = X * 10.0 ** generator.integers(-15, 15, d)
        if generator.random() < 0.5:
            X = np.column_stack([y, 1e13 * generator.normal(size=n)]).astype(float)
    elif kind == "parallel":
        X = np.outer(generator.normal(size=n), np.ones(d)) + 1e-13 * X
    elif kind == "duplicates":
        X[-1] = X[0] * (1.0 + 2.0**-52 * (generator.random() < 0.5))
    elif kind == "offset":
        X = X + 4e15
    elif kind == "denormal":
        X[:, 0] *= 1e-310
        X[0] += 1.0
    elif kind == "huge":
        X = X * 1e120
        X[0] *= 1e-200
    elif kind == "rows":
        X = X * 10.0 ** generator.integers(-100, 100, n)[:, None]
    elif kind == "integers":
        X = np.rint(X * 2.0**45)
    return X, y


def squared_hull_distance(above, below):
    """The squared distance of two disjoint hulls of points with at most two coordinates, exactly."""
    sets = [[[Fraction(value) for value in row] for row in np.asarray(points).tolist()] for points in (above, below)]
    best = None
    for own, other in (sets, sets[::-1]):
        for p in own:
            for a in other:
                for b in other:
                    along = [v - u for u, v in zip(a, b, strict=True)]
                    length = sum(v * v for v in along)
                    way = sum((z - u) * v for z, u, v in zip(p, a, along, strict=True))
                    t = min(max(way / length, Fraction(0)), Fraction(1)) if length else Fraction(0)
                    square = sum((z - u - t * v) ** 2 for z, u, v in zip(p, a, along, strict=True))
                    best = square if best is None else min(best, square)
    return best
