"""Every estimator asks its limits often: processor time between two checks, which other programs do not change."""

import contextlib
import time

import numpy as np
import pytest
from numba.core import event
from sklearn.base import clone, is_regressor
from sklearn.datasets import make_classification

import maxmargin as mm
from maxmargin.solvers.core.monitor import Monitor

X, CLASSES = make_classification(6000, 40, n_informative=20, n_classes=6, n_clusters_per_class=1, random_state=0)
TARGETS = X @ np.random.default_rng(0).standard_normal(40) + 10.0 * (CLASSES == 2)
# Seconds of processor time: the longest interval that was measured is 0.33, with a certificate that was broken off.
LONGEST = 0.6
# What is promised (docs/reliability.md).
BEYOND_MAX_TIME, SHARE_BEYOND_MAX_TIME, AFTER_INTERRUPT = 0.5, 0.05, 1.0
MAX_TIME = 0.3
TOLERANCE = {"tol": 1e-13}
MODELS = {
    "LinearSVC": mm.LinearSVC(C=1e3, **TOLERANCE),
    "LinearSVC, hard": mm.LinearSVC(C=np.inf),
    "Crammer-Singer": mm.LinearSVC(multi_class="crammer_singer", **TOLERANCE),
    "LinearSVR": mm.LinearSVR(C=1e3, **TOLERANCE),
    "SVC": mm.SVC(C=1e3, **TOLERANCE),
    "SVC, hard": mm.SVC(C=np.inf, gamma=1e-3, **TOLERANCE),
    "SVR": mm.SVR(C=1e3, **TOLERANCE),
    "LogisticRegression": mm.LogisticRegression(C=1e6, **TOLERANCE),
    "LogisticRegression, no penalty": mm.LogisticRegression(C=np.inf, **TOLERANCE),
    "LogisticRegression, one against the rest": mm.LogisticRegression(C=1e6, multi_class="ovr", **TOLERANCE),
    "LogisticRegression, 1-norm": mm.LogisticRegression(C=1e3, multi_class="ovr", l1_ratio=0.5, **TOLERANCE),
    "LinearSVC, 1-norm": mm.LinearSVC(C=1e3, penalty="l1", loss="squared_hinge", dual=False, **TOLERANCE),
    "NuSVC": mm.NuSVC(nu=0.3, **TOLERANCE),
    "NuSVR": mm.NuSVR(C=1e3, **TOLERANCE),
    "OneClassSVM": mm.OneClassSVM(nu=0.3, **TOLERANCE),
    "ElasticNet": mm.ElasticNet(alpha=1e-6, **TOLERANCE),
    "Lasso": mm.Lasso(lam=1e-3, **TOLERANCE),
    "Perceptron": mm.Perceptron(max_iter=10**9, early_stopping=True, n_iter_no_change=10**9),
    "MarginPerceptron": mm.MarginPerceptron(min_gamma=1e-300),
    "KernelPerceptron": mm.KernelPerceptron(max_iter=10**9),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_limits_are_checked_often(name, monkeypatch):
    model = clone(MODELS[name])
    y = TARGETS if is_regressor(model) else CLASSES
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=1)
    # The clock of a fit is processor time, too, so that its limits are those that users have.
    monkeypatch.setattr(time, "perf_counter", time.process_time)
    compiled = True
    while compiled:
        # Compiles the loops for these data, also those that a run reaches late.
        with event.install_recorder("numba:compile") as recorder, contextlib.suppress(mm.NotSeparableError):
            clone(model).set_params(max_time=1.0).fit(X, y)
        compiled = bool(recorder.buffer)
    check_limits = Monitor.check_limits
    for stop in ("time limit", "interrupt"):
        clocks, signalled = [time.process_time()], []

        def check(monitor, stop=stop, clocks=clocks, signalled=signalled):
            clocks.append(time.process_time())
            if stop == "interrupt" and len(clocks) > 2 and not signalled:
                signalled.append(clocks[-1])
                monitor.stop_requested.set()
            return check_limits(monitor)

        monkeypatch.setattr(Monitor, "check_limits", check)
        stopped = clone(model).set_params(max_time=MAX_TIME if stop == "time limit" else 60.0)
        was_interrupted = False
        try:
            stopped.fit(X, y)
            assert stopped.status_ in ("time limit", "stalled", "solved")
        except KeyboardInterrupt:
            assert stop == "interrupt"
            was_interrupted = True
        except mm.NotSeparableError:
            assert name.endswith("hard")
        clocks.append(time.process_time())
        assert len(clocks) > 2
        assert max(np.diff(clocks)) < LONGEST
        if stop == "time limit":
            assert clocks[-1] - clocks[0] <= MAX_TIME + BEYOND_MAX_TIME + SHARE_BEYOND_MAX_TIME * MAX_TIME
        if was_interrupted:
            assert clocks[-1] - signalled[0] <= AFTER_INTERRUPT
            # There was time for the certificate, and it is that of the vectors.
            stopped.certificate_.check(mm.certify(stopped, X, y))
