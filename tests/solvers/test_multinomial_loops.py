"""Losses and probabilities of several classes, against NumPy's and SciPy's functions."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from maxmargin.loops.multinomial import evaluate_classes, loss_along


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
