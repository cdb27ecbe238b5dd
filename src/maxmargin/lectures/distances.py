"""Distances to a hyperplane, and what a margin is good for.

Lecture 9, "Distance to the decision boundary"; lecture 10; lecture 8 (robustness); Y. Tao, "Linear Classification:
Maximizing the Margin" (the distance of the margin hyperplanes, c-approximate hyperplanes).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.lectures.points import check_positive, check_rows, check_vector
from maxmargin.lectures.steps import Claim, rounding


def _normal(w: Any) -> tuple[np.ndarray, float]:
    """w as a vector, and its length, which must not be zero."""
    w = check_vector("w", w, np.size(w))
    length = float(np.linalg.norm(w))
    if not length:
        raise ValueError("w must not be zero: it is the normal of the hyperplane.")
    return w, length


def foot_point(x: Any, w: Any, b: float = 0.0) -> np.ndarray:
    r"""The point of the hyperplane that is nearest to x, :math:`x - \frac{f(x)}{\|w\|^2} w`.

    Parameters
    ----------
    x : array of shape (d,) or (n, d)
        A point, or one a row.
    w : array of shape (d,)
    b : float, default=0.0

    Returns
    -------
    ndarray of the shape of x

    See Also
    --------
    signed_distance : How far away it is.

    Examples
    --------
    >>> from maxmargin.lectures import foot_point
    >>> foot_point([3.0, 4.0], [0.0, 2.0], -2.0)
    array([3., 1.])
    """
    w, length = _normal(w)
    unit, x = w / length, np.asarray(x, dtype=np.float64)
    return x - np.multiply.outer(x @ unit + b / length, unit)


def signed_distance(x: Any, w: Any, b: float = 0.0) -> Any:
    r"""The distance :math:`f(x)/\|w\|` of a point, or of rows, from the hyperplane; negative on its negative side.

    See Also
    --------
    foot_point : The nearest point of the hyperplane.
    margin_width : The width between f = 1 and f = -1.

    Examples
    --------
    >>> from maxmargin.lectures import signed_distance
    >>> float(signed_distance([3.0, 4.0], [0.0, 2.0], -2.0))
    3.0
    """
    w, length = _normal(w)
    return np.asarray(x, dtype=np.float64) @ (w / length) + b / length


def margin_width(w: Any) -> float:
    r"""The distance :math:`2/\|w\|` of the hyperplanes f = 1 and f = -1; the margin is half of it.

    See Also
    --------
    signed_distance : The distance of a point.
    maxmargin.margins : The margins of all points.

    Examples
    --------
    >>> from maxmargin.lectures import margin_width
    >>> margin_width([3.0, 4.0])
    0.4
    """
    return 2.0 / _normal(w)[1]


def is_c_approximate(X: Any, y: Any, w: Any, b: float, c: float, gamma_opt: float) -> Claim:
    r"""Whether a hyperplane has at least c times the largest margin.

    Parameters
    ----------
    X, y : arrays of shapes (n, d) and (n,)
    w : array of shape (d,)
    b : float
    c : float
    gamma_opt : float
        The largest margin, or an upper bound on it.

    Returns
    -------
    Claim
        The margin on its left side, c gamma_opt on its right.

    See Also
    --------
    maxmargin.separate : The largest margin.

    Examples
    --------
    >>> from maxmargin.lectures import is_c_approximate
    >>> print(is_c_approximate([[2.0, 0.0], [-2.0, 0.0]], [1, -1], [1.0, 1.0], 0.0, 0.5, 2.0))
    c-approximate: margin >= c gamma_opt: 1.41421 >= 1 holds
    """
    X, y = check_rows(X, y)
    c, gamma_opt = check_positive("c", c), check_positive("gamma_opt", gamma_opt)
    w, length = _normal(check_vector("w", w, X.shape[1]))
    margin = float((y * (X @ (w / length) + b / length)).min())
    error = rounding(4 * len(w), float(np.linalg.norm(X, axis=1).max()) + abs(b) / length)
    return Claim("c-approximate", "margin >= c gamma_opt", margin, ">=", c * gamma_opt, error)


@dataclass(frozen=True, eq=False)
class Robustness:
    """How far points can be moved before a label changes.

    Attributes
    ----------
    margin : float
        No move of the points that is shorter than this changes a label. Zero where some point is misclassified already.
    row : int
        The nearest point, or a misclassified one.
    normal : ndarray of shape (d,)
        The unit vector along which this point is moved towards the hyperplane.
    claims : tuple of Claim
        After a move of the nearest point by a little less and a little more than the margin, its functional margin is
        positive and negative.

    See Also
    --------
    robustness : Returns this.

    Examples
    --------
    >>> from maxmargin import lectures
    >>> found = lectures.robustness([[2.0, 0.0], [-1.0, 1.0]], [1, -1], [1.0, 0.0], 0.0)
    >>> found.margin, found.row
    (1.0, 1)
    """

    margin: float
    row: int
    normal: np.ndarray
    claims: tuple[Claim, ...]

    def move(self, length: float) -> np.ndarray:
        """The worst move of the nearest point that has this length."""
        return length * self.normal


def robustness(X: Any, y: Any, w: Any, b: float = 0.0) -> Robustness:
    r"""The moves of points that a hyperplane withstands.

    A hyperplane with the margin :math:`\gamma > 0` keeps the label of every point under every move :math:`\delta` with
    :math:`\|\delta\| < \gamma`, since :math:`|w \cdot \delta| \le \|w\| \|\delta\|`; and the nearest point, moved along
    the normal by more than :math:`\gamma`, is on the other side.

    Parameters
    ----------
    X, y : arrays of shapes (n, d) and (n,)
    w : array of shape (d,)
    b : float, default=0.0

    Returns
    -------
    Robustness

    See Also
    --------
    signed_distance : The distance of a point.
    maxmargin.margins : The margins of all points.

    References
    ----------
    "The Perceptron Algorithm", lecture 8.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.lectures import robustness
    >>> X, y = np.array([[2.0, 0.0], [-1.0, 5.0]]), [1, -1]
    >>> found = robustness(X, y, [1.0, 0.0])
    >>> found.margin, found.row, found.move(1.5)
    (1.0, 1, array([1.5, 0. ]))
    >>> [(claim.name, claim.holds) for claim in found.claims]
    [('robustness', True), ('robustness', True)]
    """
    X, y = check_rows(X, y)
    w, length = _normal(check_vector("w", w, X.shape[1]))
    unit, offset = w / length, b / length
    distances = y * (X @ unit + offset)
    row = int(distances.argmin())
    margin, normal = max(0.0, float(distances[row])), -y[row] * unit
    size = float(np.linalg.norm(X[row])) + abs(offset) + margin
    claims = []
    # A thousandth of the margin, or what rounding could hide if that is larger.
    little = max(1e-3 * margin, 8 * rounding(4 * len(w), size))
    for relation, reach, formula in (
        (">", max(0.0, margin - little), "y f(x + move) > 0, ||move|| < margin"),
        ("<", margin + little, "y f(x + move) < 0, ||move|| > margin"),
    ):
        after = float(y[row] * ((X[row] + reach * normal) @ unit + offset))
        if margin or relation == "<":
            claims.append(Claim("robustness", formula, after, relation, 0.0))
    return Robustness(margin, row, normal, tuple(claims))
