"""The multiclass SVM of Crammer and Singer, against other solvers and against its own proofs."""

import math
from dataclasses import replace
from fractions import Fraction

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from maxmargin.certificates import CertificateError
from maxmargin.certificates.multiclass_gap import MulticlassGap, measure_multiclass_gap
from maxmargin.data import Points
from maxmargin.problems.crammer_singer import CrammerSingerProblem
from maxmargin.problems.dual_projection import balancing_shares, with_factors
from maxmargin.solvers.core import Monitor, Status, warm_start
from maxmargin.solvers.linear import crammer_singer
from maxmargin.solvers.linear.options import LinearOptions
from real_data import load

FREE, NONE = 0.0, math.inf


def csr(X):
    """With short indices, as from a user: slices have long ones, for which the loops would be compiled again."""
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)


def problem_of(X, codes, C=1.0, penalty=FREE, weights=None, n_classes=None):
    matrix = csr(X) if sp.issparse(X) else np.ascontiguousarray(X)
    codes = np.asarray(codes)
    weights = np.ones(codes.size) if weights is None else np.asarray(weights, dtype=float)
    return CrammerSingerProblem(Points(matrix), codes, weights, n_classes or int(codes.max()) + 1, C, penalty)


def solve(problem, tol=1e-6, start=None, **options):
    return crammer_singer.solve(
        problem,
        LinearOptions(tol=tol, **options),
        Monitor(max_time=120.0),
        start if start is None else warm_start(start),
    )


def certificate_of(problem, point):
    return measure_multiclass_gap(problem, point.w, point.intercept, point.beta)


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


def blobs(seed, n=60, d=5, n_classes=4, spread=1.5):
    generator = np.random.default_rng(seed)
    codes = generator.integers(n_classes, size=n)
    codes[:n_classes] = np.arange(n_classes)
    return generator.standard_normal((n_classes, d))[codes] + spread * generator.standard_normal((n, d)), codes


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
def test_letters_are_solved_and_the_history_never_crosses(penalty):
    X, codes = letters()
    problem = problem_of(X, codes, 1.0, penalty)
    point = solve(problem, tol=1e-4)
    seconds, primals, duals = np.array(point.history).T
    assert point.status is Status.SOLVED
    assert (np.diff(seconds) >= 0.0).all()
    assert (np.diff(primals) <= 0.0).all()
    assert (np.diff(duals) >= 0.0).all()
    assert primals[-1] >= duals[-1]
    proof = certificate_of(problem, point)
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


def test_a_certificate_is_refused_where_it_claims_too_much():
    for penalty in (FREE, 2.0, NONE):
        problem = problem_of(*blobs(0), 1.0, penalty)
        point = solve(problem, tol=1e-8)
        proof = certificate_of(problem, point)
        proof.check(certificate_of(problem, point))
        generator = np.random.default_rng(0)
        worse_W = point.w + 0.01 * generator.standard_normal(point.w.shape)
        worse_B = point.beta * generator.uniform(0.9, 1.0, (len(point.beta), 1))
        for W, B in ((worse_W, point.beta), (point.w, worse_B), (0.9 * point.w, 0.9 * point.beta)):
            worse = measure_multiclass_gap(problem, W, point.intercept, B)
            assert worse.dual <= proof.dual * (1.0 + 1e-12) or worse.primal >= proof.primal
            with pytest.raises(CertificateError):
                proof.check(worse)
        # Duals far outside the set prove no more than the optimum.
        wild = measure_multiclass_gap(
            problem, point.w, point.intercept, 100.0 * generator.standard_normal(point.beta.shape)
        )
        assert wild.dual <= proof.primal
        with pytest.raises(CertificateError):
            replace(proof, dual=2.0 * proof.primal)
        with pytest.raises(CertificateError):
            replace(proof, misclassified=proof.misclassified + 1).check(proof)
        assert "support vectors" in str(proof)
        assert proof.to_dict()["certificate"] == MulticlassGap.__name__


def small_problems():
    def build(seed, n, n_classes, penalty, C, grid):
        generator = np.random.default_rng(seed)
        X = np.round(grid * generator.standard_normal((n, 3))) / grid
        codes = generator.integers(n_classes, size=n)
        return problem_of(X, codes, C, penalty, generator.choice([0.0, 1.0, 2.5], n), n_classes)

    return st.builds(
        build,
        seed=st.integers(0, 2**32 - 1),
        n=st.integers(1, 12),
        n_classes=st.integers(2, 5),
        penalty=st.sampled_from([FREE, 0.1, 10.0, NONE]),
        C=st.sampled_from([1e-3, 1.0, 50.0]),
        grid=st.sampled_from([0.5, 2.0, 64.0]),
    )


@settings(max_examples=60, deadline=None)
@given(small_problems(), st.integers(0, 1000))
def test_every_plane_and_every_dual_bracket_the_optimum(problem, seed):
    generator = np.random.default_rng(seed)
    point = solve(problem, tol=1e-5)
    proof = certificate_of(problem, point)
    # One class alone can be ahead at no cost: only then is the optimum zero.
    assert proof.gap <= 1.01e-5 * proof.primal + 1e-12 or np.unique(problem.codes[problem.weights > 0.0]).size < 2
    # Any planes are worse than the best dual, and any duals, made feasible, no better than the best planes.
    K = problem.n_classes
    W = generator.standard_normal((K, 3))
    b = generator.standard_normal(K) if problem.has_intercept else np.zeros(K)
    B = 3.0 * problem.C * generator.standard_normal((problem.codes.size, K))
    other = measure_multiclass_gap(problem, W, b, B)
    assert other.primal >= proof.dual
    assert other.dual <= proof.primal
    feasible = problem.feasible(B)
    limits = problem.box_bounds()
    assert (feasible[problem.own] <= limits).all()
    assert (feasible[problem.own] >= 0.0).all()
    np.testing.assert_allclose(feasible.sum(axis=1), 0.0, atol=1e-12 * problem.C)
    feasible[problem.own] = 0.0
    assert (feasible <= 0.0).all()
    if problem.has_free_intercept:
        flows = problem.flows(feasible)
        np.testing.assert_allclose(flows.sum(axis=0), flows.sum(axis=1), atol=1e-12 * limits.sum())


def random_flows(generator, n_classes, density):
    flows = np.exp(5.0 * generator.standard_normal((n_classes, n_classes)))
    flows *= generator.random(flows.shape) < density
    np.fill_diagonal(flows, 0.0)
    return flows


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.3, 1.0]))
def test_shares_balance_flows_and_take_little(n_classes, seed, density):
    generator = np.random.default_rng(seed)
    flows = random_flows(generator, n_classes, density)
    shares = balancing_shares(flows)
    assert (shares >= 0.0).all()
    assert (shares <= 1.0).all()
    kept = shares * flows
    np.testing.assert_allclose(kept.sum(axis=0), kept.sum(axis=1), atol=1e-13 * flows.sum())
    # One factor a class keeps something of every cycle.
    by_factors = with_factors(flows)
    np.testing.assert_allclose(by_factors.sum(axis=0), by_factors.sum(axis=1), rtol=1e-12)
    reachable = np.linalg.matrix_power((flows > 0.0) + np.eye(n_classes), n_classes)
    assert ((by_factors > 0.0) == ((flows > 0.0) & (reachable.T > 0.0))).all()
    # What is balanced is kept, and what nearly is nearly so.
    np.testing.assert_allclose(balancing_shares(by_factors)[by_factors > 0.0], 1.0, rtol=1e-6)
    nearly = by_factors * generator.uniform(0.999, 1.0, flows.shape)
    imbalance = np.abs(nearly.sum(axis=0) - nearly.sum(axis=1)).sum()
    assert nearly.sum() - (balancing_shares(nearly) * nearly).sum() <= n_classes * imbalance + 1e-12 * flows.sum()


@pytest.mark.parametrize("penalty", [2.0, NONE])
def test_the_certificate_holds_in_exact_arithmetic(penalty):
    problem = problem_of(*blobs(11, n=12, d=3, n_classes=3), 0.7, penalty, np.linspace(0.1, 2.0, 12))
    point = solve(problem, tol=1e-9)
    proof = certificate_of(problem, point)
    exact = np.vectorize(Fraction)
    X, W, b = exact(problem.points.matrix), exact(point.w), exact(point.intercept)
    limits = Fraction(problem.C) * exact(problem.weights)
    scores = X @ W.T + b
    others = np.where(np.eye(3, dtype=bool)[problem.codes], -(10**9), scores)
    slack = np.maximum(0, 1 + others.max(axis=1) - scores[problem.own])
    rho = 0 if penalty == NONE else Fraction(penalty)
    primal = (W**2).sum() / 2 + rho * (b**2).sum() / 2 + (limits * slack).sum()
    assert primal <= Fraction(proof.primal) <= primal * (1 + Fraction(1, 10**12))
    B = exact(problem.feasible(point.beta))
    B[problem.own] = 0
    B[problem.own] = -B.sum(axis=1)
    assert (B[problem.own] <= limits).all()
    dual = B[problem.own].sum() - ((B.T @ X) ** 2).sum() / 2
    if rho:
        dual -= (B.sum(axis=0) ** 2).sum() / (2 * rho)
    assert dual >= Fraction(proof.dual) >= dual * (1 - Fraction(1, 10**12))
