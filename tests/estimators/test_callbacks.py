"""Callbacks, progress and interrupts of the perceptrons."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_iris

from maxmargin import KernelPerceptron, LinearSVC, Perceptron, Status
from perceptron_cases import ALL, LINEAR, quiet
from real_data import load


class Listener:
    """A callback that counts, keeps the models it is shown, and asks to stop after some passes."""

    def __init__(self, stop_after=None):
        self.ends, self.models, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):  # noqa: ARG002
        self.opened = type(estimator).__name__

    def teardown(self, estimator, context):  # noqa: ARG002
        self.closed = type(estimator).__name__

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):  # noqa: ARG002
        self.ends.append(context.task_name)
        if fitted_estimator is not None:
            self.models.append(fitted_estimator)
        return self.stop_after is not None and len(self.ends) >= self.stop_after


@quiet
@pytest.mark.parametrize("model", LINEAR, ids=lambda model: type(model).__name__)
def test_callbacks_hear_every_pass(model):
    X, y = load("heart_scale")
    listener = Listener()
    fitted = clone(model).set_callbacks(listener).fit(X, y)
    assert listener.ends.count("pass") == fitted.n_iter_
    assert listener.ends[-1] == "fit"
    assert (listener.opened, listener.closed) == (type(model).__name__,) * 2
    np.testing.assert_array_equal(listener.models[-1].predict(X), fitted.predict(X))


@quiet
def test_callbacks_hear_every_class_and_may_stop():
    X, y = load_iris(return_X_y=True)
    listener = Listener()
    Perceptron(max_iter=4, tol=None, n_jobs=2).set_callbacks(listener).fit(X, y)
    assert sum("against the rest" in name for name in listener.ends) == 3
    stopped = Perceptron(max_iter=50, tol=None).set_callbacks(Listener(stop_after=3)).fit(X, y == 1)
    assert stopped.n_iter_ == 3
    assert stopped.status_ is Status.INTERRUPTED


@quiet
def test_progress_bar_and_scoring_monitor_of_scikit_learn(capsys):
    X, y = load("heart_scale")
    for model in [*ALL, LinearSVC(max_iter=5)]:
        for labels in (y, np.arange(len(y)) % 3):
            monitor = ScoringMonitor(scoring="accuracy")
            fitted = clone(model).set_callbacks(ProgressBar(), monitor).fit(X, labels)
            assert f"{type(model).__name__} - fit" in capsys.readouterr().out
            assert fitted.n_iter_ >= 1


@quiet
def test_the_last_model_that_a_callback_sees_is_the_fitted_one():
    X, y = load("heart_scale")
    for model in (Perceptron(max_iter=5), KernelPerceptron(max_iter=5)):
        for labels in (y, np.arange(len(y)) % 3):
            listener = Listener()
            fitted = clone(model).set_callbacks(listener).fit(X, labels)
            np.testing.assert_allclose(
                listener.models[-1].decision_function(X), fitted.decision_function(X), rtol=1e-9, atol=1e-9
            )


@quiet
def test_verbose_prints_a_line_a_pass(capsys):
    X, y = load("heart_scale")
    model = Perceptron(max_iter=4, tol=None, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_ + 1
    assert lines[-1].startswith(f"[Perceptron] {model.status_}: ")
    assert f"{model.mistakes_per_pass_[0]} mistakes" in lines[0]


class Failure(Listener):
    """A callback that raises an error in the middle of a fit."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):  # noqa: ARG002
        raise RuntimeError("in the middle of a fit")


@quiet
@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_a_fit_that_fails_leaves_the_last_model_whole(model):
    X, y = load_iris(return_X_y=True)
    fitted = clone(model).fit(X, y)
    before = dict(vars(fitted))
    with_nan = np.where(np.arange(X.shape[1]) == 2, np.nan, X)
    calls = [(fitted.fit, (with_nan, y), ValueError), (fitted.fit, (X, np.zeros(len(y))), ValueError)]
    if hasattr(fitted, "partial_fit"):
        calls.append((fitted.partial_fit, (with_nan, y), ValueError))
        calls.append((fitted.partial_fit, (X[:, :2], y), ValueError))
        calls.append((fitted.partial_fit, (X, y + 5), ValueError))
    for call, arguments, error in calls:
        with pytest.raises(error):
            call(*arguments)
        assert vars(fitted) == before
    fitted.set_callbacks(Failure())
    with pytest.raises(RuntimeError, match="in the middle"):
        fitted.fit(X[:100], y[:100])
    assert {name: vars(fitted)[name] for name in before} == before
    assert fitted.decision_function(X).shape == (150, 3)


INTERRUPTED_FIT = """
import os, signal, threading, time, warnings
import numpy as np
from maxmargin import Perceptron
warnings.simplefilter("ignore")
from real_data import hardly_separable, hardly_separable
X, y = hardly_separable(n_classes={n_classes})
Perceptron(max_iter=2, tol=None).fit(X, y)
model = Perceptron(max_iter=10**9, tol=None, n_jobs={n_jobs})
asked = []
def interrupt():
    asked.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.5, interrupt).start()
try:
    model.fit(X, y)
except KeyboardInterrupt:
    seconds = time.perf_counter() - asked[0]
    proofs = list(model.certificate_.values()) if {n_classes} > 2 else [model.certificate_]
    within = all(count <= proof.bound for count, proof in zip(np.atleast_1d(model.n_updates_), proofs, strict=True))
    print(model.status_, model.coef_.shape, within, seconds < 2.0)
"""


@pytest.mark.parametrize(("n_classes", "n_jobs"), [(2, None), (3, None), (3, 2)])
def test_ctrl_c_keeps_the_model(n_classes, n_jobs):
    """The interrupt is answered soon, the fitted attributes are there, and they are certified."""
    code = INTERRUPTED_FIT.format(n_classes=n_classes, n_jobs=n_jobs)
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    n_planes = 1 if n_classes == 2 else n_classes
    assert result.stdout.strip() == f"interrupted ({n_planes}, 50) True True", result.stderr
