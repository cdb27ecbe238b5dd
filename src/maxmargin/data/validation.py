"""Validation of all user input; every error names the argument."""

import math
from typing import Protocol, overload

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count, effective_n_jobs

from maxmargin._process import uses_scikit_learn
from maxmargin.data import scikit_learn
from maxmargin.data.array_types import UserArray, to_numpy
from maxmargin.data.dataset import Dataset, LabelledPoints, TargetColumns, TargetPoints
from maxmargin.data.exact_numbers import float64_rounds
from maxmargin.data.labels import encode_as, encode_labels
from maxmargin.data.memory import available_memory
from maxmargin.data.points import Points
from maxmargin.data.rows import Matrix, SparseMatrix, aligned, is_short_and_finite, is_sparse
from maxmargin.data.scikit_learn import naming
from maxmargin.data.user_warnings import warn_user

# Prefixes of the names of data-frame types that are not numeric.
NOT_NUMBERS = (
    "binary", "categor", "date", "duration", "enum", "interval", "large_str", "period", "str", "time", "utf8",
)  # fmt: skip

# Largest norm of a row: its square must neither overflow nor underflow in float64, with room for sums and products.
SMALLEST_NORM, LARGEST_NORM = 1e-140, 1e140
# Positive weights, parameters and their products: those with squared norms must stay in the range of float64.
SMALLEST_FACTOR, LARGEST_FACTOR = 1e-100, 1e100

# Columns from which on the memory of a fit is checked, and the vectors of this length that a fit holds at least
# (coefficients, gradient, direction, column sums ...; measured: 6 for perceptrons, 7 for LinearSVR, 15 for Lasso).
WIDE, VECTORS_PER_FIT = 1 << 24, 6

MATRIX_TYPES: list[type] = [np.float64, np.float32]
MATRIX_CHECKS: dict[str, object] = {
    "accept_sparse": "csr",
    "dtype": MATRIX_TYPES,
    "order": "C",
}


class CheckedEstimator(Protocol):
    """What validation sets; all else is asked of scikit-learn."""

    n_features_in_: int


def is_collection(X: object) -> bool:
    """Whether X is a Dask collection; without importing Dask."""
    return hasattr(type(X), "__dask_graph__")


def _refuse_collections(*values: object) -> None:
    """Converting a collection would gather all of its rows."""
    if any(map(is_collection, values)):
        raise TypeError(
            "Dask collections are not taken here: compute X and y first, or some of their rows. LinearSVC and "
            "LinearSVR learn from collections as they are."
        )


def validate_points(estimator: CheckedEstimator, X: UserArray) -> Points:
    """Check X for a fitted estimator."""
    _refuse_collections(X)
    X = _matrix_of(estimator, X, reset=False)
    if _has_its_columns(estimator, X, reset=False) and _is_plain(X, estimator) and _is_finite(values_of(X)):
        return Points(_canonical(X))
    _refuse_text_columns(X)
    _warn_of_rounding("X", X)
    X = to_numpy(X)
    return Points(_canonical(naming("X", scikit_learn.validate_data, estimator, X, reset=False, **_checks(estimator))))


def validate_training_data(
    estimator: CheckedEstimator,
    X: UserArray,
    y: UserArray,
    *,
    sample_weight: UserArray = None,
    class_weight: object = None,
    classes: np.ndarray | None = None,
    reset: bool = True,
    balances_rows: bool = False,
) -> LabelledPoints:
    """Check X, y and the weights of a classifier's fit; ``classes`` are the possible labels, where they are known.

    ``balances_rows`` says that "balanced" class weights count the rows of the classes, not their weights.
    """
    points, y = _points_and_targets(estimator, X, y, reset)
    if classes is None:
        classes, codes = encode_labels(y)
    else:
        codes = encode_as(classes, y)
    if balances_rows and class_weight is not None:
        per_class = scikit_learn.compute_class_weight(class_weight, classes=classes, y=classes[codes])
        class_weight = dict(zip(classes.tolist(), per_class, strict=True))
    weights = _weights(points.matrix, y, classes, codes, sample_weight, class_weight)
    return LabelledPoints(_measurable(points, estimator), classes, codes, weights)


@overload
def validate_targets(
    estimator: CheckedEstimator, X: UserArray, y: UserArray, *, sample_weight: UserArray = ..., reset: bool = ...
) -> TargetPoints: ...


@overload
def validate_targets(
    estimator: CheckedEstimator,
    X: UserArray,
    y: UserArray,
    *,
    sample_weight: UserArray = ...,
    reset: bool = ...,
    several: bool,
) -> TargetPoints | TargetColumns: ...


def validate_targets(
    estimator: CheckedEstimator,
    X: UserArray,
    y: UserArray,
    *,
    sample_weight: UserArray = None,
    reset: bool = True,
    several: bool = False,
) -> TargetPoints | TargetColumns:
    """Check X, the real targets y and the weights of a regression's fit; with ``several``, y may have columns."""
    if getattr(getattr(y, "dtype", None), "kind", None) == "c":
        raise ValueError("y must be real numbers for a regression. Complex data not supported.")
    points, y = _points_and_targets(estimator, X, y, reset, **({"multi_output": True} if several else {}))
    _warn_of_rounding("y", y)
    y = as_numbers(y)
    if not float(np.abs(y).max(initial=0.0)) <= LARGEST_NORM:
        scikit_learn.assert_all_finite(y, input_name="y")
        raise ValueError("y has values too large to be squared: rescale it.")
    weights = None
    if sample_weight is not None:
        weights = _weights(points.matrix, y, np.empty(0), y, sample_weight, None)
        if weights is not None and not weights.any():
            raise ValueError("sample_weight is zero for every row: give at least one row a positive weight.")
    return (TargetPoints if y.ndim == 1 else TargetColumns)(_measurable(points, estimator), y, weights)


def validate_one_class(
    estimator: CheckedEstimator, X: UserArray, *, sample_weight: UserArray = None, reset: bool = True
) -> TargetPoints:
    """Check X and the weights of a fit without labels: all rows have the target 1."""
    _refuse_collections(X)
    X = _matrix_of(estimator, X, reset=reset)
    _refuse_text_columns(X)
    _warn_of_rounding("X", X)
    X = naming("X", scikit_learn.validate_data, estimator, to_numpy(X), reset=reset, **_checks(estimator))
    targets = np.ones(X.shape[0])
    weights = _weights(X, targets, np.empty(0), targets, sample_weight, None)
    if weights is not None and not weights.any():
        raise ValueError("sample_weight is zero for every row: give at least one row a positive weight.")
    return TargetPoints(_measurable(Points(_canonical(X)), estimator), targets, weights)


def _points_and_targets(
    estimator: CheckedEstimator, X: UserArray, y: UserArray, reset: bool, **checks: object
) -> tuple[Points, np.ndarray]:
    """Check X and y by scikit-learn; ``reset`` sets the estimator's number and names of columns."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__}.fit requires y to be passed, but the target y is None.")
    _refuse_collections(X, y)
    X = _matrix_of(estimator, X, reset=reset)
    if _has_its_columns(estimator, X, reset) and _are_plain_targets(X, y) and _is_plain(X, estimator):
        if not hasattr(estimator, "kernel"):
            _refuse_too_wide(X)
        points = Points(_canonical(X))
        # The norms of the rows, which a fit needs anyway, are finite only where the rows are.
        if math.isfinite(points.largest_norm):
            estimator.n_features_in_ = points.n_columns
            return points, y
    _refuse_text_columns(X)
    _warn_of_rounding("X", X)
    X, y = to_numpy(X), to_numpy(y)
    X, y = naming("X", scikit_learn.validate_data, estimator, X, y, reset=reset, **_checks(estimator), **checks)
    if not hasattr(estimator, "kernel"):
        _refuse_too_wide(X)
    return Points(_canonical(X)), y


def _matrix_of(estimator: CheckedEstimator, X: UserArray, *, reset: bool) -> UserArray:
    """X, or where it is a sequence of objects their kernel matrix with the objects of the fit."""
    convert = getattr(estimator, "_matrix_of_objects", None)
    return X if convert is None else convert(X, reset=reset)


def validate_partition(
    X: UserArray, y: UserArray, sample_weight: UserArray, *, of_classes: bool
) -> tuple[Matrix, np.ndarray, np.ndarray | None]:
    """Check X, y and the weights of a partition, which may be empty."""
    _refuse_text_columns(X)
    X = naming("X", scikit_learn.check_array, X, input_name="X", ensure_min_samples=0, **MATRIX_CHECKS)
    y = naming("y", scikit_learn.column_or_1d, getattr(y, "to_numpy", lambda: y)())
    if y.dtype.kind == "f":
        scikit_learn.assert_all_finite(y, input_name="y")
    naming("X", scikit_learn.check_consistent_length, X, y)
    if of_classes and y.size:
        naming("y", scikit_learn.check_classification_targets, y)
    if sample_weight is None or X.shape[0] == 0:
        return _canonical(X), y, None
    return _canonical(X), y, _weights(X, y, np.empty(0), y, sample_weight, None, allow_all_zero_weights=True)


def _has_its_columns(estimator: CheckedEstimator, X: UserArray, reset: bool) -> bool:
    """Whether X needs no look at its columns: their number is that of the fit, and scikit-learn tells nothing of names.

    The command has compared the names in its files already.
    """
    if uses_scikit_learn() and hasattr(estimator, "feature_names_in_"):
        return False
    return reset or getattr(X, "shape", ())[1:] == (getattr(estimator, "n_features_in_", None),)


def _is_plain(X: UserArray, estimator: object) -> bool:
    """Whether X is a matrix as it is needed: where it is finite, too, scikit-learn's checks, half of a small fit's
    time, would find and change nothing.
    """
    if type(X) is np.ndarray:
        fits = X.ndim == 2 and X.flags.c_contiguous
    elif type(X) in (sp.csr_array, sp.csr_matrix):
        fits = X.ndim == 2 and getattr(estimator, "_takes_sparse", False)
    else:
        return False
    return bool(fits and X.dtype in MATRIX_TYPES and min(X.shape) > 0)


def values_of(X: Matrix) -> np.ndarray:
    """The numbers that a matrix stores."""
    return np.asarray(X.data if is_sparse(X) else X)


def _are_plain_targets(X: UserArray, y: UserArray) -> bool:
    """Whether y is a vector of finite numbers, or of texts, as long as X."""
    if type(y) is not np.ndarray or y.ndim != 1 or not hasattr(X, "shape") or X.shape[0] != y.size:
        return False
    return y.dtype.kind in "Uiu" or (y.dtype.kind == "f" and _is_finite(y))


def _is_finite(values: np.ndarray) -> bool:
    """Whether all values are finite; not where only their sum is too large."""
    if is_short_and_finite(values):
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def as_numbers(y: UserArray) -> np.ndarray:
    """Convert the targets of a regression to floats; the error shows a target that is no number."""
    try:
        return np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be numbers for a regression; it has {_no_number_of(y)!r}.") from error


def _no_number_of(y: UserArray) -> object:
    for value in np.ravel(np.asarray(y, dtype=object)):
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return y


def validate_two_classes(X: UserArray, y: UserArray, *, caller: str, may_round: bool = False) -> Dataset:
    """Check X and y for a function of exactly two classes; with ``may_round`` the caller looks for rounded numbers."""
    _refuse_collections(X, y)
    _refuse_text_columns(X)
    if not may_round:
        _warn_of_rounding("X", X)
    X = naming("X", scikit_learn.check_array, X, input_name="X", **MATRIX_CHECKS)
    _refuse_too_wide(X)
    y = naming("y", scikit_learn.column_or_1d, y, warn=True)
    if y.dtype.kind == "f":
        scikit_learn.assert_all_finite(y, input_name="y")
    scikit_learn.check_consistent_length(X, y)
    classes, codes = encode_labels(y)
    if len(classes) != 2:
        raise ValueError(f"y has {len(classes)} classes {classes[:5].tolist()}; {caller} takes exactly two.")
    return Dataset(_measurable(Points(_canonical(X)), None), np.where(codes == 1, 1.0, -1.0))


def validate_rows(X: UserArray) -> Matrix:
    """Check X on its own."""
    _refuse_text_columns(X)
    _warn_of_rounding("X", X)
    return _canonical(naming("X", scikit_learn.check_array, X, input_name="X", **MATRIX_CHECKS))


def _checks(estimator: object) -> dict[str, object]:
    takes_sparse = scikit_learn.get_tags(estimator).input_tags.sparse
    return MATRIX_CHECKS if takes_sparse else {**MATRIX_CHECKS, "accept_sparse": False}


def _weights(
    X: Matrix,
    y: np.ndarray,
    classes: np.ndarray,
    codes: np.ndarray,
    sample_weight: UserArray,
    class_weight: object,
    **checks: bool,
) -> np.ndarray | None:
    if sample_weight is None and class_weight is None:
        return None
    weights = np.ones(len(codes))
    if sample_weight is not None:
        weights = naming(
            "sample_weight",
            scikit_learn._check_sample_weight,
            to_numpy(sample_weight),
            X,
            dtype=np.float64,
            ensure_non_negative=True,
            **checks,
        )
    if class_weight is not None:
        per_class = scikit_learn.compute_class_weight(class_weight, classes=classes, y=y, sample_weight=weights)
        weights = weights * per_class[codes]
        _refuse_bad_factors(weights)
    positive = weights[weights > 0.0]
    if positive.size and not SMALLEST_FACTOR <= positive.min() <= positive.max() <= LARGEST_FACTOR:
        raise ValueError("sample_weight and class_weight must give weights of zero, or between 1e-100 and 1e100.")
    return weights


def _refuse_bad_factors(weights: np.ndarray) -> None:
    if (weights < 0).any() or not np.isfinite(weights).all():
        raise ValueError("class_weight must give finite weights that are not negative.")


def class_factors(class_weight: object, classes: np.ndarray, totals: np.ndarray) -> np.ndarray | None:
    """The factor of each class, given the weight of its rows; None without ``class_weight``."""
    if class_weight is None:
        return None
    factors = scikit_learn.compute_class_weight(class_weight, classes=classes, y=classes, sample_weight=totals)
    _refuse_bad_factors(factors)
    return np.asarray(factors, dtype=np.float64)


def n_threads_of(n_jobs: object) -> int:
    """The threads that ``n_jobs`` asks for, one a core for None; ValueError where it is no such number."""
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0; it is {n_jobs!r}.")
    return int(cpu_count() if n_jobs is None else effective_n_jobs(n_jobs))


def validate_factors(name: str, value: float, weights: np.ndarray | None) -> None:
    """Refuse weights that leave the range of factors when they are multiplied by a parameter."""
    if weights is None or not weights.any():
        return
    factors = value * weights[weights > 0.0]
    if not SMALLEST_FACTOR <= factors.min() <= factors.max() <= LARGEST_FACTOR:
        raise ValueError(
            f"{name} times sample_weight (and class_weight) must be between {SMALLEST_FACTOR:g} and "
            f"{LARGEST_FACTOR:g}; it goes from {factors.min():g} to {factors.max():g}."
        )


def _canonical(X: Matrix) -> Matrix:
    """Add up duplicate entries of a sparse matrix, in a copy: norms would be wrong with them."""
    X = aligned(X)
    if not is_sparse(X):
        return X
    matrix: SparseMatrix = sp.csr_array(X)
    if _has_rising_columns(matrix):
        matrix.has_canonical_format = True
        return matrix
    # As unsigned numbers, negative ones are the largest: one pass finds both.
    if matrix.indices.size and matrix.indices.view(f"u{matrix.indices.itemsize}").max() >= matrix.shape[1]:
        raise ValueError("X has column indices outside of its columns: build the sparse matrix again.")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _has_rising_columns(matrix: SparseMatrix) -> bool:
    """Whether the columns of every row rise, within the matrix: a third of the time of SciPy's test and of the largest
    index.
    """
    starts, stored = matrix.indptr, int(matrix.indptr[-1])
    filled = starts[1:] > starts[:-1]
    if not 0 < stored <= matrix.indices.size or starts[0] != 0 or (starts[1:] < starts[:-1]).any():
        return False
    columns, firsts = matrix.indices[:stored], starts[:-1][filled]
    lasts = np.append(firsts[1:], stored) - 1
    if columns[firsts].min() < 0 or columns[lasts].max() >= matrix.shape[1]:
        return False
    rises = columns[1:] > columns[:-1]
    between_rows = rises[firsts[1:] - 1]
    n_falls = rises.size - np.count_nonzero(rises)
    return bool(n_falls == between_rows.size - np.count_nonzero(between_rows))


def _measurable(points: Points, estimator: object) -> Points:
    """Refuse rows whose squared norms overflow or underflow: no certificate would hold."""
    largest = points.largest_norm
    refuse_unmeasurable(largest, largest == 0.0 and points.all_zero, getattr(estimator, "_if_not_measurable", ""))
    return points


def refuse_unmeasurable(largest: float, all_zero: bool, consequence: str = "") -> None:
    """Refuse a largest norm whose square overflows or underflows; ``consequence`` says what would become of a fit."""
    if not all_zero and not SMALLEST_NORM <= largest <= LARGEST_NORM:
        size = "large" if largest > LARGEST_NORM else "small"
        advice = "rescale it, for example to a largest entry of 1."
        raise ValueError(f"X has values too {size} to be squared: {advice}{consequence}")


def _refuse_too_wide(X: Matrix) -> None:
    """Refuse sparse rows so wide that the coefficients do not fit in memory, as one index of 2^31 - 1 makes them."""
    if not is_sparse(X) or X.shape[1] < WIDE:
        return
    needed, available = 8 * VECTORS_PER_FIT * X.shape[1], available_memory()
    if needed > available:
        raise ValueError(
            f"X has {X.shape[1]:,} columns, {np.unique(X.indices).size:,} of them with entries: coefficients and other "
            f"vectors of this length take {needed / 1e9:.0f} GB, and {available / 1e9:.0f} GB are available. Number "
            "the columns that occur from 1 on, or hash them to fewer."
        )


def _refuse_text_columns(X: UserArray) -> None:
    """Name the text columns of a data frame in the error, not the first value that is no number."""
    if not (hasattr(X, "dtypes") and hasattr(X, "columns")):
        return
    dtypes = X.dtypes.items() if hasattr(X.dtypes, "items") else zip(X.columns, X.dtypes, strict=True)
    found = [str(name) for name, dtype in dtypes if str(dtype).lower().startswith(NOT_NUMBERS)]
    if found:
        raise ValueError(
            f"X has columns of text, dates or categories: {', '.join(found[:5])}. Encode them as numbers first, "
            "for example with sklearn.preprocessing.OneHotEncoder."
        )


def _warn_of_rounding(name: str, values: UserArray) -> None:
    if float64_rounds(values):
        warn_of_rounding(name)


def warn_of_rounding(name: str) -> None:
    """Warn that float64 rounds numbers of an argument: nothing is said of the user's own."""
    warn_user(
        f"{name} has numbers that float64 rounds, such as integers above 2^53: all that is computed, stated and proven "
        "is about the rounded ones.",
        UserWarning,
    )
