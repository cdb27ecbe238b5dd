"""A tolerance that float64 cannot prove ends a fit after a bounded number of steps, with a true certificate."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_outlier_detector, is_regressor

import maxmargin as mm
from maxmargin.estimators._base import certificates_of


def hostile_sets():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(30, 3)), rng.normal(size=30)
    first = X[:, 0]
    equal = np.nextafter(first, np.where(rng.random(30) < 0.5, first, 9.0))
    return {
        "columns that are equal up to rounding": (np.column_stack([first, equal, X[:, 1]]), first + noise),
        "columns of very different scales": (X * [1e-6, 1.0, 1e6], first + noise),
        "one row of 1e9": (np.vstack([X, [1e9, -1e9, 1e8]]), np.append(first + noise, 1.0)),
        "columns far from zero": (X + 1e7, first + noise),
        "near separation": (X, first + 1e-3 * noise),
        "equal rows with other targets": (np.vstack([X, X[:5]]), np.append(first, -first[:5])),
        "tiny": (X * 1e-90, first + noise),
    }


SETS = hostile_sets()
# The most steps: pair steps, rounds, epochs or Newton steps.
MODELS = {
    "elastic net": (mm.ElasticNet(alpha=1e-3), 1000),
    "elastic net, not negative": (mm.ElasticNet(alpha=1e-6, l1_ratio=0.99, positive=True), 1000),
    "lasso": (mm.Lasso(lam=1e-6), 1000),
    "nu": (mm.NuSVC(nu=0.1), 100_000),
    "nu, regression": (mm.NuSVR(C=100.0), 100_000),
    "one class": (mm.OneClassSVM(nu=0.2, kernel="linear"), 100_000),
    "L1": (mm.LogisticRegression(l1_ratio=1.0, C=100.0), 1000),
    "L1, joint": (mm.LogisticRegression(l1_ratio=0.9, C=100.0), 1000),
    "L1, hinge": (mm.LinearSVC(penalty="l1", loss="squared_hinge", C=100.0), 1000),
    "logistic": (mm.LogisticRegression(C=1e4), 1000),
    "logistic, joint": (mm.LogisticRegression(C=1e4), 1000),
}


@pytest.mark.parametrize("tol", [1e-300, 1e-30, 1e-15])
@pytest.mark.parametrize("data", SETS)
@pytest.mark.parametrize("name", MODELS)
def test_a_tolerance_beyond_float64_ends_soon(name, data, tol):
    model, most = MODELS[name]
    X, targets = SETS[data]
    y = targets if is_regressor(model) else (targets > 0.0).astype(int)
    if name.endswith("joint"):
        y = y + (targets > 0.7)
    model = clone(model).set_params(tol=tol)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mm.LimitWarning)
            model.fit(X) if is_outlier_detector(model) else model.fit(X, y)
    except ValueError as error:
        if "leaves no margin" not in str(error):
            raise
        return
    assert np.max(model.n_iter_) <= most
    assert model.status_ in (mm.Status.SOLVED, mm.Status.STALLED)
    proofs = certificates_of(model.certificate_, 1 if not hasattr(model, "classes_") else len(model.classes_))
    assert all(proof.dual <= proof.primal for proof in proofs)


@pytest.mark.parametrize("data", SETS)
def test_margin_perceptrons_end_soon(data):
    X, targets = SETS[data]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.LimitWarning)
        for accelerated in (False, True):
            model = mm.MarginPerceptron(min_gamma=1e-2, accelerated=accelerated).fit(X, targets > 0.0)
            assert np.max(model.n_iter_) <= 100_000
            assert model.certificate_.lower <= model.certificate_.upper


@pytest.mark.parametrize("seed", [15, 36])
def test_weights_of_very_different_sizes_end(seed):
    """The primal value of a one-class machine is below zero: that it stays there is no progress."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (20, 6)) * 10.0 ** rng.integers(-40, 44, 6)
    weights = rng.choice([1.0, 1e30, 1e100, 1e-30, 1e-100, 0.0, 2.0], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mm.OneClassSVM(kernel="linear", tol=1e-15, max_iter=100_000).fit(X, sample_weight=weights)
    assert model.status_ == "stalled"
    assert model.n_iter_ < 2000
    model.certificate_.check(mm.certify(model, X, sample_weight=weights))


@pytest.mark.parametrize("seed", [5, 8, 22])
def test_steps_that_underflow_end_in_an_error_that_says_so(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (20, 6)) * 10.0 ** rng.integers(20, 60, 6)
    weights = rng.choice([1.0, 1e30, 1e100, 1e-30, 1e-100, 0.0, 2.0], 20)
    with pytest.raises(ValueError, match="numbers overflow or cancel on these data"):
        mm.OneClassSVM(kernel="linear", tol=1e-15, max_iter=300).fit(X, sample_weight=weights)
