"""Functional and geometric margins of hyperplanes."""

from typing import NamedTuple

import numpy as np

from maxmargin.data import validate_two_classes
from maxmargin.data.array_types import UserArray


class Margins(NamedTuple):
    """The margins of all points.

    Attributes
    ----------
    functional : ndarray
        y_i f(x_i): negative where the point is on the wrong side.
    geometric : ndarray
        y_i f(x_i) / ||w||: the signed distance to the hyperplane.

    See Also
    --------
    margins : Returns this.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import margins
    >>> X, y = load_iris(return_X_y=True)
    >>> found = margins(X, y == 0, [0.0, 1.0, -1.0, 0.0], 0.0)
    >>> print(f"smallest margin {found.geometric.min():.3f}; {(found.functional <= 0.0).sum()} mistakes")
    smallest margin 0.354; 0 mistakes
    """

    functional: np.ndarray
    geometric: np.ndarray

    @property
    def smallest(self) -> float:
        """The margin of the hyperplane: the smallest geometric margin."""
        return float(self.geometric.min())


def margins(X: UserArray, y: UserArray, coef: UserArray, intercept: float = 0.0) -> Margins:
    r"""Functional and geometric margins of a hyperplane on two-class data.

    .. math:: y_i (w \cdot x_i + b) \quad\text{and}\quad y_i (w \cdot x_i + b) / \lVert w \rVert

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of two labels, of shape (n,)
        The greater label counts as +1.
    coef : array of shape (d,) or (1, d)
    intercept : float, default=0.0

    Returns
    -------
    Margins

    See Also
    --------
    Margins : What comes back.
    separate : The largest margin of any hyperplane.

    References
    ----------
    "Perceptron and Linear SVM", lecture 10: the margin as the smallest distance to the hyperplane.

    Examples
    --------
    >>> from maxmargin import margins
    >>> result = margins([[3.0, 4.0], [-3.0, 0.0]], ["no", "yes"], coef=[-3.0, -4.0])
    >>> result.functional, result.geometric
    (array([25.,  9.]), array([5. , 1.8]))
    >>> result.smallest
    1.8
    """
    dataset = validate_two_classes(X, y, caller="margins")
    w, b = validate_coefficients(coef, intercept, dataset.points.n_columns)
    functional = dataset.signs * (dataset.points.scores(w) + b)
    length = float(np.linalg.norm(w))
    if length == 0.0:
        raise ValueError("coef is zero: there is no hyperplane, and so no geometric margin.")
    return Margins(functional, functional / length)


def validate_coefficients(coef: UserArray, intercept: UserArray, n_columns: int) -> tuple[np.ndarray, float]:
    """Return the coefficients as a vector and a number; raise ValueError where one of the two does not fit X."""
    try:
        w = np.asarray(coef, dtype=np.float64)
        b = np.asarray(intercept, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise ValueError(f"coef and intercept must be numbers: {error}") from error
    w = w[0] if w.ndim == 2 and w.shape[0] == 1 else w
    if w.shape != (n_columns,):
        raise ValueError(f"coef has shape {np.shape(coef)}; X has {n_columns} columns, so give ({n_columns},).")
    if b.size != 1:
        raise ValueError(f"intercept has {b.size} entries; give one number.")
    if not (np.isfinite(w).all() and np.isfinite(b).all()):
        raise ValueError("coef and intercept must be finite.")
    return w, float(b[0])
