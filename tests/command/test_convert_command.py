"""The command on stores and tables: converted, copied, refused."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from maxmargin.cli.app import app
from maxmargin.files import (
    StoreError,
    arrow_source,
    open_store,
    read_data,
    write_store,
    write_svmlight,
)
from store_cases import overwrite, sparse_rows, written

runner = CliRunner()


def run(*arguments):
    """Run the command; return its result, whatever it is."""
    return runner.invoke(app, [str(argument) for argument in arguments])


def refused(*arguments):
    """Run the command, which must refuse; return the error."""
    result = run(*arguments)
    assert isinstance(result.exception, (ValueError, OSError)), (result.output, result.exception)
    return str(result.exception)


@pytest.fixture
def rows():
    return sparse_rows()


def test_the_command_compares_checksums(rows, tmp_path):
    path, model = tmp_path / "rows.store", tmp_path / "model"
    write_store(path, [rows])
    assert run("train", path, "-o", model).exit_code == 0
    overwrite(path / "data.bin", 3, 0)
    open_store(path)
    with pytest.raises(StoreError, match="checksum"):
        read_data(path)
    for arguments in (("train", path, "-o", model), ("predict", model, path), ("evaluate", model, path)):
        assert "checksum" in refused(*arguments)


def test_a_store_is_made_anew_when_the_text_is_another_one(tmp_path):
    text, made = tmp_path / "rows.svm", tmp_path / "rows.svm.store"

    def rows_of(content, *options):
        text.write_text(content)
        os.utime(text, ns=(10**18, 10**18))
        result = run("train", text, "-o", tmp_path / "model", "--store", *options)
        assert result.exit_code == 0, result.exception
        return open_store(made).X.toarray()

    np.testing.assert_array_equal(rows_of("1 1:1 2:2\n-1 1:3 2:4\n"), [[1, 2], [3, 4]])
    # Neither is younger than the store.
    np.testing.assert_array_equal(rows_of("1 1:1 2:2\n-1 1:3 2:45\n"), [[1, 2], [3, 45]])
    np.testing.assert_array_equal(rows_of("1 1:1 2:2\n-1 1:3 2:45\n", "--zero-based"), [[0, 1, 2], [0, 3, 45]])
    text.write_text("1 1:1 2:2\n-1 1:3 2:46\n")
    os.utime(text, ns=(10**17, 10**17))
    assert run("train", text, "-o", tmp_path / "model", "--store").exit_code == 0
    np.testing.assert_array_equal(open_store(made).X.toarray(), [[1, 2], [3, 46]])


@pytest.fixture
def trained(rows, tmp_path):
    """A text, and a model of it."""
    text, model = tmp_path / "rows.svm", tmp_path / "rows.model"
    write_svmlight(text, *rows)
    assert run("train", text, "-o", model).exit_code == 0
    return text, model


@pytest.mark.skipif(not os.path.exists("/dev/stdout") or shutil.which("cat") is None, reason="of Unix")
def test_a_pipe_is_written_to_as_it_is(trained):
    text, model = trained
    command = f"{sys.executable} -m maxmargin.cli.app predict {model} {text} -o /dev/stdout | cat"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=300)
    assert done.stderr == ""
    assert done.stdout == run("predict", model, text).stdout
    assert len(done.stdout.splitlines()) == 60


@pytest.mark.parametrize("output", ["nowhere/x", "folder", "nowhere/x.store", "folder.store"])
def test_errors_name_the_output_that_was_given(trained, tmp_path, output):
    text, model = trained
    path = tmp_path / output
    if output.startswith("folder"):
        path.mkdir()
    arguments = ("convert", text, path) if output.endswith(".store") else ("predict", model, text, "-o", path)
    error = refused(*arguments)
    assert str(path) in error
    assert ".part" not in error


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.xz", "rows.CSV", "rows.parquet"])
def test_convert_writes_the_tables_that_names_promise(trained, tmp_path, monkeypatch, name):
    monkeypatch.setattr(arrow_source, "ROWS_PER_BLOCK", 17)
    text, table, back = trained[0], tmp_path / name, tmp_path / "back.svm"
    assert run("convert", text, table).exit_code == 0
    found, original = read_data(table, target="target"), read_data(text)
    assert found.names == [f"x{k}" for k in range(1, 13)]
    np.testing.assert_array_equal(found.X, original.X.toarray())
    np.testing.assert_array_equal(found.y, original.y)
    assert run("convert", table, back, "--target", "target").exit_code == 0
    assert (read_data(back).X != original.X).nnz == 0


def test_tables_become_tables_with_their_names(tmp_path):
    source = written(tmp_path / "rows.csv", "n,goal,a\n1.5,yes,u\n2,no,v\n")
    assert run("convert", source, tmp_path / "rows.parquet", "--target", "goal").exit_code == 0
    found = read_data(tmp_path / "rows.parquet", target="goal")
    assert found.names == ["n", "a=u", "a=v"]
    assert found.y.tolist() == ["yes", "no"]
    np.testing.assert_array_equal(found.X, [[1.5, 1, 0], [2, 0, 1]])


def test_tables_that_cannot_be_are_refused(rows, tmp_path):
    write_store(tmp_path / "rows.store", [rows], [*(f"c{k}" for k in range(11)), "target"])
    assert "'target' already" in refused("convert", tmp_path / "rows.store", tmp_path / "rows.csv")
    wide = tmp_path / "wide.svm"
    wide.write_text("1 20000:1\n")
    assert "too many for a table" in refused("convert", wide, tmp_path / "wide.parquet")
    assert not (tmp_path / "wide.parquet").exists()
    assert "compressed within" in refused("convert", wide, tmp_path / "rows.parquet.gz")


def test_convert_takes_models_with_a_format_only(trained, tmp_path):
    text, model = trained
    assert "--to" in refused("convert", model, tmp_path / "other.model")
    assert run("convert", model, tmp_path / "other.txt", "--to", "liblinear").exit_code == 0
    assert "--to" in refused("convert", tmp_path / "other.txt", tmp_path / "again.model")
    for option in (("--target", "y"), ("--zero-based",)):
        assert "are about data" in refused("convert", model, tmp_path / "other.model", "--to", "maxmargin", *option)
    assert "would be a model" in refused("convert", text, tmp_path / "rows.onnx")
    assert "none of" in refused("convert", model, tmp_path / "other.model", "--to", "words")


def test_the_ending_onnx_says_enough(trained, tmp_path):
    pytest.importorskip("onnx")
    assert run("convert", trained[1], tmp_path / "a.onnx").exit_code == 0
    assert run("convert", trained[1], tmp_path / "b.onnx", "--to", "onnx").exit_code == 0
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


@pytest.mark.parametrize("dense", [True, False])
def test_stores_are_copied(rows, tmp_path, dense):
    X, y = rows[0].toarray() if dense else rows[0], rows[1] + 0.5
    names = [f"c{k}" for k in range(12)]
    write_store(tmp_path / "a.store", [(X, y)], names)
    assert run("convert", tmp_path / "a.store", tmp_path / "b.store").exit_code == 0
    for name in os.listdir(tmp_path / "a.store"):
        assert (tmp_path / "a.store" / name).read_bytes() == (tmp_path / "b.store" / name).read_bytes()


@pytest.mark.parametrize("output", ["rows.store", "rows.svm"])
def test_labels_that_are_text_are_refused_with_advice(tmp_path, output):
    source = written(tmp_path / "rows.csv", "n,goal\n1,yes\n2,no\n")
    error = refused("convert", source, tmp_path / output, "--target", "goal")
    assert "labels that are text" in error
    assert ".parquet" in error
    assert os.listdir(tmp_path) == ["rows.csv"]
