"""Total deficits against a conic solver; distances, approximation and robustness on real data."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import LinearSVC
from maxmargin.lectures import (
    foot_point,
    is_c_approximate,
    margin_width,
    online_perceptron,
    perceptron_criterion,
    robustness,
    signed_distance,
    total_deficit,
)
from real_data import load, random_set, signs_of


def dense(name):
    X, y = load(name)
    return X.toarray(), signs_of(y)


def deficit_by_cones(Z, gamma):
    """min sum s over s >= 0, s >= gamma - Zu, ||u|| <= 1, as a second-order cone program."""
    n, d = Z.shape
    constraints = sp.block_array(
        [[-Z, -sp.eye_array(n)], [None, -sp.eye_array(n)], [sp.csr_array((1, d)), None], [-sp.eye_array(d), None]],
        format="csc",
    )
    right = np.concatenate([np.full(n, -gamma), np.zeros(n), [1.0], np.zeros(d)])
    cones = [clarabel.NonnegativeConeT(2 * n), clarabel.SecondOrderConeT(d + 1)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    cost = np.append(np.zeros(d), np.ones(n))
    return (
        clarabel.DefaultSolver(sp.csc_array((d + n, d + n)), cost, constraints, right, cones, options).solve().obj_val
    )


@pytest.mark.parametrize("name", ["heart_scale", "ionosphere_scale", "sonar_scale", "australian_scale", "leu"])
@pytest.mark.parametrize("share", [0.003, 0.1, 2.0])
def test_total_deficit_is_that_of_a_conic_solver(name, share):
    X, y = dense(name)
    if name == "leu":
        X = X[:, :200]
    Z = y[:, None] * np.column_stack([X, np.ones(len(y))])
    gamma = share * np.linalg.norm(Z, axis=1).max()
    found = total_deficit(X, y, gamma)
    assert found.gap <= 1e-6 * len(y) * gamma
    assert found.value == pytest.approx(deficit_by_cones(Z, gamma), abs=3e-6 * len(y) * gamma)
    # The certificate, from its vectors alone.
    u = np.append(found.w, found.b)
    assert np.linalg.norm(u) <= 1 + 1e-15
    assert found.value == pytest.approx(np.maximum(0, gamma - Z @ u).sum(), rel=1e-12, abs=1e-12 * gamma)
    assert found.a.min() >= 0
    assert found.a.max() <= 1
    proven = gamma * found.a.sum() - np.linalg.norm(found.a @ Z)
    assert found.lower == pytest.approx(max(0, proven), rel=1e-9, abs=1e-9 * gamma)
    steps = list(online_perceptron(X, y, order=np.arange(len(y)), reference=(found.w, found.b, gamma)))
    assert all(step.holds for step in steps)
    assert steps[-1].updates <= found.bound


@given(st.integers(0, 10**6), st.floats(1e-3, 10.0), st.booleans(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_no_hyperplane_has_a_smaller_total_deficit(seed, gamma, intercept, unit_length):
    X, y = random_set(seed, n=20, d=4, noise=0.2)
    found = total_deficit(X, y, gamma, intercept=intercept, unit_length=unit_length)
    Z = y[:, None] * (np.column_stack([X, np.ones(len(y))]) if intercept else X)
    if unit_length:
        Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    generator = np.random.default_rng(seed)
    near = np.append(found.w, found.b)[: Z.shape[1]]
    for scale in (1.0, 0.1, 0.001):
        u = near + scale * generator.standard_normal(Z.shape[1])
        u = u / max(1.0, np.linalg.norm(u))
        assert np.maximum(0, gamma - Z @ u).sum() >= found.lower - 1e-12 * gamma
    assert found.gap <= 1e-6 * len(y) * gamma


@pytest.mark.parametrize("name", ["sonar_scale", "mushrooms", "leu"])
def test_the_largest_margin_is_what_moves_may_not_exceed(name):
    X, y = dense(name)
    model = LinearSVC(C=np.inf, tol=1e-6).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    found = robustness(X, y, w, b)
    assert found.margin == pytest.approx(margin_width(w) / 2, rel=1e-5)
    assert len(found.claims) == 2
    assert all(claim.holds for claim in found.claims)
    generator = np.random.default_rng(0)
    moves = generator.standard_normal(X.shape)
    moves *= 0.999 * found.margin / np.linalg.norm(moves, axis=1, keepdims=True)
    worst = -y[:, None] * 0.999 * found.margin * w / np.linalg.norm(w)
    for move in (moves, worst):
        assert (y * ((X + move) @ w + b) > 0).all()
    assert y[found.row] * ((X[found.row] + found.move(0.999 * found.margin)) @ w + b) > 0
    assert y[found.row] * ((X[found.row] + found.move(1.001 * found.margin)) @ w + b) < 0
    assert is_c_approximate(X, y, w, b, 0.999, found.margin).holds
    assert not is_c_approximate(X, y, w, b, 1.001, found.margin).holds
    feet = foot_point(X, w, b)
    np.testing.assert_allclose(feet @ w + b, 0.0, atol=1e-9 * np.abs(X @ w).max())
    np.testing.assert_allclose(np.linalg.norm(X - feet, axis=1), np.abs(signed_distance(X, w, b)), rtol=1e-7)


def test_a_hyperplane_with_a_mistake_withstands_nothing():
    X, y = dense("heart_scale")
    found = robustness(X, y, np.ones(X.shape[1]))
    assert found.margin == 0.0
    assert [claim.relation for claim in found.claims] == ["<"]
    assert found.claims[0].holds
    for call in (
        lambda: robustness(X, y, np.zeros(13)),
        lambda: foot_point(X, np.zeros(13)),
        lambda: margin_width([0]),
    ):
        with pytest.raises(ValueError, match="w must not be zero"):
            call()
    with pytest.raises(ValueError, match="gamma must be a positive"):
        total_deficit(X, y, 0.0)


def test_the_criterion_is_zero_at_zero_where_every_row_is_a_mistake():
    X, y = dense("heart_scale")
    assert perceptron_criterion(X, y, np.zeros(13)) == 0.0
    first = next(online_perceptron(X, y))
    assert first.values["J"] == pytest.approx(perceptron_criterion(X, y, first.w, first.b))
    assert first.values["J"] > 0
