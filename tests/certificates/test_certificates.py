"""Certificates state what is true in exact arithmetic, and nothing that was tampered with passes."""

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from maxmargin import (
    SVC,
    Certificate,
    CertificateError,
    KernelPerceptron,
    LinearSVC,
    LinearSVR,
    MarginBracket,
    MarginPerceptron,
    MistakeBound,
    Perceptron,
    PerceptronRun,
    PerClass,
    certify,
    mistake_bound,
)
from maxmargin.certificates import hard_margin, kernel_gap, rounding
from maxmargin.data.printed_bounds import digits_up
from real_data import load, random_set

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
entries = st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=True)


@settings(max_examples=100, deadline=None)
@given(st.lists(entries, min_size=1, max_size=30))
def test_lengths_and_sums_are_bounded_from_both_sides(values):
    vector = np.array(values)
    exact_square = sum(Fraction(value) ** 2 for value in values)
    assert Fraction(rounding.length_at_most(vector)) ** 2 >= exact_square
    assert Fraction(rounding.length_at_least(vector)) ** 2 <= exact_square
    assert Fraction(rounding.sum_at_most(np.abs(vector))) >= sum(abs(Fraction(value)) for value in values)
    assert Fraction(rounding.sum_at_least(np.abs(vector))) <= sum(abs(Fraction(value)) for value in values)
    if exact_square:
        assert rounding.length_at_most(vector) <= rounding.length_at_least(vector) * (1 + 1e-12) + 1e-300


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(entries, entries), min_size=1, max_size=30), st.sampled_from([1.0, 1e-160, 1e-310]))
def test_inner_products_are_bounded_from_above(pairs, scale):
    left, right = np.abs(np.array(pairs)).T * scale
    exact = sum(Fraction(float(one)) * Fraction(float(other)) for one, other in zip(left, right, strict=True))
    bound = rounding.dot_at_most(left, right)
    assert Fraction(bound) >= exact
    assert bound <= float(exact) * (1 + 1e-12) + 1e-300


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e308])
def test_lengths_of_extreme_vectors(scale):
    assert rounding.length_at_most(np.array([3.0, 4.0]) * (scale / 10)) == pytest.approx(scale / 2, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-8, 1.0, 1e5]),
    fit_intercept=st.booleans(),
    single=st.booleans(),
    sparse=st.booleans(),
)
def test_brackets_are_true_in_rational_arithmetic(seed, scale, fit_intercept, single, sparse):
    """The stated ends against the model's plane and hull point, computed without any rounding."""
    X, y = random_set(seed, n=10, d=3, noise=0.0)
    X = (X * scale).astype(np.float32 if single else np.float64)
    model = MarginPerceptron(fit_intercept=fit_intercept, max_iter=30).fit(sp.csr_array(X) if sparse else X, y)
    proof = model.certificate_
    points = [[Fraction(float(entry)) for entry in row] + [Fraction(1)] * fit_intercept for row in X]
    plane = [Fraction(entry) for entry in model.coef_[0]] + [Fraction(model.intercept_[0])] * fit_intercept
    squared_length = sum(entry**2 for entry in plane)
    smallest = min(
        int(sign) * sum(a * b for a, b in zip(row, plane, strict=True)) for sign, row in zip(y, points, strict=True)
    )
    # lower <= smallest / sqrt(squared_length), by squares
    lower = Fraction(proof.lower)
    if lower > 0:
        assert smallest > 0
        assert lower**2 * squared_length <= smallest**2
    elif smallest < 0:
        assert lower**2 * squared_length >= smallest**2
    duals = [Fraction(entry) for entry in model.dual_coef_[0]]
    hull = [sum(c * row[j] for c, row in zip(duals, points, strict=True)) for j in range(len(plane))]
    total = sum(abs(c) for c in duals)
    squared_hull = sum(entry**2 for entry in hull)
    radius = max(sum(entry**2 for entry in row) for row in points)
    assert Fraction(proof.upper) ** 2 * total**2 >= min(squared_hull, radius * total**2)
    assert Fraction(proof.radius) ** 2 >= radius


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), noise=st.sampled_from([0.0, 0.2]), passes=st.integers(1, 5))
def test_mistake_bounds_are_true_in_rational_arithmetic(seed, noise, passes):
    """The stated bound is at least the theorem's value, computed with rational squares."""
    X, y = random_set(seed, n=10, d=2, noise=noise)
    u = np.random.default_rng(seed).standard_normal(2)
    proof = mistake_bound(X, y, u, augmented=False, run=PerceptronRun(passes=passes))
    gamma = Fraction(proof.gamma)
    length = Fraction(np.linalg.norm(u)) * Fraction(1 + 1e-15)  # at least the exact one
    below = [
        int(s) * sum(Fraction(a) * Fraction(b) for a, b in zip(x, u, strict=True)) / length
        for s, x in zip(y, X, strict=True)
    ]
    deficit = passes * sum(max(Fraction(0), gamma - m - abs(m) * Fraction(1, 10**14)) for m in below)
    radius = max(sum(Fraction(entry) ** 2 for entry in row) for row in X)
    assert Fraction(proof.bound) >= (radius / gamma**2 + 2 * deficit / gamma) * (1 - Fraction(1, 10**13))


MODELS = {
    "perceptron": lambda: Perceptron(tol=None, max_iter=30),
    "batch": lambda: Perceptron(rule="batch", tol=None, max_iter=30),
    "average": lambda: Perceptron(average=True, normalize=True, tol=None, max_iter=10),
    "random": lambda: Perceptron(init="random", tol=None, max_iter=10),
    "held out": lambda: Perceptron(early_stopping=True),
    "margin": lambda: MarginPerceptron(max_iter=200),
    "kernel": lambda: KernelPerceptron(max_iter=30),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", ["heart_scale", "mushrooms"])
def test_certify_confirms_and_a_changed_model_is_refused(kind, name):
    X, y = load(name)
    X, y = (X[:600], y[:600]) if kind == "kernel" else (X, y)
    model = MODELS[kind]().fit(X, y)
    claimed = model.certificate_
    claimed.check(certify(model, X, y))
    claimed.check(certify(model, X.toarray(), y))
    claimed.check(claimed)
    low, high = model.classes_
    with pytest.raises(CertificateError):
        claimed.check(certify(model, X, np.where(y == low, high, low)))
    # One row alone is a point of the hull too, but a far one.
    largest = np.abs(model.dual_coef_[0]).argmax()
    model.dual_coef_ = np.where(np.arange(model.dual_coef_.shape[1]) == largest, model.dual_coef_, 0.0)
    with pytest.raises(CertificateError):
        claimed.check(certify(model, X, y))


def test_a_perturbed_plane_is_refused():
    X, y = load("mushrooms")
    model = MarginPerceptron().fit(X, y)
    model.coef_ = model.coef_ + 0.05 * np.abs(model.coef_).max() * np.sign(
        np.random.default_rng(0).standard_normal(112)
    )
    with pytest.raises(CertificateError, match="lower"):
        model.certificate_.check(certify(model, X, y))


def numbers_of(certificate):
    return [
        field.name
        for field in dataclasses.fields(certificate)
        if isinstance(getattr(certificate, field.name), (int, float))
    ]


@pytest.mark.parametrize("kind", ["perceptron", "margin", "kernel"])
def test_every_tampered_number_is_refused(kind):
    X, y = load("sonar_scale")
    model = MODELS[kind]().fit(X, y)
    claimed, proven = model.certificate_, certify(model, X, y)
    better = {"lower": 1.01, "upper": 0.99, "bound": 0.99, "mistakes": 0.5, "examples": 2, "radius": 1.01}
    for name in numbers_of(claimed):
        value = getattr(claimed, name)
        forged = value * better.get(name, 1.01) if value else 1.0
        forged = int(forged) if isinstance(value, int) else forged
        forged = forged if value >= 0 else abs(value)
        with pytest.raises(CertificateError):
            dataclasses.replace(claimed, **{name: forged}).check(proven)


def test_a_contradiction_cannot_even_be_written_down():
    with pytest.raises(CertificateError, match="lower"):
        MarginBracket(lower=2.0, upper=1.0, radius=3.0, space="x")
    bracket = MarginBracket(lower=0.5, upper=1.0, radius=3.0, space="x")
    with pytest.raises(CertificateError, match="contradict"):
        MistakeBound(mistakes=11, bound=10.0, gamma=1.0, deficit=0.0, radius=1.0, examples=20, bracket=bracket)
    with pytest.raises(CertificateError, match="cannot be checked"):
        bracket.check(mistake_bound([[1.0], [-1.0]], [1, -1], [1.0]))
    with pytest.raises(CertificateError, match="holds for the points"):
        bracket.check(MarginBracket(lower=0.5, upper=1.0, radius=3.0, space="(x, 1)"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        bracket.lower = 0.7


@pytest.mark.parametrize("solver", ["coordinate", "newton"])
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_kkt_classes_are_those_of_the_optimum_at_the_default_tolerance(solver, tol):
    """On wine, C = 0.1, the optimum has 27 support vectors, 10 of them on the margin."""
    X, y = load_wine(return_X_y=True)
    model = LinearSVC(C=0.1, tol=tol, solver=solver, random_state=0).fit(scale(X), y == 0)
    proof = model.certificate_
    assert (proof.outside, proof.on_margin, proof.inside, proof.misclassified) == (151, 10, 17, 0)
    assert "27 support vectors: 10 on the margin, 17 inside it, 0 misclassified" in str(proof)
    assert str(proof).startswith(
        f"relative duality gap {digits_up(proof.relative, 2)} (primal {digits_up(proof.primal, 8)}, dual "
    )


def test_kkt_classes_of_losses_without_an_upper_bound():
    X, y = load_wine(return_X_y=True)
    model = LinearSVC(loss="squared_hinge", tol=1e-8).fit(scale(X), y == 0)
    proof, slack = model.certificate_, model.slack(scale(X), y == 0)
    assert proof.on_margin == 0
    assert proof.inside + proof.misclassified == model.support_.size == np.count_nonzero(slack > 1e-6)
    assert proof.misclassified == np.count_nonzero(slack >= 1.0)


def test_kkt_classes_of_regressions_and_of_several_classes():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    for tol in (1e-3, 1e-8):
        model = LinearSVR(C=0.1, epsilon=0.2, tol=tol).fit(X, y)
        proof, beta = model.certificate_, np.abs(model.dual_coef_[0]) / 0.1
        assert proof.within_epsilon == np.count_nonzero(beta == 0.0)
        assert proof.on_boundary == np.count_nonzero((beta > 0.0) & (beta < 0.999))
        assert proof.within_epsilon + proof.on_boundary + proof.beyond_epsilon == len(y)
    proof = LinearSVC(C=0.01, multi_class="crammer_singer", tol=1e-4, random_state=0).fit(X, y).certificate_
    assert (proof.outside, proof.on_margin, proof.inside, proof.misclassified) == (100, 12, 63, 3)


def test_bounds_that_contradict_each_other_raise(monkeypatch):
    """An upper bound below the lower one, made by force here, is not adjusted."""
    X, y = random_set(0, n=20, d=3, noise=0.0)
    X = X + 2.0 * np.outer(y, [1.0, 0.0, 0.0])
    linear, kernel = LinearSVC(C=math.inf).fit(X, y), SVC(C=math.inf).fit(X, y)
    monkeypatch.setattr(hard_margin, "half_distance_at_most", lambda *_: 1e-9)
    with pytest.raises(CertificateError, match="lower"):
        certify(linear, X, y)
    monkeypatch.setattr(kernel_gap, "sum_at_least", lambda _: 1e9)
    with pytest.raises(CertificateError, match="lower"):
        certify(kernel, X, y)


def test_certificates_are_readable_and_plain():
    X, y = load("mushrooms")
    for model in (Perceptron(), MarginPerceptron()):
        proof = model.fit(X, y).certificate_
        assert isinstance(proof, Certificate)
        assert "margin" in str(proof)
        assert proof.to_dict()["certificate"] == type(proof).__name__
        assert json.loads(json.dumps(proof.to_dict()))["radius"] == proof.radius


def test_one_certificate_for_each_class():
    X, y = load("letter.scale")
    X, y = X[:800], y[:800]
    model = Perceptron(max_iter=5, tol=None).fit(X, y)
    proofs = model.certificate_
    assert isinstance(proofs, PerClass)
    assert list(proofs) == list(np.unique(y))
    proofs.check(certify(model, X, y))
    model.coef_[0] *= -1
    with pytest.raises(CertificateError):
        proofs.check(certify(model, X, y))
    with pytest.raises(CertificateError, match="classes"):
        proofs.check(PerClass({}))
    assert str(proofs).count("\n") == len(proofs) - 1
    assert set(proofs.to_dict()) == {str(label) for label in proofs}


@pytest.mark.parametrize("scale", [1e-135, 1e135])
@pytest.mark.parametrize("model", [Perceptron, MarginPerceptron])
def test_extreme_scales_are_still_certified(scale, model):
    X, y = random_set(0, n=20, d=3, noise=0.0)
    fitted = model(fit_intercept=False, max_iter=200).fit(X * scale, y)
    exact = max(sum(Fraction(entry) ** 2 for entry in row) for row in X * scale)
    bracket = getattr(fitted.certificate_, "bracket", fitted.certificate_)
    assert Fraction(bracket.radius) ** 2 >= exact
    assert 0 < bracket.upper <= bracket.radius < math.inf


def test_rows_far_smaller_than_the_others_do_not_shrink_the_radius():
    X = np.array([[1e-170, 3e-165], [1.0, 2.0], [-1.0, -2.0], [-1e-170, 1e-168]])
    proof = MarginPerceptron(fit_intercept=False, max_iter=100).fit(X, [1, 1, 0, 0]).certificate_
    assert proof.radius >= math.sqrt(5.0)


@pytest.mark.parametrize("fit_first", [False, True])
@pytest.mark.parametrize("parameters", [{}, {"init": "random", "eta0": 0.01}, {"average": True}])
def test_the_whole_stream_is_certified_after_partial_fit(fit_first, parameters):
    X, y = load("heart_scale")
    model = Perceptron(max_iter=50, **parameters)
    if fit_first:
        model.fit(X, y)
    for part in np.array_split(np.arange(X.shape[0]), 7):
        model.partial_fit(X[part], y[part], classes=[-1, 1])
    proof = certify(model, X, y)
    assert proof.mistakes == model.n_updates_ <= proof.bound
    assert proof.examples == X.shape[0]
    assert not hasattr(model, "status_")
    with pytest.raises(ValueError, match="X has 10 rows"):
        certify(model, X[:10], y[:10])


def test_a_kernel_model_that_went_on_from_a_fit_is_not_certified():
    X, y = load("heart_scale")
    model = KernelPerceptron(max_iter=3).partial_fit(X[:100], y[:100], classes=[-1, 1]).partial_fit(X[100:], y[100:])
    assert certify(model, X, y).mistakes == model.n_updates_
    model = KernelPerceptron(max_iter=3).fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    with pytest.raises(ValueError, match="no one sequence"):
        certify(model, X, y)


def test_a_kernel_that_is_not_semidefinite_proves_nothing():
    """The plane's squared length, computed here, is negative: there is no feature space."""
    found = 0
    for seed in range(10):
        X, y = random_set(seed, n=30, d=3)
        model = KernelPerceptron(kernel="sigmoid", gamma=1.0, max_iter=20).fit(X, y)
        signed = np.zeros(30)
        signed[model.support_] = model.dual_coef_[0]
        if signed @ model.decision_function(X) < 0:
            found += 1
            proof = model.certificate_
            assert math.isinf(proof.bound)
            assert math.isinf(proof.bracket.upper)
            assert "not positive semidefinite" in str(proof)
    assert found


def test_a_kernel_that_may_be_indefinite_proves_nothing():
    X, y = random_set(0, n=30, d=3)
    for parameters in ({"kernel": "sigmoid"}, {"kernel": "poly", "coef0": -1.0}):
        proof = KernelPerceptron(gamma=0.1, max_iter=20, **parameters).fit(X, y).certificate_
        assert math.isinf(proof.bound)
        assert math.isinf(proof.bracket.upper)


def test_examples_are_counted_as_they_were_met():
    X, y = load("letter.scale")
    X, y = X[:600], y[:600]
    model = Perceptron(max_iter=6).fit(X, y)
    met = [len(passes) * len(y) for passes in model.mistakes_per_pass_]
    assert [proof.examples for proof in model.certificate_.values()] == met
    X, y = load("heart_scale")
    model = Perceptron(early_stopping=True, validation_fraction=0.2).fit(X, y)
    assert model.certificate_.examples == model.n_iter_ * (len(y) - int(np.ceil(0.2 * len(y))))


def test_certify_refuses_what_it_cannot_judge():
    X, y = load("heart_scale")
    model = Perceptron(max_iter=3, tol=None).fit(X, y)
    with pytest.raises(TypeError, match="estimator"):
        certify(object(), X, y)
    with pytest.raises(ValueError, match="X has 100 rows"):
        certify(model, X[:100], y[:100])
    with pytest.raises(ValueError, match="y has labels"):
        certify(model, X, y + 5)
