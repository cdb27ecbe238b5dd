"""Solvers of the linear support vector machine, called directly."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from linear_svm_cases import CLASSIFIER_LOSSES, data_of, every_loss
from maxmargin import (
    LimitWarning,
    LinearSVC,
    Status,
    certify,
)
from maxmargin.certificates import measure_gap
from maxmargin.data import Points
from maxmargin.engine import MemoryEngine, Threads
from maxmargin.loops.coordinate import DUAL, LOWER, STEP, UPPER, best_multiple, sums_of_terms
from maxmargin.problems.best_intercept import best_intercept
from maxmargin.problems.linear_svm import LOSSES, REGRESSION_LOSSES, LinearSVMProblem, hinge
from maxmargin.solvers.core import Monitor, Result
from maxmargin.solvers.linear import coordinate_ascent as coordinate
from maxmargin.solvers.linear import newton, small_newton
from maxmargin.solvers.linear.auto import solve, suited_solver
from maxmargin.solvers.linear.options import LinearOptions
from real_data import load, random_set

BOUNDS_CHECKED = """
import warnings
import numpy as np
from maxmargin import LinearSVC
warnings.simplefilter("ignore")
generator = np.random.default_rng(0)
X, weights = generator.standard_normal((40, 3)), generator.integers(0, 2, 40).astype(float)
for selection in ("random", "cyclic", "greedy"):
    for C in (0.01, 1.0):
        for loss in ("hinge", "squared_hinge"):
            for fit_intercept in (True, False):
                model = LinearSVC(C=C, loss=loss, fit_intercept=fit_intercept, solver="coordinate", selection=selection)
                model.fit(X, X[:, 0] > X[:, 2] ** 2, sample_weight=weights)
print("done")
"""


@pytest.mark.slow
def test_no_loop_leaves_its_arrays_where_rows_have_no_weight():
    environment = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"] + "-bounds"}
    result = subprocess.run(
        [sys.executable, "-c", BOUNDS_CHECKED],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.stdout.strip() == "done", result.stderr


def test_a_run_that_stalls_is_told_with_the_gap(monkeypatch):
    def stall(run):
        run._proximal_step()
        return Status.STALLED

    monkeypatch.setattr(newton.NewtonRun, "run", stall)
    monkeypatch.setattr(small_newton, "newton_steps", lambda *_: small_newton.NO_PROGRESS)
    X, y = load("heart_scale")
    with pytest.warns(LimitWarning, match="the gap stopped shrinking above tol.*duality gap"):
        model = LinearSVC(tol=1e-12, solver="newton").fit(X, y)
    model.certificate_.check(certify(model, X, y))


@every_loss
@pytest.mark.parametrize("penalty", [0.0, 1.0, np.inf])
@pytest.mark.parametrize("C", [1e-2, 100.0])
def test_compiled_runs_find_what_the_general_newton_solver_finds(loss, penalty, C):
    X, y = data_of(loss)
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    losses = LOSSES[loss](y, weights, C) if loss in LOSSES else REGRESSION_LOSSES[loss](y, weights, C, 0.1)
    small, general = (LinearSVMProblem(Points(X), losses, penalty) for _ in range(2))
    general.points.small_rows = None
    options = LinearOptions(tol=1e-9)
    first, second = newton.solve(small, options, Monitor()), newton.solve(general, options, Monitor())
    assert first.status is second.status is Status.SOLVED
    assert first.primal == pytest.approx(second.primal, rel=2e-9)
    assert first.dual <= second.primal * (1.0 + 1e-12)
    # Calls of one outer step each, as for callbacks, go the same way.
    reports = []
    listened = newton.solve(small, options, Monitor(on_step=lambda report: bool(reports.append(report))))
    assert np.array_equal(listened.w, first.w)
    assert len(reports) >= len(first.history)


def test_a_compiled_run_that_stalls_is_continued_by_the_general_solver(monkeypatch):
    X, y = data_of("hinge")
    problem = LinearSVMProblem(Points(X), hinge(y, np.ones(len(y)), 1.0))
    monkeypatch.setattr(small_newton, "newton_steps", lambda *_: small_newton.NO_PROGRESS)
    found = newton.solve(problem, LinearOptions(tol=1e-7), Monitor())
    assert found.status is Status.SOLVED
    assert measure_gap(problem, found.w, found.intercept, found.beta).relative <= 1.1e-7


@pytest.mark.parametrize(("C", "switch_on_slow_progress"), [(1e-3, False), (10.0, True)])
def test_auto_leaves_coordinate_ascent_for_newton_steps_where_it_is_slow(C, switch_on_slow_progress):
    X, y = random_set(5, n=3000, d=100, noise=0.1)
    problem = LinearSVMProblem(Points(X), hinge(y, np.ones(len(y)), C))
    until = LinearOptions(tol=1e-7)
    assert suited_solver(problem, until) == "both"
    tried = coordinate.solve(problem, replace(until, switch_on_slow_progress=True), Monitor())
    assert (tried.status is Status.STALLED) == switch_on_slow_progress
    found = solve(problem, until, Monitor())
    assert found.status is Status.SOLVED
    assert measure_gap(problem, found.w, found.intercept, found.beta).relative <= 1.1e-7
    # What Newton steps found comes after what coordinate ascent had found, and is never worse.
    assert found.n_iter >= tried.n_iter
    primals, duals = (np.array([entry[k] for entry in found.history]) for k in (1, 2))
    assert np.all(np.diff(primals) <= 0.0)
    assert np.all(np.diff(duals) >= 0.0)
    assert (
        len(found.history) > len(tried.history) if switch_on_slow_progress else len(found.history) == len(tried.history)
    )


def test_auto_leaves_wide_sparse_rows_to_coordinate_ascent():
    def chosen(n_rows, n_columns, share):
        X = sp.random_array((n_rows, n_columns), density=share, format="csr", rng=0)
        y = np.where(np.arange(n_rows) % 2, 1.0, -1.0)
        return suited_solver(LinearSVMProblem(Points(X), hinge(y, np.ones(n_rows), 1.0), np.inf), LinearOptions())

    # A factorisation of all rows would take as long as hundreds of epochs.
    assert chosen(1000, 20_000, 0.001) == "coordinate"
    assert chosen(60, 20_000, 0.01) == "newton"
    # The same with fewer columns than rows: Newton steps only where coordinate ascent is slow.
    assert chosen(3000, 1500, 0.01) == "both"


def test_the_best_intercept_loses_least():
    generator = np.random.default_rng(0)
    for loss in CLASSIFIER_LOSSES:
        for seed in range(20):
            X, y = random_set(seed, n=30, d=2)
            weights = generator.uniform(0.1, 3.0, 30)
            problem = LinearSVMProblem(Points(X), LOSSES[loss](y.astype(float), weights, 1.0))
            scores = generator.standard_normal(30) * 3.0
            b = best_intercept(problem, scores)
            value = problem.losses(scores + b).sum()
            for other in np.concatenate([b + np.linspace(-1, 1, 21), np.linspace(-20, 20, 81)]):
                assert value <= problem.losses(scores + other).sum() * (1 + 1e-12)


def test_auto_takes_newton_steps_for_a_free_intercept_far_from_the_origin():
    X, y = random_set(3, n=3000, d=100)
    problem = LinearSVMProblem(Points(X + 1000.0), hinge(y.astype(float), np.ones(len(y)), 1.0))
    assert suited_solver(problem, LinearOptions()) == "newton"
    without = LinearSVMProblem(Points(X + 1000.0), hinge(y.astype(float), np.ones(len(y)), 1.0), np.inf)
    assert suited_solver(without, LinearOptions()) == "both"


@pytest.mark.parametrize(
    ("C", "without_intercept", "taken"), [(1e-3, True, "both"), (1.0, True, "newton"), (1e-3, False, "newton")]
)
def test_auto_takes_coordinate_ascent_where_the_penalty_is_strong(C, without_intercept, taken):
    X, y = random_set(3, n=3000, d=10)
    penalty = np.inf if without_intercept else 0.0
    problem = LinearSVMProblem(Points(X), hinge(y.astype(float), np.ones(len(y)), C), penalty)
    assert suited_solver(problem, LinearOptions()) == taken


def run_at_random_duals(loss, penalty):
    """A run of coordinate ascent that has not begun yet."""
    X, y = data_of(loss)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    losses = LOSSES[loss](y, weights, 2.0) if loss in LOSSES else REGRESSION_LOSSES[loss](y, weights, 2.0, 0.1)
    problem = LinearSVMProblem(Points(X), losses, penalty)
    beta = problem.feasible(np.random.default_rng(1).normal(size=len(y)))
    w = problem.points.combination(beta)
    best = Result(w, 0.0 if np.isinf(penalty) else float(beta.sum()) / penalty, beta)
    engine = MemoryEngine(problem, Threads(1))
    return coordinate.CoordinateRun(problem, LinearOptions(tol=1e-6), Monitor(), best, engine)


@every_loss
@pytest.mark.parametrize("penalty", [1.0, np.inf])
def test_the_best_multiple_of_the_coefficients_is_found(loss, penalty):
    run = run_at_random_duals(loss, penalty)
    problem, w, b = run.problem, run.best.w, run.best.intercept
    scores = problem.scores(w, b)

    def value(multiple):
        return problem.primal_value(multiple * w, multiple * b, multiple * scores)

    square = float(w @ w) + (penalty * b * b if b else 0.0)
    multiple = best_multiple(run.ascent, scores, square, 0.05, 60)
    assert value(multiple) <= min(map(value, np.linspace(0.0, 3.0, 3001))) * (1 + 1e-9)


@every_loss
@pytest.mark.parametrize("penalty", [1.0, np.inf])
def test_the_sum_of_the_rows_terms_is_the_duality_gap(loss, penalty):
    """Without a step, at fixed coefficients, the terms that an epoch adds up are primal minus dual value."""
    run = run_at_random_duals(loss, penalty)
    problem, (w, b, beta) = run.problem, (run.best.w, run.best.intercept, run.best.beta)
    # A step of zero on every row.
    run.ascent.state[:, STEP] = 0.0
    made = run._epochs(1.0)
    scores = problem.scores(w, b)
    gap = problem.primal_value(w, b, scores) - problem.dual_value(beta, w)
    assert made.largest == 0.0
    assert made.gap == pytest.approx(gap, rel=1e-10)


@every_loss
@pytest.mark.parametrize("penalty", [1.0, np.inf])
def test_the_sums_of_losses_and_of_dual_terms(loss, penalty):
    run = run_at_random_duals(loss, penalty)
    problem, scores = run.problem, run.problem.scores(run.best.w, run.best.intercept)
    losses, terms = sums_of_terms(run.ascent, scores, 1.5)
    assert losses == pytest.approx(problem.losses(1.5 * scores).sum(), rel=1e-12)
    assert terms == pytest.approx(problem.dual_terms(run.best.beta).sum(), rel=1e-12)


@pytest.mark.parametrize("loss", CLASSIFIER_LOSSES)
@pytest.mark.parametrize("penalty", [1.0, np.inf])
def test_over_relaxed_epochs_raise_the_dual_within_the_box(loss, penalty, monkeypatch):
    monkeypatch.setattr(coordinate, "PLAIN_EPOCHS", 0)
    monkeypatch.setattr(coordinate, "RELAXATION", 1.9)
    run = run_at_random_duals(loss, penalty)
    state, value = run.ascent.state, -np.inf
    for _ in range(20):
        assert run._epochs(1.0).largest > 0.0
        beta = state[:, DUAL]
        assert np.all((state[:, LOWER] <= beta) & (beta <= state[:, UPPER]))
        before, value = value, run.problem.dual_value(beta, run.problem.points.combination(beta))
        assert value > before
