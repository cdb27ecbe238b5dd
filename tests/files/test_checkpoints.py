"""Checkpoints: killed and resumed fits have the bits of others; other fits and bad files are refused."""

import errno
import math
import os
import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    CheckpointError,
    ElasticNet,
    KernelPerceptron,
    Lasso,
    LimitWarning,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MarginPerceptron,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    Ridge,
    checkpoints,
    save,
)
from maxmargin.data import Points
from maxmargin.files import checkpoint as files
from maxmargin.files import open_store, write_store
from maxmargin.files import store as store_files
from maxmargin.solvers.linear.newton import NewtonRun

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")

rng = np.random.default_rng(0)
X = rng.standard_normal((240, 12))
y = (X @ rng.standard_normal(12) + rng.standard_normal(240) > 0.0).astype(int)
values = X @ rng.standard_normal(12) + rng.standard_normal(240)
classes = (X[:, :3] + 0.7 * rng.standard_normal((240, 3))).argmax(axis=1)
sparse = sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
many = rng.standard_normal((5000, 4))
labels = (many @ [1.0, 2.0, -1.0, 0.5] + rng.standard_normal(5000) > 0.0).astype(int)
distances = many @ [1.0, 2.0, -1.0, 0.5]
apart = many[np.abs(distances) > 0.1], (distances > 0.0)[np.abs(distances) > 0.1].astype(int)
near = apart[0][:300, :4], apart[1][:300]
wide = rng.standard_normal((40, 200))
large = rng.standard_normal((1200, 250)), rng.integers(0, 2, 1200)
long_and_wide = sp.random_array((2100, 2050), density=0.003, rng=1, format="csr"), rng.standard_normal(2100)
texts = sp.random_array((300, 3000), density=0.02, rng=rng, format="csr"), rng.integers(0, 2, 300)
ill = X * np.logspace(0, 3, 12)

# Every solver: the model, its data, and the checkpoints at which the process is killed.
FITS = {
    "coordinate ascent": (LinearSVC(solver="coordinate", tol=1e-5, random_state=0), X, y, (2, 40)),
    "cyclic coordinate ascent, sparse": (LinearSVC(solver="coordinate", selection="cyclic"), sparse, y, (5,)),
    "regression": (LinearSVR(solver="coordinate", tol=1e-4, random_state=0), X, values, (3,)),
    "Newton": (LinearSVC(solver="newton", tol=1e-8), sparse, y, (2, 5)),
    "Newton from a subsample": (LinearSVC(solver="newton", tol=1e-8), sp.csr_array(many), labels, (2, 5)),
    "ascent, then Newton": (LinearSVC(tol=1e-8, random_state=0), *large, (2, 5, 9)),
    "hard margin": (LinearSVC(C=math.inf, tol=1e-8), *near, (2, 4)),
    "hard margin on working sets": (LinearSVC(C=math.inf, tol=1e-8), *apart, (1, 2)),
    "Crammer-Singer": (LinearSVC(multi_class="crammer_singer", tol=1e-4, random_state=0), X, classes, (2, 5)),
    "Crammer-Singer, then Newton": (
        LinearSVC(multi_class="crammer_singer", tol=1e-6, random_state=0),
        ill,
        classes,
        (29, 33),
    ),
    "one against the rest": (LinearSVC(tol=1e-8), sparse, classes, (4, 9)),
    "SMO": (SVC(tol=1e-3, C=30.0, cache_size=16), many, labels, (2, 9)),
    "SMO on the full matrix": (SVC(C=math.inf, gamma=1.0, tol=1e-6), X, y, (2,)),
    "one against one": (SVC(C=math.inf, gamma=1.0, tol=1e-6), X, classes, (3,)),
    "support vector regression": (SVR(tol=1e-4, C=10.0), many, distances, (4,)),
    "support vector regression, C = inf": (SVR(C=math.inf, gamma=0.01, epsilon=0.5, tol=1e-6), X, values, (2,)),
    "nu": (NuSVC(nu=0.3, tol=1e-5), many, labels, (2, 5)),
    "regression with nu": (NuSVR(nu=0.3, tol=1e-3), many[:1000], distances[:1000], (2,)),
    "one class": (OneClassSVM(nu=0.1, tol=1e-5), many, None, (1, 2)),
    "one class, linear": (OneClassSVM(nu=0.1, kernel="linear", tol=1e-8), many + 2.0, None, (1, 3)),
    "logistic": (LogisticRegression(C=1.0, tol=1e-8), X, y, (2, 4)),
    "multinomial with an L1 penalty": (LogisticRegression(l1_ratio=1.0, C=1.0, tol=1e-8), X, classes, (2, 3)),
    "elastic net": (ElasticNet(alpha=0.01, tol=1e-8), X, values, (2,)),
    "logistic from a subsample": (LogisticRegression(tol=1e-8), many, labels, (2, 6)),
    "multinomial": (LogisticRegression(C=1.0, tol=1e-8), X, classes, (1, 3)),
    "multinomial, by conjugate gradients": (
        LogisticRegression(C=1.0, tol=1e-6),
        wide,
        wide[:, :3].argmax(axis=1),
        (2,),
    ),
    "ridge by conjugate gradients": (Ridge(alpha=1e-3, tol=1e-8), *long_and_wide, (3, 20)),
    "gradient descent": (LogisticRegression(C=1.0, solver="gradient", tol=1e-3), X, y, (2, 30)),
    "squared hinge with an L1 penalty": (LinearSVC(penalty="l1", loss="squared_hinge", tol=1e-8), X, y, (2,)),
    "L1 penalty on working sets": (LogisticRegression(l1_ratio=1.0, C=9.0, tol=1e-8), *texts, (2, 4)),
    "penalised perceptron": (Perceptron(penalty="elasticnet", tol=1e-6, max_iter=30), X, y, (2, 4)),
    "lasso": (Lasso(lam=1.0, tol=1e-8), X, values, (2,)),
    "lasso by continuation": (Lasso(lam=0.01, tol=1e-8), wide, wide[:, :5].sum(axis=1), (2, 9)),
    "perceptron": (Perceptron(max_iter=40, tol=None, random_state=0), X, y, (2, 4)),
    "averaged perceptron": (Perceptron(max_iter=40, average=True, tol=None, random_state=0), X, classes, (3, 9)),
    "batch perceptron": (Perceptron(rule="batch", max_iter=40, tol=None), X, y, (2, 20)),
    "held-out rows": (Perceptron(early_stopping=True, max_iter=40, random_state=0), X, y, (5,)),
    "kernel perceptron": (KernelPerceptron(max_iter=6, random_state=0), X, classes, (4, 11)),
    "margin perceptron": (MarginPerceptron(random_state=0), *near, (2, 20)),
    "smooth perceptron": (MarginPerceptron(accelerated=True), *near, (2, 20)),
}


@pytest.fixture(autouse=True)
def every_size_is_large(monkeypatch):
    """Small data are solved in compiled calls of some milliseconds, without checkpoints."""
    monkeypatch.setattr(Points, "small_rows", None)


def bits(model, data, targets, folder):
    """The bytes of the model file, certificate included."""
    save(model, folder / "model", data, targets)
    return (folder / "model").read_bytes()


def killed(model, data, targets, file, moment):
    """Fit in another process, which is killed by SIGKILL when it has written so many checkpoints after the first."""
    child = os.fork()
    if child == 0:
        try:
            write, written = files.FileRecord._write, []

            def write_and_die(self, **arguments):
                written.append(None)
                if len(written) in (1, moment + 1):
                    write(self, **arguments)
                if len(written) == moment + 1:
                    os.kill(os.getpid(), signal.SIGKILL)

            files.FileRecord._write = write_and_die
            with checkpoints(file, every=0):
                clone(model).fit(data, targets)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the fit ended before its checkpoint"
    assert os.WTERMSIG(status) == signal.SIGKILL


# Fits on the blocks of a store: the model, rows, targets, and the checkpoints at which the process is killed.
STORED_FITS = {
    "SVM": (LinearSVC(tol=1e-8), X, y, (1, 3)),
    "SVM, more columns than a matrix has": (
        LinearSVC(tol=1e-6),
        sp.random_array((300, 2100), density=0.01, rng=2, format="csr"),
        np.arange(300) % 2,
        (1, 3),
    ),
    "SVM from a subsample": (LinearSVC(tol=1e-8), many, labels, (1, 3)),
    "SVM of several classes": (LinearSVC(tol=1e-6), X, classes, (2, 7)),
    "support vector regression": (LinearSVR(tol=1e-6), X, values, (2,)),
    "logistic": (LogisticRegression(C=1.0, tol=1e-8), X, y, (1, 3)),
    "ridge": (Ridge(alpha=1.0, tol=1e-10), X, values, (1,)),
}


@pytest.mark.parametrize("name", STORED_FITS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_killed_fit_on_a_store_goes_on_with_the_same_bits(name, tmp_path, monkeypatch):
    model, data, targets, moments = STORED_FITS[name]
    monkeypatch.setattr(store_files, "ENTRIES_OF_BLOCK", 1000)
    cuts = range(0, data.shape[0], 50)
    write_store(tmp_path / "store", ((data[k : k + 50], targets[k : k + 50]) for k in cuts))
    store = open_store(tmp_path / "store")
    whole = bits(clone(model).fit(store), data, targets, tmp_path)
    for moment in moments:
        file = tmp_path / f"{moment}.checkpoint"
        killed(model, store, None, file, moment)
        with checkpoints(file, resume=True):
            resumed = clone(model).fit(store)
        assert bits(resumed, data, targets, tmp_path) == whole
    write_store(tmp_path / "other", [(data, targets[::-1].copy())])
    with checkpoints(file, resume=True), pytest.raises(CheckpointError, match="other targets"):
        clone(model).fit(open_store(tmp_path / "other"))


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_killed_fit_goes_on_with_the_same_bits(name, tmp_path):
    model, data, targets, moments = FITS[name]
    whole = bits(clone(model).fit(data, targets), data, targets, tmp_path)
    for moment in moments:
        file = tmp_path / f"{moment}.checkpoint"
        killed(model, data, targets, file, moment)
        with checkpoints(file, resume=True):
            resumed = clone(model).fit(data, targets)
        assert bits(resumed, data, targets, tmp_path) == whole
        # The checkpoint of a fit that has ended holds its end.
        with checkpoints(file, resume=True):
            again = clone(model).fit(data, targets)
        assert bits(again, data, targets, tmp_path) == whole


@pytest.fixture
def halfway(tmp_path):
    """The checkpoint of a fit that has not ended."""
    killed(LinearSVC(solver="coordinate", random_state=0), X, y, tmp_path / "fit", 3)
    return tmp_path / "fit"


@pytest.mark.parametrize(
    ("model", "data", "targets", "weights", "reason"),
    [
        (LinearSVC(solver="coordinate", random_state=0, C=2.0), X, y, None, "with C=1.0, not 2.0"),
        (LinearSVC(solver="coordinate", random_state=1), X, y, None, "random_state=0, not 1"),
        (LinearSVR(solver="coordinate", random_state=0), X, values, None, "of a LinearSVC, not of a LinearSVR"),
        (LinearSVC(solver="coordinate", random_state=0), X[:-1], y[:-1], None, "240 dense rows"),
        (LinearSVC(solver="coordinate", random_state=0), X.astype(np.float32), y, None, "float32"),
        (LinearSVC(solver="coordinate", random_state=0), np.where(np.abs(X) > 2.5, 0.0, X), y, None, "other rows"),
        (LinearSVC(solver="coordinate", random_state=0), X, 1 - y, None, "other targets"),
        (LinearSVC(solver="coordinate", random_state=0), X, y, np.arange(240.0), "other weights"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(halfway, model, data, targets, weights, reason):
    with checkpoints(halfway, resume=True), pytest.raises(CheckpointError, match=reason):
        model.fit(data, targets, sample_weight=weights)
    assert not hasattr(model, "coef_")


def test_another_warm_start_is_refused(tmp_path):
    model = LinearSVC(solver="coordinate", random_state=0, warm_start=True)
    with checkpoints(tmp_path / "fit"):
        model.fit(X, y)
    with checkpoints(tmp_path / "fit", resume=True), pytest.raises(CheckpointError, match="another warm start"):
        model.fit(X, y)


def test_n_jobs_may_differ_and_tasks_that_have_ended_are_not_solved_again(tmp_path, monkeypatch):
    model = LinearSVC(tol=1e-8)
    whole = clone(model).fit(sparse, classes)
    file, steps, step = tmp_path / "fit", [], NewtonRun._proximal_step
    monkeypatch.setattr(NewtonRun, "_proximal_step", lambda *a, **k: steps.append(0) or step(*a, **k))
    clone(model).fit(sparse, classes)
    all_steps, steps[:] = len(steps), []
    killed(model, sparse, classes, file, all_steps - 6)
    with checkpoints(file, resume=True):
        resumed = clone(model).set_params(n_jobs=2).fit(sparse, classes)
    assert len(steps) <= 6
    assert np.array_equal(resumed.coef_, whole.coef_)
    assert resumed.certificate_ == whole.certificate_


def test_a_time_limit_counts_anew(tmp_path):
    model = LinearSVC(solver="coordinate", C=10.0, tol=1e-6, random_state=0, max_time=0.05)
    with checkpoints(tmp_path / "fit", every=0), pytest.warns(LimitWarning):
        model.fit(ill, y)
    assert model.status_ == "time limit"
    rest = clone(model).set_params(max_time=None)
    with checkpoints(tmp_path / "fit", resume=True, every=1000):
        rest.fit(ill, y)
    whole = clone(rest).fit(ill, y)
    assert np.array_equal(rest.dual_coef_, whole.dual_coef_)
    assert rest.n_iter_ == whole.n_iter_


def test_a_seed_that_was_drawn_is_that_of_the_checkpoint(tmp_path):
    killed(LinearSVC(solver="coordinate"), X, y, tmp_path / "fit", 3)
    found = []
    for k in range(2):
        (tmp_path / f"{k}").write_bytes((tmp_path / "fit").read_bytes())
        with checkpoints(tmp_path / f"{k}", resume=True):
            found.append(LinearSVC(solver="coordinate").fit(X, y).coef_)
    assert np.array_equal(*found)


def test_damaged_files_are_refused_in_one_line(halfway):
    data = halfway.read_bytes()
    positions = np.random.default_rng(1).integers(0, len(data), 60)
    damaged = [data[:cut] for cut in (0, 5, 8, 100, len(data) - 1)] + [data + b"\0", b"no checkpoint at all"]
    damaged += [data[:at] + bytes([data[at] ^ 1 << int(at) % 8]) + data[at + 1 :] for at in positions]
    for one in damaged:
        halfway.write_bytes(one)
        with pytest.raises(CheckpointError) as error, checkpoints(halfway, resume=True):
            pass
        assert "\n" not in str(error.value)
        assert str(error.value).startswith(f"{halfway}: ")


def forged(path, change):
    """Change the state of the run, and write the file anew with its checksum."""
    content = files._read(str(path))
    change(content["attempts"][0][0][-1].state)
    kept = {name: content[name] for name in ("maxmargin", "fit", "seed", "finished")}
    path.write_bytes(files._to_bytes(kept, content["attempts"]))


@pytest.mark.parametrize(
    "change",
    [
        {"order": np.full(240, 240, dtype=np.uint32)},
        {"order": np.arange(240, dtype=np.int64)},
        {"n_active": 241},
        {"n_active": -1},
        {"n_active": 3.0},
        {"duals": np.zeros(239)},
        {"ascent.w": np.zeros((12, 1))},
        {"random": -1},
        {"work": None},
        {"work": "much"},
        {"stall": {}},
        {"best": None},
        {"unknown": 1.0},
    ],
)
def test_forged_states_are_refused(halfway, change):
    forged(halfway, lambda state: state.update(change))
    with checkpoints(halfway, resume=True), pytest.raises(CheckpointError, match="CoordinateRun") as error:
        LinearSVC(solver="coordinate", random_state=0).fit(X, y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("SMO", {"working_set": np.array([5000])}),
        ("SMO", {"cache": {"evaluated_rows": np.array([-1])}}),
        ("SMO", {"cache": {"calls": np.array([[-1.0], [1.0]])}}),
        ("lasso by continuation", {"alive": np.array([200])}),
        ("lasso by continuation", {"n_solved": 100}),
        ("lasso by continuation", {"gram": {"values": np.zeros((1, 1))}}),
        ("perceptron", {"epoch_run": {"order": np.array([240], dtype=np.uint32)}}),
        ("perceptron", {"epoch_run": {"_shuffler": np.zeros(6, dtype=np.uint64)}}),
        ("perceptron", {"epoch_run": {"screened": [np.zeros(3)] * 3}}),
        ("Crammer-Singer", {"coefficients.W": np.zeros((3, 12))}),
    ],
)
def test_forged_positions_are_refused(tmp_path, name, change):
    model, data, targets, moments = FITS[name]
    killed(model, data, targets, tmp_path / "fit", moments[0])

    def update(state):
        for key, value in change.items():
            state[key] = {**state[key], **value} if isinstance(value, dict) else value

    forged(tmp_path / "fit", update)
    with checkpoints(tmp_path / "fit", resume=True), pytest.raises(CheckpointError, match="does not fit"):
        clone(model).fit(data, targets)


def test_a_full_disk_does_not_end_the_fit(tmp_path, monkeypatch):
    model = LinearSVC(solver="coordinate", random_state=0)
    whole = clone(model).fit(X, y)

    def full(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(files, "written_atomically", full)
    with warnings.catch_warnings(record=True) as warned, checkpoints(tmp_path / "fit", every=0):
        warnings.simplefilter("always")
        model.fit(X, y)
    assert [str(one.message).count("The fit continues") for one in warned] == [1]
    assert np.array_equal(model.coef_, whole.coef_)
    assert not list(tmp_path.iterdir())


def test_a_path_that_cannot_be_written_is_refused_before_the_fit(tmp_path):
    with checkpoints(tmp_path / "missing" / "fit"), pytest.raises(FileNotFoundError):
        LinearSVC().fit(X, y)
    with pytest.raises(FileNotFoundError), checkpoints(tmp_path / "fit", resume=True):
        pass


def test_only_a_fit_that_has_ended_is_overwritten(halfway):
    with pytest.raises(CheckpointError, match="has not ended"), checkpoints(halfway):
        pass
    with checkpoints(halfway, resume="auto"):
        LinearSVC(solver="coordinate", random_state=0).fit(X, y)
    with checkpoints(halfway):
        LinearSVC(solver="coordinate", random_state=0).fit(X, 1 - y)
    halfway.write_text("something else\n")
    with pytest.raises(CheckpointError, match="exists"), checkpoints(halfway):
        pass


def test_a_block_is_for_one_fit_of_this_process(tmp_path):
    with checkpoints(tmp_path / "fit"):
        make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
        with pytest.raises(ValueError, match="one block a fit"):
            LinearSVC().fit(X, y)
    with pytest.warns(UserWarning, match="nothing was written"), checkpoints(tmp_path / "none"):
        pass
    with checkpoints(tmp_path / "kernel"), pytest.raises(ValueError, match="kernel is a function"):
        SVC(kernel=lambda a, b: a @ b.T).fit(X, y)


def test_checkpoints_take_a_bounded_share_of_the_time(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(files.time, "perf_counter", lambda: clock[0])
    record = files.FileRecord(str(tmp_path / "fit"), 1.0, False)
    to_bytes = files._to_bytes

    def slow(*arguments):
        clock[0] += 2.0
        return to_bytes(*arguments)

    monkeypatch.setattr(files, "_to_bytes", slow)
    record._write()
    assert record._interval == pytest.approx(100.0)


@pytest.mark.parametrize("arguments", [{"every": -1}, {"every": math.nan}, {"every": "60s"}, {"resume": "perhaps"}])
def test_bad_arguments_are_refused(tmp_path, arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))), checkpoints(tmp_path / "fit", **arguments):
        pass


def test_the_names_are_public():
    assert {"checkpoints", "CheckpointError"} <= set(maxmargin.__all__)
