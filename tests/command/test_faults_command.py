"""Faults outside of the command, in processes of their own: signals, full disks, dead runs, damaged caches."""

import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from command_runner import run, told
from maxmargin import Status, load
from maxmargin.cli import writing
from maxmargin.data import validation
from maxmargin.files import write_store, write_svmlight

COMMAND = (sys.executable, "-m", "maxmargin.cli.app")


def start(*words, **options):
    """Start the command."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*COMMAND, *map(str, words)], **{**pipes, **options})


# Options with which the training on ``hard_rows`` takes minutes.
LONG = "-m", "svc", "--kernel", "linear", "-C", 1e4, "--tol", 1e-9, "--verbose"


def hard_rows():
    """Rows with random labels, on which a hard penalty takes minutes."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(3000, 40)), rng.choice([-1.0, 1.0], 3000)


def wait_for_training(process):
    """Wait until the training has begun, and a while more."""
    lines = []
    while not any("training: start" in line for line in lines):
        line = process.stderr.readline()
        assert line, lines
        lines.append(line)
    time.sleep(1.0)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_signals_leave_the_model_so_far_with_its_proof(name, tmp_path):
    rows, model = tmp_path / "rows.svm", tmp_path / "model"
    write_svmlight(rows, *hard_rows())
    model.write_bytes(b"a model that is solved")
    process = start("train", rows, "-o", model, *LONG)
    try:
        wait_for_training(process)
        process.send_signal(getattr(signal, name))
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + getattr(signal, name), errors
    assert model.read_bytes() == b"a model that is solved"
    found = load(tmp_path / "model.interrupted")
    assert found.status_ is Status.INTERRUPTED
    assert told("verify", tmp_path / "model.interrupted", rows)["true"] is True
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "model.interrupted", "rows.svm"]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")
@pytest.mark.parametrize(("ignored", "name"), [("SIGINT", "SIGTERM"), ("SIGINT", "SIGHUP"), ("SIGHUP", "SIGTERM")])
def test_jobs_in_the_background_end_by_signals_that_they_do_not_ignore(ignored, name, tmp_path):
    """A script starts ``command &`` without Ctrl-C, and nohup without SIGHUP."""
    rows, model = tmp_path / "rows.svm", tmp_path / "model"
    write_svmlight(rows, *hard_rows())
    one_ignored = partial(signal.signal, getattr(signal, ignored), signal.SIG_IGN)
    process = start("train", rows, "-o", model, *LONG, preexec_fn=one_ignored)
    try:
        wait_for_training(process)
        process.send_signal(getattr(signal, ignored))
        time.sleep(1.0)
        assert process.poll() is None
        process.send_signal(getattr(signal, name))
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + getattr(signal, name), errors
    assert load(tmp_path / "model.interrupted").status_ is Status.INTERRUPTED


def test_a_file_that_may_not_grow_is_written_elsewhere(tmp_path):
    """A limit on the size of files, as a full disk: nothing is left at the place, and the error names it."""
    rng = np.random.default_rng(0)
    write_svmlight(tmp_path / "rows.svm", rng.normal(size=(50, 40)), np.repeat([-1.0, 1.0], 25))

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    process = start("train", tmp_path / "rows.svm", "-o", tmp_path / "model", preexec_fn=limited)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "File too large" in errors
    assert str(tmp_path / "model") in errors
    assert not (tmp_path / "model").exists()
    assert not list(tmp_path.glob("*.part"))


def test_a_full_disk_falls_back_to_another_folder(tmp_path, monkeypatch):
    full, other = tmp_path / "full", tmp_path / "other"
    full.mkdir()
    other.mkdir()
    monkeypatch.setattr(writing.tempfile, "gettempdir", lambda: str(other))

    def write(path):
        if path.parent == full:
            raise OSError(28, os.strerror(28), str(path))
        path.write_text("the model")

    written, why = writing.written_somewhere(full / "model", write)
    assert written.parent == other
    assert written.read_text() == "the model"
    assert why == f"{full / 'model'}: No space left on device"
    with pytest.raises(PermissionError):
        writing.written_somewhere(full / "model", lambda _: (_ for _ in ()).throw(PermissionError(13, "no")))


@pytest.mark.parametrize("damage", ["empty index", "truncated code"])
def test_a_damaged_cache_is_told_once_and_the_loops_are_compiled(damage, tmp_path):
    rng = np.random.default_rng(0)
    write_svmlight(tmp_path / "rows.svm", rng.normal(size=(50, 4)), np.repeat([-1.0, 1.0], 25))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    words = "info", tmp_path / "rows.svm"
    first = start(*words, env=environment)
    assert first.wait(timeout=120) == 0
    files = list((tmp_path / "cache").rglob("*.nbi" if damage == "empty index" else "*.nbc"))
    assert files
    for file in files:
        file.write_bytes(b"" if damage == "empty index" else file.read_bytes()[:100])
    process = start(*words, env=environment)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert output == first.stdout.read()
    assert errors.count("warning: The cache of compiled loops in") == 1
    assert "compiled in memory" in errors
    # An empty index has taken the place of the damaged one: the next run is quiet.
    again = start(*words, env=environment)
    assert again.communicate(timeout=120)[1] == ""


def test_the_model_goes_to_standard_output_and_the_report_to_standard_error(tmp_path):
    rng = np.random.default_rng(0)
    write_svmlight(tmp_path / "rows.svm", rng.normal(size=(50, 4)), np.repeat([-1.0, 1.0], 25))
    process = start("train", tmp_path / "rows.svm", "-o", "-", text=False)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert b"certificate" in errors
    (tmp_path / "model").write_bytes(output)
    assert load(tmp_path / "model").status_ is Status.SOLVED
    assert not Path("-").exists()


@pytest.mark.skipif(not hasattr(signal, "SIGBUS"), reason="signals of POSIX")
def test_a_store_that_is_cut_off_while_it_is_mapped_is_one_line(tmp_path):
    store, model = tmp_path / "rows.store", tmp_path / "model"
    write_store(store, [hard_rows()])
    process = start("train", store, "-o", model, *LONG, "--cache-size", 1)
    try:
        wait_for_training(process)
        os.truncate(store / "X.bin", 0)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 2, errors
    assert errors.splitlines()[-1] == f"error: {store} was cut off by another program while it was read."
    assert not model.exists()


def test_a_full_disk_is_named_by_every_subcommand_that_writes(tmp_path):
    rows = tmp_path / "rows.svm"
    rng = np.random.default_rng(0)
    write_svmlight(rows, rng.normal(size=(500, 40)), np.repeat([-1.0, 1.0], 250))
    run("train", rows, "-o", tmp_path / "model")

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    for words, output in (
        (("predict", tmp_path / "model", rows, "-o"), "labels.txt"),
        (("convert", rows), "rows.store"),
        (("convert", rows), "rows.csv"),
        (("convert", tmp_path / "model", "--to", "liblinear"), "text"),
        (("plot", tmp_path / "model", rows, "-o"), "picture.svg"),
    ):
        process = start(*words, tmp_path / output, preexec_fn=limited)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 2, errors
        assert errors.splitlines()[-1] == f"error: {tmp_path / output}: File too large."
        assert not (tmp_path / output).exists()


def test_values_of_a_manifest_that_are_nested_deeply_are_a_damage(tmp_path):
    store = tmp_path / "rows.store"
    write_store(store, [(np.ones((2, 1)), np.array([0.0, 1.0]))])
    manifest = store / "manifest.json"
    manifest.write_text(manifest.read_text().rstrip()[:-1] + ', "more": ' + "[" * 100_000 + "]" * 100_000 + "}")
    result = run("info", store, code=1)
    assert str(result.exception) == f"{manifest} is damaged: its values are nested too deeply."


def test_columns_for_which_there_is_no_memory_are_refused_at_once(tmp_path, monkeypatch):
    rows = tmp_path / "rows.svm"
    rows.write_text("+1 1:1 2147483647:1\n-1 2:1\n")
    monkeypatch.setattr(validation, "available_memory", lambda: 10**10)
    for words in (("train", rows, "-o", tmp_path / "model"), ("separate", rows)):
        result = run(*words, code=1)
        assert str(result.exception).startswith("X has 2,147,483,647 columns, 3 of them with entries: ")
        assert "take 103 GB, and 10 GB are available" in str(result.exception)


@pytest.mark.parametrize("name", ["rows.svm", "rows.csv", "rows.tsv", "rows.parquet", "rows.csv.gz", "rows.svm.xz"])
def test_empty_files_have_one_answer(name, tmp_path):
    rows = tmp_path / name
    rows.write_bytes(b"")
    target = () if "svm" in name else ("--target", "y")
    for words in (("train", rows, "-o", tmp_path / "model"), ("info", rows), ("separate", rows)):
        result = run(*words, *target, code=1)
        assert str(result.exception) == f"{rows}: there are no rows."
