"""Stores that are damaged, stale or interrupted; tables of odd names, types and endings; outputs of all kinds."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from maxmargin.cli.app import app
from maxmargin.files import StoreError, open_store, read_data, store, write_store

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
    """Sparse rows of two classes."""
    generator = np.random.default_rng(0)
    X = sp.random(60, 12, 0.4, format="csr", random_state=1)
    return X, np.where(generator.random(60) < 0.5, -1, 1)


def overwrite(path, place, value):
    """Change one number of an array on the disk."""
    mapped = np.memmap(path, dtype=np.int32, mode="r+")
    mapped[place] = value
    mapped.flush()


@pytest.mark.parametrize("value", [-1, 12, 2**31 - 1, -(2**31)])
def test_columns_out_of_range_never_reach_the_loops(rows, tmp_path, value):
    path = tmp_path / "rows.store"
    write_store(path, [rows])
    overwrite(path / "indices.bin", 7, value)
    with pytest.raises(StoreError, match="out of range"):
        open_store(path)


@pytest.mark.parametrize("piece", [1, 2, 3, 1 << 20])
def test_columns_that_do_not_rise_are_found_wherever_pieces_end(rows, tmp_path, monkeypatch, piece):
    monkeypatch.setattr(store, "ENTRIES_PER_PIECE", piece)
    path = tmp_path / "rows.store"
    write_store(path, [rows])
    np.testing.assert_array_equal(open_store(path).X.toarray(), rows[0].toarray())
    X = open_store(path).X
    row = int(np.argmax(np.diff(X.indptr) > 2))
    first = int(X.indptr[row])
    overwrite(path / "indices.bin", first + 1, int(X.indices[first]))
    with pytest.raises(StoreError, match="do not rise"):
        open_store(path)


def test_rows_without_entries_are_sound(tmp_path):
    X = sp.csr_matrix(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0]]))
    write_store(tmp_path / "rows.store", [(X, np.arange(5))])
    np.testing.assert_array_equal(open_store(tmp_path / "rows.store").X.toarray(), X.toarray())


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


def test_a_manifest_without_checksums_is_damaged(rows, tmp_path):
    path = tmp_path / "rows.store"
    write_store(path, [rows])
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["arrays"]["data"]["checksum"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match="checksum"):
        open_store(path, check=True)
