"""The user's own numbers as fractions, where float64 rounds them."""

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from maxmargin.data.array_types import UserArray
from maxmargin.data.points import Points
from maxmargin.data.rows import as_dense

# The unit roundoff u of float64.
UNIT = 2.0**-53
# The smallest positive float64: the most that underflow takes from one product.
SMALLEST = 2.0**-1074
# The smallest float64 of full precision: what an exponential that underflows loses at most, also where it is flushed to
# zero.
SMALLEST_NORMAL = 2.0**-1022
# Integers up to this size are float64 numbers.
LARGEST_EXACT_INTEGER = 1 << 53
# Most entries of lists, whose numbers have to be read one by one.
LARGEST_LIST = 20_000


def exact_numbers(X: UserArray, points: Points) -> np.ndarray | None:
    """The entries of X as fractions, in an array of objects; None where float64 rounds none of them.

    Parameters
    ----------
    X : array, sparse matrix, data frame or nested list
        It has passed validation.
    points : Points
        The validated points of X.
    """
    values = _values(X, points)
    if values is None or not _may_be_rounded(values):
        return None
    numbers = np.asarray(np.frompyfunc(_fraction, 1, 1)(values), dtype=object)
    matrix = as_dense(points.matrix)
    stored = np.frompyfunc(lambda value: Fraction(float(value)), 1, 1)(matrix)
    return numbers if np.any(numbers != stored) else None


def _values(X: UserArray, points: Points) -> np.ndarray | None:
    if sp.issparse(X):
        return None if X.dtype.kind in "fb" and X.dtype.itemsize <= 8 else np.asarray(X.toarray())
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "to_numpy"):
        # Columns of different types would be converted to one, integers to floats.
        kinds = {np.dtype(kind).kind if isinstance(kind, np.dtype) else "O" for kind in getattr(X, "dtypes", ())}
        mixed = len(kinds) != 1 or not kinds <= set("fb")
        return np.asarray((X.astype(object) if mixed and hasattr(X, "astype") else X).to_numpy())
    if points.n_rows * points.n_columns > LARGEST_LIST:
        return None
    return np.array([list(row) for row in X], dtype=object)


def _may_be_rounded(values: np.ndarray) -> bool:
    if values.dtype.kind in "iu":
        return bool(values.size and max(abs(int(values.min())), int(values.max())) > LARGEST_EXACT_INTEGER)
    return values.dtype.kind == "O" or (values.dtype.kind == "f" and values.dtype.itemsize > 8)


def _fraction(value: UserArray) -> Fraction:
    if isinstance(value, np.generic) and not isinstance(value, np.longdouble):
        value = value.item()
    if isinstance(value, np.longdouble):
        return Fraction(*value.as_integer_ratio())
    try:
        return Fraction(value)
    except TypeError:
        return Fraction(float(value))
