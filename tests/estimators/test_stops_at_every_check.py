"""Fits that are stopped at any check of their limits: they end there, and what they state is true."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_regressor

import maxmargin as mm
from maxmargin.certificates import MarginBracket
from maxmargin.estimators._shared import certificates_of
from maxmargin.solvers.core import Monitor, Status
from real_data import random_set

TOLERANCE = {"tol": 1e-9}
MODELS = [
    mm.Perceptron(max_iter=30),
    mm.MarginPerceptron(max_iter=30),
    mm.KernelPerceptron(max_iter=30),
    mm.LinearSVC(**TOLERANCE),
    mm.LinearSVC(C=np.inf),
    mm.LinearSVC(multi_class="crammer_singer", **TOLERANCE),
    mm.LinearSVR(**TOLERANCE),
    mm.LogisticRegression(**TOLERANCE),
    mm.LogisticRegression(multi_class="ovr", **TOLERANCE),
    mm.LogisticRegression(C=np.inf),
    mm.LogisticRegression(l1_ratio=1.0, **TOLERANCE),
    mm.LogisticRegression(l1_ratio=0.5, multi_class="ovr", **TOLERANCE),
    mm.LinearSVC(penalty="l1", loss="squared_hinge", dual=False, **TOLERANCE),
    mm.SVC(**TOLERANCE),
    mm.SVC(C=np.inf, kernel="linear"),
    mm.SVR(**TOLERANCE),
    mm.SVR(C=np.inf, **TOLERANCE),
    mm.NuSVC(nu=0.05, **TOLERANCE),
    mm.NuSVR(**TOLERANCE),
    mm.OneClassSVM(**TOLERANCE),
    mm.OneClassSVM(kernel="linear", **TOLERANCE),
    mm.Ridge(positive=True, **TOLERANCE),
    mm.Lasso(**TOLERANCE),
    mm.ElasticNet(**TOLERANCE),
]


def data_for(model):
    X, y = random_set(3, n=80, d=4, noise=0.0)
    # Away from the origin, where a one-class machine has a hyperplane.
    X = X + 3.0
    if is_regressor(model):
        return X, X @ np.arange(4.0) + y
    if np.isinf(getattr(model, "C", 1.0)):
        return X, np.sign(X[:, 0] - 3.0)
    return X, np.where(X[:, 1] > 4.0, 2, y)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_fits_end_at_every_check(model, monkeypatch):
    # Small data are solved in compiled calls that ask for no limits.
    monkeypatch.setattr("maxmargin.data.Points.small_rows", None)
    X, y = data_for(model)
    n_checks, last, check_limits = [0], [np.inf], Monitor.check_limits

    def check(monitor):
        n_checks[0] += 1
        return Status.TIME_LIMIT if n_checks[0] > last[0] else check_limits(monitor)

    monkeypatch.setattr(Monitor, "check_limits", check)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = clone(model).fit(X, y)
        n_of_whole = n_checks[0]
        for most in np.unique(np.geomspace(1, max(1, n_of_whole - 1), 30).astype(int)).tolist():
            n_checks[0], last[0] = 0, most
            try:
                stopped = clone(model).fit(X, y)
            except mm.NotSeparableError:
                continue
            # A run makes no further steps, and asks at most once for each of its tasks, and stages, that follow.
            assert n_checks[0] <= most + 40
            assert stopped.predict(X).shape == (80,)
            n_tasks = len(certificates_of(whole.certificate_, 10**9))
            proofs = [certificates_of(model.certificate_, n_tasks) for model in (stopped, whole)]
            for proof, other in zip(*proofs, strict=True):
                if isinstance(proof, MarginBracket):
                    assert proof.lower <= other.upper * (1.0 + 1e-9)
                    assert other.lower <= proof.upper * (1.0 + 1e-9)
                elif hasattr(proof, "primal") and getattr(proof, "reach", 0.0) == getattr(other, "reach", 0.0):
                    # Without a penalty a dual value is a bound for coefficients within a reach.
                    off = 1e-9 * abs(other.primal)
                    assert proof.dual <= other.primal + off
                    assert other.dual <= proof.primal + off
