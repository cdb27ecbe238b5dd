"""The solver of the multiclass SVM of Crammer and Singer, against other solvers."""

from dataclasses import replace

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from crammer_singer_cases import FREE, NONE, blobs, certificate_of, problem_of, solve
from maxmargin.solvers.core import Monitor, Status
from maxmargin.solvers.linear import crammer_singer
from maxmargin.solvers.linear.options import LinearOptions
from real_data import load


def value_of(problem, W, b):
    return problem.primal_value(W, b, problem.scores(W, b))


def optimum(problem):
    """The smallest primal value, by an interior-point method that knows nothing of duals as flows."""
    X, codes, K = problem.points.scores(np.eye(problem.points.n_columns)), problem.codes, problem.n_classes
    n, d = X.shape
    penalty = problem.intercept_penalty if problem.has_intercept else 0.0
    squares = sp.diags_array([*np.ones(K * d), *np.full(K, penalty), *np.zeros(n)], format="csc")
    prices = np.concatenate([np.zeros(K * d + K), problem.box_bounds()])
    # f_m - f_y - xi <= -1 for every other class m, and -xi <= 0.
    rows, bounds = [], []
    for i in range(n):
        for m in range(K):
            row = np.zeros(prices.size)
            row[K * d + K + i] = -1.0
            if m != codes[i]:
                row[m * d : (m + 1) * d], row[codes[i] * d : (codes[i] + 1) * d] = X[i], -X[i]
                if problem.has_intercept:
                    row[K * d + m], row[K * d + codes[i]] = 1.0, -1.0
            rows.append(row)
            bounds.append(-1.0 if m != codes[i] else 0.0)
    options = clarabel.DefaultSettings()
    options.verbose = False
    cones = [clarabel.NonnegativeConeT(len(bounds))]
    solver = clarabel.DefaultSolver(squares, prices, sp.csc_matrix(np.array(rows)), np.array(bounds), cones, options)
    return solver.solve().obj_val


def letters(n=1500):
    X, y = load("letter.scale")
    return X[:n], np.unique(y[:n], return_inverse=True)[1]


SMALL_SETS = {
    "blobs": lambda: blobs(0),
    "separable": lambda: blobs(1, spread=0.1),
    "sparse": lambda: (sp.csr_array(np.where(np.abs(blobs(2)[0]) > 1.0, blobs(2)[0], 0.0)), blobs(2)[1]),
    "rows of zeros": lambda: (blobs(3)[0] * (np.arange(60) % 5 > 0)[:, None], blobs(3)[1]),
    "contradicting labels": lambda: (np.repeat(blobs(4, n=20)[0], 3, axis=0), np.arange(60) % 4),
    "float32": lambda: (blobs(5)[0].astype(np.float32), blobs(5)[1]),
    "far from the origin": lambda: (blobs(6, n=30)[0] + 3.0, blobs(6, n=30)[1]),
    "two classes": lambda: blobs(7, n_classes=2),
    "one row a class": lambda: blobs(8, n=4),
}  # fmt: skip


@pytest.mark.parametrize("penalty", [FREE, 0.5, NONE])
@pytest.mark.parametrize("name", SMALL_SETS)
def test_values_bracket_the_optimum_of_an_interior_point_method(name, penalty):
    X, codes = SMALL_SETS[name]()
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], codes.size, p=[0.1, 0.3, 0.3, 0.3])
    weights[: codes.max() + 1] = 1.0
    for C in (0.1, 2.0):
        problem = problem_of(X, codes, C, penalty, weights)
        point = solve(problem)
        proof = certificate_of(problem, point)
        best = optimum(problem)
        assert point.status is Status.SOLVED
        assert proof.relative <= 1.01e-6
        assert proof.dual <= best * (1.0 + 1e-7) + 1e-9
        assert proof.primal >= best * (1.0 - 1e-7) - 1e-9
        # The gap is no less than the true distance, and the distance no more than the gap.
        assert value_of(problem, point.w, point.intercept) - best <= proof.gap + 1e-7 * best


@pytest.mark.parametrize("scaling", [None, 0.5, 3.0])
def test_objective_is_that_of_liblinear(scaling):
    X, codes = letters(400)
    rival = LinearSVC(
        multi_class="crammer_singer",
        fit_intercept=scaling is not None,
        intercept_scaling=scaling or 1.0,
        C=0.3,
        tol=1e-6,
        max_iter=100_000,
    ).fit(X.toarray(), codes)
    problem = problem_of(X, codes, 0.3, NONE if scaling is None else 1.0 / scaling**2)
    b = np.broadcast_to(rival.intercept_, (problem.n_classes,))
    theirs = value_of(problem, rival.coef_, b)
    ours = certificate_of(problem, solve(problem, tol=1e-5))
    assert ours.dual <= theirs
    assert ours.primal == pytest.approx(theirs, rel=2e-5)


@pytest.mark.parametrize("penalty", [FREE, 1.0, NONE])
def test_letters_are_solved_and_the_history_agrees_with_the_certificate(penalty):
    X, codes = letters()
    problem = problem_of(X, codes, 1.0, penalty)
    point = solve(problem, tol=1e-4)
    _, primals, duals = np.array(point.history).T
    assert point.status is Status.SOLVED
    proof = certificate_of(problem, point)
    assert (primals >= proof.dual).all()
    assert (duals <= proof.primal).all()
    assert proof.primal == pytest.approx(point.primal, rel=1e-9)
    assert proof.dual == pytest.approx(point.dual, rel=1e-9)
    assert proof.outside + proof.on_margin + proof.inside + proof.misclassified == codes.size
    assert proof.kkt_violation < 0.5
    # Dense rows take the same way.
    assert solve(problem_of(X.toarray(), codes, 1.0, penalty), tol=1e-4).n_iter == pytest.approx(point.n_iter, rel=0.5)


def test_a_wide_sparse_problem():
    generator = np.random.default_rng(0)
    X = sp.random_array((300, 2000), density=0.01, rng=generator, format="csr")
    codes = generator.integers(7, size=300)
    for penalty in (FREE, NONE):
        problem = problem_of(X, codes, 10.0, penalty)
        assert certificate_of(problem, solve(problem, tol=1e-5)).relative <= 1.01e-5


@pytest.mark.parametrize("penalty", [FREE, 1.0, NONE])
def test_a_warm_start_goes_on_where_the_last_run_ended(penalty):
    problem = problem_of(*letters(800), 0.5, penalty)
    first = solve(problem, tol=1e-6)
    again = solve(problem, tol=1e-4, start=first.beta)
    assert again.n_iter <= 2
    assert again.dual == pytest.approx(first.dual, rel=1e-6)
    # Duals of another C are put into the set.
    assert solve(replace(problem, C=0.05), tol=1e-4, start=first.beta).status is Status.SOLVED


def test_limits_and_seeds():
    problem = problem_of(*letters(600))
    short = solve(problem, tol=0.0, max_iter=3)
    assert (short.status, short.n_iter) == (Status.ITERATION_LIMIT, 3)
    assert solve(problem, max_iter=0).n_iter == 0
    assert certificate_of(problem, short).relative < 1.0
    same = solve(problem, tol=0.0, max_iter=3)
    np.testing.assert_array_equal(short.w, same.w)
    np.testing.assert_array_equal(short.beta, same.beta)
    assert not np.array_equal(short.w, solve(problem, tol=0.0, max_iter=3, seed=1).w)
    assert solve(problem, tol=1e-3, selection="cyclic").status is Status.SOLVED
    with pytest.raises(ValueError, match="selection"):
        solve(problem, selection="greedy")
    late = crammer_singer.solve(problem, LinearOptions(tol=0.0), Monitor(max_time=0.05))
    assert late.status is Status.TIME_LIMIT
    asked = Monitor(on_step=lambda report: report.number > 5)
    assert crammer_singer.solve(problem, LinearOptions(tol=0.0), asked).status is Status.INTERRUPTED


def test_an_unreachable_gap_ends_the_run():
    point = solve(problem_of(*blobs(0, n=20), 1.0), tol=0.0)
    assert point.status in {Status.STALLED, Status.SOLVED}
    assert abs(point.relative_gap) < 1e-9


@pytest.mark.parametrize("penalty", [FREE, NONE])
def test_weights_are_repetitions_and_classes_without_rows_are_left_alone(penalty):
    X, codes = blobs(9, n=40)
    weights = np.random.default_rng(1).integers(0, 4, codes.size)
    weighted = solve(problem_of(X, codes, 0.5, penalty, weights, n_classes=4), tol=1e-7)
    repeated = problem_of(np.repeat(X, weights, axis=0), np.repeat(codes, weights), 0.5, penalty, n_classes=4)
    assert solve(repeated, tol=1e-7).primal == pytest.approx(weighted.primal, rel=1e-6)
    absent = problem_of(X, codes, 0.5, penalty, n_classes=6)
    assert certificate_of(absent, solve(absent)).relative <= 1.01e-6
