"""Memory of workers: what the scheduler counts, partitions that stay where they are, vectors that are used again."""

import ctypes
import ctypes.util
import os
import subprocess
import sys
import threading

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from dask.sizeof import sizeof
from distributed import wait

import dask
import maxmargin.engine.dask as engine_module
from dask_collections import collections, numbers
from maxmargin import LinearSVC
from maxmargin.data.partition_summaries import check_partition
from maxmargin.data.partitions import LocalTargets
from maxmargin.engine import buffers, executors
from maxmargin.engine.buffers import Buffers
from maxmargin.engine.rounds import add_vector, begin


@pytest.mark.parametrize("sparse", [False, True])
def test_the_scheduler_counts_rows_and_vectors(sparse):
    X = np.random.default_rng(0).normal(size=(5000, 20))
    rows = sp.csr_array(X) if sparse else X
    n_bytes = rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes if sparse else X.nbytes
    y = np.where(X[:, 0] > 0.0, 1, -1)
    own = check_partition(rows, y, None, of_classes=True)
    assert n_bytes < sizeof(own) < n_bytes + 8 * 4 * len(y)
    # The chunk of a persisted collection counts by itself, and a copy of it does not.
    shared = check_partition(rows, y, None, of_classes=True, is_persisted=True)
    # Up to what Python's own objects take, which depends on what they have cached.
    assert sizeof(shared) == pytest.approx(sizeof(own) - n_bytes, abs=1000)
    copied = check_partition(rows.astype(np.int64), y, None, of_classes=True, is_persisted=True)
    assert sizeof(copied) > n_bytes
    state = begin(own, LocalTargets(np.array([-1, 1]), 1, None), False)
    longer = add_vector(state, "scores", np.zeros(len(y)))
    assert sizeof(longer) - sizeof(state) == pytest.approx(8 * len(y), rel=0.02)
    assert 12 * len(y) <= sizeof(state) < 13 * len(y)


@pytest.mark.parametrize("persisted", [False, True])
def test_partitions_and_vectors_stay_where_they_are(client, monkeypatch, persisted):
    X = da.random.default_rng(0).standard_normal((60_000, 40), chunks=(5_000, 40))
    y = da.where(X @ np.linspace(-1.0, 1.0, 40) > 0.3, 1, -1)
    if persisted:
        X, y = client.persist([X, y])
        wait([X, y])
    places, original = [], engine_module._Rows.run

    def run(self):
        original(self)
        wait(list(self.states))
        held = client.who_has([*self.points.partitions, *self.states])
        places.append([held[future.key] for future in (*self.points.partitions, *self.states)])

    monkeypatch.setattr(engine_module._Rows, "run", run)
    model = LinearSVC(C=0.01).fit(X, y)
    assert len(places) >= model.n_iter_
    for at in places:
        # One worker each, the same one in every round, with the vectors beside the rows.
        assert all(len(workers) == 1 for workers in at)
        assert at[:12] == at[12:] == places[0][:12]
    assert len({worker for workers in places[0] for worker in workers}) == 2


def test_memory_is_used_again_when_all_views_are_gone():
    found = Buffers(1 << 20)
    first = found.empty(40_000, np.float64)
    first[:] = 1.0
    address, view = first.ctypes.data, first[10:20]
    del first
    # A view still needs it.
    other = found.empty(40_000, np.float64)
    assert other.ctypes.data != address
    assert view.tolist() == [1.0] * 10
    del view
    again = found.empty(80_000, np.float32)
    assert again.ctypes.data == address
    assert again.flags.writeable
    assert again.shape == (80_000,)
    # No more than allowed is kept, and short vectors are not.
    del again, other
    many = [found.empty(100_000, np.float64) for _ in range(4)]
    del many
    assert 0 < found.size <= found.most
    assert found.empty(10, np.float64).base is None


def test_threads_that_share_buffers_get_memory_of_their_own():
    found, errors = Buffers(1 << 22), []

    def work(number):
        for _ in range(200):
            mine = found.empty(20_000, np.float64)
            mine[:] = number
            if not (mine == number).all():
                errors.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors
    assert found.size <= found.most


def test_vectors_in_used_memory_give_the_same_bits(monkeypatch):
    X, y, _ = numbers(40_000, 6)
    dX, dy = collections(X, np.where(y > y.mean(), 1, -1), [0, 18_000, 36_000, 40_000])
    with dask.config.set(scheduler="threads"):
        before = LinearSVC(C=0.01, tol=1e-6).fit(dX, dy)
        # What is not written shows: memory that is used for the first time is full of NaN.
        found = Buffers(1 << 26)
        fresh = found.empty

        def filled(n, dtype):
            memory = fresh(n, dtype)
            memory.view(np.uint8)[:] = 255
            return memory

        found.empty = filled
        monkeypatch.setattr(buffers, "_of_process", found)
        after = LinearSVC(C=0.01, tol=1e-6).fit(dX, dy)
    assert found.size > 0
    assert before.coef_.tobytes() == after.coef_.tobytes()
    assert before.certificate_ == after.certificate_


def test_answers_are_added_by_few_tasks_over_the_same_tree(client, monkeypatch):
    terms = [[0.1 * k, np.array([1.0 / (k + 1)])] for k in range(45)]
    futures = client.scatter(terms)
    there, submitted = executors.ClusterExecutor(client), []
    submit = client.submit
    monkeypatch.setattr(client, "submit", lambda *given, **how: submitted.append(given) or submit(*given, **how))
    here = executors.Executor().added(terms, 8)
    for size, n_tasks in ((8, 3), (1 << 23, 11), (1 << 40, 11)):
        submitted.clear()
        found = there.added(futures, size)
        assert found[0] == here[0]
        assert found[1].tobytes() == here[1].tobytes()
        assert len(submitted) == n_tasks


@pytest.mark.parametrize("many_rows", [1 << 17, 1])
def test_rows_as_those_of_covtype_take_few_rounds(monkeypatch, many_rows):
    """Ten columns of numbers and 44 of zeros and ones, sorted by one of them: 40 rounds to a gap of 1e-3."""
    monkeypatch.setattr(engine_module, "MANY_ROWS", many_rows)
    rng = np.random.default_rng(0)
    n_rows = 40_000
    X = np.zeros((n_rows, 54))
    X[:, :10] = rng.beta(2.0, 3.0, size=(n_rows, 10))
    X[np.arange(n_rows), 10 + rng.integers(0, 4, n_rows)] = 1.0
    X[np.arange(n_rows), 14 + rng.zipf(1.5, n_rows) % 40] = 1.0
    X = X[np.argsort(X[:, 0])]
    y = np.where(X @ rng.normal(size=54) + 0.7 * rng.normal(size=n_rows) > 0.3, 1, -1)
    dX, dy = collections(X, y, [0, 10_000, 20_000, 30_000, 40_000])
    model = LinearSVC(C=1.0, tol=1e-3).fit(dX, dy)
    assert model.certificate_.relative <= 1e-3
    assert model.rounds_ <= 40


FAULTS = """
import resource, sys
import numpy as np
from maxmargin.engine.worker_memory import keep_freed_memory

if sys.argv[1] == "kept":
    assert keep_freed_memory()
values = np.zeros(290_000)
for _ in range(10):
    values.copy()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    values.copy()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not ctypes.util.find_library("c") or not hasattr(ctypes.CDLL(None), "mallopt"), reason="glibc's")
def test_workers_of_the_command_keep_freed_memory():
    """With the setting that Dask makes, every copy of a vector of 2.3 MB asks the system for its 567 pages."""
    faults = {}
    for kind in ("given back", "kept"):
        environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
        arguments = [sys.executable, "-c", FAULTS, kind]
        ended = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
        faults[kind] = int(ended.stdout)
    assert faults["kept"] < 100 < 1000 < faults["given back"]
