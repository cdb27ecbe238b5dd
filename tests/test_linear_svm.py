"""The linear support vector machine: its optimum, its proof, its weights, its limits."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as LiblinearSVC

from maxmargin import CertificateError, DualityGap, LimitWarning, LinearSVC, Status, certify
from maxmargin.solvers import newton
from real_data import load, random_set, signs_of


def objective(X, y, w, b, C, loss):
    """The primal's value, written from the lecture."""
    slack = np.maximum(0, 1 - y * (X @ w + b))
    return w @ w / 2 + C * (slack**2 if loss == "squared_hinge" else slack).sum()


@pytest.mark.parametrize("name", ["heart_scale", "sonar_scale", "ionosphere_scale", "leu"])
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_hinge_with_intercept_agrees_with_libsvm(name, C):
    X, y = load(name)
    rival = SVC(kernel="linear", C=C, tol=1e-8).fit(X.toarray(), y)
    best = objective(X, signs_of(y), rival.coef_[0], rival.intercept_[0], C, "hinge")
    for data in (X, X.toarray()):
        model = LinearSVC(C=C, tol=1e-7).fit(data, y)
        ours = objective(X, signs_of(y), model.coef_[0], model.intercept_[0], C, "hinge")
        assert ours <= best * (1 + 1e-6)
        assert model.certificate_.dual <= best
        assert model.objective_ >= ours
        np.testing.assert_allclose(model.decision_function(X), rival.decision_function(X.toarray()), atol=0.02)


@pytest.mark.parametrize("name", ["heart_scale", "mushrooms", "sms-spam"])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_intercept_agrees_with_liblinear(name, C, loss):
    X, y = load(name)
    rival = LiblinearSVC(C=C, loss=loss, fit_intercept=False, tol=1e-8, max_iter=30_000, dual=True, random_state=0)
    rival.fit(X.toarray(), y)
    best = objective(X, signs_of(y), rival.coef_[0], 0.0, C, loss)
    model = LinearSVC(C=C, loss=loss, fit_intercept=False, tol=1e-6).fit(X, y)
    assert objective(X, signs_of(y), model.coef_[0], 0.0, C, loss) <= best * (1 + 2e-6)
    assert model.certificate_.dual <= best
    assert model.certificate_.relative <= 1e-6


def test_weights_are_repeated_rows():
    X, y = load("heart_scale")
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    for loss in ("hinge", "squared_hinge"):
        weighted = LinearSVC(loss=loss).fit(X, y, sample_weight=weights)
        repeated = LinearSVC(loss=loss).fit(
            sp.csr_array(np.repeat(X.toarray(), weights, axis=0)), np.repeat(y, weights)
        )
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6, atol=1e-9)
        assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    by_class = LinearSVC(class_weight={-1: 0.5, 1: 3.0}).fit(X, y)
    by_row = LinearSVC().fit(X, y, sample_weight=np.where(y > 0, 3.0, 0.5))
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    C=st.sampled_from([0.01, 1.0, 50.0]),
    loss=st.sampled_from(["hinge", "squared_hinge"]),
    fit_intercept=st.booleans(),
    noise=st.sampled_from([0.0, 0.3]),
)
def test_the_gap_is_true_in_rational_arithmetic(seed, C, loss, fit_intercept, noise):
    """Primal of the model and dual of its repaired duals, without any rounding, lie within what is stated."""
    X, y = random_set(seed, n=8, d=3, noise=noise)
    model = LinearSVC(C=C, loss=loss, fit_intercept=fit_intercept, tol=1e-3).fit(X, y)
    proof = model.certificate_
    w, b, price = [Fraction(v) for v in model.coef_[0]], Fraction(model.intercept_[0]), Fraction(C)
    rows = [[Fraction(v) for v in row] for row in X]
    signs = [int(sign) for sign in y]
    slack = [
        max(Fraction(0), 1 - s * (sum(a * c for a, c in zip(row, w, strict=True)) + b))
        for s, row in zip(signs, rows, strict=True)
    ]
    losses = [v**2 for v in slack] if loss == "squared_hinge" else slack
    primal = sum(v * v for v in w) / 2 + price * sum(losses)
    assert primal <= Fraction(proof.primal)
    alpha = [abs(Fraction(v)) for v in model.dual_coef_[0]]
    if fit_intercept:
        heavy = sum(a for a, s in zip(alpha, signs, strict=True) if s > 0)
        light = sum(a for a, s in zip(alpha, signs, strict=True) if s < 0)
        side = 1 if heavy > light else -1
        if max(heavy, light) > 0:
            shrink = min(heavy, light) / max(heavy, light)
            alpha = [a * shrink if s == side else a for a, s in zip(alpha, signs, strict=True)]
    combined = [sum(a * s * row[j] for a, s, row in zip(alpha, signs, rows, strict=True)) for j in range(3)]
    gains = sum(a - a * a / (4 * price) for a in alpha) if loss == "squared_hinge" else sum(alpha)
    assert all(a <= price for a in alpha) or loss == "squared_hinge"
    dual = gains - sum(v * v for v in combined) / 2
    assert Fraction(proof.dual) <= dual <= primal


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weak_duality_holds_all_along(loss):
    X, y = load("heart_scale")
    model = LinearSVC(C=10.0, loss=loss, tol=1e-9).fit(X, y)
    history = np.array(model.history_)
    assert (history[:, 1] >= history[:, 2]).all()
    assert (np.diff(history[:, 0]) >= 0).all()
    assert (np.diff(history[:, 1]) <= 0).all()
    assert (np.diff(history[:, 2]) >= 0).all()
    assert model.certificate_.relative < 2e-9


def test_kkt_conditions_and_classes_of_points():
    X, y = load("heart_scale")
    model = LinearSVC(tol=1e-10).fit(X, y)
    alpha, slack = np.abs(model.dual_coef_[0]), model.slack(X, y)
    margins = signs_of(y) * model.decision_function(X)
    assert (margins[alpha == 0] >= 1 - 1e-4).all()
    assert (margins[alpha > 1 - 1e-9] <= 1 + 1e-4).all()
    free = (alpha > 1e-6) & (alpha < 1 - 1e-6)
    np.testing.assert_allclose(margins[free], 1.0, atol=1e-4)
    proof = model.certificate_
    assert proof.complementarity < 1e-4
    assert proof.outside + proof.on_street + proof.inside + proof.wrong == len(y)
    assert proof.wrong == (slack >= 1).sum()
    assert set(model.support_) == set(np.flatnonzero(alpha))
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(model.coef_))
    np.testing.assert_allclose(model.coef_, model.dual_coef_ @ X, atol=1e-4)


def test_a_changed_model_and_a_tampered_certificate_are_refused():
    X, y = load("ionosphere_scale")
    model = LinearSVC(tol=1e-6).fit(X, y)
    claimed, proven = model.certificate_, certify(model, X, y)
    claimed.check(proven)
    claimed.check(certify(model, X.toarray(), y))
    for name, factor in {"primal": 0.999, "dual": 1.001, "complementarity": 0.5, "outside": 2, "wrong": 0}.items():
        value = getattr(claimed, name) * factor
        with pytest.raises(CertificateError):
            dataclasses.replace(claimed, **{name: type(getattr(claimed, name))(value)}).check(proven)
    with pytest.raises(CertificateError, match="does not hold"):
        dataclasses.replace(claimed, dual=claimed.primal * 1.1)
    model.coef_ = model.coef_ * 1.05
    with pytest.raises(CertificateError, match="primal"):
        claimed.check(certify(model, X, y))


def test_warm_start_saves_steps():
    X, y = load("heart_scale")
    model = LinearSVC(C=1.0, tol=1e-8, warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X[:100], y[:100])


def test_rows_of_zeros_repeated_rows_and_contradictions_are_ordinary():
    X, y = random_set(0)
    rows = np.vstack([X, np.zeros((4, X.shape[1])), X[:10], X[:5]])
    labels = np.concatenate([y, [1, -1, 1, 1], y[:10], -y[:5]])
    for loss in ("hinge", "squared_hinge"):
        for fit_intercept in (True, False):
            for C in (0.01, 1.0, 1e4):
                model = LinearSVC(C=C, loss=loss, fit_intercept=fit_intercept).fit(sp.csr_array(rows), labels)
                assert model.status_ is Status.SOLVED
                assert model.certificate_.relative <= 1.01e-4


def test_points_all_alike_leave_only_the_intercept():
    model = LinearSVC().fit(np.ones((5, 2)), [0, 1, 1, 1, 0])
    assert model.certificate_.relative <= 1e-4
    assert (model.predict(np.ones((2, 2))) == 1).all()


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("scale", [1e-100, 1e-20, 1e20, 1e60, 1e130])
def test_extreme_scales_end_with_a_true_certificate(scale):
    X, y = random_set(0)
    model = LinearSVC(max_iter=100).fit(X * scale, y)
    assert np.isfinite(model.coef_).all()
    model.certificate_.check(certify(model, X * scale, y))


def test_many_classes_have_a_proof_each():
    X, y = load("letter.scale")
    X, y = X[:1500], y[:1500]
    model = LinearSVC(C=0.1, n_jobs=2).fit(X, y)
    assert all(isinstance(proof, DualityGap) and proof.relative <= 1.01e-4 for proof in model.certificate_.values())
    one = LinearSVC(C=0.1, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(model.coef_, one.coef_)
    assert model.slack(X, y).shape == (len(y), len(model.classes_))


def test_limits_are_told_with_the_gap():
    X, y = load("heart_scale")
    with pytest.warns(LimitWarning, match="max_iter was reached.*within"):
        model = LinearSVC(max_iter=2, tol=1e-9).fit(X, y)
    assert model.status_ is Status.ITERATION_LIMIT
    model.certificate_.check(certify(model, X, y))


def test_a_run_that_stalls_is_told_with_the_gap(monkeypatch):
    def stall(run):
        run._minimise()
        run.best.status = Status.STALLED

    monkeypatch.setattr(newton.NewtonRun, "until_gap", stall)
    X, y = load("heart_scale")
    with pytest.warns(LimitWarning, match="the gap stopped shrinking above tol.*within"):
        model = LinearSVC(tol=1e-12).fit(X, y)
    model.certificate_.check(certify(model, X, y))


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"C": 0.0}, "C"),
        ({"C": np.inf}, "C"),
        ({"loss": "log"}, "loss"),
        ({"tol": 0.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters(parameters, name):
    X, y = load("heart_scale")
    with pytest.raises(ValueError, match=name):
        LinearSVC(**parameters).fit(X, y)
