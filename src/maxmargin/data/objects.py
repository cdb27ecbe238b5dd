"""Sequences of objects, such as texts or graphs, which only a user's kernel can compare."""

from numbers import Number

import numpy as np
import scipy.sparse as sp

from maxmargin.data.array_types import UserArray


def are_objects(X: UserArray) -> bool:
    """Whether X is a sequence of objects, and not a matrix of numbers.

    Rows of numbers of equal length are a matrix, whatever holds them; an empty sequence is left to validation.
    """
    if sp.issparse(X) or not hasattr(X, "__len__") or not len(X):
        return False
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        return not _are_numbers(X)
    if hasattr(X, "dtype") or hasattr(X, "__array__"):
        return np.ndim(X) > 0 and not (np.ndim(X) == 2 and _are_numbers(X))
    first = next(iter(X))
    if isinstance(first, (str, bytes, Number)) or not isinstance(first, (list, tuple, np.ndarray)):
        return True
    return not _are_numbers(X)


def _are_numbers(X: UserArray) -> bool:
    """Whether X converts to a matrix of numbers; text is none, also where it can be read as a number."""
    try:
        values = np.asarray(X)
        return values.ndim == 2 and values.dtype.kind not in "USmM" and np.asarray(values, dtype=np.float64).ndim == 2
    except (TypeError, ValueError):
        return False
