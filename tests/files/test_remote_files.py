"""Files named by addresses: memory:// stands for any file system of fsspec, file:// is this machine."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from command_runner import run
from maxmargin import LinearSVC, load
from maxmargin.files import open_store, read_blocks, read_data, write_store

fsspec = pytest.importorskip("fsspec")

X, y = load_iris(return_X_y=True)
NAMES = ["a", "b", "c", "d"]


def svmlight(rows, labels):
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(row.tolist()))
        for row, label in zip(rows, labels, strict=True)
    )
    return "\n".join(lines) + "\n"


def csv(rows, labels):
    lines = [",".join([*NAMES, "kind"])]
    lines += [",".join(map(repr, [*row.tolist(), int(label)])) for row, label in zip(rows, labels, strict=True)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def remote():
    """The files of a file system that is not this machine's, as far as the readers know."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    for part, rows in enumerate(np.array_split(np.arange(len(y)), 3)):
        system.pipe(f"/iris/part-{part}.svm", svmlight(X[rows], y[rows]).encode())
        system.pipe(f"/iris/part-{part}.csv", csv(X[rows], y[rows]).encode())
    yield system
    system.store.clear()


@pytest.mark.usefixtures("remote")
def test_svmlight_and_tables_are_read():
    found = read_data("memory://iris/part-1.svm")
    table = read_data("memory://iris/part-1.csv", target="kind")
    np.testing.assert_array_equal(found.X.toarray(), X[50:100])
    np.testing.assert_array_equal(table.X, X[50:100])
    np.testing.assert_array_equal(table.y, y[50:100])


def test_parquet_and_compressed_files_are_read(remote):
    pa = pytest.importorskip("pyarrow")
    import gzip
    import io

    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pa.table({**dict(zip(NAMES, X.T, strict=True)), "kind": y}), stream)
    remote.pipe("/iris/all.parquet", stream.getvalue())
    remote.pipe("/iris/all.svm.gz", gzip.compress(svmlight(X, y).encode()))
    np.testing.assert_array_equal(read_data("memory://iris/all.parquet", target="kind").X, X)
    np.testing.assert_array_equal(read_data("memory://iris/all.svm.gz").X.toarray(), X)
    blocks = list(read_blocks("memory://iris/*.parquet", target="kind"))
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X)


@pytest.mark.parametrize(("ending", "options"), [("svm", {}), ("csv", {"target": "kind"})])
def test_patterns_become_a_store_which_is_written_once(remote, ending, options, tmp_path):
    blocks = read_blocks(f"memory://iris/part-*.{ending}", **options)
    store = blocks.store(tmp_path / "iris.store")
    rows = store.X.toarray() if hasattr(store.X, "toarray") else store.X
    np.testing.assert_array_equal(rows, X)
    assert blocks.is_stored(tmp_path / "iris.store")
    remote.pipe(f"/iris/part-0.{ending}", remote.cat(f"/iris/part-0.{ending}") + b"\n")
    assert not read_blocks(f"memory://iris/part-*.{ending}", **options).is_stored(tmp_path / "iris.store")


def test_addresses_of_this_machine_are_paths(tmp_path):
    (tmp_path / "rows.svm").write_text(svmlight(X, y))
    write_store(tmp_path / "rows.store", [(X, y)])
    np.testing.assert_array_equal(read_data((tmp_path / "rows.svm").as_uri()).X.toarray(), X)
    store = open_store((tmp_path / "rows.store").as_uri())
    assert LinearSVC().fit(store).score(store) > 0.9


@pytest.mark.usefixtures("remote")
def test_a_store_elsewhere_and_unknown_addresses_are_refused():
    with pytest.raises(ValueError, match="has to be on this machine"):
        open_store("memory://iris.store")
    with pytest.raises(ValueError, match="there are no such files"):
        read_blocks("memory://iris/none-*.svm")
    with pytest.raises(FileNotFoundError):
        read_data("memory://iris/none.svm")
    with pytest.raises(ValueError, match="nowhere"):
        read_data("nowhere://iris.svm")


def test_the_command_reads_addresses(remote, tmp_path):
    remote.pipe("/iris/all.svm", svmlight(X, y).encode())
    run("train", "memory://iris/all.svm", "-o", tmp_path / "one")
    assert load(tmp_path / "one").score(X, y) > 0.9
    pattern = "memory://iris/part-*.svm"
    assert "--store-dir" in str(run("train", pattern, "-o", tmp_path / "all", code=1).exception)
    run("train", pattern, "-o", tmp_path / "all", "--store-dir", tmp_path)
    np.testing.assert_array_equal(load(tmp_path / "all").coef_.shape, (3, 4))
