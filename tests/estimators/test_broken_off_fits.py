"""A fit that is broken off anywhere, by any exception, leaves the last model whole, or the new one."""

import pickle
import sys
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    BayesianRegression,
    ElasticNet,
    KernelPerceptron,
    Lasso,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MarginPerceptron,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    Ridge,
    certify,
)
from maxmargin.solvers.core import Monitor
from real_data import random_set

ESTIMATORS = str(Path(maxmargin.__file__).parent / "estimators")
# Of more places than these, so many are tried, evenly distributed.
MOST_PLACES = 40
ERRORS = (KeyboardInterrupt, MemoryError, RuntimeError)
# Small data are solved in compiled calls that ask for no limits, or once in many steps: here every step asks.
EVERY_STEP_ASKS = {
    "maxmargin.data.Points.small_rows": None,
    "maxmargin.solvers.kernel.smo_full_matrix.STEPS_PER_CHECK": 1,
    "maxmargin.solvers.kernel.nu_smo.WORK_PER_CHECK": 1,
    "maxmargin.solvers.kernel.one_vs_one.WORK_PER_CALL": 1.0,
    "maxmargin.solvers.linear.sparse.ENTRIES_PER_CALL": 1,
}
# So many places a fit is broken off at, at least; of linear systems that are solved once there are fewer checks.
LEAST_PLACES = {"check": 10, "line": MOST_PLACES, "assignment": 10}
LEAST_CHECKS = {BayesianRegression: 0, Lasso: 1, Ridge: 5, ElasticNet: 5, OneClassSVM: 5}

MODELS = [
    Perceptron(max_iter=30),
    Perceptron(max_iter=30, warm_start=True, average=True),
    Perceptron(rule="batch", max_iter=30, early_stopping=True),
    MarginPerceptron(max_iter=30),
    MarginPerceptron(accelerated=True, max_iter=30),
    KernelPerceptron(max_iter=30),
    LinearSVC(random_state=0),
    LinearSVC(random_state=0, warm_start=True),
    LinearSVC(solver="newton"),
    LinearSVC(multi_class="crammer_singer", random_state=0),
    LinearSVR(random_state=0),
    LogisticRegression(C=1.0),
    LogisticRegression(C=1.0, warm_start=True),
    LogisticRegression(C=1.0, solver="gradient", max_iter=50),
    SVC(),
    SVC(tol=1e-7, kernel="linear"),
    SVR(),
    Ridge(),
    Lasso(),
    Lasso(warm_start=True),
    BayesianRegression(),
    LinearSVC(penalty="l1", loss="squared_hinge", dual=False),
    LogisticRegression(l1_ratio=0.5, multi_class="ovr"),
    LogisticRegression(multi_class="ovr", penalize_intercept=True),
    ElasticNet(alpha=0.01),
    NuSVC(nu=0.1),
    NuSVR(),
    OneClassSVM(),
    Perceptron(max_iter=30, penalty="elasticnet"),
    SVC(probability=True, random_state=0),
    LogisticRegression(l1_ratio=1.0),
]
STREAMS = [Perceptron(), Perceptron(average=True), KernelPerceptron()]


@contextmanager
def fault_at(model, where, place, error=RuntimeError):
    """Raise ``error`` at one place of a fit, or at none where ``place`` is negative; yield the count of places."""
    count, lock = [0], threading.Lock()

    def step():
        with lock:
            count[0] += 1
            here = count[0] - 1
        if here == place:
            raise error("in the middle of a fit")

    def after_step(method):
        def stepping(*arguments, **options):
            step()
            return method(*arguments, **options)

        return stepping

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(ESTIMATORS):
            return None
        if event == "line":
            step()
        return trace

    with pytest.MonkeyPatch.context() as patch:
        if where == "assignment":
            patch.setattr(type(model), "__setattr__", after_step(object.__setattr__), raising=False)
        elif where == "check":
            patch.setattr(Monitor, "check_limits", after_step(Monitor.check_limits))
            patch.setattr(Monitor, "record", after_step(Monitor.record))
        else:
            before = sys.gettrace()
            sys.settrace(trace)
        try:
            yield count
        finally:
            if where == "line":
                sys.settrace(before)


def fitted_attributes(model):
    return {name: value for name, value in vars(model).items() if model._is_fitted_attribute(name)}


def same(first, second):
    """Whether two values have the same bits, but for the seconds of a history."""
    if isinstance(first, list) and first and isinstance(first[0], tuple):
        return [entry[1:] for entry in first] == [entry[1:] for entry in second]
    if isinstance(first, np.ndarray):
        return first.shape == second.shape and first.tobytes() == second.tobytes()
    return pickle.dumps(first) == pickle.dumps(second)


@pytest.fixture(autouse=True)
def every_step_asks(request, monkeypatch):
    if request.node.callspec.params.get("where") == "check":
        for name, value in EVERY_STEP_ASKS.items():
            monkeypatch.setattr(name, value)


def least_places(model, where):
    """How many places there are at least: a test of none would find nothing."""
    return LEAST_CHECKS.get(type(model), LEAST_PLACES[where]) if where == "check" else LEAST_PLACES[where]


def places_of(model, where, run, least):
    """Where a run can be broken off, and what it leaves if it is not."""
    whole = pickle.loads(pickle.dumps(model))
    with fault_at(whole, where, -1) as count:
        run(whole)
    n_places = count[0]
    assert n_places >= least
    places = np.unique(np.linspace(0, n_places - 1, min(n_places, MOST_PLACES)).astype(int)) if n_places else []
    return places, fitted_attributes(whole)


def assert_old_or_new(model, where, run, rows_before, least=None):
    """Break a run off at every place."""
    least = least_places(model, where) if least is None else least
    stored, before = pickle.dumps(vars(model)), dict(vars(model))
    places, new = places_of(model, where, run, least)
    for place in places:
        with fault_at(model, where, place, ERRORS[place % len(ERRORS)]):
            try:
                run(model)
            except ERRORS:
                pass
            else:
                raise AssertionError(f"no error at {where} {place}")
        found = fitted_attributes(model)
        if all(model.__dict__.get(name) is value for name, value in before.items()):
            assert vars(model).keys() == before.keys()
            assert pickle.dumps(vars(model)) == stored, (where, place)
            if hasattr(model, "certificate_"):
                model.certificate_.check(certify(model, *rows_before))
        else:
            # The fit was complete when it was broken off.
            assert found.keys() == new.keys(), (where, place)
            for name, value in found.items():
                assert same(value, new[name]), (where, place, name)
            vars(model).clear()
            vars(model).update(before)


@pytest.mark.parametrize("where", ["assignment", "check", "line"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_fit_that_is_broken_off_leaves_the_old_model_or_the_new_one(model, where):
    rows, others = random_set(0, n=40, d=3), random_set(1, n=40, d=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*rows)
        assert_old_or_new(model, where, lambda one: one.fit(*others), rows)


@pytest.mark.parametrize("where", ["assignment", "check", "line"])
@pytest.mark.parametrize("fitted", [True, False], ids=["after a fit", "in a stream"])
@pytest.mark.parametrize("model", STREAMS, ids=str)
def test_a_stream_that_is_broken_off_goes_on_from_where_it_was(model, fitted, where):
    rows, others = random_set(0, n=40, d=3), random_set(1, n=30, d=3)
    model = type(model)(**model.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model.fit(*rows) if fitted else model.partial_fit(*rows, classes=np.unique(rows[1]))
        # A block is one epoch, which asks once.
        least = 1 if where == "check" else None
        assert_old_or_new(model, where, lambda one: one.partial_fit(*others), rows, least)


@pytest.mark.parametrize("where", ["assignment", "check", "line"])
def test_a_fit_on_blocks_that_is_broken_off(where):
    rows, (X, y) = random_set(0, n=40, d=3), random_set(1, n=40, d=3)
    model, blocks = Perceptron(), [(X[k : k + 10], y[k : k + 10]) for k in range(0, 40, 10)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*rows)
        assert_old_or_new(model, where, lambda one: one.fit_blocks(blocks, passes=5), rows)


@pytest.mark.parametrize("where", ["assignment", "check", "line"])
def test_a_joint_logistic_regression_with_a_1_norm_that_is_broken_off(where):
    X, y = random_set(0, n=40, d=3)
    rows, others = (X, (X[:, 0] > 0) + (y > 0)), (X[::-1], (X[:, 1] > 0) + (y > 0))
    model = LogisticRegression(l1_ratio=0.9, C=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*rows)
        assert_old_or_new(model, where, lambda one: one.fit(*others), rows)


@pytest.mark.parametrize("where", ["assignment", "check", "line"])
@pytest.mark.parametrize("model", [LinearSVC(n_jobs=2, random_state=0), SVC(n_jobs=2), Perceptron(n_jobs=2)], ids=str)
def test_a_fit_of_several_tasks_that_is_broken_off(model, where):
    X, y = random_set(0, n=60, d=3)
    rows, others = (X, (X[:, 0] > 0) + (y > 0)), (X[::-1], (X[:, 1] > 0) + (y > 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*rows)
        assert_old_or_new(model, where, lambda one: one.fit(*others), rows)
