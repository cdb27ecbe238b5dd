"""Newton steps of the free duals of kernel SVMs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import SVC, SVR
from maxmargin.loops.smo import Duals
from maxmargin.solvers.kernel import free_duals
from maxmargin.solvers.kernel.free_duals import FreeSteps, free_places, newton_step
from real_data import load


def never() -> bool:
    return False


def random_duals(seed: int, n: int, epsilon: float) -> tuple[np.ndarray, Duals, np.ndarray]:
    """A kernel matrix, feasible duals that are partly free, and the targets."""
    generator = np.random.default_rng(seed)
    gram = rbf_kernel(generator.normal(size=(n, 2)), gamma=generator.choice([0.01, 1.0]))
    targets = generator.normal(size=n)
    signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    # Pairs of opposite duals add up to zero.
    sizes = np.repeat(generator.choice([0.0, 0.3, 0.7, 1.0], size=n // 2), 2)
    beta = signs[: sizes.size] * sizes
    lower, upper = (-np.ones(n), np.ones(n)) if epsilon else (np.minimum(signs, 0.0), np.maximum(signs, 0.0))
    return gram, Duals(beta, targets - gram @ beta, lower, upper, epsilon), targets


def dual_value(gram: np.ndarray, beta: np.ndarray, targets: np.ndarray, epsilon: float) -> float:
    return float(beta @ targets - epsilon * np.abs(beta).sum() - 0.5 * beta @ gram @ beta)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 20), st.sampled_from([0.0, 0.1]))
def test_a_step_is_a_feasible_ascent_of_the_free_duals(seed, half, epsilon):
    gram, duals, targets = random_duals(seed, 2 * half, epsilon)
    free, before = free_places(duals), duals.beta.copy()
    value = dual_value(gram, before, targets, epsilon)
    FreeSteps(1, never).ascend(gram, duals)
    assert (duals.beta >= duals.lower).all()
    assert (duals.beta <= duals.upper).all()
    assert abs(duals.beta.sum()) < 1e-9
    fixed = np.setdiff1d(np.arange(2 * half), free)
    np.testing.assert_array_equal(duals.beta[fixed], before[fixed])
    # A dual may reach zero, where the loss has a kink, but not cross it.
    assert (duals.beta[free] * before[free] >= 0.0).all()
    np.testing.assert_allclose(duals.residuals, targets - gram @ duals.beta, atol=1e-9)
    assert dual_value(gram, duals.beta, targets, epsilon) >= value - 1e-12


def test_a_step_whose_maximiser_is_inside_the_box_solves_the_problem():
    generator = np.random.default_rng(0)
    gram, targets, beta = rbf_kernel(generator.normal(size=(12, 3))), generator.normal(size=12), np.tile([0.5, -0.5], 6)
    # The bounds of an epsilon-insensitive loss of epsilon = 0: duals may change their signs.
    duals = Duals(beta, targets - gram @ beta, np.full(12, -1e3), np.full(12, 1e3), 0.0)
    step = newton_step(gram, duals, 1, never)
    # All derivatives are equal: they are the intercept.
    assert np.ptp(targets - gram @ step.beta) < 1e-9
    assert np.ptp(duals.residuals) > 1e-3


def test_there_is_no_step_without_free_duals_or_after_a_limit():
    gram, duals, _ = random_duals(0, 10, 0.0)
    bounded = duals._replace(beta=np.where(np.arange(10) % 2 == 0, 1.0, -1.0))
    assert newton_step(gram, bounded, 1, never) is None
    large = rbf_kernel(np.random.default_rng(0).normal(size=(1100, 2)))
    many = Duals(np.tile([0.5, -0.5], 550), np.ones(1100), -np.ones(1100), np.ones(1100), 0.0)
    assert newton_step(large, many, 1, lambda: True) is None


@pytest.mark.parametrize("model", [SVC(C=1e5, gamma=0.02), SVR(C=1e4, gamma=0.05, epsilon=0.05)])
@pytest.mark.parametrize("cache_size", [200.0, 0.5])
def test_models_are_those_of_pairs_alone_within_the_gap(model, cache_size, monkeypatch):
    X, y = load("heart_scale")
    model.set_params(cache_size=cache_size)
    steps = []
    original = FreeSteps.ascend
    monkeypatch.setattr(FreeSteps, "ascend", lambda *arguments: steps.append(original(*arguments)))
    quick = model.fit(X, y).certificate_
    n_quick = np.sum(model.n_iter_)
    assert steps
    monkeypatch.setattr(free_duals, "FEWEST_STEPS", 10**9)
    monkeypatch.setattr("maxmargin.solvers.kernel.smo_full_matrix.FEWEST_STEPS", 10**9)
    slow = model.fit(X, y).certificate_
    assert max(quick.dual, slow.dual) <= min(quick.primal, slow.primal)
    assert n_quick < np.sum(model.n_iter_)
