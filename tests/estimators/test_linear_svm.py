"""The linear support vector machine: its optimum, its weights, its limits."""

import warnings
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC, SVR
from sklearn.svm import LinearSVC as LiblinearSVC
from sklearn.svm import LinearSVR as LiblinearSVR

from linear_svm_cases import CLASSIFIER_LOSSES, REGRESSION_LOSSES, both_solvers, data_of, every_loss, machine
from maxmargin import (
    LimitWarning,
    LinearSVC,
    LinearSVR,
    Status,
    SVMGap,
    certify,
)
from maxmargin.data import Points
from real_data import load, random_set, signs_of


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
        model = LinearSVC(C=30.0, tol=1e-11, solver="newton").fit(X.toarray(), y)
    assert model.status_ is Status.STALLED
    assert model.certificate_.relative > 1e-11


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


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("offset", [1e4, 1e6, 2.0**30])
@every_loss
def test_columns_far_from_zero_take_the_steps_of_columns_around_zero(loss, offset, sparse):
    generator = np.random.default_rng(5)
    # Multiples of 2^-20: the offset rounds none of them.
    near = np.round(generator.standard_normal((400, 6)) * 2.0**20) / 2.0**20
    y = signs_of(near[:, 0] + near[:, 1] + 0.5 * generator.standard_normal(400) > 0.0)
    far = near + offset * np.array([1.0, -1.0, 1.0, 2.0, -0.5, 1.0])
    here, there = (machine(loss, tol=1e-6, C=10.0) for _ in range(2))
    here.fit(near, y)
    there.fit(sp.csr_array(far) if sparse else far, y)
    assert there.status_ is Status.SOLVED
    assert there.n_iter_ <= 1.2 * here.n_iter_ + 3
    assert there.certificate_.relative <= 1e-6
    assert there.certificate_.dual <= here.objective_
    assert here.certificate_.dual <= there.objective_
    # The certificate is one of the user's own rows: in rational numbers.
    w, b = [Fraction(float(v)) for v in np.ravel(there.coef_)], Fraction(float(np.ravel(there.intercept_)[0]))
    value = sum(v * v for v in w) / 2
    for row, target in zip(far.tolist(), y.tolist(), strict=True):
        score = sum(v * Fraction(x) for v, x in zip(w, row, strict=True)) + b
        residual = Fraction(target) - score
        excess = target * residual if loss in CLASSIFIER_LOSSES else abs(residual) - Fraction(there.epsilon)
        value += 10 * max(Fraction(0), Fraction(excess)) ** (2 if "squared" in loss else 1)
    assert value <= Fraction(there.certificate_.primal)
    again = certify(there, far, y)
    assert again.relative <= 1e-6


def test_ordinary_rows_are_not_copied():
    """Columns of ones, positive ones and far ones that are the smaller part of the rows stay as they are."""
    generator = np.random.default_rng(6)
    X = generator.random((300, 5))
    for rows in (X, np.column_stack([np.ones(300), X - 0.5]), sp.csr_array(X), X - 0.5):
        points = Points(rows)
        assert points.centring.points is points
