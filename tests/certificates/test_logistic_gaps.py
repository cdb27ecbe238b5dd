"""Gaps of logistic regression, and proofs that there is no minimum."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logistic_cases import noisy, value
from maxmargin import CertificateError, LogisticRegression, certify
from maxmargin.certificates import measure_logistic_gap
from maxmargin.data import Points
from maxmargin.problems.logistic import LogisticProblem


@given(seed=st.integers(0, 10_000), C=st.sampled_from([1e-3, 0.1, 1.0, 50.0]), intercept=st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_certificate_is_true_of_all_coefficients(seed, C, intercept):
    rng = np.random.default_rng(seed)
    points, labels = noisy(30, 2, seed=seed)
    signs = np.where(labels == 1, 1.0, -1.0)
    if abs(signs.sum()) == signs.size:
        return
    best = LogisticRegression(C=C, fit_intercept=intercept, tol=1e-12).fit(points, labels)
    lowest = value(best.coef_[0], best.intercept_[0], points, signs, C)
    # Any coefficients, good or bad: what is claimed of them holds.
    model = LogisticRegression(C=C, fit_intercept=intercept).fit(points, labels)
    model.coef_ = model.coef_ + rng.standard_normal(2) * rng.choice([0.0, 1e-6, 0.1, 10.0])
    if intercept:
        model.intercept_ = model.intercept_ + rng.standard_normal(1)
    proof = certify(model, points, labels)
    exact = value(model.coef_[0], model.intercept_[0], points, signs, C)
    assert proof.dual <= lowest * (1.0 + 1e-13)
    assert exact * (1.0 - 1e-13) <= proof.primal
    assert proof.primal == pytest.approx(exact, rel=1e-9)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_without_a_penalty_the_bound_holds_up_to_its_reach(seed):
    points, labels = noisy(40, 2, seed=seed)
    signs = np.where(labels == 1, 1.0, -1.0)
    rng = np.random.default_rng(seed)
    model = LogisticRegression(C=float("inf")).fit(points, labels)
    proof = model.certificate_
    for _ in range(50):
        direction = rng.standard_normal(2)
        w = direction / np.linalg.norm(direction) * proof.reach * rng.random() ** 3
        assert np.logaddexp(0.0, -signs * (points @ w + rng.standard_normal())).sum() >= proof.dual * (1.0 - 1e-13)


def test_a_better_claim_than_the_data_prove_is_refused():
    points, labels = noisy()
    for C in (1.0, math.inf):
        model = LogisticRegression(C=C, tol=0.3).fit(points, labels)
        proven = certify(model, points, labels)
        model.certificate_.check(proven)
        claimed = model.certificate_
        for change in ({"primal": 0.5 * (claimed.primal + claimed.dual)}, {"dual": claimed.primal}, {"margin": 0.5}):
            better = type(claimed)(**{**vars(claimed), **change})
            with pytest.raises(CertificateError):
                better.check(proven)
        model = LogisticRegression(C=C).fit(points, labels)
        claimed, model.coef_ = model.certificate_, model.coef_ * 1.5
        with pytest.raises(CertificateError):
            claimed.check(certify(model, points, labels))


def test_points_on_a_hyperplane_are_told_exactly():
    # 0.1 + 0.2 - 0.3 is not zero in floats: the point is on the wrong side by 5e-17, and no sum of floats shows it.
    points = np.array([[0.1, 0.2, -0.3], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.5, -0.5, 0.0]])
    exact = sum(map(Fraction, points[0]))
    assert exact != 0
    for sign in (1, -1):
        labels = np.array([sign, 1, -1, 1])
        problem = LogisticProblem(Points(points), labels.astype(float), np.ones(4))
        proof = measure_logistic_gap(problem, np.zeros(3), 0.0, (np.ones(3), 0.0))
        assert proof.freed == (3 if sign * exact > 0 else 0)


def test_products_that_underflow_are_not_taken_for_zero():
    points, signs = np.array([[1e-200], [1.0]]), np.array([-1.0, 1.0])
    problem = LogisticProblem(Points(points), signs, np.ones(2), fit_intercept=False)
    assert measure_logistic_gap(problem, np.zeros(1), 0.0, (np.array([1e-200]), 0.0)).freed == 0
