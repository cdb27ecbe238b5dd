"""Gaps of the multiclass SVM of Crammer and Singer."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crammer_singer_cases import FREE, NONE, blobs, certificate_of, problem_of, solve
from maxmargin.certificates import CertificateError
from maxmargin.certificates.multiclass_gap import MulticlassGap, measure_multiclass_gap


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
