"""What a certificate of logistic regression states holds in exact arithmetic: rounding is counted on hard data, too."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LimitWarning, LogisticRegression, certify

DIGITS = 90
NEWTON_STEPS = 5


def noisy(seed, n=40, d=2):
    """Points that no hyperplane separates."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, d))
    return points, np.where(points.sum(axis=1) + 2.0 * rng.standard_normal(n) > 0.3, 1, 0)


def decimals(values):
    """The floats, exactly."""
    return np.vectorize(lambda value: Decimal(float(value)), otypes=[object])(np.asarray(values))


def solved(matrix, right):
    """Gauss' elimination of a definite matrix."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        for row in rows[k + 1 :]:
            factor = row[k] / rows[k][k]
            row[k:] = [a - factor * b for a, b in zip(row[k:], rows[k][k:], strict=True)]
    result = [Decimal(0)] * len(rows)
    for k in reversed(range(len(rows))):
        rest = sum((rows[k][j] * result[j] for j in range(k + 1, len(rows))), Decimal(0))
        result[k] = (rows[k][-1] - rest) / rows[k][k]
    return np.array(result, dtype=object)


class Exactly:
    """The objective in many digits, of points (w, b)."""

    def __init__(self, points, labels, C, fit_intercept, weights=None):
        ones = np.ones((len(labels), 1 if fit_intercept else 0))
        dense = points.toarray() if sp.issparse(points) else points
        self.rows = decimals(np.hstack([dense.astype(np.float64), ones]))
        self.signs = decimals(np.where(np.asarray(labels) == 1, 1.0, -1.0))
        self.factor = Decimal(1) if math.isinf(C) else Decimal(C)
        self.weights = decimals(np.ones(len(labels)) if weights is None else weights) * self.factor
        self.penalties = np.zeros(self.rows.shape[1], dtype=object) + Decimal(0)
        if not math.isinf(C):
            self.penalties[: dense.shape[1]] = Decimal(1)

    def value(self, point):
        losses = [(1 + (-m).exp()).ln() for m in self.signs * (self.rows @ point)]
        return (self.penalties * point * point).sum() / 2 + (self.weights * losses).sum()

    def best_from(self, point):
        """The smallest value, by Newton steps that begin at its first digits."""
        for _ in range(NEWTON_STEPS):
            others = np.array([1 / (1 + m.exp()) for m in self.signs * (self.rows @ point)], dtype=object)
            gradient = self.penalties * point - (self.weights * self.signs * others) @ self.rows
            curvatures = self.weights * others * (1 - others)
            matrix = (self.rows.T * curvatures) @ self.rows + np.diag(self.penalties)
            point = point - solved(matrix.tolist(), gradient.tolist())
        return self.value(point)


HARD = {
    "plain": lambda points: points,
    "years": lambda points: points + np.array([2000.0, 0.0]),
    "far": lambda points: points + 1e7,
    "scales": lambda points: points * [1e-8, 1e8],
    "scales, far": lambda points: points * [1e-5, 1e5] + [1.0, 1e9],
    "tiny": lambda points: points * 1e-100,
    "float32": lambda points: (points + np.array([1e4, 0.0])).astype(np.float32),
    "sparse": sp.csr_matrix,
    "sparse, far": lambda points: sp.csr_matrix(points + np.array([1e6, 0.0])),
}


@pytest.mark.parametrize("hard", HARD)
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0, math.inf])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_best_value_is_between_dual_and_primal(hard, C, fit_intercept):
    points, labels = noisy(len(hard))
    points = HARD[hard](points)
    # As near to the optimum as floats go: then the bounds are made of rounding errors alone.
    with pytest.warns(LimitWarning):
        model = LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-15, max_iter=30).fit(points, labels)
    with localcontext() as context:
        context.prec = DIGITS
        exactly = Exactly(points, labels, C, fit_intercept)
        point = decimals(np.append(model.coef_[0], model.intercept_ if fit_intercept else []))
        proof = certify(model, points, labels)
        of_model, best = exactly.value(point), exactly.best_from(point)
        assert Decimal(proof.dual) <= best <= of_model <= Decimal(proof.primal)
    # Without an intercept nothing makes up for columns far from zero.
    assert proof.relative <= 1e-4 or (hard == "far" and not fit_intercept)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [1.0, math.inf])
def test_any_coefficients_have_the_value_that_is_stated(seed, C):
    points, labels = noisy(seed)
    points = points * [1e-3, 1e3] + [5.0, 1e8]
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, size=len(labels)) / 7.0
    model = LogisticRegression(C=C).fit(points, labels, sample_weight=weights)
    model.coef_ = model.coef_ * (1.0 + rng.standard_normal(2))
    proof = certify(model, points, labels, sample_weight=weights)
    with localcontext() as context:
        context.prec = DIGITS
        exactly = Exactly(points, labels, C, True, weights)
        value = exactly.value(decimals(np.append(model.coef_[0], model.intercept_)))
        assert Decimal(proof.dual) <= value <= Decimal(proof.primal)
        assert Decimal(proof.primal) <= value * Decimal("1.001")
