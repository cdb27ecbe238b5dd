"""Every form in which rows can come gives the same model; none is copied or written to without need."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from maxmargin import KernelPerceptron, MarginPerceptron, Perceptron
from maxmargin.data import DenseRows, Points, SparseRows
from maxmargin.data.blocks import row_blocks
from maxmargin.data.labels import encode_labels
from real_data import load, random_set

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
X, y = random_set(3, grid=4)


def with_64_bit_indices(matrix):
    matrix = sp.csr_array(matrix)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def with_duplicates(matrix):
    """Every entry stored as two halves, unsorted."""
    coo = sp.coo_array(matrix)
    rows, columns = np.concatenate([coo.row, coo.row]), np.concatenate([coo.col, coo.col])
    order = np.lexsort((-columns, rows))
    values = np.concatenate([coo.data, coo.data])[order] / 2
    offsets = np.searchsorted(rows[order], np.arange(matrix.shape[0] + 1))
    return sp.csr_array((values, columns[order], offsets), shape=matrix.shape)


def read_only(matrix):
    matrix = matrix.copy()
    matrix.flags.writeable = False
    return matrix


FORMS = {
    "lists": lambda: X.tolist(),
    "fortran": lambda: np.asfortranarray(X),
    "strided": lambda: np.repeat(X, 2, axis=0)[::2],
    "read-only": lambda: read_only(X),
    "float32": lambda: X.astype(np.float32),
    "pandas": lambda: pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])]),
    "polars": lambda: pl.DataFrame(X, schema=[f"column {j}" for j in range(X.shape[1])]),
    **{
        name: (lambda name=name: getattr(sp, f"{name}_array")(X))
        for name in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
    },
    "csr_matrix": lambda: sp.csr_matrix(X),
    "csr float32": lambda: sp.csr_array(X, dtype=np.float32),
    "64-bit indices": lambda: with_64_bit_indices(X),
    "duplicates": lambda: with_duplicates(X),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", [Perceptron, MarginPerceptron, KernelPerceptron])
def test_every_form_gives_the_same_model(form, model):
    expected = model(max_iter=15).fit(X, y)
    found = model(max_iter=15).fit(FORMS[form](), y)
    np.testing.assert_allclose(
        found.decision_function(FORMS[form]()), expected.decision_function(X), rtol=1e-6, atol=1e-6
    )
    assert found.n_updates_ == expected.n_updates_
    assert found.certificate_.to_dict().keys() == expected.certificate_.to_dict().keys()
    found.certificate_.check(expected.certificate_)


def test_duplicates_are_added_up_in_a_copy():
    doubled = with_duplicates(X)
    kept = doubled.data.copy()
    Perceptron(max_iter=3, tol=None).fit(doubled, y)
    np.testing.assert_array_equal(doubled.data, kept)


def test_memory_maps_are_read_in_place(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = Perceptron(max_iter=15).fit(mapped, y)
    np.testing.assert_array_equal(model.coef_, Perceptron(max_iter=15).fit(X, y).coef_)
    assert np.shares_memory(Points(mapped).rows.values, mapped)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loops_see_the_user_s_values(dtype):
    dense, sparse = X.astype(dtype), sp.csr_array(X, dtype=dtype)
    rows = Points(dense).rows
    assert isinstance(rows, DenseRows)
    assert rows.values.dtype == dtype
    assert np.shares_memory(rows.values, dense)
    assert not rows.values.flags.writeable
    rows = Points(sparse).rows
    assert isinstance(rows, SparseRows)
    assert np.shares_memory(rows.values, sparse.data)
    assert np.shares_memory(rows.columns, sparse.indices)
    assert rows.columns.dtype == np.uint32
    assert rows.offsets.dtype == np.uint64
    assert Points(with_64_bit_indices(X)).rows.columns.dtype == np.uint64
    assert sparse.data.flags.writeable


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_sums_over_points(dtype, sparse, monkeypatch):
    monkeypatch.setattr("maxmargin.data.blocks.BLOCK_ENTRIES", 64)
    matrix, _ = load("heart_scale")
    matrix = matrix.astype(dtype)
    exact = matrix.toarray().astype(np.float64)
    points = Points(matrix if sparse else np.ascontiguousarray(matrix.toarray()))
    n, d = matrix.shape
    w, c = np.arange(float(d)), np.random.default_rng(0).standard_normal(n)
    few = np.where(np.arange(n) < 3, c, 0.0)
    np.testing.assert_allclose(points.scores(w), exact @ w, rtol=1e-12)
    np.testing.assert_allclose(points.scores(np.outer(w, [1, 2])), np.outer(exact @ w, [1, 2]), rtol=1e-12)
    np.testing.assert_allclose(points.combination(c), exact.T @ c, rtol=1e-10)
    np.testing.assert_allclose(points.combination(few), exact.T @ few, rtol=1e-10)
    np.testing.assert_allclose(points.squared_norms, (exact**2).sum(axis=1), rtol=1e-12)
    assert points.longest_row == (np.diff(matrix.indptr).max() if sparse else d)
    assert not points.nonnegative


def test_blocks_cover_all_rows_once():
    for n_rows, per_row in [(0, 5), (1, 1e9), (1000, 0), (10**6, 54)]:
        parts = list(row_blocks(n_rows, per_row))
        assert [i for part in parts for i in (part.start, part.stop)][:1] in ([], [0])
        assert sum(part.stop - part.start for part in parts) == n_rows


@pytest.mark.parametrize("labels", [(1, 2), ("ham", "spam"), (True, False), (-1.0, 1.0), (0, 255)])
@pytest.mark.parametrize("model", [Perceptron, MarginPerceptron, KernelPerceptron])
def test_any_two_labels(labels, model):
    named = np.array(labels)[(y > 0).astype(int)]
    fitted = model(max_iter=10).fit(X, named)
    assert set(fitted.predict(X)) <= set(labels)
    assert list(fitted.classes_) == sorted(labels)


def test_rows_of_zeros_repeated_rows_and_contradictions_are_ordinary():
    rows = np.vstack([X, np.zeros((3, X.shape[1])), X[:10], X[:5]])
    labels = np.concatenate([y, [1, -1, 1], y[:10], -y[:5]])
    for model in (Perceptron(max_iter=20), MarginPerceptron(max_iter=60), KernelPerceptron(max_iter=20)):
        for data in (rows, sp.csr_array(rows)):
            for fit_intercept in (True, False):
                fitted = model.set_params(fit_intercept=fit_intercept).fit(data, labels)
                assert np.isfinite(fitted.decision_function(data)).all()
                assert str(fitted.status_) != "solved"


def test_a_constant_column_and_columns_of_different_scale():
    rows = np.column_stack([X, np.full(len(y), 7.0), X[:, 0] * 1e8, X[:, 1] * 1e-8])
    for model in (Perceptron(max_iter=20), MarginPerceptron(max_iter=60)):
        assert np.isfinite(model.fit(rows, y).decision_function(rows)).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("labels", [(0, 1, 2), (5, 9, 11, 30), (0, 50, 100), "lowest", "highest", "all"])
def test_whole_labels_are_encoded_as_numpy_does(dtype, labels):
    lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
    if labels == "all":
        # Differences of short integers leave their range.
        labels = (lowest, 0, highest)
    elif isinstance(labels, str):
        labels = (lowest, lowest + 1, lowest + 40) if labels == "lowest" else (highest - 40, highest - 3, highest)
    y = np.random.default_rng(0).permutation(np.repeat(np.array(labels, dtype=dtype), 100))
    classes, codes = encode_labels(y)
    expected, expected_codes = np.unique(y, return_inverse=True)
    assert classes.dtype == dtype
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, expected_codes)
