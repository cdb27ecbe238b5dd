"""The plane in which data are drawn: two columns, principal components, or the score."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from maxmargin.data import validate_points
from maxmargin.data.labels import encode_labels
from maxmargin.data.validation import validate_rows

# Entries of the rows that are evaluated at once.
ENTRIES_AT_ONCE = 1 << 22
PRINCIPAL, SCORE = "pca", "score"


@dataclass(frozen=True)
class View:
    """Where points are drawn, and which rows the places of the picture stand for.

    Attributes
    ----------
    points : ndarray of shape (n, 2)
    names : tuple of two str
        What the axes show.
    note : str
        What of data with more than two columns is shown; empty for two columns.
    origin : ndarray of shape (d,), or None
    basis : ndarray of shape (2, d), or None
        The place (s, t) is the row origin + s basis_0 + t basis_1. None where places are not rows.
    """

    points: np.ndarray
    names: tuple[str, str]
    note: str
    origin: np.ndarray | None
    basis: np.ndarray | None

    @property
    def is_whole(self) -> bool:
        """Whether the data have two columns, so that nothing is left out."""
        return self.note == ""

    def rows(self, places: np.ndarray) -> np.ndarray:
        """The rows that places of shape (m, 2) stand for."""
        assert self.origin is not None
        assert self.basis is not None
        return self.origin + places @ self.basis

    def evaluate(self, function: Callable[[np.ndarray], np.ndarray], places: np.ndarray) -> np.ndarray:
        """A model's function at places, in blocks."""
        assert self.origin is not None
        step = max(1, ENTRIES_AT_ONCE // self.origin.size)
        blocks = [places[k : k + step] for k in range(0, len(places), step)]
        with without_names():
            return np.concatenate([function(self.rows(block)) for block in blocks])

    def hyperplane(self, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """The coefficients and intercept of w·x + b as a function of the place."""
        assert self.origin is not None
        assert self.basis is not None
        return self.basis @ w, float(self.origin @ w + b)


@contextmanager
def without_names() -> Any:
    """Silence scikit-learn's warning that an array has no column names: the columns were checked before."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def matrix_of(model: Any, X: Any) -> Any:
    """X as a float matrix, checked for a fitted model, or on its own without one."""
    if model is None:
        return validate_rows(X)
    check_is_fitted(model)
    if getattr(model, "kernel", None) == "precomputed":
        raise ValueError("kernel='precomputed' has no columns that could be drawn: X is the Gram matrix.")
    return validate_points(model, X).matrix


def names_of(model: Any, X: Any, n_columns: int) -> list[str]:
    """The names of the columns: the model's, those of a data frame, or x1, x2, ..."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = getattr(X, "columns", None)
    if names is None or len(names) != n_columns:
        return [f"x{j + 1}" for j in range(n_columns)]
    return [str(name) for name in names]


def labels_of(model: Any, y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes, the model's first, and the position of every row's label among them."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y must have one label for each of the {n_rows} rows of X; its shape is {labels.shape}.")
    classes, codes = encode_labels(labels)
    known = getattr(model, "classes_", None)
    if known is None:
        return classes, codes.astype(np.intp)
    if not np.isin(classes, known).all():
        unknown = [label for label in classes.tolist() if label not in known.tolist()]
        raise ValueError(f"y has the labels {unknown[:5]}, which the model does not know: {known.tolist()[:5]}.")
    return np.asarray(known), np.searchsorted(known, classes)[codes].astype(np.intp)


def signs_of(y: Any, n_rows: int, caller: str) -> tuple[np.ndarray, np.ndarray]:
    """Two labels, and the position of every row's among them."""
    classes, codes = labels_of(None, y, n_rows)
    if len(classes) != 2:
        raise ValueError(f"y has {len(classes)} classes {classes.tolist()[:5]}; {caller} shows exactly two.")
    return classes, codes


def view_of(
    model: Any, X: Any, columns: Any, fixed: Any = "mean", *, default: str = PRINCIPAL, scores: Any = None
) -> View:
    """The view of data: of two chosen columns, of two principal components, or of the score.

    Parameters
    ----------
    model : fitted estimator or None
    X : array, sparse matrix or data frame
    columns : pair of names or positions, "pca", "score" or None
        None is both columns where there are two, else ``default``.
    fixed : {"mean", "median"} or array of shape (d,)
        Values of the columns that are not shown.
    default : {"pca", "score"}
    scores : callable, optional
        f(X) for "score"; without it that view is refused.

    Returns
    -------
    View
    """
    matrix = matrix_of(model, X)
    n_columns = matrix.shape[1]
    names = names_of(model, X, n_columns)
    if n_columns < 2:
        raise ValueError("X has one column, and the picture shows two: add a column.")
    others = fixed_row(matrix, fixed)
    if columns is None and n_columns == 2:
        columns = (0, 1)
    if columns is None:
        columns = default
    if isinstance(columns, str):
        if columns == PRINCIPAL:
            return _principal(matrix)
        if columns == SCORE and scores is not None:
            return _of_scores(model, matrix, np.asarray(scores(X)))
        allowed = " or ".join(repr(name) for name in (PRINCIPAL, *([SCORE] if scores is not None else [])))
        raise ValueError(f"columns must be two columns, or {allowed}; it is {columns!r}.")
    return _columns(matrix, names, _positions(columns, names), fixed, others)


def _positions(columns: Any, names: Sequence[str]) -> tuple[int, int]:
    try:
        chosen = list(columns)
    except TypeError:
        chosen = []
    if len(chosen) != 2:
        raise ValueError(f"columns must be two columns; it is {columns!r}.")
    first, second = (column_position(one, names) for one in chosen)
    if first == second:
        raise ValueError(f"columns must be two different ones; both are {names[first]!r}.")
    return first, second


def column_position(column: Any, names: Sequence[str], argument: str = "columns") -> int:
    """The position of a column, given by name or position."""
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        if not -len(names) <= column < len(names):
            raise ValueError(f"{argument} has {column}, and X has the columns 0 to {len(names) - 1}.")
        return int(column) % len(names)
    if str(column) not in names:
        shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        raise ValueError(f"{argument} has {column!r}, which is no column of X: {shown}.")
    return list(names).index(str(column))


def fixed_row(matrix: Any, fixed: Any) -> np.ndarray:
    if isinstance(fixed, str):
        if fixed == "mean":
            return np.asarray(matrix.mean(axis=0), dtype=np.float64).ravel()
        if fixed == "median":
            if not sp.issparse(matrix):
                return np.median(matrix, axis=0).astype(np.float64)
            from sklearn.utils.sparsefuncs import csc_median_axis_0

            return np.asarray(csc_median_axis_0(sp.csc_matrix(matrix)), dtype=np.float64)
        raise ValueError(f"fixed must be 'mean', 'median' or a row of numbers; it is {fixed!r}.")
    row = np.asarray(fixed, dtype=np.float64).ravel()
    if row.shape != (matrix.shape[1],) or not np.isfinite(row).all():
        raise ValueError(f"fixed must be 'mean', 'median' or {matrix.shape[1]} finite numbers; it is {fixed!r}.")
    return row


def fixed_words(fixed: Any) -> str:
    """How the columns that are not shown are fixed."""
    return f"at their {fixed}s" if isinstance(fixed, str) else "at given values"


def dense(matrix: Any) -> np.ndarray:
    """A matrix of few columns as a float64 array."""
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)


def _columns(matrix: Any, names: Sequence[str], chosen: tuple[int, int], fixed: Any, others: np.ndarray) -> View:
    n_columns = matrix.shape[1]
    basis = np.zeros((2, n_columns))
    basis[0, chosen[0]] = basis[1, chosen[1]] = 1.0
    origin = others.copy()
    origin[list(chosen)] = 0.0
    n_others = n_columns - 2
    note = ""
    if n_others:
        which = "the other column" if n_others == 1 else f"the other {n_others:,} columns"
        note = f"slice: {which} {fixed_words(fixed)}"
    return View(dense(matrix[:, list(chosen)]), (names[chosen[0]], names[chosen[1]]), note, origin, basis)


def _principal(matrix: Any) -> View:
    points, components, mean, shares = principal_components(matrix, 2)
    note = f"plane of the first two principal components ({100.0 * shares.sum():.0f} % of the variance)"
    names = tuple(f"principal component {k + 1}" for k in range(2))
    return View(points, names, note, mean, components)  # type: ignore[arg-type]


def principal_components(matrix: Any, n_components: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates, unit vectors, the mean, and each component's share of the variance."""
    from sklearn.decomposition import PCA

    if min(matrix.shape) < n_components:
        raise ValueError(f"X has {matrix.shape[0]} rows: too few for {n_components} principal components.")
    # Its other solvers need dense rows, or one row more.
    arpack = sp.issparse(matrix) and min(matrix.shape) > n_components
    found = PCA(n_components, svd_solver="arpack" if arpack else "full", random_state=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        points = found.fit_transform(matrix if arpack else dense(matrix))
    shares = np.nan_to_num(found.explained_variance_ratio_)
    return np.asarray(points, dtype=np.float64), found.components_, found.mean_, shares


def _of_scores(model: Any, matrix: Any, scores: np.ndarray) -> View:
    """f(x) across, and along it the first principal component: within the hyperplane, of a linear model."""
    w = linear_coefficients(model)
    if w is None or not w[0].any():
        along, name = principal_components(matrix, 1)[0][:, 0], "principal component 1"
    else:
        along, name = _along_hyperplane(matrix, w[0]), "first principal component within the hyperplane"
    note = f"all {matrix.shape[1]:,} columns: f(x) is exact"
    return View(np.column_stack([scores, along]), ("f(x)", name), note, None, None)


def _along_hyperplane(matrix: Any, w: np.ndarray) -> np.ndarray:
    """Coordinates along the direction of the largest variance among those orthogonal to w."""
    from scipy.sparse.linalg import LinearOperator, svds

    unit = w / np.linalg.norm(w)
    mean = np.asarray(matrix.mean(axis=0), dtype=np.float64).ravel()
    mean = mean - (mean @ unit) * unit
    across = np.asarray(matrix @ unit, dtype=np.float64)

    def forward(v: np.ndarray) -> np.ndarray:
        v = np.ravel(v)
        return np.asarray(matrix @ v) - across * (unit @ v) - mean @ v

    def backward(u: np.ndarray) -> np.ndarray:
        u = np.ravel(u)
        return np.asarray(matrix.T @ u) - (across @ u) * unit - mean * u.sum()

    if min(matrix.shape) < 3:
        rows = dense(matrix) - across[:, None] * unit - mean
        return rows @ np.linalg.svd(rows)[2][0]
    operator = LinearOperator(matrix.shape, matvec=forward, rmatvec=backward, dtype=np.float64)
    _, _, directions = svds(operator, k=1, v0=np.ones(min(matrix.shape)), random_state=0)
    direction = directions[0] * (1.0 if directions[0, np.abs(directions[0]).argmax()] > 0 else -1.0)
    return forward(direction)


def named_models(models: Any) -> Mapping[str, Any]:
    """Models by name; those of a sequence are named by their class and number."""
    if not isinstance(models, Mapping):
        models = {f"{type(model).__name__} {k + 1}": model for k, model in enumerate(models)}
    if not models:
        raise ValueError("estimators is empty: give at least one fitted model.")
    return models


def linear_coefficients(model: Any) -> tuple[np.ndarray, float] | None:
    """w and b of a linear model with one decision function; None for other models."""
    found = all_coefficients(model)
    return (found[0][0], float(found[1][0])) if found is not None and len(found[1]) == 1 else None


def all_coefficients(model: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Coefficients (k, d) and intercepts (k,) of a linear model; None where it has none."""
    coef = getattr(model, "coef_", None)
    if coef is None:
        return None
    coef = np.atleast_2d(dense(coef))
    return coef, np.broadcast_to(np.ravel(getattr(model, "intercept_", 0.0)), (len(coef),)).astype(np.float64)


def scores_of(model: Any) -> Callable[[Any], np.ndarray] | None:
    """The decision function of a model with two classes; None where it has none."""
    if not is_classifier(model) or len(model.classes_) != 2 or not hasattr(model, "decision_function"):
        return None
    return model.decision_function
