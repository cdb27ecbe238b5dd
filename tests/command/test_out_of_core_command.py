"""``maxmargin train`` on data that are larger than the memory, and conversions by blocks."""

import errno
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from command_runner import run, told
from maxmargin.data import memory
from maxmargin.files import file_blocks, open_store, read_data, write_store, write_svmlight


@pytest.fixture
def text(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    write_svmlight(tmp_path / "rows.svm", X, np.where(X @ np.arange(5.0) + rng.normal(size=400) > 0, 1, -1))
    return tmp_path / "rows.svm"


@pytest.fixture
def little_memory(monkeypatch):
    """As if there were 1 MB of memory, or what a test sets."""
    found = {"bytes": 1_000}
    for place in ("maxmargin.data.memory", "maxmargin.engine.disk", "maxmargin.files.file_blocks"):
        monkeypatch.setattr(f"{place}.available_memory", lambda: found["bytes"])
    return found


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("form", ["svm", "csv", "parquet"])
def test_data_larger_than_memory_are_trained_from_a_store(text, tmp_path, form):
    data, options = text, ()
    if form != "svm":
        data, options = tmp_path / f"rows.{form}", ("--target", "target")
        run("convert", text, data)
    result = run("train", data, "-o", tmp_path / "model", "--tol", "1e-5", *options)
    assert f"it is written to {data}.store, and the model is trained from there" in result.stderr
    assert "solved" in result.stdout
    assert open_store(f"{data}.store").X.shape == (400, 5)
    assert told("verify", tmp_path / "model", data, *options)["true"] is True
    assert run("predict", tmp_path / "model", data, *options).stdout


@pytest.mark.usefixtures("little_memory")
def test_models_that_need_arrays_say_so_and_go_on(text, tmp_path):
    result = run("train", text, "-m", "svc", "-o", tmp_path / "model")
    assert "the training may end for lack of memory" in result.stderr
    assert not (tmp_path / "rows.svm.store").exists()


def test_several_files_and_patterns_are_one_data_set(text, tmp_path):
    lines = text.read_text().splitlines(keepends=True)
    parts = [tmp_path / f"part-{k}.svm" for k in range(2)]
    for k, part in enumerate(parts):
        part.write_text("".join(lines[200 * k : 200 * (k + 1)]))
    whole = told("train", text, "-o", tmp_path / "whole", "--tol", "1e-8")
    for data in ([tmp_path / "part-*.svm"], parts):
        found = told("train", *data, "-o", tmp_path / "model", "--tol", "1e-8", "--store-dir", tmp_path)
        assert found["rows"] == 400
        assert found["proof"]["dual"] <= whole["proof"]["primal"]
        assert whole["proof"]["dual"] <= found["proof"]["primal"]
    run("convert", tmp_path / "part-*.svm", tmp_path / "joined.svm")
    assert (tmp_path / "joined.svm").read_bytes() == text.read_bytes()
    run("convert", text, tmp_path / "rows.parquet")
    run("convert", tmp_path / "rows.parquet", tmp_path / "rows.store", "--target", "target")
    assert np.array_equal(open_store(tmp_path / "rows.store").X, read_data(text).X.toarray())


def test_a_folder_that_is_missing_and_a_disk_without_room_are_one_line(text, tmp_path, monkeypatch):
    failed = run("train", text, "-o", tmp_path / "model", "--store-dir", tmp_path / "none", code=1)
    assert str(failed.exception) == f"--store-dir {tmp_path / 'none'}: there is no such folder."

    def full(*_arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "the store")

    monkeypatch.setattr(file_blocks, "store_blocks", full)
    failed = run("train", text, "-o", tmp_path / "model", "--store", code=1)
    assert failed.exception.strerror.startswith("No space left on device for this store: it takes ")
    assert failed.exception.strerror.endswith("write it to a larger disk, by --store-dir")


def test_a_lack_of_memory_is_one_line(text, tmp_path, monkeypatch):
    def no_memory(*_arguments, **_options):
        raise MemoryError("Unable to allocate 9.1 GiB")

    from maxmargin.cli import app

    monkeypatch.setattr("sys.argv", ["maxmargin", "train", str(text), "-o", str(tmp_path / "model")])
    monkeypatch.setattr("maxmargin.files.data_file.read_data", no_memory)
    monkeypatch.setattr("maxmargin.files.read_data", no_memory)
    lines = []
    monkeypatch.setattr(app, "_print_error", lines.append)
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert ended.value.code == 2
    assert len(lines) == 1
    assert "out of memory (Unable to allocate 9.1 GiB)" in lines[0]


def test_limits_of_control_groups_count(tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "memory.max").write_text("1000000\n")
    (tmp_path / "inner" / "memory.stat").write_text("anon 300000\nfile 500000\n")
    assert list(memory._left(tmp_path, "/inner", "memory.max", "anon")) == [700_000]
    (tmp_path / "inner" / "memory.max").write_text("max\n")
    assert list(memory._left(tmp_path, "/inner", "memory.max", "anon")) == []
    monkeypatch.setattr(memory, "_of_groups", lambda: iter([123]))
    assert memory.available_memory() == 123


def test_perceptrons_learn_in_passes_over_files(text, tmp_path, little_memory):
    lines = text.read_text().splitlines(keepends=True)
    for k in range(2):
        (tmp_path / f"part-{k}.svm").write_text("".join(lines[200 * k : 200 * (k + 1)]))
    parts = tmp_path / "part-*.svm"
    found = told("train", parts, "-m", "perceptron", "--passes", "3", "-o", tmp_path / "model")
    assert found["rows"] == 400
    assert [sum(of_task) for of_task in found["mistakes_per_pass"]] == [found["mistakes"]]
    assert found["mistakes"] <= found["mistake_bound"] == found["proof"]["bound"]
    verified = told("verify", tmp_path / "model", text)
    assert verified["true"] is True
    assert verified["proof"]["examples"] == 1200
    # Without --passes, files that are larger than the memory are read once; others as a whole.
    result = run("train", text, "-m", "perceptron", "-o", tmp_path / "model")
    assert "it is read block by block, in one pass" in result.stderr
    assert "in one pass over 400 rows" in result.stdout
    little_memory["bytes"] = 10**9
    assert "pass over" not in run("train", text, "-m", "perceptron", "-o", tmp_path / "model").stdout
    for refused in (("--cv", "3"), ("--max-iter", "2"), ("--scale", "standard"), ("--checkpoint", tmp_path / "c")):
        command = ("train", text, "-m", "perceptron", "--passes", "2", *refused, "-o", tmp_path / "model")
        assert f"without {refused[0]}" in str(run(*command, code=1).exception)
    wrong = run("train", text, "--passes", "2", "-o", tmp_path / "m", code=1)
    assert "--passes is for -m perceptron" in str(wrong.exception)


LIMITED = """
import resource, sys
from pathlib import Path

import maxmargin.cli.app as app
from maxmargin import SVC, LinearSVC
from maxmargin.files import open_store

# What is loaded once.
LinearSVC().fit(open_store({few!r}))
SVC().fit(open_store({few!r}))
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {left},) * 2)
sys.argv = ["maxmargin", *{arguments}]
app.main()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of the address space")
@pytest.mark.parametrize("model", ["linear-svc", "svc"])
def test_a_store_that_does_not_fit_is_said_before_the_training(tmp_path, model):
    """Under a real limit: 100 MB beyond what the process has when it begins, for seven blocks of 17 MB."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 85))
    write_store(tmp_path / "rows.store", [(X, np.where(X[:, 0] > 0.0, 1, -1))])
    write_store(tmp_path / "few.store", [(X[:100], np.sign(X[:100, 0]))])
    arguments = ["train", str(tmp_path / "rows.store"), "-m", model, "--jobs", "2", "-o", str(tmp_path / "model")]
    arguments += ["--max-time", "2"]
    code = LIMITED.format(few=str(tmp_path / "few.store"), left=100_000_000, arguments=arguments)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    if model == "svc":
        assert re.search(r"rows\.store takes about \d+ MB in memory, and \d+ MB are available", ended.stderr)
    else:
        said = re.search(r"needs about (\d+) MB of memory .* and (\d+) MB are available: (.*)", ended.stderr)
        assert int(said[1]) > int(said[2])
        assert "give it more memory" in said[3] or "with --jobs 1 it needs" in said[3]
    assert ended.stderr.index("are available") < len(ended.stderr) - 20
    # It says so and goes on: to a model, or to one line that says what was missing.
    assert ended.returncode in (0, 2)
    assert "Traceback" not in ended.stderr
