"""What ``separate`` and ``hull_distance`` return."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maxmargin.certificates import MarginBracket
from maxmargin.data.printed_bounds import digits_down, digits_up
from maxmargin.solvers.core import Status


@dataclass(frozen=True)
class Separation:
    """Whether a hyperplane separates two classes, and the proof.

    Attributes
    ----------
    separable : bool or None
        True with a separating hyperplane, False with hull weights near which there are exact ones with which the hulls
        meet; both are proven, with all rounding errors counted or in exact arithmetic. None where neither is proven:
        undecided at this precision, or at the limit that ended the run.
    coef : ndarray of shape (d,)
    intercept : float
        The best hyperplane found, scaled so that its nearest points have y f(x) = 1 where it separates the classes.
    margin : float
        The proven margin: certificate.lower, or 0 where the hyperplane is not proven to separate the classes.
    hull_weights : ndarray of shape (n,)
        Non-negative weights of the rows that sum to one for each class (through the origin: to one in all). The hull
        points with these weights prove certificate.upper.
    certificate : MarginBracket
        lower <= gamma_opt <= upper.
    status : Status
    n_iter : int
        Newton steps, or the iterations of the linear program.
    exact : bool
        Whether ``separable`` was decided in exact arithmetic, about the user's own numbers.
    witness : tuple of Fraction, or None
        The proof in fractions, where there is one: the hyperplane (w_1, ..., w_d, b), or the weights c_i of all rows,
        of sum one, with sum c_i y_i (x_i, 1) = 0. ``coef`` and ``hull_weights`` are rounded to float64.
    rounds : int
        Of messages to the partitions of a Dask collection, for which ``hull_weights`` is a Dask array.

    See Also
    --------
    separate : Returns this.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import separate
    >>> X, y = load_iris(return_X_y=True)
    >>> found = separate(X, y == 0)
    >>> found.separable, round(found.margin, 4)
    (True, 0.8176)
    >>> separate(X, y == 1).separable  # the hull weights prove it
    False
    """

    separable: bool | None
    coef: np.ndarray
    intercept: float
    margin: float
    hull_weights: np.ndarray
    certificate: MarginBracket
    status: Status
    n_iter: int
    exact: bool = False
    witness: tuple[Fraction, ...] | None = None
    rounds: int = 0

    def __str__(self) -> str:
        bracket = self.certificate
        most = digits_up(bracket.upper, 6)
        how = " (decided in exact arithmetic)" if self.exact else ""
        if self.separable and not bracket.separates:
            return (
                f"A hyperplane separates the two classes{how}, but not with coefficients of float64; no hyperplane has "
                f"a margin above {most}."
            )
        if self.separable:
            return (
                f"A hyperplane separates the two classes{how} with margin {digits_down(self.margin, 6)}; no hyperplane "
                f"has a margin above {most}."
            )
        if self.separable is False:
            used = int(np.count_nonzero(np.asarray(self.hull_weights)))
            return (
                f"No hyperplane separates the two classes{how}: their convex hulls meet, as the weights of {used} "
                "points show."
            )
        why = "undecided at this precision" if self.status is Status.STALLED else f"not decided yet ({self.status})"
        share = digits_up(bracket.relative_upper, 2)
        return f"{why.capitalize()}: no hyperplane has a margin above {most} ({share} R)."


class DistanceBracket(float):
    """Bounds on a distance, rounded outwards; as a number it is the upper bound.

    Attributes
    ----------
    lower, upper : float
        lower <= distance <= upper.
    """

    lower: float

    def __new__(cls, lower: float, upper: float) -> "DistanceBracket":
        """Make a bracket of its two ends."""
        bracket = super().__new__(cls, upper)
        bracket.lower = lower
        return bracket

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        """The two ends, for copies and pickles."""
        return self.lower, self.upper

    @property
    def upper(self) -> float:
        """The upper bound."""
        return float(self)

    def __repr__(self) -> str:
        return f"DistanceBracket(lower={self.lower!r}, upper={self.upper!r})"


@dataclass(frozen=True)
class HullDistance:
    """The nearest points of the two classes' convex hulls, and the hyperplane halfway between them.

    Attributes
    ----------
    distance : DistanceBracket
        ``lower`` and ``upper`` bounds on the distance of the hulls; through the origin, of the hull of the y_i x_i from
        zero. Both hold in exact arithmetic: no two points of the hulls are nearer than ``lower``, and the points with
        the given weights are at most ``upper`` apart.
    points : ndarray of shape (2, d)
        The nearest points, first that of the greater label; through the origin, of the hull of the y_i x_i and zero.
        They are rounded: far from the origin by more than ``coef``, their difference.
    weights : ndarray of shape (n,)
        The weights of the rows in these points: non-negative, with a sum of one for each class. At most d + 1 a class
        are not zero, where the data are small enough for that reduction.
    coef : ndarray of shape (d,)
    intercept : float
        The hyperplane between the points: w is their difference, and b places it halfway.
    certificate : MarginBracket
        Of the margin, which is half the distance.
    status : Status
        SOLVED where the distance is known to ``tol``, NOT_SEPARABLE where the hulls meet, or the limit that was hit.

    See Also
    --------
    hull_distance : Returns this.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import hull_distance
    >>> X, y = load_iris(return_X_y=True)
    >>> found = hull_distance(X, y == 0)
    >>> print(f"{found.distance.lower:.4f} <= distance of the hulls <= {found.distance.upper:.4f}")
    1.6351 <= distance of the hulls <= 1.6351
    """

    distance: DistanceBracket
    points: np.ndarray
    weights: np.ndarray
    coef: np.ndarray
    intercept: float
    certificate: MarginBracket
    status: Status

    def __str__(self) -> str:
        used = int(np.count_nonzero(self.weights))
        lower, most = digits_down(self.distance.lower, 6), digits_up(self.distance.upper, 6)
        if self.distance.lower > 0.0:
            return f"The hulls are between {lower} and {most} apart, at points of {used} rows."
        if self.certificate.hulls_meet:
            few = digits_up(self.distance.upper, 2)
            return f"The hulls meet, at points of {used} rows that are at most {few} apart after rounding."
        return f"The hulls are at most {most} apart; whether they meet is not known yet ({self.status})."

    @property
    def at_least(self) -> float:
        """The lower bound, ``distance.lower``."""
        return self.distance.lower
