"""The bits of a fit depend on the data, the parameters and the seed, not on threads, its own or those of BLAS."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import maxmargin as mm
from maxmargin.data import blas
from maxmargin.data.blas import one_blas_thread
from maxmargin.estimators.certification import kkt_classes_of

# Prints one line for every attribute of every fitted model, with a checksum of its bits.
PROGRAM = """
import dataclasses, hashlib, sys, warnings
import numpy as np
import maxmargin as mm

warnings.simplefilter("ignore", mm.LimitWarning)
n_jobs = int(sys.argv[1])
generator = np.random.default_rng(0)
X = generator.standard_normal((1500, 60)) * np.geomspace(1.0, 10.0, 60) + 1.0
scores = X @ generator.standard_normal(60) + 5.0 * generator.standard_normal(1500)
signs, classes = scores > np.median(scores), np.digitize(scores, np.quantile(scores, [0.3, 0.6]))
models = {
    "Ridge": (mm.Ridge(lam=3.0), X, scores),
    "Ridge by rows": (mm.Ridge(lam=3.0), X[:50], scores[:50]),
    "Ridge 0": (mm.Ridge(lam=0.0), X, scores),
    "Ridge 0 by rows": (mm.Ridge(lam=0.0), X[:50], scores[:50]),
    "Lasso": (mm.Lasso(lam=100.0), X, scores),
    "Lasso, wide": (mm.Lasso(lam=1.0), X.T.copy(), X[:60, 0] + scores[:60]),
    "BayesianRegression": (mm.BayesianRegression(), X, scores),
    "LinearSVR": (mm.LinearSVR(C=0.1), X, scores),
    "SVR": (mm.SVR(C=1.0, max_iter=2000), X[:500], scores[:500]),
    "LogisticRegression": (mm.LogisticRegression(C=1.0), X, classes),
    "no penalty": (mm.LogisticRegression(C=float("inf")), X, signs),
    "gradient": (mm.LogisticRegression(C=1e-3, solver="gradient", max_iter=50), X, signs),
    "LinearSVC": (mm.LinearSVC(C=0.1), X, classes),
    "coordinate": (mm.LinearSVC(C=0.1, solver="coordinate", max_iter=10), X, signs),
    "Crammer-Singer": (mm.LinearSVC(C=0.01, multi_class="crammer_singer", max_iter=5), X[:500], classes[:500]),
    "SVC": (mm.SVC(C=1.0), X, classes),
    "Perceptron": (mm.Perceptron(max_iter=5), X, classes),
    "MarginPerceptron": (mm.MarginPerceptron(gamma=0.01, max_iter=3), X[:, :40], X[:, 0] > 1.0),
    "KernelPerceptron": (mm.KernelPerceptron(kernel="rbf", gamma=0.001, max_iter=3), X, signs),
    "NuSVC": (mm.NuSVC(nu=0.3), X[:900], classes[:900]),
    "NuSVR": (mm.NuSVR(nu=0.3, max_iter=2000), X[:900], scores[:900]),
    "OneClassSVM": (mm.OneClassSVM(nu=0.3), X[:900], None),
    "OneClassSVM, linear": (mm.OneClassSVM(nu=0.3, kernel="linear"), X + 9.0, None),
    "SVR, no errors": (mm.SVR(C=float("inf"), epsilon=20.0), X[:300], scores[:300]),
    "ElasticNet": (mm.ElasticNet(alpha=0.1), X, scores),
    "ElasticNet, several targets": (mm.ElasticNet(alpha=0.1), X, np.stack([scores, X[:, 0]], axis=1)),
    "Ridge, several targets": (mm.Ridge(lam=3.0), X, np.stack([scores, X[:, 0]], axis=1)),
    "L1": (mm.LogisticRegression(l1_ratio=1.0, max_iter=20), X, classes),
    "L1, one against the rest": (mm.LogisticRegression(l1_ratio=0.5, multi_class="ovr", max_iter=20), X, classes),
    "LinearSVC, L1": (mm.LinearSVC(penalty="l1", loss="squared_hinge", max_iter=20), X, classes),
    "calibrated": (mm.LinearSVC(C=0.1), X[:700], classes[:700]),
}

def bits(value):
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest() + str(value.shape)
    if isinstance(value, float):
        return value.hex()
    if dataclasses.is_dataclass(value):
        return bits({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if hasattr(value, "items"):
        return str({str(name): bits(one) for name, one in value.items()})
    if isinstance(value, (list, tuple)):
        return str([bits(one) for one in value])
    return repr(value)

def without_seconds(history):
    return [one[1:] if isinstance(one, tuple) else without_seconds(one) for one in history]

for name, (model, data, targets) in models.items():
    for key, value in (("n_jobs", n_jobs), ("random_state", 0)):
        if key in model.get_params():
            model.set_params(**{key: value})
    model.fit(data, targets)
    if name == "calibrated":
        mm.calibrate(model, data, targets)
    attributes = {key: value for key, value in vars(model).items() if key.endswith("_") and key[0] != "_"}
    if "history_" in attributes:
        attributes["history_"] = without_seconds(attributes["history_"])
    attributes["certify"] = mm.certify(model, data, targets)
    for key, value in sorted(attributes.items()):
        print(name, key, hashlib.sha256(bits(value).encode()).hexdigest()[:16])
"""


def test_bits_do_not_depend_on_threads():
    lines = []
    for blas_threads, n_jobs in ((1, 1), (2, 1), (2, 2)):
        names = "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"
        environment = os.environ | dict.fromkeys(names, str(blas_threads))
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(n_jobs)], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        lines.append(done.stdout.splitlines())
    assert len(lines[0]) > 150
    for others in lines[1:]:
        assert [pair for pair in zip(lines[0], others, strict=True) if pair[0] != pair[1]] == []


def calls_outside_of_a_hold(function, *arguments, **named):
    """The solvers, certificates and products with the rows that run while BLAS may take all its threads."""
    found = set()

    def watch(frame, event, _):
        module, code = frame.f_globals.get("__name__", ""), frame.f_code
        is_product = module == "maxmargin.data.points" and code.co_name in ("scores", "combination", "_sum_rows")
        is_ours = is_product or module.startswith(("maxmargin.solvers.", "maxmargin.certificates."))
        if event == "call" and is_ours and not code.co_name.startswith("__") and not blas._holders:
            found.add(f"{module}.{code.co_name}")

    sys.setprofile(watch)
    threading.setprofile(watch)
    try:
        result = function(*arguments, **named)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found, result


ESTIMATORS = [getattr(mm, name) for name in mm.__all__ if hasattr(getattr(mm, name), "fit")]


def three_classes():
    generator = np.random.default_rng(0)
    X = generator.standard_normal((60, 4))
    return X, np.digitize(X[:, 0] + 0.3 * generator.standard_normal(60), [-0.5, 0.5])


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_fit_and_every_certificate_holds_blas_to_one_thread(kind):
    X, y = three_classes()
    outside, model = calls_outside_of_a_hold(kind().fit, X, y)
    assert not outside
    assert not calls_outside_of_a_hold(mm.certify, model, X, y)[0]
    if hasattr(kind, "partial_fit"):
        assert not calls_outside_of_a_hold(kind().partial_fit, X, y, classes=[0, 1, 2])[0]
        assert not calls_outside_of_a_hold(model.partial_fit, X, y)[0]
    if hasattr(kind, "fit_blocks"):
        assert not calls_outside_of_a_hold(kind().fit_blocks, [(X, y)])[0]


def test_every_function_that_solves_or_certifies_holds_blas_to_one_thread():
    X, y = three_classes()
    classes = y > 0
    model = mm.LinearSVC().fit(X, classes)
    for method in ({}, {"exact": True}, {"method": "linear_program"}):
        assert not calls_outside_of_a_hold(mm.separate, X, classes, **method)[0]
    assert not calls_outside_of_a_hold(mm.hull_distance, X, classes)[0]
    assert not calls_outside_of_a_hold(kkt_classes_of, model, X, classes)[0]
    assert not calls_outside_of_a_hold(mm.calibrate, model, X, classes)[0]
    assert not calls_outside_of_a_hold(mm.svm_path, X, classes, [0.1, 1.0])[0]
    # The search itself: a solver that is called outside of a fit.
    assert calls_outside_of_a_hold(model._certify_task, 0, model._problem(validated(model, X, classes)))[0]


def validated(model, X, classes):
    return next(iter(model._tasks(model._data_to_certify(X, classes, None)).tasks()))


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_overlapping_holders_restore_the_number_of_blas_threads(first_ends_first):
    np.ones((2, 2)) @ np.ones((2, 2))
    before = blas_threads()
    held = [threading.Event() for _ in range(2)]
    leave = [threading.Event() for _ in range(2)]
    left = [threading.Event() for _ in range(2)]
    end = threading.Event()

    def hold(number):
        with one_blas_thread():
            held[number].set()
            leave[number].wait(10.0)
        left[number].set()
        # Threads of a pool stay alive.
        end.wait(10.0)

    threads = [threading.Thread(target=hold, args=(number,)) for number in range(2)]
    try:
        for number, thread in enumerate(threads):
            thread.start()
            assert held[number].wait(10.0)
        assert set(blas_threads()) == {1}
        order = (0, 1) if first_ends_first else (1, 0)
        leave[order[0]].set()
        assert left[order[0]].wait(10.0)
        assert set(blas_threads()) == {1}
        leave[order[1]].set()
        assert left[order[1]].wait(10.0)
        assert blas_threads() == before
        # Another thread can limit and restore it again, while the threads of the pool are alive.
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
    finally:
        for event in (*leave, end):
            event.set()
        for thread in threads:
            thread.join()
