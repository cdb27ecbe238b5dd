"""Gaps and margin brackets in feature space."""

import math
import warnings
from dataclasses import replace
from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC as LibsvmSVC  # noqa: N811

from maxmargin import SVC, CertificateError, LimitWarning, MarginBracket, NotSeparableError, certify
from real_data import load, random_set


def test_a_kernel_that_is_not_definite_ends_and_claims_nothing():
    X, y = load("heart_scale")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        model = SVC(kernel="sigmoid", gamma=0.5, coef0=1.0, max_time=20).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.certificate_.dual == -np.inf


def test_kernels_that_are_not_semidefinite_claim_nothing_and_run_once():
    X, y = random_set(3, n=40, d=2)
    odd = np.random.default_rng(0).standard_normal((40, 40))
    machines = [(SVC(kernel="poly", degree=2, coef0=-1.0, gamma=1.0), X), (SVC(kernel="precomputed"), odd + odd.T)]
    for machine, rows in machines:
        with pytest.warns(LimitWarning):
            machine.fit(rows, y)
        assert machine.certificate_.dual == -math.inf
        assert machine.n_iter_[0] > 0
    # Without a bound on the duals there is no model at all.
    with pytest.raises(ValueError, match=r"not finite.*positive semidefinite"):
        SVC(kernel="precomputed", C=math.inf).fit(odd + odd.T, y)


def test_a_perturbed_model_is_refused():
    X, y = load("heart_scale")
    model = SVC().fit(X, y)
    model.dual_coef_ = model.dual_coef_ * 0.7
    with pytest.raises(CertificateError):
        model.certificate_.check(certify(model, X, y))


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_the_hard_margin_in_feature_space(kernel):
    X, y = random_set(11, n=120, d=2, noise=0.0)
    X, far = X[np.abs(X[:, 0]) > 0.2], np.abs(X[:, 0]) > 0.2
    y = (X[:, 0] > 0.0).astype(int) if kernel == "linear" else y[far]
    model = SVC(C=math.inf, kernel=kernel, gamma=1.0, coef0=1.0, tol=1e-6).fit(X, y)
    proof = model.certificate_
    assert isinstance(proof, MarginBracket)
    assert proof.separates
    assert proof.relative <= 1e-6
    # The margin is 1/||w|| of LIBSVM's hyperplane where C is so large that no slack is left.
    other = LibsvmSVC(C=1e9, kernel=kernel, gamma=1.0, coef0=1.0, tol=1e-10).fit(X, y)
    beta, vectors = other.dual_coef_[0], other.support_vectors_
    gram = pairwise_kernels(vectors, metric=kernel, filter_params=True, gamma=1.0, coef0=1.0)
    assert 1.0 / math.sqrt(beta @ gram @ beta) == pytest.approx(proof.lower, rel=1e-4)
    assert (model.predict(X) == y).all()
    with pytest.raises(CertificateError):
        replace(proof, lower=proof.upper, upper=proof.upper).check(replace(proof, lower=0.9 * proof.lower))


def test_no_hard_margin_is_told_with_its_proof_and_leaves_the_model():
    X, y = load_iris(return_X_y=True)
    model = SVC(C=1.0, kernel="linear").fit(X, y)
    before = model.dual_coef_
    with pytest.raises(NotSeparableError, match="class 1 against 2") as caught:
        model.set_params(C=math.inf).fit(X, y)
    assert caught.value.certificate.upper <= 1e-4
    assert model.dual_coef_ is before
    with pytest.raises(ValueError, match="sigmoid"):
        SVC(C=math.inf, kernel="sigmoid").fit(X, y)


@pytest.mark.parametrize("factor", [1.0, 1.0 + 2.0**-50, 1.01, 1.2])
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_the_primal_value_is_that_of_the_models_own_duals(kernel, factor):
    """Predictions come from the duals as they are, which need not be feasible."""
    X, y = random_set(5, n=30, d=3)
    X = X * np.array([1e-3, 1.0, 1e4])
    model = SVC(kernel=kernel, degree=2, gamma=1.0, coef0=1.0, C=1e-3, max_iter=300).fit(X, y)
    signs = np.where(y == model.classes_[1], 1, -1)
    model.dual_coef_ = np.where(model.dual_coef_ > 0.0, factor, 1.0) * model.dual_coef_
    rows = [[Fraction(float(entry)) for entry in row] for row in X]
    support, duals = model.support_.tolist(), [Fraction(float(beta)) for beta in model.dual_coef_[0]]

    def value(i, j):
        inner = sum(map(mul, rows[i], rows[j]))
        return inner if kernel == "linear" else (inner + 1) ** 2

    scores = [sum(beta * value(i, j) for j, beta in zip(support, duals, strict=True)) for i in range(len(y))]
    squared_norm = sum(beta * scores[j] for j, beta in zip(support, duals, strict=True))
    b = Fraction(float(model.intercept_[0]))
    slacks = [max(Fraction(0), 1 - int(sign) * (score + b)) for sign, score in zip(signs, scores, strict=True)]
    primal = squared_norm / 2 + Fraction(1e-3) * sum(slacks)
    gap = certify(model, X, y)
    assert gap.dual <= primal <= gap.primal
