"""Parameters, targets and weights that linear support vector machines refuse."""

import numpy as np
import pytest

from linear_svm_cases import data_of
from maxmargin import (
    LinearSVC,
    LinearSVR,
)
from real_data import load, random_set

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
