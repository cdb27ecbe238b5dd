"""Multinomial logistic regression: passes against NumPy's and SciPy's functions, and the preconditioner."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from maxmargin import LogisticRegression
from maxmargin.loops.multinomial import evaluate_classes, loss_along
from maxmargin.solvers.regression import multinomial
from maxmargin.solvers.regression.multinomial import _MeanHessian, _Moments


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
def test_one_pass_gives_loss_probabilities_and_margin(scale):
    rng = np.random.default_rng(0)
    scores, b = scale * rng.standard_normal((50, 4)), rng.standard_normal(4)
    changes, codes, weights = rng.standard_normal((50, 4)), rng.integers(0, 4, 50), rng.integers(0, 3, 50).astype(float)
    probabilities, derivatives = np.empty((2, 50, 4))
    loss, smallest = evaluate_classes(scores, b, codes, weights, probabilities, derivatives)
    full, own = scores + b, (np.arange(50), codes)
    assert loss == pytest.approx(weights @ (logsumexp(full, axis=1) - full[own]), rel=1e-12)
    np.testing.assert_allclose(probabilities, softmax(full, axis=1), rtol=1e-11, atol=1e-300)
    expected = -weights[:, None] * softmax(full, axis=1)
    expected[own] += weights
    np.testing.assert_allclose(derivatives, expected, rtol=1e-10, atol=1e-14)
    others = full.copy()
    others[own] = -np.inf
    assert smallest == pytest.approx((full[own] - others.max(axis=1))[weights > 0.0].min(), rel=1e-12)
    moved = full + 0.3 * changes
    expected = weights @ (logsumexp(moved, axis=1) - moved[own])
    assert loss_along(scores, changes, 0.3, b, codes, weights) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_have_no_loss(value):
    scores, codes, weights = np.zeros((3, 3)), np.zeros(3, dtype=np.intp), np.ones(3)
    scores[1, 2] = value
    probabilities, derivatives = np.empty((2, 3, 3))
    loss, _ = evaluate_classes(scores, np.zeros(3), codes, weights, probabilities, derivatives)
    assert np.isnan(loss)
    assert np.isnan(loss_along(scores, np.zeros((3, 3)), 1.0, np.zeros(3), codes, weights))


@pytest.mark.parametrize("has_intercept", [True, False])
def test_the_preconditioner_inverts_the_mean_hessian(has_intercept):
    rng = np.random.default_rng(0)
    rows, P = rng.standard_normal((40, 3)) * [1.0, 30.0, 0.01] + [0.0, 5.0, 0.0], rng.dirichlet(np.ones(4), 40)
    counts = rng.integers(1, 4, 40).astype(float)
    of_classes = np.diag(counts @ P) - (counts[:, None] * P).T @ P
    means = counts @ rows / counts.sum() if has_intercept else np.zeros(3)
    squares, axes = np.linalg.eigh((counts[:, None] * (rows - means)).T @ (rows - means) / counts.sum())
    columns = np.hstack([rows, np.ones((40, 1))]) if has_intercept else rows
    size = columns.shape[1]
    mean = np.kron(of_classes, (counts[:, None] * columns).T @ columns / counts.sum())
    mean += np.diag(np.tile(np.arange(size) < 3, 4).astype(float))
    found = _MeanHessian(of_classes, _Moments(means, squares, axes), (4, size))
    # The same vector added to all w_k does not change the losses; a gradient has no part along such vectors.
    vector = rng.standard_normal((4, size))
    vector -= vector.mean(axis=0)
    np.testing.assert_allclose(mean @ found.solve(mean @ vector.ravel()), mean @ vector.ravel(), rtol=1e-9)


@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_conjugate_gradients_take_few_products_on_correlated_columns(shift, monkeypatch):
    products = []
    product = multinomial._hessian_product
    monkeypatch.setattr(multinomial, "_hessian_product", lambda *given: products.append(1) or product(*given))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 30)) @ rng.standard_normal((30, 30)) + shift
    y = np.argmax(X[:, :8] + 3.0 * rng.standard_normal((600, 8)), axis=1)
    model = LogisticRegression().fit(X, y)
    assert model.status_ == "solved"
    # With the diagonal as preconditioner 272, and 886 of columns far from zero.
    assert 0 < len(products) < 150
