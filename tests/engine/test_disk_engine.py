"""Fits on the blocks of a store: the optimum of the arrays, the same bits whatever is kept, errors that say where."""

import errno
import mmap
import os
import subprocess
import sys
import textwrap
import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_regressor

from maxmargin import LinearSVC, LinearSVR, LogisticRegression, Perceptron, Ridge, certify
from maxmargin.data.memory import MemoryWarning
from maxmargin.engine import disk
from maxmargin.engine.disk import DiskExecutor, _OrderedSum
from maxmargin.engine.rounds import add_answers
from maxmargin.files import StoreError, open_store, store, write_store
from maxmargin.solvers.linear import newton, partitioned


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few hundred rows."""
    monkeypatch.setattr(store, "ENTRIES_OF_BLOCK", 2000)


def rows_and_labels(n_rows=3000, n_columns=8, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[rng.random(X.shape) < 0.3] = 0.0
    scores = X @ rng.normal(size=(n_columns, n_classes)) + rng.normal(size=(n_rows, n_classes))
    return X, scores.argmax(axis=1)


def stored(tmp_path, X, y, **options):
    tmp_path.mkdir(exist_ok=True)
    write_store(tmp_path / "rows.store", [(X, y)], **options)
    return open_store(tmp_path / "rows.store")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(C=0.3, tol=1e-6),
        LinearSVC(C=0.1, loss="squared_hinge", class_weight="balanced", tol=1e-6),
        LinearSVC(C=0.1, fit_intercept=False, tol=1e-5),
        LinearSVR(C=0.2, epsilon=0.1, tol=1e-6),
        LogisticRegression(C=0.5, tol=1e-6),
        Ridge(alpha=0.5),
    ],
)
def test_a_store_has_the_optimum_of_the_arrays(tmp_path, model, sparse):
    X, y = rows_and_labels()
    if is_regressor(model):
        y = X @ np.arange(8.0) + np.random.default_rng(1).normal(size=len(X))
    rows = stored(tmp_path, sp.csr_array(X) if sparse else X, y)
    assert len(rows.block_rows) > 5
    on_disk = model.fit(rows).certificate_
    assert str(model.status_) == "solved"
    prediction = model.predict(rows)
    on_disk.check(certify(model, rows))
    in_memory = model.fit(X, y).certificate_
    # Both gaps contain the optimum.
    assert max(on_disk.dual, in_memory.dual) <= min(on_disk.primal, in_memory.primal)
    assert np.mean(np.abs(prediction - model.predict(X)) < 0.05) > 0.99


@pytest.mark.usefixtures("small_blocks")
def test_several_classes_weights_and_the_methods_of_a_fitted_model(tmp_path):
    X, y = rows_and_labels(n_classes=3)
    weights = np.random.default_rng(2).random(len(X))
    rows = stored(tmp_path, X, y, names=[f"c{k}" for k in range(8)])
    model = LinearSVC(C=0.5).fit(rows, sample_weight=weights)
    reference = LinearSVC(C=0.5).fit(X, y, sample_weight=weights)
    for proof, other in zip(model.certificate_.values(), reference.certificate_.values(), strict=True):
        assert max(proof.dual, other.dual) <= min(proof.primal, other.primal)
    assert model.feature_names_in_.tolist() == rows.names
    assert np.array_equal(model.support_, np.flatnonzero(model.dual_coef_.any(axis=0)))
    assert model.decision_function(rows).shape == (len(X), 3)
    assert model.score(rows) == pytest.approx(np.mean(model.predict(rows) == y))
    model.certificate_[0].check(certify(model, rows, sample_weight=weights)[0])
    plain = LinearSVC(C=0.5).fit(stored(tmp_path / "again", X, y), sample_weight=weights)
    for proof, other in zip(plain.certificate_.values(), certify(plain, X, y, weights).values(), strict=True):
        proof.check(other)


@pytest.mark.parametrize("n_columns", [8, 2100])
def test_bits_do_not_depend_on_memory_or_threads(tmp_path, monkeypatch, n_columns):
    # More than 2,048 columns: conjugate gradients in place of the Gram matrix.
    monkeypatch.setattr(store, "ENTRIES_OF_BLOCK", 2000)
    X, y = rows_and_labels(n_rows=1500)
    if n_columns > 8:
        X = sp.hstack([X, sp.random(len(X), n_columns - 8, 0.005, rng=np.random.default_rng(0))], format="csr")
    rows = stored(tmp_path, X, y)
    found, needed = [], sum(disk.memory_of_fit(rows, 2))
    for available, n_jobs in ((1 << 40, 1), (1 << 40, 3), (needed + rows.n_bytes // 4, 2), (0, 2)):
        monkeypatch.setattr(disk, "available_memory", lambda available=available: available)
        kept = DiskExecutor(rows, n_jobs)
        assert (kept._n_kept == len(rows.block_rows)) == (available == 1 << 40)
        assert kept._maps_vectors == (available == 0)
        model = LinearSVC(C=0.3, n_jobs=n_jobs).fit(rows)
        found.append((model.coef_, model.intercept_, model.dual_coef_))
    for other in found[1:]:
        assert all(np.array_equal(one, two) for one, two in zip(found[0], other, strict=True))


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(11)), st.integers(1, 11))
def test_answers_are_added_over_the_tree_of_the_other_engines(order, n_terms):
    terms = [[float(k) * 0.1, np.array([1.0 / (k + 1)])] for k in range(n_terms)]
    total = _OrderedSum(n_terms)
    for number in order:
        if number < n_terms:
            total.add(number, terms[number])
    assert all(np.all(one == two) for one, two in zip(total.total, add_answers(*terms), strict=True))


@pytest.mark.usefixtures("small_blocks")
def test_a_bad_value_names_the_store_and_the_row(tmp_path):
    X, y = rows_and_labels()
    X[2345, 3] = np.nan
    for values in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match=r"rows\.store, row 2,346: X has a value that is NaN"):
            LinearSVC().fit(stored(tmp_path, values, y))
    with pytest.raises(ValueError, match=r"row 7: y has a value that is NaN"):
        LinearSVR().fit(stored(tmp_path, np.ones((9, 2)), np.where(np.arange(9) == 6, np.nan, 1.0)))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", ["X", "data", "indices", "indptr", "y"])
def test_a_store_cut_off_while_it_is_read_is_an_error(tmp_path, name):
    X, y = rows_and_labels()
    rows = stored(tmp_path, X if name == "X" else sp.csr_array(X), y)
    path = tmp_path / "rows.store" / f"{name}.bin"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises(StoreError, match=rf"{name}\.bin ends after"):
        LinearSVC().fit(rows)


def test_what_does_not_go_with_blocks_is_refused(tmp_path):
    X, y = rows_and_labels(n_rows=100)
    rows = stored(tmp_path, X, y)
    with pytest.raises(TypeError, match="leave y out"):
        LinearSVC().fit(rows, y)
    for options, message in (
        ({"C": np.inf}, "hard margin"),
        ({"solver": "coordinate"}, "solver='coordinate'"),
        ({"warm_start": True}, "warm_start=False"),
    ):
        with pytest.raises(ValueError, match=message):
            LinearSVC(**options).fit(rows)
    with pytest.raises(ValueError, match="only one class"):
        LinearSVC().fit(stored(tmp_path / "one", X, np.ones(100)))
    with pytest.raises(ValueError, match="other names"):
        LinearSVC().fit(stored(tmp_path / "a", X, y, names=list("abcdefgh"))).predict(
            stored(tmp_path / "b", X, y, names=list("hgfedcba"))
        )


def test_models_without_blocks_take_the_mapped_arrays(tmp_path):
    X, y = rows_and_labels(n_rows=200)
    assert np.array_equal(
        Perceptron(max_iter=3).fit(stored(tmp_path, X, y)).coef_, Perceptron(max_iter=3).fit(X, y).coef_
    )


PEAK = """
import resource
from maxmargin import LinearSVC
from maxmargin.files import open_store

small, large = map(open_store, {paths!r})
LinearSVC(max_iter=2).fit(small)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
from maxmargin.data.memory import MemoryWarning
from maxmargin.engine import disk
disk.available_memory = lambda: {available}
model = LinearSVC(tol=1e-3).fit(large)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, model.certificate_.relative)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of the memory in kilobytes")
def test_the_peak_of_the_memory_is_bounded(tmp_path):
    """A store of 240 MB takes a few blocks of 16 MB and eight numbers a row: less than half of it."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=100)
    sizes = {"small": 1, "large": 15}
    for name, n_blocks in sizes.items():
        blocks = (rng.normal(size=(20_000, 100)) for _ in range(n_blocks))
        write_store(tmp_path / name, ((X, X @ w + 5.0 * rng.normal(size=len(X)) > 0) for X in blocks))
    code = PEAK.format(paths=[str(tmp_path / name) for name in sizes], available=60_000_000)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    kilobytes, gap = map(float, done.stdout.split())
    assert gap <= 1e-3
    assert kilobytes < 120_000


@pytest.mark.usefixtures("small_blocks")
def test_a_full_step_that_is_evaluated_with_its_line_search_saves_a_pass(tmp_path, monkeypatch):
    X, y = rows_and_labels()
    rows = stored(tmp_path, X, y)
    passes, proofs = [], []
    executors = []
    original = DiskExecutor.__init__

    def remember(executor, *arguments, **options):
        original(executor, *arguments, **options)
        executors.append(executor)

    monkeypatch.setattr(DiskExecutor, "__init__", remember)
    monkeypatch.setattr(disk, "available_memory", lambda: 0)
    for problem in (partitioned.ProximalProblemInRounds, newton.ProximalProblem):
        monkeypatch.setattr(partitioned.ProximalProblemInRounds, "find_root", problem.find_root)
        executors.clear()
        model = LinearSVC(C=0.3, tol=1e-6).fit(rows)
        passes.append(executors[0].blocks_read)
        proofs.append(model.certificate_)
        model.certificate_.check(certify(model, X, y))
    assert passes[0] < passes[1]
    assert max(proof.dual for proof in proofs) <= min(proof.primal for proof in proofs)


def test_every_block_is_read_once_a_pass_and_an_error_of_reading_ahead_is_raised(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "ENTRIES_OF_BLOCK", 2000)
    X, y = rows_and_labels()
    rows = stored(tmp_path, X, y)
    monkeypatch.setattr(disk, "available_memory", lambda: 0)
    executor, numbers = DiskExecutor(rows, 2), []
    read = type(rows).read_rows
    monkeypatch.setattr(
        type(rows), "read_rows", lambda store, number, **how: numbers.append(number) or read(store, number, **how)
    )
    found = executor.each(executor.read, range(len(rows.block_rows)))
    assert sorted(numbers) == list(range(len(rows.block_rows)))
    assert np.array_equal(np.concatenate(found), X)
    with (tmp_path / "rows.store" / "X.bin").open("r+b") as file:
        file.truncate(X.nbytes // 2)
    with pytest.raises(StoreError, match="cut off"):
        executor.each(executor.read, range(len(rows.block_rows)))


# What a fit keeps for every row, in numbers of 8 bytes, beside the rows and the weights that are given; with the duals.
NUMBERS = {
    "two classes": (LinearSVC(C=0.01, tol=1e-3), 8.0),
    "balanced": (LinearSVC(C=0.01, tol=1e-3, class_weight="balanced"), 8.0),
    "weighted": (LinearSVC(C=0.01, tol=1e-3), 8.0),
    "regression": (LinearSVR(C=0.01, tol=1e-3), 8.0),
    "weighted regression": (LinearSVR(C=0.01, tol=1e-3), 8.0),
    # The duals of the first four, the fit of the fifth, and blocks that are not small beside so few rows.
    "five classes": (LinearSVC(C=0.01, tol=1e-3), 14.0),
    "logistic regression of five": (LogisticRegression(C=0.01, tol=1e-3, multi_class="ovr"), 14.0),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_a_fit_keeps_for_every_row(name, tmp_path, monkeypatch):
    """Counted by the allocator; of several classes only the duals of those that are solved stay."""
    model, most = NUMBERS[name]
    n_rows, n_blocks = (40_000, 32) if "five" in name else (200_000, 128)
    # The blocks in work are little beside a number for every row.
    monkeypatch.setattr(store, "ENTRIES_OF_BLOCK", 4 * n_rows // n_blocks)
    original = DiskExecutor.__init__
    # No room for rows; the vectors lie in memory, since there is enough.
    monkeypatch.setattr(DiskExecutor, "__init__", lambda self, source, n_threads: original(self, source, n_threads, 0))
    X, y = rows_and_labels(n_rows, 4, 5 if "five" in name else 2)
    if "regression" in name and "logistic" not in name:
        y = X @ np.arange(4.0) + np.random.default_rng(1).normal(size=n_rows)
    weights = {"sample_weight": np.random.default_rng(2).random(n_rows)} if "weighted" in name else {}
    model.fit(stored(tmp_path / "few", X[:30_000], y[:30_000]), **{key: one[:30_000] for key, one in weights.items()})
    rows = stored(tmp_path, X, y)
    tracemalloc.start()
    try:
        model.fit(rows, **weights)
        after, peak = (size / (8 * n_rows) for size in tracemalloc.get_traced_memory())
    finally:
        tracemalloc.stop()
    assert 1.0 < after < (7.0 if "five" in name else 3.0)
    assert peak < most


def test_duals_of_several_classes_lie_in_files_where_memory_is_short(tmp_path, monkeypatch):
    X, y = rows_and_labels(n_classes=4)
    rows = stored(tmp_path, X, y)
    in_memory = LinearSVC(C=0.3).fit(rows)
    needed = disk.memory_of_fit(rows, 1)
    # Enough for one task, not for the duals of four.
    monkeypatch.setattr(disk, "available_memory", lambda: sum(needed) + 8 * len(X))
    planned = []
    original = DiskExecutor.plan
    monkeypatch.setattr(
        DiskExecutor, "plan", lambda self, n_tasks: (original(self, n_tasks), planned.append(self._maps_vectors))
    )
    mapped = LinearSVC(C=0.3, n_jobs=1).fit(rows)
    assert planned == [False, True]
    assert isinstance(_base(mapped.dual_coef_), np.memmap | mmap.mmap)
    assert mapped.dual_coef_.tobytes() == in_memory.dual_coef_.tobytes()
    assert mapped.certificate_ == in_memory.certificate_


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="disks of POSIX")
def test_a_disk_without_room_for_vectors_is_an_error(tmp_path, monkeypatch):
    """A mapped page that the disk does not take would end the process: all room is taken beforehand."""
    n_rows = 100_000

    def taken():
        vector = disk.VectorStorage(n_rows, tmp_path).whole("duals", np.dtype(float))
        vector[:] = 1.0
        return vector

    with (tmp_path / "file").open("w+b") as file:
        disk._take_room(file, 8 * n_rows, tmp_path)
        assert os.fstat(file.fileno()).st_size == 8 * n_rows <= 512 * os.fstat(file.fileno()).st_blocks
    assert taken().sum() == n_rows

    def refuse(number):
        def reserve(*_arguments):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "posix_fallocate", reserve)

    # A file system that cannot reserve: zeros are written.
    refuse(errno.EOPNOTSUPP)
    assert taken().sum() == n_rows
    with (tmp_path / "zeros").open("w+b") as file:
        disk._take_room(file, 8 * n_rows, tmp_path)
    assert (tmp_path / "zeros").read_bytes() == bytes(8 * n_rows)
    refuse(errno.ENOSPC)
    with pytest.raises(OSError, match="No space left on device: neither memory nor disk has room") as raised:
        taken()
    assert raised.value.filename == str(tmp_path)


def _base(array):
    """The object that holds the memory of an array."""
    while isinstance(getattr(array, "base", None), np.ndarray | mmap.mmap):
        array = array.base
    return array


def test_memory_that_is_too_little_for_blocks_is_a_warning(tmp_path, monkeypatch):
    X, y = rows_and_labels()
    rows = stored(tmp_path, X, y)
    needed = [disk.memory_of_fit(rows, n_threads).least for n_threads in (1, 2)]
    assert rows.n_bytes < needed[0] < needed[1]
    monkeypatch.setattr(disk, "available_memory", lambda: needed[0])
    with pytest.warns(
        MemoryWarning, match="needs about 1 MB of memory .* 2 threads .* with n_jobs=1 it needs 1 MB"
    ) as told:
        LinearSVC(C=0.3, n_jobs=2).fit(rows)
    assert [warning.filename for warning in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearSVC(C=0.3, n_jobs=1).fit(rows)
    # The answers of blocks: matrices of d x d numbers up to 2,048 columns, 28 vectors beyond.
    for n_columns, numbers in ((2000, 2001**2), (100_000, 28 * 100_001)):
        wide = SimpleNamespace(block_rows=[10], n_columns=n_columns, n_bytes=800)
        assert disk.memory_of_fit(wide, 1).least == 5 * 800 + 6 * 8 * numbers
