"""What comes before the first step of a kernel machine, or after the last of a decision, ends at a limit, too."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from maxmargin.data import Dataset, Points
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.kernels import RadialBasis
from maxmargin.problems.linear_svm import LinearSVMProblem, hinge
from maxmargin.problems.nu_svm import one_class
from maxmargin.solvers.core import Monitor, Options, Result, Status
from maxmargin.solvers.core.conjugate_gradients import ConjugateGradients
from maxmargin.solvers.kernel import nu_smo, smo, smo_full_matrix
from maxmargin.solvers.kernel.base import SMOOptions
from maxmargin.solvers.kernel.kernel_matrix import KernelMatrix, csr_rows
from maxmargin.solvers.linear import newton
from maxmargin.solvers.linear.newton_system import NewtonSystem
from maxmargin.solvers.linear.options import LinearOptions
from maxmargin.solvers.separability.decision import decide

X, CLASSES = make_classification(300, 6, random_state=0)
POINTS, SIGNS, KERNEL = Points(X), 2.0 * CLASSES - 1.0, RadialBasis(0.1)


def stopped_monitor():
    monitor = Monitor()
    monitor.stop_requested.set()
    return monitor


@pytest.mark.parametrize("cache_size", [200.0, 0.5])
@pytest.mark.parametrize("name", ["smo", "full matrix", "nu"])
def test_a_second_attempt_without_time_keeps_the_first_one(name, cache_size, monkeypatch):
    """In double precision the kernel values take twice as long: there may be no time for them."""
    monkeypatch.setattr("maxmargin.solvers.kernel.kernel_cache.SMALLEST_CACHE", 0.0)
    options = SMOOptions(tol=1e-3, max_iter=np.inf, cache_size=cache_size)
    if name == "nu":
        solve, problem = nu_smo.solve, one_class(POINTS, KERNEL, np.ones(300), 0.3, 1)
    else:
        solve = smo.solve if name == "smo" else smo_full_matrix.solve
        problem = KernelSVMProblem(POINTS, KERNEL, hinge(SIGNS, np.ones(300), 1.0))
    first = solve(problem, options, Monitor())
    assert first.status is Status.SOLVED
    monkeypatch.setattr(KernelMatrix, "whole", lambda *_: False)
    again = solve(problem, options, stopped_monitor(), first)
    assert again.status is Status.INTERRUPTED
    np.testing.assert_allclose(again.beta, first.beta, atol=1e-12)
    np.testing.assert_allclose(again.intercept, first.intercept)


def test_a_run_without_a_step_has_few_support_vectors():
    problem = one_class(POINTS, KERNEL, np.ones(300), 0.1, 1)
    result = nu_smo.solve(problem, SMOOptions(tol=1e-3, max_iter=np.inf), stopped_monitor())
    assert result.status is Status.INTERRUPTED
    assert np.count_nonzero(result.beta) == 30
    assert result.beta.sum() == pytest.approx(30.0)


def test_exact_decisions_end_at_a_limit():
    """Solving for weights in integers may take seconds."""
    problem = HardMarginProblem(
        Dataset(POINTS, np.where(X[:, 0] > 0, 1.0, -1.0)[np.random.default_rng(0).permutation(300)])
    )
    weights = np.full(300, 1.0 / 300.0)
    found = Result(np.zeros(6), 0.0, weights, status=Status.NOT_SEPARABLE)
    assert decide(problem, found, Options(), stopped_monitor()).status is Status.INTERRUPTED


def test_conjugate_gradients_of_an_svm_end_at_a_limit(monkeypatch):
    """Of many columns a product takes as long as a pass over the rows, and a system needs many of them."""
    monkeypatch.setattr("maxmargin.data.Points.small_rows", None)
    monkeypatch.setattr("maxmargin.solvers.linear.newton_system.LARGEST_DIRECT", 0)
    monkeypatch.setattr(NewtonSystem, "_matrix_pays", lambda *_: False)
    monkeypatch.setattr(NewtonSystem, "_rows_pay", lambda *_: False)
    step, n_steps = ConjugateGradients.step, [0]

    def counted(run):
        n_steps[0] += 1
        if n_steps[0] == 3:
            monitor.stop_requested.set()
        return step(run)

    monkeypatch.setattr(ConjugateGradients, "step", counted)
    wide, codes = make_classification(300, 60, flip_y=0.2, random_state=0)
    problem = LinearSVMProblem(Points(wide * np.geomspace(1.0, 1e2, 60)), hinge(2.0 * codes - 1.0, np.ones(300), 1.0))
    monitor = Monitor()
    result = newton.solve(problem, LinearOptions(tol=1e-9), monitor)
    assert result.status is Status.INTERRUPTED
    assert n_steps == [3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_dense_array_as_a_sparse_matrix(dtype):
    dense = np.where(np.random.default_rng(0).random(X.shape) < 0.5, X, -0.0)
    rows = np.array([5, 2, 2, 299])
    found = csr_rows(dense, rows, dtype)
    expected = sp.csr_array(dense[rows].astype(dtype))
    assert found.dtype == dtype
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
