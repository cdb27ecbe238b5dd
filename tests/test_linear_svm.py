"""The linear support vector machine: its optimum, its proof, its weights, its limits."""

import dataclasses
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR
from sklearn.svm import LinearSVC as LiblinearSVC
from sklearn.svm import LinearSVR as LiblinearSVR

from maxmargin import (
    CertificateError,
    ClassificationGap,
    LimitWarning,
    LinearSVC,
    LinearSVR,
    RegressionGap,
    Status,
    SVMGap,
    certify,
)
from maxmargin.certificates import measure_gap
from maxmargin.data import Points
from maxmargin.problems.linear_svm import LOSSES, LinearSVMProblem, hinge
from maxmargin.solvers.core import Monitor
from maxmargin.solvers.linear import coordinate_ascent as coordinate
from maxmargin.solvers.linear import newton
from maxmargin.solvers.linear.auto import solve, suited_solver
from maxmargin.solvers.linear.initial_point import best_intercept
from maxmargin.solvers.linear.options import LinearOptions
from real_data import load, random_set, signs_of

CLASSIFIER_LOSSES = ["hinge", "squared_hinge"]
REGRESSION_LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive"]
every_loss = pytest.mark.parametrize("loss", CLASSIFIER_LOSSES + REGRESSION_LOSSES)
both_solvers = pytest.mark.parametrize("solver", ["newton", "coordinate"])


def machine(loss, **parameters):
    return (LinearSVC if loss in CLASSIFIER_LOSSES else LinearSVR)(loss=loss, **parameters)


@cache
def data_of(loss):
    """Rows, and labels -1 and +1 or values, as the loss asks for."""
    if loss in CLASSIFIER_LOSSES:
        X, y = load("heart_scale")
        return X.toarray(), signs_of(y)
    X, y = load_diabetes(return_X_y=True)
    return scale(X), scale(y) + 0.5


@cache
def many_rows(loss):
    """So many entries that passes over them are cut into several blocks."""
    X, labels = random_set(3, n=30_000, d=16, noise=0.1)
    if loss in CLASSIFIER_LOSSES:
        return X, labels
    generator = np.random.default_rng(3)
    return X, X @ generator.standard_normal(16) + generator.standard_normal(len(X)) + 1.0


def objective(X, y, w, b, C, loss, *, epsilon=0.0, rho=0.0):
    """The primal's value, written from the lecture."""
    scores = X @ np.ravel(w) + b
    slack = np.maximum(0, 1 - y * scores if loss in CLASSIFIER_LOSSES else np.abs(y - scores) - epsilon)
    return np.sum(w * w) / 2 + rho * b * b / 2 + C * (slack**2 if "squared" in loss else slack).sum()


def value_of(model, X, y):
    parameters = model.get_params()
    rho = parameters["intercept_scaling"] ** -2 if parameters["penalize_intercept"] else 0.0
    own = {"epsilon": parameters.get("epsilon", 0.0), "rho": rho}
    return objective(X, y, model.coef_, model.intercept_[0], parameters["C"], parameters["loss"], **own)


@pytest.mark.parametrize("name", ["heart_scale", "sonar_scale", "ionosphere_scale", "leu"])
@pytest.mark.parametrize(
    ("C", "solver"), [(0.1, "newton"), (1.0, "newton"), (30.0, "newton"), (0.1, "coordinate"), (1.0, "coordinate")]
)
def test_hinge_with_intercept_agrees_with_libsvm(name, C, solver):
    X, y = load(name)
    rival = SVC(kernel="linear", C=C, tol=1e-8).fit(X.toarray(), y)
    best = objective(X, signs_of(y), rival.coef_, rival.intercept_[0], C, "hinge")
    tol = 1e-7 if solver == "newton" else 1e-5
    for data in (X, X.toarray()):
        model = LinearSVC(C=C, tol=tol, solver=solver, random_state=0).fit(data, y)
        ours = value_of(model, X, signs_of(y))
        assert ours <= best * (1 + tol + 1e-7)
        # What rounding may add to the scores of 7,129 columns is counted in, times C: then the model says so.
        assert (model.status_ is Status.SOLVED) == (model.certificate_.relative <= tol)
        assert model.certificate_.relative <= (tol if name != "leu" else max(tol, 2e-7 * C))
        assert model.certificate_.dual <= best
        assert model.objective_ >= ours
        if solver == "newton":
            np.testing.assert_allclose(model.decision_function(X), rival.decision_function(X.toarray()), atol=0.02)


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("C", [0.1, 1.0])
@both_solvers
def test_a_tube_with_intercept_agrees_with_libsvm(epsilon, C, solver):
    X, y = data_of("epsilon_insensitive")
    rival = SVR(kernel="linear", C=C, epsilon=epsilon, tol=1e-7).fit(X, y)
    best = objective(X, y, rival.coef_, rival.intercept_[0], C, "epsilon_insensitive", epsilon=epsilon)
    model = LinearSVR(C=C, epsilon=epsilon, tol=1e-6, solver=solver, random_state=0).fit(X, y)
    assert value_of(model, X, y) <= best * (1 + 1e-6)
    assert model.certificate_.dual <= best
    assert model.certificate_.relative <= 1e-6


@pytest.mark.parametrize("name", ["heart_scale", "mushrooms", "sms-spam"])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("loss", CLASSIFIER_LOSSES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_intercept_agrees_with_liblinear(name, C, loss):
    X, y = load(name)
    rival = LiblinearSVC(C=C, loss=loss, fit_intercept=False, tol=1e-8, max_iter=30_000, dual=True, random_state=0)
    rival.fit(X.toarray(), y)
    best = objective(X, signs_of(y), rival.coef_, 0.0, C, loss)
    for solver in ("auto",) if name == "sms-spam" else ("newton", "coordinate"):
        model = LinearSVC(C=C, loss=loss, fit_intercept=False, tol=1e-6, solver=solver, random_state=0).fit(X, y)
        assert value_of(model, X, signs_of(y)) <= best * (1 + 2e-6)
        assert model.certificate_.dual <= best
        assert model.certificate_.relative <= 1e-6


@every_loss
@pytest.mark.parametrize("intercept_scaling", [1.0, 5.0])
@both_solvers
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_penalised_intercept_agrees_with_liblinear(loss, intercept_scaling, solver):
    X, y = data_of(loss)
    shared = {"C": 0.5, "loss": loss, "intercept_scaling": intercept_scaling, "random_state": 0}
    rival_class = LiblinearSVC if loss in CLASSIFIER_LOSSES else LiblinearSVR
    rival = rival_class(**shared, tol=1e-8, max_iter=30_000, dual=True).fit(X, y)
    b = float(np.ravel(rival.intercept_)[0])
    best = objective(X, y, rival.coef_, b, 0.5, loss, rho=intercept_scaling**-2)
    model = machine(**shared, penalize_intercept=True, tol=1e-6, solver=solver).fit(X, y)
    assert value_of(model, X, y) <= best * (1 + 1e-6)
    assert model.certificate_.dual <= best
    assert model.certificate_.relative <= 1e-6
    assert model.intercept_[0] == pytest.approx(b, abs=0.01)


def test_weights_are_repeated_rows():
    X, y = load("heart_scale")
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    for loss in CLASSIFIER_LOSSES:
        weighted = LinearSVC(loss=loss).fit(X, y, sample_weight=weights)
        repeated = LinearSVC(loss=loss).fit(
            sp.csr_array(np.repeat(X.toarray(), weights, axis=0)), np.repeat(y, weights)
        )
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6, atol=1e-9)
        assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    by_class = LinearSVC(class_weight={-1: 0.5, 1: 3.0}).fit(X, y)
    by_row = LinearSVC().fit(X, y, sample_weight=np.where(y > 0, 3.0, 0.5))
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)


@every_loss
@both_solvers
def test_a_weighted_problem_has_the_value_of_the_one_with_repeated_rows(loss, solver):
    X, y = data_of(loss)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    shared = {"C": 0.5, "tol": 1e-6, "solver": solver, "random_state": 0}
    weighted = machine(loss, **shared).fit(X, y, sample_weight=weights)
    repeated = machine(loss, **shared).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    assert not weighted.dual_coef_[0, weights == 0].any()


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    C=st.sampled_from([0.01, 1.0, 50.0]),
    loss=st.sampled_from(CLASSIFIER_LOSSES + REGRESSION_LOSSES),
    epsilon=st.sampled_from([0.0, 0.3]),
    scaling=st.sampled_from([None, 0.0, 1.0, 3.0]),
    noise=st.sampled_from([0.0, 0.3]),
    weighted=st.booleans(),
    solver=st.sampled_from(["newton", "coordinate"]),
)
def test_the_gap_is_true_in_rational_arithmetic(seed, C, loss, epsilon, scaling, noise, weighted, solver):
    """Primal of the model and dual of its repaired duals, without any rounding, lie within what is stated.

    ``scaling`` is that of a penalised intercept; 0 for none, and None for a free one.
    """
    X, y = random_set(seed, n=8, d=3, noise=noise)
    is_classifier = loss in CLASSIFIER_LOSSES
    generator = np.random.default_rng(seed)
    y = y if is_classifier else X @ [1.0, -0.7, 0.1] + generator.standard_normal(8)
    weights = generator.choice([0.0, 0.1, 1.0, 2.5], 8) if weighted else np.ones(8)
    weights[:2] = 1.0
    parameters = {} if is_classifier else {"epsilon": epsilon}
    if scaling is not None:
        parameters |= (
            {"penalize_intercept": True, "intercept_scaling": scaling} if scaling else {"fit_intercept": False}
        )
    model = machine(loss, C=C, tol=1e-3, solver=solver, random_state=0, **parameters)
    proof = model.fit(X, y, sample_weight=weights if weighted else None).certificate_

    w, b = [Fraction(v) for v in model.coef_.ravel()], Fraction(model.intercept_[0])
    rows = [[Fraction(v) for v in row] for row in X]
    targets, prices = [Fraction(v) for v in y.tolist()], [Fraction(C) * Fraction(m) for m in weights]
    tube = Fraction(0 if is_classifier else epsilon)
    scores = [sum(a * c for a, c in zip(row, w, strict=True)) + b for row in rows]
    if is_classifier:
        excess = [1 - t * f for t, f in zip(targets, scores, strict=True)]
    else:
        excess = [abs(t - f) - tube for t, f in zip(targets, scores, strict=True)]
    power = 2 if "squared" in loss else 1
    losses = sum(p * max(Fraction(0), v) ** power for p, v in zip(prices, excess, strict=True))
    of_intercept = (b / Fraction(scaling)) ** 2 / 2 if scaling else Fraction(0)
    primal = sum(v * v for v in w) / 2 + of_intercept + losses
    assert primal <= Fraction(proof.primal)

    beta = [Fraction(v) for v in model.dual_coef_[0]]
    if is_classifier:
        beta = [v if v * t > 0 else Fraction(0) for v, t in zip(beta, targets, strict=True)]
    if power == 1:
        beta = [max(-p, min(p, v)) for v, p in zip(beta, prices, strict=True)]
    if scaling is None:
        above, below = sum(v for v in beta if v > 0), -sum(v for v in beta if v < 0)
        up, down = min(above, below) / (above or Fraction(1)), min(above, below) / (below or Fraction(1))
        beta = [v * up if v > 0 else v * down for v in beta]
        assert sum(beta) == 0
    squares = Fraction(0)
    if power == 2:
        assert not any(v for v, p in zip(beta, prices, strict=True) if p == 0)
        squares = sum(v * v / (4 * p) for v, p in zip(beta, prices, strict=True) if p > 0)
    gains = sum(t * v - tube * abs(v) for t, v in zip(targets, beta, strict=True)) - squares
    combined = [sum(v * row[j] for v, row in zip(beta, rows, strict=True)) for j in range(3)]
    dual = gains - sum(v * v for v in combined) / 2
    if scaling:
        dual -= (Fraction(scaling) * sum(beta)) ** 2 / 2
    assert Fraction(proof.dual) <= dual <= primal


@every_loss
@pytest.mark.parametrize("intercept", [{}, {"fit_intercept": False}, {"penalize_intercept": True}], ids=str)
@both_solvers
def test_weak_duality_holds_all_along(loss, intercept, solver):
    X, y = data_of(loss)
    tol = 1e-9 if solver == "newton" else 1e-6
    model = machine(loss, C=1.0, tol=tol, solver=solver, random_state=0, **intercept).fit(X, y)
    history = np.array(model.history_)
    assert (history[:, 1] >= history[:, 2]).all()
    assert (np.diff(history[:, 0]) >= 0).all()
    assert (np.diff(history[:, 1]) <= 0).all()
    assert (np.diff(history[:, 2]) >= 0).all()
    assert history[-1, 1] == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert history[-1, 2] == pytest.approx(model.certificate_.dual, rel=1e-9)
    assert model.certificate_.relative < 2 * tol


@both_solvers
def test_kkt_conditions_and_classes_of_points(solver):
    X, y = load("heart_scale")
    model = LinearSVC(tol=1e-10, solver=solver, random_state=0).fit(X, y)
    alpha, slack = np.abs(model.dual_coef_[0]), model.slack(X, y)
    margins = signs_of(y) * model.decision_function(X)
    assert (margins[alpha == 0] >= 1 - 1e-4).all()
    assert (margins[alpha > 1 - 1e-9] <= 1 + 1e-4).all()
    free = (alpha > 1e-6) & (alpha < 1 - 1e-6)
    np.testing.assert_allclose(margins[free], 1.0, atol=1e-4)
    proof = model.certificate_
    assert isinstance(proof, ClassificationGap)
    assert proof.kkt_violation < 1e-4
    assert proof.outside + proof.on_margin + proof.inside + proof.misclassified == len(y)
    assert proof.misclassified == (slack >= 1).sum()
    assert set(model.support_) == set(np.flatnonzero(alpha))
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(model.coef_))
    np.testing.assert_allclose(model.coef_, model.dual_coef_ @ X, atol=1e-4)


@both_solvers
def test_kkt_conditions_of_a_tube(solver):
    X, y = data_of("epsilon_insensitive")
    model = LinearSVR(epsilon=0.3, tol=1e-10, solver=solver, random_state=0).fit(X, y)
    beta, slack = model.dual_coef_[0], model.slack(X, y)
    residuals = y - model.predict(X)
    assert (np.abs(residuals[beta == 0]) <= 0.3 + 1e-4).all()
    assert (residuals[beta > 1 - 1e-9] >= 0.3 - 1e-4).all()
    assert (residuals[beta < 1e-9 - 1] <= 1e-4 - 0.3).all()
    free = (np.abs(beta) > 1e-6) & (np.abs(beta) < 1 - 1e-6)
    np.testing.assert_allclose(residuals[free], 0.3 * np.sign(beta[free]), atol=1e-4)
    proof = model.certificate_
    assert isinstance(proof, RegressionGap)
    assert proof.kkt_violation < 1e-4
    assert proof.within_epsilon + proof.on_boundary + proof.beyond_epsilon == len(y)
    assert proof.beyond_epsilon == (slack > 1e-6).sum()
    assert abs(beta.sum()) < 1e-9
    assert set(model.support_) == set(np.flatnonzero(beta))
    np.testing.assert_allclose(model.coef_, beta @ X, atol=1e-4)


@every_loss
def test_a_changed_model_and_a_tampered_certificate_are_refused(loss):
    X, y = data_of(loss)
    model = machine(loss, tol=1e-6).fit(X, y)
    claimed, proven = model.certificate_, certify(model, X, y)
    claimed.check(proven)
    claimed.check(certify(model, sp.csr_array(X), y))
    counts = {"outside": 2, "misclassified": 0} if loss in CLASSIFIER_LOSSES else {"beyond_epsilon": 0}
    for name, factor in {"primal": 0.999, "dual": 1.001, "kkt_violation": 0.5, **counts}.items():
        value = getattr(claimed, name) * factor
        with pytest.raises(CertificateError):
            dataclasses.replace(claimed, **{name: type(getattr(claimed, name))(value)}).check(proven)
    with pytest.raises(CertificateError, match="does not hold"):
        dataclasses.replace(claimed, dual=claimed.primal * 1.1)
    model.coef_ = model.coef_ * 1.05
    with pytest.raises(CertificateError, match="primal"):
        claimed.check(certify(model, X, y))
    with pytest.raises(ValueError, match="X"):
        certify(model, X[1:], y[1:])


@every_loss
@both_solvers
def test_warm_start_saves_steps(loss, solver):
    X, y = data_of(loss)
    model = machine(loss, tol=1e-6, warm_start=True, solver=solver, random_state=0).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X[:100], y[:100])


@every_loss
@pytest.mark.parametrize("intercept", [{}, {"fit_intercept": False}, {"penalize_intercept": True}], ids=str)
@both_solvers
def test_rows_of_zeros_repeated_rows_and_contradictions_are_ordinary(loss, intercept, solver):
    X, y = random_set(0)
    rows = np.vstack([X, np.zeros((4, X.shape[1])), X[:10], X[:5]])
    labels = np.concatenate([y, [1, -1, 1, 1], y[:10], -y[:5]])
    for C in (0.01, 1.0, 1e4) if solver == "newton" else (0.01, 1.0):
        model = machine(loss, C=C, solver=solver, random_state=0, **intercept).fit(sp.csr_array(rows), labels)
        assert model.status_ is Status.SOLVED
        assert model.certificate_.relative <= 1e-4


@both_solvers
def test_points_all_alike_leave_only_the_intercept(solver):
    model = LinearSVC(solver=solver).fit(np.ones((5, 2)), [0, 1, 1, 1, 0])
    assert model.certificate_.relative <= 1e-4
    assert (model.predict(np.ones((2, 2))) == 1).all()
    flat = LinearSVR(solver=solver).fit(np.zeros((5, 2)), [3.0, 1.0, 2.0, 8.0, -4.0])
    assert flat.certificate_.relative <= 1e-4
    assert flat.predict(np.ones((1, 2)))[0] == pytest.approx(2.0, abs=1e-3)


@both_solvers
def test_values_all_alike_have_a_flat_plane(solver):
    X, _ = random_set(0)
    for value in (0.0, 7.0):
        model = LinearSVR(epsilon=0.1, solver=solver).fit(X, np.full(len(X), value))
        assert np.abs(model.predict(X) - value).max() <= 0.1 + 1e-3
        assert model.status_ is Status.SOLVED


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("size", [1e-100, 1e-20, 1e20, 1e60, 1e130])
@every_loss
@both_solvers
def test_extreme_scales_end_with_a_true_certificate(size, loss, solver):
    X, y = random_set(0)
    model = machine(loss, max_iter=100, solver=solver).fit(X * size, y)
    assert np.isfinite(model.coef_).all()
    model.certificate_.check(certify(model, X * size, y))


@both_solvers
def test_many_classes_have_a_proof_each(solver):
    X, y = load("letter.scale")
    X, y = X[:800], y[:800]
    shared = {"C": 0.1, "solver": solver, "random_state": 0}
    model = LinearSVC(**shared, n_jobs=2).fit(X, y)
    assert all(isinstance(proof, SVMGap) and proof.relative <= 1e-4 for proof in model.certificate_.values())
    one = LinearSVC(**shared, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(model.coef_, one.coef_)
    assert model.slack(X, y).shape == (len(y), len(model.classes_))


@every_loss
@both_solvers
@pytest.mark.parametrize("data", [data_of, many_rows], ids=["few rows", "many rows"])
def test_the_same_seed_gives_the_same_bits_for_every_n_jobs(loss, solver, data):
    X, y = data(loss)
    shared = {"C": 0.1, "tol": 1e-3, "solver": solver, "random_state": 4}
    models = [machine(loss, n_jobs=n_jobs, **shared).fit(X, y) for n_jobs in (1, 2, 3)]
    for other in models[1:]:
        np.testing.assert_array_equal(other.coef_, models[0].coef_)
        np.testing.assert_array_equal(other.intercept_, models[0].intercept_)
        np.testing.assert_array_equal(other.dual_coef_, models[0].dual_coef_)
        assert [row[1:] for row in other.history_] == [row[1:] for row in models[0].history_]


@every_loss
def test_different_seeds_agree_within_the_gap(loss):
    X, y = data_of(loss)
    models = [machine(loss, tol=1e-3, solver="coordinate", random_state=seed).fit(X, y) for seed in range(4)]
    assert len({model.coef_.tobytes() for model in models}) == 4
    for one in models:
        for other in models:
            assert one.certificate_.dual <= value_of(other, X, y)
            assert value_of(other, X, y) <= value_of(one, X, y) + other.certificate_.gap


@every_loss
@both_solvers
def test_single_precision_dense_and_sparse_rows_are_the_same_problem(loss, solver):
    X, y = data_of(loss)
    single = X.astype(np.float32)
    double = single.astype(np.float64)
    models = [
        machine(loss, tol=1e-6, solver=solver, random_state=0).fit(rows, y)
        for rows in (double, single, sp.csr_array(double), sp.csr_array(single), sp.csc_array(double))
    ]
    for model in models:
        assert model.coef_.dtype == np.float64
        assert model.certificate_.relative <= 1e-6
        assert value_of(model, double, y) == pytest.approx(value_of(models[0], double, y), rel=1e-6)
        assert model.certificate_.dual <= value_of(models[0], double, y)
        assert value_of(model, double, y) <= model.objective_


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
                model = LinearSVC(C, loss=loss, fit_intercept=fit_intercept, solver="coordinate", selection=selection)
                model.fit(X, X[:, 0] > X[:, 2] ** 2, sample_weight=weights)
print("done")
"""


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


@every_loss
@both_solvers
@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"max_time": 1e-9}], ids=str)
def test_limits_are_told_with_the_gap(loss, solver, limit):
    X, y = data_of(loss)
    name = next(iter(limit))
    with pytest.warns(LimitWarning, match=f"{name} was reached.*usable.*Proven: .*duality gap"):
        model = machine(loss, tol=1e-9, solver=solver, **limit).fit(X, y)
    assert model.status_ is (Status.ITERATION_LIMIT if name == "max_iter" else Status.TIME_LIMIT)
    assert np.isfinite(model.objective_)
    model.certificate_.check(certify(model, X, y))


def test_a_run_that_stalls_is_told_with_the_gap(monkeypatch):
    def stall(run):
        run._proximal_step()
        run.best.status = Status.STALLED

    monkeypatch.setattr(newton.NewtonRun, "until_gap", stall)
    X, y = load("heart_scale")
    with pytest.warns(LimitWarning, match="the gap stopped shrinking above tol.*duality gap"):
        model = LinearSVC(tol=1e-12, solver="newton").fit(X, y)
    model.certificate_.check(certify(model, X, y))


@every_loss
@both_solvers
@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_a_gap_that_rounding_forbids_ends_at_rounding(loss, solver):
    X, y = data_of(loss)
    model = machine(loss, C=0.1, tol=1e-18, solver=solver, random_state=0).fit(X[:60], y[:60])
    assert model.status_ in (Status.SOLVED, Status.STALLED)
    assert model.certificate_.relative < 1e-10


@pytest.mark.parametrize(("loss", "C"), [("hinge", 10.0), ("squared_hinge", 1.0), ("squared_hinge", 10.0)])
@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_rows_far_from_the_origin_are_slow_which_is_not_to_stall(loss, C):
    generator = np.random.default_rng(0)
    X, y = generator.normal(loc=100.0, size=(100, 2)), generator.integers(0, 2, 100)
    model = LinearSVC(C=C, loss=loss, solver="coordinate", max_iter=5000, random_state=0).fit(X, y)
    assert model.status_ in (Status.SOLVED, Status.ITERATION_LIMIT)


SHARED_MISTAKES = [
    ({"C": 0.0}, "C"),
    ({"C": np.inf}, "C"),
    ({"C": np.nan}, "C"),
    ({"C": "1"}, "C"),
    ({"loss": "log"}, "loss"),
    ({"tol": 0.0}, "tol"),
    ({"tol": None}, "tol"),
    ({"max_iter": 0}, "max_iter"),
    ({"max_iter": 2.5}, "max_iter"),
    ({"max_time": 0.0}, "max_time"),
    ({"solver": "lbfgs"}, "solver"),
    ({"selection": "newest"}, "selection"),
    ({"selection": "cyclic", "solver": "newton"}, "selection"),
    ({"selection": "greedy", "solver": "newton"}, "selection"),
    ({"fit_intercept": "yes"}, "fit_intercept"),
    ({"penalize_intercept": True, "fit_intercept": False}, "penalize_intercept"),
    ({"penalize_intercept": "yes"}, "penalize_intercept"),
    ({"intercept_scaling": 2.0}, "intercept_scaling"),
    ({"intercept_scaling": 0.0, "penalize_intercept": True}, "intercept_scaling"),
    ({"intercept_scaling": np.inf, "penalize_intercept": True}, "intercept_scaling"),
    ({"n_jobs": 1.5}, "n_jobs"),
    ({"n_jobs": 0}, "n_jobs"),
    ({"random_state": "seed"}, "random_state"),
    ({"warm_start": 3}, "warm_start"),
]


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        *SHARED_MISTAKES,
        ({"loss": "epsilon_insensitive"}, "loss"),
        ({"class_weight": "heavy"}, "class_weight"),
        ({"multi_class": "ovo"}, "multi_class"),
        ({"multi_class": "crammer_singer", "loss": "squared_hinge"}, "loss"),
        ({"multi_class": "crammer_singer", "solver": "newton"}, "solver"),
        ({"multi_class": "crammer_singer", "selection": "greedy"}, "selection"),
    ],
    ids=str,
)
def test_bad_parameters(parameters, name):
    X, y = load("heart_scale")
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        LinearSVC(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        *SHARED_MISTAKES,
        ({"loss": "hinge"}, "loss"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"epsilon": np.inf}, "epsilon"),
        ({"epsilon": np.nan}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
    ],
    ids=str,
)
def test_bad_parameters_of_a_regression(parameters, name):
    X, y = load("heart_scale")
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        LinearSVR(**parameters).fit(X, y)


X_SMALL, Y_SMALL = random_set(0)


@pytest.mark.parametrize(
    ("model", "targets", "message"),
    [
        (LinearSVC(), np.where(Y_SMALL > 0, np.nan, 0.0), "y contains NaN"),
        (LinearSVC(), np.ones(60), "y has only one class"),
        (LinearSVC(), np.linspace(0, 1, 60), "y cannot be used"),
        (LinearSVC(), Y_SMALL[:-1], "X and y must have as many rows"),
        (LinearSVC(), None, "y"),
        (LinearSVR(), np.where(Y_SMALL > 0, np.nan, 0.0), "y contains NaN"),
        (LinearSVR(), np.where(Y_SMALL > 0, np.inf, 0.0), "y contains infinity"),
        (LinearSVR(), np.array(["high", "low"] * 30), "y"),
        (LinearSVR(), Y_SMALL + 1j, "y|Complex"),
        (LinearSVR(), np.column_stack([Y_SMALL, Y_SMALL]), "y"),
        (LinearSVR(), Y_SMALL * 1e150, "y has values too large"),
        (LinearSVR(), Y_SMALL[:-1], "X and y must have as many rows"),
        (LinearSVR(), None, "y"),
    ],
)
def test_bad_targets(model, targets, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X_SMALL, targets)


@pytest.mark.parametrize("model", [LinearSVC(), LinearSVR()], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    "weights",
    [-np.ones(60), np.full(60, np.nan), np.ones(59), np.zeros(60), np.where(Y_SMALL > 0, 1e-200, 1.0)],
    ids=["negative", "NaN", "too few", "all zero", "too small"],
)
def test_bad_weights(model, weights):
    with pytest.raises(ValueError, match="weight"):
        model.fit(X_SMALL, Y_SMALL, sample_weight=weights)


def test_a_warm_start_needs_the_rows_and_the_classes_of_the_last_fit():
    model = LinearSVC(warm_start=True).fit(X_SMALL, Y_SMALL)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X_SMALL[1:], Y_SMALL[1:])
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X_SMALL, np.arange(60) % 3)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X_SMALL, np.where(Y_SMALL > 0, "yes", "no"))
    line = LinearSVR(warm_start=True).fit(X_SMALL, Y_SMALL)
    with pytest.raises(ValueError, match="warm_start"):
        line.fit(X_SMALL[1:], Y_SMALL[1:])


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (LinearSVC(C=1e300), "C must be between"),
        (LinearSVC(C=1e-300), "C must be between"),
        (LinearSVC(penalize_intercept=True, intercept_scaling=1e-200), "intercept_scaling must be between"),
        (LinearSVR(C=1e300), "C must be between"),
        (LinearSVR(epsilon=np.inf), "epsilon"),
    ],
)
def test_factors_whose_squares_overflow_are_refused(model, name):
    X, y = load("heart_scale")
    with pytest.raises(ValueError, match=name):
        model.fit(X, y)


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


def test_both_solvers_in_turn_give_the_same_bits_for_any_number_of_threads():
    X, y = random_set(6, n=4000, d=120, noise=0.1)
    one, two = (LinearSVC(C=3.0, tol=1e-6, n_jobs=n_jobs, random_state=4).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_a_best_objective_of_zero_is_solved_and_told_without_a_ratio():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(50, 3)), generator.uniform(-0.05, 0.05, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearSVR(epsilon=0.1).fit(X, y)
    assert model.status_ is Status.SOLVED
    assert str(model.certificate_).startswith("duality gap")


def test_a_gap_that_rounding_hides_from_the_proof_is_told():
    X, y = load("leu")
    with pytest.warns(LimitWarning, match="stopped shrinking"):
        model = LinearSVC(C=30.0, tol=1e-9, solver="newton").fit(X.toarray(), y)
    assert model.status_ is Status.STALLED
    assert model.certificate_.relative > 1e-9


@pytest.mark.parametrize("C", [1e-6, 1e-3])
@pytest.mark.parametrize("loss", ["squared_hinge", "squared_epsilon_insensitive"])
def test_both_solvers_reach_the_gap_of_squared_losses_at_small_prices(loss, C):
    X, y = data_of(loss)
    if loss in REGRESSION_LOSSES:
        y = y + 100.0
    for solver in ("coordinate", "newton"):
        model = machine(loss, C=C, solver=solver, max_time=20).fit(X, y)
        assert model.status_ is Status.SOLVED, solver
        assert model.certificate_.relative <= 1e-4


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


def test_an_error_leaves_the_model_as_it_was():
    X, y = data_of("hinge")
    model = LinearSVC(warm_start=True).fit(X, y)
    before = model.predict(X)
    for bad in ((X[:50, :2], y[:50]), (X, np.ones(len(y))), (X[:5] * np.nan, y[:5])):
        with pytest.raises(ValueError, match=r"rows|class|NaN"):
            model.fit(*bad)
        np.testing.assert_array_equal(model.predict(X), before)
    fresh = LinearSVC()
    with pytest.raises(ValueError, match="one class"):
        fresh.fit(X, np.ones(len(y)))
    assert not hasattr(fresh, "n_features_in_")


def test_history_never_contradicts_weak_duality_at_the_finest_gap():
    for seed in range(40):
        X, y = random_set(seed, n=12, d=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LimitWarning)
            model = LinearSVC(solver="newton", tol=1e-14).fit(X, y)
        for _, primal, dual in model.history_:
            assert type(dual) is float
            assert dual <= primal


def test_prices_times_weights_have_a_range():
    X, y = data_of("hinge")
    with pytest.raises(ValueError, match="C times sample_weight"):
        LinearSVC(C=1e60).fit(X, y, sample_weight=np.full(len(y), 1e60))


def test_slack_of_a_regression_checks_its_arguments():
    X, y = data_of("epsilon_insensitive")
    model = LinearSVR(epsilon=0.1).fit(X, y)
    np.testing.assert_allclose(model.slack(X, y), np.maximum(0, np.abs(y - model.predict(X)) - 0.1))
    with pytest.raises(ValueError, match=r"rows|samples"):
        model.slack(X, y[:-1])
    with pytest.raises(ValueError, match="NaN"):
        model.slack(X, np.full(len(y), np.nan))
