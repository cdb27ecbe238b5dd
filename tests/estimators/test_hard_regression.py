"""SVR with C = inf: residuals of at most epsilon without exception, or a proof that no function has such."""

import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from scipy.optimize import LinearConstraint, minimize
from sklearn.datasets import load_diabetes, make_regression
from sklearn.preprocessing import scale

import maxmargin as mm
from checker_cases import verdicts, write_data
from maxmargin.files.verification import check_model

X, Y = load_diabetes(return_X_y=True)
X, Y = scale(X), scale(Y)


@pytest.mark.parametrize(("kernel", "epsilon"), [("linear", 1.8), ("linear", 1.7), ("rbf", 0.1), ("rbf", 1.0)])
def test_the_gap_bounds_norm_and_residuals(kernel, epsilon):
    model = mm.SVR(C=math.inf, kernel=kernel, epsilon=epsilon).fit(X, Y)
    proof = model.certificate_
    assert model.status_ == "solved"
    assert 0.0 < proof.dual <= proof.primal <= (1.0 + model.tol) * proof.dual
    assert 2.0 * np.abs(model.dual_coef_).max() == model.C_
    # Half of the squared norm, and the residuals beyond epsilon.
    gram = X @ X.T if kernel == "linear" else np.exp(-model._gamma * np.square(X[:, None] - X).sum(axis=2))
    duals = np.zeros(len(X))
    duals[model.support_] = model.dual_coef_[0]
    assert 0.5 * duals @ gram @ duals <= proof.primal
    assert model.slack(X, Y).sum() <= 2.0 * proof.gap / model.C_
    proof.check(mm.certify(model, X, Y))
    finer = mm.SVR(C=math.inf, kernel=kernel, epsilon=epsilon, tol=1e-6).fit(X, Y)
    assert proof.dual <= finer.certificate_.primal
    assert finer.certificate_.dual <= proof.primal
    assert finer.slack(X, Y).max() < 1e-4


def test_agreement_with_a_quadratic_program_and_with_large_penalties():
    rows, targets, epsilon = X[:40, :3], Y[:40], 1.7
    found = minimize(
        lambda v: 0.5 * v[:3] @ v[:3],
        np.zeros(4),
        jac=lambda v: np.append(v[:3], 0.0),
        constraints=LinearConstraint(np.column_stack([rows, np.ones(40)]), targets - epsilon, targets + epsilon),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    model = mm.SVR(C=math.inf, kernel="linear", epsilon=epsilon, tol=1e-7).fit(rows, targets)
    assert found.success
    np.testing.assert_allclose(model.coef_[0], found.x[:3], atol=1e-4)
    np.testing.assert_allclose(model.intercept_[0], found.x[3], atol=1e-4)
    rival = sklearn.svm.SVR(C=1e6, kernel="linear", epsilon=epsilon, tol=1e-8).fit(rows, targets)
    np.testing.assert_allclose(model.predict(rows), rival.predict(rows), atol=1e-4)


def test_weights_say_which_rows_count_and_sparse_rows_give_the_same():
    weights = np.where(np.arange(len(X)) % 3, 0.7, 0.0)
    options = {"C": math.inf, "kernel": "linear", "epsilon": 1.8, "tol": 1e-7}
    weighted = mm.SVR(**options).fit(X, Y, weights)
    kept = mm.SVR(**options).fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_allclose(weighted.predict(X), kept.predict(X), atol=1e-5)
    assert pytest.approx(kept.C_, rel=1e-3) == weighted.C_
    compressed = mm.SVR(**options).fit(sp.csr_array(X), Y, weights)
    np.testing.assert_allclose(compressed.predict(sp.csr_array(X)), weighted.predict(X), atol=1e-5)
    twice = mm.SVR(**options).fit(np.vstack([X, X]), np.tile(Y, 2))
    np.testing.assert_allclose(twice.predict(X), mm.SVR(**options).fit(X, Y).predict(X), atol=1e-4)


def test_model_files_hold_what_proves_the_gap(tmp_path):
    model = mm.SVR(C=math.inf, kernel="linear", epsilon=1.8).fit(X, Y)
    mm.save(model, tmp_path / "model", X, Y)
    again = mm.load(tmp_path / "model")
    assert again.C_ == model.C_
    assert again.certificate_ == model.certificate_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    check_model(again, again._data_to_certify(X, Y, None), mm.certify(again, X, Y))
    write_data(tmp_path / "data", X, Y)
    found = verdicts(tmp_path / "model", tmp_path / "data")
    assert found["primal"] == found["dual"] == "TRUE"
    assert "FALSE" not in found.values()


@pytest.mark.parametrize(
    ("rows", "targets", "options"),
    [
        (X, Y, {"kernel": "linear", "epsilon": 1.0}),
        (X, Y, {"kernel": "linear", "epsilon": 0.0}),
        (sp.csr_array(X), Y, {"kernel": "linear", "epsilon": 1.5}),
        (X[:, :2], Y, {"kernel": "poly", "degree": 2, "epsilon": 0.5}),
        # Equal points with different targets.
        (np.ones((4, 2)), np.array([0.0, 1.0, 0.0, 1.0]), {"epsilon": 0.1}),
        (np.zeros((4, 2)), np.array([0.0, 1.0, 0.0, 1.0]), {"kernel": "linear", "epsilon": 0.4}),
        (np.vstack([X, X[:1]]), np.append(Y, Y[0] + 1.0), {"epsilon": 0.1}),
    ],
)
def test_no_solution_is_proven(rows, targets, options):
    with pytest.raises(mm.InfeasibleError, match="raise epsilon") as caught:
        mm.SVR(C=math.inf, **options).fit(rows, targets)
    # Every function with such residuals is at least this long.
    assert caught.value.certificate.dual > 0.0
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.certificate == caught.value.certificate
    assert mm.SVR(C=0.1, **options).fit(rows, targets).slack(rows, targets).max() > 0.0


def test_a_constant_within_epsilon_has_no_duals():
    model = mm.SVR(C=math.inf, epsilon=10.0).fit(X, Y)
    assert model.status_ == "solved"
    assert model.support_.size == 0
    assert model.slack(X, Y).max() == 0.0


def test_limits_are_kept():
    with pytest.warns(mm.LimitWarning):
        model = mm.SVR(C=math.inf, max_iter=3).fit(X, Y)
    assert model.n_iter_ <= 3
    model.certificate_.check(mm.certify(model, X, Y))


@pytest.mark.parametrize("C", [math.inf, 1e10])
def test_a_penalty_that_bounds_no_dual_gives_the_optimum_to_all_digits(C):
    rows, targets = make_regression(random_state=0)
    model = mm.SVR(C=C).fit(rows, targets)
    assert model.status_ == "solved"
    # All points have residuals of epsilon, so that the duals and the intercept solve a linear system.
    assert model.support_.size == len(rows)
    gram = np.exp(-model._gamma * np.square(rows[:, None] - rows).sum(axis=2))
    ones = np.ones((len(rows), 1))
    system = np.block([[gram, ones], [ones.T, np.zeros((1, 1))]])
    right = np.append(targets - model.epsilon * np.sign(model.dual_coef_[0]), 0.0)
    exact = np.linalg.solve(system, right)
    np.testing.assert_allclose(model.dual_coef_[0], exact[:-1], rtol=1e-8)
    np.testing.assert_allclose(model.predict(rows), gram @ exact[:-1] + exact[-1], rtol=1e-7)


@pytest.mark.parametrize("shape", [(35, 3), (40, 3), (100, 3)], ids=str)
@pytest.mark.parametrize("machine", [mm.SVC, mm.SVR])
def test_small_sets_of_random_points_are_solved(machine, shape):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows, noise = rng.normal(size=shape), rng.normal(size=shape[0])
        # Targets without any relation to the rows, and with one.
        for targets in (noise, rows[:, 0] + 0.3 * noise):
            model = machine(C=math.inf).fit(rows, targets > 0.0 if machine is mm.SVC else targets)
            assert model.status_ == "solved", seed
            assert model.certificate_.relative <= model.tol
