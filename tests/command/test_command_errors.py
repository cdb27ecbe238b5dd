"""Errors of the command: one line, an exit code, and no half-written file."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_runner import run, runner, told
from maxmargin import (
    SVC,
    LinearSVC,
    LinearSVR,
    load,
)
from maxmargin.cli.app import app, main
from maxmargin.files import open_store, save


@pytest.fixture
def ended(monkeypatch, capsys):
    """Run the command as the shell does; return the exit code and what was printed on both streams."""
    monkeypatch.setenv("NO_COLOR", "1")

    def as_in_the_shell(*arguments):
        monkeypatch.setattr(sys, "argv", ["maxmargin", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return end.value.code or 0, said.out, said.err

    return as_in_the_shell


def test_only_what_a_model_knows_is_predicted(ended, petals, tmp_path):
    ridge, bayes = tmp_path / "ridge", tmp_path / "bayes"
    run("train", petals, "-o", ridge, "--model", "ridge")
    run("train", petals, "-o", bayes, "--model", "bayesian-regression")
    for model, options in (
        (ridge, ["--proba"]),
        (ridge, ["--std"]),
        (ridge, ["--interval", 0.9]),
        (bayes, ["--interval", 1]),
        (bayes, ["--interval", "nan"]),
        (bayes, ["--scores"]),
    ):
        code, out, error = ended("predict", model, petals, *options)
        assert (code, out, error.count("\n")) == (2, "", 1)
        assert f"error: {options[0]}" in error


def test_too_few_rows_for_folds(ended, tmp_path):
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:1\n2 1:2\n")
    for options in (["--search"], ["--cv", 3]):
        assert "too few for" in ended("train", rows, "-o", tmp_path / "model", "-m", "ridge", *options)[2]


def test_errors_are_one_line_and_exit_codes(ended, cancer, tmp_path):
    def failing(*arguments):
        code, _, error = ended(*arguments)
        assert code == 2, error
        assert len(error.strip().splitlines()) == 1, error
        return error

    bad = tmp_path / "bad.svm"
    bad.write_text("1 1:0.5\n-1 1:x\n")
    assert "line 2" in failing("train", bad, "-o", tmp_path / "m")
    assert not (tmp_path / "m").exists()
    assert "there is no such file" in failing("predict", tmp_path / "none", bad)
    assert "--kernel" in failing("train", cancer, "-o", tmp_path / "m", "--kernel", "rbf")
    assert "none of" in failing("train", cancer, "-o", tmp_path / "m", "--model", "forest")
    bad.write_bytes(b"\x00" * 40)
    assert "bad.svm" in failing("info", bad)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_conversion_leaves_nothing_under_the_final_name(tmp_path):
    rows = "".join(
        f"{1 if k % 2 else -1} " + " ".join(f"{j}:{(k * j) % 97}" for j in range(1, 60)) + "\n" for k in range(3000)
    )
    text, store = tmp_path / "rows.svm", tmp_path / "rows.store"
    text.write_text(rows * 10)
    process = subprocess.Popen([sys.executable, "-m", "maxmargin.cli.app", "convert", str(text), str(store)])
    try:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline and not list(tmp_path.glob(".rows.store.*")):
            time.sleep(0.001)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not store.exists() or (open_store(store, check=True) and process.returncode == 0)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_training_leaves_the_old_model_or_the_new_one(cancer, tmp_path):
    model = tmp_path / "model"
    run("train", cancer, "-o", model, "-C", "0.001")
    old = load(model)
    command = [sys.executable, "-m", "maxmargin.cli.app", "train", str(cancer), "-o", str(model), "-C", "7"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline and not list(tmp_path.glob(".model.*")):
            time.sleep(0.0002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert load(model).C in (old.C, 7.0)


FILES = st.one_of(
    st.binary(max_size=200),
    st.text("01:-+.e #\n\tqidnaf,", max_size=200).map(str.encode),
    # Mostly sound rows.
    st.lists(
        st.sampled_from(["1 1:0.5", "-1 2:1", "1", "2 1:3 2:-1", "0.5 2:1e300", "1 3:1", "x 1:1"]), max_size=9
    ).map(lambda lines: "".join(f"{line}\n" for line in lines).encode()),
)


@pytest.fixture(scope="module")
def sound_models(tmp_path_factory):
    """Models of two columns: of two classes, of three, of values."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.standard_normal((30, 2)))
    save(LinearSVC().fit(X, np.where(np.arange(30) % 2, 1, -1)), folder / "linear")
    save(SVC().fit(X, np.arange(30) % 3), folder / "kernel")
    save(LinearSVR().fit(X, rng.standard_normal(30)), folder / "values")
    return folder


@given(
    name=st.sampled_from(["train", "predict", "evaluate", "verify", "info", "separate", "convert"]),
    model=st.sampled_from([None, "linear", "kernel", "values"]),
    content=FILES,
    options=st.lists(
        st.sampled_from(["--json", "-C", "1", "inf", "--model", "svc", "--scores", "--zero-based", "-"]), max_size=3
    ),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_files_hold_the_command_ends_with_a_code(tmp_path, sound_models, name, model, content, options):
    path = tmp_path / "rows.svm"
    path.write_bytes(content)
    used = path if model is None else sound_models / model
    arguments = {"train": [path, "-o", tmp_path / "out"], "convert": [path, tmp_path / "out.svm"]}
    arguments |= {"info": [used], "separate": [path]}
    result = runner.invoke(app, [name, *map(str, arguments.get(name, [used, path])), *options], input=content)
    # What main() prints as one line, a usage error, a false claim or no decision.
    assert result.exit_code in (0, 1, 2, 3)
    assert result.exception is None or isinstance(result.exception, (ValueError, OSError, SystemExit)), result.exception


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_full_disk_is_one_line(cancer, tmp_path):
    told("train", cancer, "-o", tmp_path / "model")
    command = [
        sys.executable,
        "-m",
        "maxmargin.cli.app",
        "predict",
        str(tmp_path / "model"),
        str(cancer),
        "-o",
        "/dev/full",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines() == [done.stderr.strip()]
    assert "No space left" in done.stderr


def test_labels_have_to_be_named(ended, tmp_path):
    table, bare, model = tmp_path / "rows.csv", tmp_path / "bare.csv", tmp_path / "model"
    table.write_text("a,b,label\n" + "".join(f"{k},{k % 3},{k % 2}\n" for k in range(20)))
    bare.write_text("a,b\n1,2\n")
    code, _, error = ended("train", table, "--target", "label", "-o", model, "--test", bare)
    assert code == 2
    assert "'label'" in error
    assert "--target" in error
    # What was learned is not lost.
    assert load(model).n_features_in_ == 2
    for name in ("verify", "evaluate"):
        # The model knows the column.
        assert ended(name, model, table)[0] == 0
        code, _, error = ended(name, model, bare)
        assert (code, error.count("\n")) == (2, 1)
        assert "name the column that holds the labels with --target" in error


def test_texts_are_no_values(ended, tmp_path):
    table, texts, model = tmp_path / "rows.csv", tmp_path / "texts.csv", tmp_path / "model"
    table.write_text("a,price\n" + "".join(f"{k},{2 * k + k % 3}\n" for k in range(20)))
    texts.write_text("a,price\n1,2\n2,cheap\n")
    for arguments in (["train", table, "-o", model, "-m", "ridge", "--test", texts], ["evaluate", model, texts]):
        code, _, error = ended(*arguments, "--target", "price")
        assert (code, error.count("\n")) == (2, 1)
        assert f"{texts}: y must be numbers for a regression; it has 'cheap'" in error.replace("\n", " ")


def test_usage_errors_are_one_line(ended, cancer, tmp_path):
    output = tmp_path / "model"
    for arguments, why in (
        (["train", cancer, "--nothing"], "--nothing"),
        (["train", cancer, "-o", output, "-C", "x"], "-C"),
        (["train"], "Missing"),
        (["nothing"], "nothing"),
        (["train", cancer, "-o", output, "--model", "svc", "--kernel", "precomputed"], "gram matrix"),
        (["train", cancer, "-o", output, "--model", "svc", "--kernel", "linear", "--gamma", "3"], "--gamma"),
        (["train", cancer, "-o", output, "--model", "svc", "--degree", "3"], "--degree"),
        (["train", cancer, "-o", output, "--model", "perceptron", "-C", "3"], "-C"),
        (["train", cancer, "-o", output, "-m", "ridge", "--rate", "3"], "--rate"),
        (["train", cancer, "-o", output, "-m", "lasso", "--tau2", "3"], "--tau2"),
        (["train", cancer, "-o", output, "-m", "ridge", "--sigma2", "3"], "tau2"),
        (["train", cancer, "-o", output, "-m", "linear-svc", "--sigma2", "3"], "--sigma2"),
        (["train", cancer, "-o", output, "-m", "bayesian-regression", "--lam", "3"], "--lam"),
        (["train", cancer, "-o", output, "-m", "svc", "--no-intercept"], "--no-intercept"),
        (["train", cancer, "-o", output, "-m", "ridge", "--solver", "newton"], "--solver"),
        (["train", cancer, "-o", output, "-m", "linear-svc", "--step-size", "1"], "--step-size"),
        (["train", cancer, "-o", output, "-m", "logistic-regression", "--step-size", "1"], "step_size"),
        (["train", cancer, "-o", output, "-m", "bayesian-regression", "--seed", "1"], "--seed"),
        (["train", cancer, "-o", output, "-m", "bayesian-regression", "--search"], "--search"),
        (["train", cancer, "-o", output, "-m", "ridge", "--search", "--lam", "1"], "or --lam"),
        (["train", cancer, "-o", output, "-m", "lasso", "--search", "--sigma2", "1", "--rate", "1"], "or --sigma2"),
        (["train", "no.svm", "-o", output, "-m", "lasso", "--lam", "-1"], "--lam must be"),
        (["train", "no.svm", "-o", output, "--solver", "gradient"], "--solver must be"),
        (["train", "no.svm", "-o", output, "-m", "perceptron", "--search"], "--search"),
        (["train", cancer, "-o", output, "--max-time", "-1"], "--max-time"),
        (["train", cancer, "-o", output, "--max-time", "nan"], "--max-time"),
    ):
        code, out, error = ended(*arguments)
        assert (code, out, error.count("\n")) == (2, "", 1), error
        assert why in error
    assert not output.exists()
    assert "demo" in ended()[1]


def test_unexpected_errors_are_one_line(ended, cancer, tmp_path, monkeypatch):
    def broken(*_):
        raise error

    monkeypatch.setattr(LinearSVC, "fit", broken)
    for error, expected in ((TypeError("odd"), 70), (ImportError("pip install it"), 2)):
        code, _, printed = ended("train", cancer, "-o", tmp_path / "model")
        assert (code, printed.count("\n")) == (expected, 1)
        assert str(error) in printed
    error = TypeError("odd")
    assert "MAXMARGIN_DEBUG" in ended("train", cancer, "-o", tmp_path / "model")[2]
    monkeypatch.setenv("MAXMARGIN_DEBUG", "1")
    with pytest.raises(TypeError, match="odd"):
        main()


def test_what_cannot_end_well_is_refused_before_training(ended, cancer, tmp_path, monkeypatch):
    monkeypatch.setattr(LinearSVC, "fit", lambda *_: pytest.fail("trained"))
    good = tmp_path / "model"
    for arguments, why in (
        (["-o", good, "--test", tmp_path / "typo.svm"], "typo.svm"),
        (["-o", tmp_path], "folder"),
        (["-o", tmp_path / "none" / "model"], "does not exist"),
    ):
        code, _, error = ended("train", cancer, *arguments)
        assert code == 2
        assert why in error
    for name in ("predict", "separate"):
        arguments = [good, cancer] if name == "predict" else [cancer]
        assert "folder" in ended(name, *arguments, "-o", tmp_path)[2]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="permissions do not bind")
def test_a_folder_that_forbids_writing_is_found_before_training(ended, cancer, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert "permissions" in ended("train", cancer, "-o", closed / "model")[2]


def test_warnings_are_told_once_and_in_one_line(ended, iris, tmp_path):
    arguments = ["train", iris, "-o", tmp_path / "model", "--cv", 3, "--max-iter", 1]
    code, out, error = ended(*arguments)
    assert code == 0
    assert error.startswith("warning: --max-iter was reached")
    assert error.count("\n") == 1
    assert len(error) < 400
    assert "(4 times)" in error
    code, out, error = ended(*arguments, "--json")
    (warning,) = json.loads(out)["warnings"]
    assert "max_iter was reached" in warning
    assert error.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_a_reader_that_goes_away_is_no_error(cancer, tmp_path):
    run("train", cancer, "-o", tmp_path / "model")
    rows = tmp_path / "many.svm"
    rows.write_bytes(cancer.read_bytes() * 40)
    command = [sys.executable, "-m", "maxmargin.cli.app", "predict", str(tmp_path / "model"), str(rows), "--scores"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=120) == 141
    assert process.stderr.read() == b""
    process.stderr.close()
