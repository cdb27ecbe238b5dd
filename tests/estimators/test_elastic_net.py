"""The elastic net and non-negative coefficients: gaps, references, weights, formats."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as rivals
from sklearn.datasets import load_diabetes

from maxmargin import ElasticNet, Lasso, Status, certify
from maxmargin.certificates import measure_lasso_gap
from maxmargin.data import Points
from maxmargin.problems.squared_errors import LassoProblem, SquaredErrors

X, Y = load_diabetes(return_X_y=True)


def objective(model, points, targets, alpha, ratio, weights=None):
    """n times scikit-learn's objective, computed in the plainest way."""
    weights = np.ones(len(targets)) if weights is None else weights
    squares = weights @ np.square(targets - points @ model.coef_ - model.intercept_)
    penalty = ratio * np.abs(model.coef_).sum() + 0.5 * (1.0 - ratio) * np.square(model.coef_).sum()
    return 0.5 * squares + weights.sum() * alpha * penalty


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(("alpha", "ratio"), [(1e-3, 0.5), (0.01, 0.1), (0.1, 0.9), (1.0, 1.0), (100.0, 0.5)])
def test_agrees_with_scikit_learn(alpha, ratio, positive):
    ours = ElasticNet(alpha=alpha, l1_ratio=ratio, positive=positive, tol=1e-10).fit(X, Y)
    theirs = rivals.ElasticNet(alpha=alpha, l1_ratio=ratio, positive=positive, tol=1e-12, max_iter=10**5).fit(X, Y)
    assert ours.status_ is Status.SOLVED
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-3)
    proof = ours.certificate_
    assert proof.dual <= objective(theirs, X, Y, alpha, ratio) * (1 + 1e-12)
    assert objective(ours, X, Y, alpha, ratio) <= proof.primal
    assert proof.unused <= np.count_nonzero(theirs.coef_ == 0.0)
    assert certify(theirs, X, Y).relative <= 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_for_any_coefficients(seed):
    """Weak duality, and the zeros that are claimed, for coefficients that are no solution."""
    rng = np.random.default_rng(seed)
    points, targets = rng.standard_normal((25, 6)) + seed, rng.standard_normal(25)
    for positive in (False, True):
        best = ElasticNet(alpha=0.1, l1_ratio=0.6, positive=positive, tol=1e-12).fit(points, targets)
        problem = LassoProblem(SquaredErrors(Points(points), targets, None, True), 1.5, 1.0, positive)
        for size in (0.0, 0.05, 2.0):
            w = best.coef_ + size * np.abs(rng.standard_normal(6))
            proof = measure_lasso_gap(problem, w, best.intercept_)
            assert proof.dual <= best.certificate_.primal
            assert proof.unused <= np.count_nonzero(best.coef_ == 0.0)


def test_weights_are_repeated_rows_and_sparse_is_dense():
    counts = np.random.default_rng(0).integers(0, 3, len(Y))
    for model in (ElasticNet(alpha=0.01, tol=1e-11), Lasso(alpha=0.1, positive=True, tol=1e-11)):
        weighted = model.fit(X, Y, counts).coef_
        repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts)).coef_
        np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-4)
        np.testing.assert_allclose(weighted, model.fit(sp.csr_array(X), Y, counts).coef_, rtol=1e-6, atol=1e-4)


def test_wide_data_and_duplicate_columns():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((40, 300))
    points[:, 1] = points[:, 0]
    targets = points[:, 0] * 3.0 + rng.standard_normal(40)
    model = ElasticNet(alpha=0.05, l1_ratio=0.5, tol=1e-9).fit(points, targets)
    assert model.status_ is Status.SOLVED
    # The squared norm divides a coefficient evenly between two equal columns.
    assert model.coef_[0] == pytest.approx(model.coef_[1], rel=1e-6)
    assert not Lasso(alpha=0.05, positive=True).fit(points, targets).coef_.min() < 0.0


def test_refused_parameters():
    with pytest.raises(TypeError, match="did you mean 'alpha'"):
        ElasticNet(lam=1.0)
    for share in (-0.1, 1.1):
        with pytest.raises(ValueError, match="l1_ratio"):
            ElasticNet(l1_ratio=share).fit(X, Y)
