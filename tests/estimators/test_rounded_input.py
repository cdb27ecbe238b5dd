"""Numbers that float64 rounds are told before anything is stated about them; numbers that it holds are not."""

import warnings
from decimal import Decimal
from fractions import Fraction

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from maxmargin import (
    SVC,
    SVR,
    KernelPerceptron,
    Lasso,
    LinearSVC,
    LogisticRegression,
    NotSeparableError,
    OneClassSVM,
    Perceptron,
    Ridge,
    certify,
    margins,
    mistake_bound,
    separate,
)
from maxmargin.data.exact_numbers import float64_rounds
from maxmargin.files import write_store

big = 1 << 53
TOLD = "numbers that float64 rounds"
labels = np.array([0, 1, 0, 1])
rows = [[big], [big + 1], [big + 4], [big + 9]]
GIVEN = {
    "int64": np.array(rows),
    "uint64": np.array(rows, dtype=np.uint64) + np.uint64(1 << 63),
    "negative": -np.array(rows),
    "list": rows,
    "mixed list": [[float(row[0]), 0.5] if k else [big + 1, 0.5] for k, row in enumerate(rows)],
    "objects": np.array(rows, dtype=object),
    "sparse": sp.csr_array(np.array(rows)),
    "mixed data frame": pd.DataFrame({"a": np.arange(4.0), "b": np.ravel(rows)}),
    "nullable": pd.DataFrame({"a": pd.array(np.ravel(rows), dtype="Int64")}),
    "polars": pl.DataFrame({"a": np.arange(4.0), "b": np.ravel(rows)}),
    "long double": np.array([[0.1], [0.2], [0.3], [0.4]], dtype=np.longdouble) / 3,
    "fractions": np.array([[Fraction(k, 3)] for k in range(4)], dtype=object),
    "decimals": [[Decimal("0.1")], [Decimal("0.2")], [Decimal("0.3")], [Decimal("0.4")]],
}
EXACT = {
    "int64": np.array([[big], [big + 2], [big << 4], [-big]]),
    "largest": np.array([[np.iinfo(np.int64).min], [1 << 62]]),
    "list": [[big, 0.5], [2.0**60, 1]],
    "float64": np.array([[2.0**60], [0.1]]),
    "float32": np.array([[2.0**60], [0.1]], dtype=np.float32),
    "objects": np.array([[1], [0.5]], dtype=object),
    "texts": np.array([["a"], ["b"]], dtype=object),
    "ragged": [[1], [1, 2]],
    "fractions": [[Fraction(1, 4)], [Decimal("0.5")]],
    "data frame": pd.DataFrame({"a": [0.1, 1e300], "b": [1, 2]}),
    "missing": pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
    "none": np.empty((0, 2), dtype=np.int64),
}


@pytest.mark.parametrize("name", GIVEN)
def test_rounded_numbers_are_seen(name):
    assert float64_rounds(GIVEN[name])


@pytest.mark.parametrize("name", EXACT)
def test_exact_numbers_are_not_told(name):
    assert not float64_rounds(EXACT[name])


def test_the_largest_integers_that_round_up_beyond_their_type_are_seen():
    assert float64_rounds(np.array([np.iinfo(np.int64).max]))
    assert float64_rounds(np.array([np.iinfo(np.uint64).max], dtype=np.uint64))


def test_floats_are_judged_by_their_type_alone():
    class Untouched(np.ndarray):
        def __array_ufunc__(self, *arguments, **options):
            raise AssertionError("a pass over floats")

        min = max = astype = __array_ufunc__

    assert not float64_rounds(np.ones((3, 2)).view(Untouched))


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("model", [LinearSVC(C=1e-30), Perceptron(max_iter=2), SVC()], ids=str)
def test_fits_warn_first(model, name):
    if sp.issparse(GIVEN[name]) and isinstance(model, SVC):
        model = SVC(kernel="linear")
    with pytest.warns(UserWarning, match=f"X has {TOLD}") as told:
        model.fit(GIVEN[name], labels)
    assert {warning.filename for warning in told} == {__file__}


@pytest.mark.parametrize(
    "model", [LogisticRegression(), KernelPerceptron(max_iter=2), Ridge(), Lasso(), SVR(), OneClassSVM()]
)
def test_all_kinds_of_estimators_warn(model):
    with pytest.warns(UserWarning, match=f"X has {TOLD}"):
        model.fit(GIVEN["int64"], labels)


def test_no_statement_on_separability_comes_without_the_warning():
    X, y = np.array([[big], [big + 1]]), [0, 1]
    assert separate(X, y).separable
    with pytest.warns(UserWarning, match=TOLD), pytest.raises(NotSeparableError):
        LinearSVC(C=np.inf).fit(X, y)
    with pytest.warns(UserWarning, match=TOLD):
        model = Perceptron(max_iter=5).fit(X, y)
    with pytest.warns(UserWarning, match=TOLD):
        certify(model, X, y)
    for function in (margins, mistake_bound):
        with pytest.warns(UserWarning, match=TOLD):
            function(X, y, [1.0])


def test_a_store_is_told_when_it_is_written(tmp_path):
    with pytest.warns(UserWarning, match=f"X has {TOLD}"):
        write_store(tmp_path / "rounded", [(GIVEN["int64"], labels)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_store(tmp_path / "exact", [(EXACT["int64"], labels)])


def test_targets_and_dask_collections_are_told():
    X, y = np.arange(8.0).reshape(4, 2), np.array([big + 1, 0, 1, 2])
    with pytest.warns(UserWarning, match=f"y has {TOLD}"):
        Ridge().fit(X, y)
    collection = da.from_array(np.tile(GIVEN["int64"], (5, 2)), chunks=(10, 2))
    classes = da.from_array(np.tile(labels, 5), chunks=10)
    with pytest.warns(UserWarning, match=f"X has {TOLD}"):
        LinearSVC(C=1e-30, max_iter=2).fit(collection, classes)
    with pytest.warns(UserWarning, match=f"X has {TOLD}"):
        separate(collection, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ridge().fit(X, np.arange(4))
        separate(da.from_array(X, chunks=(2, 2)), da.from_array(labels, chunks=2))
