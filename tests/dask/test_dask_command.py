"""``maxmargin train --scheduler``: the workers read the files, and the model is that of the rows in memory."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from functools import partialmethod

import numpy as np
import pandas as pd
import pytest

from command_runner import run, told
from maxmargin import Ridge, certify
from maxmargin import load as load_model
from maxmargin.cli import cluster as cluster_module
from maxmargin.engine.executors import ClusterError
from maxmargin.files import read_svmlight, store_text, write_svmlight
from maxmargin.files.partitions import lines_between, merged_names, pieces_of, read_partitions
from real_data import load


@pytest.fixture
def address(client):
    return client.scheduler.address


@pytest.fixture
def files(tmp_path):
    """The rows of one set as text, as compressed text and as a store, one third each."""
    X, y = load("mushrooms")
    parts = [slice(0, 3000), slice(3000, 5000), slice(5000, X.shape[0])]
    paths = [tmp_path / name for name in ("a.svm", "b.svm.gz", "c.svm")]
    for path, part in zip(paths, parts, strict=True):
        write_svmlight(path, X[part], y[part])
    store_text(paths[2], tmp_path / "c.store")
    return [*paths[:2], tmp_path / "c.store"], X, y


def test_files_of_all_kinds_are_partitions(address, files, tmp_path):
    paths, X, y = files
    options = ["-m", "ridge", "--scheduler", address, "--test", paths[1]]
    found = told("train", *paths, "-o", tmp_path / "model", *options)
    assert found["rows"] == X.shape[0]
    assert found["partitions"] == 3
    assert found["status"] == "solved"
    model = load_model(tmp_path / "model")
    model.certificate_.check(certify(model, X, y))
    np.testing.assert_allclose(model.coef_, Ridge().fit(X, y).coef_, rtol=1e-6, atol=1e-9)
    assert found["r2_train"] == pytest.approx(model.score(X, y))
    # Vectors over the columns, or a matrix, for each of the three partitions.
    assert 3 * 8 * found["columns"] < found["bytes_per_round"] < 3 * 8 * (found["columns"] + 3) ** 2
    printed = run("train", *paths, "-o", tmp_path / "model", *options).stdout
    assert f"{found['rounds']}, with {found['bytes_per_round']:,.0f} bytes of messages and answers in each" in printed


def test_patterns_and_addresses_name_files(address, files, tmp_path):
    """As docs/guide/cluster.md has them; addresses of any file system are read by the workers, one partition each."""
    paths = files[0]
    X, y = read_svmlight(paths[0], zero_based=False)
    lines = paths[0].read_text().splitlines(keepends=True)
    for k in range(2):
        (tmp_path / f"part-{k}.svm").write_text("".join(lines[1500 * k : 1500 * (k + 1)]))
    for names in (["part-*.svm"], ["part-0.svm", "part-[1-9].svm"]):
        for prefix in ("", "file://", "local://"):
            data = [f"{prefix}{tmp_path / name}" for name in names]
            found = told("train", *data, "-o", tmp_path / "model", "-m", "ridge", "--scheduler", address)
            assert (found["rows"], found["partitions"], found["status"]) == (3000, 2, "solved")
            load_model(tmp_path / "model").certificate_.check(certify(load_model(tmp_path / "model"), X, y))
    for missing in ("none-*.svm", "none.svm", "local:///none.svm"):
        failed = run("train", missing, "-o", tmp_path / "m", "--scheduler", address, code=1)
        assert "no such file" in str(failed.exception)


def test_tables_with_different_texts_are_encoded_alike(address, tmp_path):
    generator, paths, frames = np.random.default_rng(0), [], []
    for k, texts in enumerate((["u", "v"], ["w", "u"])):
        frame = pd.DataFrame(generator.standard_normal((300, 2)), columns=list("pq"))
        frame["kind"] = generator.choice(texts, 300)
        frame["t"] = frame.p + 2.0 * frame.q + (frame.kind == "u")
        paths.append(tmp_path / f"{k}.{('csv', 'parquet')[k]}")
        frame.to_csv(paths[0], index=False) if k == 0 else frame.to_parquet(paths[1])
        frames.append(frame)
    found = told(
        "train",
        *paths,
        "-o",
        tmp_path / "model",
        "-m",
        "ridge",
        "--alpha",
        "1e-6",
        "--target",
        "t",
        "--scheduler",
        address,
    )
    assert found["columns"] == 5
    assert found["r2_train"] > 0.999
    model = load_model(tmp_path / "model")
    assert model.feature_names_in_.tolist() == ["p", "q", "kind=u", "kind=v", "kind=w"]
    rows = pd.get_dummies(pd.concat(frames), columns=["kind"], prefix_sep="=")[model.feature_names_in_.tolist()]
    model.certificate_.check(certify(model, rows.astype(float), pd.concat(frames).t))


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_ranges_of_bytes_cover_every_line_once(size, tmp_path):
    path = tmp_path / "rows.svm"
    generator = np.random.default_rng(1)
    lines = [f"{k % 2} 1:{k} {generator.integers(2, 99)}:0.5" + " " * (k % 5) for k in range(60)]
    path.write_text("\n".join(lines))
    pieces = pieces_of(str(path), size)
    assert b"".join(lines_between(*piece) for piece in pieces).decode() == path.read_text()
    assert all(lines_between(*piece).count(b"\n") <= len(lines) for piece in pieces)


def test_ranges_of_text_give_the_rows_of_the_file(client, files):
    paths, _, _ = files
    found = read_partitions(client, [str(paths[0])], text_bytes=20_000)
    X, y = read_svmlight(paths[0], zero_based=False)
    assert len(found.X.chunks[0]) > 5
    parts = client.compute(list(np.ravel(found.X.to_delayed())), sync=True)
    assert {part.shape[1] for part in parts} == {X.shape[1]}
    assert sum(part.shape[0] for part in parts) == X.shape[0]
    assert sum(part.sum() for part in parts) == pytest.approx(X.sum())
    assert found.y.compute().tolist() == y.tolist()


def test_names_of_several_tables_are_merged():
    assert merged_names([["a", "b=u", "c"], ["a", "b=t", "c"]]) == ["a", "b=t", "b=u", "c"]


def test_what_a_cluster_does_not_do_is_refused(files, tmp_path, address):
    paths, _, _ = files
    text, output = paths[0], tmp_path / "model"
    for arguments, words in (
        (["-m", "svc", "--scheduler", address], "does not learn on a cluster"),
        (["--cv", "3", "--scheduler", address], "--cv"),
        (["--store", "--scheduler", address], "--store"),
        (["--scheduler", "local:many"], "number of workers"),
        (["--scheduler", "local:99999"], "99,999 workers are too many"),
        ([tmp_path / "missing.svm", "--scheduler", address], "no such file"),
        (["-", "--scheduler", address], "standard input"),
    ):
        assert words in str(run("train", text, *arguments, "-o", output, code=1).exception)
    bad = tmp_path / "bad.svm"
    bad.write_text("1 1:1\n-1 2:x\n")
    failed = run("train", text, bad, "-o", output, "--scheduler", address, code=1)
    assert "bad.svm, from byte 0: " in str(failed.exception)
    assert not output.exists()


@pytest.mark.slow
def test_the_command_starts_workers_of_its_own(files, tmp_path):
    """As from the shell, in a process of its own; the bits are those of one worker."""
    path, found = files[0][0], {}
    for scheduler in ("local:2", "local:1"):
        options = ["-m", "linear-svc", "-C", "0.1", "--scheduler", scheduler, "--json"]
        arguments = ["train", path, "-o", tmp_path / scheduler.replace(":", "-"), *options]
        ended = subprocess.run(
            [sys.executable, "-m", "maxmargin", *map(str, arguments)], capture_output=True, text=True, timeout=300
        )
        assert ended.returncode == 0, ended.stderr
        found[scheduler] = json.loads(ended.stdout)
        assert found[scheduler]["status"] == "solved"
    models = [load_model(tmp_path / name) for name in ("local-2", "local-1")]
    assert models[0].coef_.tobytes() == models[1].coef_.tobytes()
    assert models[0].dual_coef_.tobytes() == models[1].dual_coef_.tobytes()
    X, y = read_svmlight(path, zero_based=False)
    models[0].certificate_.check(certify(models[0], X, y))


@pytest.mark.parametrize("text", ["foo", "", "localhost", "tcp://", "tcp://127.0.0.1:abc", "http://127.0.0.1:1"])
def test_what_is_no_address_is_refused_at_once(text, files, tmp_path):
    began = time.perf_counter()
    failed = run("train", files[0][0], "-o", tmp_path / "model", "--scheduler", text, code=1)
    assert "is no address: an address is tcp://HOST:PORT" in str(failed.exception)
    assert time.perf_counter() - began < 0.5 * cluster_module.CONNECT_SECONDS


@pytest.mark.parametrize("listens", [False, True])
def test_an_address_where_no_scheduler_answers_is_an_error(listens, files, tmp_path, monkeypatch):
    """Nobody at the port, or another program that never answers."""
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 1.0)
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        if listens:
            taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        began = time.perf_counter()
        failed = run("train", files[0][0], "-o", tmp_path / "model", "--scheduler", address, code=1)
    assert "no scheduler answers there" in str(failed.exception)
    assert time.perf_counter() - began < 60.0


def test_a_host_that_does_not_exist_and_a_cluster_without_workers_are_errors(files, tmp_path, monkeypatch):
    from distributed import LocalCluster

    failed = run("train", files[0][0], "-o", tmp_path / "m", "--scheduler", "tcp://no.such.host.invalid:1", code=1)
    assert "there is no host 'no.such.host.invalid'" in str(failed.exception)
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 2.0)
    with LocalCluster(n_workers=0, dashboard_address=None) as empty:
        address = empty.scheduler_address
        failed = run("train", files[0][0], "-o", tmp_path / "m", "--scheduler", address, code=1)
    assert "the cluster has no workers" in str(failed.exception)


def test_a_cluster_that_goes_away_is_an_error_of_the_option(address, files, tmp_path, monkeypatch):
    def fail(*_arguments):
        raise ClusterError("The cluster has had no workers.")

    monkeypatch.setattr(cluster_module, "fit_on_cluster", fail)
    monkeypatch.setattr("maxmargin.cli.train.fit_on_cluster", fail)
    failed = run("train", files[0][0], "-o", tmp_path / "m", "--scheduler", address, code=1)
    assert isinstance(failed.exception, ValueError)
    assert f"--scheduler {address}: The cluster has had no workers." in str(failed.exception)


@pytest.mark.parametrize("scheduler", ["local:1", "address"])
def test_a_cluster_that_does_not_close_takes_no_model(scheduler, address, files, tmp_path, monkeypatch):
    """Neither a model that is fitted nor the error before: closing may take longer than Dask waits."""
    from distributed import Client, LocalCluster

    closed = []

    def close_and_fail(self, *arguments, original, **options):
        original(self, *arguments, **options)
        # When it is collected it closes once more.
        if self not in closed:
            closed.append(self)
            raise TimeoutError("timed out after 60 s.")

    for kind in (Client, LocalCluster):
        monkeypatch.setattr(kind, "close", partialmethod(close_and_fail, original=kind.close))
    scheduler = address if scheduler == "address" else scheduler
    found = told("train", files[0][0], "-o", tmp_path / "model", "-m", "ridge", "--scheduler", scheduler)
    assert found["status"] == "solved"
    assert {type(one) for one in closed} == ({Client, LocalCluster} if scheduler == "local:1" else {Client})
    failed = run("train", tmp_path / "none.svm", "-o", tmp_path / "m", "--scheduler", scheduler, code=1)
    assert "none.svm" in str(failed.exception)


def test_the_address_of_a_worker_is_refused(client, files, tmp_path):
    worker = next(iter(client.scheduler_info()["workers"]))
    failed = run("train", files[0][0], "-o", tmp_path / "m", "--scheduler", worker, code=1)
    assert "no scheduler answers there" in str(failed.exception)


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_to_the_whole_group_ends_the_command_and_its_workers(number, files, tmp_path):
    """As Ctrl-C in a terminal does: the model so far or one line, no worker is left, and nothing waits for them."""
    path, received = files[0][0], getattr(signal, number)
    arguments = ["train", path, "-o", tmp_path / "model", "-C", "1000", "--tol", "1e-15", "--scheduler", "local:2"]
    command = subprocess.Popen(
        [sys.executable, "-c", SLOW_FIT, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert command.stderr.readline() == "training\n"
        os.killpg(command.pid, received)
        began = time.perf_counter()
        _, errors = command.communicate(timeout=100)
        # Far below the 30 s for which a busy worker is waited for.
        assert time.perf_counter() - began < 20.0
        assert command.returncode in (130, 128 + received), errors
        assert (tmp_path / "model.interrupted").exists() or "interrupted before there was a model" in errors
        deadline = time.perf_counter() + 5.0
        while _group_lives(command.pid):
            assert time.perf_counter() < deadline
            time.sleep(0.1)
    finally:
        if command.poll() is None:
            os.killpg(command.pid, signal.SIGKILL)


def _group_lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


# The command, in which every round of a fit waits a little, and the third one says that it is time.
SLOW_FIT = """
import sys, time
import maxmargin.engine.dask as engine
from maxmargin.cli.app import main

run, rounds = engine._Rows.run, []

def slow_run(rows):
    rounds.append(1)
    if len(rounds) == 3:
        print("training", file=sys.stderr, flush=True)
    time.sleep(0.5)
    return run(rows)

engine._Rows.run = slow_run
if __name__ == "__main__":
    main()
"""
