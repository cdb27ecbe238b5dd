"""The user's own numbers as fractions, where float64 rounds them."""

from collections.abc import Iterator
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


def exact_numbers(X: UserArray, points: Points) -> np.ndarray | None:
    """The entries of X as fractions, in an array of objects; None where float64 rounds none of them.

    Parameters
    ----------
    X : array, sparse matrix, data frame or nested list
        It has passed validation.
    points : Points
        The validated points of X.
    """
    if not float64_rounds(X):
        return None
    numbers = np.asarray(np.frompyfunc(_fraction, 1, 1)(_values(X)), dtype=object)
    stored = np.frompyfunc(lambda value: Fraction(float(value)), 1, 1)(as_dense(points.matrix))
    return numbers if np.any(numbers != stored) else None


def float64_rounds(X: UserArray) -> bool:
    """Whether float64 rounds a number of X: integers above 2^53, wider floats, fractions, decimals.

    Arrays of float64 and shorter floats, and of shorter integers, are known by their type; other arrays take a pass.
    What is no number is left to validation.
    """
    if sp.issparse(X):
        # Not all formats have their values in one array.
        return _may_round(X.dtype) and _rounds(X.tocoo().data)
    if isinstance(X, np.ndarray):
        return _rounds(X)
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        return any(_rounds(column) for column in _columns_that_may_round(X))
    if hasattr(X, "to_numpy"):
        return _rounds(np.asarray(X.to_numpy()))
    return _list_rounds(X)


def _columns_that_may_round(X: UserArray) -> Iterator[np.ndarray]:
    """The columns of a data frame whose types may hold such numbers, each in its own type."""
    for k, kind in enumerate(X.dtypes):
        if isinstance(kind, np.dtype) and not _may_round(kind):
            continue
        column = X.iloc[:, k] if hasattr(X, "iloc") else X[X.columns[k]]
        yield np.asarray(column.to_numpy())


def _list_rounds(X: UserArray) -> bool:
    try:
        values = np.asarray(X)
    except (TypeError, ValueError):
        return False
    if values.dtype != np.float64:
        return _rounds(values)
    # Among floats an integer is rounded at once.
    with np.errstate(invalid="ignore"):
        is_large = bool((np.abs(values) >= LARGEST_EXACT_INTEGER).any())
    return is_large and _rounds(np.array(X, dtype=object))


def _values(X: UserArray) -> np.ndarray:
    if sp.issparse(X):
        return np.asarray(X.toarray())
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "to_numpy"):
        # Columns of different types would be converted to one, integers to floats.
        return np.asarray((X.astype(object) if hasattr(X, "astype") else X).to_numpy())
    return np.array([list(row) for row in X], dtype=object)


def _may_round(kind: np.dtype) -> bool:
    return kind.kind == "O" or (kind.kind in "iu" and kind.itemsize >= 8) or (kind.kind == "f" and kind.itemsize > 8)


def _rounds(values: np.ndarray) -> bool:
    if not values.size or not _may_round(values.dtype):
        return False
    if values.dtype.kind == "O":
        return any(map(_is_rounded, values.flat))
    if values.dtype.kind == "f":
        return bool((values.astype(np.float64) != values).any() and not np.isnan(values).any())
    if max(-int(values.min()), int(values.max())) <= LARGEST_EXACT_INTEGER:
        return False
    floats = values.astype(np.float64)
    # The largest floats are beyond the integers, and would not come back.
    inside = floats < 2.0 ** (8 * values.dtype.itemsize - (values.dtype.kind == "i"))
    return not inside.all() or bool((floats.astype(values.dtype) != values).any())


def _is_rounded(value: UserArray) -> bool:
    if isinstance(value, float | bool | str):
        return False
    try:
        return _fraction(value) != Fraction(float(value))
    except (TypeError, ValueError, ArithmeticError):
        return False


def _fraction(value: UserArray) -> Fraction:
    if isinstance(value, np.generic) and not isinstance(value, np.longdouble):
        value = value.item()
    if isinstance(value, np.longdouble):
        return Fraction(*value.as_integer_ratio())
    try:
        return Fraction(value)
    except TypeError:
        return Fraction(float(value))
