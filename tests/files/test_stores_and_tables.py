"""Stores that are damaged, stale or interrupted; tables of odd names, types and endings."""

import contextlib
import datetime
import decimal
import gzip
import json
import lzma
import os

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.files import (
    StoreError,
    atomic,
    line_blocks,
    open_store,
    read_blocks,
    read_data,
    read_svmlight_blocks,
    store,
    svmlight,
    tables,
    write_store,
    write_svmlight,
)
from store_cases import overwrite, sparse_rows, written


@pytest.fixture
def rows():
    return sparse_rows()


@pytest.mark.parametrize("value", [-1, 12, 2**31 - 1, -(2**31)])
def test_columns_out_of_range_never_reach_the_loops(rows, tmp_path, value):
    path = tmp_path / "rows.store"
    write_store(path, [rows])
    overwrite(path / "indices.bin", 7, value)
    with pytest.raises(StoreError, match="out of range"):
        open_store(path)


@pytest.mark.parametrize("piece", [1, 2, 3, 1 << 20])
def test_columns_that_do_not_ascend_are_found_wherever_pieces_end(rows, tmp_path, monkeypatch, piece):
    monkeypatch.setattr(store, "CHECKED_ENTRIES", piece)
    path = tmp_path / "rows.store"
    write_store(path, [rows])
    np.testing.assert_array_equal(open_store(path).X.toarray(), rows[0].toarray())
    X = open_store(path).X
    row = int(np.argmax(np.diff(X.indptr) > 2))
    first = int(X.indptr[row])
    overwrite(path / "indices.bin", first + 1, int(X.indices[first]))
    with pytest.raises(StoreError, match="do not ascend"):
        open_store(path)


def test_rows_without_entries_are_sound(tmp_path):
    X = sp.csr_matrix(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0]]))
    write_store(tmp_path / "rows.store", [(X, np.arange(5))])
    np.testing.assert_array_equal(open_store(tmp_path / "rows.store").X.toarray(), X.toarray())


def test_a_manifest_without_checksums_is_damaged(rows, tmp_path):
    path = tmp_path / "rows.store"
    write_store(path, [rows])
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["arrays"]["data"]["checksum"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match="checksum"):
        open_store(path, check=True)


def test_a_store_that_does_not_say_what_it_was_made_of_opens(rows, tmp_path):
    path = tmp_path / "rows.store"
    write_store(path, [rows])
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["source"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert open_store(path, check=True).X.shape == (60, 12)
    assert not read_blocks(path / "manifest.json").is_stored(path)


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("renames_before", [0, 1, 2])
def test_interrupted_replacements_leave_the_old_store_or_the_new_one(
    rows, tmp_path, monkeypatch, can_exchange, renames_before
):
    path = tmp_path / "rows.store"
    write_store(path, [rows])
    if not can_exchange:
        monkeypatch.setattr(atomic, "_exchanged", lambda *_: False)
    rename, n_renames = os.rename, 0

    def interrupted(source, place):
        nonlocal n_renames
        n_renames += 1
        if n_renames == renames_before + 1:
            raise KeyboardInterrupt
        rename(source, place)

    monkeypatch.setattr(os, "rename", interrupted)
    with contextlib.suppress(KeyboardInterrupt):
        write_store(path, [(2.0 * rows[0], rows[1])])
    monkeypatch.undo()
    X = open_store(path, check=True).X.toarray()
    assert np.array_equal(X, rows[0].toarray()) or np.array_equal(X, 2.0 * rows[0].toarray())
    assert os.listdir(tmp_path) == ["rows.store"]


def test_a_failed_replacement_leaves_the_old_store(rows, tmp_path):
    path = tmp_path / "rows.store"
    write_store(path, [rows])

    def blocks():
        yield rows
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(path, blocks())
    assert open_store(path, check=True).X.shape == (60, 12)
    assert os.listdir(tmp_path) == ["rows.store"]


@pytest.mark.parametrize("entries_per_block", [1, 7, 40, 10**6])
@pytest.mark.parametrize("rows_per_block", [1, 4, 100])
@pytest.mark.parametrize("block_bytes", [64, 1 << 20])
def test_blocks_of_wide_rows_are_short(tmp_path, monkeypatch, entries_per_block, rows_per_block, block_bytes):
    rng = np.random.default_rng(3)
    X = sp.csr_matrix(np.where(rng.random((80, 30)) < rng.random((80, 1)) ** 2, 1.5, 0.0))
    y = np.arange(80.0)
    write_svmlight(tmp_path / "rows.svm", X, y)
    monkeypatch.setattr(svmlight, "MOST_ENTRIES_PER_BLOCK", entries_per_block)
    monkeypatch.setattr(line_blocks, "BLOCK_BYTES", block_bytes)
    blocks = list(read_svmlight_blocks(tmp_path / "rows.svm", n_features=30, rows_per_block=rows_per_block))
    assert (sp.vstack([rows for rows, _ in blocks]) != X).nnz == 0
    np.testing.assert_array_equal(np.concatenate([labels for _, labels in blocks]), y)
    for rows, _ in blocks[:-1]:
        assert rows.shape[0] <= rows_per_block
        assert rows[:-1].nnz < entries_per_block
        assert rows.shape[0] == rows_per_block or rows.nnz >= entries_per_block


@pytest.mark.parametrize(
    "header",
    ["a,a=1,y", "a=1,a,y", "a,a=u,y", "a,a=u=v,y"],
)
def test_names_of_categories_must_not_look_like_other_columns(tmp_path, header):
    path = written(tmp_path / "rows.csv", f"{header}\nu,v,1\nw,x,2\n")
    with pytest.raises(ValueError, match=r"'a=.*text column 'a'.*rename"):
        read_data(path, target="y")


def test_a_numeric_column_must_not_look_like_a_category(tmp_path):
    path = written(tmp_path / "rows.csv", "a,a=1,y\n1,5,1\nw,6,2\n")
    with pytest.raises(ValueError, match="rename"):
        read_data(path, target="y")


def test_numbers_may_have_any_names(tmp_path):
    path = written(tmp_path / "rows.csv", "a,a=1,y\n1,5,1\n2,6,2\n")
    found = read_data(path, target="y")
    assert found.names == ["a", "a=1"]
    again = tables.read_table(path, target="y", names=found.names)
    np.testing.assert_array_equal(again.X, found.X)


def test_columns_for_a_model_are_found_or_refused(tmp_path):
    names = ["a=b=c", "a=d", "n"]
    path = written(tmp_path / "rows.csv", "n,a\n1,d\n2,b=c\n3,e\n")
    found = tables.read_table(path, target=None, names=names)
    np.testing.assert_array_equal(found.X.toarray(), [[0, 1, 1], [1, 0, 2], [0, 0, 3]])
    (block,) = tables.read_table_blocks(path, names=names)
    np.testing.assert_array_equal(block.X.toarray(), found.X.toarray())
    path.write_text("n,a,a=b\n1,d,c\n2,b=c,c\n")
    with pytest.raises(ValueError, match="'a' or of 'a=b'"):
        tables.read_table(path, target=None, names=names)
    path.write_text("n,a,a=d\n1,d,1\n2,b=c,2\n")
    with pytest.raises(ValueError, match="'a' or of 'a=d'"):
        tables.read_table(path, target=None, names=names)
    path.write_text("n\n1\n")
    with pytest.raises(ValueError, match="'a=b=c', which is not there"):
        tables.read_table(path, target=None, names=names)


@pytest.mark.parametrize("name", ["rows.csv", "rows.CSV", "rows.csv.gz", "rows.csv.xz", "Rows.Csv.XZ"])
def test_tables_are_known_by_their_endings_in_any_case(tmp_path, name):
    path = tmp_path / name
    pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix.lower(), bytes)
    path.write_bytes(pack(b"n,a,y\n1,u,p\n2,v,q\n"))
    found = read_data(path, target="y")
    np.testing.assert_array_equal(found.X.toarray(), [[1, 1, 0], [2, 0, 1]])
    assert found.y.tolist() == ["p", "q"]
    (block,) = tables.read_table_blocks(path, names=found.names)
    np.testing.assert_array_equal(block.X.toarray(), found.X.toarray())


def test_damaged_compressed_tables_are_refused(tmp_path):
    path = tmp_path / "rows.csv.xz"
    path.write_bytes(lzma.compress(b"n,y\n1,2\n" * 1000)[:-20])
    with pytest.raises(ValueError, match="not a whole compressed file"):
        read_data(path, target="y")
    path = tmp_path / "rows.parquet.gz"
    path.write_bytes(gzip.compress(b"PAR1"))
    with pytest.raises(ValueError, match=r"Parquet is compressed within: have it without \.gz"):
        read_data(path, target="y")


def test_only_empty_texts_are_missing_in_columns_of_text(tmp_path):
    path = written(tmp_path / "rows.csv", "a,y\nNA,null\nEU,NA\nnan,EU\n")
    found = read_data(path, target="y")
    assert found.names == ["a=EU", "a=NA", "a=nan"]
    assert found.y.tolist() == ["null", "NA", "EU"]
    (block,) = tables.read_table_blocks(path, names=found.names)
    np.testing.assert_array_equal(block.X.toarray(), found.X.toarray())
    for text in ("a,y\nEU,1\n,2\n", 'a,y\nEU,1\n"",2\n', "a,y\nEU,x\nNA,\n", "a,y\n1,1\nNA,2\n", "a,y\n1,1\n2,NA\n"):
        path.write_text(text)
        with pytest.raises(ValueError, match="1 missing value"):
            read_data(path, target="y")
    path.write_text('a\nEU\n""\n')
    with pytest.raises(ValueError, match="a missing value in row 2"):
        list(tables.read_table_blocks(path, names=found.names))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([[1], [2, 3]], "list"),
        ([datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)], "timestamp"),
        ([1.0, float("nan")], "missing or not finite"),
        ([1.0, float("inf")], "missing or not finite"),
        ([1.0, None], "1 missing value"),
        ([{"a": 1}, {"a": 2}], "struct"),
    ],
    ids=str,
)
def test_targets_are_numbers_or_texts(tmp_path, values, reason):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"x": [1.0, 2.0], "goal": values}), path)
    with pytest.raises(ValueError, match=f"'goal'.*{reason}"):
        read_data(path, target="goal")


def test_a_table_of_targets_only_is_refused(tmp_path):
    path = written(tmp_path / "rows.csv", "goal\n1\n2\n")
    with pytest.raises(ValueError, match="no column besides 'goal'"):
        read_data(path, target="goal")
    with pytest.raises(ValueError, match="'n', which is not there"):
        tables.read_table(path, target="goal", names=["n"])


def test_targets_may_be_truths_and_dictionaries(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.Parquet"
    words = pa.array(["u", "v"]).dictionary_encode()
    parquet.write_table(pa.table({"x": [1.0, 2.0], "truth": [True, False], "word": words}), path)
    assert read_data(path, target="truth").y.tolist() == [True, False]
    assert read_data(path, target="word").y.tolist() == ["u", "v"]
    parquet.write_table(pa.table({"x": [1.0, 2.0], "y": [decimal.Decimal("1.5"), decimal.Decimal("2.5")]}), path)
    assert read_data(path, target="y").y.tolist() == [1.5, 2.5]
