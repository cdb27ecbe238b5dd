"""Dask collections for the tests."""

from itertools import pairwise

import dask.array as da
import numpy as np

import dask
from maxmargin.engine.executors import array_of_chunks


def collections(X, y, cuts, *more):
    """Dask arrays with the given cuts, also of sparse rows, and with empty partitions."""
    sizes = tuple(last - first for first, last in pairwise(cuts))
    parts = [dask.delayed(X[first:last]) for first, last in pairwise(cuts)]
    dX = array_of_chunks(parts, (sizes, (X.shape[1],)), 0, X.dtype)
    return dX, *(da.from_array(values, chunks=(sizes,)) for values in (y, *more))


def numbers(n=3000, d=30):
    generator = np.random.default_rng(1)
    X = generator.standard_normal((n, d))
    return X, X @ generator.standard_normal(d) + 50.0 + generator.standard_normal(n), [0, 1, 1000, n]
