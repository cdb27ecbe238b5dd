"""No fitted attribute is nan, and none is infinite but for bounds: a fit without a model says why in an error."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import (
    SVC,
    SVR,
    BayesianRegression,
    CertificateError,
    KernelPerceptron,
    Lasso,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MarginPerceptron,
    Perceptron,
    Ridge,
)
from maxmargin.estimators._finite import MAY_BE_INFINITE, is_finite

LIMITS = {"max_iter": 300, "max_time": 0.5}
CLASSIFIERS = [
    Perceptron(**LIMITS),
    Perceptron(rule="batch", normalize=True, **LIMITS),
    Perceptron(average=True, fit_intercept=False, **LIMITS),
    MarginPerceptron(**LIMITS),
    MarginPerceptron(accelerated=True, **LIMITS),
    KernelPerceptron(**LIMITS),
    KernelPerceptron(kernel="poly", degree=2, **LIMITS),
    LinearSVC(**LIMITS),
    LinearSVC(loss="squared_hinge", C=1e6, **LIMITS),
    LinearSVC(multi_class="crammer_singer", **LIMITS),
    LinearSVC(C=math.inf, **LIMITS),
    LogisticRegression(**LIMITS),
    LogisticRegression(C=1.0, **LIMITS),
    LogisticRegression(solver="gradient", step_size=1e3, **LIMITS),
    SVC(**LIMITS),
    SVC(kernel="linear", C=math.inf, **LIMITS),
    SVC(kernel="poly", C=math.inf, **LIMITS),
]
REGRESSIONS = [
    LinearSVR(**LIMITS),
    LinearSVR(loss="squared_epsilon_insensitive", C=1e6, **LIMITS),
    Ridge(**LIMITS),
    Ridge(lam=0.0, **LIMITS),
    Lasso(**LIMITS),
    BayesianRegression(),
    SVR(**LIMITS),
    SVR(kernel="linear", C=1e6, **LIMITS),
]

SCALES = [1e-300, 1e-160, 1e-140, 1e-100, 1e-30, 1e-8, 1.0, 1e8, 1e12, 1e30, 1e100, 1e139]


@st.composite
def hostile_rows(draw):
    """A few rows of few columns of very different sizes and offsets, with copies, zeros and constants."""
    n, d = draw(st.integers(2, 8)), draw(st.integers(1, 3))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = generator.integers(-2, 3, (n, d)).astype(float)
    if draw(st.booleans()):
        X += generator.standard_normal((n, d))
    for j in range(d):
        X[:, j] = X[:, j] * draw(st.sampled_from(SCALES)) + draw(st.sampled_from([0.0, 0.0, 1.0, 1e12, 1e100]))
    if draw(st.booleans()):
        X[draw(st.integers(0, n - 1))] = 0.0
    return X


@st.composite
def weights_of(draw, n):
    if draw(st.booleans()):
        return None
    return np.array(draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 1e-90, 1e90]), min_size=n, max_size=n)))


def assert_all_or_an_error(model, X, y, weights):
    """A fit raises an error that names what to change, or leaves numbers."""
    takes_weights = not isinstance(model, (MarginPerceptron, KernelPerceptron))
    arguments = {"sample_weight": weights} if takes_weights else {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y, **arguments)
        except CertificateError:
            raise
        except ValueError:
            return
    for name, value in vars(model).items():
        if name.endswith("_") or name in model._private_attributes:
            assert is_finite(value, may_be_infinite=name in MAY_BE_INFINITE), (name, value)
    assert np.isfinite(model.predict(X).astype(float)).all()


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_classifiers_on_hostile_rows(model, data):
    X = data.draw(hostile_rows())
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X))))
    y[:2] = 0, 1
    assert_all_or_an_error(model, X, y, data.draw(weights_of(len(X))))


@pytest.mark.parametrize("model", REGRESSIONS, ids=str)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_regressions_on_hostile_rows(model, data):
    X = data.draw(hostile_rows())
    y = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=len(X), max_size=len(X))), dtype=float)
    y *= data.draw(st.sampled_from(SCALES))
    assert_all_or_an_error(model, X, y, data.draw(weights_of(len(X))))
