"""What the fit template promises of all estimators: a failed fit changes nothing, warnings name the user's line."""

import inspect
import linecache
import pickle
import warnings
from pathlib import Path
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
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators._solvers import solver_at
from maxmargin.files import read_data
from maxmargin.loops import jit
from real_data import random_set

ESTIMATORS = [getattr(maxmargin, name) for name in maxmargin.__all__ if hasattr(getattr(maxmargin, name), "fit")]
every_estimator = pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)


def fail(*_, **__):
    raise RuntimeError("in the middle of a fit")


def test_every_estimator_is_found():
    assert len(ESTIMATORS) >= 11


def test_an_estimator_that_leaves_out_a_step_cannot_be_made():
    class WithoutAttributes(CertifiedModel):
        def _validate(self, X, y, sample_weight):
            """A step of the template."""

    with pytest.raises(TypeError, match="_set_attributes"):
        WithoutAttributes()


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


def called_at(caught, category=LimitWarning):
    """The comments of the lines of this file that warnings of a category, of limits for example, name."""
    limits = [warning for warning in caught if issubclass(warning.category, category)]
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


def test_warnings_of_functions_point_at_the_line_that_calls_them(tmp_path):
    X = np.arange(50_000, dtype=np.int64).reshape(-1, 2) + (1 << 60)
    y = np.arange(25_000) >= 12_500
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "".join(f"{k},{'uv'[k % 2]},{k % 3 > 0:d}\n" for k in range(30)))
    (tmp_path / "others.csv").write_text("a,b\n1,w\n")
    rows = read_data(tmp_path / "rows.csv", target="y")
    model = LinearSVC().fit(rows.X, rows.y)
    rows.name_features(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        maxmargin.separate(X, y, tol=1.0)  # separate
        maxmargin.hull_distance(X, y, tol=1.0)  # hull_distance
        with maxmargin.checkpoints(tmp_path / "checkpoint"):  # checkpoints
            pass
        read_data(tmp_path / "others.csv", like=model)  # read_data
    assert called_at(caught, UserWarning) == ["separate", "hull_distance", "checkpoints", "read_data"]


def test_the_warning_of_a_damaged_cache_points_at_the_line_that_calls_a_loop(monkeypatch):
    def broken(*_):
        raise EOFError

    monkeypatch.setattr(jit, "_load_machine_code", broken)
    monkeypatch.setattr(jit._TolerantCache, "has_warned", False)
    loop = jit.jit(plus_one)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert loop(1) == 2  # a loop
    assert called_at(caught, jit.CacheWarning) == ["a loop"]


def plus_one(number):
    return number + 1


def test_a_folder_whose_name_begins_as_the_packages_is_the_users():
    path = f"{Path(maxmargin.__file__).parent}_experiments/run.py"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile("model.fit(*data)", path, "exec"), {"model": LIMITED[0], "data": four_classes()})
    assert {warning.filename for warning in caught} == {path}


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
