"""No fitted attribute is nan, and none is infinite but for bounds: a fit without a model says why in an error."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

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
    LogisticRegression(C=float("inf"), solver="gradient", step_size=1e3, **LIMITS),
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


@pytest.mark.parametrize("weight", [None, 1e100, 1e-100])
@pytest.mark.parametrize("eta0", [1e-100, 1e-50, 1.0, 1e50, 1e100])
@pytest.mark.parametrize("size", [1e-130, 1e30, 1e139])
def test_the_bound_of_extreme_steps_is_a_number_or_an_error(size, eta0, weight):
    X, y = size * np.array([[-0.5], [1.3], [1.0], [-1.0]]), [0, 1, 0, 1]
    weights = None if weight is None else np.array([weight, 1.0, 1.0, weight])
    for model in (
        Perceptron(eta0=eta0, init="random", max_iter=20),
        Perceptron(eta0=eta0, normalize=True, rule="batch", max_iter=20),
    ):
        assert_all_or_an_error(model, X, np.array(y), weights)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("model", "name"),
    [
        (Perceptron(warm_start=True), "coef_"),
        (Perceptron(warm_start=True), "intercept_"),
        (LinearSVC(warm_start=True), "dual_coef_"),
        (LinearSVC(warm_start=True, multi_class="crammer_singer"), "dual_coef_"),
        (LinearSVR(warm_start=True), "dual_coef_"),
        (LogisticRegression(C=1.0, warm_start=True), "coef_"),
        (LogisticRegression(C=1.0, warm_start=True), "intercept_"),
        (Lasso(warm_start=True), "coef_"),
        (Lasso(warm_start=True), "intercept_"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_a_warm_start_has_to_be_finite(model, name, bad):
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    model = clone(model).fit(X, y)
    value = getattr(model, name)
    if np.ndim(value):
        value.flat[-1] = bad
    else:
        setattr(model, name, bad)
    with pytest.raises(ValueError, match=r"warm_start=True: the attributes of the last fit .* not finite"):
        model.fit(X, y)


def test_a_stream_from_a_model_that_is_not_finite_is_refused():
    X, y = np.array([[1.0], [-1.0]]), [1, 0]
    for model in (Perceptron(), KernelPerceptron(kernel="linear")):
        model.fit(X, y)
        model.intercept_ = model.intercept_ * math.nan
        if isinstance(model, Perceptron):
            model._ends = [type(model._ends[0])(w=np.array([math.nan]))]
        with pytest.raises(ValueError, match="not finite"):
            model.partial_fit(X, y)


ABSENT = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "model",
    [
        Perceptron(),
        LinearSVC(),
        LinearSVC(loss="squared_hinge"),
        LinearSVC(multi_class="crammer_singer"),
        LogisticRegression(C=1.0),
        LogisticRegression(C=float("inf")),
        SVC(),
        SVC(kernel="linear"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_a_class_of_weight_zero_is_never_predicted(model):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0], [5.0], [6.0]]), np.array([0, 0, 1, 1, 2, 2])
    assert_all_or_an_error(model, X, y, ABSENT)
    assert set(model.predict(X)) <= {0, 1}
    assert (model.predict(X[:4]) == y[:4]).all()


@pytest.mark.parametrize("kind", [LinearSVC, SVC])
def test_a_hard_margin_needs_rows_of_every_class(kind):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0], [5.0], [6.0]]), np.array([0, 0, 1, 1, 2, 2])
    with pytest.raises(ValueError, match=r"sample_weight is zero for all rows of class 2.*give it a positive weight"):
        kind(C=math.inf).fit(X, y, sample_weight=ABSENT)
    with pytest.raises(ValueError, match="class_weight is, and C=inf"):
        kind(C=math.inf, class_weight={1: 0.0}).fit(X, y)


def test_kernel_values_that_cancel_are_told():
    with pytest.raises(ValueError, match=r"SVC: .*_ is not finite.*Centre and rescale the columns of X"):
        SVC(C=math.inf, kernel="linear").fit([[1e12], [1e12 + 1.0]], [0, 1])
