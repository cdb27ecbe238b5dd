"""Rows in arrays of all types and orders, sparse matrices, data frames and lists."""

import warnings
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

CONTAINERS = (
    *("C", "C", "C", "F", "float32", "int64", "list", "frame", "slice"),
    *("csr", "csr", "csc", "coo", "lil", "bsr", "dia", "matrix", "unsorted"),
)


def in_a_container(X: np.ndarray, random: Random) -> Any:
    """X as an array of another type or order, a sparse matrix, a data frame or a list."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = random.choice(CONTAINERS)
        if kind == "float32":
            X = X.astype(np.float32)
            return X if random.random() < 0.5 else sp.csr_array(X)
        if kind == "int64":
            if not np.isfinite(X).all():
                return X
            X = np.clip(np.rint(X * random.choice((1.0, 2.0**52, 2.0**60))), -(2.0**62), 2.0**62).astype(np.int64)
            return X + random.choice((0, 0, 2**53 + 1))
        if kind in ("C", "list", "slice"):
            return {"C": X, "list": X.tolist(), "slice": np.repeat(X, 2, axis=0)[::2]}[kind]
        if kind == "F":
            return np.asfortranarray(X)
        if kind == "frame":
            return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        if kind == "matrix":
            return sp.csr_matrix(X)
        if kind == "unsorted":
            rows, columns = np.nonzero(X)
            order = np.argsort(-columns, kind="stable")
            halves = X[rows, columns][order] / 2.0
            again = np.tile(order, 2)
            return sp.coo_array((np.tile(halves, 2), (rows[again], columns[again])), shape=X.shape).tocsr(copy=False)
        return sp.coo_array(X).asformat(kind)


def as_validated(X: Any) -> Any:
    """The numbers of X as fits use them: float64 or float32 rows."""
    if sp.issparse(X):
        X = sp.csr_array(X, copy=True)
        X.sum_duplicates()
        return X if X.dtype.kind == "f" else X.astype(np.float64)
    X = np.asarray(X)
    return X if X.dtype.kind == "f" else X.astype(np.float64)
