"""Files of any size as blocks of rows and as stores."""

import errno
import json
import os
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.data import memory
from maxmargin.data.memory import gigabytes
from maxmargin.files import (
    DataFile,
    StoreError,
    file_blocks,
    open_store,
    read_blocks,
    read_data,
    read_svmlight,
    store_text,
    write_store,
    write_svmlight,
)
from maxmargin.files.columns import TableOptions
from maxmargin.files.file_blocks import FEW_ROWS, memory_to_train
from maxmargin.files.tables import write_table

TABLE = "colour,size,y\nred,1.5,1\nblue,2,0\nred,3,1\ngreen,4e1,0\n"


def some_rows(n_rows=500, n_columns=9, seed=0):
    X = sp.random(n_rows, n_columns, 0.3, format="csr", rng=np.random.default_rng(seed))
    return X, np.random.default_rng(seed).integers(0, 3, n_rows)


def stacked(blocks):
    found = list(blocks)
    matrices = [block.X for block in found]
    X = sp.vstack(matrices, format="csr") if sp.issparse(matrices[0]) else np.concatenate(matrices)
    return X, np.concatenate([block.y for block in found])


@pytest.mark.parametrize("name", ["rows.svm", "numbers.csv", "texts.csv", "numbers.parquet", "rows.store"])
def test_a_store_says_before_and_afterwards_that_the_disk_has_no_room(name, tmp_path, monkeypatch):
    X, y = some_rows(20_000)
    path, options = tmp_path / name, {} if name.startswith("rows") else {"target": "y"}
    if name == "rows.svm":
        write_svmlight(path, X, y)
    elif name == "rows.store":
        write_store(path, [(X, y)])
    elif name == "texts.csv":
        path.write_text(TABLE + TABLE.partition("\n")[2] * 5000)
    else:
        write_table(path, [DataFile(X.toarray(), y)], "y")
    blocks = read_blocks(path, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        blocks.write_store(tmp_path / "all.store")
    size = sum(file.stat().st_size for file in (tmp_path / "all.store").glob("*.bin"))
    assert blocks._size_of_store() == pytest.approx(size, rel=0.02)
    monkeypatch.setattr(file_blocks.shutil, "disk_usage", lambda _: SimpleNamespace(free=size // 2))

    def full(*_arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "the store")

    monkeypatch.setattr(file_blocks, "store_blocks", full)
    about = f"takes {gigabytes(blocks._size_of_store())}, and {tmp_path} has {gigabytes(size // 2)} free"
    with (
        pytest.warns(UserWarning, match=f"There may be no room for the store .*: it {about}"),
        pytest.raises(OSError, match=f"No space left on device for this store: it {about}: write it to a larger disk"),
    ):
        blocks.write_store(tmp_path / "more.store")


def test_parts_of_text_follow_each_other(tmp_path):
    X, y = some_rows()
    for k, rows in enumerate(np.array_split(np.arange(len(y)), 3)):
        write_svmlight(tmp_path / f"part-{k}.svm", X[rows], y[rows])
    blocks = read_blocks(tmp_path / "part-*.svm")
    # As often as one likes.
    for _ in range(2):
        found, labels = stacked(blocks)
        assert (found != X).nnz == 0
        assert np.array_equal(labels, y)
        assert labels.dtype == np.int64
    store = blocks.store(tmp_path / "all.store")
    assert (store.X != X).nnz == 0
    written = (tmp_path / "all.store" / "manifest.json").stat().st_mtime_ns
    blocks.store(tmp_path / "all.store")
    assert (tmp_path / "all.store" / "manifest.json").stat().st_mtime_ns == written
    (tmp_path / "part-1.svm").write_text("1 1:5\n")
    assert read_blocks(tmp_path / "part-*.svm").store(tmp_path / "all.store").X.shape[0] < len(y)


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.csv.gz"])
@pytest.mark.parametrize("available", [1 << 40, 1])
def test_blocks_of_a_table_are_the_table(tmp_path, monkeypatch, name, available):
    # With little memory the columns are understood one at a time.
    monkeypatch.setattr("maxmargin.files.file_blocks.available_memory", lambda: available)
    (tmp_path / "all.csv").write_text(TABLE)
    whole = read_data(tmp_path / "all.csv", target="y")
    if name == "rows.parquet":
        from pyarrow import csv, parquet

        parquet.write_table(csv.read_csv(tmp_path / "all.csv"), tmp_path / name)
    elif name.endswith(".gz"):
        import gzip

        (tmp_path / name).write_bytes(gzip.compress(TABLE.encode()))
    else:
        (tmp_path / name).write_text(TABLE)
    blocks = read_blocks(tmp_path / name, target="y")
    X, y = stacked(blocks)
    assert blocks.names == whole.names
    assert (X != whole.X).nnz == 0
    assert np.array_equal(y, whole.y)
    store = blocks.store(tmp_path / "rows.store")
    assert store.names == whole.names
    assert store.preparation == whole.preparation


def test_types_of_a_column_are_those_of_the_whole_file(tmp_path):
    """A column of integers whose last row is a fraction, or a text, in another file or far down."""
    (tmp_path / "a-1.csv").write_text("x,y\n" + "1,0\n2,1\n" * 3)
    (tmp_path / "a-2.csv").write_text("x,y\n0.5,1\n")
    X, _ = stacked(read_blocks(tmp_path / "a-*.csv", target="y"))
    assert X[-1, 0] == 0.5


def test_what_cannot_be_read_as_blocks_is_refused(tmp_path):
    X, y = some_rows(20)
    write_svmlight(tmp_path / "a.svm", X, y)
    (tmp_path / "b.csv").write_text(TABLE)
    (tmp_path / "c.csv").write_text("size,y\n1,2\n")
    for paths, options, message in (
        ([tmp_path / "a.svm", tmp_path / "b.csv"], {}, "different formats"),
        (tmp_path / "none-*.svm", {}, "no such files"),
        (tmp_path / "b.csv", {}, "give target=COLUMN"),
        (tmp_path / "a.svm", {"target": "y"}, "is none"),
        (tmp_path / "b.csv", {"target": "y", "zero_based": True}, "zero_based"),
        ([], {}, "paths is empty"),
        ("-", {}, "standard input cannot be read twice"),
    ):
        with pytest.raises(ValueError, match=message):
            read_blocks(paths, **options)
    with pytest.raises(ValueError, match="has other columns"):
        list(read_blocks([tmp_path / "b.csv", tmp_path / "c.csv"], target="y"))
    with pytest.raises(ValueError, match="labels that are text"):
        read_blocks(tmp_path / "b.csv", target="colour").store(tmp_path / "x.store")
    with pytest.raises(ValueError, match="impute"):
        read_blocks(tmp_path / "b.csv", target="y", table=TableOptions(impute="guess"))


def test_a_huge_index_takes_no_memory(tmp_path):
    """Two rows, the second with the largest index: sizes follow the entries, not the index."""
    (tmp_path / "huge.svm").write_text("1 1:1\n-1 2147483647:1\n")
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_DATA, (3 * 10**9,) * 2)\n"
        "from maxmargin.files import store_text, open_store, read_blocks\n"
        f"store_text({str(tmp_path / 'huge.svm')!r}, {str(tmp_path / 'huge.store')!r})\n"
        f"print(open_store({str(tmp_path / 'huge.store')!r}).X.shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "(2, 2147483647)\n", done.stderr


def test_a_manifest_nested_too_deep_is_refused(tmp_path):
    X, y = some_rows(20)
    write_store(tmp_path / "rows.store", [(X, y)])
    manifest = tmp_path / "rows.store" / "manifest.json"
    described = json.loads(manifest.read_text())
    nested = "[" * 100_000 + "]" * 100_000
    manifest.write_text(json.dumps({**described, "source": 0}).replace('"source": 0', f'"source": {nested}'))
    with pytest.raises(StoreError, match="damaged"):
        open_store(tmp_path / "rows.store")


def test_the_memory_that_training_takes_is_estimated(tmp_path):
    X, y = some_rows(3000)
    write_svmlight(tmp_path / "rows.svm", X, y)
    write_svmlight(tmp_path / "rows.svm.gz", X, y)
    store_text(tmp_path / "rows.svm", tmp_path / "rows.store")
    write_table(tmp_path / "rows.parquet", read_blocks(tmp_path / "rows.svm"), "y")
    arrays = X.data.nbytes + X.indices.nbytes + 8 * 20 * 3000
    for name, kind in (("rows.svm", "text"), ("rows.svm.gz", "text"), ("rows.parquet", "parquet")):
        assert arrays <= memory_to_train([tmp_path / name]) - FEW_ROWS[kind] <= 20 * arrays
    assert memory_to_train([tmp_path / "rows.store"]) == 0


def test_available_memory_obeys_the_limits_of_the_process():
    assert 0 < memory.available_memory() <= memory.NO_LIMIT
    code = (
        "import resource; from maxmargin.data.memory import available_memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (10**9,) * 2); print(available_memory())"
    )
    if sys.platform == "linux":
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert 0 <= int(done.stdout) < 10**9


def test_converted_text_is_the_same_text(tmp_path):
    X, y = some_rows()
    write_svmlight(tmp_path / "rows.svm", X, y)
    found = read_blocks(read_blocks(tmp_path / "rows.svm").store(tmp_path / "rows.store").folder)
    from maxmargin.files.svmlight import write_svmlight_blocks

    write_svmlight_blocks(tmp_path / "again.svm", ((block.X, block.y) for block in found))
    assert (tmp_path / "again.svm").read_bytes() == (tmp_path / "rows.svm").read_bytes()
    assert np.array_equal(read_svmlight(tmp_path / "again.svm")[1], y)
