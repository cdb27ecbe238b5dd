"""Functional and geometric margins of hyperplanes."""

from typing import NamedTuple

import numpy as np

from maxmargin.data import validate_two_classes
from maxmargin.data.array_types import UserArray
from maxmargin.data.points import row_lengths

# In units of a smaller power of two an intercept might overflow.
SMALLEST_POWER = -500


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
        """The margin of the hyperplane: the smallest geometric margin, as computed in float64."""
        return float(self.geometric.min())


def margins(X: UserArray, y: UserArray, coef: UserArray, intercept: float = 0.0) -> Margins:
    r"""Functional and geometric margins of a hyperplane on two-class data, as computed in float64.

    They are no bounds: those are in the certificate that :func:`certify` returns.

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
    if not w.any():
        raise ValueError("coef is zero: there is no hyperplane, and so no geometric margin.")
    # In units of a power of two, which rounds nothing: the length of w and its products do not underflow.
    power = max(int(np.frexp(np.abs(w).max())[1]), SMALLEST_POWER)
    w, b = np.ldexp(w, -power), float(np.ldexp(b, -power))
    scores = dataset.signs * (dataset.points.scores(w) + b)
    return Margins(np.ldexp(scores, power), scores / float(row_lengths(w[None])[0]))


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
