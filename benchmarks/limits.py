"""How soon fits to large sets answer ``max_time`` and Ctrl-C.

    python benchmarks/limits.py [--sets mnist,covtype] [--models Ridge,SVC] [--seconds 2]

Every fit runs three times, with one thread: once to compile, once until ``max_time``, once until a SIGINT; and again
where it has compiled a loop that was not reached before. Printed are the seconds between two checks of the limits of a
solver (the last: the end of the fit, with its certificate), beyond ``max_time``, and from the signal to the end. All
are seconds of processor time, and so are those of ``max_time``: the clock of the fits is replaced, so that other
programs change little, and a fit of one thread takes as long by the clock of an idle machine. A status with a star is
that of a model without a certificate: there was no time.
"""

import argparse
import os
import signal
import threading
import time
import traceback
import warnings
from typing import Any

import numpy as np
from numba.core import event
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

# Before the package takes its clock from there.
time.perf_counter = time.process_time

import maxmargin as mm  # noqa: E402
from data import load_images, load_text  # noqa: E402
from maxmargin.solvers.core.monitor import Monitor  # noqa: E402

TOL = {"tol": 1e-13}


class CalibratedFit(BaseEstimator):
    """A fit of a classifier, and its calibration, which has no limit of its own but Ctrl-C."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: np.ndarray) -> None:
        """Fit and calibrate."""
        model = clone(self.classifier).set_params(max_iter=1, max_time=None).fit(X, y)
        model.set_params(max_iter=None)
        mm.calibrate(model, X, y)


MODELS = {
    "LinearSVC": mm.LinearSVC(C=1.0, **TOL),
    "LinearSVC, squared": mm.LinearSVC(C=1.0, loss="squared_hinge", **TOL),
    "LinearSVC, C=inf": mm.LinearSVC(C=np.inf),
    "LinearSVC, joint": mm.LinearSVC(C=1.0, multi_class="crammer_singer", **TOL),
    "LinearSVC, L1": mm.LinearSVC(C=1.0, penalty="l1", loss="squared_hinge", **TOL),
    "LinearSVC, calibrated": CalibratedFit(mm.LinearSVC(C=1.0, **TOL)),
    "LinearSVR": mm.LinearSVR(C=1.0, **TOL),
    "SVC": mm.SVC(C=10.0, **TOL),
    "SVC, C=inf": mm.SVC(C=np.inf, **TOL),
    "SVC, probability": mm.SVC(C=10.0, probability=True, **TOL),
    "SVR": mm.SVR(C=10.0, **TOL),
    "SVR, C=inf": mm.SVR(C=np.inf, **TOL),
    "NuSVC": mm.NuSVC(nu=0.01, **TOL),
    "NuSVR": mm.NuSVR(C=10.0, **TOL),
    "OneClassSVM": mm.OneClassSVM(nu=0.2, **TOL),
    "LogisticRegression": mm.LogisticRegression(C=1.0, **TOL),
    "LogisticRegression, ovr": mm.LogisticRegression(C=1.0, multi_class="ovr", **TOL),
    "LogisticRegression, C=inf": mm.LogisticRegression(C=np.inf, **TOL),
    "LogisticRegression, L1": mm.LogisticRegression(C=1.0, l1_ratio=1.0, **TOL),
    "LogisticRegression, L1 ovr": mm.LogisticRegression(C=1.0, l1_ratio=1.0, multi_class="ovr", **TOL),
    "Ridge": mm.Ridge(lam=1e-3),
    "Ridge, positive": mm.Ridge(lam=1e-3, positive=True, **TOL),
    "Lasso": mm.Lasso(lam=1e-2, **TOL),
    "ElasticNet": mm.ElasticNet(**TOL),
    "BayesianRegression": mm.BayesianRegression(),
    "Perceptron": mm.Perceptron(max_iter=10**9),
    "MarginPerceptron": mm.MarginPerceptron(min_gamma=1e-300),
    "KernelPerceptron": mm.KernelPerceptron(max_iter=10**9),
}


def wide(n: int = 9000) -> tuple[np.ndarray, np.ndarray]:
    """A dense matrix with as many columns as rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n))
    return X, np.sign(X[:, 0] + rng.standard_normal(n))


SETS = {
    "mnist": lambda: load_images("mnist"),
    "covtype": lambda: load_text("covtype"),
    "sector": lambda: load_text("sector.scale"),
    "imdb": lambda: load_text("imdb.tfidf"),
    "40 classes": lambda: make_classification(
        20_000, 60, n_informative=40, n_classes=40, n_clusters_per_class=1, random_state=0
    ),
    "9000 x 9000": wide,
}


def fit(model: Any, X: Any, y: np.ndarray, seconds: float, stop: str) -> tuple[float, str, str]:
    """The longest interval between two checks, the time beyond the stop, and how the fit ended."""
    clocks, check_limits, signalled = [time.process_time()], Monitor.check_limits, []
    ended = threading.Event()

    def check(monitor: Monitor) -> Any:
        clocks.append(time.process_time())
        return check_limits(monitor)

    def interrupt() -> None:
        while time.process_time() < clocks[0] + seconds:
            if ended.wait(0.005):
                return
        signalled.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Thread(target=interrupt)
    Monitor.check_limits = check  # type: ignore[method-assign]
    try:
        if stop == "signal":
            timer.start()
        else:
            model.set_params(max_time=seconds)
        model.fit(X, y)
        status = getattr(model, "status_", "ended")
    except KeyboardInterrupt:
        status = "interrupt"
    except (mm.NotSeparableError, MemoryError) as error:
        status = type(error).__name__
    except Exception as error:
        status = f"**{type(error).__name__}**"
        traceback.print_exc()
    finally:
        clocks.append(time.process_time())
        Monitor.check_limits = check_limits  # type: ignore[method-assign]
        ended.set()
    status += "" if hasattr(model, "certificate_") else "*"
    stopped = clocks[0] + seconds if stop == "max_time" else signalled[0] if signalled else clocks[-1]
    return float(max(np.diff(clocks))), f"{max(0.0, clocks[-1] - stopped):.2f}", status


def fit_compiled(model: Any, X: Any, y: np.ndarray, seconds: float, stop: str) -> tuple[float, str, str]:
    """As ``fit``, of a run that compiles no loop."""
    while True:
        with event.install_recorder("numba:compile") as compiled:
            found = fit(clone(model), X, y, seconds, stop)
        if not compiled.buffer:
            return found


def main() -> None:
    """Print a line for each set and model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--models", default=";".join(MODELS), help="separated by semicolons")
    parser.add_argument("--seconds", type=float, default=2.0)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    # A shell starts programs in the background with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("| set | model | between checks | beyond max_time | after Ctrl-C | ended |\n|---|---|---|---|---|---|")
    for name in chosen.sets.split(","):
        X, y = SETS[name]()
        for title in chosen.models.split(";"):
            model = MODELS[title]
            if "n_jobs" in model.get_params():
                model.set_params(n_jobs=1)
            targets = np.asarray(y, dtype=float) if is_regressor(model) else y
            of_time, of_signal = (0.0, "", "no limit"), (0.0, "", "")
            with threadpool_limits(1):
                fit(clone(model), X, targets, chosen.seconds, "signal")
                if "max_time" in model.get_params():
                    of_time = fit_compiled(model, X, targets, chosen.seconds, "max_time")
                of_signal = fit_compiled(model, X, targets, chosen.seconds, "signal")
            (a, beyond, one), (b, answer, other) = of_time, of_signal
            print(f"| {name} | {title} | {max(a, b):.2f} | {beyond} | {answer} | {one}, {other} |", flush=True)


if __name__ == "__main__":
    main()
