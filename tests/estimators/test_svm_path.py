"""Support vector machines along many values of C, and the textbook's other way of writing C."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import textbook
from maxmargin import C_from_lambda, LinearSVC, PerClass, Status, certify, svm_path
from real_data import load, random_set, signs_of

TOL = 1e-6
PRICES = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
both_solvers = pytest.mark.parametrize("solver", ["newton", "coordinate"])
both_losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


@both_losses
@both_solvers
@pytest.mark.parametrize(
    "intercept", [{}, {"fit_intercept": False}, {"penalize_intercept": True, "intercept_scaling": 2.0}], ids=str
)
def test_every_model_of_a_path_is_as_good_as_one_fitted_alone(loss, solver, intercept):
    X, y = load("heart_scale")
    shared = {"loss": loss, "solver": solver, "tol": TOL, "random_state": 0, **intercept}
    models = svm_path(X, y, PRICES, **shared)
    alone = [LinearSVC(C=C, **shared).fit(X, y) for C in PRICES]
    assert [model.C for model in models] == PRICES
    for model, cold in zip(models, alone, strict=True):
        assert model.status_ is Status.SOLVED
        assert model.certificate_.relative <= TOL
        assert model.certificate_.dual <= cold.objective_
        assert cold.certificate_.dual <= model.objective_
        assert abs(model.objective_ - cold.objective_) <= max(model.certificate_.gap, cold.certificate_.gap)
        model.certificate_.check(certify(model, X, y))


@both_losses
@pytest.mark.parametrize("tol", [1e-4, 1e-6])
def test_a_rising_path_takes_no_more_newton_steps_than_models_fitted_alone(loss, tol):
    X, y = load("heart_scale")
    shared = {"loss": loss, "solver": "newton", "tol": tol}
    prices = 0.1 * 2.0 ** np.arange(6)
    alone = sum(LinearSVC(C=C, **shared).fit(X, y).n_iter_ for C in prices)
    assert sum(model.n_iter_ for model in svm_path(X, y, prices, **shared)) <= alone


@both_solvers
def test_a_path_may_fall_or_turn_and_ends_where_it_should(solver):
    X, y = load("heart_scale")
    for prices in (PRICES[::-1], [1.0, 0.01, 10.0, 1.0]):
        models = svm_path(X, y, prices, solver=solver, random_state=0)
        assert [model.C for model in models] == prices
        assert all(model.certificate_.relative <= 1e-4 for model in models)
    first, *_, last = models
    assert first.objective_ == pytest.approx(last.objective_, rel=1e-4)


def test_a_path_takes_any_iterable_and_leaves_models_that_stand_alone():
    X, y = load("heart_scale")
    models = svm_path(X, y, (C for C in np.geomspace(0.1, 1.0, 3)))
    assert len(models) == 3
    assert not any(model.warm_start for model in models)
    again = models[0].get_params()
    assert again == LinearSVC(C=0.1).get_params()
    X_other, y_other = X[:100], y[:100]
    assert models[0].fit(X_other, y_other).status_ is Status.SOLVED


def test_a_path_knows_weights_and_many_classes():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    for model in svm_path(X, y, [0.1, 1.0], sample_weight=weights):
        alone = LinearSVC(C=model.C).fit(X, y, sample_weight=weights)
        assert isinstance(model.certificate_, PerClass)
        for label, proof in model.certificate_.items():
            assert proof.relative <= 1e-4
            assert proof.dual <= alone.certificate_[label].primal
            assert alone.certificate_[label].dual <= proof.primal


@pytest.mark.parametrize(
    ("prices", "parameters", "name"),
    [
        ([], {}, "Cs"),
        (np.empty(0), {}, "Cs"),
        ([1.0], {"C": 2.0}, "C"),
        ([1.0], {"warm_start": True}, "warm_start"),
        ([1.0], {"warm_start": False}, "warm_start"),
        ([1.0, -1.0], {}, "C"),
        ([0.0], {}, "C"),
        ([np.inf], {}, "Cs must be between"),
        (1.0, {}, "Cs must be a list"),
        ([1.0], {"loss": "log"}, "loss"),
    ],
    ids=str,
)
def test_a_path_refuses(prices, parameters, name):
    X, y = random_set(0)
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        svm_path(X, y, prices, **parameters)


@pytest.mark.parametrize(
    ("lam", "C"), [(0.05, 10.0), (0.5, 1.0), (1, 0.5), (np.float64(2.0), 0.25), (np.int64(5), 0.1)]
)
def test_the_price_of_slack_that_belongs_to_a_price_of_length(lam, C):
    assert C_from_lambda(lam) == C
    assert type(C_from_lambda(lam)) is float


@given(st.floats(1e-300, 1e300))
def test_the_two_prices_have_the_same_ratio(lam):
    assert C_from_lambda(lam) * lam == pytest.approx(0.5)


@pytest.mark.parametrize("lam", [0.0, -1.0, np.nan, np.inf, "1", None, [1.0], 1j], ids=str)
def test_a_price_of_length_must_be_a_positive_number(lam):
    with pytest.raises(ValueError, match=r"\blam\b"):
        C_from_lambda(lam)


@pytest.mark.parametrize("lam", [0.005, 0.1, 2.0, 50.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@both_losses
def test_the_lambda_form_is_minimised(lam, fit_intercept, loss):
    X, y = load("heart_scale")
    X, signs = X.toarray()[:80], signs_of(y)[:80]
    form = {"of_w": 2 * lam, "squared": loss == "squared_hinge", "rho": 0.0 if fit_intercept else np.inf}
    prices = np.ones(len(X))
    program = textbook.solve(X, signs, prices, **form)
    best = textbook.objective(X, signs, prices, program.w, program.b, **form)
    assert program.dual == pytest.approx(best, rel=1e-8)
    model = LinearSVC(C=C_from_lambda(lam), loss=loss, fit_intercept=fit_intercept, tol=TOL).fit(X, signs)
    ours = textbook.objective(X, signs, prices, model.coef_[0], model.intercept_[0], **form)
    assert best * (1 - 1e-8) <= ours <= best * (1 + TOL)
    assert model.certificate_.dual * 2 * lam <= best <= model.certificate_.primal * 2 * lam * (1 + 1e-8)
