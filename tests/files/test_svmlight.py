"""The reader of svmlight text agrees with scikit-learn's bit for bit, and refuses by line what it cannot read."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tracemalloc
from itertools import accumulate

import numpy as np
import pytest
import scipy.sparse as sp
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from maxmargin.files import SvmlightError, compression, line_blocks, read_svmlight, read_svmlight_blocks, write_svmlight
from real_data import FOLDER

REAL = [
    "heart_scale.svm.gz", "sonar_scale.svm.gz", "housing_scale.svm.gz", "mushrooms.svm.xz", "abalone_scale.svm.xz",
    "colon-cancer.svm.xz", "a9a.t.svm.xz", "sms-spam.svm.xz", "sector.t.scale.svm.xz",
]  # fmt: skip

TEXT = b"+1 1:0.5 3:2\n-1 2:1e3  # two\n\n1\n"

COMPRESSED = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}

quickly = settings(max_examples=40, deadline=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("svmlight")


@pytest.fixture(scope="module")
def read(folder):
    """Read bytes through a file, whose blocks of text may be made short."""

    def call(data, *, block_bytes=None, **options):
        path = folder / "rows.svm"
        path.write_bytes(data)
        with pytest.MonkeyPatch.context() as patch:
            if block_bytes is not None:
                patch.setattr(line_blocks, "BLOCK_BYTES", block_bytes)
            return read_svmlight(path, **options)

    return call


def assert_same(found, expected):
    """Equal shapes, types but for that of indices, and bits."""
    X, y, *queries = found
    other, labels, *numbers = expected
    assert X.shape == other.shape
    assert X.data.dtype == other.data.dtype
    assert X.data.tobytes() == other.data.tobytes()
    np.testing.assert_array_equal(X.indices, other.indices)
    np.testing.assert_array_equal(X.indptr, other.indptr)
    assert y.tobytes() == np.asarray(labels, dtype=np.float64).tobytes()
    assert y.dtype == np.float64
    for ours, theirs in zip(queries, numbers, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def reference(data, **options):
    return load_svmlight_file(io.BytesIO(data), **options)


@pytest.mark.parametrize("name", REAL)
def test_real_sets_are_those_of_scikit_learn(name):
    path = FOLDER / name
    if not path.exists():
        pytest.skip("the real data are not here")
    opener = gzip.open if path.suffix == ".gz" else lzma.open
    with opener(path, "rb") as file:
        expected = load_svmlight_file(file)
    X, y = read_svmlight(path)
    assert_same((X, y), expected)
    assert isinstance(X, sp.csr_matrix)
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert_same(read_svmlight(path, n_jobs=1, dtype=np.float32), (expected[0].astype(np.float32), expected[1]))
    X.sum_duplicates()
    assert X.has_canonical_format


# Text as people write it.

finite = st.floats(allow_nan=False, allow_infinity=False)
written = st.one_of(
    finite.map(repr),
    st.floats(-1e-300, 1e-300).map(repr),
    st.integers(-(2**70), 2**70).map(str),
    st.tuples(finite, st.integers(0, 30)).map(lambda pair: f"{pair[0]:.{pair[1]}e}"),
    st.from_regex(r"\A[+-]?([0-9]{1,22}\.?[0-9]{0,22}|\.[0-9]{1,22})([eE][+-]?[0-9]{1,3})?\Z"),
    st.sampled_from(
        ["-0", "0", "-0.0e5", "+1", "1.", ".5", "4.9e-324", "2.47e-324", "1e-400", "1.7976931348623157e308"]
    ),
).filter(lambda token: abs(float(token)) < np.inf)
spaces = st.sampled_from([" ", "  ", "\t", " \t ", "\x0b", "\x0c ", "\r "])
comments = st.sampled_from(["", "#", "# 1:2 3:4", " # h\u00e9, nan", "#\x00:::"])
line_ends = st.sampled_from(["\n", "\r\n", "\n\n", " \n", "\n# between\n"])


@st.composite
def lines(draw, first=0, queries=False):
    steps = draw(st.lists(st.integers(1, 40), max_size=6))
    indices = list(accumulate(steps, initial=first - 1))[1:]
    tokens = [draw(written)]
    if queries:
        tokens.append(f"qid:{draw(st.integers(-(10**17), 10**17))}")
    tokens += [f"{index:0{draw(st.integers(1, 3))}d}:{draw(written)}" for index in indices]
    text = draw(st.sampled_from(["", " ", "\t"])) + "".join(token + draw(spaces) for token in tokens)
    return (text if draw(st.booleans()) else text.rstrip()) + draw(comments)


@st.composite
def texts(draw, first=None, queries=False):
    first = draw(st.sampled_from([0, 1])) if first is None else first
    rows = draw(st.lists(lines(first, queries), max_size=6))
    text = "".join(row + draw(line_ends) for row in rows)
    return (text if draw(st.booleans()) else text.rstrip("\n")).encode()


@quickly
@given(texts(), st.sampled_from([None, 7, 64]), st.sampled_from([np.float64, np.float32]))
@example(b"", None, np.float64)
@example(b"\n \n# nothing\n", None, np.float64)
@example(b"1", None, np.float64)
@example(b"1 0:0 1:-0", None, np.float64)
def test_texts_are_read_as_scikit_learn_reads_them(read, text, block_bytes, dtype):
    expected = reference(text, dtype=dtype)
    if np.isinf(expected[0].data).any():
        with pytest.raises(SvmlightError, match="too large for float32"):
            read(text, block_bytes=block_bytes, dtype=dtype)
        return
    assert_same(read(text, block_bytes=block_bytes, dtype=dtype), expected)
    assert_same(
        read(text, block_bytes=block_bytes, dtype=dtype, n_features=500), reference(text, dtype=dtype, n_features=500)
    )
    assert_same(read(text, dtype=dtype, zero_based=True), reference(text, dtype=dtype, zero_based=True))


@quickly
@given(texts(first=1, queries=True))
def test_queries_and_indices_from_one(read, text):
    assert_same(
        read(text, zero_based=False, query_id=True, block_bytes=50),
        reference(text, zero_based=False, query_id=True),
    )
    assert_same(read(text, zero_based=False), reference(text, zero_based=False))


@quickly
@given(texts(first=1), st.integers(1, 5), st.sampled_from([9, 100]))
def test_blocks_are_the_rows_of_the_whole(folder, text, rows_per_block, block_bytes):
    path = folder / "blocks.svm"
    path.write_bytes(text)
    X, y = read_svmlight(path, zero_based=False, n_features=300)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_blocks, "BLOCK_BYTES", block_bytes)
        blocks = list(read_svmlight_blocks(path, n_features=300, rows_per_block=rows_per_block))
    assert [len(labels) for _, labels in blocks[:-1]] == [rows_per_block] * (len(blocks) - 1)
    assert sum(len(labels) for _, labels in blocks) == len(y)
    for number, (part, labels) in enumerate(blocks):
        rows = slice(number * rows_per_block, (number + 1) * rows_per_block)
        assert_same((part, labels), (X[rows], y[rows]))


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_rounded_as_python_rounds_them(read, seed):
    """Among them halves between two doubles, and numbers that one digit takes beside a half."""
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    tokens = list(map(repr, bits[np.isfinite(bits)].tolist()))
    halves = (generator.integers(2**52, 2**53, 10_000) * 2 + 1).tolist()
    tokens += [str(half + change) for half in halves for change in (-1, 0, 1)]
    tokens += [f"{half * 5 ** (k % 4)}e-{k % 4}" for k, half in enumerate(halves)]
    exponents = generator.integers(-345, 290, 20_000).tolist()
    tokens += [f"{m}e{e}" for m, e in zip(generator.integers(0, 2**63, 20_000).tolist(), exponents, strict=True)]
    text = "1 " + " ".join(f"{index}:{token}" for index, token in enumerate(tokens)) + "\n"
    X, _ = read(text.encode())
    assert X.data.tobytes() == np.array([float(token) for token in tokens]).tobytes()


# What is refused.

REFUSED = [
    (b"1 1:2\n1,2 3:4\n", 2, "label"),
    (b"# a\n\nspam 3:4\n", 3, "label"),
    (b"1:2 3:4\n", 1, "label"),
    (b"1 1:1\nnan 1:1\n", 2, "label"),
    (b"inf 1:1\n", 1, "label"),
    (b"1e400 1:1\n", 1, "too large for float64"),
    (b"\xef\xbb\xbf1 1:1\n", 1, "label"),
    (b"1 1:1\r\n1 1:\r\n", 2, "value"),
    (b"1 1:nan", 1, "value"),
    (b"1 1:-inf", 1, "value"),
    (b"1 1:1e\n", 1, "value"),
    (b"1 1:1_0\n", 1, "value"),
    (b"1 1:0x10\n", 1, "value"),
    (b"1 1:.\n", 1, "value"),
    (b"1 1:1:2\n", 1, "value"),
    (b"1 1:1,5\n", 1, "value"),
    (b"1 1:\xd9\xa1\n", 1, "value"),
    (b"1 1:1\x00\n", 1, "value"),
    (b"1 1:-1e999\n", 1, "too large for float64"),
    (b"1 1:1\n1 1:1 2:2\n1 1:" + b"9" * 400 + b" 1:1\n", 3, "too large for float64"),
    (b"1 \x00 1:1\n", 1, "index"),
    (b"1 one:1\n", 1, "index"),
    (b"1 -3:1\n", 1, "without sign"),
    (b"1 +3:1\n", 1, "without sign"),
    (b"1 1 :1\n", 1, "index"),
    (b"1 1:1 qid:3\n", 1, "index"),
    (b"1 1:1 2\r1 1:1\n", 1, "index"),
    (b"\n\n1 2:1 1:1\n", 3, "must rise"),
    (b"1 1:1\n1 2:1 2:1\n", 2, "must rise"),
    (b"1 1:1 9999999999999:1\n", 1, "larger than 2147483647"),
    (b"1 1:1 99999999999999999999999999:1\n", 1, "larger than 2147483647"),
    (b"1 1:1 18446744073709551618:1\n", 1, "larger than 2147483647"),
    (b"1 0:1\n1 2147483647:1\n", 2, "larger than 2147483646"),
    (b"1 qid:x 1:1\n", 1, "qid"),
    (b"1 qid:1234567890123456789 1:1\n", 1, "qid"),
    (b"1 qid 1:1\n", 1, "qid"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "reason"), REFUSED)
@pytest.mark.parametrize("n_jobs", [1, 4])
def test_what_is_wrong_is_named_with_its_line(read, folder, text, line, reason, n_jobs):
    for block_bytes in (8, None):
        with pytest.raises(SvmlightError) as caught:
            read(text, n_jobs=n_jobs, block_bytes=block_bytes)
        error = caught.value
        assert error.line == line
        assert reason in error.reason
        assert str(error).startswith(f"{folder / 'rows.svm'}, line {line}: ")
        assert len(str(error)) < 400
        assert str(error).isascii()
        assert str(error).isprintable()


@pytest.mark.parametrize(
    ("text", "options", "line", "reason"),
    [
        (b"1 1:1\n1 0:1\n", {"zero_based": False}, 2, "begin with 1"),
        (b"1 1:1\n1 4:1\n", {"n_features": 3}, 2, "larger than 3, since n_features is 3"),
        (b"1 1:1\n\n1 0:1 3:1\n", {"n_features": 3}, 3, "larger than 2"),
        (b"1 1:1\n\n1 1:1 3:1\n1 0:1", {"n_features": 3}, 3, "larger than 2"),
        (b"1 1:1\n1 3:1\n", {"n_features": 3, "zero_based": True}, 2, "larger than 2"),
        (b"1 1:1\n#\n1 1:2 3:1e39\n", {"dtype": np.float32}, 3, "float32"),
        (b"1 1:1e39\n\n1 1:spam\n", {"dtype": np.float32}, 1, "float32"),
        (b"1 qid:1 1:1\n1 1:1\n", {"query_id": True}, 2, "query_id=True"),
    ],
)
def test_what_was_not_asked_for_is_named_with_its_line(read, text, options, line, reason):
    for block_bytes in (8, None):
        with pytest.raises(SvmlightError, match=reason) as caught:
            read(text, block_bytes=block_bytes, **options)
        assert caught.value.line == line


def test_the_first_fault_is_reported_whatever_the_number_of_threads(read):
    text = b"".join(b"%d 1:1\n" % k if k % 100 else b"wrong %d\n" % k for k in range(1, 5000))
    for _ in range(5):
        with pytest.raises(SvmlightError) as caught:
            read(text, n_jobs=4, block_bytes=256)
        assert caught.value.line == 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 0}, "n_features"),
        ({"n_features": 2**31}, "n_features"),
        ({"n_features": 2.0}, "n_features"),
        ({"zero_based": "yes"}, "zero_based"),
        ({"dtype": np.int32}, "dtype"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_arguments_are_checked(read, options, message):
    with pytest.raises(ValueError, match=message):
        read(TEXT, **options)


def test_blocks_check_their_arguments_at_once_and_name_lines(folder):
    path = folder / "faulty.svm"
    path.write_bytes(b"1 1:1\n" * 9 + b"1 5:1\n")
    with pytest.raises(ValueError, match="zero_based"):
        read_svmlight_blocks(path, n_features=3, zero_based="auto")
    with pytest.raises(ValueError, match="rows_per_block"):
        read_svmlight_blocks(path, n_features=3, rows_per_block=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_blocks, "BLOCK_BYTES", 16)
        found = read_svmlight_blocks(path, n_features=3, rows_per_block=2)
        assert next(found)[0].shape == (2, 3)
        with pytest.raises(SvmlightError, match="n_features is 3") as caught:
            list(found)
    assert caught.value.line == 10
    X, _ = next(read_svmlight_blocks(path, zero_based=True))
    assert X.shape == (10, 6)


def test_a_missing_file_is_the_system_s_error(folder):
    with pytest.raises(FileNotFoundError):
        read_svmlight(folder / "nothing.svm")
    with pytest.raises(OSError, match="directory"):
        read_svmlight(folder)


# Hostile text.

PARTS = [
    b"1",
    b"-1",
    b"0",
    b"9" * 30,
    b":",
    b" ",
    b"\n",
    b"\r",
    b"#",
    b"qid:",
    b".",
    b"e",
    b"+",
    b",",
    b"\0",
    b"\xff",
    b"nan",
]


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from(PARTS), max_size=40).map(b"".join),
        st.tuples(texts(), st.integers(0, 200), st.binary(max_size=3)).map(
            lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + 1 :]
        ),
    ),
    st.sampled_from([None, 5]),
)
def test_any_bytes_are_refused_or_read_as_scikit_learn_reads_them(read, data, block_bytes):
    try:
        found = read(data, block_bytes=block_bytes, n_jobs=1)
    except SvmlightError as error:
        found, line = None, error.line
    if found is None:
        assert 1 <= line <= data.count(b"\n") + 1
    else:
        assert_same(found, reference(data))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_line_without_end_is_refused_before_it_fills_the_memory(folder, suffix):
    path = folder / f"bomb.svm{suffix}"
    path.write_bytes(COMPRESSED[suffix](b"1 1:1\n1 1:" + bytes(1 << 26)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_blocks, "LONGEST_LINE", 1 << 21)
        tracemalloc.start()
        with pytest.raises(SvmlightError, match="longer than 2097152 bytes") as caught:
            read_svmlight(path, n_jobs=1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert caught.value.line == 2
    assert peak < 4 * (1 << 21) + (1 << 25)


@pytest.mark.parametrize("data", [b":" * (1 << 22), b"\n" * (1 << 22), b"# : : :\n" * (1 << 19), b"1\n" * (1 << 20)])
def test_memory_stays_within_some_multiple_of_the_file(read, data):
    read(TEXT)
    tracemalloc.start()
    try:
        read(data, n_jobs=1)
    except SvmlightError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    # Room for one block's worth of entries may be asked for and not be used.
    assert peak < 20 * len(data) + 40 * line_blocks.BLOCK_BYTES


def test_long_lines_and_long_numbers_are_ordinary(read):
    digits = "1234567890" * 100_000
    rows = " ".join(f"{index}:{index / 7!r}" for index in range(200_000))
    text = f"1 {rows}\n2 1:0.{digits} 2:{digits}e-{len(digits)} 3:0.{'0' * 10**6}1e1000000\n".encode()
    X, y = read(text)
    np.testing.assert_array_equal(X[0].data, np.arange(200_000) / 7)
    np.testing.assert_array_equal(X[1].data, [float("0." + digits), float("0." + digits), 0.1])
    assert list(y) == [1, 2]


def test_a_large_index_costs_nothing(read):
    X, _ = read(b"1 1:1 2147483647:1\n")
    assert X.shape == (1, 2**31 - 1)
    assert X.indices.dtype == np.int32
    assert X.indices[-1] == 2**31 - 2


# Threads, files and their compression.


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    X = sp.random_array((500, 200), density=0.1, rng=generator, format="csr")
    X.data[:] = generator.standard_normal(X.nnz) * 10.0 ** generator.integers(-300, 300, X.nnz)
    X.data[:8] = [0.0, -0.0, 5e-324, -2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 1e22, 1e23]
    return X, generator.standard_normal(500)


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_all_compressions_and_numbers_of_threads_give_the_same(folder, suffix, rows, monkeypatch):
    monkeypatch.setattr(line_blocks, "BLOCK_BYTES", 1 << 13)
    X, y = rows
    path = folder / f"many.svm{suffix}"
    text = folder / "many.svm"
    write_svmlight(text, X, y)
    path.write_bytes(COMPRESSED[suffix](text.read_bytes()))
    for n_jobs in (1, 4, None):
        assert_same(read_svmlight(str(path), n_features=200, n_jobs=n_jobs), (X, y))
    blocks = list(read_svmlight_blocks(path, n_features=200, rows_per_block=120))
    assert_same((sp.vstack([part for part, _ in blocks]), np.concatenate([labels for _, labels in blocks])), (X, y))


@pytest.mark.parametrize("suffix", COMPRESSED)
@pytest.mark.parametrize("zero_based", [False, True])
def test_what_is_written_is_read_bit_for_bit(folder, suffix, zero_based, rows):
    X, y = rows
    path = folder / f"written.svm{suffix}"
    queries = np.arange(len(y)) - 7
    write_svmlight(path, X, y, zero_based=zero_based, query_id=queries, comment="of 1:2\nrandom numbers")
    assert_same(read_svmlight(path, n_features=200, zero_based=zero_based, query_id=True), (X, y, queries))
    if suffix in {"", ".gz", ".bz2"}:
        assert_same(load_svmlight_file(path, n_features=200, zero_based=zero_based), (X, y))
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_every_type_and_form_is_written(folder, dtype):
    X = np.array([[0, 3, 0], [1, 0, 2], [0, 0, 0]]).astype(dtype)
    y = np.array([1, 2, 3])
    path = folder / "forms.svm"
    for form in (X, X.tolist(), sp.csr_matrix(X), sp.csc_array(X), sp.coo_array(X)):
        write_svmlight(path, form, y)
        found, labels = read_svmlight(path, n_features=3)
        np.testing.assert_array_equal(found.toarray(), X)
        np.testing.assert_array_equal(labels, y)
    assert path.read_bytes().splitlines()[2] == b"3"
    dump_svmlight_file(X.astype(float), y, str(folder / "theirs.svm"), zero_based=False)
    assert_same(read_svmlight(folder / "theirs.svm", n_features=3), read_svmlight(path, n_features=3))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[np.nan]], [1], "X has values"),
        ([[1.0]], [np.inf], "y has values"),
        ([[1.0]], ["spam"], "y must be 1 numbers"),
        ([[1.0]], [1, 2], "y must be 1 numbers"),
        ([1.0], [1], "X must be a matrix"),
        ([["a"]], [1], "X must be a matrix"),
    ],
)
def test_what_cannot_be_written_leaves_the_old_file(folder, X, y, message):
    path = folder / "old.svm"
    path.write_bytes(TEXT)
    with pytest.raises(ValueError, match=message):
        write_svmlight(path, X, y)
    assert path.read_bytes() == TEXT
    with pytest.raises(ValueError, match="standard input"):
        write_svmlight("-", [[1.0]], [1])


@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESSED if suffix])
def test_damaged_files_are_named(folder, suffix):
    whole = COMPRESSED[suffix](b"".join(b"%d 1:%d\n" % (k, k * k) for k in range(5000)))
    path = folder / f"damaged.svm{suffix}"
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0x55
    for data in (whole[: len(whole) // 2], whole[:-3], whole[:3], TEXT, bytes(damaged)):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"damaged\.svm"):
            read_svmlight(path)
    path.write_bytes(whole + whole)
    assert len(read_svmlight(path)[1]) == 10_000
    path.write_bytes(COMPRESSED[suffix](b""))
    assert read_svmlight(path)[0].shape == (0, 1)


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_standard_input_is_told_by_its_first_bytes(suffix, monkeypatch):
    for text in (TEXT, b"1", b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(COMPRESSED[suffix](text))))
        assert_same(read_svmlight("-"), reference(text))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(COMPRESSED[suffix](b"1\nspam"))))
    with pytest.raises(SvmlightError, match="standard input, line 2"):
        read_svmlight("-")


def test_what_is_needed_for_zstandard_is_named(folder, monkeypatch):
    def refuse(name):
        raise ImportError(name)

    path = folder / "needs.svm.zst"
    path.write_bytes(COMPRESSED[".zst"](TEXT))
    monkeypatch.setattr(compression, "import_module", refuse)
    with pytest.raises(ImportError, match="pip install zstandard"):
        read_svmlight(path)


@pytest.mark.skipif(os.name != "posix", reason="a named pipe")
def test_a_pipe_is_read_as_it_comes(tmp_path):
    """Short reads are no ends."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    code = """
import sys, time
with open(sys.argv[1], "wb", 0) as pipe:
    for k in range(9):
        pipe.write(b"1 1:")
        time.sleep(0.01)
        pipe.write(b"%d\\n" % k)
"""
    with subprocess.Popen([sys.executable, "-c", code, str(path)]):
        X, y = read_svmlight(path)
    np.testing.assert_array_equal(X.toarray()[:, 0], range(9))
    assert len(y) == 9


def test_importing_the_layer_is_light():
    code = "import sys, maxmargin.files; print([name for name in ('numba', 'scipy', 'sklearn') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
