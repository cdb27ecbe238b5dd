"""Faults outside of the command, in processes of their own: signals, full disks, dead runs, damaged caches."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from command_runner import told
from maxmargin import Status, load
from maxmargin.cli import writing
from maxmargin.files import write_svmlight

COMMAND = (sys.executable, "-m", "maxmargin.cli.app")


def start(*words, **options):
    """Start the command."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*COMMAND, *map(str, words)], **{**pipes, **options})


def hard_rows(folder):
    """Rows with random labels, on which a hard penalty takes minutes."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 40)), rng.choice([-1.0, 1.0], 3000)
    write_svmlight(folder / "rows.svm", X, y)
    return folder / "rows.svm"


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_signals_leave_the_model_so_far_with_its_proof(name, tmp_path):
    rows, model = hard_rows(tmp_path), tmp_path / "model"
    model.write_bytes(b"a model that is solved")
    run = start("train", rows, "-o", model, "-m", "svc", "--kernel", "linear", "-C", 1e6, "--tol", 1e-9, "--verbose")
    try:
        lines = []
        while not any("training: start" in line for line in lines):
            line = run.stderr.readline()
            assert line, lines
            lines.append(line)
        time.sleep(1.0)
        run.send_signal(getattr(signal, name))
        _, errors = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == 128 + getattr(signal, name), errors
    assert model.read_bytes() == b"a model that is solved"
    found = load(tmp_path / "model.interrupted")
    assert found.status_ is Status.INTERRUPTED
    assert told("verify", tmp_path / "model.interrupted", rows)["true"] is True
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "model.interrupted", "rows.svm"]


def test_a_file_that_may_not_grow_is_written_elsewhere(tmp_path):
    """A limit on the size of files, as a full disk: nothing is left at the place, and the error names it."""
    rng = np.random.default_rng(0)
    write_svmlight(tmp_path / "rows.svm", rng.normal(size=(50, 40)), np.repeat([-1.0, 1.0], 25))

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    run = start("train", tmp_path / "rows.svm", "-o", tmp_path / "model", preexec_fn=limited)
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 2
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
    run = start(*words, env=environment)
    output, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    assert output == first.stdout.read()
    assert errors.count("warning: The cache of compiled loops in") == 1
    assert "compiled in memory" in errors
    # An empty index has taken the place of the damaged one: the next run is quiet.
    again = start(*words, env=environment)
    assert again.communicate(timeout=120)[1] == ""


def test_the_model_goes_to_standard_output_and_the_report_to_standard_error(tmp_path):
    rng = np.random.default_rng(0)
    write_svmlight(tmp_path / "rows.svm", rng.normal(size=(50, 4)), np.repeat([-1.0, 1.0], 25))
    run = start("train", tmp_path / "rows.svm", "-o", "-", text=False)
    output, errors = run.communicate(timeout=120)
    assert run.returncode == 0
    assert b"certificate" in errors
    (tmp_path / "model").write_bytes(output)
    assert load(tmp_path / "model").status_ is Status.SOLVED
    assert not Path("-").exists()
