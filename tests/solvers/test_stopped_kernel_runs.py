"""Runs of SMO that are stopped at any check of the limits: they end with duals whose values are true."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.datasets import make_classification

import maxmargin as mm
from maxmargin.solvers.core import Monitor, Status

X, CLASSES = make_classification(700, 6, n_informative=4, flip_y=0.1, random_state=0)
TARGETS = X @ np.arange(6.0) + CLASSES
MODELS = [mm.SVC(C=10.0), mm.SVR(C=10.0), mm.NuSVC(nu=0.3), mm.NuSVR(nu=0.3), mm.OneClassSVM(nu=0.3)]


@pytest.mark.parametrize("stores_matrix", [True, False])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_runs_end_at_every_check(model, stores_matrix, monkeypatch):
    """Small working sets and early shrinking: a run of a few hundred rows then has all stages."""
    for module in ("smo", "nu_smo"):
        monkeypatch.setattr(f"maxmargin.solvers.kernel.{module}.WORKING_SET", 16)
        monkeypatch.setattr(f"maxmargin.solvers.kernel.{module}.KEPT", 16)
        monkeypatch.setattr(f"maxmargin.solvers.kernel.{module}.SETS_TO_SHRINK", 3)
        monkeypatch.setattr(f"maxmargin.solvers.kernel.{module}.SMALLEST_SAMPLE", 16)
        monkeypatch.setattr(f"maxmargin.solvers.kernel.{module}.SHRUNK_SHARE", 1e9)
    monkeypatch.setattr("maxmargin.solvers.kernel.nu_smo.WHOLE", 32)
    monkeypatch.setattr("maxmargin.solvers.kernel.kernel_cache.SMALLEST_CACHE", 0.1)
    model = clone(model).set_params(tol=1e-6, cache_size=200.0 if stores_matrix else 0.1)
    y = TARGETS if is_regressor(model) else CLASSES
    n_checks, last = [0], [np.inf]
    check_limits = Monitor.check_limits

    def check(monitor):
        n_checks[0] += 1
        return Status.TIME_LIMIT if n_checks[0] > last[0] else check_limits(monitor)

    monkeypatch.setattr(Monitor, "check_limits", check)
    whole = clone(model).fit(X, y)
    n_of_whole = n_checks[0]
    for most in np.unique(np.geomspace(1, n_of_whole - 1, 40).astype(int)).tolist():
        n_checks[0], last[0] = 0, most
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mm.LimitWarning)
            stopped = clone(model).fit(X, y)
        assert stopped.status_ == "time limit"
        assert stopped.certificate_.dual <= whole.certificate_.primal + 1e-9 * abs(whole.certificate_.primal)
        assert stopped.certificate_.primal >= whole.certificate_.dual - 1e-9 * abs(whole.certificate_.dual)
