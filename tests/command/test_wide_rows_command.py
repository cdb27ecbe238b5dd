"""The command on rows that are wider than the model."""

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from libsvm_cases import FEW_BYTES, bytes_at_most, needs_libsvm, predicted_there, run
from maxmargin import SVC, LinearSVC, save
from maxmargin.cli.app import app


def command(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def said(*words):
    outcome = command(*words)
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


WIDER = "1 1:1\n-1 1:-1\n1 1:5 2:0.1\n-1 1:-5\n1 1:0.3 9:2\n-1 1:-0.2 2147483647:3\n"


@needs_libsvm
@pytest.mark.parametrize("kind", ["-s 0", "-s 3"])
@pytest.mark.parametrize("kernel", ["-t 0", "-t 1 -g 0.5 -r 1", "-t 2 -g 0.5", "-t 3 -g 0.1"])
def test_libsvm_models_take_wider_rows_as_svm_predict_does(kind, kernel, tmp_path):
    (tmp_path / "train").write_text("1 1:1\n-1 1:-1\n1 1:5\n-1 1:-5\n")
    (tmp_path / "data").write_text(WIDER)
    run(tmp_path, "svm-train", "-q", *kind.split(), *kernel.split(), "train", "model")
    expected = predicted_there(tmp_path, "model")
    found = np.array(said("predict", tmp_path / "model", tmp_path / "data").split(), dtype=float)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    answer = json.loads(said("evaluate", tmp_path / "model", tmp_path / "data", "--json"))
    if kind == "-s 0":
        labels = np.array([float(line.split()[0]) for line in WIDER.splitlines()])
        assert answer["accuracy"] == np.mean(expected == labels)


@pytest.mark.skipif(shutil.which("liblinear-predict") is None, reason="liblinear-tools is not installed")
@pytest.mark.parametrize("bias", ["-1", "1"])
def test_liblinear_models_take_wider_rows_as_its_predict_does(bias, tmp_path):
    (tmp_path / "train").write_text("1 1:1\n-1 1:-1\n1 1:5\n-1 1:-5\n")
    (tmp_path / "data").write_text(WIDER)
    run(tmp_path, "liblinear-train", "-q", "-B", bias, "train", "model")
    run(tmp_path, "liblinear-predict", "data", "model", "output")
    found = np.array(said("predict", tmp_path / "model", tmp_path / "data").split(), dtype=float)
    np.testing.assert_array_equal(found, np.loadtxt(tmp_path / "output"))
    assert json.loads(said("evaluate", tmp_path / "model", tmp_path / "data", "--json"))["rows"] == 6


@needs_libsvm
def test_stores_of_other_widths_meet_models_of_other_programs(tmp_path):
    (tmp_path / "train").write_text("1 1:1 3:1\n-1 1:-1 3:1\n")
    run(tmp_path, "svm-train", "-q", "-g", "0.5", "train", "model")
    for number, text in enumerate(["1 1:1\n-1 1:-1\n", "1 1:1 3:1\n-1 1:-1 3:2\n", "1 1:1 7:1\n-1 1:-1 3:2\n"]):
        (tmp_path / "data").write_text(text)
        store = tmp_path / f"{number}.store"
        said("convert", tmp_path / "data", store)
        found = np.array(said("predict", tmp_path / "model", store).split(), dtype=float)
        np.testing.assert_array_equal(found, predicted_there(tmp_path, "model"))
        said("evaluate", tmp_path / "model", store)


def test_models_of_our_own_ignore_or_refuse_wider_rows(tmp_path):
    (tmp_path / "data").write_text(WIDER)
    for model in (SVC(), LinearSVC()):
        save(model.fit([[1.0], [-1.0]], [1, -1]), tmp_path / "model")
        for name in ("predict", "evaluate"):
            outcome = command(name, tmp_path / "model", tmp_path / "data")
            assert outcome.exit_code == 0
            assert "3 value(s) with an index above 1 ignored" in outcome.stderr
            assert command(name, tmp_path / "model", tmp_path / "data", "--unseen", "error").exit_code != 0


def test_support_vectors_with_the_largest_index_cost_nothing(tmp_path):
    (tmp_path / "model").write_text(
        "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\nSV\n"
        "1 1:1 2147483647:1\n-1 1:-1 2147483647:1\n"
    )
    (tmp_path / "data").write_text(WIDER)
    spent = bytes_at_most(lambda: said("predict", tmp_path / "model", tmp_path / "data"))
    assert spent < FEW_BYTES
    assert said("predict", tmp_path / "model", tmp_path / "data").split() == ["1", "-1", "1", "-1", "1", "-1"]
