"""Bad input gets an error that names the argument and says what to do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from maxmargin import (
    KernelPerceptron,
    LimitWarning,
    LinearSVC,
    MarginPerceptron,
    Perceptron,
    PerceptronRun,
    Ridge,
    incremental_search_bound,
    margin_perceptron_bound,
    margins,
    mistake_bound,
)
from real_data import random_set

X, y = random_set(0)
ESTIMATORS = [Perceptron, MarginPerceptron, KernelPerceptron]


def changed(value, at=(0, 0)):
    rows = X.copy()
    rows[at] = value
    return rows


@pytest.mark.parametrize("model", ESTIMATORS)
@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (changed(np.nan), y, "Input X contains NaN"),
        (changed(np.inf), y, "Input X contains infinity"),
        (sp.csr_array(changed(np.nan)), y, "Input X contains NaN"),
        (X[:0], y[:0], "0 sample"),
        (X[:, :0], y, "0 feature"),
        (X[0], y, "Expected 2D array"),
        (X[None], y, "X"),
        (X[:-1], y, r"X and y must have as many rows.*\[59, 60\]"),
        (X, np.ones(60), "y has only one class, 1.0; give rows of at least two classes"),
        (X, np.where(y > 0, np.nan, y), "Input y contains NaN"),
        (X, np.random.default_rng(0).random(60), "y cannot be used: Unknown label type"),
        (X, None, "y"),
        (pd.DataFrame({"a": X[:, 0], "town": ["Rome"] * 60}), y, "X has columns of text, dates or categories: town"),
        (pl.DataFrame({"a": X[:, 0], "town": ["Rome"] * 60}), y, "X has columns of text, dates or categories: town"),
        ([["red", 1.0]] * 60, y, "X cannot be used: could not convert string"),
        (X + 1j, y, "Complex data not supported"),
        (pd.DataFrame({"a": X[:, 0], "day": pd.to_datetime(["2026-01-01"] * 60)}), y, "X has columns of .*: day"),
        (X * 1e160, y, "X has values too large"),
        (X * 1e-160, y, "X has values too small"),
        (X * 1e-200, y, "X has values too small"),
        (X, [None, "a"] * 30, "y"),
        (X, y[:-1], "X and y must have as many rows"),
    ],
    ids=lambda value: "" if not isinstance(value, str) else value[:20],
)
def test_bad_training_data(model, rows, labels, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model().fit(rows, labels)


@pytest.mark.parametrize("model", ESTIMATORS)
def test_bad_data_to_predict(model):
    fitted = model(max_iter=3)
    with pytest.warns(LimitWarning):
        fitted.fit(X, y)
    with pytest.raises(ValueError, match="X has 6 features"):
        fitted.predict(X[:, 1:])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        fitted.predict(changed(np.nan))
    with pytest.raises(Exception, match="not fitted"):
        model().predict(X)


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"eta0": 0.0}, "eta0"),
        ({"eta0": 1e308}, "eta0"),
        ({"rule": "stochastic"}, "rule"),
        ({"init": "ones"}, "init"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"max_time": 0}, "max_time"),
        ({"average": -3}, "average"),
        ({"class_weight": "fair"}, "class_weight"),
        ({"class_weight": {1: -2.0}}, "class_weight"),
        ({"random_state": "seed"}, "random_state"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
        ({"average": True, "rule": "batch"}, "average=True needs rule='online'"),
        ({"early_stopping": True, "validation_fraction": 0.99}, "validation_fraction"),
    ],
)
def test_bad_parameters_of_the_perceptron(parameters, name):
    with pytest.raises(ValueError, match=name):
        Perceptron(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": -1.0}, "gamma"),
        ({"min_gamma": 1.5}, "min_gamma"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters_of_the_margin_perceptron(parameters, name):
    with pytest.raises(ValueError, match=name):
        MarginPerceptron(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "cubic"}, "kernel"),
        ({"gamma": -1.0}, "gamma"),
        ({"degree": -1}, "degree"),
        ({"degree": 2.5}, "degree"),
        ({"kernel": "poly", "gamma": 1e100, "degree": 5}, "kernel gives values that are not finite"),
        ({"cache_size": -1}, "cache_size"),
        ({"kernel": "precomputed"}, "X has shape .* square"),
        ({"kernel": lambda *_: np.zeros(3)}, "kernel returned shape"),
        (
            {"kernel": lambda a, b: np.full((a.shape[0], b.shape[0]), np.nan)},
            "kernel returned values that are not finite",
        ),
    ],
)
def test_bad_parameters_of_the_kernel_perceptron(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelPerceptron(**parameters).fit(X, y)


def test_bad_weights_and_starts():
    with pytest.raises(ValueError, match="sample_weight"):
        Perceptron().fit(X, y, sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="sample_weight"):
        Perceptron().fit(X, y, sample_weight=np.ones(10))
    with pytest.raises(ValueError, match="sample_weight"):
        Perceptron().fit(X, y, sample_weight=np.full(60, 1e200))
    with pytest.raises(ValueError, match="sample_weight cannot be used"):
        Perceptron().fit(X, y, sample_weight=np.zeros(60))
    with pytest.raises(ValueError, match="coef_init"):
        Perceptron().fit(X, y, coef_init=np.ones(3))
    with pytest.raises(ValueError, match="coef_init"):
        Perceptron().fit(X, y, coef_init=np.full(7, np.nan))
    with pytest.raises(ValueError, match="intercept_init"):
        Perceptron(fit_intercept=False).fit(X, y, intercept_init=[1.0])


@pytest.mark.parametrize("model", [Perceptron, KernelPerceptron])
def test_bad_streams(model):
    with pytest.raises(ValueError, match="classes must be passed"):
        model().partial_fit(X, y)
    with pytest.raises(ValueError, match="y has labels"):
        model().partial_fit(X, y, classes=[1, 2])
    with pytest.raises(ValueError, match="classes has 1 label"):
        model().partial_fit(X, y, classes=[1])
    fitted = model().partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match="classes"):
        fitted.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="X has 6 features"):
        fitted.partial_fit(X[:, 1:], y)
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        Perceptron(class_weight="balanced").partial_fit(X, y, classes=[-1, 1])
    assert not hasattr(Perceptron(rule="batch"), "partial_fit")
    assert not hasattr(Perceptron(early_stopping=True), "partial_fit")
    assert not hasattr(KernelPerceptron(kernel="precomputed"), "partial_fit")


def test_a_gram_matrix_must_be_symmetric():
    with pytest.raises(ValueError, match="X is not symmetric"):
        KernelPerceptron(kernel="precomputed").fit(np.triu(np.ones((60, 60))), y)


@pytest.mark.parametrize("function", [margins, mistake_bound])
def test_functions_of_two_classes(function):
    w = np.ones(7)
    with pytest.raises(ValueError, match=rf"y has 3 classes .* {function.__name__} takes exactly two"):
        function(X, np.arange(60) % 3, w)
    with pytest.raises(ValueError, match="y has 1 classes"):
        function(X, np.ones(60), w)
    with pytest.raises(ValueError, match="coef has shape"):
        function(X, y, np.ones(3))
    with pytest.raises(ValueError, match="intercept has 2 entries"):
        function(X, y, w, [1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        function(X, y, w * np.nan)
    with pytest.raises(ValueError, match="coef is zero"):
        function(X, y, w * 0)
    with pytest.raises(ValueError, match="coef and intercept must be numbers"):
        function(X, y, ["a"] * 7)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        function(X, np.where(y > 0, np.nan, 1.0), w)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        function(changed(np.nan), y, w)
    with pytest.raises(ValueError, match="X has columns of text"):
        function(pd.DataFrame({"town": ["Rome", "Bari"]}), [0, 1], [1.0])


def test_bad_arguments_of_the_bounds():
    with pytest.raises(ValueError, match="gamma"):
        mistake_bound(X, y, np.ones(7), gamma=0.0)
    with pytest.raises(ValueError, match="gamma"):
        mistake_bound(X, y, np.ones(7), gamma="wide")
    for passes in (0, 1.5):
        with pytest.raises(ValueError, match="passes"):
            PerceptronRun(passes=passes)
    with pytest.raises(ValueError, match="intercept is not zero"):
        mistake_bound(X, y, np.ones(7), 1.0, augmented=False)
    for bound in (margin_perceptron_bound, incremental_search_bound):
        with pytest.raises(ValueError, match="gamma"):
            bound(1.0, 0.0)
        with pytest.raises(ValueError, match="radius"):
            bound(-1.0, 1.0)


@pytest.mark.parametrize("index", [-1, 4, 2**30])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_sparse_rows_with_indices_outside_of_their_columns_are_refused(index, kind):
    X = kind(np.arange(1.0, 25.0).reshape(6, 4))
    y = np.array([0, 1, 0, 1, 0, 1])
    fitted = LinearSVC().fit(X.copy(), y)
    damaged = X.copy()
    damaged.indices[5] = index
    with pytest.raises(ValueError, match="column indices"):
        Ridge().fit(damaged, y)
    with pytest.raises(ValueError, match="column indices"):
        fitted.predict(damaged)
