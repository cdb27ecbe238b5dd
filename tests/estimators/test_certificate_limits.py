"""After Ctrl-C and after ``max_time`` a certificate ends in time, or the model has none and claims nothing."""

import os
import signal
import time

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError

import maxmargin as mm
from maxmargin.data.interruption import InterruptedPassError, check_interruption, ending_when
from maxmargin.engine import Threads
from maxmargin.estimators import _progress
from maxmargin.estimators._progress import FitLimits
from maxmargin.files.model import load, save
from maxmargin.problems.kernel_expansion import each_block
from maxmargin.solvers.core import Monitor, StopRequest, interrupt_handler
from real_data import random_set

MODELS = [
    mm.Perceptron(max_iter=30),
    mm.MarginPerceptron(max_iter=30),
    mm.KernelPerceptron(max_iter=30),
    mm.LinearSVC(),
    mm.LinearSVC(C=np.inf),
    mm.LinearSVC(multi_class="crammer_singer"),
    mm.LinearSVR(),
    mm.LogisticRegression(),
    mm.LogisticRegression(multi_class="ovr"),
    mm.LogisticRegression(C=np.inf),
    mm.SVC(),
    mm.SVC(C=np.inf, kernel="linear"),
    mm.SVC(probability=True),
    mm.SVR(),
    mm.Ridge(),
    mm.Lasso(),
    mm.ElasticNet(),
    mm.BayesianRegression(),
    mm.LinearSVC(penalty="l1", loss="squared_hinge", dual=False),
    mm.LogisticRegression(l1_ratio=0.5, multi_class="ovr"),
    mm.NuSVC(nu=0.05),
    mm.NuSVR(),
    mm.OneClassSVM(),
    mm.Perceptron(max_iter=30, penalty="l2"),
]
# What only a certificate proves.
OF_CERTIFICATES = ("certificate_", "_dual_point", "objective_")


def data_for(model):
    X, y = random_set(3, n=80, d=4, noise=0.0)
    if is_regressor(model):
        return X, X @ np.arange(4.0) + y
    if np.isinf(getattr(model, "C", 1.0)):
        return X, np.sign(X[:, 0])
    return X, np.where(X[:, 1] > 1.0, 2, y)


@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_a_certificate_that_is_broken_off_leaves_a_model_that_claims_nothing(model, first, monkeypatch, tmp_path):
    n_checks, X, y = [0], *data_for(model)

    def must_end(_):
        n_checks[0] += 1
        return n_checks[0] > first

    monkeypatch.setattr(FitLimits, "must_end_certificate", must_end)
    if "max_time" in model.get_params():
        model = clone(model).set_params(max_time=60.0)
    found = clone(model).fit(X, y)
    if n_checks[0] <= first:
        pytest.skip("the certificate asks less often")
    assert found.status_ == "time limit"
    assert not any(hasattr(found, name) for name in OF_CERTIFICATES)
    monkeypatch.undo()
    whole = clone(model).fit(X, y)
    np.testing.assert_array_equal(found.predict(X), whole.predict(X))
    # What data prove is not lost, and files hold such models.
    proof = mm.certify(found, X, y)
    assert type(proof) is type(whole.certificate_)
    save(found, tmp_path / "model", X, y)
    again = load(tmp_path / "model")
    assert not hasattr(again, "certificate_")
    assert str(mm.certify(again, X, y)) == str(proof)


@pytest.mark.parametrize("model", [mm.LinearSVC(), mm.Ridge(), mm.SVC(), mm.KernelPerceptron(max_iter=9)], ids=repr)
def test_no_time_for_a_certificate_is_said(model, monkeypatch):
    monkeypatch.setattr(FitLimits, "must_end_certificate", lambda _: True)
    X, y = data_for(model)
    with pytest.warns(mm.LimitWarning, match=r"no time for a certificate: maxmargin\.certify"):
        clone(model).set_params(max_time=60.0).fit(X, y)


def test_certificates_end_soon_after_either_limit(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(_progress.time, "perf_counter", lambda: now[0])
    limits, request = FitLimits(10.0, StopRequest()), StopRequest()
    assert limits.seconds_left == pytest.approx(10.0)
    limits.begin_certificate()
    now[0] = 110.7
    assert not limits.must_end_certificate()
    assert not limits.seconds_left
    now[0] = 110.9
    assert limits.must_end_certificate()
    assert limits.status == "time limit"
    # A certificate that begins late, after loops were compiled, has time of its own.
    limits.begin_certificate()
    assert not limits.must_end_certificate()
    limits = FitLimits(None, request)
    now[0] += 1e6
    assert not limits.must_end_certificate()
    request.set()
    assert not limits.must_end_certificate()
    request.requested_at = now[0]
    now[0] += 0.59
    assert not limits.must_end_certificate()
    now[0] += 0.02
    assert limits.must_end_certificate()
    assert (limits.status, limits.seconds_left) == ("interrupted", 0.0)


def test_threads_inherit_the_limit():
    stopped = [False]

    def block(_):
        stopped[0] = True

    for n_threads in (1, 2):
        stopped[0] = False
        with ending_when(lambda: stopped[0]), pytest.raises(InterruptedPassError):
            each_block(10_000, 10, block, n_threads)
        with ending_when(lambda: True), Threads(n_threads) as threads, pytest.raises(InterruptedPassError):
            threads.run([check_interruption] * 4)
    # Outside of the context nothing is broken off.
    each_block(100, 10, block, 2)
    check_interruption()


def test_a_fit_within_a_fit_shares_the_request():
    found = []

    def fit_within_a_fit():
        with interrupt_handler() as outer:
            with interrupt_handler() as inner:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.01)
            found.append((outer, inner))

    with pytest.raises(KeyboardInterrupt):
        fit_within_a_fit()
    ((outer, inner),) = found
    assert inner is outer
    assert outer.requested_at <= time.perf_counter()


def test_a_signal_before_the_first_step_is_raised_at_once(monkeypatch):
    """Nothing is lost yet, and the last model stays."""
    X, y = data_for(mm.LinearSVC())
    model = mm.LinearSVC().fit(X, y)
    before = dict(vars(model))

    def interrupted(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        raise AssertionError("the signal was not raised")

    monkeypatch.setattr(mm.LinearSVC, "_tasks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model) == before


@pytest.mark.filterwarnings("ignore")
def test_probabilities_share_the_limits(monkeypatch):
    """The fits to the folds end with the fit that needs them, by Ctrl-C and by its time."""
    X, y = data_for(mm.SVC())
    given, fit = [], mm.SVC.fit

    def recorded(model, *data, **more):
        given.append(model.max_time)
        return fit(model, *data, **more)

    monkeypatch.setattr(mm.SVC, "fit", recorded)
    timed = mm.SVC(probability=True, max_time=40.0).fit(X, y)
    assert len(given) == 6
    assert all(seconds <= 8.0 for seconds in given[1:])
    assert timed.predict_proba(X).shape == (80, 3)
    check_limits, n_fits = Monitor.check_limits, len(given)

    def interrupt_in_a_fold(monitor):
        if len(given) == n_fits + 3:
            monitor.stop_requested.set()
        return check_limits(monitor)

    monkeypatch.setattr(Monitor, "check_limits", interrupt_in_a_fold)
    model = mm.SVC(probability=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.score(X, y) == timed.score(X, y)
    assert not hasattr(model, "calibration_")
    with pytest.raises(NotFittedError, match="may not have fitted them"):
        model.predict_proba(X)


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("kind", [mm.LinearSVC, mm.LogisticRegression])
def test_classes_that_were_not_begun_are_left_untouched(kind, C, monkeypatch):
    """With many classes, preparing every one after Ctrl-C would take longer than the answer may."""
    X, _ = random_set(5, n=120, d=3)
    y = X.argmax(axis=1) + 3 * (X[:, 0] > 1.0)
    model = kind(C=C, n_jobs=1).set_params(**{"multi_class": "ovr"} if kind is mm.LogisticRegression else {})
    check_limits, n_runs, solver = Monitor.check_limits, [0], kind._solver

    def counted(self, problem):
        solve = solver(self, problem)

        def run(*arguments):
            n_runs[0] += 1
            return solve(*arguments)

        return run

    def interrupt(monitor):
        monitor.stop_requested.set()
        return check_limits(monitor)

    monkeypatch.setattr(kind, "_solver", counted)
    monkeypatch.setattr(Monitor, "check_limits", interrupt)
    # Small data are solved in compiled calls that ask for no limits.
    monkeypatch.setattr("maxmargin.data.Points.small_rows", None)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert n_runs == [1]
    assert model.status_ == "interrupted"
    assert not model.coef_[1:].any()
    # What is claimed of them is true, and they can be certified.
    model.certificate_.check(mm.certify(model, X, y))
    assert model.predict(X).shape == y.shape
