"""Lost workers, cancelled fits, clusters that go away, several fits at once: with worker processes, all estimators."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import dask.array as da
import distributed
import numpy as np
import pytest

import dask
import maxmargin.engine.dask as engine_module
import maxmargin.engine.executors as executors_module
from dask_collections import collections, numbers
from maxmargin import BayesianRegression, LinearSVC, LinearSVR, LogisticRegression, Ridge, certify, separate
from maxmargin.engine.executors import ClusterError

EXAMPLE = Path(__file__).parents[2] / "examples" / "on_a_cluster.py"
MODELS = {
    "logistic": LogisticRegression(C=1.0, tol=1e-6),
    "ridge": Ridge(alpha=1.0),
    "bayes": BayesianRegression(),
    "svr": LinearSVR(C=0.1, epsilon=0.1),
    "svc": LinearSVC(C=0.1, tol=1e-6),
}


def data_of(name):
    X, y, _ = numbers(2000, 8)
    y = np.where(y > y.mean(), 1, -1) if name in ("logistic", "svc") else y
    return X, y, collections(X, y, [0, 3, 700, 700, 2000])


@pytest.fixture
def at_round(monkeypatch):
    """Have an action done in a round of the next fit on a cluster; return the list of rounds that were counted."""
    rounds = []

    def do(number, action):
        original = engine_module._Rows.run

        def run(self):
            rounds.append(1)
            if len(rounds) == number:
                action()
            return original(self)

        monkeypatch.setattr(engine_module._Rows, "run", run)
        return rounds

    return do


def same_bits(one, other):
    assert one.coef_.tobytes() == other.coef_.tobytes()
    assert np.asarray(one.intercept_).tobytes() == np.asarray(other.intercept_).tobytes()
    assert one.certificate_ == other.certificate_


@pytest.mark.parametrize("name", ["logistic", "ridge", "bayes"])
def test_a_killed_worker_costs_a_recompute_in_every_fit(name, client, at_round):
    X, y, (dX, dy) = data_of(name)
    with dask.config.set(scheduler="threads"):
        undisturbed = MODELS[name].fit(dX, dy)
    processes = list(client.run(os.getpid).values())
    rounds = at_round(2, lambda: os.kill(processes[0], signal.SIGKILL))
    again = type(undisturbed)(**undisturbed.get_params()).fit(dX, dy)
    assert len(rounds) > 2
    same_bits(undisturbed, again)
    again.certificate_.check(certify(again, X, y))
    client.wait_for_workers(2, timeout=60)
    assert processes[0] not in client.run(os.getpid).values()


def test_a_killed_worker_does_not_change_a_decision(client, at_round):
    X, _, _ = numbers(2000, 8)
    dX, dy = collections(X, np.sign(X[:, 0] + 0.1), [0, 3, 700, 700, 2000])
    with dask.config.set(scheduler="threads"):
        undisturbed = separate(dX, dy)
    processes = list(client.run(os.getpid).values())
    rounds = at_round(2, lambda: os.kill(processes[0], signal.SIGKILL))
    again = separate(dX, dy)
    assert len(rounds) >= 2
    assert again.certificate == undisturbed.certificate
    assert again.coef.tobytes() == undisturbed.coef.tobytes()
    client.wait_for_workers(2, timeout=60)


@pytest.mark.parametrize("long_partitions", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_one_two_and_three_workers_and_threads_give_the_same_bits(name, long_partitions, cluster, client, monkeypatch):
    if long_partitions:
        # Questions that may turn out to be needless are asked late.
        monkeypatch.setattr(engine_module, "MANY_ROWS", 1)
    _, _, (dX, dy) = data_of(name)
    with dask.config.set(scheduler="threads"):
        here = MODELS[name].fit(dX, dy)
    workers = list(client.scheduler_info()["workers"])
    for chosen in (workers[:1], workers):
        with dask.annotate(workers=chosen, allow_other_workers=False):
            same_bits(here, type(here)(**here.get_params()).fit(dX.persist(), dy.persist()))
    if name == "svc" and not long_partitions:
        cluster.scale(3)
        client.wait_for_workers(3, timeout=60)
        for other in (name, "ridge"):
            _, _, (dX, dy) = data_of(other)
            with dask.config.set(scheduler="threads"):
                here = MODELS[other].fit(dX, dy)
            same_bits(here, type(here)(**here.get_params()).fit(dX, dy))
        cluster.scale(2)


@pytest.mark.usefixtures("client")
def test_several_fits_at_once_on_one_cluster():
    found, errors = {}, []

    def fit(name):
        try:
            _, _, (dX, dy) = data_of(name)
            found[name] = type(MODELS[name])(**MODELS[name].get_params()).fit(dX, dy)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=fit, args=(name,)) for name in ("logistic", "ridge", "bayes")]
    [thread.start() for thread in threads]
    [thread.join(120) for thread in threads]
    assert not errors
    assert not any(thread.is_alive() for thread in threads)
    with dask.config.set(scheduler="threads"):
        for name, model in found.items():
            _, _, (dX, dy) = data_of(name)
            same_bits(type(model)(**model.get_params()).fit(dX, dy), model)


@pytest.mark.parametrize("name", ["logistic", "ridge"])
def test_a_cancelled_fit_is_an_error(name, client, at_round):
    _, _, (dX, dy) = data_of(name)

    def cancel_all():
        client.cancel([distributed.Future(key, client) for key in list(client.futures)], force=True)

    at_round(3, cancel_all)
    with pytest.raises(ClusterError, match="cancelled"):
        MODELS[name].fit(dX, dy)


def test_a_closed_client_is_an_error(cluster, at_round):
    """The client is closed, or has timed out, in the middle of a fit: nothing hangs."""
    _, _, (dX, dy) = data_of("ridge")
    # A client that is closed inside of its own block does not restore the scheduler that was the default before.
    with dask.config.set(scheduler="threads"), distributed.Client(cluster, timeout=60) as own:
        at_round(3, own.close)
        with pytest.raises(ClusterError):
            Ridge(alpha=1.0).fit(dX, dy)


@pytest.mark.cluster
def test_a_killed_scheduler_is_an_error(at_round, monkeypatch, tmp_path):
    """SIGKILL in the middle of a fit: one error within seconds, and nothing hangs."""
    monkeypatch.setattr(executors_module, "PATIENCE_WITHOUT_WORKERS", 1.0)
    file = tmp_path / "scheduler.json"
    common = ["--scheduler-file", file, "--no-dashboard"]
    start = partial(subprocess.Popen, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    scheduler = start([sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", *common])
    worker = start([sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", *common])
    try:
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            while not file.exists():
                assert scheduler.poll() is None
                time.sleep(0.05)
            client = distributed.Client(scheduler_file=file, timeout=60)
            client.wait_for_workers(1, timeout=60)
            _, _, (dX, dy) = data_of("svc")
            rounds = at_round(4, scheduler.kill)
            began = time.perf_counter()
            with pytest.raises(ClusterError):
                LinearSVC(C=0.1).fit(dX, dy)
            assert len(rounds) >= 4
            assert time.perf_counter() - began < 20.0
            client.close(timeout=2)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait(60)


def test_a_cluster_without_workers_is_an_error(monkeypatch):
    monkeypatch.setattr(executors_module, "PATIENCE_WITHOUT_WORKERS", 2.0)
    _, _, (dX, dy) = data_of("ridge")
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as empty,
        distributed.Client(empty),
        pytest.raises(ClusterError, match="no workers"),
    ):
        Ridge(alpha=1.0).fit(dX, dy)


@pytest.mark.parametrize("name", MODELS)
def test_errors_of_every_fit_name_the_partition(name):
    X, y, _ = data_of(name)
    broken = X.copy()
    broken[1500, 3] = np.nan
    dX, dy = collections(broken, y, [0, 3, 700, 700, 2000])
    with pytest.raises(ValueError, match=r"partition 3: .*X contains NaN"):
        MODELS[name].fit(dX, dy)
    with pytest.raises(ValueError, match="all of its partitions are empty"):
        MODELS[name].fit(*collections(X[:0], y[:0], [0, 0, 0]))


def test_a_decision_names_the_partition():
    X, y, _ = data_of("logistic")
    broken = X.copy()
    broken[1500, 3] = np.inf
    with pytest.raises(ValueError, match=r"partition 3: .*X contains inf"):
        separate(*collections(broken, y, [0, 3, 700, 700, 2000]))
    dX, dy = collections(X, y, [0, 3, 700, 700, 2000])
    with pytest.raises(ValueError, match="only one class"):
        LogisticRegression().fit(dX, da.zeros_like(dy))


@pytest.mark.slow
def test_the_example_survives_its_lost_worker():
    ended = subprocess.run(
        [sys.executable, EXAMPLE, "--rows", "40000"], capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"killed worker process \d+", ended.stdout)
    assert re.search(r"solved after .* rounds: relative duality gap", ended.stdout)
    assert "computed again from the data: relative duality gap" in ended.stdout
