"""What the fit template promises of all estimators: a failed fit changes nothing, warnings name the user's line."""

import inspect
import linecache
import pickle
import warnings
from typing import get_type_hints

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    KernelPerceptron,
    Lasso,
    LimitWarning,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MarginPerceptron,
    Perceptron,
)
from maxmargin.estimators._solvers import solver_at
from real_data import random_set

ESTIMATORS = [getattr(maxmargin, name) for name in maxmargin.__all__ if hasattr(getattr(maxmargin, name), "fit")]
every_estimator = pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)


def fail(*_, **__):
    raise RuntimeError("in the middle of a fit")


def test_every_estimator_is_found():
    assert len(ESTIMATORS) >= 11


@every_estimator
def test_every_solver_of_a_table_takes_the_problems_of_its_row(kind):
    rows = [
        (problem, place)
        for problem, places in kind._solvers.items()
        for place in ([places] if isinstance(places, str) else places.values())
    ]
    for problem, place in rows:
        takes = get_type_hints(inspect.unwrap(solver_at(place)))["problem"]
        assert issubclass(problem, takes), place
    # Pairs of classes share what a table cannot hold.
    assert rows or kind in (maxmargin.SVC, maxmargin.NuSVC)


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("step", ["_validate", "_problems", "_solving", "_set_attributes", "_certify", "_finish"])
@every_estimator
def test_a_fit_that_fails_at_any_step_leaves_the_last_one(kind, step, monkeypatch):
    model = kind().fit(*random_set(0, n=40, d=3))
    before, stored = dict(vars(model)), pickle.dumps(vars(model))
    X, y = random_set(1, n=50, d=4)
    monkeypatch.setattr(kind, step, fail)
    with pytest.raises(RuntimeError, match="in the middle"):
        model.fit(X, y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert pickle.dumps(vars(model)) == stored
    # A first fit that fails leaves no attribute of a fit.
    fresh = kind()
    with pytest.raises(RuntimeError, match="in the middle"):
        fresh.fit(X, y)
    assert vars(fresh) == vars(kind())


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@every_estimator
def test_a_fit_to_bad_data_leaves_the_last_one(kind):
    model = kind().fit(*random_set(0, n=40, d=3))
    before, stored = dict(vars(model)), pickle.dumps(vars(model))
    X, y = random_set(1, n=50, d=4)
    if kind is maxmargin.OneClassSVM:
        # It ignores y.
        X[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"X and y must have as many rows|Input X contains NaN"):
        model.fit(X, y[:-1])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert pickle.dumps(vars(model)) == stored


LIMITED = [
    Perceptron(max_iter=1),
    Perceptron(rule="batch", max_iter=1),
    MarginPerceptron(max_iter=1),
    KernelPerceptron(max_iter=1),
    LinearSVC(max_iter=1, tol=1e-12),
    LinearSVC(multi_class="crammer_singer", max_iter=1, tol=1e-12),
    LinearSVR(max_iter=1, tol=1e-12),
    LogisticRegression(C=float("inf"), max_iter=1, tol=1e-12),
    SVC(max_iter=1, tol=1e-9),
    SVR(max_iter=1, tol=1e-9),
    Lasso(lam=1.0, max_time=1e-9, tol=1e-12),
]


def four_classes():
    X, y = random_set(0, n=300, d=30, noise=0.2)
    return X, (X[:, 0] > 0.0) + 2 * (y > 0)


def called_at(caught):
    """The comments of the lines of this file that warnings of limits name."""
    limits = [warning for warning in caught if issubclass(warning.category, LimitWarning)]
    assert {warning.filename for warning in limits} == {__file__}
    return [linecache.getline(__file__, warning.lineno).partition("# ")[2].strip() for warning in limits]


@pytest.mark.parametrize("model", LIMITED, ids=str)
def test_warnings_of_limits_point_at_the_line_that_calls_fit(model):
    X, y = four_classes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y > 1)  # two classes
        model.fit(X, y)  # four classes
    assert called_at(caught) == ["two classes", "four classes"]


@pytest.mark.parametrize("model", LIMITED, ids=str)
def test_warnings_of_limits_point_at_the_line_that_fits_a_pipeline_or_a_search(model):
    X, y = four_classes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make_pipeline(StandardScaler(), model).fit(X, y)  # a pipeline
        GridSearchCV(model, {"verbose": [0]}, cv=2, error_score="raise").fit(X, y)  # a search
    assert called_at(caught)[0] == "a pipeline"
    assert set(called_at(caught)[1:]) == {"a search"}


@pytest.mark.parametrize("name", ["Perceptron", "LinearSVC", "LinearSVR", "LogisticRegression", "Lasso"])
@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_a_warm_start_refuses_other_feature_names_and_keeps_the_last_model(name):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=["a", "b", "c"])
    model = getattr(maxmargin, name)(warm_start=True).fit(frame, frame.a > 0)
    coef = model.coef_.copy()
    with pytest.raises(ValueError, match="other feature names"):
        model.fit(frame.rename(columns={"a": "z"}), frame.a > 0)
    assert np.array_equal(model.coef_, coef)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
